//! Makes a trace that shows a bug smaller, by leaving out whatever the bug does not need.
//!
//! Delta debugging: larger parts are tried before smaller ones, and what is left is tried again
//! until nothing more can go. Parts are threads, objects, what belongs together (a section, a
//! region, an enter and its exit), runs of events, single events, and pairs of events.

use trace::{EventId, MarkId, Op, ThreadId, TooManyNames, Trace, TraceBuilder};

/// The smallest trace found that `still_fails`; the trace itself if it does not fail. Only well-formed
/// traces are tried.
pub fn shrink(trace: &Trace, mut still_fails: impl FnMut(&Trace) -> bool) -> Trace {
    let mut smallest = trace.clone();
    if !still_fails(&smallest) {
        return smallest;
    }
    loop {
        let before = smallest.len();
        for parts in [threads, objects, wholes, runs, pairs] {
            let mut all = parts(&smallest);
            // Later and larger parts first: little depends on them.
            let mut left = all.len();
            while let Some(at) = left.checked_sub(1) {
                left = at;
                if let Some(smaller) = without(&smallest, &all[at])
                    && still_fails(&smaller)
                {
                    smallest = smaller;
                    // Other parts may have gone with it.
                    all = parts(&smallest);
                    left = left.min(all.len());
                }
            }
        }
        if smallest.len() == before {
            return smallest;
        }
    }
}

type Part = Vec<EventId>;

fn ids(trace: &Trace) -> impl DoubleEndedIterator<Item = EventId> {
    (0..trace.len()).map(EventId::new)
}

/// What each thread does, and its forks and joins.
fn threads(trace: &Trace) -> Vec<Part> {
    let of = |thread: ThreadId| {
        let concerns = move |&event: &EventId| {
            trace.thread(event) == thread
                || matches!(trace.op(event), Op::Fork(other) | Op::Join(other) if other == thread)
        };
        ids(trace).filter(concerns).collect()
    };
    (0..trace.symbols().threads.len()).map(ThreadId::new).map(of).collect()
}

/// All that is done to each object.
fn objects(trace: &Trace) -> Vec<Part> {
    let mut known: Vec<(Table, u32, Part)> = Vec::new();
    for (event, _, op) in trace.events() {
        let (table, target) = (table(op), op.target());
        match known.iter_mut().find(|(t, id, _)| *t == table && *id == target) {
            Some((.., part)) => part.push(event),
            None => known.push((table, target, vec![event])),
        }
    }
    known.into_iter().map(|(.., part)| part).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    Nothing,
    Threads,
    Variables,
    Locks,
    Conditions,
    Barriers,
    Semaphores,
    Blocks,
    Branches,
    Marks,
    Regions,
}

fn table(op: Op) -> Table {
    match op {
        Op::Begin | Op::End | Op::Fence => Table::Nothing,
        Op::Fork(_) | Op::Join(_) => Table::Threads,
        Op::Read(_) | Op::Write(_) | Op::AtomicRead(_) | Op::AtomicWrite(_) | Op::AtomicUpdate(_) => {
            Table::Variables
        }
        Op::Request(_)
        | Op::Acquire(_)
        | Op::Release(_)
        | Op::RequestShared(_)
        | Op::AcquireShared(_)
        | Op::ReleaseShared(_) => Table::Locks,
        Op::Wait(_) | Op::Signal(_) | Op::Broadcast(_) => Table::Conditions,
        Op::BarrierEnter(_) | Op::BarrierExit(_) => Table::Barriers,
        Op::Post(_) | Op::Take(_) => Table::Semaphores,
        Op::Allocate(_) | Op::Free(_) => Table::Blocks,
        Op::Branch(_) => Table::Branches,
        Op::Mark(_) => Table::Marks,
        Op::RegionBegin(_) | Op::RegionEnd(_) => Table::Regions,
    }
}

/// From each event that opens something to the one that closes it, with what its thread does to the
/// same object between them.
fn wholes(trace: &Trace) -> Vec<Part> {
    let opens = |op| {
        matches!(
            op,
            Op::Request(_)
                | Op::RequestShared(_)
                | Op::Acquire(_)
                | Op::AcquireShared(_)
                | Op::BarrierEnter(_)
                | Op::RegionBegin(_)
                | Op::Allocate(_)
                | Op::Fork(_)
        )
    };
    let mut parts = Vec::new();
    for first in ids(trace).filter(|&event| opens(trace.op(event))) {
        let op = trace.op(first);
        let same = |&event: &EventId| {
            let other = trace.op(event);
            event >= first
                && trace.thread(event) == trace.thread(first)
                && (table(other), other.target()) == (table(op), op.target())
        };
        let of_object: Part = ids(trace).filter(same).collect();
        // Each way to end it: a request goes with its acquire, or with its section, and so on.
        parts.extend((2..=of_object.len().min(4)).map(|length| of_object[..length].to_vec()));
    }
    parts
}

