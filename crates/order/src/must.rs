//! Orders that hold in every schedule, whatever is asked: program order, fork and join, signals, barriers, posts that no take
//! can do without, and reads-from where every read is kept.
//!
//! One vector clock an event, computed once in the order of the trace (twice if there are takes). Events that learn nothing share
//! the clock of the event before them: 4 bytes an event, and a few dozen for each event that learns about another thread, however
//! many threads there are. They screen out most questions with a few comparisons.

use trace::{EventId, Op, SemaphoreId, ThreadId};

use crate::clocks::{Clock, Clocks};
use crate::needs::for_each_awaited;
use crate::{Index, NONE};

/// Which reads put threads in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOrder {
    /// None: a read may see anything.
    Free,
    /// Every read comes after the write it saw.
    ReadsFrom,
    /// As memory orders say ([`crate::Synchronisation`]): reads that synchronise come after the write they saw, and what
    /// else synchronises is in order.
    Synchronised,
}

/// The orders that hold in every schedule.
#[derive(Debug)]
pub struct MustOrder {
    clocks: Clocks,
    /// By event: how many events of each other thread must come before it. Of its own thread its place tells.
    before: Vec<Clock>,
}

/// A post that comes before a take in every schedule.
#[derive(Clone, Copy, Debug)]
struct NeededPost {
    take: EventId,
    post: EventId,
}

impl MustOrder {
    /// Computes them for a trace.
    pub fn new(index: &Index<'_>, reads: ReadOrder) -> Self {
        let order = MustOrder::uncounted(index, reads);
        match order.needed_posts(index) {
            posts if posts.is_empty() => order,
            posts => MustOrder::with_posts(index, reads, &posts),
        }
    }

    /// The same without counting posts and takes, which is less: for methods that do not.
    pub fn uncounted(index: &Index<'_>, reads: ReadOrder) -> Self {
        MustOrder::with_posts(index, reads, &[])
    }

    /// Computes them for a trace, given posts that takes cannot do without, in the order of the takes.
    fn with_posts(index: &Index<'_>, reads: ReadOrder, posts: &[NeededPost]) -> Self {
        let mut posts = posts.iter().peekable();
        let (trace, threads) = (index.trace(), index.threads());
        let clocks = Clocks::new(threads.threads());
        let mut order = MustOrder { clocks, before: Vec::with_capacity(trace.len()) };
        let mut last = vec![NONE; threads.threads()];
        // All exits of a barrier come after the same enters.
        let mut barriers: Vec<Option<Clock>> = vec![None; trace.matching().barrier_instances().len()];
        let weak = index.synchronisation().filter(|_| reads == ReadOrder::Synchronised);
        for (event, thread, op) in trace.events() {
            if index.bounds().are_final() {
                order.before.resize(trace.len(), Clock::default());
                break;
            }
            let mut clock = match std::mem::replace(&mut last[thread.index()], event.0) {
                NONE => {
                    let fork = trace.fork_of(thread);
                    fork.map_or(Clock::default(), |fork| order.after(index, Clock::default(), fork))
                }
                previous => order.before[previous as usize],
            };
            match op {
                Op::BarrierExit(_) => {
                    let instance = &mut barriers[trace.barrier_instance(event).index()];
                    let enters = *instance.get_or_insert_with(|| {
                        let mut enters = Clock::default();
                        for_each_awaited(trace, event, op, |enter| {
                            enters = order.after(index, enters, enter)
                        });
                        enters
                    });
                    clock = order.clocks.join(clock, enters);
                }
                Op::Take(_) => {
                    while let Some(needed) = posts.next_if(|needed| needed.take == event) {
                        clock = order.after_other(index, clock, thread, needed.post);
                    }
                }
                // Under the branch model a read is bound only if its thread goes on beyond a branch.
                _ if op.reads().is_some() => {
                    if reads != ReadOrder::Free
                        && !weak.is_some_and(|weak| weak.is_unordered(event))
                        && let Some(write) = trace.reads_from(event)
                    {
                        clock = order.after_other(index, clock, thread, write);
                    }
                }
                _ => for_each_awaited(trace, event, op, |earlier| {
                    clock = order.after_other(index, clock, thread, earlier);
                }),
            }
            if let Some(weak) = weak {
                for &(_, earlier) in weak.before(threads, thread, event) {
                    clock = order.after_other(index, clock, thread, earlier);
                }
            }
            order.before.push(clock);
        }
        order
    }

