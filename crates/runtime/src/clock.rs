//! Deadlines. Threads wait in *virtual* time, which advances with the events, so that real time does not choose the
//! schedule; the real deadline says how long a thread sleeps when nobody else can run.

use crate::sys;

/// Virtual nanoseconds an event takes.
pub(crate) const EVENT: u64 = 50;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// Virtual nanoseconds from now.
    pub(crate) length: u64,
    /// The end in real nanoseconds of the monotonic clock.
    pub(crate) real_end: u64,
}

impl Wait {
    /// This number of nanoseconds.
    pub(crate) fn nanoseconds(length: u64) -> Wait {
        let now = sys::now(libc::CLOCK_MONOTONIC);
        Wait { length: coarse(length), real_end: now.saturating_add(length) }
    }

    /// Until this time of this clock; none if it is not a time.
    ///
    /// # Safety
    /// The pointer is a `timespec`'s.
    pub(crate) unsafe fn until(clock: i32, time: *const libc::timespec) -> Option<Wait> {
        // SAFETY: the pointer is a `timespec`'s.
        unsafe {
            let end = nanoseconds(time)?;
            Some(Wait::nanoseconds(end.saturating_sub(sys::now(clock))))
        }
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
        Some(seconds.saturating_mul(1_000_000_000).saturating_add(tv_nsec as u64))
    }
}

/// A length with its low digits rounded away. A deadline is computed from the real time, so the length differs a
/// little from run to run; the schedule should not.
fn coarse(length: u64) -> u64 {
    const FINEST: u64 = 1 << 20;
    let grain = (length.checked_ilog2().map_or(0, |log| 1u64 << log) / 8).max(FINEST);
    length.saturating_add(grain / 2) / grain * grain
}