/// Neighbours: half of the trace, a quarter and so on, and at last each event alone.
fn runs(trace: &Trace) -> Vec<Part> {
    let all: Part = ids(trace).collect();
    let mut parts = Vec::new();
    let mut length = 1;
    while length < all.len() {
        parts.extend(all.chunks(length).map(<[EventId]>::to_vec));
        length *= 2;
    }
    parts
}

/// Any two events. There are too many to try in a long trace.
fn pairs(trace: &Trace) -> Vec<Part> {
    if trace.len() > 64 {
        return Vec::new();
    }
    ids(trace).flat_map(|a| ids(trace).filter(move |&b| a < b).map(move |b| vec![a, b])).collect()
}

/// The trace without this part, if that is well-formed. What is no longer mentioned loses its name.
fn without(trace: &Trace, part: &[EventId]) -> Option<Trace> {
    if part.is_empty() {
        return None;
    }
    let mut builder = TraceBuilder::new();
    for (event, thread, op) in trace.events() {
        if part.binary_search(&event).is_err() {
            copy(trace, &mut builder, event, thread, op).ok()?;
        }
    }
    builder.set_metadata(trace.metadata().clone());
    builder.finish().ok()
}

fn copy(
    trace: &Trace,
    builder: &mut TraceBuilder,
    event: EventId,
    thread: ThreadId,
    op: Op,
) -> Result<(), TooManyNames> {
    let (s, b) = (trace.symbols(), builder);
    let thread = b.thread(s.thread(thread))?;
    let copied = match op {
        Op::Begin | Op::End | Op::Fence | Op::Branch(_) => op,
        Op::Fork(id) => Op::Fork(b.thread(s.thread(id))?),
        Op::Join(id) => Op::Join(b.thread(s.thread(id))?),
        Op::Read(id) => Op::Read(b.variable(s.variable(id))?),
        Op::Write(id) => Op::Write(b.variable(s.variable(id))?),
        Op::AtomicRead(id) => Op::AtomicRead(b.variable(s.variable(id))?),
        Op::AtomicWrite(id) => Op::AtomicWrite(b.variable(s.variable(id))?),
        Op::AtomicUpdate(id) => Op::AtomicUpdate(b.variable(s.variable(id))?),
        Op::Request(id) => Op::Request(b.lock(s.lock(id))?),
        Op::Acquire(id) => Op::Acquire(b.lock(s.lock(id))?),
        Op::Release(id) => Op::Release(b.lock(s.lock(id))?),
        Op::RequestShared(id) => Op::RequestShared(b.lock(s.lock(id))?),
        Op::AcquireShared(id) => Op::AcquireShared(b.lock(s.lock(id))?),
        Op::ReleaseShared(id) => Op::ReleaseShared(b.lock(s.lock(id))?),
        Op::Wait(id) => Op::Wait(b.condition(s.condition(id))?),
        Op::Signal(id) => Op::Signal(b.condition(s.condition(id))?),
        Op::Broadcast(id) => Op::Broadcast(b.condition(s.condition(id))?),
        Op::BarrierEnter(id) => Op::BarrierEnter(b.barrier(s.barrier(id))?),
        Op::BarrierExit(id) => Op::BarrierExit(b.barrier(s.barrier(id))?),
        Op::Post(id) | Op::Take(id) => {
            let semaphore = b.semaphore(s.semaphore(id))?;
            if let Some(permits) = trace.declared_permits(id) {
                b.declare_permits(semaphore, permits);
            }
            if matches!(op, Op::Post(_)) { Op::Post(semaphore) } else { Op::Take(semaphore) }
        }
        Op::Allocate(id) => Op::Allocate(b.block(s.block(id))?),
        Op::Free(id) => Op::Free(b.block(s.block(id))?),
        Op::Mark(id) => Op::Mark(copy_mark(trace, b, id)?),
        Op::RegionBegin(id) => Op::RegionBegin(b.region(s.region(id))?),
        Op::RegionEnd(id) => Op::RegionEnd(b.region(s.region(id))?),
    };
    let location = b.location(s.location(trace.location(event)))?;
    b.push(thread, copied, location);
    b.set_last_order(trace.memory_order(event));
    Ok(())
}

fn copy_mark(trace: &Trace, builder: &mut TraceBuilder, mark: MarkId) -> Result<MarkId, TooManyNames> {
    let mark = trace.mark(mark);
    builder.mark(trace.symbols().marks.get(mark.name as usize), mark.value)
}