    /// A clock that also counts an event, unless it is of the thread whose clock it is.
    #[inline]
    fn after_other(&mut self, index: &Index<'_>, clock: Clock, own: ThreadId, earlier: EventId) -> Clock {
        match index.trace().thread(earlier) == own {
            true => clock,
            false => self.after(index, clock, earlier),
        }
    }

    /// A clock that also counts an event and all before it. What counts an event counts all before it already.
    fn after(&mut self, index: &Index<'_>, clock: Clock, earlier: EventId) -> Clock {
        let thread = index.trace().thread(earlier).index();
        let count = index.threads().place(earlier) as u32 + 1;
        if self.clocks.count(clock, thread) >= count {
            return clock;
        }
        let joined = self.clocks.join(clock, self.before[earlier.index()]);
        self.clocks.raise(joined, thread, count)
    }

    /// The posts that takes cannot do without, by counting: a take needs as many posts as takes must have happened with it, beyond
    /// the initial permits; what the other threads cannot post before it, a thread must have posted.
    fn needed_posts(&self, index: &Index<'_>) -> Vec<NeededPost> {
        let trace = index.trace();
        let mut needed = Vec::new();
        for semaphore in (0..trace.symbols().semaphores.len()).map(SemaphoreId::new) {
            let takes = by_thread(index, index.takes(semaphore));
            let posts = by_thread(index, index.posts(semaphore));
            let initial = trace.initial_permits(semaphore) as usize;
            for &take in index.takes(semaphore).iter().take_while(|_| !index.bounds().are_final()) {
                let taken = takes.iter().map(|takes| {
                    let happened = self.count(index, take, trace.thread(takes[0]));
                    takes.partition_point(|&other| (index.threads().place(other) as u32) < happened)
                });
                let missing = taken.sum::<usize>().saturating_sub(initial);
                let possible: Vec<usize> = posts
                    .iter()
                    .map(|posts| posts.partition_point(|&post| !self.precedes(index, take, post)))
                    .collect();
                let all: usize = possible.iter().sum();
                for (posts, &possible) in posts.iter().zip(&possible) {
                    let own = missing.saturating_sub(all - possible);
                    needed.extend(posts[..own.min(possible)].last().map(|&post| NeededPost { take, post }));
                }
            }
        }
        needed.sort_by_key(|needed| needed.take);
        needed
    }

    /// How many events of a thread are this event or come before it in every schedule that has it.
    #[inline]
    pub fn count(&self, index: &Index<'_>, event: EventId, thread: ThreadId) -> u32 {
        match index.trace().thread(event) == thread {
            true => index.threads().place(event) as u32 + 1,
            false => self.clocks.count(self.before[event.index()], thread.index()),
        }
    }

    /// Whether one event comes before another in every schedule that has the second.
    #[inline]
    pub fn precedes(&self, index: &Index<'_>, first: EventId, second: EventId) -> bool {
        self.count(index, second, index.trace().thread(first)) > index.threads().place(first) as u32
    }

    /// The last write of its variable in each thread that must come before a read, whatever the read sees.
    pub fn hiding_writes(&self, index: &Index<'_>, read: EventId) -> Vec<EventId> {
        let Some(variable) = index.trace().op(read).reads() else { return Vec::new() };
        let Some(previous) = index.previous(read) else { return Vec::new() };
        let last = |(thread, writes): (ThreadId, &[u32])| {
            let happened = self.count(index, previous, thread);
            let last = writes.partition_point(|&write| write < happened).checked_sub(1)?;
            Some(index.threads().of_thread(thread)[writes[last] as usize])
        };
        index.thread_writes().of(variable.index()).filter_map(last).collect()
    }

    /// How many events of a thread must have happened before this event can be next.
    #[inline]
    pub fn run_up(&self, index: &Index<'_>, event: EventId, thread: ThreadId) -> u32 {
        index.previous(event).map_or(0, |previous| self.count(index, previous, thread))
    }
}

/// Events by thread, without threads that have none.
fn by_thread(index: &Index<'_>, events: &[EventId]) -> Vec<Vec<EventId>> {
    let mut events = events.to_vec();
    events.sort_by_key(|&event| index.trace().thread(event));
    events.chunk_by(|&a, &b| index.trace().thread(a) == index.trace().thread(b)).map(<[_]>::to_vec).collect()
}
