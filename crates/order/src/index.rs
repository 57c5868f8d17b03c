//! The index of a trace: what all analyses of it share, built once in linear time. A question then touches only its
//! neighbourhood. Parts that not every analysis needs are built when they are first asked for.

use std::sync::OnceLock;

use bounds::Bounds;
use trace::{EventId, LockId, Op, SemaphoreId, ThreadEvents, ThreadId, Trace, VariableId};

use crate::access::contested_variables;
use crate::groups::{ByThread, Groups, events_in_time};
use crate::must::{MustOrder, ReadOrder};
use crate::readers::Readers;
use crate::sections::{LockUse, OpenSections, Section, Sections};
use crate::synchronisation::Synchronisation;

/// A trace with its index.
#[derive(Debug)]
pub struct Index<'t> {
    trace: &'t Trace,
    bounds: Bounds,
    threads: ThreadEvents,
    writes: Groups<EventId>,
    /// The same by thread, as places.
    thread_writes: ByThread<u32>,
    reads: OnceLock<Groups<EventId>>,
    readers: OnceLock<Readers>,
    /// Places of the accesses of contested variables, by thread.
    contested: OnceLock<Groups<u32>>,
    sections: Sections,
    posts: Groups<EventId>,
    takes: Groups<EventId>,
    /// Places of the branches of each thread.
    branches: OnceLock<Groups<u32>>,
    open: OnceLock<OpenSections>,
    must: [OnceLock<MustOrder>; 3],
    synchronisation: OnceLock<Option<Synchronisation>>,
}

impl<'t> Index<'t> {
    /// Builds the index of a trace.
    pub fn new(trace: &'t Trace) -> Self {
        Index::within(trace, Bounds::NONE)
    }

    /// Builds the index of a trace, for work within bounds. Where they are reached for good while it is built, it is
    /// incomplete: nothing that follows from it counts then. A share of the time ends no part of it: the parts after have use for it.
    pub fn within(trace: &'t Trace, bounds: Bounds) -> Self {
        let symbols = trace.symbols();
        let threads = ThreadEvents::of(trace);
        Index {
            trace,
            bounds,
            writes: events_by(trace, bounds, symbols.variables.len(), |op| {
                op.writes().map(VariableId::index)
            }),
            thread_writes: ByThread::new(symbols.variables.len(), trace, &threads, bounds, |_, op, place| {
                op.writes().map(|variable| (variable.index(), place))
            }),
            sections: Sections::of(trace, &threads, bounds),
            posts: events_by(trace, bounds, symbols.semaphores.len(), |op| match op {
                Op::Post(semaphore) => Some(semaphore.index()),
                _ => None,
            }),
            takes: events_by(trace, bounds, symbols.semaphores.len(), |op| match op {
                Op::Take(semaphore) => Some(semaphore.index()),
                _ => None,
            }),
            threads,
            reads: OnceLock::new(),
            readers: OnceLock::new(),
            contested: OnceLock::new(),
            branches: OnceLock::new(),
            open: OnceLock::new(),
            must: [const { OnceLock::new() }; 3],
            synchronisation: OnceLock::new(),
        }
    }

    /// The trace.
    #[inline]
    pub fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// What the work on the trace may take.
    #[inline]
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The events of each thread.
    #[inline]
    pub fn threads(&self) -> &ThreadEvents {
        &self.threads
    }

    /// The event that must have happened for this one to be next: the one before it in its thread, or the fork.
    #[inline]
    pub fn previous(&self, event: EventId) -> Option<EventId> {
        let thread = self.trace.thread(event);
        match self.threads.place(event) {
            0 => self.trace.fork_of(thread),
            place => Some(self.threads.of_thread(thread)[place - 1]),
        }
    }

    /// The orders that hold in every schedule.
    pub fn must_order(&self, reads: ReadOrder) -> &MustOrder {
        self.must[reads as usize].get_or_init(|| MustOrder::new(self, reads))
    }

    /// What the memory orders put in order; nothing if all are `seq_cst`.
    #[inline]
    pub fn synchronisation(&self) -> Option<&Synchronisation> {
        match self.trace.is_sequential() {
            true => None,
            false => self.synchronisation.get_or_init(|| Synchronisation::of(self)).as_ref(),
        }
    }

    /// The writes of a variable in the order of the trace.
    pub fn writes(&self, variable: VariableId) -> &[EventId] {
        self.writes.group(variable.index())
    }

    /// The writes of each variable by thread, as places.
    #[inline]
    pub fn thread_writes(&self) -> &ByThread<u32> {
        &self.thread_writes
    }

