//! Threads without a turn: those in a call that blocks in the outside world, those the watchdog found stuck there, and those that have
//! ended.

use core::ptr;
use core::sync::atomic::Ordering;

use wire::{Kind, Waker};

use super::Scheduler;
use super::turns::{await_turn, pass_turn};
use crate::policy::GaveUp;
use crate::replay::replay;
use crate::sys;
use crate::thread::{State, Thread, gate};
use crate::writer;

impl Scheduler {
    /// Lets others run while the thread is in a call that may block.
    ///
    /// # Safety
    /// The thread is the caller's and holds the token.
    pub(crate) unsafe fn leave(&mut self, thread: *mut Thread) {
        self.account(thread);
        self.lock();
        (*thread).gate.fetch_or(gate::STOLEN, Ordering::Relaxed);
        (*thread).state = State::Outside;
        self.outside += 1;
        self.hand_over(thread, GaveUp::Willingly);
    }

    /// Takes the token back after [`Scheduler::leave`], or after the watchdog took it away.
    ///
    /// # Safety
    /// The thread is the caller's.
    #[cold]
    pub(crate) unsafe fn come_back(&mut self, thread: *mut Thread) {
        self.lock();
        (*thread).gate.fetch_and(!gate::STOLEN, Ordering::Relaxed);
        if (*thread).state != State::Outside {
            return self.unlock();
        }
        self.outside -= 1;
        (*thread).state = State::Ready;
        self.ticket += 1;
        (*thread).since = self.ticket;
        if !self.running.is_null() {
            self.unlock();
            return await_turn(thread);
        }
        let next = if replay().is_following() {
            self.pick(thread, GaveUp::Willingly)
        } else {
            self.run(thread);
            thread
        };
        self.unlock();
        if next == thread {
            return self.wait_for_the_gone();
        }
        pass_turn(next);
        await_turn(thread);
    }

    /// Lets virtual time pass as real time has for those who sleep: no events make it pass. The lock is held.
    pub(crate) unsafe fn catch_up(&mut self) {
        let real = sys::now(libc::CLOCK_MONOTONIC);
        for index in 0..self.known_count {
            let thread = *self.threads.add(index);
            if (*thread).state == State::Waiting && (*thread).real_deadline <= real {
                self.now = self.now.max((*thread).deadline);
            }
        }
    }

    /// Takes the token from a thread that is stuck outside our sight. The lock is held; returns who must be told.
    pub(crate) unsafe fn take_away(&mut self, thread: *mut Thread) -> *mut Thread {
        (*thread).state = State::Outside;
        self.outside += 1;
        self.pick(thread, GaveUp::Willingly)
    }

    /// Gives the token to anyone who can run, as long as nobody has it: by the watchdog. The lock is held; returns
    /// who must be told.
    pub(crate) unsafe fn pick_for_nobody(&mut self) -> *mut Thread {
        self.catch_up();
        if replay().is_following() || self.known().iter().any(|&thread| self.can_run(thread)) {
            self.pick(ptr::null_mut(), GaveUp::Willingly)
        } else {
            ptr::null_mut()
        }
    }

    /// The calling thread has ended.
    ///
    /// # Safety
    /// The thread is the caller's, holds the token, and makes no event any more.
    pub(crate) unsafe fn finish(&mut self, thread: *mut Thread) {
        writer::simple(thread, Kind::End, (*thread).start(), 0);
        self.account(thread);
        let detached = (*thread).detached;
        let kernel_id = (*thread).kernel_id.load(Ordering::Relaxed);
        self.wake_all(thread as u64, Waker::Signal);
        replay().ended(thread);
        (*thread).state = State::Finished;
        if detached {
            self.forget(thread);
        }
        self.exiting = kernel_id;
        self.lock();
        let next = self.pick(thread, GaveUp::Willingly);
        if next.is_null() && self.outside == 0 {
            self.nobody_can_run(ptr::null_mut());
        }
        self.unlock();
        pass_turn(next);
    }
}
