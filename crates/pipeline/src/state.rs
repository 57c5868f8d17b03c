//! One global state: which classes it is in, and evidence that it can or cannot be reached.

use check::{Model, Question, Refutation};
use serde::Serialize;
use states::{Class, Exhausted, Loset, StateLimits};
use trace::Trace;

use crate::answer::{Answer, answer};
use crate::budget::Budget;
use crate::error::Error;
use crate::question::QuestionText;

/// The classes of a state. The contract is docs/json.md.
#[derive(Clone, Debug, Serialize)]
pub struct StateClasses {
    /// How many events of each thread have happened.
    pub state: Vec<u32>,
    consistent: bool,
    feasible: bool,
    strong: bool,
    /// Some schedule leads to it.
    pub reachable: bool,
    lock_free: bool,
    /// The greatest lock-free state at or below it.
    pub greatest_lock_free_below: Vec<u32>,
    /// Why it cannot be reached, if it cannot and that is to be said here.
    pub refutation: Option<Refutation>,
}

/// A state that was asked about.
#[derive(Clone, Debug)]
pub struct QuestionedState {
    /// What it is.
    pub classes: StateClasses,
    /// Why it can be reached, or not.
    pub evidence: Answer,
}

/// Finds out all about the state that a cut names, such as `T1=3,T2=5`.
pub fn ask_state(
    trace: &Trace,
    loset: &Loset,
    cut: &str,
    limits: StateLimits,
) -> Result<Result<QuestionedState, Exhausted>, Error> {
    let question = QuestionText::Cut(cut).parse(trace)?;
    let budget = Budget { bounds: limits.bounds, steps: limits.steps };
    let evidence = match answer(trace, &question, Model::Sync, &budget)? {
        Answer::Unknown { bound: Some(_), .. } => return Ok(Err(Exhausted::Bounds)),
        Answer::Unknown { budget, bound: None } => return Ok(Err(Exhausted::Steps(budget))),
        evidence => evidence,
    };
    let Question::Cut(state) = question else { unreachable!("a cut is asked about") };
    let classes = StateClasses {
        consistent: loset.is_consistent(&state),
        feasible: loset.is_feasible(&state),
        strong: loset.is_strong(&state),
        reachable: matches!(evidence, Answer::Feasible { .. }),
        lock_free: loset.is_lock_free(&state),
        greatest_lock_free_below: loset.greatest_lock_free(&state),
        refutation: None,
        state,
    };
    Ok(Ok(QuestionedState { classes, evidence }))
}

impl StateClasses {
    /// Whether it is in a class.
    pub fn has(&self, class: Class) -> bool {
        match class {
            Class::Consistent => self.consistent,
            Class::Feasible => self.feasible,
            Class::Strong => self.strong,
            Class::Reachable => self.reachable,
            Class::LockFree => self.lock_free,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_in_the_classes_it_is_in() {
        let trace =
            trace::text::read_bytes(b"a|acq(l)|1\na|w(x)|2\na|rel(l)|3\nb|acq(l)|4\nb|rel(l)|5\n").unwrap();
        let loset = Loset::of(&trace);
        let ask = |cut| ask_state(&trace, &loset, cut, StateLimits::default()).unwrap().unwrap();
        let classes = |cut| Class::ALL.map(|class| ask(cut).classes.has(class));
        assert_eq!(classes("a=3"), [true; 5]);
        assert_eq!(classes("a=2"), [true, true, true, true, false], "the lock is held");
        assert_eq!(classes("a=2,b=1"), [true, false, false, false, false], "both hold it");
        assert!(matches!(ask("a=2,b=1").evidence, Answer::Infeasible(_)));
        assert_eq!(ask("a=2").classes.greatest_lock_free_below, [0, 0]);
        let steps = StateLimits { steps: 0, ..StateLimits::default() };
        assert!(ask_state(&trace, &loset, "c=1", steps).is_err(), "there is no such thread");
    }
}
