//! The barrier that libtsan's own tests use to arrange a run: threads wait for each other, but it must not order them, so it is in no trace.
//! A schedule that a trace allows may then ask for what the barrier prevents. A replay of such a schedule lets everyone pass, and ends
//! where threads would wait once the schedule is over: what the program does from there on, no run does.

use core::sync::atomic::{AtomicU32, Ordering};

use wire::{TestBarriers, Waker};

use crate::inside::enter;
use crate::program::is_following;
use crate::schedule::{End, Key};
use crate::start::settings;
use crate::sys;

/// How many bits of the word say how many threads the barrier holds back; the others count those that have arrived. Older users have a
/// word twice as long; this is its first half.
const COUNT_BITS: u32 = 10;
const ONE_ARRIVED: u32 = 1 << COUNT_BITS;

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_testonly_barrier_init(barrier: *const AtomicU32, count: u32) {
// SAFETY: the word is the program's, which gives it as a barrier.
unsafe {
    (*barrier).store(count % ONE_ARRIVED, Ordering::Relaxed);
}
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_testonly_barrier_wait(barrier: *const AtomicU32) {
// SAFETY: the word is the program's, which gives it as a barrier.
unsafe {
    // With the token: a thread that arrives between another's look at the barrier and its wait would wake nobody.
    let inside = enter();
    let word = (*barrier).fetch_add(ONE_ARRIVED, Ordering::SeqCst) + ONE_ARRIVED;
    let all = (word >> COUNT_BITS).next_multiple_of((word % ONE_ARRIVED).max(1));
    let is_full = || (*barrier).load(Ordering::SeqCst) >> COUNT_BITS >= all;
    let Some(inside) = inside else {
        while !is_full() {
            sys::yield_now();
        }
        return;
    };
    if is_full() {
        inside.wake_all(barrier as u64, Waker::Broadcast);
    }
    let passes = settings().asked.test_barriers == TestBarriers::Pass;
    while !is_full() {
        match (passes, is_following()) {
            (true, true) => return,
            (true, false) => sys::exit_group(wire::REPLAY_OVER_STATUS),
            (false, _) => {
                inside.block(Key::address(barrier as u64), End::NEVER);
            }
        }
    }
}
}
