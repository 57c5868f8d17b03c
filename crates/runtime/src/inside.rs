//! The calling thread inside the runtime, with the token: what a function that stands before a real one needs to write events, wait and wake.

use core::sync::atomic::Ordering;

use wire::{Branched, Kind, PendingAccess, Stop, Waker};

use crate::clock::Wait;
use crate::interpose::signals;
use crate::program::{self, is_active, scheduler};
use crate::schedule::{End, GaveUp, Key};
use crate::start;
use crate::sys;
use crate::thread::{self, Thread};
use crate::token::gate;
use crate::writer::{self, Mark};

/// Proves that the calling thread is inside the runtime and has the token. While it lives, functions of ours that are called go straight to
/// the real ones, and signals are put off.
///
/// It cannot be sent to another thread, since a [`Thread`] cannot be shared.
pub(crate) struct Inside(&'static Thread);

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        self.0.seat.presence.leave();
        if self.0.gated(gate::SIGNALS) {
            signals::deliver_outside(self.0);
        }
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Woken(Waker),
    TimedOut,
    /// Signals arrived and were handled.
    Interrupted,
}

/// Enters the runtime with the token, from a function that stands before a real one. None: the runtime is passive or
/// already inside, so the real function is all that is wanted.
#[inline]
pub(crate) fn enter() -> Option<Inside> {
    match thread::current() {
        Some(thread) if !thread.seat.presence.is_inside() => come_in(thread),
        Some(_) => None,
        None => enter_unknown(),
    }
}

/// Enters, and lets others run first if the thread's time is over: before anything that counts as a position.
#[inline]
pub(crate) fn enter_point() -> Option<Inside> {
    let inside = enter_visible()?;
    inside.point();
    Some(inside)
}

/// The same before an access, which is visible to observers of the thread while others run.
#[inline]
pub(crate) fn enter_access(kind: Kind, address: u64, length: u64, pc: u64) -> Option<Inside> {
    let inside = enter_visible()?;
    if inside.0.gated(gate::LOCKING) {
        inside.try_lock_again();
        return None;
    }
    inside.stop_before(kind, address, length, pc);
    Some(inside)
}

/// The number of accesses that a thread makes inside a lock before others get a turn: one of them may hold it.
const PATIENCE: u32 = 64;

/// Enters for something that counts as a position, which nothing does that a lock of a crate does inside.
#[inline]
fn enter_visible() -> Option<Inside> {
    enter().filter(|inside| !inside.0.gated(gate::HIDDEN))
}

#[cold]
fn enter_unknown() -> Option<Inside> {
    if !is_active() {
        return None;
    }
    start::attach().and_then(come_in)
}

#[inline(always)]
fn come_in(thread: &'static Thread) -> Option<Inside> {
    let reasons = thread.seat.presence.enter();
    if reasons != 0 && !pass_gate(thread) {
        thread.seat.presence.leave();
        return None;
    }
    Some(Inside(thread))
}

/// Deals with every reason to leave the hot path; whether the event is to be written or scheduled.
#[cold]
fn pass_gate(thread: &'static Thread) -> bool {
    if thread.gated(gate::PASSIVE | gate::LIBRARY) || thread.gated(gate::SHARED) && !is_itself(thread) {
        return false;
    }
    if thread.gated(gate::AWAY) {
        scheduler().come_back(thread.slot);
    }
    // SAFETY: it is inside, and has the token now.
    unsafe { Inside::borrow(thread, |inside| inside.catch_up()) };
    true
}

/// Whether the caller is this thread, and not another that shares its memory.
fn is_itself(thread: &Thread) -> bool {
    thread.kernel_id.load(Ordering::Relaxed) == sys::gettid()
}

impl Inside {
    /// What says that the thread is inside, for a thread that has come in by other ways than [`enter`].
    ///
    /// # Safety
    /// The thread is the caller's, is inside, and has the token.
    pub(crate) unsafe fn assume(thread: &'static Thread) -> Inside {
        Inside(thread)
    }

    /// Does something inside, and leaves it at that.
    ///
    /// # Safety
    /// As for [`Inside::assume`].
    pub(crate) unsafe fn borrow<R>(thread: &'static Thread, act: impl FnOnce(&Inside) -> R) -> R {
        let inside = core::mem::ManuallyDrop::new(Inside(thread));
        act(&inside)
    }

