//! Misuse of locks, threads and signal handlers that the run itself shows. It is no event of the trace but a remark about one.

use std::io;

use trace::{Misuse, MisuseKind, Op, ThreadId};
use wire::{Event, Hold, Op as Raw, Refusal, Stop, UnsafeCall};

use super::{ThreadState, Translator};
use crate::memory::FirstUse;
use crate::sink::Sink;
use crate::stacks::At;
use crate::sync::Holders;

/// What an event does wrong, until its number is known.
#[derive(Debug)]
pub(super) struct Wrong {
    what: MisuseKind,
    object: String,
    other: Option<u32>,
}

impl<S: Sink> Translator<S> {
    /// The event that is being translated misuses what lies at an address.
    fn misuses(&mut self, what: MisuseKind, address: u64, other: Option<u32>, first_use: FirstUse) {
        let object = self.objects.memory.name_in(address, None, first_use, &mut self.output);
        self.wrong.get_or_insert(Wrong { what, object, other });
    }

    /// Keeps what the event that was translated did wrong.
    pub(super) fn keep_misuse(&mut self, event: &Event<'_>, at: At) {
        if let Some(Wrong { what, object, other }) = self.wrong.take().filter(|_| !self.is_full()) {
            let thread = &self.threads[event.thread as usize];
            let location = self.stacks.location(at.location).unwrap_or_default().to_owned();
            let other = other.map(|other| self.threads[other as usize].name.clone());
            self.misuses.push(Misuse { what, event: thread.last, object, location, other, earlier: None });
        }
    }

    /// A thread uses memory that it has freed itself, which no other schedule changes. Once for each block: what follows would say the
    /// same again.
    #[cold]
    pub(super) fn use_after_free(&mut self, event: &Event<'_>, address: u64) -> io::Result<()> {
        let Some(block) = self.objects.memory.variables.block_at(address) else { return Ok(()) };
        self.objects.memory.variables.forget_free(block);
        if !self.directives.frees(event.thread) {
            return Ok(());
        }
        let object = self.objects.memory.name_of_block(block.number).unwrap_or("memory").to_owned();
        let at = self.at(event)?;
        self.wrong.get_or_insert(Wrong { what: MisuseKind::UseAfterFree, object, other: None });
        self.keep_misuse(event, at);
        Ok(())
    }

    /// Looks for misuse of what was destroyed, before an event is translated.
    pub(super) fn look_for_destroyed(&mut self, event: &Event<'_>, first_use: FirstUse) {
        let used = match event.op {
            Raw::Request { lock, .. } | Raw::Acquire { lock, .. } | Raw::Release { lock, .. } => lock,
            Raw::Wait { condition, .. } | Raw::Signal { condition } | Raw::Broadcast { condition } => {
                condition
            }
            Raw::BarrierEnter { barrier } => barrier,
            Raw::Post { semaphore } | Raw::Take { semaphore } => semaphore,
            _ => return,
        };
        // Once: what follows would say the same again.
        if self.destroyed.remove(&used) {
            self.misuses(MisuseKind::UseAfterDestroy, used, None, first_use);
        }
    }

    /// The program writes memory itself: what lay there before is not what lies there now.
    #[inline]
    pub(super) fn forget_destroyed(&mut self, event: &Event<'_>, address: u64, length: u64) {
        if self.destroyed.is_empty() {
            return;
        }
        while let Some(&object) = self.destroyed.range(address..address.saturating_add(length)).next() {
            self.destroyed.remove(&object);
            self.written_over = Some((event.thread, event.pc, object));
        }
    }

