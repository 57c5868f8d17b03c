//! Waiting until files are ready, with `poll` and `select`. What is there to be read was sent before, so the thread that learns of it comes after the one that
//! sent it, whether or not it is read.

use core::ffi::{c_int, c_ulong, c_void};

use super::epoll::log_arrived;
use super::{hook, hook_of_six, outside_limited, own_files, sleeping};
use crate::clock::{self, SECOND, Wait};
use crate::inside::enter;
use crate::real::real;

type Bytes = *mut c_void;
type Files = *mut libc::fd_set;

/// The most files of a call that are looked at.
const MOST_FILES: usize = 64;

static NO_TIME: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// What tells that something was sent, or that the other end was closed.
const ARRIVED: i16 = libc::POLLIN | libc::POLLPRI | libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;

/// Waits with a limit, which is so long if it is one: tried with none first.
fn wait_limited<L: Copy>(
    limit: L,
    length: Option<Wait>,
    none: L,
    is_own: impl Fn() -> bool,
    really: impl Fn(L) -> c_int,
) -> c_int {
    let Some(inside) = enter() else { return really(limit) };
    let result = really(none);
    match length {
        _ if result != 0 => result,
        Some(length) if is_own() => own_files::wait(&inside, length, || really(none)),
        _ => outside_limited(inside, length, || really(limit), |&result| result == 0),
    }
}

/// Whether all files of a call of `poll` are made ready by this process alone.
///
/// # Safety
/// The array has this number of elements.
unsafe fn are_own(files: *const libc::pollfd, count: c_ulong) -> bool {
    // SAFETY: the array has this number of elements.
    let files = (0..count as usize).map(|index| unsafe { (*files.add(index)).fd });
    own_files::may_wait(files.filter(|&file| file >= 0))
}

/// Milliseconds, if they are a limit.
pub(super) fn milliseconds(limit: c_int) -> Option<Wait> {
    u64::try_from(limit).ok().map(|limit| Wait::For(limit * 1_000_000))
}

/// A length of time, if it is a limit.
///
/// # Safety
/// It is null or a `timespec`'s.
pub(super) unsafe fn length(limit: *const libc::timespec) -> Option<Wait> {
    // SAFETY: it is a `timespec`'s.
    (!limit.is_null()).then(|| unsafe { clock::nanoseconds(limit) }).flatten().map(Wait::For)
}

/// The same of `select`, which has microseconds.
///
/// # Safety
/// It is null or a `timeval`'s.
pub(super) unsafe fn length_in_microseconds(limit: *const libc::timeval) -> Option<Wait> {
    if limit.is_null() {
        return None;
    }
    // SAFETY: it is a `timeval`'s.
    let libc::timeval { tv_sec, tv_usec } = unsafe { *limit };
    let (seconds, rest) = (u64::try_from(tv_sec).ok()?, u64::try_from(tv_usec).ok()?);
    Some(Wait::For(seconds.saturating_mul(SECOND).saturating_add(rest.saturating_mul(1000))))
}

/// Sleeps in a call that waits for no file: it is a sleep by another name. None if the real function must do it.
fn sleep_instead(waits_for_files: bool, length: Option<Wait>) -> Option<c_int> {
    if waits_for_files {
        return None;
    }
    sleeping::sleep_by_another_name(length?)
}

/// Records the files that something has come through.
///
/// # Safety
/// The array has this number of elements.
unsafe fn tell_polled(files: *const libc::pollfd, count: c_ulong, result: c_int, pc: u64) -> c_int {
    if result > 0 {
        let ready = (0..(count as usize))
            // SAFETY: the array has this number of elements.
            .map(|index| unsafe { files.add(index).read() })
            .filter(|file| file.fd >= 0 && file.revents & ARRIVED != 0);
        ready.take(MOST_FILES).for_each(|file| log_arrived(file.fd, pc));
    }
    result
}

/// The same for a set of files.
///
/// # Safety
/// It is null or a set of this number of files.
unsafe fn tell_selected(count: c_int, files: Files, result: c_int, pc: u64) -> c_int {
    if result > 0 && !files.is_null() {
        // SAFETY: it is a set of this number of files.
        let ready = (0..count).filter(|&file| unsafe { libc::FD_ISSET(file, files) });
        ready.take(MOST_FILES).for_each(|file| log_arrived(file, pc));
    }
    result
}

hook! {
    fn poll(files: *mut libc::pollfd, count: c_ulong, limit: c_int; pc in "rcx") -> c_int {
        if let Some(result) = sleep_instead(count > 0, milliseconds(limit)) {
            return result;
        }
        let result = wait_limited(limit, milliseconds(limit), 0, || are_own(files, count), |limit| {
            real!(poll(files => *mut libc::pollfd, count => c_ulong, limit => c_int) -> c_int)
        });
        tell_polled(files, count, result, pc)
    }
    fn ppoll(files: *mut libc::pollfd, count: c_ulong, limit: *const libc::timespec, mask: Bytes; pc in "r8") -> c_int {
        if let Some(result) = sleep_instead(count > 0 || !mask.is_null(), length(limit)) {
            return result;
        }
        let result = wait_limited(limit, length(limit), &raw const NO_TIME, || mask.is_null() && are_own(files, count), |limit| {
            real!(ppoll(
                files => *mut libc::pollfd, count => c_ulong, limit => *const libc::timespec, mask => Bytes
            ) -> c_int)
        });
        tell_polled(files, count, result, pc)
    }
    fn select(count: c_int, reads: Files, writes: Files, errors: Files, limit: *mut libc::timeval; pc in "r9") -> c_int {
        let length = length_in_microseconds(limit);
        let waits_for_files = count > 0 && !(reads.is_null() && writes.is_null() && errors.is_null());
        if let Some(result) = sleep_instead(waits_for_files, length) {
            if result == 0 {
                // As the kernel does it: nothing of the limit is left.
                limit.write(libc::timeval { tv_sec: 0, tv_usec: 0 });
            }
            return result;
        }
        let really = || {
            real!(select(
                count => c_int, reads => Files, writes => Files, errors => Files, limit => *mut libc::timeval
            ) -> c_int)
        };
        let result = match enter() {
            Some(inside) => outside_limited(inside, length, really, |&result| result == 0),
            None => really(),
        };
        tell_selected(count, reads, result, pc)
    }
}

hook_of_six! {
    fn pselect(count: c_int, reads: Files, writes: Files, errors: Files, limit: *const libc::timespec, mask: Bytes; pc) -> c_int {
        let length = length(limit);
        let waits_for_files = count > 0 && !(reads.is_null() && writes.is_null() && errors.is_null());
        if let Some(result) = sleep_instead(waits_for_files || !mask.is_null(), length) {
            return result;
        }
        let really = || {
            real!(pselect(
                count => c_int, reads => Files, writes => Files, errors => Files, limit => *const libc::timespec, mask => Bytes
            ) -> c_int)
        };
        let result = match enter() {
            Some(inside) => outside_limited(inside, length, really, |&result| result == 0),
            None => really(),
        };
        tell_selected(count, reads, result, pc)
    }
}
