//! Orders that hold in every schedule, whatever is asked: program order, fork and join, signals, barriers, and
//! reads-from where the model demands it of every read.
//!
//! One vector clock an event, computed once in the order of the trace; 4 bytes for each event and thread. They screen
//! out most questions with a few comparisons.

use check::Model;
use trace::{EventId, Op, ThreadId};

use crate::Setup;

/// The orders that hold in every schedule.
#[derive(Debug)]
pub struct MustOrder {
    threads: usize,
    /// For each event and thread: how many of the thread's events are the event or must come before it.
    clocks: Vec<u32>,
}

impl MustOrder {
    /// Computes them for a trace.
    pub fn new(setup: &Setup<'_>, model: Model) -> Self {
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
