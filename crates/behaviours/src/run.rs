//! A run as a graph: the events of each thread, and what each read saw.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use trace::ThreadPath;
use wire::{Event, Reader};

use crate::accesses::{Effect, EventRef, Need, ObjectState, RawRun, RawStep};
use crate::cells::{Cell, Cells};
use crate::doubt::Doubt;

/// The place in the program that read, and the place that wrote what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SitePair {
    pub(crate) read: u64,
    /// 0: the initial value.
    pub(crate) write: u64,
}

impl std::fmt::Display for SitePair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}-{:x}", self.read, self.write)
    }
}

/// A thread, in whatever run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ThreadKey(u64);

impl ThreadKey {
    fn of(path: &ThreadPath) -> ThreadKey {
        ThreadKey(hash_of(path))
    }
}

pub(crate) fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A run of the program.
#[derive(Debug)]
pub struct Run {
    pub(crate) threads: Vec<RunThread>,
    /// Events that share something with other threads, in the order of the run.
    pub(crate) steps: Vec<RunStep>,
    /// The steps that write each cell.
    pub(crate) writers: Vec<Writers>,
    pub(crate) doubts: BTreeSet<Doubt>,
    by_key: FxHashMap<ThreadKey, u32>,
}

/// A thread of a run.
#[derive(Debug)]
pub(crate) struct RunThread {
    pub(crate) path: ThreadPath,
    pub(crate) key: ThreadKey,
    /// What identifies the thread's first n events with all that they depend on, for each n.
    pub(crate) hashes: Vec<u64>,
    kinds: Vec<u64>,
    /// Its steps.
    pub(crate) steps: Vec<u32>,
}

impl RunThread {
    /// How many events it performs.
    pub(crate) fn length(&self) -> u64 {
        self.kinds.len() as u64
    }

    /// What identifies its first events, with the kind of the last of them.
    fn base(&self, place: u64) -> u64 {
        let hash = self.hashes[place as usize];
        match place.checked_sub(1) {
            Some(last) => hash_of(&(hash, self.kinds[last as usize])),
            None => hash,
        }
    }
}

/// The steps that write a cell, by thread, each thread's in its order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writers(Vec<(u32, Vec<u32>)>);

impl Writers {
    fn push(&mut self, thread: u32, step: u32) {
        match self.0.iter_mut().find(|(writer, _)| *writer == thread) {
            Some((_, steps)) => steps.push(step),
            None => self.0.push((thread, vec![step])),
        }
    }

    /// Each thread that writes, and its steps.
    pub(crate) fn by_thread(&self) -> impl ExactSizeIterator<Item = (u32, &[u32])> {
        self.0.iter().map(|(thread, steps)| (*thread, steps.as_slice()))
    }
}

/// What an allocation of this size takes.
pub(crate) fn allocated(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

/// What a clock takes besides its numbers: two counts of those who share it, and the allocator's own.
const CLOCK_HEADER: usize = 24;

/// How many events of each thread an event depends on.
pub(crate) type Clock = Arc<[u64]>;

/// An event that shares something with other threads.
#[derive(Debug)]
pub(crate) struct RunStep {
    pub(crate) event: EventRef,
    pub(crate) pc: u64,
    pub(crate) parts: Box<[Part]>,
    pub(crate) links: Vec<EventRef>,
    pub(crate) may_change: bool,
    /// The thread still waited for it when the run ended.
    pub(crate) is_pending: bool,
    /// What comes before it, its own sources left out.
    pub(crate) before: Clock,
    /// The same with its sources.
    after: Clock,
}

impl RunStep {
    /// How many events of this thread have happened when it has.
    pub(crate) fn clock(&self, thread: usize) -> u64 {
        if thread == self.event.thread as usize { self.event.place + 1 } else { self.after[thread] }
    }

    /// Whether it reads something that threads share.
    pub(crate) fn reads(&self) -> bool {
        self.parts.iter().any(|part| part.effect.reads())
    }
}

/// A cell that an event accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) cell: Cell,
    pub(crate) effect: Effect,
    /// Of a read: what it saw; none: the initial value.
    pub(crate) source: Option<EventRef>,
    pub(crate) need: Need,
    pub(crate) after: ObjectState,
    /// Where it starts and ends in what the event accesses.
    start: u64,
    end: u64,
}