    /// The calling thread.
    #[inline(always)]
    pub(crate) fn thread(&self) -> &'static Thread {
        self.0
    }

    /// Handles signals that were put off.
    fn catch_up(&self) {
        if self.0.gated(gate::SIGNALS) {
            signals::deliver(self);
        }
    }

    /// Lets others run if the thread's time is over.
    #[inline(always)]
    pub(crate) fn point(&self) {
        if self.0.budget.load(Ordering::Relaxed) <= 0 {
            self.preempt(GaveUp::Quantum, None);
        }
    }

    /// Lets others run if the thread's time is over; what it is about to do is kept for observers.
    #[inline]
    pub(crate) fn stop_before(&self, kind: Kind, address: u64, length: u64, pc: u64) {
        if self.0.budget.load(Ordering::Relaxed) <= 0 {
            self.preempt(GaveUp::Quantum, Some(PendingAccess { kind, address, length, pc }));
        }
    }

    /// Someone else's turn, perhaps.
    #[cold]
    pub(crate) fn preempt(&self, gave_up: GaveUp, pending: Option<PendingAccess>) {
        // Inside a lock of a crate there are no positions to stop at, and who spins there parks after a few rounds: a schedule that wants the
        // thread to wait must not find it yielding.
        if self.0.gated(gate::HIDDEN) {
            return;
        }
        self.account();
        scheduler().preempt(self.0.slot, gave_up, pending);
    }

    /// An access inside a lock that the program announces. It is no position: how many there are depends on who holds the lock, and the positions
    /// of a thread must not.
    #[cold]
    fn try_lock_again(&self) {
        let tries = self.0.tries.get().wrapping_add(1);
        self.0.tries.set(tries);
        if tries.is_multiple_of(PATIENCE) {
            self.preempt(GaveUp::Yielding, None);
        }
    }

    /// Counts what the thread has done, and sees to the log's limits.
    fn account(&self) {
        let is_over = scheduler().with_lock(|schedule, program| {
            schedule.count(self.0.slot, program);
            schedule.is_over_limit()
        });
        start::refresh_modules(self);
        // SAFETY: the thread has the token.
        unsafe { writer::with(|writer| writer.cut_run()) };
        if is_over && !writer::is_closed() {
            // SAFETY: as above.
            unsafe { writer::stop(Some(self.0), Stop::Limit) };
            program::quieten();
        }
    }

    /// Writes an event of a simple kind.
    #[inline(always)]
    pub(crate) fn simple(&self, kind: Kind, pc: u64, address: u64) {
        if kind.is_schedulable() {
            if self.0.gated(gate::HIDDEN) {
                return;
            }
            self.spend();
        }
        if !self.0.gated(gate::QUIET) {
            // SAFETY: the thread has the token.
            unsafe { writer::predicted_or_written(self.0, kind, pc, address) };
        }
    }

    /// Writes an event with arguments.
    pub(crate) fn detailed(&self, kind: Kind, pc: u64, address: u64, arguments: &[u64], text: &[u8]) {
        if kind.is_schedulable() {
            if self.0.gated(gate::HIDDEN) {
                return;
            }
            self.spend();
        }
        let branched = thread::take_branched();
        // SAFETY: the thread has the token; the log does not come back to the predictor.
        unsafe {
            self.0.with_predictor(|_, context| {
                writer::with(|writer| {
                    if branched == Branched::YES {
                        writer.detailed(context, Kind::Branches, (0, 0), &[1], b"");
                    }
                    writer.detailed(context, kind, (pc, address), arguments, text);
                });
            });
        }
    }

    /// One schedulable event less to perform.
    #[inline(always)]
    fn spend(&self) {
        let budget = &self.0.budget;
        budget.store(budget.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    /// Ends the run of predicted events if it gets long.
    pub(crate) fn cut_run(&self) {
        // SAFETY: the thread has the token.
        unsafe { writer::with(|writer| writer.cut_run()) };
    }

    /// Writes why nothing more will come, unless it is taken back.
    pub(crate) fn announce(&self, reason: Stop) -> Option<Mark> {
        // SAFETY: the thread has the token; the log does not come back to the predictor.
        unsafe { self.0.with_predictor(|_, context| writer::with(|writer| writer.announce(context, reason))) }
    }

    /// Goes on with the log as it was before the announcement.
    pub(crate) fn take_back(&self, mark: Option<Mark>) {
        let Some(mark) = mark else { return };
        // SAFETY: as for `announce`.
        unsafe { self.0.with_predictor(|_, context| writer::with(|writer| writer.take_back(context, mark))) };
    }

    /// The virtual time.
    pub(crate) fn now(&self) -> u64 {
        scheduler().with_lock(|schedule, program| schedule.now(self.0.slot, program))
    }

    /// When a wait that starts now ends.
    pub(crate) fn end_of(&self, wait: Wait) -> End {
        self.account();
        scheduler().with_lock(|schedule, program| {
            schedule.give_budget(self.0.slot, program);
            End { virtual_time: wait.end(schedule.now(self.0.slot, program)), real_time: wait.real_end() }
        })
    }

    /// Waits for a wake-up of the key, not longer than asked for. Signals that arrive meanwhile are handled before
    /// this returns.
    pub(crate) fn block(&self, key: Key, end: End) -> Ended {
        self.account();
        let resumed = scheduler().wait(self.0.slot, key, end);
        if resumed.timed_out {
            Ended::TimedOut
        } else if signals::deliver(self) {
            Ended::Interrupted
        } else {
            Ended::Woken(resumed.woken)
        }
    }

    /// The same at a place in the program; the log says what a wait without a time limit is for.
    pub(crate) fn block_at(&self, key: Key, end: End, pc: u64) -> Ended {
        if !end.is_never() {
            return self.block(key, end);
        }
        self.simple(Kind::Awaits, pc, key.to_address());
        let ended = self.block(key, end);
        self.simple(Kind::Awaits, pc, 0);
        ended
    }

    /// Makes everyone who waits for the object at this address ready.
    #[inline]
    pub(crate) fn wake_all(&self, address: u64, by: Waker) {
        scheduler().wake_all(Key::address(address), by);
    }

    /// Makes one of those who wait for the object at this address ready.
    pub(crate) fn wake_one(&self, address: u64, by: Waker) {
        scheduler().wake_one(Key::address(address), by);
    }

    /// How many threads wait for the object at this address.
    pub(crate) fn waiters(&self, address: u64) -> usize {
        scheduler().waiters(Key::address(address))
    }

    /// Gives the token up: the thread is about to block outside, until this virtual time at the latest. It has it again when it next enters.
    pub(crate) fn leave(self, end: u64) {
        self.account();
        scheduler().leave(self.0.slot, end);
    }

    /// The thread has ended. Its memory may be another thread's afterwards.
    pub(crate) fn finish(self) {
        let thread = self.0;
        self.simple(Kind::End, thread.start(), 0);
        self.account();
        core::mem::forget(self);
        program::set_exiting(thread.kernel_id.load(Ordering::Relaxed));
        scheduler().finish(thread.slot, thread.detached.get());
    }
}
