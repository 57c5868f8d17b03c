//! Many questions that share their work: what else could each read have seen?
//!
//! Paper 4 (Sinha, Malik, Gupta, *Efficient Predictive Analysis for Detecting Nondeterminism in Multi-Threaded
//! Programs*) asks of every read and every other write of its variable whether the read could see that write. Most of
//! these witnesses fall by orders that hold in every schedule. Those are computed once, as a vector clock for each event over program order,
//! fork, join, signals, barriers and, where the model demands it, reads-from; a witness then costs a few comparisons:
//!
//! - the write cannot happen before the read, if the read must happen before it;
//! - the write cannot be seen, if another write must come between it and the read.
//!
//! Both are monotone along a thread, so of each thread's writes only a band is left for the engine.
//! Exact: what is not screened out is decided by [`crate::decide`].

use check::{Model, Question, Refutation, Source};
use trace::EventId;

use crate::must::MustOrder;
use crate::{Options, Setup, Verdict, Witness, decide};

/// Whether a read can see a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It can, in this schedule.
    Feasible(Witness),
    /// It cannot, as [`crate::decide`] will refute.
    Infeasible,
    /// The budget ran out.
    Unknown,
}

/// Answers what else each read of a trace could have seen.
#[derive(Debug)]
pub struct Witnesses<'s> {
    setup: &'s Setup<'s>,
    model: Model,
    options: Options,
    must: MustOrder,
    /// How the answers came about, so far.
    pub phases: Phases,
}

/// How many witnesses each phase settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// All that were asked about.
    pub witnesses: u64,
    /// The read must come before the write, or another write between.
    pub ordered: u64,
    /// Decided by the engine.
    pub decided: u64,
    /// Feasible.
    pub feasible: u64,
    /// Refuted only by going through cases, and how many cases were closed for those.
    pub by_cases: u64,
    /// See [`Phases::by_cases`].
    pub cases: u64,
    /// Left open by the budget.
    pub unknown: u64,
}

impl<'s> Witnesses<'s> {
    /// Prepares to answer about a trace. Takes 4 bytes for each event and thread.
    pub fn new(setup: &'s Setup<'s>, model: Model, options: Options) -> Self {
        Witnesses { setup, model, options, must: MustOrder::new(setup, model), phases: Phases::default() }
    }

    /// Every source a read could see but the one it saw, with the answer.
    pub fn of_read(&mut self, read: EventId) -> Vec<(Source, Answer)> {
        let hiding = self.must.hiding(self.setup, read);
        let sources = self.setup.other_sources(read);
        sources.into_iter().map(|source| (source, self.answer(read, source, &hiding))).collect()
    }

    fn answer(&mut self, read: EventId, source: Source, hiding: &[EventId]) -> Answer {
        self.phases.witnesses += 1;
        let cannot = match source {
            Source::Initial => !hiding.is_empty(),
            Source::Write(write) => {
                self.must.precedes(self.setup, read, write)
                    || hiding
                        .iter()
                        .any(|&other| other != write && self.must.precedes(self.setup, write, other))
            }
        };
        if cannot {
            self.phases.ordered += 1;
            return Answer::Infeasible;
        }
        self.phases.decided += 1;
        match decide(self.setup, &Question::Reads(read, Some(source)), self.model, self.options) {
            Ok(Verdict::Feasible(witness)) => {
                self.phases.feasible += 1;
                Answer::Feasible(witness)
            }
            Ok(Verdict::Infeasible(refutation)) => {
                let cases = cases(&refutation);
                self.phases.by_cases += u64::from(cases > 1);
                self.phases.cases += if cases > 1 { cases } else { 0 };
                Answer::Infeasible
            }
            Ok(Verdict::Unknown { .. }) | Err(_) => {
                self.phases.unknown += 1;
                Answer::Unknown
            }
        }
    }
}

/// How many ways a refutation had to close: one if it needs no cases.
fn cases(refutation: &Refutation) -> u64 {
    match refutation {
        Refutation::Chain { .. } => 1,
        Refutation::Split { cases: each, .. } => each.iter().map(cases).sum(),
    }
}