impl Run {
    /// The run that a log describes. The error says why it is not looked at.
    pub fn of_log(log: &[u8]) -> Result<Run, Doubt> {
        let reader = Reader::new(log).map_err(|_| Doubt::CutOff)?;
        Run::of_events(reader.map_while(Result::ok))
    }

    /// The run that these events are.
    pub fn of_events<'a>(events: impl Iterator<Item = Event<'a>>) -> Result<Run, Doubt> {
        let raw = RawRun::read(events).ok_or(Doubt::TooLong)?;
        let cells = Cells::of(&raw).ok_or(Doubt::TooLong)?;
        Ok(Building::new(&raw, &cells).finish(raw, &cells))
    }

    /// What identifies its behaviour.
    pub fn class(&self) -> u64 {
        let mut threads: Vec<(ThreadKey, u64)> =
            self.threads.iter().map(|thread| (thread.key, thread.base(thread.length()))).collect();
        threads.sort_unstable();
        hash_of(&threads)
    }

    /// Which places in the program saw what which others wrote, across threads.
    pub fn pairs(&self) -> impl Iterator<Item = SitePair> + '_ {
        self.steps.iter().filter(|step| !step.is_pending).flat_map(move |step| {
            let reads = step.parts.iter().filter(|part| part.effect.reads());
            reads.map(move |part| self.pair(step, part.source))
        })
    }

    /// Why a search that has this run may miss others.
    pub fn doubts(&self) -> impl Iterator<Item = Doubt> + '_ {
        self.doubts.iter().copied()
    }

    /// How many events it has.
    pub fn len(&self) -> usize {
        self.threads.iter().map(|thread| thread.kinds.len()).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes it takes.
    pub(crate) fn memory(&self) -> usize {
        let steps = self.steps.iter().map(|step| {
            let parts = allocated(size_of_val(&*step.parts));
            let links = allocated(step.links.capacity() * size_of::<EventRef>());
            // A thread shares its clock from step to step, until it learns something.
            let clocks = [&step.before, &step.after]
                .map(|clock| (CLOCK_HEADER + size_of_val(&**clock)) / Arc::strong_count(clock));
            size_of::<RunStep>() + parts + links + clocks.iter().sum::<usize>()
        });
        let threads = self.threads.iter().map(|thread| {
            let hashes = allocated((thread.hashes.capacity() + thread.kinds.capacity()) * size_of::<u64>());
            size_of::<RunThread>() + hashes + allocated(thread.steps.capacity() * size_of::<u32>())
        });
        let writers = self.writers.iter().map(|Writers(threads)| {
            let lists = threads.iter().map(|(_, steps)| allocated(steps.capacity() * size_of::<u32>()));
            allocated(threads.capacity() * size_of::<(u32, Vec<u32>)>()) + lists.sum::<usize>()
        });
        let writers = size_of::<Writers>() * self.writers.len() + writers.sum::<usize>();
        size_of::<Run>() + steps.sum::<usize>() + threads.sum::<usize>() + writers
    }

    pub(crate) fn pair(&self, step: &RunStep, source: Option<EventRef>) -> SitePair {
        let write = source.and_then(|source| self.step_of(source)).map_or(0, |step| step.pc);
        SitePair { read: step.pc, write }
    }

    /// The step that an event is, if it is one.
    pub(crate) fn step_of(&self, event: EventRef) -> Option<&RunStep> {
        let steps = &self.threads[event.thread as usize].steps;
        let index = steps.partition_point(|&step| self.steps[step as usize].event.place < event.place);
        let step = &self.steps[*steps.get(index)? as usize];
        (step.event == event).then_some(step)
    }

    pub(crate) fn thread_with(&self, key: ThreadKey) -> Option<&RunThread> {
        self.by_key.get(&key).map(|&thread| &self.threads[thread as usize])
    }

    /// What identifies a step with other sources for its reads, and what came before.
    pub(crate) fn hash_with(&self, step: &RunStep, sources: &[Option<EventRef>]) -> u64 {
        let reads = step.parts.iter().filter(|part| part.effect.reads());
        let parts: Vec<(&Part, Option<EventRef>)> = reads.zip(sources.iter().copied()).collect();
        hash_step(&self.threads, step.event, &parts, &step.links)
    }
}

