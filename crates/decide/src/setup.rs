//! What all questions about a trace share: who wrote each variable, the sections of each lock, the
//! events of each thread. Built once in linear time; a question then touches only its neighbourhood.

use check::Source;
use trace::{EventId, LockId, Op, SemaphoreId, ThreadEvents, ThreadId, Trace, VariableId};

use crate::uses::{self, ByThread, Held, Readers};

/// A section of a lock: from its outermost acquire to its release.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(crate) acquire: EventId,
    /// `None`: still open at the end of the trace.
    pub(crate) release: Option<EventId>,
    pub(crate) thread: ThreadId,
    pub(crate) lock: LockId,
    pub(crate) shared: bool,
}

/// A trace made ready for questions.
#[derive(Debug)]
pub struct Setup<'t> {
    pub(crate) trace: &'t Trace,
    pub(crate) threads: ThreadEvents,
    writes: Grouped<EventId>,
    /// Sections of each lock in the order of their acquires.
    sections: Grouped<Section>,
    /// For each section, the latest release among it and all before it on its lock.
    latest_release: Vec<EventId>,
    /// Sections of each thread in the order of their acquires, with the latest release as above.
    held: Grouped<Section>,
    latest_held: Vec<EventId>,
    posts: Grouped<EventId>,
    takes: Grouped<EventId>,
    /// The same by thread, as places.
    pub(crate) thread_writes: ByThread<u32>,
    pub(crate) thread_sections: ByThread<Held>,
    reads: Grouped<EventId>,
    pub(crate) readers: Readers,
    contended: Vec<Vec<u32>>,
    /// Places of the branches of each thread.
    branches: Grouped<u32>,
}

/// Stands for 'after everything'.
const NEVER: EventId = EventId(u32::MAX);

impl<'t> Setup<'t> {
    /// Makes a trace ready for questions.
    pub fn new(trace: &'t Trace) -> Self {
        let symbols = trace.symbols();
        let by_kind = |groups: usize, key: &dyn Fn(Op) -> Option<usize>| {
            Grouped::new(groups, || {
                trace.events().filter_map(move |(event, _, op)| key(op).map(|group| (group, event)))
            })
        };
        let section = |(event, thread, op): (EventId, ThreadId, Op)| match op {
            Op::Acquire(lock) | Op::AcquireShared(lock) if !trace.is_nested(event) => {
                let (release, shared) = (trace.section_end(event), matches!(op, Op::AcquireShared(_)));
                Some(Section { acquire: event, release, thread, lock, shared })
            }
            _ => None,
        };
        let sections = Grouped::new(symbols.locks.len(), || {
            trace.events().filter_map(section).map(|section| (section.lock.index(), section))
        });
        let held = Grouped::new(symbols.threads.len(), || {
            trace.events().filter_map(section).map(|section| (section.thread.index(), section))
        });
        let threads = ThreadEvents::of(trace);
        let branches = Grouped::new(symbols.threads.len(), || {
            trace.events().filter_map(|(event, thread, op)| match op {
                Op::Branch(1..) => Some((thread.index(), threads.place(event) as u32)),
                _ => None,
            })
        });
        Setup {
            trace,
            thread_writes: uses::writes(trace, &threads),
            thread_sections: uses::sections(trace, &threads),
            contended: uses::contended(trace, &threads),
            readers: Readers::of(trace),
            reads: by_kind(symbols.variables.len(), &|op| op.reads().map(VariableId::index)),
            branches,
            threads,
            writes: by_kind(symbols.variables.len(), &|op| op.writes().map(VariableId::index)),
            latest_release: latest_releases(&sections),
            sections,
            latest_held: latest_releases(&held),
            held,
            posts: by_kind(symbols.semaphores.len(), &|op| match op {
                Op::Post(s) => Some(s.index()),
                _ => None,
            }),
            takes: by_kind(symbols.semaphores.len(), &|op| match op {
                Op::Take(s) => Some(s.index()),
                _ => None,
            }),
        }
    }

    /// The trace.
    pub fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// The events of each thread.
    pub fn threads(&self) -> &ThreadEvents {
        &self.threads
    }

    /// The writes of a variable in the order of the trace.
    pub fn writes(&self, variable: VariableId) -> &[EventId] {
        self.writes.group(variable.index())
    }

    /// What a read could see: the initial value or any write of its variable but itself, without
    /// what it saw in the trace.
    pub fn other_sources(&self, read: EventId) -> Vec<Source> {
        let Some(variable) = self.trace.op(read).reads() else { return Vec::new() };
        let seen = self.trace.reads_from(read);
        let initial = seen.is_some().then_some(Source::Initial);
        let writes = self.writes(variable).iter().filter(|&&w| w != read && Some(w) != seen);
        initial.into_iter().chain(writes.map(|&w| Source::Write(w))).collect()
    }

