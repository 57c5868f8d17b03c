//! Algorithm 1 of paper 5 (Zeng, Sun, Liu, He, *A Method for Improving the Precision and Coverage of Atomicity Violation
//! Predictions*), as printed: whether a predicted violation may be infeasible.
//!
//! The paper walks over the events between the three accesses. The same conditions are looked up here, each in logarithmic time,
//! in indexes that are made once for the trace, or once for each two threads when they are first asked about. Line numbers are the
//! algorithm's. Its `br` of an event is what the branch events right before it in its thread count. Its `max` or `min` over
//! nothing makes a condition false. An atomic update reads and writes.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use candidates::atomicity::{Criterion, Triple};
use decide::Index;
use rustc_hash::FxHashMap;
use trace::{EventId, Op, ThreadId, Trace, VariableId};

use super::range_minimum::RangeMinimum;

/// What the algorithm looks up.
#[derive(Debug)]
pub struct AvFilter<'s> {
    index: &'s Index<'s>,
    /// The reads of one thread that see writes of another.
    seen: FxHashMap<ThreadPair, SeenWrites>,
    accesses: FxHashMap<Own, Vec<EventId>>,
    /// Of each thread, the events with a branch right before them.
    branched: Vec<Vec<EventId>>,
    /// Of the pairs that were asked about: all pairs of many threads would be too many.
    neighbours: RefCell<FxHashMap<ThreadPair, Rc<Neighbours>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ThreadPair {
    reader: ThreadId,
    writer: ThreadId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Own {
    thread: ThreadId,
    variable: VariableId,
}

/// Writes that are seen, in the order of the trace, and for each the earliest read that sees it or a later one.
#[derive(Debug, Default)]
struct SeenWrites {
    writes: Vec<EventId>,
    earliest: Vec<EventId>,
}

impl SeenWrites {
    fn of(mut pairs: Vec<(EventId, EventId)>) -> SeenWrites {
        pairs.sort_unstable();
        let writes = pairs.iter().map(|&(write, _)| write).collect();
        let mut earliest: Vec<EventId> = pairs.iter().map(|&(_, read)| read).collect();
        for index in (1..earliest.len()).rev() {
            earliest[index - 1] = earliest[index - 1].min(earliest[index]);
        }
        SeenWrites { writes, earliest }
    }

    /// The earliest read that sees a write at or after this point.
    fn from(&self, point: EventId) -> Option<EventId> {
        self.earliest.get(self.writes.partition_point(|&write| write < point)).copied()
    }
}

impl<'s> AvFilter<'s> {
    /// Makes the indexes. Linear but for sorting what is seen across threads.
    pub fn new(index: &'s Index<'s>) -> Self {
        let trace = index.trace();
        let mut pairs: FxHashMap<ThreadPair, Vec<(EventId, EventId)>> = FxHashMap::default();
        let mut filter = AvFilter {
            index,
            seen: FxHashMap::default(),
            accesses: FxHashMap::default(),
            branched: branched(trace),
            neighbours: RefCell::default(),
        };
        for (event, thread, op) in trace.events() {
            let Some(access) = op.access() else { continue };
            let own = Own { thread, variable: access.variable };
            filter.accesses.entry(own).or_default().push(event);
            if access.reads
                && let Some(write) = trace.reads_from(event)
            {
                let between = ThreadPair { reader: thread, writer: trace.thread(write) };
                pairs.entry(between).or_default().push((write, event));
            }
        }
        filter.seen = pairs.into_iter().map(|(between, pairs)| (between, SeenWrites::of(pairs))).collect();
        filter
    }

    /// Whether the violation may be infeasible.
    pub fn filters(&self, triple: Triple) -> bool {
        let Triple { first, between, .. } = triple;
        // Lines 1 and 19.
        if between > first { self.moved_back(triple) } else { self.moved_on(triple) }
    }

    /// Lines 2 to 17.
    fn moved_back(&self, Triple { first, between, second }: Triple) -> bool {
        let trace = self.index.trace();
        let (one, two) = (trace.thread(first), trace.thread(between));
        let prev = self.neighbour(between, Side::Before);
        // Lines 3 to 11. A write after a point is seen after that point, so only where the read is at most matters.
        let seen = self.seen.get(&ThreadPair { reader: two, writer: one });
        let seen_after = |point: EventId| seen.and_then(|seen| seen.from(EventId(point.0 + 1)));
        if seen_after(first).zip(prev).is_some_and(|(read, prev)| read <= prev)
            || seen_after(second).is_some_and(|read| read < between)
        {
            return true;
        }
        // Lines 12 to 17.
        let Some(prev) = prev else { return false };
        let reads = self.read_before_branch(self.place(first), second);
        let next = reads.map(|places| self.neighbours(one, two).next_write(places));
        next.is_some_and(|next| next <= prev)
    }

    /// Lines 20 to 32.
    fn moved_on(&self, Triple { first, between, second }: Triple) -> bool {
        let trace = self.index.trace();
        let (one, two) = (trace.thread(first), trace.thread(between));
        // Lines 20 to 25.
        let seen = self.seen.get(&ThreadPair { reader: one, writer: two });
        if seen.and_then(|seen| seen.from(between)).is_some_and(|read| read <= first) {
            return true;
        }
        // Lines 26 to 32.
        let Some(next) = self.neighbour(between, Side::After) else { return false };
        let reads = self.read_before_branch(self.place(first) + 1, second);
        let last = reads.and_then(|places| self.neighbours(one, two).last_write(places));
        last.is_some_and(|last| last > next)
    }

    /// The access of the same thread to the same variable right before or after one.
    fn neighbour(&self, access: EventId, side: Side) -> Option<EventId> {
        let trace = self.index.trace();
        let variable = trace.op(access).access()?.variable;
        let all = self.accesses.get(&Own { thread: trace.thread(access), variable })?;
        match side {
            Side::Before => all[..all.partition_point(|&event| event < access)].last().copied(),
            Side::After => all.get(all.partition_point(|&event| event <= access)).copied(),
        }
    }

    fn place(&self, event: EventId) -> u32 {
        self.index.threads().place(event) as u32
    }

    /// The places of a thread from one on that come before a branch that is counted before an event. What is read there, the
    /// branch may depend on.
    fn read_before_branch(&self, from: u32, before: EventId) -> Option<Range<u32>> {
        let branched = &self.branched[self.index.trace().thread(before).index()];
        let last = branched[..branched.partition_point(|&event| event < before)].last()?;
        Some(from..self.place(*last))
    }

    fn neighbours(&self, reader: ThreadId, writer: ThreadId) -> Rc<Neighbours> {
        let pair = ThreadPair { reader, writer };
        let mut known = self.neighbours.borrow_mut();
        Rc::clone(known.entry(pair).or_insert_with(|| Rc::new(Neighbours::of(self.index, pair))))
    }
}

impl Criterion for AvFilter<'_> {
    fn rejects(&self, candidate: Triple) -> bool {
        self.filters(candidate)
    }

    /// The algorithm is about three accesses to one variable.
    fn covers_regions(&self) -> bool {
        false
    }
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

/// What one thread reads neighbours what another writes.
#[derive(Debug)]
struct Neighbours {
    /// The places of the reads.
    reads: Vec<u32>,
    /// For each, the next write of its variable by the other thread; [`u32::MAX`]: none.
    next: RangeMinimum,
    /// For each, the last one before. It is the latest of a stretch that is asked for, so bits are turned over; the first event of all
    /// then looks like none, and is as good as none, since it comes after nothing.
    last: RangeMinimum,
}

const NO_WRITE: u32 = u32::MAX;

impl Neighbours {
    /// One walk along both threads forth, and one back.
    fn of(index: &Index<'_>, ThreadPair { reader, writer }: ThreadPair) -> Self {
        let (trace, threads) = (index.trace(), index.threads());
        let (own, other) = (threads.of_thread(reader), threads.of_thread(writer));
        let reads: Vec<(u32, EventId, VariableId)> = own
            .iter()
            .enumerate()
            .filter_map(|(place, &event)| Some((place as u32, event, trace.op(event).reads()?)))
            .collect();
        let writes: Vec<(EventId, VariableId)> =
            other.iter().filter_map(|&event| Some((event, trace.op(event).writes()?))).collect();
        let mut nearest = vec![NO_WRITE; trace.symbols().variables.len()];
        let mut passed = writes.iter().peekable();
        let mut last = Vec::with_capacity(reads.len());
        for &(_, read, variable) in &reads {
            while let Some(&(write, variable)) = passed.next_if(|(write, _)| *write < read) {
                nearest[variable.index()] = !write.0;
            }
            last.push(nearest[variable.index()]);
        }
        nearest.fill(NO_WRITE);
        let mut passed = writes.iter().rev().peekable();
        let mut next = vec![NO_WRITE; reads.len()];
        for (&(_, read, variable), next) in reads.iter().zip(&mut next).rev() {
            while let Some(&(write, variable)) = passed.next_if(|(write, _)| *write > read) {
                nearest[variable.index()] = write.0;
            }
            *next = nearest[variable.index()];
        }
        let reads = reads.into_iter().map(|(place, ..)| place).collect();
        Neighbours { reads, next: RangeMinimum::of(&next), last: RangeMinimum::of(&last) }
    }

    /// The earliest write that comes next after a read at one of these places.
    fn next_write(&self, places: Range<u32>) -> EventId {
        EventId(self.next.within(self.indices(places)))
    }

    /// The latest write that comes last before a read at one of these places.
    fn last_write(&self, places: Range<u32>) -> Option<EventId> {
        let last = self.last.within(self.indices(places));
        (last != NO_WRITE).then_some(EventId(!last))
    }

    fn indices(&self, places: Range<u32>) -> Range<usize> {
        let index = |place: u32| self.reads.partition_point(|&read| read < place);
        index(places.start)..index(places.end)
    }
}

fn branched(trace: &Trace) -> Vec<Vec<EventId>> {
    let threads = trace.symbols().threads.len();
    let (mut branched, mut pending) = (vec![Vec::new(); threads], vec![false; threads]);
    for (event, thread, op) in trace.events() {
        match op {
            Op::Branch(count) => pending[thread.index()] |= count > 0,
            _ => {
                if std::mem::take(&mut pending[thread.index()]) {
                    branched[thread.index()].push(event);
                }
            }
        }
    }
    branched
}
