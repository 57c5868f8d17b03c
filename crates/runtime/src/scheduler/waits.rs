//! Who waits for what: an address, until a wake-up, a deadline or a signal. If everybody waits and nothing can change that, it is a
//! deadlock.

use core::sync::atomic::Ordering;

use wire::{Stop, Waker};

use super::Scheduler;
use crate::clock::{End, Wait};
use crate::interpose::signals;
use crate::policy::GaveUp;
use crate::replay::replay;
use crate::sys;
use crate::thread::{NEVER, State, Thread};
use crate::writer::writer;

/// The exit status of a program that was ended because no thread could go on.
const DEADLOCK_STATUS: i32 = 99;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Woken,
    TimedOut,
    /// Signals arrived and were handled.
    Interrupted,
}

impl Scheduler {
    pub(super) unsafe fn no_longer_waits(&mut self, thread: *mut Thread) {
        if (*thread).key != 0 {
            self.waiting[slot((*thread).key)] -= 1;
        }
        (*thread).key = 0;
        (*thread).deadline = NEVER;
    }

    unsafe fn make_ready(&mut self, thread: *mut Thread) {
        self.no_longer_waits(thread);
        (*thread).state = State::Ready;
        self.ticket += 1;
        (*thread).since = self.ticket;
    }

    /// Waits for a wake-up on the key, not longer than asked for. Signals that arrive meanwhile are handled before
    /// this returns.
    ///
    /// # Safety
    /// The thread is the caller's and holds the token.
    pub(crate) unsafe fn block(&mut self, thread: *mut Thread, key: u64, end: End) -> Ended {
        self.account(thread);
        self.lock();
        (*thread).state = State::Waiting;
        (*thread).timed_out = false;
        (*thread).key = key;
        if key != 0 {
            self.waiting[slot(key)] += 1;
        }
        (*thread).deadline = end.virtual_time;
        (*thread).real_deadline = end.real_time;
        self.hand_over(thread, GaveUp::Willingly);
        if (*thread).timed_out {
            Ended::TimedOut
        } else if signals::deliver(thread) {
            Ended::Interrupted
        } else {
            Ended::Woken
        }
    }

    /// When a wait that starts now ends.
    pub(crate) unsafe fn end_of(&mut self, thread: *mut Thread, wait: Wait) -> End {
        self.account(thread);
        self.give_budget(thread);
        End { virtual_time: self.now.saturating_add(wait.length), real_time: wait.real_end }
    }

    /// Makes everyone who waits for this key ready.
    ///
    /// # Safety
    /// By the holder of the token.
    pub(crate) unsafe fn wake_all(&mut self, key: u64, by: Waker) {
        if self.waiting[slot(key)] == 0 {
            return;
        }
        self.lock();
        for index in 0..self.known_count {
            let thread = *self.threads.add(index);
            if (*thread).state == State::Waiting && (*thread).key == key {
                (*thread).woken = by;
                self.make_ready(thread);
            }
        }
        self.unlock();
    }

    /// Makes one of those who wait for this key ready.
    ///
    /// # Safety
    /// By the holder of the token.
    pub(crate) unsafe fn wake_one(&mut self, key: u64, by: Waker) {
        if self.waiting[slot(key)] == 0 {
            return;
        }
        self.lock();
        let found = self.gather_waiters(key);
        if found > 0 {
            let waiters = core::slice::from_raw_parts(self.candidates, found);
            let wanted = replay().waiter(waiters);
            let thread = waiters[wanted.unwrap_or_else(|| self.chooser.choose_waiter(waiters))];
            (*thread).woken = by;
            self.make_ready(thread);
        }
        self.unlock();
    }

    unsafe fn gather_waiters(&mut self, key: u64) -> usize {
        let mut found = 0;
        for index in 0..self.known_count {
            let thread = *self.threads.add(index);
            if (*thread).state == State::Waiting && (*thread).key == key {
                *self.candidates.add(found) = thread;
                found += 1;
            }
        }
        found
    }

    /// How many threads wait for this key.
    ///
    /// # Safety
    /// By the holder of the token.
    pub(crate) unsafe fn waiters(&mut self, key: u64) -> usize {
        if self.waiting[slot(key)] == 0 {
            return 0;
        }
        self.lock();
        let found = self.gather_waiters(key);
        self.unlock();
        found
    }

    /// Makes a waiting thread ready, for no reason of its own.
    ///
    /// # Safety
    /// By the holder of the token.
    pub(crate) unsafe fn rouse(&mut self, thread: *mut Thread) {
        self.lock();
        if (*thread).state == State::Waiting {
            self.make_ready(thread);
            (*thread).woken = Waker::Spurious;
        }
        self.unlock();
    }

    /// Another thread asked a waiting thread to look at its signals.
    ///
    /// # Safety
    /// The thread is the caller's, and waits for its turn.
    pub(super) unsafe fn interrupt(&mut self, thread: *mut Thread) {
        self.lock();
        if (*thread).state == State::Waiting {
            self.make_ready(thread);
            (*thread).woken = Waker::Spurious;
            if self.running.is_null() && !replay().is_following() {
                self.run(thread);
                (*thread).turn.store(1, Ordering::Relaxed);
            }
        }
        self.unlock();
    }

    /// No thread can go on. A handler of a signal may still change that; otherwise it is a deadlock.
    pub(super) unsafe fn nobody_can_run(&mut self, thread: *mut Thread) {
        if self.someone_waits() && !signals::may_arrive() {
            self.deadlock(thread);
        }
    }

    /// Whether any thread waits.
    pub(crate) unsafe fn someone_waits(&self) -> bool {
        self.known().iter().any(|&known| (*known).state == State::Waiting)
    }

    /// Ends the log, and the program if that is wanted.
    pub(crate) unsafe fn deadlock(&mut self, thread: *mut Thread) {
        writer().stop(thread, Stop::Deadlock);
        if self.settings.stop_at_deadlock {
            sys::exit_group(DEADLOCK_STATUS);
        }
    }
}

fn slot(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize
}
