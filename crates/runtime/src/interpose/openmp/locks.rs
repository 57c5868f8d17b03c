//! OpenMP's critical sections, locks, and atomic operations that need a lock: all are locks.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use wire::{Kind, Waker};

use super::address;
use crate::inside::{Inside, enter_point};
use crate::interpose::{EXCLUSIVE, acquire, hook, lifetimes, log_limited_attempt, safe_hook};
use crate::real::real;

/// The lock of the critical sections without a name, and that of atomic operations that need one. 0: it is free.
#[unsafe(export_name = "omp_unnamed_critical")]
static UNNAMED: AtomicU32 = AtomicU32::new(0);
#[unsafe(export_name = "omp_atomic")]
static ATOMIC: AtomicU32 = AtomicU32::new(0);

/// Enters a critical section, whose lock is this word.
pub(super) fn lock(inside: &Inside, word: &AtomicU32, pc: u64) {
    acquire(inside, &EXCLUSIVE, address(word), None, pc, || match word.swap(1, Ordering::Relaxed) {
        0 => 0,
        _ => libc::EBUSY,
    });
}

pub(super) fn unlock(inside: &Inside, word: &AtomicU32, pc: u64) {
    word.store(0, Ordering::Relaxed);
    inside.simple(Kind::Release, pc, address(word));
    inside.wake_all(address(word), Waker::Signal);
}

type Word = *const AtomicU32;
type Lock = *mut c_void;

hook! {
    fn GOMP_critical_name_start(word: Word; pc in "rsi") {
        match enter_point() {
            Some(inside) => lock(&inside, &*word, pc),
            None => real!(GOMP_critical_name_start(word => Word)),
        }
    }
    fn GOMP_critical_name_end(word: Word; pc in "rsi") {
        match enter_point() {
            Some(inside) => unlock(&inside, &*word, pc),
            None => real!(GOMP_critical_name_end(word => Word)),
        }
    }
    fn omp_init_lock(lock: Lock; pc in "rsi") {
        lifetimes::initialise(lock as u64, pc, || {
            real!(omp_init_lock(lock => Lock));
            0
        });
    }
    fn omp_init_nest_lock(lock: Lock; pc in "rsi") {
        lifetimes::initialise(lock as u64, pc, || {
            real!(omp_init_nest_lock(lock => Lock));
            0
        });
    }
    fn omp_destroy_lock(lock: Lock; pc in "rsi") {
        lifetimes::destroy(lock as u64, pc, || {
            real!(omp_destroy_lock(lock => Lock));
            0
        });
    }
    fn omp_destroy_nest_lock(lock: Lock; pc in "rsi") {
        lifetimes::destroy(lock as u64, pc, || {
            real!(omp_destroy_nest_lock(lock => Lock));
            0
        });
    }
    fn omp_set_lock(lock: Lock; pc in "rsi") {
        let Some(inside) = lifetimes::enter_use(lock as u64, pc) else { return real!(omp_set_lock(lock => Lock)) };
        acquire(&inside, &EXCLUSIVE, lock as u64, None, pc, || result_of(real!(omp_test_lock(lock => Lock) -> c_int)));
    }
    fn omp_set_nest_lock(lock: Lock; pc in "rsi") {
        let Some(inside) = lifetimes::enter_use(lock as u64, pc) else { return real!(omp_set_nest_lock(lock => Lock)) };
        acquire(&inside, &EXCLUSIVE, lock as u64, None, pc, || result_of(real!(omp_test_nest_lock(lock => Lock) -> c_int)));
    }
    fn omp_test_lock(lock: Lock; pc in "rsi") -> c_int {
        let inside = lifetimes::enter_use(lock as u64, pc);
        let result = real!(omp_test_lock(lock => Lock) -> c_int);
        if let Some(inside) = inside {
            log_limited_attempt(&inside, &EXCLUSIVE, lock as u64, pc, result_of(result));
        }
        result
    }
    fn omp_test_nest_lock(lock: Lock; pc in "rsi") -> c_int {
        let inside = lifetimes::enter_use(lock as u64, pc);
        let result = real!(omp_test_nest_lock(lock => Lock) -> c_int);
        if let Some(inside) = inside {
            log_limited_attempt(&inside, &EXCLUSIVE, lock as u64, pc, result_of(result));
        }
        result
    }
    fn omp_unset_lock(lock: Lock; pc in "rsi") {
        let inside = enter_point();
        real!(omp_unset_lock(lock => Lock));
        if let Some(inside) = inside {
            log_unset(&inside, lock, pc);
        }
    }
    fn omp_unset_nest_lock(lock: Lock; pc in "rsi") {
        let inside = enter_point();
        real!(omp_unset_nest_lock(lock => Lock));
        if let Some(inside) = inside {
            log_unset(&inside, lock, pc);
        }
    }
}

/// What a function that tries to take a lock would have returned in C's threads.
fn result_of(taken: c_int) -> c_int {
    if taken == 0 { libc::EBUSY } else { 0 }
}

fn log_unset(inside: &Inside, lock: Lock, pc: u64) {
    inside.simple(Kind::Release, pc, lock as u64);
    inside.wake_all(lock as u64, Waker::Signal);
}

safe_hook! {
    fn GOMP_critical_start(; pc in "rdi") {
        if let Some(inside) = enter_point() {
            lock(&inside, &UNNAMED, pc);
        }
    }
    fn GOMP_critical_end(; pc in "rdi") {
        if let Some(inside) = enter_point() {
            unlock(&inside, &UNNAMED, pc);
        }
    }
    fn GOMP_atomic_start(; pc in "rdi") {
        if let Some(inside) = enter_point() {
            lock(&inside, &ATOMIC, pc);
        }
    }
    fn GOMP_atomic_end(; pc in "rdi") {
        if let Some(inside) = enter_point() {
            unlock(&inside, &ATOMIC, pc);
        }
    }
}
