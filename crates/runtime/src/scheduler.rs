//! The token: one thread at a time has it. This is the scheduler's machinery: it keeps the [`Schedule`], which decides, behind a lock, and
//! does what was decided: it passes the token on, puts threads to sleep and wakes them.
//!
//! # Who may do what
//!
//! The schedule is changed under the lock alone ([`Scheduler::with_lock`]): by the holder of the token, by a thread that comes back from
//! outside, or by the watchdog. No reference to it leaves the lock. What the holder of the token reads without the lock is in the
//! [`UnlockedView`]. A thread's other data are its own; see [`crate::thread`].
//!
//! The scheduler is generic over the [`Machine`] and the [`World`], so that models and tests run this very code.

#[cfg(test)]
mod tests;

use wire::{PendingAccess, Waker};

use crate::schedule::{End, GaveUp, Key, Resumed, Return, Schedule, Sleep, Slot, UnlockedView, World};
use crate::token::{Lock, Machine, Seat, Shared, gate};

/// What a scheduler runs on.
pub(crate) trait Platform: Machine + World + Sized {
    /// The words of this thread.
    fn seat(&self, thread: Slot) -> &Seat<Self>;
    /// Whether signals wait to be handled by this thread, which is the caller.
    fn has_signals(&self, thread: Slot) -> bool;
    /// The calling thread has got the token from another thread.
    fn arrive(&self);
    /// The thread, which is the caller, sleeps. After how many nanoseconds signals interrupted it, if they did.
    fn sleep(&self, thread: Slot, sleep: Sleep) -> Option<u64>;
}

/// The scheduler of a process.
pub(crate) struct Scheduler<P: Platform> {
    pub(crate) platform: P,
    pub(crate) lock: Lock<P>,
    pub(crate) schedule: P::Cell<Schedule>,
    pub(crate) unlocked_view: &'static UnlockedView,
}

// SAFETY: `platform` and `lock` are made of shared words; `schedule` is used under the lock alone, and what it points to is its own.
unsafe impl<P: Platform + Sync> Sync for Scheduler<P> where P::Word: Sync {}
// SAFETY: nothing in it belongs to the thread that made it.
unsafe impl<P: Platform + Send> Send for Scheduler<P> where P::Word: Send {}

impl<P: Platform> Scheduler<P> {
    /// Looks at the schedule or changes it. Must not be called from inside itself.
    pub(crate) fn with_lock<R>(&self, act: impl FnOnce(&mut Schedule, &P) -> R) -> R {
        let _guard = self.lock.take();
        // SAFETY: the lock is held, and this is the only place that makes a reference to the schedule.
        self.schedule.with(|schedule| act(unsafe { &mut *schedule }, &self.platform))
    }

    /// Tells a thread that it is its turn.
    pub(crate) fn pass(&self, next: Option<Slot>) {
        if let Some(next) = next {
            self.platform.seat(next).turn.give();
        }
    }

    /// Waits until it is the calling thread's turn.
    pub(crate) fn await_turn(&self, thread: Slot) {
        self.platform.seat(thread).turn.wait(|| {
            if self.platform.has_signals(thread) {
                self.interrupt(thread);
            }
        });
        self.platform.arrive();
    }

    /// The calling thread, which waits in the scheduler, has signals to handle.
    fn interrupt(&self, thread: Slot) {
        self.with_lock(|schedule, platform| {
            if schedule.interrupt(thread, platform) {
                platform.seat(thread).turn.take_over();
            }
        });
    }

    /// Gives the token up, in whatever state this leaves the thread in, and waits until it is back if the thread may go on later.
    fn hand_over(&self, thread: Slot, gave_up: GaveUp, change: impl FnOnce(&mut Schedule, &P)) {
        let decision = self.with_lock(|schedule, platform| {
            change(schedule, platform);
            schedule.give_up(thread, gave_up, platform)
        });
        self.pass_and_wait(thread, decision);
    }

    /// Does what was decided about the token of the calling thread: who has it next, and whether the thread waits for it.
    fn pass_and_wait(&self, thread: Slot, (next, comes_back): (Option<Slot>, bool)) {
        if next != Some(thread) {
            self.pass(next);
            if comes_back {
                self.await_turn(thread);
            }
        }
    }