/// What identifies the events of a thread up to this one, given what its reads see. Only what comes from other threads counts: the
/// rest follows from it.
fn hash_step(
    threads: &[RunThread],
    event: EventRef,
    parts: &[(&Part, Option<EventRef>)],
    links: &[EventRef],
) -> u64 {
    let hash_at = |event: EventRef| threads[event.thread as usize].hashes[event.place as usize + 1];
    let mut foreign: Vec<(u64, u64, u64)> = Vec::new();
    for (part, source) in parts {
        let Some(source) = source.filter(|source| source.thread != event.thread) else { continue };
        let source = hash_at(source);
        match foreign.last_mut() {
            Some((_, end, last)) if *end == part.start && *last == source => *end = part.end,
            _ => foreign.push((part.start, part.end, source)),
        }
    }
    let mut links: Vec<u64> = links.iter().map(|&link| hash_at(link)).collect();
    links.sort_unstable();
    hash_of(&(threads[event.thread as usize].base(event.place), foreign, links))
}

/// A run on its way.
struct Building {
    threads: Vec<RunThread>,
    steps: Vec<RunStep>,
    clocks: Vec<Clock>,
    /// The last step that wrote each cell.
    last: Vec<Option<EventRef>>,
    writers: Vec<Writers>,
    doubts: BTreeSet<Doubt>,
}

impl Building {
    fn new(raw: &RawRun, cells: &Cells) -> Building {
        let threads = raw.threads.iter().map(|thread| RunThread {
            path: thread.path.clone(),
            key: ThreadKey::of(&thread.path),
            hashes: vec![hash_of(&thread.path)],
            kinds: thread.kinds.clone(),
            steps: Vec::new(),
        });
        let nothing: Clock = vec![0; raw.threads.len()].into();
        Building {
            threads: threads.collect(),
            steps: Vec::new(),
            clocks: vec![nothing; raw.threads.len()],
            last: vec![None; cells.count as usize],
            writers: vec![Writers::default(); cells.count as usize],
            doubts: raw.doubts.clone(),
        }
    }

    fn finish(mut self, raw: RawRun, cells: &Cells) -> Run {
        let linked: FxHashSet<EventRef> =
            raw.steps.iter().flat_map(|step| step.links.iter().copied()).collect();
        let (pending, happened): (Vec<&RawStep>, Vec<&RawStep>) =
            raw.steps.iter().partition(|step| step.is_pending);
        for step in happened {
            let parts = self.parts(step, cells);
            if !parts.is_empty() || !step.links.is_empty() || linked.contains(&step.event) {
                self.add(step, parts);
            }
        }
        for thread in 0..self.threads.len() {
            let length = self.threads[thread].length();
            self.hash_until(thread, length);
        }
        for step in pending {
            let parts = self.parts(step, cells);
            self.add_pending(step, parts);
        }
        let by_key = self.threads.iter().zip(0..).map(|(thread, number)| (thread.key, number)).collect();
        let Building { mut threads, mut steps, writers, doubts, .. } = self;
        steps.shrink_to_fit();
        for thread in &mut threads {
            thread.hashes.shrink_to_fit();
            thread.steps.shrink_to_fit();
        }
        Run { threads, steps, writers, doubts, by_key }
    }

