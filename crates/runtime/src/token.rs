//! The words through which threads hand the token to each other, and through which the watchdog takes it away.
//!
//! - [`Lock`] guards the schedule. It is held for a few instructions, so who wants it spins.
//! - [`Turn`] is a thread's own word. Who gives the thread the token sets it; the thread looks at it for a moment, then sleeps on it.
//! - [`Presence`] says whether a thread is inside the runtime, and what it must see to when it comes in. The watchdog takes the token
//!   only from a thread that is not inside.
//!
//! All of it is generic over the [`Machine`], so that the models in `token/model.rs` check this very code, with loom's words and threads in
//! place of the processor's and the kernel's.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

#[cfg(test)]
mod handler;
#[cfg(test)]
mod model;

/// A word that threads share: the processor's or a model's.
pub(crate) trait Word {
    fn load(&self, order: Ordering) -> u32;
    fn store(&self, value: u32, order: Ordering);
    fn swap(&self, value: u32, order: Ordering) -> u32;
    fn compare_exchange(&self, old: u32, new: u32, success: Ordering, failure: Ordering) -> Result<u32, u32>;
    fn fetch_or(&self, bits: u32, order: Ordering) -> u32;
    fn fetch_and(&self, bits: u32, order: Ordering) -> u32;
}

/// A place that threads share under a lock.
pub(crate) trait Shared<T> {
    /// Calls this with the place. The pointer is good until it returns; whether it may be used is the caller's affair.
    fn with<R>(&self, act: impl FnOnce(*mut T) -> R) -> R;
}

/// How threads wait for and see each other.
pub(crate) trait Machine {
    type Word: Word;
    type Cell<T>: Shared<T>;
    /// How often a thread that gave the token away looks for its next turn before it sleeps.
    const SPINS: u32;
    /// Sleeps while the word has this value. May return for no reason.
    fn sleep_while(word: &Self::Word, value: u32);
    /// Wakes who sleeps on the word.
    fn wake(word: &Self::Word);
    /// Waits awake for an instant.
    fn pause();
    /// Waits for a moment, in this round, before a lock that is taken is tried again.
    fn contend(lock: &Self::Word, round: u32);
    /// The lock is given back. Real machines have nothing to do: who wants it tries again by itself.
    fn uncontend(_lock: &Self::Word) {}
    /// Half of a fence, for the side that passes often: it holds against [`Machine::heavy_fence`] only.
    fn light_fence();
    /// The other half: a fence in this thread, and in every other one that runs.
    fn heavy_fence();
}

/// A lock that is held for a few instructions.
pub(crate) struct Lock<M: Machine>(pub(crate) M::Word);

impl<M: Machine> Lock<M> {
    /// Takes the lock until the guard goes.
    pub(crate) fn take(&self) -> Guard<'_, M> {
        let mut round = 0u32;
        while self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            round += 1;
            M::contend(&self.0, round);
        }
        Guard(self)
    }

    /// Releases the lock, whichever thread holds it.
    #[cfg(not(test))]
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// The lock is taken.
pub(crate) struct Guard<'a, M: Machine>(&'a Lock<M>);

impl<M: Machine> Drop for Guard<'_, M> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Release);
        M::uncontend(&self.0.0);
    }
}

/// Whether it is a thread's turn.
pub(crate) struct Turn<M: Machine>(pub(crate) M::Word);

/// Not the thread's turn.
const NO: u32 = 0;
/// The thread's turn.
const YES: u32 = 1;
/// Not the thread's turn, and it sleeps or is about to.
const ASLEEP: u32 = 2;

impl<M: Machine> Turn<M> {
    /// Says that it is the thread's turn: what was done before is visible to it. Called by the thread that has made it the running one.
    pub(crate) fn give(&self) {
        if self.0.swap(YES, Ordering::Release) == ASLEEP {
            M::wake(&self.0);
        }
    }

    /// The thread has given itself the turn.
    pub(crate) fn take_over(&self) {
        self.0.store(YES, Ordering::Relaxed);
    }

    /// Waits for the thread's turn: a moment awake, then asleep. `look` is called each time before the thread falls asleep.
    pub(crate) fn wait(&self, mut look: impl FnMut()) {
        for _ in 0..M::SPINS {
            if self.0.load(Ordering::Acquire) == YES {
                break;
            }
            M::pause();
        }
        while self.0.load(Ordering::Acquire) != YES {
            let sleeps = self.0.compare_exchange(NO, ASLEEP, Ordering::AcqRel, Ordering::Acquire) != Err(YES);
            // What is to be looked at from here on comes with a call of `rouse`, so that we do not sleep over it.
            look();
            if sleeps {
                M::sleep_while(&self.0, ASLEEP);
            }
        }
        self.0.store(NO, Ordering::Relaxed);
    }

