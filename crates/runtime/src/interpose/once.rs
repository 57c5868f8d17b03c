//! One-time initialisation: `pthread_once` and C++'s guards of static variables. In the log they are atomic
//! accesses: a write when the initialisation is done, and a read by each thread that finds it done. Its begin is
//! not recorded, since no other thread can depend on it.

use core::ffi::c_int;

use wire::{Kind, Waker};

use super::hook;
use crate::inside::{enter, enter_point};
use crate::real::real;
use crate::schedule::{End, Key};

type Routine = unsafe extern "C" fn();

/// glibc's state of a `pthread_once_t` in its low bits: being done, and done.
const RUNNING: c_int = 1;
const DONE: c_int = 2;

/// Runs the routine unless it has run.
///
/// # Safety
/// As for `pthread_once`.
pub(crate) unsafe fn once(control: *mut c_int, routine: Routine, pc: u64) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let really = || real!(pthread_once(control => *mut c_int, routine => Routine) -> c_int);
    let Some(inside) = enter_point() else { return really() };
    while control.read_volatile() & 3 == RUNNING {
        inside.block(Key::address(control as u64), End::NEVER);
    }
    if control.read_volatile() & DONE != 0 {
        inside.simple(Kind::AtomicRead4, pc, control as u64);
        return 0;
    }
    drop(inside);
    // The real one marks it as running before the routine's first event, so nobody else comes in.
    let result = really();
    // It is marked as done by now, so nobody may come in before that is written.
    if let Some(inside) = enter() {
        inside.simple(Kind::AtomicWrite4, pc, control as u64);
        inside.wake_all(control as u64, Waker::Signal);
    }
    result
}
}

/// The guard of a static variable, as the C++ ABI and libstdc++ have it.
#[repr(C)]
struct Guard {
    done: u8,
    running: u8,
}

hook! {
    fn pthread_once(control: *mut c_int, routine: Routine; pc in "rdx") -> c_int {
        once(control, routine, pc)
    }
    fn __cxa_guard_acquire(guard: *mut Guard; pc in "rsi") -> c_int {
        let Some(inside) = enter_point() else { return real!(__cxa_guard_acquire(guard => *mut Guard) -> c_int) };
        while (&raw const (*guard).running).read_volatile() != 0 {
            inside.block(Key::address(guard as u64), End::NEVER);
        }
        if (*guard).done != 0 {
            inside.simple(Kind::AtomicRead1, pc, guard as u64);
            return 0;
        }
        (*guard).running = 1;
        1
    }
    fn __cxa_guard_release(guard: *mut Guard; pc in "rsi") {
        let Some(inside) = enter_point() else { return real!(__cxa_guard_release(guard => *mut Guard)) };
        *guard = Guard { done: 1, running: 0 };
        inside.simple(Kind::AtomicWrite1, pc, guard as u64);
        inside.wake_all(guard as u64, Waker::Signal);
    }
    fn __cxa_guard_abort(guard: *mut Guard; pc in "rsi") {
        let Some(inside) = enter_point() else { return real!(__cxa_guard_abort(guard => *mut Guard)) };
        *guard = Guard { done: 0, running: 0 };
        inside.simple(Kind::AtomicWrite1, pc, guard as u64);
        inside.wake_all(guard as u64, Waker::Signal);
    }
}
