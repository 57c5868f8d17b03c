//! Waiting until files are ready, with `poll` and `select`. What is there to be read was sent before, so the thread that learns of it comes after the one that
//! sent it, whether or not it is read.

use core::ffi::{c_int, c_ulong, c_void};

use super::epoll::log_arrived;
use super::{hook, hook_of_six, outside};
use crate::inside::enter;
use crate::real::real;

type Bytes = *mut c_void;
type Files = *mut libc::fd_set;

/// The most files of a call that are looked at.
const MOST_FILES: usize = 64;

static NO_TIME: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// What tells that something was sent, or that the other end was closed.
const ARRIVED: i16 = libc::POLLIN | libc::POLLPRI | libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;

/// Waits with a limit: tried with none first.
fn wait_limited<L: Copy>(limit: L, none: L, really: impl Fn(L) -> c_int) -> c_int {
    let Some(inside) = enter() else { return really(limit) };
    match really(none) {
        0 => outside(inside, || really(limit)),
        result => result,
    }
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
        let result = wait_limited(limit, 0, |limit| {
            real!(poll(files => *mut libc::pollfd, count => c_ulong, limit => c_int) -> c_int)
        });
        tell_polled(files, count, result, pc)
    }
    fn ppoll(files: *mut libc::pollfd, count: c_ulong, limit: *const libc::timespec, mask: Bytes; pc in "r8") -> c_int {
        let result = wait_limited(limit, &raw const NO_TIME, |limit| {
            real!(ppoll(
                files => *mut libc::pollfd, count => c_ulong, limit => *const libc::timespec, mask => Bytes
            ) -> c_int)
        });
        tell_polled(files, count, result, pc)
    }
    fn select(count: c_int, reads: Files, writes: Files, errors: Files, limit: Bytes; pc in "r9") -> c_int {
        let really = || {
            real!(select(
                count => c_int, reads => Files, writes => Files, errors => Files, limit => Bytes
            ) -> c_int)
        };
        let result = match enter() {
            Some(inside) => outside(inside, really),
            None => really(),
        };
        tell_selected(count, reads, result, pc)
    }
}

hook_of_six! {
    fn pselect(count: c_int, reads: Files, writes: Files, errors: Files, limit: Bytes, mask: Bytes; pc) -> c_int {
        let really = || {
            real!(pselect(
                count => c_int, reads => Files, writes => Files, errors => Files, limit => Bytes, mask => Bytes
            ) -> c_int)
        };
        let result = match enter() {
            Some(inside) => outside(inside, really),
            None => really(),
        };
        tell_selected(count, reads, result, pc)
    }
}