    /// An event that is nothing but a misuse, perhaps.
    pub(super) fn remark(&mut self, event: &Event<'_>, first_use: FirstUse) -> io::Result<()> {
        match event.op {
            Raw::Destroyed { object } => {
                let (_, holders) = self.objects.lock_if_known(object);
                if let Some(holder) = holders.and_then(Holders::anyone) {
                    self.misuses(MisuseKind::DestroyOfLocked, object, Some(holder), first_use);
                } else if self.written_over == Some((event.thread, event.pc, object)) {
                    // The call that destroys it is a write of it as well, which came just before.
                    self.misuses(MisuseKind::UseAfterDestroy, object, None, first_use);
                }
                self.destroyed.insert(object);
                if let Some(lock) = self.objects.known_lock(object) {
                    self.lock_orders.destroy(lock);
                }
            }
            Raw::NoLock => {
                if let Some(lock) = self.objects.lock_held_by(event.thread) {
                    self.misuses(MisuseKind::LockHeldHere, lock, None, first_use);
                }
            }
            Raw::Refused { object, why } => self.refused(event.thread, object, why, first_use),
            Raw::JoinedAgain { child } => {
                let object = self.threads.get(child as usize).map(|thread| thread.name.clone());
                let object = object.unwrap_or_default();
                self.wrong.get_or_insert(Wrong { what: MisuseKind::JoinedTwice, object, other: None });
            }
            Raw::Unsafe(call) => {
                let (what, object) = match call {
                    UnsafeCall::Allocates => (MisuseKind::AllocationInHandler, "signal handler"),
                    UnsafeCall::Locks => (MisuseKind::LockInHandler, "signal handler"),
                    UnsafeCall::ChangesErrno => (MisuseKind::ErrnoInHandler, "errno"),
                };
                self.wrong.get_or_insert(Wrong { what, object: object.to_owned(), other: None });
            }
            _ => {}
        }
        Ok(())
    }

    /// The C library has refused a call on an object.
    fn refused(&mut self, thread: u32, object: u64, why: Refusal, first_use: FirstUse) {
        let (is_known, holders) = self.objects.lock_if_known(object);
        let holder = holders.and_then(Holders::anyone);
        let (what, other) = match (why, holder) {
            (Refusal::Deadlock, holder) => {
                (MisuseKind::DoubleLock, holder.filter(|&holder| holder != thread))
            }
            (Refusal::NotHeld, Some(holder)) if holder != thread => {
                (MisuseKind::UnlockByAnother, Some(holder))
            }
            (Refusal::NotHeld, None) => (MisuseKind::UnlockOfUnlocked, None),
            (Refusal::Busy, Some(holder)) => (MisuseKind::DestroyOfLocked, Some(holder)),
            (Refusal::Busy, None) if !is_known => (MisuseKind::DestroyInUse, None),
            (Refusal::Invalid, _) if self.destroyed.contains(&object) => (MisuseKind::UseAfterDestroy, None),
            (Refusal::Invalid, _) => (MisuseKind::NotInitialised, None),
            _ => return,
        };
        self.misuses(what, object, other, first_use);
    }

    /// All threads that wait for a condition variable at a time must use the same mutex.
    pub(super) fn start_waiting(&mut self, thread: u32, condition: u64, lock: u64, first_use: FirstUse) {
        let with_another = |state: &ThreadState| {
            state.waiting.is_some_and(|(waited, with)| waited == condition && with != lock)
        };
        if let Some(other) = self.threads.iter().position(with_another) {
            self.misuses(MisuseKind::TwoMutexes, condition, Some(other as u32), first_use);
        }
        self.threads[thread as usize].waiting = Some((condition, lock));
    }

    /// A lock is given back.
    pub(super) fn release(&mut self, lock: u64, hold: Hold, first_use: FirstUse) -> io::Result<Option<Op>> {
        if self.unordered.remove(&(first_use.thread, lock)) {
            return Ok(None);
        }
        let (id, holders) = self.objects.lock(lock, first_use, &mut self.output)?;
        let held = holders.give_back(first_use.thread, hold);
        if held.is_some() {
            self.lock_orders.release(first_use.thread, id);
        }
        let is_free = *holders == Holders::default();
        let wrong = match (hold, held) {
            (_, None) if is_free => Some(MisuseKind::UnlockOfUnlocked),
            (Hold::Shared, Some(Hold::Exclusive)) => Some(MisuseKind::ReadUnlockOfWriteLock),
            (Hold::Exclusive, Some(Hold::Shared)) => Some(MisuseKind::WriteUnlockOfReadLock),
            _ => None,
        };
        if let Some(what) = wrong.filter(|_| !self.is_of_rust) {
            self.misuses(what, lock, None, first_use);
        }
        Ok(held.map(|held| match held {
            Hold::Exclusive => Op::Release(id),
            Hold::Shared => Op::ReleaseShared(id),
        }))
    }

