//! Algorithm 1 of paper 5 (Zeng, Sun, Liu, He, *A Method for Improving the Precision and Coverage of Atomicity Violation
//! Predictions*), as printed: whether a predicted violation may be infeasible.
//!
//! The paper walks over the events between the three accesses. The same conditions are looked up here in indexes that
//! are made once, in logarithmic time but for the reads between the first and the last access. Line numbers are the algorithm's. Its
//! `br` of an event is the count of the branch event right before it in its thread. Its `max` or `min` over nothing
//! makes a condition false. An atomic update reads and writes.

use rustc_hash::FxHashMap;
use trace::{EventId, Op, ThreadId, Trace, VariableId};

use decide::Setup;

/// Accesses a < c < b that are predicted: `a` and `b` of thread 1, `c` of thread 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Triple {
    /// The first access, the paper's a_i.
    pub first: EventId,
    /// The one that comes between, the paper's a_j.
    pub between: EventId,
    /// The second access, the paper's a_k.
    pub second: EventId,
}

/// What the algorithm looks up.
#[derive(Debug)]
pub struct AvFilter<'s> {
    setup: &'s Setup<'s>,
    /// The reads of one thread that see writes of another.
    seen: FxHashMap<Between, Seen>,
    accesses: FxHashMap<Own, Vec<EventId>>,
    writes: FxHashMap<Own, Vec<EventId>>,
    /// Of each thread, the events with a branch right before them.
    branched: Vec<Vec<EventId>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Between {
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
struct Seen {
    writes: Vec<EventId>,
    earliest: Vec<EventId>,
}

impl Seen {
    fn of(mut pairs: Vec<(EventId, EventId)>) -> Seen {
        pairs.sort_unstable();
        let writes = pairs.iter().map(|&(write, _)| write).collect();
        let mut earliest: Vec<EventId> = pairs.iter().map(|&(_, read)| read).collect();
        for index in (1..earliest.len()).rev() {
            earliest[index - 1] = earliest[index - 1].min(earliest[index]);
        }
        Seen { writes, earliest }
    }

    /// The earliest read that sees a write at or after this point.
    fn from(&self, point: EventId) -> Option<EventId> {
        self.earliest.get(self.writes.partition_point(|&write| write < point)).copied()
    }
}

impl<'s> AvFilter<'s> {
    /// Makes the indexes. Linear but for sorting what is seen across threads.
    pub fn new(setup: &'s Setup<'s>) -> Self {
        let trace = setup.trace();
        let mut pairs: FxHashMap<Between, Vec<(EventId, EventId)>> = FxHashMap::default();
        let mut filter = AvFilter {
            setup,
            seen: FxHashMap::default(),
            accesses: FxHashMap::default(),
            writes: FxHashMap::default(),
            branched: branched(trace),
        };
        for (event, thread, op) in trace.events() {
            let Some(access) = op.access() else { continue };
            let own = Own { thread, variable: access.variable };
            filter.accesses.entry(own).or_default().push(event);
            if access.writes {
                filter.writes.entry(own).or_default().push(event);
            }
            if access.reads
                && let Some(write) = trace.reads_from(event)
            {
                let between = Between { reader: thread, writer: trace.thread(write) };
                pairs.entry(between).or_default().push((write, event));
            }
        }
        filter.seen = pairs.into_iter().map(|(between, pairs)| (between, Seen::of(pairs))).collect();
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
        let trace = self.setup.trace();
        let (one, two) = (trace.thread(first), trace.thread(between));
        let prev = self.neighbour(between, Side::Before);
        // Lines 3 to 11. A write after a point is seen after that point, so only where the read is at most matters.
        let seen = self.seen.get(&Between { reader: two, writer: one });
        let seen_after = |point: EventId| seen.and_then(|seen| seen.from(EventId(point.0 + 1)));
        if seen_after(first).zip(prev).is_some_and(|(read, prev)| read <= prev)
            || seen_after(second).is_some_and(|read| read < between)
        {
            return true;
        }
        // Lines 12 to 17.
        let Some(prev) = prev else { return false };
        self.reads(first, second, From::Including).any(|(read, variable)| {
            let writes = self.writes.get(&Own { thread: two, variable });
            let next = writes.and_then(|w| w.get(w.partition_point(|&write| write <= read)));
            next.is_some_and(|&write| write <= prev) && self.branches(read, second)
        })
    }

    /// Lines 20 to 32.
    fn moved_on(&self, Triple { first, between, second }: Triple) -> bool {
        let trace = self.setup.trace();
        let (one, two) = (trace.thread(first), trace.thread(between));
        // Lines 20 to 25.
        let seen = self.seen.get(&Between { reader: one, writer: two });
        if seen.and_then(|seen| seen.from(between)).is_some_and(|read| read <= first) {
            return true;
        }
        // Lines 26 to 32.
        let Some(next) = self.neighbour(between, Side::After) else { return false };
        self.reads(first, second, From::Excluding).any(|(read, variable)| {
            let writes = self.writes.get(&Own { thread: two, variable });
            let last = writes.and_then(|w| w[..w.partition_point(|&write| write < read)].last());
            last.is_some_and(|&write| write > next) && self.branches(read, second)
        })
    }

    /// The access of the same thread to the same variable right before or after one.
    fn neighbour(&self, access: EventId, side: Side) -> Option<EventId> {
        let trace = self.setup.trace();
        let variable = trace.op(access).access()?.variable;
        let all = self.accesses.get(&Own { thread: trace.thread(access), variable })?;
        match side {
            Side::Before => all[..all.partition_point(|&event| event < access)].last().copied(),
            Side::After => all.get(all.partition_point(|&event| event <= access)).copied(),
        }
    }

    /// The reads of a thread from one of its events to before another.
    fn reads(
        &self,
        first: EventId,
        second: EventId,
        from: From,
    ) -> impl Iterator<Item = (EventId, VariableId)> {
        let (trace, threads) = (self.setup.trace(), self.setup.threads());
        let start = threads.place(first) + usize::from(from == From::Excluding);
        let events = &threads.of_thread(trace.thread(first))[start..threads.place(second)];
        events.iter().filter_map(|&event| trace.op(event).reads().map(|variable| (event, variable)))
    }

    /// Whether a branch was counted at an event of the thread between these two.
    fn branches(&self, after: EventId, before: EventId) -> bool {
        let branched = &self.branched[self.setup.trace().thread(after).index()];
        branched[..branched.partition_point(|&event| event < before)].last().is_some_and(|&e| e > after)
    }
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Including,
    Excluding,
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