    /// Has the thread look again before it sleeps. By a signal handler on the thread itself, which may be about to.
    pub(crate) fn rouse(&self) {
        let _ = self.0.compare_exchange(ASLEEP, NO, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Reasons for a hook to leave the hot path.
pub(crate) mod gate {
    /// The thread runs without the token, which it gave up or the watchdog took away.
    pub(crate) const AWAY: u32 = 1;
    /// Nothing is written any more; the scheduler goes on.
    pub(crate) const QUIET: u32 = 4;
    /// Signals arrived inside the runtime.
    pub(crate) const SIGNALS: u32 = 8;
    /// The thread has ended, or the program is past its end: hooks return at once.
    pub(crate) const PASSIVE: u32 = 16;
    /// A process was made that shares the thread's memory, this value included.
    pub(crate) const SHARED: u32 = 32;
    /// The thread is in a library that synchronises out of our sight: hooks return at once until it is back.
    pub(crate) const LIBRARY: u32 = 64;
    /// The thread is inside a lock of a crate: what it does there is not seen, but its waits are scheduled.
    pub(crate) const HIDDEN: u32 = 128;
    /// The thread is inside a lock that the program announces: how often it tries there is not seen, but everything else is.
    pub(crate) const LOCKING: u32 = 256;
}

/// Whether a thread is inside the runtime, and its reasons to leave the hot path.
pub(crate) struct Presence<M: Machine> {
    pub(crate) inside: M::Word,
    pub(crate) gate: M::Word,
}

impl<M: Machine> Presence<M> {
    /// The thread comes in; the reasons to leave the hot path.
    #[inline(always)]
    pub(crate) fn enter(&self) -> u32 {
        self.inside.store(1, Ordering::Relaxed);
        M::light_fence();
        self.gate.load(Ordering::Relaxed)
    }

    /// The thread goes out. A thread that finds it outside sees what it did inside.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        self.inside.store(0, Ordering::Release);
    }

    /// Whether the thread is inside, as it sees it itself.
    #[inline(always)]
    pub(crate) fn is_inside(&self) -> bool {
        self.inside.load(Ordering::Relaxed) != 0
    }

    /// Whether any of these reasons to leave the hot path holds.
    #[inline(always)]
    pub(crate) fn has(&self, reasons: u32) -> bool {
        self.gate.load(Ordering::Relaxed) & reasons != 0
    }

    /// Adds reasons to leave the hot path.
    pub(crate) fn add(&self, reasons: u32) {
        self.gate.fetch_or(reasons, Ordering::Relaxed);
    }

    /// Takes reasons away.
    pub(crate) fn remove(&self, reasons: u32) {
        self.gate.fetch_and(!reasons, Ordering::Relaxed);
    }

    /// Shuts the thread, which has the token, out, unless it is inside or has made progress; whether it is out. By the watchdog. After
    /// the fence the thread sees the gate when it comes in, or we see it inside, or what it did while it was.
    pub(crate) fn shut_out(&self, has_progressed: impl FnOnce() -> bool) -> bool {
        self.gate.fetch_or(gate::AWAY, Ordering::SeqCst);
        M::heavy_fence();
        let is_inside = self.inside.load(Ordering::SeqCst) != 0;
        if is_inside || has_progressed() {
            self.gate.fetch_and(!gate::AWAY, Ordering::SeqCst);
            return false;
        }
        true
    }
}

/// The words of a thread that others look at.
pub(crate) struct Seat<M: Machine> {
    pub(crate) presence: Presence<M>,
    pub(crate) turn: Turn<M>,
}

impl Word for AtomicU32 {
    #[inline(always)]
    fn load(&self, order: Ordering) -> u32 {
        self.load(order)
    }

    #[inline(always)]
    fn store(&self, value: u32, order: Ordering) {
        self.store(value, order);
    }

    #[inline(always)]
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.swap(value, order)
    }

    #[inline(always)]
    fn compare_exchange(&self, old: u32, new: u32, success: Ordering, failure: Ordering) -> Result<u32, u32> {
        self.compare_exchange(old, new, success, failure)
    }

    #[inline(always)]
    fn fetch_or(&self, bits: u32, order: Ordering) -> u32 {
        self.fetch_or(bits, order)
    }

    #[inline(always)]
    fn fetch_and(&self, bits: u32, order: Ordering) -> u32 {
        self.fetch_and(bits, order)
    }
}

/// A place without checks.
pub(crate) struct Plain<T>(pub(crate) UnsafeCell<T>);

impl<T> Shared<T> for Plain<T> {
    fn with<R>(&self, act: impl FnOnce(*mut T) -> R) -> R {
        act(self.0.get())
    }
}