    /// What an event of a lock that is handed over becomes: the lock is a semaphore.
    pub(super) fn handed_over(
        &mut self,
        event: &Event<'_>,
        first_use: FirstUse,
    ) -> io::Result<Option<Option<Op>>> {
        if self.handed.is_empty() {
            return Ok(None);
        }
        let (lock, takes) = match event.op {
            Raw::Request { lock, .. } if self.handed.contains(&lock) => return Ok(Some(None)),
            Raw::Acquire { lock, .. } => (lock, true),
            Raw::Release { lock, .. } | Raw::Wait { lock, .. } => (lock, false),
            _ => return Ok(None),
        };
        if !self.handed.contains(&lock) {
            return Ok(None);
        }
        let (semaphore, permits) = self.objects.semaphore(lock, first_use, &mut self.output)?;
        if takes {
            permits.take();
            self.takers.insert(lock, event.thread);
            return Ok(Some(Some(Op::Take(semaphore))));
        }
        permits.post();
        let taker = self.takers.remove(&lock).filter(|&taker| taker != event.thread);
        if taker.is_some() {
            self.misuses(MisuseKind::UnlockByAnother, lock, taker, first_use);
        }
        Ok(Some(Some(Op::Post(semaphore))))
    }

    /// Keeps the cycle that the event which was translated closes among the locks of its thread.
    pub(super) fn keep_cycle(&mut self, event: &Event<'_>, at: At) {
        let Some(cycle) = self.closed.take().filter(|_| !self.is_full()) else { return };
        let first_use = FirstUse::by(event);
        let mut name = |address| self.objects.memory.name_in(address, None, first_use, &mut self.output);
        let (object, held) = (name(cycle.wanted.address), name(cycle.held.address));
        let location = |id| self.stacks.location(id).unwrap_or_default().to_owned();
        let misuse = Misuse {
            what: MisuseKind::BothOrders,
            event: self.threads[event.thread as usize].last,
            object,
            location: location(at.location),
            other: Some(held),
            earlier: Some(location(cycle.earlier)),
        };
        self.cycles.push((cycle, misuse));
    }

    /// The locks that one thread alone takes in several orders.
    pub(super) fn in_both_orders(&mut self) {
        for (cycle, misuse) in std::mem::take(&mut self.cycles) {
            if self.lock_orders.is_of_one_thread(&cycle) {
                self.misuses.push(misuse);
            }
        }
    }

    /// A thread is created: its creation is where it was to be joined or detached from.
    pub(super) fn note_creation(&mut self, event: &Event<'_>, child: u32, at: At) {
        let location = self.stacks.location(at.location).unwrap_or_default().to_owned();
        let creation = Some((self.threads[event.thread as usize].last, location));
        if let Some(child) = self.threads.get_mut(child as usize) {
            child.creation = creation;
        }
    }

    /// The program begins to end: what its other threads still do is up to the machine.
    pub(super) fn begin_to_end(&mut self) {
        self.threads.iter_mut().for_each(|thread| thread.has_ended_in_time = thread.over);
    }

    /// The threads that have ended before the program, and were neither joined nor detached.
    pub(super) fn unjoined(&mut self) {
        if !matches!(self.loaded.stop, Some(Stop::Exit(_))) {
            return;
        }
        for thread in self.threads.iter().filter(|thread| thread.has_ended_in_time) {
            if let (false, Some((event, location))) = (thread.released, &thread.creation) {
                self.misuses.push(Misuse {
                    what: MisuseKind::NotJoined,
                    event: *event,
                    object: thread.name.clone(),
                    location: location.clone(),
                    other: None,
                    earlier: None,
                });
            }
        }
    }

    /// Keeps where a thread has begun to have its accesses ignored.
    pub(super) fn note_ignoring(&mut self, event: &Event<'_>, at: At) {
        let is_ignoring = self.directives.is_ignoring(event.thread);
        let location = self.stacks.location(at.location).unwrap_or_default().to_owned();
        let thread = &mut self.threads[event.thread as usize];
        match is_ignoring {
            true => {
                thread.ignoring.get_or_insert((thread.last, location));
            }
            false => thread.ignoring = None,
        }
    }

    /// The threads that have ended and still have their accesses ignored: an end is missing.
    pub(super) fn ignoring(&mut self) {
        let has_exited = matches!(self.loaded.stop, Some(Stop::Exit(_)));
        for (number, thread) in self.threads.iter().enumerate() {
            let has_ended = thread.over || number == 0 && has_exited;
            if let (true, Some((event, location))) = (has_ended, &thread.ignoring) {
                self.misuses.push(Misuse {
                    what: MisuseKind::IgnoringAtEnd,
                    event: *event,
                    object: thread.name.clone(),
                    location: location.clone(),
                    other: None,
                    earlier: None,
                });
            }
        }
    }

    /// A thread is joined or detached.
    pub(super) fn release_thread(&mut self, child: ThreadId) {
        if let Some(thread) = self.threads.get_mut(child.0 as usize) {
            thread.released = true;
        }
    }
}
