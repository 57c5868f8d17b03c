//! What is wrong with evidence, and where in it.

use std::fmt;

use check::{Refutation, RefutationFault, ScheduleFault, Step, StepProblem};
use report::{Words, events_named};
use serde::Serialize;
use trace::{EventId, Trace};

/// Why evidence does not hold.
#[derive(Debug, Serialize)]
pub struct Fault {
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
            | ScheduleFault::NotSynchronised(event, _)
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

    /// The step of a refutation that does not follow.
    pub(super) fn of_refutation(trace: &Trace, refutation: &Refutation, fault: &RefutationFault) -> Self {
        let RefutationFault::Step { step: number, problem } = fault else {
            let at =
                if matches!(fault, RefutationFault::NoQuestion(_)) { "question" } else { "refutation.steps" };
            return Fault::new(at, fault);
        };
        let at = format!("refutation.steps[{number}]");
        let step = &refutation.steps[*number];
        match (problem, step) {
            (StepProblem::NoSuchEvent(event), _) => {
                let named = events_named(step).into_iter().find(|(_, named)| named == event);
                let field = named.map_or_else(String::new, |(field, _)| format!(".{field}"));
                let message =
                    format!("it names event {event}, but the trace has only {} events", trace.len());
                Fault::new(format!("{at}{field}"), message).about(*event)
            }
            (StepProblem::Unfounded, Step::Order { before: (x, y), .. }) => {
                let words = Words::new(trace);
                let order = format!("{} comes before {}", words.event(*x), words.event(*y));
                Fault::new(at, format!("it does not follow that {order}"))
            }
            (StepProblem::Unfounded | StepProblem::NotImpossible, _) => {
                Fault::new(at, "what it calls impossible does not follow from the steps before it")
            }
            (StepProblem::NotExhaustive, _) => Fault::new(
                at,
                "the cases listed are not all the cases there are, or there is nothing to split here",
            ),
            (StepProblem::Misplaced, _) => Fault::new(at, MISPLACED),
        }
    }
}

const MISPLACED: &str = "such a step cannot be here: after a `split` come its cases in order, each up to its `end`, and \
                         then the end `every-case`";
