//! The reads and writes of each variable, gathered by thread, place in the source and locks: groups for which locks alone show that no read of
//! one can see a write of another.

use order::{Index, LockSetId, LockSets};
use rustc_hash::FxHashMap;
use trace::{EventId, LocationId, ThreadId, VariableId};

/// Reads of one thread at one place, holding the same locks.
#[derive(Debug)]
pub(super) struct ReadGroup {
    pub(super) thread: ThreadId,
    pub(super) site: LocationId,
    held: LockSetId,
    /// The locks held without a break since the thread's own last write: nothing that a holder of them writes comes between.
    covered: LockSetId,
    pub(super) events: Vec<EventId>,
}

/// Writes of one thread at one place, holding the same locks.
#[derive(Debug)]
pub(super) struct WriteGroup {
    pub(super) thread: ThreadId,
    pub(super) site: LocationId,
    held: LockSetId,
    /// The locks held without a break until the thread's own next write: who takes them later sees that one.
    hidden: LockSetId,
    pub(super) events: Vec<EventId>,
    /// Of the events in the thread.
    pub(super) places: Vec<u32>,
}

/// One variable's reads and writes.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    pub(super) reads: Vec<ReadGroup>,
    pub(super) writes: Vec<WriteGroup>,
}

/// Accesses that are alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Alike {
    thread: ThreadId,
    site: LocationId,
    held: LockSetId,
    /// Since the last write, or until the next one.
    unbroken: LockSetId,
}

/// Gathers the accesses of one variable after the other.
pub(super) struct Grouping<'t> {
    index: &'t Index<'t>,
    sets: LockSets,
}

impl<'t> Grouping<'t> {
    pub(super) fn new(index: &'t Index<'t>) -> Self {
        Grouping { index, sets: index.open().sets().clone() }
    }

    /// Whether locks keep reads from seeing writes. Sections of a lock that exclude each other come one after the other, each with all that
    /// its thread does in it if another follows.
    pub(super) fn excludes(&self, reads: &ReadGroup, writes: &WriteGroup) -> bool {
        reads.thread != writes.thread
            && (self.sets.exclude(writes.hidden, reads.held) || self.sets.exclude(writes.held, reads.covered))
    }

    /// The accesses of a variable, each group in the order of the trace; where the bounds of the work are reached, only some of them.
    pub(super) fn of(&mut self, variable: VariableId) -> Accesses {
        let (mut numbers, mut writes) = (FxHashMap::default(), Vec::<WriteGroup>::new());
        let (trace, bounds) = (self.index.trace(), self.index.bounds());
        let all = self.index.writes(variable);
        let mut next_of: FxHashMap<ThreadId, EventId> = FxHashMap::default();
        for &write in all.iter().rev().take_while(|_| !bounds.are_reached()) {
            let thread = trace.thread(write);
            let next = next_of.insert(thread, write);
            let hidden = next.map_or(LockSetId::EMPTY, |next| self.unbroken(write, next));
            let alike = self.alike(write, hidden);
            let number = *numbers.entry(alike).or_insert_with(|| {
                let Alike { site, held, .. } = alike;
                writes.push(WriteGroup {
                    thread,
                    site,
                    held,
                    hidden,
                    events: Vec::new(),
                    places: Vec::new(),
                });
                writes.len() - 1
            });
            writes[number].events.push(write);
        }
        for group in &mut writes {
            group.events.reverse();
            group.places =
                group.events.iter().map(|&write| self.index.threads().place(write) as u32).collect();
        }
        numbers.clear();
        let (mut reads, mut last_of) = (Vec::<ReadGroup>::new(), FxHashMap::default());
        let mut earlier = all.iter().copied().peekable();
        let all_reads = self.index.reads_since(variable, EventId(0));
        for &read in all_reads.iter().take_while(|_| !bounds.are_reached()) {
            while let Some(write) = earlier.next_if(|&write| write < read) {
                last_of.insert(trace.thread(write), write);
            }
            let thread = trace.thread(read);
            let covered = last_of.get(&thread).map_or(LockSetId::EMPTY, |&last| self.unbroken(last, read));
            let alike = self.alike(read, covered);
            let number = *numbers.entry(alike).or_insert_with(|| {
                let Alike { site, held, .. } = alike;
                reads.push(ReadGroup { thread, site, held, covered, events: Vec::new() });
                reads.len() - 1
            });
            reads[number].events.push(read);
        }
        Accesses { reads, writes }
    }

    fn alike(&self, event: EventId, unbroken: LockSetId) -> Alike {
        let trace = self.index.trace();
        let (thread, site) = (trace.thread(event), trace.location(event));
        Alike { thread, site, held: self.index.open().locks_after(event), unbroken }
    }

    /// The locks held from one event of a thread to another without a break.
    fn unbroken(&mut self, first: EventId, second: EventId) -> LockSetId {
        let open = self.index.open_after(second).filter(|section| section.acquire < first);
        self.sets.set_of(open.map(|section| section.hold()))
    }
}
