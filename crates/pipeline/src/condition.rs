//! Whether a condition over global states possibly or definitely holds, with a verified schedule that shows it.

use check::{Model, Question};
use states::{
    Certainty, Definitely, Exhausted, Loset, Path, Possibly, Predicate, StateLimits, definitely, possibly,
};
use trace::{EventId, Trace};

use crate::answer::{Answer, answer};
use crate::budget::Budget;
use crate::error::Error;
use crate::observer::{Observer, Progress, Stage};
use crate::verify;

/// What is asked about a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modality {
    /// Is there a reachable state in which it holds?
    Possibly,
    /// Does every run pass through a state in which it holds?
    Definitely,
}

/// The answer to such a question.
#[derive(Clone, Debug)]
pub struct ConditionAnswer {
    /// Whether it possibly, or definitely, holds.
    pub holds: bool,
    /// How the answer was found.
    pub path: Path,
    /// What shows that it possibly holds, or that it need not.
    pub example: Option<Example>,
}

/// A schedule to a state with the condition, or through states without it.
#[derive(Clone, Debug)]
pub struct Example {
    /// The state at its end.
    pub state: Vec<u32>,
    /// The schedule.
    pub schedule: Vec<EventId>,
}

/// Asks about a condition; the inner error: a limit was reached before the answer.
pub fn ask_condition(
    trace: &Trace,
    loset: &Loset,
    modality: Modality,
    predicate: &Predicate,
    limits: StateLimits,
    observer: &mut dyn Observer,
) -> Result<Result<ConditionAnswer, Exhausted>, Error> {
    observer.begin(&Stage::SearchingStates);
    let asked = match modality {
        Modality::Possibly => ask_possibly(trace, loset, predicate, limits, observer),
        Modality::Definitely => ask_definitely(trace, loset, predicate, limits, observer),
    };
    observer.end(None);
    asked
}

fn ask_possibly(
    trace: &Trace,
    loset: &Loset,
    predicate: &Predicate,
    limits: StateLimits,
    observer: &mut dyn Observer,
) -> Result<Result<ConditionAnswer, Exhausted>, Error> {
    let found = possibly(trace, loset, predicate, limits, |at| {
        observer.advance(Progress::Estimated { done: at.looked, share: Some(at.share) });
    });
    let (state, path) = match found {
        Ok(Possibly { state: Some(state), path }) => (state, path),
        Ok(Possibly { state: None, path }) => {
            return Ok(Ok(ConditionAnswer { holds: false, path, example: None }));
        }
        Err(exhausted) => return Ok(Err(exhausted)),
    };
    let question = Question::Cut(state.clone());
    let budget = Budget { bounds: limits.bounds, steps: limits.steps };
    match answer(trace, &question, Model::Sync, &budget)? {
        Answer::Feasible { schedule, .. } => {
            Ok(Ok(ConditionAnswer { holds: true, path, example: Some(Example { state, schedule }) }))
        }
        Answer::Infeasible(_) => {
            Err(verify::defect(&question, Model::Sync, "state", "no schedule leads to it"))
        }
        Answer::Unknown { bound: Some(_), .. } => Ok(Err(Exhausted::Bounds)),
        Answer::Unknown { budget, .. } => Ok(Err(Exhausted::Steps(budget))),
    }
}

fn ask_definitely(
    trace: &Trace,
    loset: &Loset,
    predicate: &Predicate,
    limits: StateLimits,
    observer: &mut dyn Observer,
) -> Result<Result<ConditionAnswer, Exhausted>, Error> {
    let found = definitely(trace, loset, predicate, limits, |looked| {
        observer.advance(Progress::Estimated { done: looked, share: None });
    });
    Ok(match found {
        Ok(Certainty { answer: Definitely::Holds, path }) => {
            Ok(ConditionAnswer { holds: true, path, example: None })
        }
        Ok(Certainty { answer: Definitely::Avoided(schedule), path }) => {
            let mut state = vec![0; loset.threads()];
            schedule.iter().for_each(|&event| state[trace.thread(event).index()] += 1);
            verify::schedule(trace, &Question::Cut(state.clone()), Model::Sync, &schedule)?;
            Ok(ConditionAnswer { holds: false, path, example: Some(Example { state, schedule }) })
        }
        Err(exhausted) => Err(exhausted),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;

    #[test]
    fn a_condition_comes_with_what_shows_it() {
        let text = "main|fork(A)|1\nA|acq(l)|2\nA|rel(l)|3\nmain|acq(l)|4\nmain|rel(l)|5\n";
        let trace = trace::text::read(text.as_bytes()).unwrap();
        let loset = Loset::of(&trace);
        let limits = StateLimits { states: 1000, steps: 1000, ..StateLimits::default() };
        let ask = |modality, text: &str| {
            let predicate = Predicate::parse(text, &trace).unwrap();
            ask_condition(&trace, &loset, modality, &predicate, limits, &mut Silent).unwrap().unwrap()
        };
        let held = ask(Modality::Possibly, "holds(A, l)");
        assert!(held.holds && held.example.is_some_and(|example| example.state[1] == 1));
        assert!(!ask(Modality::Possibly, "holds(A, l) && holds(main, l)").holds);
        assert!(ask(Modality::Definitely, "holds(A, l)").holds);
        let never_before = ask(Modality::Definitely, "holds(A, l) && !holds(main, l) && at(main, \"5\")");
        assert!(!never_before.holds);
    }
}
