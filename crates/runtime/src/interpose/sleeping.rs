//! Sleeping: a wait in the scheduler for a virtual deadline. The process really sleeps only if no thread can run.

use core::ffi::{c_int, c_uint};

use super::threads;
use crate::clock::{self, Wait};
use crate::inside::{Ended, enter};
use crate::real::real;
use crate::schedule::Key;

type Time = *const libc::timespec;

/// Sleeps in the scheduler; none if the runtime is passive. Whether a signal ended it.
fn sleep(wait: Wait) -> Option<Ended> {
    let inside = enter()?;
    let end = inside.end_of(wait);
    let ended = inside.block(Key::NONE, end);
    drop(inside);
    threads::cancellation_point();
    Some(ended)
}

/// Sleeps so long; none if the real function must do it.
///
/// # Safety
/// The pointer is a `timespec`'s.
pub(crate) unsafe fn sleep_for(length: Time) -> Option<c_int> {
// SAFETY: the pointer is a `timespec`'s.
unsafe {
    let length = clock::nanoseconds(length)?;
    sleep(Wait::nanoseconds(length)).map(status)
}
}

fn status(ended: Ended) -> c_int {
    if ended == Ended::TimedOut {
        return 0;
    }
    // SAFETY: the thread's own error number.
    unsafe { *libc::__errno_location() = libc::EINTR };
    -1
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(length: Time, rest: *mut libc::timespec) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    sleep_for(length)
        .unwrap_or_else(|| real!(nanosleep(length => Time, rest => *mut libc::timespec) -> c_int))
}
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: Time,
    rest: *mut libc::timespec,
) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let wait = match flags & libc::TIMER_ABSTIME {
        0 => clock::nanoseconds(time).map(Wait::nanoseconds),
        _ => Wait::until(clock, time),
    };
    match wait.and_then(sleep) {
        Some(Ended::TimedOut) => 0,
        Some(_) => libc::EINTR,
        None => real!(clock_nanosleep(
            clock => c_int, flags => c_int, time => Time, rest => *mut libc::timespec
        ) -> c_int),
    }
}
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(microseconds: c_uint) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    match sleep(Wait::nanoseconds(u64::from(microseconds) * 1000)) {
        Some(ended) => status(ended),
        None => real!(usleep(microseconds => c_uint) -> c_int),
    }
}
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(export_name = "sleep")]
unsafe extern "C" fn sleep_seconds(seconds: c_uint) -> c_uint {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    match sleep(Wait::nanoseconds(u64::from(seconds) * 1_000_000_000)) {
        Some(Ended::TimedOut) => 0,
        Some(_) => seconds,
        None => real!(sleep(seconds => c_uint) -> c_uint),
    }
}
}
