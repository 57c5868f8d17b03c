//! Reading the time: what the clocks show is virtual time, unless the launcher asks for the machine's (see [`crate::clock`]).
//!
//! How often an event loop asks for the time depends on the time itself, and the positions of a thread must not: no reading is a position, and
//! what is written into the frame of the function that asks is nobody else's, and no event.

use core::ffi::{c_int, c_long, c_void};

use super::filled::log_fill;
use super::hook;
use crate::clock::{self, SECOND};
use crate::inside::enter;
use crate::program::scheduler;
use crate::real::real;
use crate::schedule::GaveUp;
use crate::sys;

type Bytes = *mut c_void;
type Time = *mut libc::timespec;

/// How far above our own frame those are of the function that asks for the time.
const OWN_FRAMES: u64 = 1 << 10;

fn log_time(to: Bytes, size: usize, pc: u64) {
    let here = 0_u8;
    if (to as u64).wrapping_sub((&raw const here) as u64) >= OWN_FRAMES {
        log_fill(to, size, pc);
    }
}

/// What this clock shows, in nanoseconds; none if it is not ours to say.
pub(crate) fn read(clock: c_int) -> Option<u64> {
    let start = clock::start_of(clock)?;
    let Some(inside) = enter() else { return Some(start.saturating_add(clock::passed())) };
    let slot = inside.thread().slot;
    let reading = scheduler().with_lock(|schedule, program| schedule.read_clock(slot, program));
    if reading.is_waiting {
        inside.preempt(GaveUp::Yielding, None);
    }
    Some(start.saturating_add(reading.now))
}

/// The same as whole seconds and nanoseconds.
fn read_parts(clock: c_int) -> Option<libc::timespec> {
    read(clock).map(sys::to_timespec)
}

/// A system call for the time that a program makes by hand; none if it is another, or real.
///
/// # Safety
/// The arguments are as the system call demands them.
pub(crate) unsafe fn system_call(number: c_long, a: usize, b: usize) -> Option<c_long> {
// SAFETY: the places are the program's, as the system call demands.
unsafe {
    match number {
        libc::SYS_clock_gettime if b != 0 => {
            (b as Time).write_unaligned(read_parts(a as c_int)?);
            Some(0)
        }
        libc::SYS_gettimeofday if a != 0 && b == 0 => {
            (a as *mut libc::timeval).write_unaligned(to_timeval(read(libc::CLOCK_REALTIME)?));
            Some(0)
        }
        libc::SYS_time => {
            let seconds = (read(libc::CLOCK_REALTIME)? / SECOND) as c_long;
            if a != 0 {
                (a as *mut c_long).write_unaligned(seconds);
            }
            Some(seconds)
        }
        _ => None,
    }
}
}

fn to_timeval(nanoseconds: u64) -> libc::timeval {
    let time = sys::to_timespec(nanoseconds);
    libc::timeval { tv_sec: time.tv_sec, tv_usec: time.tv_nsec / 1000 }
}

hook! {
    fn clock_gettime(clock: c_int, to: Time; pc in "rdx") -> c_int {
        let result = match read_parts(clock) {
            Some(time) => {
                to.write(time);
                0
            }
            None => real!(clock_gettime(clock => c_int, to => Time) -> c_int),
        };
        if result == 0 {
            log_time(to.cast(), size_of::<libc::timespec>(), pc);
        }
        result
    }
    fn gettimeofday(to: *mut libc::timeval, zone: Bytes; pc in "rdx") -> c_int {
        let result = real!(gettimeofday(to => *mut libc::timeval, zone => Bytes) -> c_int);
        if result == 0 && !to.is_null() {
            if let Some(time) = read(libc::CLOCK_REALTIME) {
                to.write(to_timeval(time));
            }
            log_time(to.cast(), size_of::<libc::timeval>(), pc);
        }
        result
    }
    fn time(to: *mut libc::time_t; pc in "rsi") -> libc::time_t {
        let Some(now) = read(libc::CLOCK_REALTIME) else {
            let now = real!(time(to => *mut libc::time_t) -> libc::time_t);
            log_time(to.cast(), size_of::<libc::time_t>(), pc);
            return now;
        };
        let seconds = (now / SECOND) as libc::time_t;
        if !to.is_null() {
            to.write(seconds);
            log_time(to.cast(), size_of::<libc::time_t>(), pc);
        }
        seconds
    }
    fn timespec_get(to: Time, base: c_int; pc in "rdx") -> c_int {
        /// C's number of the time since the epoch.
        const UTC: c_int = 1;
        let result = match read_parts(libc::CLOCK_REALTIME).filter(|_| base == UTC) {
            Some(time) => {
                to.write(time);
                base
            }
            None => real!(timespec_get(to => Time, base => c_int) -> c_int),
        };
        if result != 0 {
            log_time(to.cast(), size_of::<libc::timespec>(), pc);
        }
        result
    }
    fn times(to: Bytes; pc in "rsi") -> c_long {
        /// How often the clock that it returns ticks in a second.
        const TICKS: u64 = 100;
        let ticks = real!(times(to => Bytes) -> c_long);
        log_fill(to, size_of::<libc::tms>(), pc);
        match read(libc::CLOCK_MONOTONIC) {
            Some(now) if ticks != -1 => (now / (SECOND / TICKS)) as c_long,
            _ => ticks,
        }
    }
}
