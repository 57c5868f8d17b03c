//! What the memory orders of a trace put in order, and which reads put nothing in order: docs/memory-orders.md as one pass.
//!
//! An atomic read that saw a write without synchronising with it is *unordered*: in a question about a race it is exempt from having
//! to see that write in the schedule. What does synchronise beyond a write and the read that saw it (release sequences, fences) is
//! listed as *orders*: pairs of events where the first comes before the second in every schedule that has the second. So is
//! what keeps a read from seeing a write of its own future: what the writing thread received before the write comes before
//! anything that the reading thread passes on after the read.
//!
//! Promise: the orders that this lists and those that follow from them by program order are exactly those of the definition, which
//! the checker and the oracle each compute on their own.
//!
//! Cost: linear, times the threads that take part in a release sequence.

use trace::{EventId, Op, ThreadEvents, ThreadId, Trace};

use crate::groups::events_in_time;
use crate::{Index, slot};

/// What memory orders do to the order of events.
#[derive(Debug)]
pub struct Synchronisation {
    /// By event.
    unordered: Vec<bool>,
    /// For each thread, in the order of the places: the place of an event, and an event of another thread that comes before it.
    orders: Vec<Vec<(u32, EventId)>>,
}

/// Release operations of different threads that a read of a variable synchronises with: the last of each.
type Heads = Vec<(ThreadId, EventId)>;

#[derive(Debug, Default)]
struct ThreadState {
    /// The last release fence.
    release_fence: Option<EventId>,
    /// What an acquire fence would synchronise with.
    pending: Heads,
    /// The last event that something can come before by synchronisation.
    received: Option<EventId>,
    /// Of the unordered reads since the thread last passed something on: what their writers had received.
    exposed: Heads,
    /// The last event of each other thread that is known to come before the thread's next.
    known: Heads,
}

impl Synchronisation {
    /// What the memory orders of a trace do; nothing if all are `seq_cst`.
    /// Where the bounds are reached for good, nothing is in order from there on.
    pub(crate) fn of(index: &Index<'_>) -> Option<Self> {
        let (trace, threads) = (index.trace(), index.threads());
        if trace.is_sequential() {
            return None;
        }
        let mut pass = Pass {
            trace,
            threads,
            states: (0..threads.threads()).map(|_| ThreadState::default()).collect(),
            heads: Vec::new(),
            received: vec![None; trace.len()],
            result: Synchronisation {
                unordered: vec![false; trace.len()],
                orders: vec![Vec::new(); threads.threads()],
            },
        };
        let events = events_in_time(trace, index.bounds());
        events.for_each(|(event, thread, op)| pass.step(event, thread, op));
        Some(pass.result)
    }

    /// Whether a read saw a write without synchronising with it.
    #[inline]
    pub fn is_unordered(&self, read: EventId) -> bool {
        self.unordered[read.index()]
    }

    /// The orders into a stretch of a thread, by place: the place of the event, and the event that comes before it.
    pub fn between(&self, thread: ThreadId, first: u32, end: u32) -> &[(u32, EventId)] {
        let orders = &self.orders[thread.index()];
        let from = orders.partition_point(|&(place, _)| place < first);
        &orders[from..from + orders[from..].partition_point(|&(place, _)| place < end)]
    }

    /// The events of other threads that come before an event.
    pub fn before(&self, threads: &ThreadEvents, thread: ThreadId, event: EventId) -> &[(u32, EventId)] {
        let place = threads.place(event) as u32;
        self.between(thread, place, place + 1)
    }
}

struct Pass<'t> {
    trace: &'t Trace,
    threads: &'t ThreadEvents,
    states: Vec<ThreadState>,
    /// By variable: the heads of the release sequences that its last write belongs to.
    heads: Vec<Heads>,
    /// For each atomic write: the last event of its thread, up to it, that something can come before.
    received: Vec<Option<EventId>>,
    result: Synchronisation,
}

