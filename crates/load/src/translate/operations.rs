//! What events that are no accesses become: those of threads, locks, conditions, barriers, semaphores, marks and regions.

use std::io;

use trace::{MemoryOrder, Op, ThreadId};
use wire::{Event, Hold, Op as Raw, Passage, Waker};

use super::Translator;
use super::waits::AwaitedObject;
use crate::directives::is_signal;
use crate::memory::FirstUse;
use crate::sink::Sink;
use crate::stacks::At;
use crate::sync::Permits;

impl<S: Sink> Translator<S> {
    /// Whether an event is about a futex whose word is accessed by instrumented code: that has all the order there is.
    pub(super) fn is_seen_futex(&mut self, event: &Event<'_>) -> bool {
        let (Raw::HappensBefore { object } | Raw::HappensAfter { object }) = event.op else { return false };
        if !matches!(Passage::of(object), Some(Passage::Futex(_))) {
            return false;
        }
        let modules = &self.output.modules;
        let is_unseen =
            || modules.library_at(event.pc).is_some_and(|library| !modules.is_instrumented(library));
        !*self.unseen_futexes.entry(event.pc).or_insert_with(is_unseen)
    }

    /// Whether an event would order threads where the program does not want that.
    pub(super) fn is_unordered(&mut self, event: &Event<'_>) -> bool {
        if self.directives.orders(event.thread) {
            return false;
        }
        match event.op {
            // A later release by any thread has no effect.
            Raw::Acquire { lock, .. } => {
                self.ignores_orders = true;
                self.unordered.insert((event.thread, lock));
                true
            }
            Raw::Woken { .. } => {
                self.threads[event.thread as usize].waiting = None;
                true
            }
            Raw::Request { .. }
            | Raw::HappensBefore { .. }
            | Raw::HappensAfter { .. }
            | Raw::Signal { .. }
            | Raw::Broadcast { .. }
            | Raw::Fence { .. } => true,
            _ => false,
        }
    }

