//! What memory orders mean in a question about a race: which reads are exempt, and which events come before which.
//!
//! The wording of C, C++ and Rust, event by event (docs/memory-orders.md):
//!
//! - A write *heads* the release sequence of all writes to its variable that directly follow it, as long as each is a
//!   read-modify-write or a store of the same thread.
//! - A *source* of a write is the write itself, if its order releases, and each release fence before it in its thread.
//! - A *target* of a read is the read itself, if its order acquires, and each acquire fence after it in its thread.
//! - Each source of a write synchronises with each target of a read that saw a write of its release sequence.
//! - A read that saw an atomic write of another thread, and is not a target with that write as its source, is *exempt*.
//! - An exempt read must not have seen its own future: the last event by which the writing thread received anything from others, up to
//!   the write, comes before the first by which the reading thread passes anything on, from the read on.

use std::collections::{BTreeMap, HashMap, HashSet};

use trace::{EventId, Op, ThreadEvents, ThreadId, Trace, VariableId};

/// The meaning of a trace's memory orders.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    exempt: HashSet<EventId>,
    /// By the thread and place of the event that comes after: events that come before it.
    orders: BTreeMap<(ThreadId, u32), Vec<EventId>>,
}

impl Memory {
    /// Linear in the trace, times the threads that take part in a release sequence.
    pub(crate) fn of(trace: &Trace, threads: &ThreadEvents) -> Self {
        let mut reading = Reading::of(trace, threads);
        if !trace.is_sequential() {
            trace.events().for_each(|(event, thread, op)| reading.see(event, thread, op));
        }
        reading.memory
    }

    /// Whether a read puts nothing in order.
    pub(crate) fn exempts(&self, read: EventId) -> bool {
        self.exempt.contains(&read)
    }

    /// Each event that others come before, as thread and place, and those others.
    pub(crate) fn orders(&self) -> impl Iterator<Item = (ThreadId, u32, &[EventId])> {
        self.orders.iter().map(|(&(thread, place), before)| (thread, place, before.as_slice()))
    }

    /// The events that come before one, which is at this place of its thread.
    pub(crate) fn before(&self, thread: ThreadId, place: u32) -> &[EventId] {
        self.orders.get(&(thread, place)).map_or(&[], Vec::as_slice)
    }

    /// Whether the first event comes before the second, also by the program order of both threads.
    pub(crate) fn puts_before(&self, trace: &Trace, threads: &ThreadEvents, x: EventId, y: EventId) -> bool {
        let thread = trace.thread(y);
        let upto = self.orders.range((thread, 0)..=(thread, threads.place(y) as u32));
        let covers = |&first: &EventId| trace.thread(first) == trace.thread(x) && x <= first;
        upto.into_iter().any(|(_, before)| before.iter().any(covers))
    }
}

/// The last source of each thread.
type Sources = HashMap<ThreadId, EventId>;

/// A trace being read from its start.
struct Reading<'t> {
    trace: &'t Trace,
    threads: &'t ThreadEvents,
    memory: Memory,
    /// By variable: the sources of the writes whose release sequences the last write belongs to.
    sequences: HashMap<VariableId, Sources>,
    /// By thread: its last release fence.
    released: HashMap<ThreadId, EventId>,
    /// By thread: the sources that its next acquire fence synchronises with.
    promised: HashMap<ThreadId, Sources>,
    /// By thread: the last event that received something from others, and for each atomic write that of its thread.
    received: HashMap<ThreadId, EventId>,
    received_by_write: HashMap<EventId, EventId>,
    /// By thread: what must come before anything it passes on.
    withheld: HashMap<ThreadId, Sources>,
    /// Orders between two threads grow: what is not later than the last is implied by it.
    latest: HashMap<(ThreadId, ThreadId), EventId>,
}

impl<'t> Reading<'t> {
    fn of(trace: &'t Trace, threads: &'t ThreadEvents) -> Self {
        Reading {
            trace,
            threads,
            memory: Memory::default(),
            sequences: HashMap::new(),
            released: HashMap::new(),
            promised: HashMap::new(),
            received: HashMap::new(),
            received_by_write: HashMap::new(),
            withheld: HashMap::new(),
            latest: HashMap::new(),
        }
    }

