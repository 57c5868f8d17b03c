//! Which other writes could each read have seen? Many questions that share their work.
//!
//! Paper 4 (Sinha, Malik, Gupta, *Efficient Predictive Analysis for Detecting Nondeterminism in Multi-Threaded
//! Programs*) asks, for every read and every other write of its variable, whether the read could see that
//! write. Orders that hold in every schedule rule out most of these witnesses. They are computed once, as a
//! vector clock for each event over program order, fork, join, signals, barriers and, if the model requires
//! it, reads-from. A witness then costs a few comparisons:
//!
//! - the write cannot happen before the read if the read must happen before the write;
//! - the read cannot see the write if another write must come between them.
//!
//! For the remaining witnesses the caller may already have a schedule; otherwise the engine decides.
//! The answers are exact: whatever is neither ruled out nor known is decided by [`crate::decide`].

use check::{Model, Question, Source};
use order::MustOrder;
use trace::EventId;

use crate::{Effort, Index, Options, Verdict, Witness, decide_with_effort, must_order, other_sources};

/// Answers what else each read of a trace could have seen.
#[derive(Debug)]
pub struct Witnesses<'s> {
    index: &'s Index<'s>,
    model: Model,
    options: Options,
    must: &'s MustOrder,
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
    /// Feasible, as the caller knew.
    pub known: u64,
    /// Decided by the engine.
    pub decided: u64,
    /// Feasible.
    pub feasible: u64,
    /// Of those, settled only by a search over cases.
    pub feasible_by_cases: u64,
    /// Refuted only by a search over cases.
    pub refuted_by_cases: u64,
    /// How many cases were searched for both.
    pub cases: u64,
    /// Left open by the budget.
    pub unknown: u64,
}

impl<'s> Witnesses<'s> {
    /// Prepares to answer about a trace.
    pub fn new(index: &'s Index<'s>, model: Model, options: Options) -> Self {
        Witnesses { index, model, options, must: must_order(index, model), phases: Phases::default() }
    }

    /// Every source a read could see but the one it saw, with the answer. [`crate::decide`] gives the reason for a negative one.
    pub fn of_read(&mut self, read: EventId) -> Vec<(Source, Verdict<()>)> {
        self.of_read_knowing(read, |_| None)
    }

    /// The same. For what orders alone do not refute, `known` may have a schedule.
    pub fn of_read_knowing(
        &mut self,
        read: EventId,
        mut known: impl FnMut(Source) -> Option<Witness>,
    ) -> Vec<(Source, Verdict<()>)> {
        let hiding = self.must.hiding_writes(self.index, read);
        let sources = other_sources(self.index, read);
        let mut answer = |source| {
            self.phases.witnesses += 1;
            if self.is_ordered(read, source, &hiding) {
                self.phases.ordered += 1;
                return Verdict::Infeasible(());
            }
            match known(source) {
                Some(witness) => {
                    self.phases.known += 1;
                    self.phases.feasible += 1;
                    Verdict::Feasible(witness)
                }
                None => self.decided(read, source),
            }
        };
        sources.into_iter().map(|source| (source, answer(source))).collect()
    }

    /// Whether orders that hold in every schedule keep a read from a source.
    fn is_ordered(&self, read: EventId, source: Source, hiding: &[EventId]) -> bool {
        let precedes = |first, second| self.must.precedes(self.index, first, second);
        match source {
            Source::Initial => !hiding.is_empty(),
            Source::Write(write) => {
                precedes(read, write) || hiding.iter().any(|&other| other != write && precedes(write, other))
            }
        }
    }

    fn decided(&mut self, read: EventId, source: Source) -> Verdict<()> {
        let phases = &mut self.phases;
        phases.decided += 1;
        let question = Question::Reads(read, Some(source));
        let Ok((verdict, Effort { cases })) =
            decide_with_effort(self.index, &question, self.model, self.options)
        else {
            unreachable!("a read can be asked about each of its sources")
        };
        let by_cases = u64::from(cases > 0);
        match verdict {
            Verdict::Feasible(witness) => {
                phases.feasible += 1;
                phases.feasible_by_cases += by_cases;
                phases.cases += cases;
                Verdict::Feasible(witness)
            }
            Verdict::Infeasible(_) => {
                phases.refuted_by_cases += by_cases;
                phases.cases += cases;
                Verdict::Infeasible(())
            }
            Verdict::Unknown { budget } => {
                phases.unknown += 1;
                Verdict::Unknown { budget }
            }
        }
    }
}
