//! The same schedule with fewer context switches.
//!
//! Events of a schedule that do not touch the same object can be swapped. As long as events that touch the
//! same object keep their order (those of one thread, of one lock, accesses to one variable unless both are
//! reads, a fork and its child, and so on), every read sees the same write and no sections overlap, so the new
//! order answers the same question. This module lets the running thread continue for as long as possible, and
//! then switches to the thread whose turn came first in the schedule.
//!
//! For each event it is enough to know how often its object was touched before it in the schedule: the event
//! can run once the object has been touched that often again.
//!
//! Cost: linear in the schedule, times the number of threads at each switch.

use trace::{EventId, Op, ThreadId, Trace};

use crate::Index;

/// How often an object has been touched: in ways that change places with each other, and in ways that do not.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Touched {
    reads: u32,
    writes: u32,
}

/// One event of a schedule.
#[derive(Clone, Copy)]
struct Turn {
    event: EventId,
    /// Its place in the schedule.
    index: u32,
    /// The number of the object it touches, or [`NOTHING`].
    object: u32,
    writes: bool,
    /// How often the object had been touched before it in the schedule.
    before: Touched,
}

const NOTHING: u32 = u32::MAX;

/// Reorders a schedule into one with fewer context switches that answers the same question.
pub fn simplify(index: &Index<'_>, named: &[EventId], schedule: &[EventId]) -> Vec<EventId> {
    let objects = Objects::of(index.trace());
    let turns = turns(index, &objects, schedule);
    let order = named_in_order(named, schedule);
    let mut run = Run {
        index,
        turns: &turns,
        done: vec![0; turns.len()],
        touched: vec![Touched::default(); objects.count],
        order: &order,
        named: 0,
    };
    let mut simple = Vec::with_capacity(schedule.len());
    let mut running: Option<usize> = None;
    while simple.len() < schedule.len() {
        let next = running.filter(|&thread| run.is_ready(thread)).or_else(|| {
            let ready = (0..turns.len()).filter(|&thread| run.is_ready(thread));
            ready.min_by_key(|&thread| turns[thread][run.done[thread]].index)
        });
        let Some(thread) = next else { unreachable!("the schedule itself is such an order") };
        running = Some(thread);
        simple.push(run.go_on(thread));
    }
    simple
}

/// The events of each thread, as turns.
fn turns(index: &Index<'_>, objects: &Objects, schedule: &[EventId]) -> Vec<Vec<Turn>> {
    let trace = index.trace();
    let mut touched = vec![Touched::default(); objects.count];
    let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); index.threads().threads()];
    for (index, &event) in schedule.iter().enumerate() {
        let op = trace.op(event);
        let mut turn =
            Turn { event, index: index as u32, object: NOTHING, writes: false, before: Touched::default() };
        if let Some((object, writes)) = objects.touched(op) {
            let all = &mut touched[object as usize];
            (turn.object, turn.writes, turn.before) = (object, writes, *all);
            all.touch(writes);
        }
        turns[trace.thread(event).index()].push(turn);
    }
    turns
}

/// The named events that happen, which keep their order.
fn named_in_order(named: &[EventId], schedule: &[EventId]) -> Vec<EventId> {
    if named.is_empty() {
        return Vec::new();
    }
    schedule.iter().copied().filter(|event| named.contains(event)).collect()
}

impl Touched {
    fn touch(&mut self, writes: bool) {
        match writes {
            true => self.writes += 1,
            false => self.reads += 1,
        }
    }
}

/// A schedule on the way to being simple.
struct Run<'a> {
    index: &'a Index<'a>,
    turns: &'a [Vec<Turn>],
    /// How many turns each thread has had.
    done: Vec<usize>,
    touched: Vec<Touched>,
    /// The named events that happen, and how many have.
    order: &'a [EventId],
    named: usize,
}

impl Run<'_> {
    /// Whether a thread's next event can happen.
    #[inline]
    fn is_ready(&self, thread: usize) -> bool {
        let Some(turn) = self.turns[thread].get(self.done[thread]) else { return false };
        if turn.object != NOTHING {
            let touched = self.touched[turn.object as usize];
            if touched.writes != turn.before.writes || turn.writes && touched.reads != turn.before.reads {
                return false;
            }
        } else if let Op::Join(child) = self.index.trace().op(turn.event)
            && self.done[child.index()] < self.turns[child.index()].len()
        {
            return false;
        }
        self.is_forked(thread)
            && self.keeps_named_order(turn.event)
            && self.keeps_synchronisation(thread, turn)
    }

    /// What memory orders put before the event, and the schedule too, has happened.
    #[inline]
    fn keeps_synchronisation(&self, thread: usize, turn: &Turn) -> bool {
        let Some(weak) = self.index.synchronisation() else { return true };
        let (trace, threads) = (self.index.trace(), self.index.threads());
        weak.before(threads, ThreadId::new(thread), turn.event).iter().all(|&(_, first)| {
            let (other, place) = (trace.thread(first).index(), threads.place(first));
            self.done[other] > place
                || self.turns[other].get(place).is_none_or(|first| first.index > turn.index)
        })
    }

    fn is_forked(&self, thread: usize) -> bool {
        if self.done[thread] > 0 {
            return true;
        }
        self.index.trace().fork_of(ThreadId::new(thread)).is_none_or(|fork| {
            let parent = self.index.trace().thread(fork).index();
            // A schedule has all of a thread up to what it has of it.
            self.done[parent] > self.index.threads().place(fork)
        })
    }

    #[inline]
    fn keeps_named_order(&self, event: EventId) -> bool {
        !self.order[self.named.min(self.order.len())..].iter().skip(1).any(|&later| later == event)
    }

    fn go_on(&mut self, thread: usize) -> EventId {
        let turn = self.turns[thread][self.done[thread]];
        self.done[thread] += 1;
        if turn.object != NOTHING {
            self.touched[turn.object as usize].touch(turn.writes);
        }
        if self.order.get(self.named) == Some(&turn.event) {
            self.named += 1;
        }
        turn.event
    }
}

/// Numbers for the objects of a trace.
struct Objects {
    locks: u32,
    conditions: u32,
    barriers: u32,
    semaphores: u32,
    count: usize,
}

impl Objects {
    fn of(trace: &Trace) -> Self {
        let symbols = trace.symbols();
        let locks = symbols.variables.len() as u32;
        let conditions = locks + symbols.locks.len() as u32;
        let barriers = conditions + symbols.conditions.len() as u32;
        let semaphores = barriers + symbols.barriers.len() as u32;
        let count = semaphores as usize + symbols.semaphores.len();
        Objects { locks, conditions, barriers, semaphores, count }
    }

    /// The object an event touches, and whether its order with others that touch it matters both ways.
    #[inline]
    fn touched(&self, op: Op) -> Option<(u32, bool)> {
        match op {
            Op::Acquire(lock) | Op::Release(lock) => Some((self.locks + lock.0, true)),
            Op::AcquireShared(lock) | Op::ReleaseShared(lock) => Some((self.locks + lock.0, false)),
            Op::Wait(condition) | Op::Signal(condition) | Op::Broadcast(condition) => {
                Some((self.conditions + condition.0, true))
            }
            Op::BarrierEnter(barrier) | Op::BarrierExit(barrier) => Some((self.barriers + barrier.0, true)),
            Op::Post(semaphore) | Op::Take(semaphore) => Some((self.semaphores + semaphore.0, true)),
            _ => op.access().map(|access| (access.variable.0, access.writes)),
        }
    }
}
