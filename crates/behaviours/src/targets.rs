//! Targets: reads that could see something else than they saw in a run.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::accesses::EventRef;
use crate::prefix::{Changed, Prefix};
use crate::run::{Part, Run, RunStep, SitePair, allocated};

/// How often the writes of a thread are looked at for counting what a run gives: in a longer run, the counts of some reads stand for all.
const MOST_LOOKS: usize = 4_000_000;

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
            let reads: Vec<&Part> = reading(step).collect();
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

/// The parts of a step that read.
fn reading(step: &RunStep) -> impl Iterator<Item = &Part> {
    step.parts.iter().filter(|part| part.effect.reads())
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
        let (mut reads, mut writers) = (0usize, 0usize);
        let mut places: FxHashSet<u64> = FxHashSet::default();
        for (_, step) in open_reads(run, kept) {
            reads += 1;
            places.insert(step.pc);
            let threads = reading(step).map(|part| run.writers[part.cell.0 as usize].by_thread().len());
            writers = writers.saturating_add(threads.sum());
        }
        let sampled = writers.div_ceil(MOST_LOOKS).max(1);
        let mut all = 0usize;
        for (_, step) in open_reads(run, kept).step_by(sampled) {
            for part in reading(step) {
                let free = around(run, step, part).map(|around| around.free.len());
                all = all.saturating_add((free.sum::<usize>() + 1).saturating_mul(sampled));
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
    let is_first = last.is_empty();
    let allows = |writer: &&RunStep| {
        let state = writer.parts.iter().rfind(|written| written.cell == part.cell && written.effect.writes());
        state.is_some_and(|written| part.need.is_met(written.after))
    };
    let initial = (is_first && part.need.is_met(Default::default())).then_some(None);
    writers.extend(not_overwritten(run, last));
    writers.sort_unstable();
    let written = writers.into_iter().map(at).filter(allows).map(|writer| Some(writer.event));
    initial.into_iter().chain(written).collect()
}

/// Those of these writes, one of each thread, that none of the others comes after. What comes after a write is later in the run, and comes after
/// all that the write comes after: so it suffices to compare with those that were found before, the latest first.
fn not_overwritten(run: &Run, mut writes: Vec<u32>) -> Vec<u32> {
    writes.sort_unstable_by(|a, b| b.cmp(a));
    let mut found: Vec<u32> = Vec::new();
    for write in writes {
        let event = run.steps[write as usize].event;
        let is_overwritten =
            |&later: &u32| run.steps[later as usize].clock(event.thread as usize) > event.place;
        if !found.iter().any(is_overwritten) {
            found.push(write);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use wire::{Event, Op, Stop};

    use super::*;

    /// A run in which threads read, write and update three cells in some order; this number says which.
    fn run(mut seed: u64) -> Run {
        const THREADS: u32 = 5;
        let mut below = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        let mut places = vec![0; THREADS as usize + 1];
        let mut log = Vec::new();
        let mut add = |thread: u32, op: Op<'static>| {
            let place = places[thread as usize];
            places[thread as usize] += 1;
            log.push(Event { thread, place: Some(place), pc: 1 + place, op });
        };
        let begin = |kernel_id| Op::Begin { stack_low: 0, stack_high: 0, kernel_id, thread_pointer: 0 };
        add(0, begin(1));
        for child in 1..=THREADS {
            add(0, Op::Create { child });
            add(child, begin(1 + child));
        }
        for _ in 0..60 {
            let (thread, address) = (1 + below(u64::from(THREADS)) as u32, 0x1000 + 8 * below(3));
            add(
                thread,
                match below(3) {
                    0 => Op::AtomicRead { address, size: 4 },
                    1 => Op::AtomicWrite { address, size: 4 },
                    _ => Op::AtomicUpdate { address, size: 4 },
                },
            );
        }
        for child in 1..=THREADS {
            add(child, Op::End);
            add(0, Op::Join { child });
        }
        add(0, Op::End);
        log.push(Event { thread: 0, place: None, pc: 0, op: Op::Stop(Stop::Exit(0)) });
        Run::of_events(log.into_iter()).unwrap()
    }

    /// By definition: each is compared with all others.
    fn not_overwritten_one_by_one(run: &Run, writes: &[u32]) -> Vec<u32> {
        let event = |write: u32| run.steps[write as usize].event;
        let overwrites = |later: u32, write: u32| {
            let step = &run.steps[later as usize];
            later != write && step.clock(event(write).thread as usize) > event(write).place
        };
        let is_left = |&&write: &&u32| !writes.iter().any(|&later| overwrites(later, write));
        writes.iter().filter(is_left).copied().collect()
    }

    #[test]
    fn a_write_that_another_comes_after_is_overwritten() {
        let (mut overwritten, mut left) = (0, 0);
        for seed in 0..100 {
            let run = run(seed);
            for step in &run.steps {
                for part in reading(step) {
                    let last: Vec<u32> = around(&run, step, part).filter_map(|around| around.last).collect();
                    let mut found = not_overwritten(&run, last.clone());
                    let mut expected = not_overwritten_one_by_one(&run, &last);
                    found.sort_unstable();
                    expected.sort_unstable();
                    assert_eq!(found, expected, "seed {seed}, {:?}", step.event);
                    overwritten += last.len() - expected.len();
                    left += expected.len();
                }
            }
        }
        assert!(overwritten > 100 && left > 100, "both happen: {overwritten}, {left}");
    }
}
