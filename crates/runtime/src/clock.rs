//! What the program's clocks show, and deadlines.
//!
//! Threads wait in *virtual* time, which advances with the events and when all threads wait for it, so that real time does not choose the
//! schedule. The program reads the same time: its clocks show where they started plus the virtual time that has passed. So what it
//! measures does not depend on how slow recording or the machine is. Clocks of processor time stay real, and so do all if the launcher asks for that.
//!
//! While nothing is scheduled any more (after the end of the log, in a child that is not recorded), the clocks go on with the machine's, from where they
//! were. Calls that reach the kernel with an absolute time limit get one that is converted ([`by_machine`]).

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use wire::{Clock, ClockStart};

use crate::program;
use crate::real::real;
use crate::sys;

/// Nanoseconds in a second.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// Whether the clocks show virtual time.
static IS_VIRTUAL: AtomicBool = AtomicBool::new(false);
/// What the clocks show when no virtual time has passed.
static REALTIME: AtomicU64 = AtomicU64::new(0);
static MONOTONIC: AtomicU64 = AtomicU64::new(0);
/// The virtual time when the scheduler stopped, and the machine's then.
static PASSED: AtomicU64 = AtomicU64::new(0);
static STOPPED_AT: AtomicU64 = AtomicU64::new(0);

/// The clocks start, or go on in a process that was forked. The process has one thread, and nothing is scheduled yet.
pub(crate) fn start(clock: Clock) {
    let monotonic = machine(libc::CLOCK_MONOTONIC);
    if is_virtual() {
        let passed = passed();
        REALTIME.fetch_add(passed, Ordering::Relaxed);
        MONOTONIC.fetch_add(passed, Ordering::Relaxed);
    } else {
        let Clock::Virtual(start) = clock else { return };
        let now = || ClockStart { realtime: machine(libc::CLOCK_REALTIME), monotonic };
        let start = start.unwrap_or_else(now);
        REALTIME.store(start.realtime, Ordering::Relaxed);
        MONOTONIC.store(start.monotonic, Ordering::Relaxed);
        IS_VIRTUAL.store(true, Ordering::Relaxed);
    }
    PASSED.store(0, Ordering::Relaxed);
    STOPPED_AT.store(monotonic, Ordering::Relaxed);
}

/// From here on the clocks go on with the machine's.
pub(crate) fn stop() {
    PASSED.store(program::virtual_now(), Ordering::Relaxed);
    STOPPED_AT.store(machine(libc::CLOCK_MONOTONIC), Ordering::Relaxed);
}

/// What this clock of the machine's shows. Without a system call if possible: a program in a sandbox may not make it.
fn machine(clock: i32) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes into what we own.
    unsafe { real!(clock_gettime(clock => i32, &raw mut time => *mut libc::timespec) -> i32) };
    (time.tv_sec as u64).wrapping_mul(SECOND).wrapping_add(time.tv_nsec as u64)
}

/// Whether the clocks show virtual time.
pub(crate) fn is_virtual() -> bool {
    IS_VIRTUAL.load(Ordering::Relaxed)
}

/// What this clock shows when no virtual time has passed; none if it shows the machine's.
pub(crate) fn start_of(clock: i32) -> Option<u64> {
    if !is_virtual() {
        return None;
    }
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_REALTIME_ALARM => Some(&REALTIME),
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME
        | libc::CLOCK_BOOTTIME_ALARM => Some(&MONOTONIC),
        _ => None,
    }
    .map(|start| start.load(Ordering::Relaxed))
}

/// The virtual time that has passed, for anyone: without what the running thread has done since it was last counted.
pub(crate) fn passed() -> u64 {
    if program::is_active() {
        return program::virtual_now();
    }
    let since = machine(libc::CLOCK_MONOTONIC).saturating_sub(STOPPED_AT.load(Ordering::Relaxed));
    PASSED.load(Ordering::Relaxed) + since
}

/// What this clock shows, for anyone.
pub(crate) fn shown(clock: i32) -> u64 {
    match start_of(clock) {
        Some(start) => start.saturating_add(passed()),
        None => machine(clock),
    }
}

/// A time that the program has of this clock, as the kernel needs it.
///
/// # Safety
/// The pointer is a `timespec`'s.
pub(crate) unsafe fn by_machine(clock: i32, time: *const libc::timespec) -> libc::timespec {
    // SAFETY: the pointer is a `timespec`'s.
    unsafe {
        match nanoseconds(time) {
            Some(end) if start_of(clock).is_some() => {
                let left = end.saturating_sub(shown(clock));
                sys::to_timespec(machine(clock).saturating_add(left))
            }
            _ => *time,
        }
    }
}

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// This number of nanoseconds.
    For(u64),
    /// Until this clock shows this time.
    Until { clock: i32, end: u64 },
}

impl Wait {
    /// Until this time of this clock; none if it is not a time.
    ///
    /// # Safety
    /// The pointer is a `timespec`'s.
    pub(crate) unsafe fn until(clock: i32, time: *const libc::timespec) -> Option<Wait> {
        // SAFETY: the pointer is a `timespec`'s.
        unsafe { Some(Wait::Until { clock, end: nanoseconds(time)? }) }
    }

    /// Whether it is no time at all.
    pub(crate) fn is_none(self) -> bool {
        matches!(self, Wait::For(0))
    }

    /// The virtual time at which it ends, if it begins now.
    pub(crate) fn end(self, now: u64) -> u64 {
        let length = match self {
            Wait::For(length) => length,
            Wait::Until { clock, end } => match start_of(clock) {
                Some(start) => return end.saturating_sub(start),
                None => end.saturating_sub(machine(clock)),
            },
        };
        now.saturating_add(if is_virtual() { length } else { coarse(length) })
    }

    /// The time of the machine's monotonic clock at which it ends, if it begins now and the clocks are the machine's.
    pub(crate) fn real_end(self) -> u64 {
        if is_virtual() {
            return u64::MAX;
        }
        let length = match self {
            Wait::For(length) => length,
            Wait::Until { clock, end } => end.saturating_sub(machine(clock)),
        };
        machine(libc::CLOCK_MONOTONIC).saturating_add(length)
    }
}

/// A time in nanoseconds; none if the parts are out of range.
///
/// # Safety
/// The pointer is a `timespec`'s.
pub(crate) unsafe fn nanoseconds(time: *const libc::timespec) -> Option<u64> {
    // SAFETY: the pointer is a `timespec`'s.
    unsafe {
        let libc::timespec { tv_sec, tv_nsec } = *time;
        if !(0..1_000_000_000).contains(&tv_nsec) {
            return None;
        }
        // Before the epoch is long past.
        let seconds = u64::try_from(tv_sec).unwrap_or(0);
        Some(seconds.saturating_mul(SECOND).saturating_add(tv_nsec as u64))
    }
}

/// A length with its low digits rounded away. A deadline by the machine's clock is computed from the real time, so the length differs a
/// little from run to run; the schedule should not.
fn coarse(length: u64) -> u64 {
    const FINEST: u64 = 1 << 20;
    let grain = (length.checked_ilog2().map_or(0, |log| 1u64 << log) / 8).max(FINEST);
    length.saturating_add(grain / 2) / grain * grain
}
