//! Memory orders by definition: docs/memory-orders.md word for word, by trying all pairs of events.

use trace::{EventId, Op, ThreadId, Trace};

use crate::set::EventSet;

/// The reads that a question about a race exempts.
pub(crate) fn exempt_reads(trace: &Trace) -> EventSet {
    let reads = ids(trace).filter(|&read| is_atomic_read(trace, read));
    reads.filter(|&read| is_exempt(trace, read)).collect()
}

/// For each event, those that memory orders put before it in a question about a race.
pub(crate) fn orders(trace: &Trace) -> Vec<EventSet> {
    let before = |event: EventId| {
        let by_synchronisation = ids(trace).filter(|&other| synchronises(trace, other, event));
        let by_time = ids(trace)
            .filter(|&read| is_atomic_read(trace, read) && is_exempt(trace, read))
            .filter(|&read| first_passed_on(trace, read) == event)
            .filter_map(|read| last_received(trace, trace.reads_from(read)?));
        by_synchronisation.chain(by_time).filter(|&other| other != event).collect()
    };
    ids(trace).map(before).collect()
}

fn ids(trace: &Trace) -> impl DoubleEndedIterator<Item = EventId> + Clone + use<> {
    (0..trace.len()).map(EventId::new)
}

fn of_thread(trace: &Trace, thread: ThreadId) -> Vec<EventId> {
    ids(trace).filter(|&event| trace.thread(event) == thread).collect()
}

fn is_atomic_read(trace: &Trace, event: EventId) -> bool {
    matches!(trace.op(event), Op::AtomicRead(_) | Op::AtomicUpdate(_))
}

fn is_atomic_write(trace: &Trace, event: EventId) -> bool {
    matches!(trace.op(event), Op::AtomicWrite(_) | Op::AtomicUpdate(_))
}

fn is_exempt(trace: &Trace, read: EventId) -> bool {
    let Some(write) = trace.reads_from(read) else { return false };
    is_atomic_write(trace, write)
        && trace.thread(write) != trace.thread(read)
        && !(trace.memory_order(write).releases() && trace.memory_order(read).acquires())
}

/// All writes of the release sequence that a write heads, or would if it released.
fn release_sequence(trace: &Trace, head: EventId) -> Vec<EventId> {
    let same_variable = |&event: &EventId| trace.op(event).writes() == trace.op(head).writes();
    let goes_on = |&event: &EventId| match trace.op(event) {
        Op::AtomicUpdate(_) => true,
        Op::AtomicWrite(_) => trace.thread(event) == trace.thread(head),
        _ => false,
    };
    let later = ids(trace).filter(|&event| event > head).filter(same_variable).take_while(goes_on);
    [head].into_iter().chain(later).collect()
}

/// Whether one event synchronises with another of another thread, as a write or a release fence with a read or an acquire fence.
fn synchronises(trace: &Trace, first: EventId, second: EventId) -> bool {
    if trace.thread(first) == trace.thread(second) {
        return false;
    }
    let heads: Vec<EventId> = match trace.op(first) {
        _ if !trace.memory_order(first).releases() => Vec::new(),
        Op::AtomicWrite(_) | Op::AtomicUpdate(_) => vec![first],
        Op::Fence => {
            let own = of_thread(trace, trace.thread(first));
            own.into_iter().filter(|&write| write > first && is_atomic_write(trace, write)).collect()
        }
        _ => Vec::new(),
    };
    let reads: Vec<EventId> = match trace.op(second) {
        _ if !trace.memory_order(second).acquires() => Vec::new(),
        Op::AtomicRead(_) | Op::AtomicUpdate(_) => vec![second],
        Op::Fence => {
            let own = of_thread(trace, trace.thread(second));
            own.into_iter().filter(|&read| read < second && is_atomic_read(trace, read)).collect()
        }
        _ => Vec::new(),
    };
    heads.iter().any(|&head| {
        let sequence = release_sequence(trace, head);
        reads.iter().any(|&read| trace.reads_from(read).is_some_and(|write| sequence.contains(&write)))
    })
}

/// The last event up to a write by which its thread received anything from others.
fn last_received(trace: &Trace, write: EventId) -> Option<EventId> {
    let thread = trace.thread(write);
    let receives = |&event: &EventId| match trace.op(event) {
        Op::AtomicRead(_) | Op::AtomicUpdate(_) | Op::Fence => trace.memory_order(event).acquires(),
        Op::Acquire(_) | Op::AcquireShared(_) => !trace.is_nested(event),
        Op::Join(_) | Op::Wait(_) | Op::BarrierExit(_) | Op::Take(_) => true,
        _ => false,
    };
    let own = of_thread(trace, thread);
    own.into_iter().filter(|&event| event <= write).rfind(receives).or(trace.fork_of(thread))
}

/// The first event from a read on by which its thread passes anything on to others: at the latest its last event.
fn first_passed_on(trace: &Trace, read: EventId) -> EventId {
    let passes_on = |&event: &EventId| match trace.op(event) {
        Op::AtomicWrite(_) | Op::AtomicUpdate(_) | Op::Fence => trace.memory_order(event).releases(),
        Op::Release(_) | Op::ReleaseShared(_) => !trace.is_nested(event),
        Op::Fork(_) | Op::Signal(_) | Op::Broadcast(_) | Op::BarrierEnter(_) | Op::Post(_) => true,
        _ => false,
    };
    let own = of_thread(trace, trace.thread(read));
    let last = own.last().copied().unwrap_or(read);
    own.into_iter().filter(|&event| event >= read).find(passes_on).unwrap_or(last)
}
