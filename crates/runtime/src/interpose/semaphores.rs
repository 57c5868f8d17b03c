//! Semaphores, unnamed and named.

use core::ffi::{c_int, c_uint};
use core::sync::atomic::Ordering;

use wire::{Kind, Waker};

use super::lifetimes::{enter_use, initialise};
use super::{hook, log_limited, outside_limited, signals, threads};
use crate::clock::{self, Wait};
use crate::inside::{Ended, Inside, enter};
use crate::real::real;
use crate::schedule::{End, Key};

/// What is known of glibc's semaphore on x86-64.
#[repr(C)]
struct Semaphore {
    _value: u64,
    shared: c_int,
}

type Sem = *mut Semaphore;
type Time = *const libc::timespec;

fn fail(error: c_int) -> c_int {
// SAFETY: the thread's own error number.
unsafe {
    *libc::__errno_location() = error;
    -1
}
}

/// Lowers the semaphore, waiting at most until then: the thread has the token.
///
/// # Safety
/// The semaphore is one.
unsafe fn take(inside: &Inside, semaphore: Sem, end: End, pc: u64) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    while real!(sem_trywait(semaphore => Sem) -> c_int) != 0 {
        let error = *libc::__errno_location();
        if error != libc::EAGAIN {
            return -1;
        }
        let failed = match inside.block_at(Key::address(semaphore as u64), end, pc) {
            Ended::Woken(_) if inside.thread().cancelled.load(Ordering::Relaxed) => libc::EINTR,
            Ended::Woken(_) => continue,
            Ended::TimedOut => libc::ETIMEDOUT,
            // The kernel does the call again.
            Ended::Interrupted if end.is_never() && signals::restarts(inside) => continue,
            Ended::Interrupted => libc::EINTR,
        };
        if real!(sem_trywait(semaphore => Sem) -> c_int) == 0 {
            break;
        }
        inside.simple(Kind::TakeFailed, pc, semaphore as u64);
        return fail(failed);
    }
    if !end.is_never() {
        log_limited(inside, pc);
    }
    inside.simple(Kind::Take, pc, semaphore as u64);
    0
}
}

/// # Safety
/// The semaphore is one, and the time, if any, is a `timespec`'s.
unsafe fn wait(semaphore: Sem, time: Option<(c_int, Time)>, pc: u64) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let really = || match time {
        None => real!(sem_wait(semaphore => Sem) -> c_int),
        Some((libc::CLOCK_REALTIME, time)) => {
            let time = clock::by_machine(libc::CLOCK_REALTIME, time);
            real!(sem_timedwait(semaphore => Sem, &raw const time => Time) -> c_int)
        }
        Some((clock, time)) => {
            let time = clock::by_machine(clock, time);
            real!(sem_clockwait(semaphore => Sem, clock => c_int, &raw const time => Time) -> c_int)
        }
    };
    let Some(inside) = enter_use(semaphore as u64, pc) else { return really() };
    if (*semaphore).shared != 0 {
        // Another process may raise it: we would not see it.
        let limit = time.and_then(|(clock, time)| Wait::until(clock, time));
        let ran_out = |&result: &c_int| result != 0 && *libc::__errno_location() == libc::ETIMEDOUT;
        let result = outside_limited(inside, limit, really, ran_out);
        if let Some(inside) = enter() {
            if time.is_some() {
                log_limited(&inside, pc);
            }
            let kind = if result == 0 { Kind::Take } else { Kind::TakeFailed };
            inside.simple(kind, pc, semaphore as u64);
        }
        return result;
    }
    let end = match time {
        None => End::NEVER,
        Some((clock, time)) => match Wait::until(clock, time) {
            Some(wait) => inside.end_of(wait),
            None => return fail(libc::EINVAL),
        },
    };
    let result = take(&inside, semaphore, end, pc);
    drop(inside);
    threads::cancellation_point();
    result
}
}

hook! {
    fn sem_init(semaphore: Sem, shared: c_int, value: c_uint; pc in "rcx") -> c_int {
        let result = initialise(semaphore as u64, pc, || {
            real!(sem_init(semaphore => Sem, shared => c_int, value => c_uint) -> c_int)
        });
        if let (0, Some(inside)) = (result, enter()) {
            inside.detailed(Kind::SemaphoreInit, pc, semaphore as u64, &[u64::from(value)], b"");
        }
        result
    }
    fn sem_open(name: *const core::ffi::c_char, flags: c_int, mode: c_uint, value: c_uint; pc in "r8") -> Sem {
        let inside = enter();
        let result = real!(sem_open(
            name => *const core::ffi::c_char, flags => c_int, mode => c_uint, value => c_uint
        ) -> Sem);
        if let Some(inside) = inside
            && !result.is_null()
        {
            let mut now = 0;
            real!(sem_getvalue(result => Sem, &raw mut now => *mut c_int) -> c_int);
            inside.detailed(Kind::SemaphoreInit, pc, result as u64, &[now.max(0) as u64], b"");
        }
        result
    }
    fn sem_wait(semaphore: Sem; pc in "rsi") -> c_int {
        wait(semaphore, None, pc)
    }
    fn sem_timedwait(semaphore: Sem, time: Time; pc in "rdx") -> c_int {
        wait(semaphore, Some((libc::CLOCK_REALTIME, time)), pc)
    }
    fn sem_clockwait(semaphore: Sem, clock: c_int, time: Time; pc in "rcx") -> c_int {
        wait(semaphore, Some((clock, time)), pc)
    }
    fn sem_trywait(semaphore: Sem; pc in "rsi") -> c_int {
        let inside = enter_use(semaphore as u64, pc);
        let result = real!(sem_trywait(semaphore => Sem) -> c_int);
        if let Some(inside) = inside {
            log_limited(&inside, pc);
            let kind = if result == 0 { Kind::Take } else { Kind::TakeFailed };
            inside.simple(kind, pc, semaphore as u64);
        }
        result
    }
    fn sem_post(semaphore: Sem; pc in "rsi") -> c_int {
        let inside = enter_use(semaphore as u64, pc);
        let result = real!(sem_post(semaphore => Sem) -> c_int);
        if let (0, Some(inside)) = (result, inside) {
            inside.simple(Kind::Post, pc, semaphore as u64);
            inside.wake_all(semaphore as u64, Waker::Signal);
        }
        result
    }
}
