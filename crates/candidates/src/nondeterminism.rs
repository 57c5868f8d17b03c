//! Nondeterminism: every read that could see another write than it saw, and which.
//!
//! Paper 4 (Sinha, Malik, Gupta, *Efficient Predictive Analysis for Detecting Nondeterminism in Multi-Threaded
//! Programs*) calls a read that can see something else not view-preserving, and the write it would see its
//! challenger. [`Witnesses`] answers for each read and each source; what it shares between them is told there.
//!
//! Promise: exact for the model, but for what is counted as unknown. Cost: a few comparisons for each pair of a read and
//! a write of its variable, and a question for those that orders alone do not settle.

use check::{Question, Source};
use decide::{Answer, Phases, Setup, Witnesses};
use trace::{EventId, VariableId};

use crate::{Found, Object, Remarks, Report, Settings};

/// How many reads and witnesses there were, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads of variables that some other event writes.
    pub reads: u64,
    /// Reads that could see something else.
    pub not_view_preserving: u64,
    /// How the witnesses were settled: the columns of the paper's table A1 that apply. `witnesses` is its column 2,
    /// `ordered` those its orders refute (column 3), `decided` those left for a search (columns 4 and 5), `feasible` its
    /// column 9.
    pub phases: Phases,
}

impl Counts {
    /// Pairs of a read and something it did not see.
    pub fn candidates(&self) -> u64 {
        self.phases.witnesses
    }

    /// Asked of the engine.
    pub fn asked(&self) -> u64 {
        self.phases.decided
    }

    /// Pairs that are feasible.
    pub fn feasible(&self) -> u64 {
        self.phases.feasible
    }

    /// Pairs left open by the budget.
    pub fn unknown(&self) -> u64 {
        self.phases.unknown
    }
}

/// Finds everything else that each read could see, read by read.
pub fn search(setup: &Setup<'_>, settings: Settings, report: &mut dyn FnMut(Report)) -> Counts {
    let mut witnesses = Witnesses::new(setup, settings.model, settings.options);
    let mut counts = Counts::default();
    let trace = setup.trace();
    let contested = |(read, _, op): (EventId, _, trace::Op)| {
        let variable = op.reads()?;
        setup.writes(variable).iter().any(|&write| write != read).then_some((read, variable))
    };
    let reads: Vec<(EventId, VariableId)> = trace.events().filter_map(contested).collect();
    counts.reads = reads.len() as u64;
    for (done, &(read, variable)) in reads.iter().enumerate() {
        let mut view_preserving = true;
        for (source, answer) in witnesses.of_read(read) {
            let question = Question::Reads(read, Some(source));
            match answer {
                Answer::Feasible(witness) => {
                    view_preserving = false;
                    let seen = match source {
                        Source::Initial => None,
                        Source::Write(write) => Some(write),
                    };
                    let (events, object) = (vec![Some(read), seen], Object::Variable(variable));
                    let remarks = Remarks::default();
                    report(Report::Found(Found { question, events, object, witness, remarks }));
                }
                Answer::Infeasible => {}
                Answer::Unknown => report(Report::Unknown(question)),
            }
        }
        counts.not_view_preserving += u64::from(!view_preserving);
        if done.is_multiple_of(1024) {
            report(Report::Progress { done: done as u64, total: counts.reads });
        }
    }
    counts.phases = witnesses.phases;
    counts
}
