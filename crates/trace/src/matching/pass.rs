//! The one pass over the events that matches and checks them.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use foldhash::fast::RandomState;

use crate::fault::Fault;
use crate::ids::{BarrierId, ConditionId, EventId, InstanceId, LockId, RegionId, SemaphoreId, ThreadId};
use crate::op::{Kind, Op};
use crate::trace::{Columns, Symbols};

use super::sections::{Holder, NOBODY, SharedHold};
use super::signals::Signals;
use super::{BarrierInstance, Matching, NONE};

/// The kinds that access a variable have codes in a row.
const ACCESSES: RangeInclusive<Kind> = Kind::Read..=Kind::AtomicUpdate;
const READS: Kinds = Kinds::of(&[Kind::Read, Kind::AtomicRead, Kind::AtomicUpdate]);
const WRITES: Kinds = Kinds::of(&[Kind::Write, Kind::AtomicWrite, Kind::AtomicUpdate]);

/// A set of kinds, one bit a code.
struct Kinds(u32);

impl Kinds {
    const fn of(kinds: &[Kind]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < kinds.len() {
            bits |= 1 << kinds[index] as u32;
            index += 1;
        }
        Kinds(bits)
    }

    #[inline]
    fn has(&self, kind: Kind) -> bool {
        self.0 >> kind as u32 & 1 != 0
    }
}

/// What the pass knows of a thread.
#[derive(Clone, Copy)]
pub(super) struct ThreadState {
    first: u32,
    last: u32,
    /// The end or join after which it must not act.
    closed_by: u32,
    closed_by_join: bool,
    /// A request that has not yet led to its acquire, and the lock it is for.
    pub(super) request: u32,
    pub(super) requested: LockId,
    fork: u32,
}

#[derive(Clone, Copy, Default)]
struct Permits {
    declared: Option<u32>,
    posts: u64,
    takes: u64,
    /// The most that takes ever exceeded posts by.
    deficit: u64,
}

/// A map whose hash is seeded at random: which ids meet comes from files that may be hostile.
type SeededMap<K, V> = HashMap<K, V, RandomState>;

/// What is known between one event and the next.
pub(super) struct Pass {
    pub(super) links: Vec<u32>,
    pub(super) threads: Vec<ThreadState>,
    last_write: Vec<u32>,
    pub(super) holders: Vec<Holder>,
    /// How many threads share each lock.
    pub(super) readers: Vec<u32>,
    pub(super) shared: SeededMap<(LockId, ThreadId), SharedHold>,
    /// By condition; nothing until the first signal.
    signals: Vec<Option<Box<Signals>>>,
    /// For each barrier, the instance that is still collecting enters.
    collecting: Vec<u32>,
    instances: Vec<BarrierInstance>,
    entered: SeededMap<(BarrierId, ThreadId), InstanceId>,
    permits: Vec<Permits>,
    allocations: Vec<u32>,
    /// The innermost region that is open. The link of its begin is the one around it until it ends.
    regions: SeededMap<(RegionId, ThreadId), EventId>,
}

impl Pass {
    pub(super) fn new(events: usize, symbols: &Symbols, declared_permits: &[Option<u32>]) -> Self {
        let thread = ThreadState {
            first: NONE,
            last: NONE,
            closed_by: NONE,
            closed_by_join: false,
            request: NONE,
            requested: LockId(NONE),
            fork: NONE,
        };
        let permits = (0..symbols.semaphores.len()).map(|index| Permits {
            declared: declared_permits.get(index).copied().flatten(),
            ..Permits::default()
        });
        Pass {
            links: Vec::with_capacity(events),
            threads: vec![thread; symbols.threads.len()],
            last_write: vec![NONE; symbols.variables.len()],
            holders: vec![NOBODY; symbols.locks.len()],
            readers: vec![0; symbols.locks.len()],
            shared: SeededMap::default(),
            signals: vec![None; symbols.conditions.len()],
            collecting: vec![NONE; symbols.barriers.len()],
            instances: Vec::new(),
            entered: SeededMap::default(),
            permits: permits.collect(),
            allocations: vec![NONE; symbols.blocks.len()],
            regions: SeededMap::default(),
        }
    }

