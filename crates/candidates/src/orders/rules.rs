//! Orders the user states: `A < B`, each an event's id or a place in the source.

use trace::{EventId, LocationId, Trace};

/// An order that must not be: its first event before its second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// What comes first in a violation.
    pub first: Point,
    /// What comes second.
    pub second: Point,
}

/// An event, or all events at a place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// This event.
    Event(EventId),
    /// Any event at this place.
    Location(LocationId),
}

/// A rule that makes no sense about this trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message is its documentation")]
pub enum RuleError {
    #[error("`{0}` is not an order: two events or places with `<` between them, as in `init.c:3 < use.c:7`")]
    NoOrder(String),
    #[error("there is no event {event}: the trace has {events} events, numbered from 0")]
    NoSuchEvent { event: u64, events: usize },
    #[error("no event of the trace is at `{0}`")]
    NoSuchPlace(String),
    #[error("`{0}` names the same event twice")]
    SameEvent(String),
}

impl Rule {
    /// Reads `A < B`. What is a number is an event's id, unless a place is named so.
    pub fn parse(trace: &Trace, text: &str) -> Result<Rule, RuleError> {
        let (first, second) =
            text.split_once('<').ok_or_else(|| RuleError::NoOrder(text.trim().to_owned()))?;
        let rule = Rule { first: Point::parse(trace, first)?, second: Point::parse(trace, second)? };
        match (rule.first, rule.second) {
            (Point::Event(a), Point::Event(b)) if a == b => Err(RuleError::SameEvent(text.trim().to_owned())),
            _ => Ok(rule),
        }
    }

    /// Reads the rules of a file: one a line; what follows a `#` is a comment. Errors come with their line, counted
    /// from 1.
    pub fn parse_all(trace: &Trace, text: &str) -> Result<Vec<Rule>, (usize, RuleError)> {
        let lines = text.lines().enumerate().map(|(index, line)| {
            let rule = line.split_once('#').map_or(line, |(rule, _)| rule).trim();
            (index + 1, rule)
        });
        let rules = lines.filter(|(_, rule)| !rule.is_empty());
        rules.map(|(line, rule)| Rule::parse(trace, rule).map_err(|error| (line, error))).collect()
    }
}

impl Point {
    fn parse(trace: &Trace, text: &str) -> Result<Point, RuleError> {
        let text = text.trim();
        let locations = &trace.symbols().locations;
        if let Some(index) = (0..locations.len()).find(|&index| locations.get(index) == text) {
            return Ok(Point::Location(LocationId::new(index)));
        }
        let event: u64 =
            text.trim_start_matches('#').parse().map_err(|_| RuleError::NoSuchPlace(text.to_owned()))?;
        if event < trace.len() as u64 {
            Ok(Point::Event(EventId(event as u32)))
        } else {
            Err(RuleError::NoSuchEvent { event, events: trace.len() })
        }
    }

    /// The events it stands for, in the order of the trace.
    pub(super) fn events(self, trace: &Trace) -> Vec<EventId> {
        match self {
            Point::Event(event) => vec![event],
            Point::Location(location) => (0..trace.len())
                .map(EventId::new)
                .filter(|&event| trace.location(event) == location)
                .collect(),
        }
    }
}
