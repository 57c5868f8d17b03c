//! What is wrong with evidence, and where in it.

use std::fmt;

use check::{Refutation, RefutationFault, ScheduleFault};
use report::{Words, ids_named};
use serde::Serialize;
use trace::{EventId, Trace};

/// Why evidence does not hold.
#[derive(Debug, Serialize)]
pub(super) struct Fault {
    /// The part at fault: a path into the JSON, or a line of the schedule file.
    at: String,
    /// The event at fault, if it is one.
    event: Option<EventId>,
    /// What is wrong.
    message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

impl Fault {
    pub(super) fn new(at: impl Into<String>, message: impl ToString) -> Self {
        Fault { at: at.into(), event: None, message: message.to_string() }
    }

    pub(super) fn about(self, event: EventId) -> Self {
        Fault { event: Some(event), ..self }
    }

    /// The step of a schedule that cannot be taken.
    pub(super) fn of_schedule(trace: &Trace, schedule: &[EventId], fault: &ScheduleFault) -> Self {
        let event = match fault {
            ScheduleFault::NoSuchEvent { event, .. }
            | ScheduleFault::OutOfTurn(event)
            | ScheduleFault::NotForked(event, _)
            | ScheduleFault::NotEnded(event, _)
            | ScheduleFault::NotSignalled(event, _)
            | ScheduleFault::NotEntered(event, _)
            | ScheduleFault::Held(event, _)
            | ScheduleFault::NoPermit(event)
            | ScheduleFault::WrongValue(event) => *event,
            ScheduleFault::NotAnswered(_) => return Fault::new("schedule", fault),
            ScheduleFault::NoQuestion(_) => return Fault::new("question", fault),
        };
        // What comes a second time is out of turn there, not where it came first.
        let mut places = schedule.iter().enumerate().filter(|(_, other)| **other == event);
        let index = match fault {
            ScheduleFault::OutOfTurn(_) => places.next_back(),
            _ => places.next(),
        };
        let at = index.map_or("schedule".to_owned(), |(index, _)| format!("schedule[{index}]"));
        let message = match event.index() < trace.len() {
            true => format!("{fault}; event {event} is {}", Words::new(trace).event_without_id(event)),
            false => fault.to_string(),
        };
        Fault::new(at, message).about(event)
    }

    /// An event that a refutation names and the trace does not have.
    pub(super) fn of_missing_event(trace: &Trace, refutation: &Refutation) -> Result<(), Fault> {
        let mut first = None;
        ids_named(refutation, &mut |path, event| {
            if event.index() >= trace.len() && first.is_none() {
                let message =
                    format!("it names event {event}, but the trace has only {} events", trace.len());
                first = Some(Fault::new(format!("refutation{}", path()), message).about(event));
            }
        });
        first.map_or(Ok(()), Err)
    }

    /// The part of a refutation that does not follow.
    pub(super) fn of_refutation(trace: &Trace, refutation: &Refutation, fault: &RefutationFault) -> Self {
        let path = place_of(refutation, fault).unwrap_or_default();
        let at = format!("refutation{path}");
        let words = Words::new(trace);
        match fault {
            RefutationFault::NoQuestion(_) => Fault::new("question", fault),
            RefutationFault::NoSuchEvent(event) => Fault::new(at, fault).about(*event),
            RefutationFault::Unfounded(step) => {
                let (x, y) = step.before;
                let order = format!("{} comes before {}", words.event(x), words.event(y));
                Fault::new(at, format!("it does not follow that {order}"))
            }
            RefutationFault::NotImpossible(_) => {
                Fault::new(at, "what it calls impossible does not follow from the steps before it")
            }
            RefutationFault::NotExhaustive(_) => Fault::new(
                at,
                "the cases listed are not all the cases there are, or need not be told apart here",
            ),
        }
    }
}

/// The path to the part a fault is about, from the refutation on; the first that looks like it.
fn place_of(refutation: &Refutation, fault: &RefutationFault) -> Option<String> {
    let (Refutation::Chain { steps, .. } | Refutation::Split { steps, .. }) = refutation;
    if let RefutationFault::Unfounded(wrong) = fault
        && let Some(index) = steps.iter().position(|step| step == &**wrong)
    {
        return Some(format!(".steps[{index}]"));
    }
    match (refutation, fault) {
        (Refutation::Chain { end, .. }, RefutationFault::NotImpossible(wrong)) if end == wrong => {
            Some(".end".to_owned())
        }
        (Refutation::Split { split, .. }, RefutationFault::NotExhaustive(wrong)) if split == wrong => {
            Some(".split".to_owned())
        }
        (Refutation::Split { cases, .. }, _) => cases
            .iter()
            .enumerate()
            .find_map(|(index, case)| place_of(case, fault).map(|rest| format!(".cases[{index}]{rest}"))),
        _ => None,
    }
}