    #[inline]
    pub(super) fn step(
        &mut self,
        event: EventId,
        thread: ThreadId,
        kind: Kind,
        target: u32,
    ) -> Result<(), Fault> {
        let state = &mut self.threads[thread.index()];
        if state.closed_by != NONE {
            return Err(acts_after_close(thread, state));
        }
        let previous = state.last;
        state.last = event.0;
        if previous == NONE {
            state.first = event.0;
        }
        if ACCESSES.contains(&kind) {
            // Whether it reads or writes is a coin toss to the processor: select, do not branch.
            let last_write = &mut self.last_write[target as usize];
            let seen = *last_write;
            *last_write = if WRITES.has(kind) { event.0 } else { seen };
            self.links.push(if READS.has(kind) { seen } else { NONE });
            return Ok(());
        }
        let op = Op::from_parts(kind, target);
        let link = match op {
            Op::Acquire(lock) => self.acquire(event, thread, lock)?,
            Op::Release(lock) => self.release(event, thread, lock)?,
            _ => return self.step_rare(event, thread, op, previous),
        };
        self.links.push(link);
        Ok(())
    }

    /// The same; an event at fault is as if it had not been there.
    pub(super) fn step_or_skip(
        &mut self,
        event: EventId,
        thread: ThreadId,
        kind: Kind,
        target: u32,
    ) -> Result<(), Fault> {
        let before = self.threads[thread.index()];
        let stepped = self.step(event, thread, kind, target);
        if stepped.is_err() {
            self.threads[thread.index()] = before;
            self.links.push(NONE);
        }
        stepped
    }

    /// The operations that are rare in most traces, kept out of the hot loop.
    fn step_rare(&mut self, event: EventId, thread: ThreadId, op: Op, previous: u32) -> Result<(), Fault> {
        let link = match op {
            Op::Read(_)
            | Op::Write(_)
            | Op::AtomicRead(_)
            | Op::AtomicWrite(_)
            | Op::AtomicUpdate(_)
            | Op::Acquire(_)
            | Op::Release(_) => {
                unreachable!("matched by the caller")
            }
            Op::Begin if previous != NONE => {
                let first = EventId(self.threads[thread.index()].first);
                return Err(Fault::BeginNotFirst { thread, first });
            }
            Op::Begin | Op::Fence | Op::Branch(_) | Op::Mark(_) => NONE,
            Op::End => {
                self.threads[thread.index()].closed_by = event.0;
                NONE
            }
            Op::Fork(child) => self.fork(event, thread, child)?,
            Op::Join(child) => self.join(event, thread, child)?,
            Op::Request(lock) | Op::RequestShared(lock) => {
                let state = &mut self.threads[thread.index()];
                (state.request, state.requested) = (event.0, lock);
                NONE
            }
            Op::AcquireShared(lock) => self.acquire_shared(event, thread, lock)?,
            Op::ReleaseShared(lock) => self.release_shared(event, thread, lock)?,
            Op::Wait(condition) => match &mut self.signals[condition.index()] {
                Some(signals) => signals.wake(previous),
                None => NONE,
            },
            Op::Signal(condition) => self.signal(event, condition, Kind::Signal),
            Op::Broadcast(condition) => self.signal(event, condition, Kind::Broadcast),
            Op::BarrierEnter(barrier) => self.enter(event, thread, barrier),
            Op::BarrierExit(barrier) => self.exit(thread, barrier)?,
            Op::Post(semaphore) => {
                self.permits[semaphore.index()].posts += 1;
                NONE
            }
            Op::Take(semaphore) => self.take(semaphore)?,
            Op::Allocate(block) => {
                self.allocations[block.index()] = event.0;
                NONE
            }
            Op::Free(block) => {
                let allocation = std::mem::replace(&mut self.allocations[block.index()], NONE);
                self.back_link(allocation, event)
            }
            Op::RegionBegin(region) => {
                let around = self.regions.insert((region, thread), event);
                around.map_or(NONE, |around| around.0)
            }
            Op::RegionEnd(region) => self.end_region(event, thread, region)?,
        };
        self.links.push(link);
        Ok(())
    }

    /// Links an earlier event, if there is one, to this later one, and returns it as this one's link.
    pub(super) fn back_link(&mut self, earlier: u32, later: EventId) -> u32 {
        if earlier != NONE {
            self.links[earlier as usize] = later.0;
        }
        earlier
    }

    fn fork(&mut self, event: EventId, thread: ThreadId, child: ThreadId) -> Result<u32, Fault> {
        if child == thread {
            return Err(Fault::OfItself { thread });
        }
        let state = &mut self.threads[child.index()];
        if state.fork != NONE {
            return Err(Fault::ForkedTwice { child, fork: EventId(state.fork) });
        }
        if state.first != NONE {
            return Err(Fault::RanBeforeFork { child, first: EventId(state.first) });
        }
        state.fork = event.0;
        Ok(NONE)
    }