    /// The budget of the calling thread, which has the token, is used up: someone else's turn, perhaps. What it is about to do, if that
    /// is known, is kept for observers of the thread.
    pub(crate) fn preempt(&self, thread: Slot, gave_up: GaveUp, pending: Option<PendingAccess>) {
        let decision = self.with_lock(|schedule, platform| {
            schedule.count(thread, platform);
            if let Some(pending) = pending {
                schedule.stop_before(thread, pending, platform);
            }
            if schedule.goes_on(thread, platform) {
                return (Some(thread), true);
            }
            schedule.give_up(thread, gave_up, platform)
        });
        self.pass_and_wait(thread, decision);
    }

    /// Waits for a wake-up of the key, not longer than asked for. The calling thread has the token, before and after.
    pub(crate) fn wait(&self, thread: Slot, key: Key, end: End) -> Resumed {
        self.hand_over(thread, GaveUp::Willingly, |schedule, platform| {
            schedule.count(thread, platform);
            schedule.wait(thread, key, end);
        });
        let mut resumed = self.with_lock(|schedule, _| schedule.resume(thread));
        if let Some(sleep) = resumed.sleep {
            let interrupted_after = self.platform.sleep(thread, sleep);
            self.with_lock(|schedule, _| schedule.has_slept(sleep, interrupted_after));
            resumed.timed_out = interrupted_after.is_none();
        }
        resumed
    }

    /// Makes everyone who waits for this key ready. By the holder of the token.
    pub(crate) fn wake_all(&self, key: Key, by: Waker) {
        if self.unlocked_view.may_wait(key) {
            self.with_lock(|schedule, _| schedule.wake_all(key, by));
        }
    }

    /// Makes one of those who wait for this key ready. By the holder of the token.
    pub(crate) fn wake_one(&self, key: Key, by: Waker) {
        if self.unlocked_view.may_wait(key) {
            self.with_lock(|schedule, _| schedule.wake_one(key, by));
        }
    }

    /// How many threads wait for this key. By the holder of the token.
    pub(crate) fn waiters(&self, key: Key) -> usize {
        if self.unlocked_view.may_wait(key) { self.with_lock(|schedule, _| schedule.waiters(key)) } else { 0 }
    }

    /// The calling thread, which has the token, goes on without it: it is about to block outside, until this time at the latest.
    pub(crate) fn leave(&self, thread: Slot, end: u64) {
        self.hand_over(thread, GaveUp::Willingly, |schedule, platform| {
            schedule.count(thread, platform);
            platform.seat(thread).presence.add(gate::AWAY);
            schedule.leave(thread, end);
        });
    }

    /// The calling thread, which ran without the token, waits until it has it.
    #[cold]
    pub(crate) fn come_back(&self, thread: Slot) {
        let found = self.with_lock(|schedule, platform| {
            platform.seat(thread).presence.remove(gate::AWAY);
            schedule.come_back(thread, platform)
        });
        match found {
            Return::WasHere => {}
            Return::Waits => self.await_turn(thread),
            Return::Next(next) if next == Some(thread) => self.platform.arrive(),
            Return::Next(next) => {
                self.pass(next);
                self.await_turn(thread);
            }
        }
    }

    /// Takes the token from its holder, which is stuck outside our sight, if others can run and the holder is not inside the runtime and
    /// has not made progress after all. It is stuck since this real time. By the watchdog.
    pub(crate) fn take_away(&self, holder: Slot, since: u64, has_progressed: impl FnOnce() -> bool) {
        let next = self.with_lock(|schedule, platform| {
            if schedule.running() != Some(holder) {
                return None;
            }
            schedule.pass_while_stuck(since, platform);
            let takes =
                schedule.others_can_run(holder) && platform.seat(holder).presence.shut_out(has_progressed);
            if takes { schedule.take_away(holder, platform) } else { None }
        });
        self.pass(next);
    }

    /// A thread that had the token ended without a word, if it is still the one in its slot. By the watchdog.
    pub(crate) fn bury(&self, holder: Slot, is_same: impl FnOnce() -> bool) {
        let next = self.with_lock(|schedule, platform| {
            if schedule.running() != Some(holder) || !is_same() {
                return None;
            }
            schedule.catch_up(platform);
            schedule.wake_all(Key::end_of(holder), Waker::Signal);
            schedule.finish(holder, false, platform)
        });
        self.pass(next);
    }

    /// The calling thread, which has the token, has performed its last event. Its slot may be another thread's when this returns.
    pub(crate) fn finish(&self, thread: Slot, is_detached: bool) {
        let next = self.with_lock(|schedule, platform| {
            schedule.count(thread, platform);
            schedule.wake_all(Key::end_of(thread), Waker::Signal);
            schedule.finish(thread, is_detached, platform)
        });
        self.pass(next);
    }
}
