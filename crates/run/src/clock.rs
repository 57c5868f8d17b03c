//! When the clocks of a program start that is run.

use nix::libc;

/// Virtual clocks that start now. Runs that are compared start at the same time.
pub fn starting_now() -> wire::Clock {
    let start =
        wire::ClockStart { realtime: now(libc::CLOCK_REALTIME), monotonic: now(libc::CLOCK_MONOTONIC) };
    wire::Clock::Virtual(Some(start))
}

/// The time of a clock, in nanoseconds.
#[expect(unsafe_code, reason = "a call of the C library")]
fn now(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes into what we own.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
