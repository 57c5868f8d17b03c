//! The same schedule with fewer context switches.
//!
//! Events of a schedule that do not touch the same object can change places. Keeping the order of those that do
//! (one thread's, one lock's, accesses to one variable unless both read, a fork and its child, and so on) every read sees
//! what it saw and every section stays whole; so any such order answers the same question. This one lets the running
//! thread go on for as long as it can, and then the one whose turn came first in the schedule.
//!
//! Cost: linear in the schedule, times the number of threads at a switch.

use rustc_hash::FxHashMap;
use trace::{EventId, Op, Trace};

use crate::Setup;

/// What two events must share for their order to matter.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shared {
    Variable(u32),
    Lock(u32),
    Condition(u32),
    Barrier(u32),
    Semaphore(u32),
    /// Named by the question, whose events keep their order.
    Named,
}

/// The last events to touch an object.
#[derive(Default)]
struct Last {
    writer: Option<u32>,
    readers: Vec<u32>,
}

/// Reorders a schedule into one with fewer context switches that answers the same question.
pub fn simplify(setup: &Setup<'_>, named: &[EventId], schedule: &[EventId]) -> Vec<EventId> {
    let waits = dependencies(setup.trace(), named, schedule);
    let mut blockers: Vec<u32> = waits.iter().map(|earlier| earlier.len() as u32).collect();
    let mut later: Vec<Vec<u32>> = vec![Vec::new(); schedule.len()];
    for (index, earlier) in waits.iter().enumerate() {
        for &before in earlier {
            later[before as usize].push(index as u32);
        }
    }
    let threads = setup.threads().threads();
    let mut queues: Vec<std::collections::VecDeque<u32>> = vec![Default::default(); threads];
    for (index, &event) in schedule.iter().enumerate() {
        queues[setup.trace().thread(event).index()].push_back(index as u32);
    }
    let mut simple = Vec::with_capacity(schedule.len());
    let mut running: Option<usize> = None;
    while simple.len() < schedule.len() {
        let ready =
            |thread: &usize| queues[*thread].front().is_some_and(|&index| blockers[index as usize] == 0);
        let next = running
            .filter(ready)
            .or_else(|| (0..threads).filter(ready).min_by_key(|&thread| queues[thread][0]));
        let Some(thread) = next else { unreachable!("the schedule itself is such an order") };
        running = Some(thread);
        if let Some(index) = queues[thread].pop_front() {
            simple.push(schedule[index as usize]);
            for &after in &later[index as usize] {
                blockers[after as usize] -= 1;
            }
        }
    }
    simple
}

/// For each event of the schedule, the earlier ones of other threads it must stay behind.
fn dependencies(trace: &Trace, named: &[EventId], schedule: &[EventId]) -> Vec<Vec<u32>> {
    let mut last: FxHashMap<Shared, Last> = FxHashMap::default();
    let mut place: FxHashMap<EventId, u32> = FxHashMap::default();
    let mut last_of_thread: FxHashMap<u32, u32> = FxHashMap::default();
    let mut all = Vec::with_capacity(schedule.len());
    for (index, &event) in schedule.iter().enumerate() {
        let index = index as u32;
        let mut waits = Vec::new();
        let thread = trace.thread(event);
        if last_of_thread.insert(thread.0, index).is_none() {
            waits.extend(trace.fork_of(thread).and_then(|fork| place.get(&fork)));
        }
        if let Op::Join(child) = trace.op(event) {
            waits.extend(last_of_thread.get(&child.0));
        }
        for (object, writes) in touched(trace, event, named) {
            let last = last.entry(object).or_default();
            waits.extend(last.writer);
            if writes {
                waits.append(&mut last.readers);
                last.writer = Some(index);
            } else {
                last.readers.push(index);
            }
        }
        waits.retain(|&before| trace.thread(schedule[before as usize]) != thread);
        waits.sort_unstable();
        waits.dedup();
        place.insert(event, index);
        all.push(waits);
    }
    all
}

/// The objects an event touches, and whether their order with others that touch them matters both ways.
fn touched(trace: &Trace, event: EventId, named: &[EventId]) -> impl Iterator<Item = (Shared, bool)> {
    let op = trace.op(event);
    let object = match op {
        Op::Acquire(lock) | Op::Release(lock) => Some((Shared::Lock(lock.0), true)),
        Op::AcquireShared(lock) | Op::ReleaseShared(lock) => Some((Shared::Lock(lock.0), false)),
        Op::Wait(condition) | Op::Signal(condition) | Op::Broadcast(condition) => {
            Some((Shared::Condition(condition.0), true))
        }
        Op::BarrierEnter(barrier) | Op::BarrierExit(barrier) => Some((Shared::Barrier(barrier.0), true)),
        Op::Post(semaphore) | Op::Take(semaphore) => Some((Shared::Semaphore(semaphore.0), true)),
        _ => op.access().map(|access| (Shared::Variable(access.variable.0), access.writes)),
    };
    object.into_iter().chain(named.contains(&event).then_some((Shared::Named, true)))
}