    fn join(&mut self, event: EventId, thread: ThreadId, child: ThreadId) -> Result<u32, Fault> {
        if child == thread {
            return Err(Fault::OfItself { thread });
        }
        let state = &mut self.threads[child.index()];
        if state.closed_by == NONE {
            state.closed_by = event.0;
            state.closed_by_join = true;
        }
        Ok(state.last)
    }

    fn signal(&mut self, event: EventId, condition: ConditionId, kind: Kind) -> u32 {
        let signals = self.signals[condition.index()].get_or_insert_default();
        signals.push(event, kind == Kind::Broadcast);
        NONE
    }

    fn enter(&mut self, event: EventId, thread: ThreadId, barrier: BarrierId) -> u32 {
        let collecting = &mut self.collecting[barrier.index()];
        if *collecting == NONE {
            *collecting = self.instances.len() as u32;
            self.instances.push(BarrierInstance { barrier, enters: Vec::new() });
        }
        let instance = *collecting;
        self.instances[instance as usize].enters.push(event);
        self.entered.insert((barrier, thread), InstanceId(instance));
        instance
    }

    /// The first exit shows that the party was complete: later enters belong to the next instance.
    fn exit(&mut self, thread: ThreadId, barrier: BarrierId) -> Result<u32, Fault> {
        let entered = self.entered.remove(&(barrier, thread));
        let instance = entered.ok_or(Fault::NotEntered { barrier, thread })?;
        if self.collecting[barrier.index()] == instance.0 {
            self.collecting[barrier.index()] = NONE;
        }
        Ok(instance.0)
    }

    fn take(&mut self, semaphore: SemaphoreId) -> Result<u32, Fault> {
        let permits = &mut self.permits[semaphore.index()];
        permits.takes += 1;
        permits.deficit = permits.deficit.max(permits.takes.saturating_sub(permits.posts));
        match permits.declared {
            Some(initial) if permits.deficit > u64::from(initial) => {
                Err(Fault::NoPermit { semaphore, initial })
            }
            _ => Ok(NONE),
        }
    }

    fn end_region(&mut self, event: EventId, thread: ThreadId, region: RegionId) -> Result<u32, Fault> {
        let key = (region, thread);
        let begin = *self.regions.get(&key).ok_or(Fault::RegionNotBegun { region, thread })?;
        match self.links[begin.index()] {
            NONE => self.regions.remove(&key),
            around => self.regions.insert(key, EventId(around)),
        };
        Ok(self.back_link(begin.0, event))
    }

    pub(super) fn finish(mut self, columns: &Columns) -> Matching {
        // Regions still open are linked with the one around them; they have no end to be linked with.
        for &innermost in self.regions.values() {
            let mut open = innermost.0;
            while open != NONE {
                open = std::mem::replace(&mut self.links[open as usize], NONE);
            }
        }
        // The child's first event comes after the fork, so forks are linked last.
        for (child, state) in self.threads.iter().enumerate() {
            if state.fork != NONE {
                debug_assert_eq!(columns.op(EventId(state.fork)), Op::Fork(ThreadId::new(child)));
                self.links[state.fork as usize] = state.first;
            }
        }
        let initial = |p: &Permits| p.declared.unwrap_or(u32::try_from(p.deficit).unwrap_or(u32::MAX));
        Matching {
            links: self.links,
            instances: self.instances,
            forks: self.threads.iter().map(|state| state.fork).collect(),
            initial_permits: self.permits.iter().map(initial).collect(),
        }
    }
}

#[cold]
fn acts_after_close(thread: ThreadId, state: &ThreadState) -> Fault {
    let closed_by = EventId(state.closed_by);
    if state.closed_by_join {
        Fault::ActsAfterJoin { thread, join: closed_by }
    } else {
        Fault::ActsAfterEnd { thread, end: closed_by }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_of_kinds_agree_with_the_operations() {
        for &kind in Kind::ALL {
            let op = Op::from_parts(kind, 0);
            assert_eq!(ACCESSES.contains(&kind), op.access().is_some(), "{kind:?}");
            assert_eq!(READS.has(kind), op.reads().is_some(), "{kind:?}");
            assert_eq!(WRITES.has(kind), op.writes().is_some(), "{kind:?}");
        }
    }
}
