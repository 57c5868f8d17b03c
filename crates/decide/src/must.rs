//! Orders that hold in every schedule, whatever is asked: program order, fork and join, signals, barriers, posts that no take
//! can do without, and reads-from where the model demands it of every read.
//!
//! One vector clock an event, computed once in the order of the trace (twice if there are takes); 4 bytes for each event and
//! thread. They screen out most questions with a few comparisons.

use check::Model;
use trace::{EventId, Op, SemaphoreId, ThreadId};

use crate::Setup;

/// The orders that hold in every schedule.
#[derive(Debug)]
pub struct MustOrder {
    threads: usize,
    /// For each event and thread: how many of the thread's events are the event or must come before it.
    clocks: Vec<u32>,
}

/// A post that comes before a take in every schedule.
#[derive(Clone, Copy, Debug)]
struct Supply {
    take: EventId,
    post: EventId,
}

impl MustOrder {
    /// Computes them for a trace.
    pub fn new(setup: &Setup<'_>, model: Model) -> Self {
        let order = MustOrder::uncounted(setup, model);
        match order.supplies(setup) {
            supplies if supplies.is_empty() => order,
            supplies => MustOrder::with_supplies(setup, model, &supplies),
        }
    }

    /// The same without counting posts and takes, which is less: for methods that do not.
    pub fn uncounted(setup: &Setup<'_>, model: Model) -> Self {
        MustOrder::with_supplies(setup, model, &[])
    }

    /// Computes them for a trace, given posts that takes cannot do without, in the order of the takes.
    fn with_supplies(setup: &Setup<'_>, model: Model, supplies: &[Supply]) -> Self {
        let mut supplies = supplies.iter().peekable();
        let trace = setup.trace();
        let threads = setup.threads().threads();
        let mut order = MustOrder { threads, clocks: vec![0; threads * trace.len()] };
        let mut last: Vec<Option<EventId>> = vec![None; threads];
        for (event, thread, op) in trace.events() {
            let previous = last[thread.index()].replace(event).or_else(|| trace.fork_of(thread));
            previous.into_iter().for_each(|earlier| order.join(event, earlier));
            match op {
                Op::Join(_) | Op::Wait(_) => {
                    trace.link(event).event().into_iter().for_each(|earlier| order.join(event, earlier));
                }
                Op::BarrierExit(_) => {
                    let instance = trace.barrier_instance(event);
                    for &enter in &trace.matching().barrier_instances()[instance.index()].enters {
                        order.join(event, enter);
                    }
                }
                Op::Take(_) => {
                    while let Some(supply) = supplies.next_if(|supply| supply.take == event) {
                        order.join(event, supply.post);
                    }
                }
                // Under the branch model a read is bound only if its thread goes on beyond a branch.
                _ if op.reads().is_some() && model == Model::ReadsFrom => {
                    trace.reads_from(event).into_iter().for_each(|write| order.join(event, write));
                }
                _ => {}
            }
            order.clocks[event.index() * threads + thread.index()] = setup.threads().place(event) as u32 + 1;
        }
        order
    }

    /// The posts that takes cannot do without, by counting: a take needs as many posts as takes must have happened with it, beyond
    /// the initial permits; what the other threads cannot post before it, a thread must have posted.
    fn supplies(&self, setup: &Setup<'_>) -> Vec<Supply> {
        let trace = setup.trace();
        let mut supplies = Vec::new();
        for semaphore in (0..trace.symbols().semaphores.len()).map(SemaphoreId::new) {
            let by_thread = |events: &[EventId]| {
                let mut groups: Vec<Vec<EventId>> = vec![Vec::new(); self.threads];
                events.iter().for_each(|&event| groups[trace.thread(event).index()].push(event));
                groups
            };
            let (takes, posts) = (by_thread(setup.takes(semaphore)), by_thread(setup.posts(semaphore)));
            let initial = trace.initial_permits(semaphore) as usize;
            for &take in setup.takes(semaphore) {
                let taken = takes.iter().enumerate().map(|(thread, takes)| {
                    let happened = self.clock(take, ThreadId::new(thread));
                    takes.partition_point(|&other| (setup.threads().place(other) as u32) < happened)
                });
                let needed = taken.sum::<usize>().saturating_sub(initial);
                let possible: Vec<usize> = posts
                    .iter()
                    .map(|posts| posts.partition_point(|&post| !self.precedes(setup, take, post)))
                    .collect();
                let all: usize = possible.iter().sum();
                for (posts, &possible) in posts.iter().zip(&possible) {
                    let own = needed.saturating_sub(all - possible);
                    supplies.extend(posts[..own.min(possible)].last().map(|&post| Supply { take, post }));
                }
            }
        }
        supplies.sort_by_key(|supply| supply.take);
        supplies
    }

    fn join(&mut self, event: EventId, earlier: EventId) {
        let k = self.threads;
        let (before, after) = self.clocks.split_at_mut(event.index() * k);
        for (own, other) in after[..k].iter_mut().zip(&before[earlier.index() * k..][..k]) {
            *own = (*own).max(*other);
        }
    }

    fn clock(&self, event: EventId, thread: ThreadId) -> u32 {
        self.clocks[event.index() * self.threads + thread.index()]
    }

    /// Whether one event comes before another in every schedule that has the second.
    pub fn precedes(&self, setup: &Setup<'_>, first: EventId, second: EventId) -> bool {
        self.clock(second, setup.trace().thread(first)) > setup.threads().place(first) as u32
    }

    /// The last write of its variable in each thread that must come before a read, whatever the read sees.
    pub(crate) fn hiding(&self, setup: &Setup<'_>, read: EventId) -> Vec<EventId> {
        let trace = setup.trace();
        let Some(variable) = trace.op(read).reads() else { return Vec::new() };
        let Some(previous) = before(setup, read) else { return Vec::new() };
        let mut last: Vec<Option<EventId>> = vec![None; self.threads];
        for &write in setup.writes(variable).iter().take_while(|&&write| write <= previous) {
            if write == previous || self.precedes(setup, write, previous) {
                last[trace.thread(write).index()] = Some(write);
            }
        }
        last.into_iter().flatten().collect()
    }

    /// How many events of a thread must have happened before this event can be next.
    pub fn run_up(&self, setup: &Setup<'_>, event: EventId, thread: ThreadId) -> u32 {
        before(setup, event).map_or(0, |previous| self.clock(previous, thread))
    }
}

/// The event that must have happened for this one to be next: the one before it in its thread, or the fork.
fn before(setup: &Setup<'_>, event: EventId) -> Option<EventId> {
    let thread = setup.trace().thread(event);
    match setup.threads().place(event) {
        0 => setup.trace().fork_of(thread),
        place => Some(setup.threads().of_thread(thread)[place - 1]),
    }
}
