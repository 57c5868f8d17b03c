//! Orders the user states: `A < B`, each an event's id or a place in the source.

use trace::{EventId, Trace};

/// An order that must not be: one of its first events before one of its second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What it is called in reports.
    pub name: String,
    /// What comes first in a violation, in the order of the trace.
    pub first: Vec<EventId>,
    /// What comes second.
    pub second: Vec<EventId>,
}

/// A rule that makes no sense about this trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message is its documentation")]
pub enum RuleError {
    #[error(
        "`{0}` is not an order; expected two events or locations with `<` between them, as in `use.c:7 < init.c:3`"
    )]
    NoOrder(String),
    #[error("there is no event {event}: the trace has {events} events, numbered from 0")]
    NoSuchEvent { event: String, events: usize },
    #[error("no event of the trace is at `{0}`")]
    NoSuchPlace(String),
    #[error("`{0}` names the same event twice")]
    SameEvent(String),
}

impl Rule {
    /// Reads `A < B`, which is its name too.
    pub fn parse(trace: &Trace, text: &str) -> Result<Rule, RuleError> {
        let text = text.trim();
        match text.split('<').map(str::trim).collect::<Vec<_>>()[..] {
            [first, second] if !first.is_empty() && !second.is_empty() => {
                Rule::between(trace, first, second, text)
            }
            _ => Err(RuleError::NoOrder(text.to_owned())),
        }
    }

    /// That an event here comes before one there. A number is an event's id, with `#` before it or not; anything else is a
    /// place as the trace spells it, or the end of its path: `a.c:10` may stand for `src/a.c:10`.
    pub fn between(trace: &Trace, first: &str, second: &str, name: &str) -> Result<Rule, RuleError> {
        let (first, second) = (events(trace, first)?, events(trace, second)?);
        match first.len() == 1 && first == second {
            true => Err(RuleError::SameEvent(name.to_owned())),
            false => Ok(Rule { name: name.to_owned(), first, second }),
        }
    }
}

/// The events that a point stands for, at least one, in the order of the trace.
fn events(trace: &Trace, text: &str) -> Result<Vec<EventId>, RuleError> {
    let text = text.trim();
    let number = text.strip_prefix('#').unwrap_or(text);
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        let event = number.parse().ok().filter(|&event: &u32| (event as usize) < trace.len());
        let unknown = || RuleError::NoSuchEvent { event: number.to_owned(), events: trace.len() };
        return event.map(|event| vec![EventId(event)]).ok_or_else(unknown);
    }
    let locations = &trace.symbols().locations;
    let meant_by = |fits: &dyn Fn(&str) -> bool| {
        (0..locations.len()).map(|index| fits(locations.get(index))).collect::<Vec<bool>>()
    };
    let mut meant = meant_by(&|known| known == text);
    if !meant.contains(&true) {
        meant = meant_by(&|known| known.strip_suffix(text).is_some_and(|start| start.ends_with('/')));
    }
    let all = (0..trace.len()).map(EventId::new);
    let there: Vec<EventId> = all.filter(|&event| meant[trace.location(event).index()]).collect();
    match there.is_empty() {
        true => Err(RuleError::NoSuchPlace(text.to_owned())),
        false => Ok(there),
    }
}