    fn see(&mut self, event: EventId, thread: ThreadId, op: Op) {
        let order = self.trace.memory_order(event);
        let is_first = self.threads.of_thread(thread).first() == Some(&event);
        let is_last = self.threads.of_thread(thread).last() == Some(&event);
        if let Some(fork) = self.trace.fork_of(thread).filter(|_| is_first) {
            self.received.insert(thread, fork);
        }
        if let Op::AtomicRead(variable) | Op::AtomicUpdate(variable) = op {
            self.see_read(event, thread, variable);
        }
        if self.receives(event, op) {
            if op == Op::Fence {
                let promised = self.promised.remove(&thread).unwrap_or_default();
                promised.into_values().for_each(|source| self.put_before(source, event, thread));
            }
            self.received.insert(thread, event);
        }
        if self.passes_on(event, op) || is_last {
            let withheld = self.withheld.remove(&thread).unwrap_or_default();
            withheld.into_values().for_each(|received| self.put_before(received, event, thread));
        }
        match op {
            Op::Fence if order.releases() => {
                self.released.insert(thread, event);
            }
            Op::Write(variable) => {
                self.sequences.remove(&variable);
            }
            Op::AtomicWrite(variable) | Op::AtomicUpdate(variable) => {
                self.see_write(event, thread, variable);
            }
            _ => {}
        }
    }

    /// Whether others can come before this event by synchronisation.
    fn receives(&self, event: EventId, op: Op) -> bool {
        let order = self.trace.memory_order(event);
        match op {
            Op::AtomicRead(_) | Op::AtomicUpdate(_) | Op::Fence => order.acquires(),
            Op::Acquire(_) | Op::AcquireShared(_) => !self.trace.is_nested(event),
            Op::Join(_) | Op::Wait(_) | Op::BarrierExit(_) | Op::Take(_) => true,
            _ => false,
        }
    }

    /// Whether this event can come before others by synchronisation.
    fn passes_on(&self, event: EventId, op: Op) -> bool {
        let order = self.trace.memory_order(event);
        match op {
            Op::AtomicWrite(_) | Op::AtomicUpdate(_) | Op::Fence => order.releases(),
            Op::Release(_) | Op::ReleaseShared(_) => !self.trace.is_nested(event),
            Op::Fork(_) | Op::Signal(_) | Op::Broadcast(_) | Op::BarrierEnter(_) | Op::Post(_) => true,
            _ => false,
        }
    }

    fn see_read(&mut self, event: EventId, thread: ThreadId, variable: VariableId) {
        let trace = self.trace;
        let acquires = trace.memory_order(event).acquires();
        if let Some(write) = trace.reads_from(event)
            && matches!(trace.op(write), Op::AtomicWrite(_) | Op::AtomicUpdate(_))
            && trace.thread(write) != thread
            && !(acquires && trace.memory_order(write).releases())
        {
            self.memory.exempt.insert(event);
            if let Some(&received) = self.received_by_write.get(&write) {
                note(self.withheld.entry(thread).or_default(), trace.thread(received), received);
            }
        }
        let sources = self.sequences.get(&variable).cloned().unwrap_or_default();
        for (other, source) in sources {
            match acquires {
                true => self.put_before(source, event, thread),
                false => note(self.promised.entry(thread).or_default(), other, source),
            }
        }
    }

    fn see_write(&mut self, event: EventId, thread: ThreadId, variable: VariableId) {
        if let Some(&received) = self.received.get(&thread) {
            self.received_by_write.insert(event, received);
        }
        let fence = self.released.get(&thread).copied();
        let source = if self.trace.memory_order(event).releases() { Some(event) } else { fence };
        let sequence = self.sequences.entry(variable).or_default();
        if let Op::AtomicWrite(_) = self.trace.op(event) {
            sequence.retain(|&head, _| head == thread);
        }
        if let Some(source) = source {
            note(sequence, thread, source);
        }
    }

    fn put_before(&mut self, first: EventId, second: EventId, thread: ThreadId) {
        let other = self.trace.thread(first);
        if other == thread || self.latest.get(&(other, thread)).is_some_and(|&latest| latest >= first) {
            return;
        }
        self.latest.insert((other, thread), first);
        let place = self.threads.place(second) as u32;
        self.memory.orders.entry((thread, place)).or_default().push(first);
    }
}

/// The later of two sources of a thread implies the earlier.
fn note(sources: &mut Sources, thread: ThreadId, source: EventId) {
    let known = sources.entry(thread).or_insert(source);
    *known = source.max(*known);
}
