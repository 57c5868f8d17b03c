//! Sleeping: a wait in the scheduler for a virtual deadline. The process really sleeps only if no thread can run and something outside could tell
//! that it did not.

use core::ffi::{c_int, c_long, c_uint};
use core::ptr;

use super::threads;
use crate::clock::{self, SECOND, Wait};
use crate::inside::{Ended, enter};
use crate::real::real;
use crate::schedule::Key;
use crate::sys;

type Time = *const libc::timespec;

/// How a sleep ended.
struct Slept {
    ended: Ended,
    /// Nanoseconds that were left.
    left: u64,
}

/// Sleeps in the scheduler; none if the runtime is passive.
fn sleep(wait: Wait) -> Option<Slept> {
    let inside = enter()?;
    let end = inside.end_of(wait);
    let ended = inside.block(Key::NONE, end);
    let left = if ended == Ended::TimedOut { 0 } else { end.virtual_time.saturating_sub(inside.now()) };
    drop(inside);
    threads::cancellation_point();
    Some(Slept { ended, left })
}

/// Sleeps in a call that waits for files or signals, but for none of them; none if the real function must do it.
pub(super) fn sleep_by_another_name(wait: Wait) -> Option<c_int> {
    // SAFETY: nobody asks for the rest.
    sleep(wait).map(|slept| unsafe { status(&slept, ptr::null_mut()) })
}

/// Sleeps so long, and says what was left; none if the real function must do it.
///
/// # Safety
/// The pointers are a `timespec`'s, the second may be null.
pub(crate) unsafe fn sleep_for(length: Time, rest: *mut libc::timespec) -> Option<c_int> {
// SAFETY: the pointers are a `timespec`'s.
unsafe {
    let length = clock::nanoseconds(length)?;
    sleep(Wait::For(length)).map(|slept| status(&slept, rest))
}
}

/// # Safety
/// The pointer is null or a `timespec`'s.
unsafe fn status(slept: &Slept, rest: *mut libc::timespec) -> c_int {
    if slept.ended == Ended::TimedOut {
        return 0;
    }
    // SAFETY: the thread's own error number, and a place of the program's.
    unsafe {
        if !rest.is_null() {
            rest.write(sys::to_timespec(slept.left));
        }
        *libc::__errno_location() = libc::EINTR;
    }
    -1
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(length: Time, rest: *mut libc::timespec) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    sleep_for(length, rest)
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
    let is_absolute = flags & libc::TIMER_ABSTIME != 0;
    let wait =
        if is_absolute { Wait::until(clock, time) } else { clock::nanoseconds(time).map(Wait::For) };
    match wait.and_then(sleep) {
        Some(Slept { ended: Ended::TimedOut, .. }) => 0,
        Some(Slept { left, .. }) => {
            if !is_absolute && !rest.is_null() {
                rest.write(sys::to_timespec(left));
            }
            libc::EINTR
        }
        None => {
            let time = if is_absolute { clock::by_machine(clock, time) } else { *time };
            real!(clock_nanosleep(
                clock => c_int, flags => c_int, &raw const time => Time, rest => *mut libc::timespec
            ) -> c_int)
        }
    }
}
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(microseconds: c_uint) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    match sleep(Wait::For(u64::from(microseconds) * 1000)) {
        Some(slept) => status(&slept, ptr::null_mut()),
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
    match sleep(Wait::For(u64::from(seconds) * SECOND)) {
        Some(Slept { ended: Ended::TimedOut, .. }) => 0,
        // Rounded up, as the C library does: what was slept is less.
        Some(Slept { left, .. }) => left.div_ceil(SECOND) as c_uint,
        None => real!(sleep(seconds => c_uint) -> c_uint),
    }
}
}

/// A system call to sleep that a program makes by hand; none if it is another, or must really be made.
///
/// # Safety
/// The arguments are as the system call demands them.
pub(crate) unsafe fn system_call(number: c_long, a: usize, b: usize, c: usize, d: usize) -> Option<c_long> {
// SAFETY: the places are the program's, as the system call demands.
unsafe {
    match number {
        libc::SYS_nanosleep if a != 0 => sleep_for(a as Time, b as *mut libc::timespec).map(c_long::from),
        libc::SYS_clock_nanosleep if c != 0 => {
            let time = c as Time;
            let is_absolute = b as c_int & libc::TIMER_ABSTIME != 0;
            let wait = if is_absolute { Wait::until(a as c_int, time)? } else { Wait::For(clock::nanoseconds(time)?) };
            // What is left is for relative times alone.
            let rest = if is_absolute { ptr::null_mut() } else { d as *mut libc::timespec };
            sleep(wait).map(|slept| c_long::from(status(&slept, rest)))
        }
        _ => None,
    }
}
}
