//! Targets: reads that could see something else than they saw in a run.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::accesses::EventRef;
use crate::prefix::{Changed, Prefix};
use crate::run::{Part, Run, RunStep, SitePair, allocated};

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

impl Targets {
    /// About how many bytes they take.
    pub(crate) fn memory(&self) -> usize {
        let source = size_of::<Option<EventRef>>();
        let inner = |target: &Target| target.prefix.memory() + allocated(target.sources.capacity() * source);
        self.all.capacity() * size_of::<Target>() + self.all.iter().map(inner).sum::<usize>()
    }
}

/// How many targets of one pair of places, and how many in all, a run gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetLimits {
    pub(crate) per_pair: u32,
    pub(crate) in_all: usize,
}

impl Targets {
    /// What the reads of a run could see instead, if these first events of each thread stay as they are.
    pub(crate) fn of(run: &Run, kept: &[u64], limits: TargetLimits) -> Targets {
        let mut targets = Targets::default();
        let mut per_pair: FxHashMap<SitePair, u32> = FxHashMap::default();
        let share = Share::of(run, kept, limits);
        targets.is_incomplete = share != Share::ALL;
        for (number, step) in open_reads(run, kept).step_by(share.stride) {
            let reads: Vec<&Part> = step.parts.iter().filter(|part| part.effect.reads()).collect();
            let options: Vec<Vec<Option<EventRef>>> =
                reads.iter().map(|part| sources(run, number, part, share.per_thread)).collect();
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
        targets.all.shrink_to_fit();
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

/// The steps that read and are not among these first events of each thread, and their numbers.
fn open_reads<'r>(run: &'r Run, kept: &'r [u64]) -> impl Iterator<Item = (usize, &'r RunStep)> {
    let steps = run.steps.iter().enumerate();
    steps.filter(|(_, step)| step.event.place >= kept[step.event.thread as usize] && step.reads())
}

/// Which reads are looked at, and how many writes of each thread: a long run has more pairs of them than could be tried, or even listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share {
    /// One read in this number.
    stride: usize,
    /// Writes of one thread that come neither before the read nor after it.
    per_thread: usize,
}

impl Share {
    const ALL: Share = Share { stride: 1, per_thread: usize::MAX };

    /// What gives about as many targets as there is room for, from all parts of the run.
    fn of(run: &Run, kept: &[u64], limits: TargetLimits) -> Share {
        let (mut reads, mut all) = (0usize, 0usize);
        let mut places: FxHashSet<u64> = FxHashSet::default();
        for (_, step) in open_reads(run, kept) {
            reads += 1;
            places.insert(step.pc);
            for part in step.parts.iter().filter(|part| part.effect.reads()) {
                let free = around(run, step, part).map(|around| around.free.len());
                all = all.saturating_add(free.sum::<usize>() + 1);
            }
        }
        let room = limits.in_all.min(places.len().saturating_mul(limits.per_pair as usize));
        match all > room.saturating_mul(2) {
            true => Share {
                // Each read has what comes before it besides, and a thread or two that write.
                stride: (3 * reads).div_ceil(room.max(1)).max(1),
                per_thread: (room / reads.max(1)).max(1),
            },
            false => Share::ALL,
        }
    }
}

/// The writes of a thread to the cell of a read.
struct Around<'r> {
    /// The last that comes before the read in any case.
    last: Option<u32>,
    /// Those that neither come before the read nor depend on it.
    free: &'r [u32],
}

/// How the writes of each thread lie around a read. A thread's clock only grows, so those that are free stand together.
fn around<'r>(run: &'r Run, step: &'r RunStep, part: &Part) -> impl Iterator<Item = Around<'r>> {
    let own = step.event;
    let at = |index: u32| &run.steps[index as usize];
    run.writers[part.cell.0 as usize].by_thread().map(move |(thread, writers)| {
        let until = if thread == own.thread { own.place } else { step.before[thread as usize] };
        let before = writers.partition_point(|&writer| at(writer).event.place < until);
        let last = before.checked_sub(1).map(|index| writers[index]);
        let after = if thread == own.thread { &[] } else { &writers[before..] };
        let free = after.partition_point(|&writer| at(writer).clock(own.thread as usize) <= own.place);
        Around { last, free: &after[..free] }
    })
}

/// What a part of the step with this number could see: whatever is not known to be overwritten before it, and does not depend on it. In the order of the
/// run; of the writes of a thread that are free, at most this number, those that happened nearest.
fn sources(run: &Run, number: usize, part: &Part, per_thread: usize) -> Vec<Option<EventRef>> {
    let step = &run.steps[number];
    let at = |index: u32| &run.steps[index as usize];
    let (mut last, mut writers): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for around in around(run, step, part) {
        last.extend(around.last);
        let here = around.free.partition_point(|&writer| (writer as usize) < number);
        let from = here.saturating_sub(per_thread / 2).min(around.free.len().saturating_sub(per_thread));
        writers.extend(around.free[from..].iter().take(per_thread));
    }
    let is_overwritten = |writer: &RunStep| {
        last.iter().map(|&later| at(later)).any(|later| {
            later.event != writer.event && later.clock(writer.event.thread as usize) > writer.event.place
        })
    };
    let allows = |writer: &&RunStep| {
        let state = writer.parts.iter().rfind(|written| written.cell == part.cell && written.effect.writes());
        state.is_some_and(|written| part.need.is_met(written.after))
    };
    let initial = (last.is_empty() && part.need.is_met(Default::default())).then_some(None);
    writers.extend(last.iter().copied().filter(|&writer| !is_overwritten(at(writer))));
    writers.sort_unstable();
    let written = writers.into_iter().map(at).filter(allows).map(|writer| Some(writer.event));
    initial.into_iter().chain(written).collect()
}