    fn parts(&mut self, step: &RawStep, cells: &Cells) -> Box<[Part]> {
        let mut parts = Vec::new();
        for access in &step.accesses {
            for (cell, at, until) in cells.of_range(access.block, access.start, access.end) {
                if access.is_compound {
                    self.doubts.insert(Doubt::CompoundAccess);
                }
                parts.push(Part {
                    cell,
                    effect: access.effect,
                    source: if access.effect.reads() { self.last[cell.0 as usize] } else { None },
                    need: access.need,
                    after: access.after,
                    start: access.offset + (at - access.start),
                    end: access.offset + (until - access.start),
                });
            }
        }
        // Runs are kept, and most events access one cell.
        parts.into_boxed_slice()
    }

    /// Adds the events of a thread that are no steps to its hashes.
    fn hash_until(&mut self, thread: usize, place: u64) {
        let number = thread as u32;
        while (self.threads[thread].hashes.len() as u64) <= place {
            let at = self.threads[thread].hashes.len() as u64 - 1;
            let hash = hash_step(&self.threads, EventRef { thread: number, place: at }, &[], &[]);
            self.threads[thread].hashes.push(hash);
        }
    }

    /// Adds what did not happen.
    fn add_pending(&mut self, raw: &RawStep, parts: Box<[Part]>) {
        let clock = self.clocks[raw.event.thread as usize].clone();
        self.threads[raw.event.thread as usize].steps.push(self.steps.len() as u32);
        self.steps.push(RunStep {
            event: raw.event,
            pc: raw.pc,
            parts,
            links: Vec::new(),
            may_change: false,
            is_pending: true,
            before: clock.clone(),
            after: clock,
        });
    }

    fn add(&mut self, raw: &RawStep, parts: Box<[Part]>) {
        let event = raw.event;
        let thread = event.thread as usize;
        self.hash_until(thread, event.place);
        let seen: Vec<(&Part, Option<EventRef>)> =
            parts.iter().filter(|part| part.effect.reads()).map(|part| (part, part.source)).collect();
        let hash = hash_step(&self.threads, event, &seen, &raw.links);
        self.threads[thread].hashes.push(hash);
        let linked = self.joined(thread, raw.links.iter().copied());
        self.clocks[thread] = linked.clone();
        let sources: Vec<EventRef> = seen.iter().filter_map(|&(_, source)| source).collect();
        let after = self.joined(thread, sources.into_iter());
        self.clocks[thread] = after.clone();
        let number = self.steps.len() as u32;
        for part in parts.iter().filter(|part| part.effect.writes()) {
            self.last[part.cell.0 as usize] = Some(event);
            self.writers[part.cell.0 as usize].push(event.thread, number);
        }
        self.threads[thread].steps.push(number);
        let (pc, links, may_change) = (raw.pc, raw.links.clone(), raw.may_change);
        let is_pending = false;
        self.steps.push(RunStep { event, pc, parts, links, may_change, is_pending, before: linked, after });
    }

    /// The clock of a thread that learns of these events.
    fn joined(&self, thread: usize, events: impl Iterator<Item = EventRef>) -> Clock {
        let mut joined: Option<Vec<u64>> = None;
        for event in events.filter(|event| event.thread as usize != thread) {
            let steps = &self.threads[event.thread as usize].steps;
            let index = steps.partition_point(|&step| self.steps[step as usize].event.place < event.place);
            let known = &self.steps[steps[index] as usize];
            let clock = joined.get_or_insert_with(|| self.clocks[thread].to_vec());
            for (other, count) in clock.iter_mut().enumerate() {
                *count = (*count).max(known.clock(other));
            }
        }
        joined.map_or_else(|| self.clocks[thread].clone(), Arc::from)
    }
}