impl Pass<'_> {
    fn step(&mut self, event: EventId, thread: ThreadId, op: Op) {
        let order = self.trace.memory_order(event);
        if self.threads.place(event) == 0 {
            self.states[thread.index()].received = self.trace.fork_of(thread);
        }
        match op {
            Op::AtomicRead(_) | Op::AtomicWrite(_) | Op::AtomicUpdate(_) => {
                let acquires = order.acquires() && op.reads().is_some();
                if op.reads().is_some() {
                    self.read(event, thread, acquires);
                }
                if acquires {
                    self.states[thread.index()].received = Some(event);
                }
                if op.writes().is_some() {
                    self.received[event.index()] = self.states[thread.index()].received;
                    if order.releases() {
                        self.send(event, thread);
                    }
                    self.write(event, thread, op);
                }
            }
            Op::Write(variable) => slot(&mut self.heads, variable.index()).clear(),
            Op::Fence => {
                if order.acquires() {
                    let pending = std::mem::take(&mut self.states[thread.index()].pending);
                    self.synchronise(&pending, event, thread);
                    self.states[thread.index()].received = Some(event);
                }
                if order.releases() {
                    self.send(event, thread);
                    self.states[thread.index()].release_fence = Some(event);
                }
            }
            Op::Acquire(_) | Op::AcquireShared(_) if self.trace.is_nested(event) => {}
            Op::Release(_) | Op::ReleaseShared(_) if self.trace.is_nested(event) => {}
            Op::Acquire(_)
            | Op::AcquireShared(_)
            | Op::Join(_)
            | Op::Wait(_)
            | Op::BarrierExit(_)
            | Op::Take(_) => self.states[thread.index()].received = Some(event),
            Op::Release(_)
            | Op::ReleaseShared(_)
            | Op::Fork(_)
            | Op::Signal(_)
            | Op::Broadcast(_)
            | Op::BarrierEnter(_)
            | Op::Post(_) => self.send(event, thread),
            Op::Begin
            | Op::End
            | Op::Read(_)
            | Op::Request(_)
            | Op::RequestShared(_)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::Branch(_)
            | Op::Mark(_)
            | Op::RegionBegin(_)
            | Op::RegionEnd(_) => {}
        }
        // A join of the thread comes after all of it.
        if self.threads.place(event) + 1 == self.threads.of_thread(thread).len() {
            self.send(event, thread);
        }
    }

    /// The event can pass on what its thread did: what it saw of the future of others must not be its own.
    fn send(&mut self, event: EventId, thread: ThreadId) {
        let exposed = std::mem::take(&mut self.states[thread.index()].exposed);
        for (_, received) in exposed {
            self.put_before(received, event, thread);
        }
    }

    fn put_before(&mut self, first: EventId, second: EventId, thread: ThreadId) {
        let other = self.trace.thread(first);
        if other != thread && keep_last(&mut self.states[thread.index()].known, other, first) {
            let place = self.threads.place(second) as u32;
            self.result.orders[thread.index()].push((place, first));
        }
    }

    fn synchronise(&mut self, heads: &[(ThreadId, EventId)], event: EventId, thread: ThreadId) {
        for &(_, head) in heads {
            self.put_before(head, event, thread);
        }
    }

    fn read(&mut self, event: EventId, thread: ThreadId, acquires: bool) {
        let trace = self.trace;
        let Some(variable) = trace.op(event).reads() else { return };
        let heads = std::mem::take(slot(&mut self.heads, variable.index()));
        let is_atomic = |write: EventId| trace.op(write).access().is_some_and(|access| access.atomic);
        let seen = trace.reads_from(event).filter(|&write| is_atomic(write) && trace.thread(write) != thread);
        if let Some(write) = seen {
            let state = &mut self.states[thread.index()];
            if acquires && trace.memory_order(write).releases() {
                // That order comes with the read seeing the write.
                keep_last(&mut state.known, trace.thread(write), write);
            } else {
                self.result.unordered[event.index()] = true;
                if let Some(received) = self.received[write.index()] {
                    keep_last(&mut state.exposed, trace.thread(received), received);
                }
            }
        }
        match acquires {
            true => self.synchronise(&heads, event, thread),
            false => {
                for &(other, head) in &heads {
                    keep_last(&mut self.states[thread.index()].pending, other, head);
                }
            }
        }
        self.heads[variable.index()] = heads;
    }

    /// A write heads a release sequence if it releases, or with the release fence before it. A read-modify-write goes on with those of
    /// others, a store with those of its own thread.
    fn write(&mut self, event: EventId, thread: ThreadId, op: Op) {
        let Some(variable) = op.writes() else { return };
        let releases = self.trace.memory_order(event).releases();
        let head = if releases { Some(event) } else { self.states[thread.index()].release_fence };
        let heads = slot(&mut self.heads, variable.index());
        if op.reads().is_none() {
            heads.retain(|&(other, _)| other == thread);
        }
        if let Some(head) = head {
            keep_last(heads, thread, head);
        }
    }
}

/// Of the events of one thread the last implies the others. Whether this one is later than the one known.
fn keep_last(heads: &mut Heads, thread: ThreadId, head: EventId) -> bool {
    match heads.iter_mut().find(|(other, _)| *other == thread) {
        Some((_, known)) if *known >= head => return false,
        Some((_, known)) => *known = head,
        None => heads.push((thread, head)),
    }
    true
}