    pub(crate) fn posts(&self, semaphore: SemaphoreId) -> &[EventId] {
        self.posts.group(semaphore.index())
    }

    pub(crate) fn takes(&self, semaphore: SemaphoreId) -> &[EventId] {
        self.takes.group(semaphore.index())
    }

    /// The reads of a variable from an event on, in the order of the trace.
    pub(crate) fn reads_since(&self, variable: VariableId, start: EventId) -> &[EventId] {
        let reads = self.reads.group(variable.index());
        &reads[reads.partition_point(|&read| read < start)..]
    }

    /// The places between two of a thread's accesses that compete with those of others.
    pub(crate) fn contended(&self, thread: ThreadId, first: u32, end: u32) -> &[u32] {
        between(&self.contended[thread.index()], first, end, |&place| place)
    }

    /// The sections that a thread opens between two places.
    pub(crate) fn sections_between(&self, thread: ThreadId, first: u32, end: u32) -> &[Section] {
        let place = |section: &Section| self.threads.place(section.acquire) as u32;
        between(self.held.group(thread.index()), first, end, place)
    }

    /// The place of a thread's first branch after a place.
    pub(crate) fn branch_after(&self, thread: ThreadId, place: u32) -> Option<u32> {
        let branches = self.branches.group(thread.index());
        branches.get(branches.partition_point(|&branch| branch <= place)).copied()
    }

    /// The sections that a thread has open when it has done so many of its events.
    pub(crate) fn held_after(&self, thread: ThreadId, count: u32) -> impl Iterator<Item = Section> + '_ {
        let events = self.threads.of_thread(thread);
        let at = events.get(count as usize).copied().unwrap_or(NEVER);
        self.held.open_at(thread.index(), at, &self.latest_held)
    }

    /// The sections of a lock that are open when the recorded prefix before `at` has happened.
    pub(crate) fn open_sections(&self, lock: LockId, at: EventId) -> impl Iterator<Item = Section> + '_ {
        self.sections.open_at(lock.index(), at, &self.latest_release)
    }
}

/// The items whose places are at least `first` and less than `end`.
fn between<T>(items: &[T], first: u32, end: u32, place: impl Fn(&T) -> u32) -> &[T] {
    let from = items.partition_point(|item| place(item) < first);
    &items[from..from + items[from..].partition_point(|item| place(item) < end)]
}

/// For each section, the latest release among it and all before it in its group.
fn latest_releases(sections: &Grouped<Section>) -> Vec<EventId> {
    let mut all = Vec::with_capacity(sections.items.len());
    for group in 0..sections.starts.len() - 1 {
        let mut latest = EventId(0);
        all.extend(sections.group(group).iter().map(|section| {
            latest = latest.max(section.release.unwrap_or(NEVER));
            latest
        }));
    }
    all
}

impl Grouped<Section> {
    /// The sections of a group that are open right before an event, latest first.
    fn open_at<'a>(
        &'a self,
        group: usize,
        at: EventId,
        latest_release: &'a [EventId],
    ) -> impl Iterator<Item = Section> + 'a {
        let start = self.range(group).start;
        let before = self.group(group).partition_point(|section| section.acquire < at);
        (start..start + before)
            .rev()
            .take_while(move |&index| latest_release[index] >= at)
            .map(|index| self.items[index])
            .filter(move |section| section.release.is_none_or(|release| release >= at))
    }
}

/// Items grouped by a dense key, each group in the order of the trace.
#[derive(Debug)]
struct Grouped<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Grouped<T> {
    /// Groups what the iterator yields; it is run twice.
    fn new<I: Iterator<Item = (usize, T)>>(groups: usize, items: impl Fn() -> I) -> Self {
        let mut starts = vec![0u32; groups + 1];
        for (group, _) in items() {
            starts[group + 1] += 1;
        }
        for group in 0..groups {
            starts[group + 1] += starts[group];
        }
        let mut next = starts.clone();
        let mut placed: Vec<Option<T>> = vec![None; starts[groups] as usize];
        for (group, item) in items() {
            placed[next[group] as usize] = Some(item);
            next[group] += 1;
        }
        Grouped { starts, items: placed.into_iter().flatten().collect() }
    }

    fn range(&self, group: usize) -> std::ops::Range<usize> {
        self.starts[group] as usize..self.starts[group + 1] as usize
    }

    fn group(&self, group: usize) -> &[T] {
        &self.items[self.range(group)]
    }
}