    /// What an event that is no access becomes, if anything.
    pub(super) fn operation(
        &mut self,
        event: &Event<'_>,
        first_use: FirstUse,
        at: At,
    ) -> io::Result<Option<Op>> {
        let (objects, output) = (&mut self.objects, &mut self.output);
        Ok(match event.op {
            Raw::Fence { order } => {
                self.order = MemoryOrder::from_c(order).unwrap_or_default();
                Some(Op::Fence)
            }
            Raw::Begin { .. } => self.begin(event),
            Raw::End => Some(Op::End),
            Raw::Create { child } => {
                let new = child != event.thread && !self.threads[child as usize].acted;
                new.then_some(Op::Fork(ThreadId(child)))
            }
            Raw::Join { child } => {
                let over = child != event.thread && self.threads.get(child as usize).is_some();
                if over {
                    self.threads[child as usize].over = true;
                }
                over.then_some(Op::Join(ThreadId(child)))
            }
            Raw::Request { lock, hold } => {
                let (lock, _) = objects.lock(lock, first_use, output)?;
                self.lock_orders.request(event.thread, lock);
                Some(match hold {
                    Hold::Exclusive => Op::Request(lock),
                    Hold::Shared => Op::RequestShared(lock),
                })
            }
            Raw::Acquire { lock, hold } => {
                let address = lock;
                let lock = objects.lock_taken(lock, hold, first_use, output)?;
                self.closed = self.lock_orders.acquire(event.thread, lock, address, hold, at.location);
                Some(match hold {
                    Hold::Exclusive => Op::Acquire(lock),
                    Hold::Shared => Op::AcquireShared(lock),
                })
            }
            Raw::Limited => {
                self.attempts.extend(self.stacks.location(at.location).map(str::to_owned));
                None
            }
            Raw::Release { lock, hold } => self.release(lock, hold, first_use)?,
            // The wait itself is translated when it is over.
            Raw::Wait { condition, lock } => {
                self.start_waiting(event.thread, condition, lock, first_use);
                self.release(lock, Hold::Exclusive, first_use)?
            }
            Raw::Woken { condition, by: Waker::Signal | Waker::Broadcast } => {
                self.threads[event.thread as usize].waiting = None;
                Some(Op::Wait(objects.condition(condition, first_use, output)?))
            }
            Raw::Signal { condition } => Some(Op::Signal(objects.condition(condition, first_use, output)?)),
            Raw::Broadcast { condition } => {
                Some(Op::Broadcast(objects.condition(condition, first_use, output)?))
            }
            Raw::BarrierInit { barrier, .. } => {
                objects.new_barrier(barrier, first_use, output)?;
                None
            }
            Raw::BarrierEnter { barrier } => {
                let barrier = objects.barrier(barrier, first_use, output)?;
                self.in_barrier.enter(event.thread, barrier.0);
                Some(Op::BarrierEnter(barrier))
            }
            Raw::BarrierExit { barrier } => {
                let barrier = objects.barrier(barrier, first_use, output)?;
                self.in_barrier.leave(event.thread, barrier.0).then_some(Op::BarrierExit(barrier))
            }
            Raw::SemaphoreInit { semaphore, value } => {
                objects.new_semaphore(semaphore, Permits::declared(value), first_use, output)?;
                None
            }
            Raw::Post { semaphore } => {
                let (semaphore, permits) = objects.semaphore(semaphore, first_use, output)?;
                permits.post();
                Some(Op::Post(semaphore))
            }
            Raw::Take { semaphore } => {
                let (semaphore, permits) = objects.semaphore(semaphore, first_use, output)?;
                permits.take();
                Some(Op::Take(semaphore))
            }
            Raw::Allocate { .. } => {
                let allocates = self.allocate(event, at)?;
                allocates.filter(|_| self.directives.frees(event.thread))
            }
            Raw::Free { address } if self.directives.frees(event.thread) => {
                let block = objects.memory.variables.block_at(address).filter(|block| block.start == address);
                match block {
                    Some(block) => objects.block_id(block.number, &mut output.sink)?.map(Op::Free),
                    None => None,
                }
            }
            Raw::HappensBefore { object } | Raw::HappensAfter { object }
                if Passage::of(object) == Some(Passage::None) =>
            {
                None
            }
            Raw::HappensBefore { object } => {
                let (seen, new) = objects.publish(object, first_use, output)?;
                for seen in seen {
                    self.write(event, Op::AtomicRead(seen), at)?;
                }
                Some(Op::AtomicWrite(new))
            }
            Raw::HappensAfter { object } => {
                if Passage::of(object) == Some(Passage::Everything) {
                    self.publish_everything(event, object, at)?;
                }
                let mut seen = self.objects.observe(object, first_use.thread);
                let last = seen.pop();
                for seen in seen {
                    self.write(event, Op::AtomicRead(seen), at)?;
                }
                last.map(Op::AtomicRead)
            }
            Raw::Signalled { signal } => {
                for object in signal.objects(self.carrier.unwrap_or(event.thread)) {
                    for seen in self.objects.observe(object, event.thread) {
                        self.write(event, Op::AtomicRead(seen), at)?;
                    }
                }
                None
            }
            Raw::IgnoreBegin { .. } | Raw::IgnoreEnd { .. } | Raw::Benign { .. } => {
                // Who waits for the signal comes after it, in every run and whatever the trace says.
                self.ignores_orders |= matches!(event.op, Raw::IgnoreBegin(ignored) if is_signal(ignored));
                self.directives.see(event);
                self.note_ignoring(event, at);
                None
            }
            Raw::Mark { name, value } => {
                Some(Op::Mark(self.annotations.mark(name, value, &mut output.sink)?))
            }
            Raw::RegionBegin { name } => {
                let region = self.annotations.region(name, &mut output.sink)?;
                self.in_region.enter(event.thread, region.0);
                Some(Op::RegionBegin(region))
            }
            Raw::RegionEnd { name } => {
                let region = self.annotations.region(name, &mut output.sink)?;
                self.in_region.leave(event.thread, region.0).then_some(Op::RegionEnd(region))
            }
            Raw::Stop(stop) => {
                self.loaded.stop = Some(stop);
                None
            }
            // A wait that ended by itself orders nothing; a try that failed took nothing.
            Raw::Woken { .. } => {
                self.threads[event.thread as usize].waiting = None;
                None
            }
            Raw::TryFailed { .. } | Raw::TakeFailed { .. } => None,
            // What it means is translated in its place.
            Raw::Obtained { .. } | Raw::GaveBack { .. } => None,
            Raw::Detach { child } => {
                self.release_thread(ThreadId(child));
                None
            }
            Raw::ThreadName { .. } | Raw::Failing { .. } => None,
            Raw::Exiting => {
                self.begin_to_end();
                None
            }
            Raw::Destroyed { .. }
            | Raw::NoLock
            | Raw::Refused { .. }
            | Raw::JoinedAgain { .. }
            | Raw::Unsafe(_) => {
                self.remark(event, first_use)?;
                None
            }
            Raw::Awaits { object } => {
                self.awaits(event.thread, object.map(AwaitedObject::Object), first_use, at);
                None
            }
            Raw::AwaitsEnd { child } => {
                self.awaits(event.thread, Some(AwaitedObject::EndOf(child)), first_use, at);
                None
            }
            Raw::Fiber { from, to } => {
                let state = &mut self.threads[event.thread as usize];
                let calls = state.fibers.remove(&to).unwrap_or_default();
                let left = std::mem::replace(&mut state.calls, calls);
                state.fibers.insert(from, left);
                None
            }
            // Accesses and calls do not come here.
            Raw::Read { .. }
            | Raw::Write { .. }
            | Raw::ReadWrite { .. }
            | Raw::AtomicRead { .. }
            | Raw::AtomicWrite { .. }
            | Raw::AtomicUpdate { .. }
            | Raw::ReadRange { .. }
            | Raw::WriteRange { .. }
            | Raw::Zeroed { .. }
            | Raw::Cleared { .. }
            | Raw::Order { .. }
            | Raw::FunctionEntry { .. }
            | Raw::FunctionExit
            | Raw::Free { .. }
            | Raw::Branches { .. } => None,
        })
    }

    /// What every other thread that is still there did so far comes before what this thread does now. Each says so where it is.
    fn publish_everything(&mut self, event: &Event<'_>, object: u64, at: At) -> io::Result<()> {
        for thread in (0..self.threads.len() as u32).filter(|&thread| thread != event.thread) {
            let state = &self.threads[thread as usize];
            if !state.acted || state.over {
                continue;
            }
            let by_it = Event { thread, place: None, ..*event };
            let (seen, new) = self.objects.publish(object, FirstUse::by(&by_it), &mut self.output)?;
            for seen in seen {
                self.write(&by_it, Op::AtomicRead(seen), at)?;
            }
            self.write(&by_it, Op::AtomicWrite(new), at)?;
        }
        Ok(())
    }
}
