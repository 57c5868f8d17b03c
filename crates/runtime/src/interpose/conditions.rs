//! Condition variables, implemented in the scheduler: no thread waits on the real one, unless it is shared
//! between processes.

use core::ffi::c_int;

use wire::{Kind, Waker};

use super::lifetimes::enter_use;
use super::mutexes::{self, Lock, Patience};
use super::{hook, log_limited, outside_limited, threads};
use crate::clock::{self, Wait};
use crate::inside::Ended;
use crate::real::real;
use crate::schedule::{End, Key};

/// What is known of glibc's condition variable on x86-64.
#[repr(C)]
pub(crate) struct Condition {
    _state: [u32; 9],
    flags: u32,
}

const FLAG_SHARED: u32 = 1;
const FLAG_MONOTONIC: u32 = 2;

pub(crate) type Cond = *mut Condition;
type Time = *const libc::timespec;

/// Until when to wait.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    None,
    /// By the condition variable's own clock.
    Own(Time),
    Clock(c_int, Time),
}

/// The clock that time limits are of, unless another is named.
///
/// # Safety
/// The condition variable is one.
unsafe fn own_clock(condition: Cond) -> c_int {
    // SAFETY: the condition variable is one.
    let is_monotonic = unsafe { (*condition).flags } & FLAG_MONOTONIC != 0;
    if is_monotonic { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

/// # Safety
/// The condition variable and the mutex are ones, and the time limit, if any, is a `timespec`'s.
unsafe fn really_wait(condition: Cond, mutex: Lock, limit: Limit) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    match limit {
        Limit::None => real!(pthread_cond_wait(condition => Cond, mutex => Lock) -> c_int),
        Limit::Own(time) => {
            let time = clock::by_machine(own_clock(condition), time);
            real!(pthread_cond_timedwait(condition => Cond, mutex => Lock, &raw const time => Time) -> c_int)
        }
        Limit::Clock(clock, time) => {
            let time = clock::by_machine(clock, time);
            real!(pthread_cond_clockwait(
                condition => Cond, mutex => Lock, clock => c_int, &raw const time => Time
            ) -> c_int)
        }
    }
}
}

/// Waits for the condition variable.
///
/// # Safety
/// As for [`really_wait`].
pub(crate) unsafe fn wait(condition: Cond, mutex: Lock, limit: Limit, pc: u64) -> c_int {
// SAFETY: the condition variable, the mutex and the time are what this function's contract says.
unsafe {
    let Some(inside) = enter_use(condition as u64, pc) else { return really_wait(condition, mutex, limit) };
    let time = match limit {
        Limit::None => None,
        Limit::Own(time) => Some(Wait::until(own_clock(condition), time)),
        Limit::Clock(clock, time) => Some(Wait::until(clock, time)),
    };
    if (*condition).flags & FLAG_SHARED != 0 {
        let really = || really_wait(condition, mutex, limit);
        return outside_limited(inside, time.flatten(), really, |&result| result == libc::ETIMEDOUT);
    }
    let end = match time {
        None => End::NEVER,
        Some(None) => return libc::EINVAL,
        Some(Some(time)) => inside.end_of(time),
    };
    let result = mutexes::unlock_to_wait(&inside, mutex);
    if result != 0 {
        return result;
    }
    if !end.is_never() {
        log_limited(&inside, pc);
    }
    inside.detailed(Kind::Wait, pc, condition as u64, &[mutex as u64], b"");
    let ended = inside.block_at(Key::address(condition as u64), end, pc);
    let by = match ended {
        Ended::TimedOut => Waker::Timeout,
        Ended::Interrupted => Waker::Spurious,
        Ended::Woken(by) => by,
    };
    inside.detailed(Kind::Woken, pc, condition as u64, &[by.code()], b"");
    inside.point();
    let result = mutexes::take(&inside, mutex, Patience::Forever, pc);
    drop(inside);
    threads::cancellation_point();
    match result {
        0 if ended == Ended::TimedOut => libc::ETIMEDOUT,
        _ => result,
    }
}
}

/// Wakes one waiter.
///
/// # Safety
/// The condition variable is one.
pub(crate) unsafe fn signal(condition: Cond, pc: u64) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let really = || real!(pthread_cond_signal(condition => Cond) -> c_int);
    let Some(inside) = enter_use(condition as u64, pc) else { return really() };
    inside.simple(Kind::Signal, pc, condition as u64);
    inside.wake_one(condition as u64, Waker::Signal);
    if (*condition).flags & FLAG_SHARED != 0 { really() } else { 0 }
}
}

/// Wakes all waiters.
///
/// # Safety
/// The condition variable is one.
pub(crate) unsafe fn broadcast(condition: Cond, pc: u64) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let really = || real!(pthread_cond_broadcast(condition => Cond) -> c_int);
    let Some(inside) = enter_use(condition as u64, pc) else { return really() };
    inside.simple(Kind::Broadcast, pc, condition as u64);
    inside.wake_all(condition as u64, Waker::Broadcast);
    if (*condition).flags & FLAG_SHARED != 0 { really() } else { 0 }
}
}

hook! {
    fn pthread_cond_wait(condition: Cond, mutex: Lock; pc in "rdx") -> c_int {
        wait(condition, mutex, Limit::None, pc)
    }
    fn pthread_cond_timedwait(condition: Cond, mutex: Lock, time: Time; pc in "rcx") -> c_int {
        wait(condition, mutex, Limit::Own(time), pc)
    }
    fn pthread_cond_clockwait(condition: Cond, mutex: Lock, clock: c_int, time: Time; pc in "r8") -> c_int {
        wait(condition, mutex, Limit::Clock(clock, time), pc)
    }
    fn pthread_cond_signal(condition: Cond; pc in "rsi") -> c_int {
        signal(condition, pc)
    }
    fn pthread_cond_broadcast(condition: Cond; pc in "rsi") -> c_int {
        broadcast(condition, pc)
    }
}
