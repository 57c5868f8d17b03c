//! C11's threads. glibc's versions call its own pthread functions internally, where we cannot intercept them, so
//! these are implemented with our replacements.

use core::ffi::{c_int, c_void};

use super::conditions::{self, Cond, Limit};
use super::mutexes::{self, Lock, Patience};
use super::{hook, lifetimes, once, sleeping, threads};
use crate::real::real;
use crate::thread::Routine;

/// C11's results, by glibc's numbers.
fn result(error: c_int) -> c_int {
    match error {
        0 => 0,
        libc::EBUSY => 1,
        libc::ENOMEM => 3,
        libc::ETIMEDOUT => 4,
        _ => 2,
    }
}

type Time = *const libc::timespec;
type Start = unsafe extern "C" fn(*mut c_void) -> c_int;

hook! {
    fn thrd_create(handle: *mut libc::pthread_t, routine: Start, argument: *mut c_void; pc in "rcx") -> c_int {
        // The status comes back in the register in which a pointer would, and is read as an int again.
        let routine: Routine = core::mem::transmute(routine);
        result(threads::create(handle, core::ptr::null(), routine, argument, pc))
    }
    fn thrd_join(handle: libc::pthread_t, status: *mut c_int; pc in "rdx") -> c_int {
        let mut value = core::ptr::null_mut();
        let error = threads::join(handle, &raw mut value, None, pc);
        if error == 0 && !status.is_null() {
            *status = value as usize as c_int;
        }
        result(error)
    }
    fn thrd_detach(handle: libc::pthread_t; pc in "rsi") -> c_int {
        result(threads::detach(handle, pc))
    }
    fn mtx_init(mutex: Lock, kind: c_int; pc in "rdx") -> c_int {
        lifetimes::initialise(mutex as u64, pc, || real!(mtx_init(mutex => Lock, kind => c_int) -> c_int))
    }
    fn mtx_destroy(mutex: Lock; pc in "rsi") {
        lifetimes::destroy(mutex as u64, pc, || {
            real!(mtx_destroy(mutex => Lock));
            0
        });
    }
    fn cnd_init(condition: Cond; pc in "rsi") -> c_int {
        lifetimes::initialise(condition as u64, pc, || real!(cnd_init(condition => Cond) -> c_int))
    }
    fn cnd_destroy(condition: Cond; pc in "rsi") {
        lifetimes::destroy(condition as u64, pc, || {
            real!(cnd_destroy(condition => Cond));
            0
        });
    }
    fn mtx_lock(mutex: Lock; pc in "rsi") -> c_int {
        result(mutexes::lock(mutex, Patience::Forever, pc))
    }
    fn mtx_timedlock(mutex: Lock, time: Time; pc in "rdx") -> c_int {
        result(mutexes::lock(mutex, Patience::Until(libc::CLOCK_REALTIME, time), pc))
    }
    fn mtx_trylock(mutex: Lock; pc in "rsi") -> c_int {
        result(mutexes::try_lock(mutex, pc))
    }
    fn mtx_unlock(mutex: Lock; pc in "rsi") -> c_int {
        result(mutexes::unlock(mutex, pc))
    }
    fn cnd_wait(condition: Cond, mutex: Lock; pc in "rdx") -> c_int {
        result(conditions::wait(condition, mutex, Limit::None, pc))
    }
    fn cnd_timedwait(condition: Cond, mutex: Lock, time: Time; pc in "rcx") -> c_int {
        result(conditions::wait(condition, mutex, Limit::Own(time), pc))
    }
    fn cnd_signal(condition: Cond; pc in "rsi") -> c_int {
        result(conditions::signal(condition, pc))
    }
    fn cnd_broadcast(condition: Cond; pc in "rsi") -> c_int {
        result(conditions::broadcast(condition, pc))
    }
    fn call_once(control: *mut c_int, routine: unsafe extern "C" fn(); pc in "rdx") {
        once::once(control, routine, pc);
    }
}

#[unsafe(no_mangle)]
extern "C" fn thrd_yield() {
    threads::give_way();
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_sleep(length: Time, rest: *mut libc::timespec) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    sleeping::sleep_for(length, rest)
        .unwrap_or_else(|| real!(thrd_sleep(length => Time, rest => *mut libc::timespec) -> c_int))
}
}
