//! One question, decided, and the evidence verified.

use check::{Model, Question, Refutation};
use decide::{Index, Options, Verdict};
use report::{About, ClaimedVerdict, Evidence, SCHEMA};
use trace::{EventId, Trace};

use crate::budget::{Bound, Budget};
use crate::error::Error;
use crate::question::senseless;
use crate::verify;

/// A verdict whose evidence has been verified.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It can happen.
    Feasible {
        /// In this order.
        schedule: Vec<EventId>,
        /// Whether the program is certain to follow it.
        guaranteed: bool,
    },
    /// It cannot happen.
    Infeasible(Refutation),
    /// The budget ran out.
    Unknown {
        /// How many steps there were.
        budget: u64,
        /// What ran out instead of them, if it was something else.
        bound: Option<Bound>,
    },
}

impl Answer {
    /// What it says.
    pub fn verdict(&self) -> ClaimedVerdict {
        match self {
            Answer::Feasible { .. } => ClaimedVerdict::Feasible,
            Answer::Infeasible(_) => ClaimedVerdict::Infeasible,
            Answer::Unknown { .. } => ClaimedVerdict::Unknown,
        }
    }

    /// The answer with its evidence, as JSON has it.
    pub fn evidence(&self, trace: &Trace, question: &Question, model: Model, about: About) -> Evidence {
        let mut evidence = Evidence {
            schema: SCHEMA,
            verdict: self.verdict(),
            guaranteed: None,
            model,
            schedule: None,
            refutation: None,
            question: question.written(trace),
            trace: about,
            budget: None,
        };
        match self {
            Answer::Feasible { schedule, guaranteed } => {
                evidence.guaranteed = Some(*guaranteed);
                evidence.schedule = Some(schedule.clone());
            }
            Answer::Infeasible(refutation) => evidence.refutation = Some(refutation.clone()),
            Answer::Unknown { budget, .. } => evidence.budget = Some(*budget),
        }
        evidence
    }
}

/// Decides a question within a budget, and verifies what the engine says.
pub fn answer(trace: &Trace, question: &Question, model: Model, budget: &Budget) -> Result<Answer, Error> {
    let index = Index::within(trace, budget.bounds);
    let options = Options { budget: budget.steps, ..Options::default() };
    let verdict = decide::decide(&index, question, model, options)
        .map_err(|error| senseless(trace, question, &error))?;
    match verdict {
        Verdict::Feasible(witness) => {
            let schedule = witness.schedule(&index, question, model);
            let certainty = verify::schedule(trace, question, model, &schedule)?;
            Ok(Answer::Feasible { schedule, guaranteed: certainty.guaranteed })
        }
        Verdict::Infeasible(refutation) => {
            verify::refutation(trace, question, model, &refutation)?;
            Ok(Answer::Infeasible(refutation))
        }
        Verdict::Unknown { budget: steps } => {
            Ok(Answer::Unknown { budget: steps, bound: budget.bounds.reached() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::Fingerprint;

    #[test]
    fn evidence_has_what_its_verdict_needs() {
        let trace = trace::text::read_bytes(b"a|w(x)|1\nb|r(x)|2\n").unwrap();
        let evidence = |question: Question| {
            let answer = answer(&trace, &question, Model::Sync, &Budget::default()).unwrap();
            answer.evidence(&trace, &question, Model::Sync, About::new(None, Fingerprint::of(&trace)))
        };
        let events = [EventId::new(0), EventId::new(1)];
        let race = evidence(Question::Race(events[0], events[1]));
        assert_eq!((race.verdict, race.guaranteed), (ClaimedVerdict::Feasible, Some(true)));
        assert!(race.schedule.is_some() && race.refutation.is_none() && race.budget.is_none());
        let none = Answer::Unknown { budget: 7, bound: None };
        let question = Question::Race(events[0], events[1]);
        let none = none.evidence(&trace, &question, Model::Sync, About::new(None, Fingerprint::of(&trace)));
        assert_eq!((none.verdict, none.budget), (ClaimedVerdict::Unknown, Some(7)));
        assert!(none.schedule.is_none() && none.refutation.is_none());
    }
}
