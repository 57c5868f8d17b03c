//! Nondeterminism: every read that could see another write than it saw, and which.
//!
//! Paper 4 (Sinha, Malik, Gupta, *Efficient Predictive Analysis for Detecting Nondeterminism in Multi-Threaded
//! Programs*) calls a read that can see something else not view-preserving, and the write it would see its
//! challenger. [`Witnesses`] answers for each read and each source; what it shares between them is described there. What orders alone do
//! not refute is often reached with all sections in the order of the trace ([`Syncp`]): then it is known without a question.
//!
//! Promise: exact for the model, but for what is counted as unknown. Cost: a few comparisons for each pair of a read and
//! a write of its variable, a run-up for those that orders alone do not refute, and a question for those that it does not settle. That is
//! much where there are many: [`search_within`] limits looks for one of each two places in the source (`by_place.rs`).

mod bands;
mod by_place;
mod groups;

use check::{Question, Source};
use decide::{Index, Phases, Verdict, Witness, Witnesses};
use trace::{EventId, VariableId};

use crate::races::syncp::{Latest, Syncp};
use crate::{Bug, Extent, Object, PatternLimits, Remarks, Report, SearchSettings};

/// How far to go for two places.
pub const LIMITS: PatternLimits =
    PatternLimits { extent: Extent::Causes, instances: 16, share: 200, tries: 100_000 };

/// The number of reads and witnesses by outcome. Within limits they are pairs of places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads of variables that some other event writes.
    pub reads: u64,
    /// Reads that could see something else.
    pub not_view_preserving: u64,
    /// How the witnesses were settled.
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

/// Finds for each place that reads, and each that writes, a read that could see such a write instead of what it saw; with
/// [`Extent::All`] what [`search`] finds.
pub fn search_within(
    index: &Index<'_>,
    settings: SearchSettings,
    limits: PatternLimits,
    report: &mut dyn FnMut(Report),
) -> Counts {
    match limits.extent {
        Extent::All => search(index, settings, report),
        _ => by_place::search(index, settings, limits, report),
    }
}

/// Finds everything else that each read could see, read by read.
pub fn search(index: &Index<'_>, settings: SearchSettings, report: &mut dyn FnMut(Report)) -> Counts {
    let mut witnesses = Witnesses::new(index, settings.model, settings.options);
    let mut counts = Counts::default();
    let trace = index.trace();
    let contested = |(read, _, op): (EventId, _, trace::Op)| {
        let variable = op.reads()?;
        index.writes(variable).iter().any(|&write| write != read).then_some((read, variable))
    };
    let syncp = Syncp::under(index, settings.model);
    let reads: Vec<(EventId, VariableId)> = trace.events().filter_map(contested).collect();
    counts.reads = reads.len() as u64;
    for (done, &(read, variable)) in reads.iter().enumerate() {
        if index.bounds().are_reached() {
            witnesses.phases.unknown += 1;
            break;
        }
        let mut view_preserving = true;
        let preserving = |source| preserving(index, &syncp, read, source);
        for (source, answer) in witnesses.of_read_knowing(read, preserving) {
            let question = Question::Reads(read, Some(source));
            match answer {
                // What is computed when there is no time or memory left may be incomplete.
                Verdict::Feasible(_) if index.bounds().are_reached() => report(Report::Unknown(question)),
                Verdict::Feasible(witness) => {
                    view_preserving = false;
                    let seen = match source {
                        Source::Initial => None,
                        Source::Write(write) => Some(write),
                    };
                    let (events, object) = (vec![Some(read), seen], Object::Variable(variable));
                    let remarks = Remarks::default();
                    report(Report::Bug(Bug { question, events, object, witness, remarks }));
                }
                Verdict::Infeasible(()) => {}
                Verdict::Unknown { .. } => report(Report::Unknown(question)),
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

/// A schedule in which a read sees a source, with all sections in the order of the trace, if there is one: what comes before the read, and
/// the write with what comes before it, leave nothing later in the variable.
fn preserving(index: &Index<'_>, syncp: &Syncp<'_>, read: EventId, source: Source) -> Option<Witness> {
    let (trace, threads) = (index.trace(), index.threads());
    let variable = trace.op(read).reads()?;
    let mut next = vec![read];
    if let Source::Write(write) = source
        && trace.thread(write) != trace.thread(read)
    {
        next.push(*threads.of_thread(trace.thread(write)).get(threads.place(write) + 1)?);
    }
    let mut ideal = Vec::new();
    syncp.next_together(&next, &mut ideal).ok()?;
    let seen = match syncp.latest_write(&ideal, variable) {
        Latest::Write(write) => Source::Write(write),
        Latest::None => Source::Initial,
        Latest::TooFar => return None,
    };
    (seen == source).then(|| Witness::restricted_then(ideal, vec![read]))
}
