//! Barriers, implemented in the scheduler: the threads that have arrived are those that wait.

use core::ffi::{c_int, c_uint, c_void};

use wire::{Kind, Waker};

use super::lifetimes::{enter_use, initialise, log_refusal};
use super::{hook, outside};
use crate::inside::{Ended, enter};
use crate::real::real;
use crate::schedule::{End, Key};

/// What is known of glibc's barrier on x86-64.
#[repr(C)]
struct Barrier {
    _arrived: c_uint,
    _round: c_uint,
    count: c_uint,
    shared: c_int,
}

hook! {
    fn pthread_barrier_init(barrier: *mut Barrier, attributes: *const c_void, count: c_uint; pc in "rcx") -> c_int {
        let result = initialise(barrier as u64, pc, || real!(pthread_barrier_init(
            barrier => *mut Barrier, attributes => *const c_void, count => c_uint
        ) -> c_int));
        if let (0, Some(inside)) = (result, enter()) {
            inside.detailed(Kind::BarrierInit, pc, barrier as u64, &[u64::from(count)], b"");
        }
        result
    }
    fn pthread_barrier_wait(barrier: *mut Barrier; pc in "rsi") -> c_int {
        let really = || real!(pthread_barrier_wait(barrier => *mut Barrier) -> c_int);
        let Some(inside) = enter_use(barrier as u64, pc) else { return really() };
        if (*barrier).count == 0 {
            return log_refusal(&inside, barrier as u64, pc, libc::EINVAL);
        }
        inside.simple(Kind::BarrierEnter, pc, barrier as u64);
        if (*barrier).shared != 0 {
            let result = outside(inside, really);
            if let Some(inside) = enter() {
                inside.simple(Kind::BarrierExit, pc, barrier as u64);
            }
            return result;
        }
        let last = inside.waiters(barrier as u64) + 1 >= (*barrier).count as usize;
        if last {
            inside.wake_all(barrier as u64, Waker::Broadcast);
        } else {
            let key = Key::address(barrier as u64);
            while inside.block_at(key, End::NEVER, pc) == Ended::Interrupted {}
        }
        inside.point();
        inside.simple(Kind::BarrierExit, pc, barrier as u64);
        if last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
    }
}
