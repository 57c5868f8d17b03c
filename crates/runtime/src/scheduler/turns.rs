//! Whose turn it is. The token goes from one thread to the next by a word of the next one's, which it looks at for a moment and then
//! sleeps on; exactly one thread has it, or nobody can run.

use core::hint;
use core::ptr;
use core::sync::atomic::Ordering;

use super::{Scheduler, scheduler};
use crate::policy::GaveUp;
use crate::replay::{Next, replay};
use crate::sys;
use crate::thread::{NEVER, State, Thread};
use crate::writer::writer;

/// How long a thread that gave the token away looks for its next turn before it sleeps.
const SPINS: u32 = 150;

impl Scheduler {
    /// Whether the thread could run now.
    pub(super) unsafe fn can_run(&self, thread: *mut Thread) -> bool {
        match (*thread).state {
            State::Ready | State::Running => true,
            State::Waiting => (*thread).deadline <= self.now,
            State::Outside | State::Finished => false,
        }
    }

    /// Who runs next, made running; null if nobody can. The lock is held.
    pub(super) unsafe fn pick(&mut self, current: *mut Thread, gave_up: GaveUp) -> *mut Thread {
        let next = match replay().next(self) {
            Next::Run(thread) => thread,
            Next::Await => ptr::null_mut(),
            Next::Choose => self.choose(current, gave_up),
        };
        if next.is_null() {
            self.running = ptr::null_mut();
            return next;
        }
        self.run(next);
        next
    }

    /// Who runs next by the policy; null if nobody can.
    unsafe fn choose(&mut self, current: *mut Thread, gave_up: GaveUp) -> *mut Thread {
        let mut found = 0;
        for index in 0..self.known_count {
            let thread = *self.threads.add(index);
            if self.can_run(thread) {
                *self.candidates.add(found) = thread;
                found += 1;
            }
        }
        match found {
            0 => self.earliest_sleeper(),
            1 => *self.candidates,
            _ => {
                let candidates = core::slice::from_raw_parts(self.candidates, found);
                candidates[self.chooser.choose(current, candidates, gave_up)]
            }
        }
    }

    /// The thread that will wake first, if nobody else can run and none may come back from outside meanwhile.
    unsafe fn earliest_sleeper(&mut self) -> *mut Thread {
        if self.outside > 0 {
            return ptr::null_mut();
        }
        let mut earliest: *mut Thread = ptr::null_mut();
        for &thread in self.known() {
            if (*thread).state == State::Waiting
                && (*thread).deadline != NEVER
                && (earliest.is_null() || (*thread).deadline < (*earliest).deadline)
            {
                earliest = thread;
            }
        }
        if !earliest.is_null() {
            self.now = self.now.max((*earliest).deadline);
            (*earliest).sleeps_out = true;
        }
        earliest
    }

    /// Gives the token to this thread. The lock is held.
    pub(crate) unsafe fn run(&mut self, thread: *mut Thread) {
        if (*thread).state == State::Waiting {
            (*thread).timed_out = true;
            self.no_longer_waits(thread);
        }
        (*thread).state = State::Running;
        self.running = thread;
        self.give_budget(thread);
        writer().switch((*thread).number);
    }

    /// Gives the token away and, if the thread may go on later, waits until it is back. The lock is held on
    /// entry and given back.
    pub(super) unsafe fn hand_over(&mut self, thread: *mut Thread, gave_up: GaveUp) {
        self.ticket += 1;
        (*thread).since = self.ticket;
        let next = self.pick(thread, gave_up);
        if next == thread {
            self.unlock();
        } else {
            let comes_back = matches!((*thread).state, State::Ready | State::Running | State::Waiting);
            if comes_back && (*thread).state == State::Running {
                (*thread).state = State::Ready;
            }
            if next.is_null() && self.outside == 0 {
                self.nobody_can_run(thread);
            }
            self.unlock();
            pass_turn(next);
            if !comes_back {
                return;
            }
            await_turn(thread);
        }
        if (*thread).sleeps_out {
            let end = (*thread).real_deadline;
            sys::sleep(end.saturating_sub(sys::now(libc::CLOCK_MONOTONIC)));
            (*thread).sleeps_out = false;
        }
    }

    /// The thread's budget is used up: someone else's turn, perhaps.
    ///
    /// # Safety
    /// The thread is the caller's and holds the token.
    #[cold]
    pub(crate) unsafe fn preempt(&mut self, thread: *mut Thread, gave_up: GaveUp) {
        self.account(thread);
        if self.known_count == 1 && !replay().is_following() {
            return self.give_budget(thread);
        }
        self.lock();
        self.hand_over(thread, gave_up);
    }

    /// Lets a new thread begin if it comes before its maker.
    ///
    /// # Safety
    /// The maker is the caller and holds the token.
    pub(crate) unsafe fn let_begin(&mut self, new: *mut Thread, maker: *mut Thread) {
        if !replay().is_following() && self.chooser.begins_at_once(&*new, &*maker) {
            self.preempt(maker, GaveUp::ToANewThread);
        }
    }

    /// Whether another thread than this one could run.
    pub(crate) unsafe fn others_can_run(&self, thread: *mut Thread) -> bool {
        self.known().iter().any(|&other| other != thread && self.can_run(other))
    }

    /// Waits until the kernel has let go of the last thread that ended: its stack is used again, and which thread
    /// gets it should not depend on time.
    pub(super) unsafe fn wait_for_the_gone(&mut self) {
        let exiting = core::mem::take(&mut self.exiting);
        if exiting == 0 || exiting == self.process {
            return;
        }
        for round in 0..2000 {
            if sys::is_gone(self.process, exiting) {
                return;
            }
            if round < 100 {
                sys::yield_now();
            } else {
                sys::sleep(50_000);
            }
        }
    }
}

/// Tells a thread that it is its turn.
///
/// # Safety
/// The thread was picked; null is nobody.
pub(crate) unsafe fn pass_turn(thread: *mut Thread) {
    if !thread.is_null() && (*thread).turn.swap(1, Ordering::Release) == 2 {
        sys::futex_wake(&(*thread).turn);
    }
}

/// Waits until it is the thread's turn: a moment awake, then asleep.
///
/// # Safety
/// The thread is the caller's.
pub(crate) unsafe fn await_turn(thread: *mut Thread) {
    let turn = &(*thread).turn;
    for _ in 0..SPINS {
        if turn.load(Ordering::Acquire) == 1 {
            break;
        }
        hint::spin_loop();
    }
    while turn.load(Ordering::Acquire) != 1 {
        let asleep = turn.compare_exchange(0, 2, Ordering::AcqRel, Ordering::Acquire) != Err(1);
        // A signal that is put off from here on makes the word 0 again, so that we do not sleep over it.
        if (*thread).pending_count.load(Ordering::Relaxed) > 0 {
            scheduler().interrupt(thread);
        }
        if asleep {
            sys::futex_wait(turn, 2, None);
        }
    }
    turn.store(0, Ordering::Relaxed);
    scheduler().wait_for_the_gone();
}
