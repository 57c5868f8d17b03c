//! Targets: reads that could see something else than they saw in a run.

use rustc_hash::FxHashMap;

use crate::accesses::EventRef;
use crate::prefix::{Changed, Prefix};
use crate::run::{Part, Run, SitePair, Step};

/// Combinations of sources that are tried for a read of several cells.
const MOST_COMBINATIONS: usize = 64;

/// A read that is to see something else.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The step that reads, in the run of the node.
    pub(crate) step: u32,
    /// What each of its reading parts is to see.
    pub(crate) sources: Vec<Option<EventRef>>,
    pub(crate) prefix: Prefix,
    pub(crate) pair: SitePair,
}

/// The targets of a run.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    pub(crate) all: Vec<Target>,
    /// There are more than were looked at.
    pub(crate) is_incomplete: bool,
}

/// How many targets of one pair of places, and how many in all, a run gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetLimits {
    pub(crate) per_pair: u32,
    pub(crate) in_all: usize,
}

impl Targets {
    /// What reads of a run, of which these first events of each thread stay as they are, could see instead.
    pub(crate) fn of(run: &Run, kept: &[u64], limits: TargetLimits) -> Targets {
        let mut targets = Targets::default();
        let mut per_pair: FxHashMap<SitePair, u32> = FxHashMap::default();
        for (number, step) in run.steps.iter().enumerate() {
            if step.event.place < kept[step.event.thread as usize] || !step.reads() {
                continue;
            }
            let reads: Vec<&Part> = step.parts.iter().filter(|part| part.effect.reads()).collect();
            let options: Vec<Vec<Option<EventRef>>> =
                reads.iter().map(|part| sources(run, step, part)).collect();
            if options
                .iter()
                .map(Vec::len)
                .try_fold(1usize, |all, some| all.checked_mul(some.max(1)))
                .is_none_or(|all| all > MOST_COMBINATIONS.max(options[0].len()))
            {
                targets.is_incomplete = true;
                continue;
            }
            for sources in combinations(&options) {
                let is_same = reads.iter().zip(&sources).all(|(part, source)| part.source == *source);
                if is_same && !step.is_pending {
                    continue;
                }
                let changed = reads.iter().zip(&sources).find(|(part, source)| part.source != **source);
                let seen = changed.map_or(sources[0], |(_, source)| *source);
                let pair = run.pair(step, seen);
                let count = per_pair.entry(pair).or_default();
                *count += 1;
                if *count > limits.per_pair || targets.all.len() >= limits.in_all {
                    targets.is_incomplete = true;
                    continue;
                }
                let prefix = Changed::new(run, kept.to_vec(), step, &sources).prefix(run);
                targets.all.push(Target { step: number as u32, sources, prefix, pair });
            }
        }
        targets
    }
}

/// One of each, in all ways.
fn combinations(options: &[Vec<Option<EventRef>>]) -> Vec<Vec<Option<EventRef>>> {
    let mut all = vec![Vec::new()];
    for options in options {
        all = all
            .iter()
            .flat_map(|chosen: &Vec<Option<EventRef>>| {
                options.iter().map(|&option| chosen.iter().copied().chain([option]).collect())
            })
            .collect();
    }
    all
}

/// What a part of a step could see: whatever is not known to be overwritten before it, and does not depend on it.
fn sources(run: &Run, step: &Step, part: &Part) -> Vec<Option<EventRef>> {
    let own = step.event;
    let writers = || run.writers[part.cell.0 as usize].iter().map(|&writer| &run.steps[writer as usize]);
    let is_before = |event: EventRef| {
        if event.thread == own.thread {
            event.place < own.place
        } else {
            event.place < step.before[event.thread as usize]
        }
    };
    // The last write of each thread that comes before the step in any case.
    let mut last: FxHashMap<u32, &Step> = FxHashMap::default();
    for writer in writers().filter(|writer| is_before(writer.event)) {
        last.insert(writer.event.thread, writer);
    }
    let is_overwritten = |writer: &Step| {
        last.values().any(|later| {
            later.event != writer.event && later.clock(writer.event.thread as usize) > writer.event.place
        })
    };
    let can_be = |writer: &&Step| {
        if writer.event == own {
            return false;
        }
        if is_before(writer.event) {
            let is_last = last.get(&writer.event.thread).is_some_and(|last| last.event == writer.event);
            return is_last && !is_overwritten(writer);
        }
        // It neither follows the step nor depends on it.
        writer.event.thread != own.thread && writer.clock(own.thread as usize) <= own.place
    };
    let allows = |writer: &&Step| {
        let state = writer.parts.iter().rfind(|written| written.cell == part.cell && written.effect.writes());
        state.is_some_and(|written| part.need.is_met(written.after))
    };
    let initial = last.is_empty() && part.need.is_met(Default::default());
    let initial = initial.then_some(None);
    let written = writers().filter(can_be).filter(allows).map(|writer| Some(writer.event));
    initial.into_iter().chain(written).collect()
}