    /// The reads that saw each write.
    #[inline]
    pub fn readers(&self) -> &Readers {
        self.readers.get_or_init(|| Readers::of(self.trace))
    }

    /// The posts of a semaphore in the order of the trace.
    pub fn posts(&self, semaphore: SemaphoreId) -> &[EventId] {
        self.posts.group(semaphore.index())
    }

    /// The takes of a semaphore in the order of the trace.
    pub fn takes(&self, semaphore: SemaphoreId) -> &[EventId] {
        self.takes.group(semaphore.index())
    }

    /// The reads of a variable from an event on, in the order of the trace.
    pub fn reads_since(&self, variable: VariableId, start: EventId) -> &[EventId] {
        let reads = self.reads.get_or_init(|| {
            let variables = self.trace.symbols().variables.len();
            events_by(self.trace, self.bounds, variables, |op| op.reads().map(VariableId::index))
        });
        let reads = reads.group(variable.index());
        &reads[reads.partition_point(|&read| read < start)..]
    }

    /// The places between two of a thread's accesses that compete with those of others: the only ones whose order with other
    /// threads can matter.
    pub fn contested_between(&self, thread: ThreadId, first: u32, end: u32) -> &[u32] {
        let places = self.contested.get_or_init(|| {
            let contested = contested_variables(self.trace);
            let is_contested = |op: Op| op.access().is_some_and(|access| contested[access.variable.index()]);
            places(self, is_contested)
        });
        between(places.group(thread.index()), first, end, |&place| place)
    }

    /// All sections, by thread, those of a thread in the order of their acquires.
    pub fn sections(&self) -> &[Section] {
        self.sections.all()
    }

    /// The sections of each lock by thread, as places.
    #[inline]
    pub fn thread_sections(&self) -> &ByThread<LockUse> {
        &self.sections.uses
    }

    /// The sections that a thread opens between two places.
    pub fn sections_between(&self, thread: ThreadId, first: u32, end: u32) -> &[Section] {
        let place = |section: &Section| self.threads.place(section.acquire) as u32;
        between(self.sections.of_thread(thread), first, end, place)
    }

    /// The sections of a lock that are open when the recorded prefix before `at` has happened, latest first.
    pub fn open_sections(&self, lock: LockId, at: EventId) -> impl Iterator<Item = Section> + '_ {
        self.sections.open_at(lock, at)
    }

    /// The sections open after each event, and the locks held.
    #[inline]
    pub fn open(&self) -> &OpenSections {
        self.open.get_or_init(|| OpenSections::of(self.trace, &self.sections, self.bounds))
    }

    /// The sections that the thread of an event has open after it, latest first.
    #[inline]
    pub fn open_after(&self, event: EventId) -> impl Iterator<Item = &Section> + '_ {
        let all = self.sections.all();
        self.open().after(all, event).map(|section| &all[section as usize])
    }

    /// The sections that a thread has open when it has executed `count` of its events, latest first.
    pub fn held_after(&self, thread: ThreadId, count: u32) -> impl Iterator<Item = &Section> + '_ {
        let last = count.checked_sub(1).map(|last| self.threads.of_thread(thread)[last as usize]);
        last.into_iter().flat_map(|last| self.open_after(last))
    }

    /// The place of a thread's first branch after a place.
    pub fn branch_after(&self, thread: ThreadId, place: u32) -> Option<u32> {
        let branches = self.branches.get_or_init(|| places(self, |op| matches!(op, Op::Branch(1..))));
        let branches = branches.group(thread.index());
        branches.get(branches.partition_point(|&branch| branch <= place)).copied()
    }
}

/// The events of each group, in the order of the trace.
fn events_by(
    trace: &Trace,
    bounds: Bounds,
    groups: usize,
    group: impl Fn(Op) -> Option<usize>,
) -> Groups<EventId> {
    Groups::new(groups, bounds, || {
        events_in_time(trace, bounds).filter_map(|(event, _, op)| group(op).map(|group| (group, event)))
    })
}

/// The places of the operations of each thread that are wanted.
fn places(index: &Index<'_>, wanted: impl Fn(Op) -> bool) -> Groups<u32> {
    let threads = &index.threads;
    Groups::new(threads.threads(), index.bounds, || {
        let events = events_in_time(index.trace, index.bounds).filter(|&(_, _, op)| wanted(op));
        events.map(|(event, thread, _)| (thread.index(), threads.place(event) as u32))
    })
}

/// The items whose places are at least `first` and less than `end`.
fn between<T>(items: &[T], first: u32, end: u32, place: impl Fn(&T) -> u32) -> &[T] {
    let from = items.partition_point(|item| place(item) < first);
    &items[from..from + items[from..].partition_point(|item| place(item) < end)]
}
