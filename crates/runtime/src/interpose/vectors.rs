//! Calls that move several parts or several messages at once, at an offset or through a socket.

use core::ffi::{c_int, c_long, c_uint, c_void};

use super::files::{Parts, Ranges, receive, send_through};
use super::hook;
use super::ranges::log_ranges;
use crate::real::real;

type Messages = *mut libc::mmsghdr;

/// Nothing in memory: what the messages hold is told one by one.
fn nothing() -> Ranges {
    Ranges::one(core::ptr::null_mut(), 0)
}

/// Logs what this number of messages have received, and the lengths that were written.
///
/// # Safety
/// There is this number of messages, and they were received.
unsafe fn log_received(messages: Messages, count: usize, pc: u64) {
    for index in 0..count {
        // SAFETY: by this function's contract.
        unsafe {
            let message = messages.add(index);
            log_ranges(pc, &[], &Ranges::of_message(&raw const (*message).msg_hdr).first((*message).msg_len as usize).0);
            log_ranges(pc, &[], &[((&raw const (*message).msg_len) as u64, size_of::<c_uint>())]);
        }
    }
}

hook! {
    fn preadv(file: c_int, parts: Parts, count: c_int, offset: c_long; pc in "r8") -> isize {
        receive(file, || Ranges::of(parts, count as usize), pc, || {
            real!(preadv(file => c_int, parts => Parts, count => c_int, offset => c_long) -> isize)
        })
    }
    fn preadv64(file: c_int, parts: Parts, count: c_int, offset: c_long; pc in "r8") -> isize {
        receive(file, || Ranges::of(parts, count as usize), pc, || {
            real!(preadv64(file => c_int, parts => Parts, count => c_int, offset => c_long) -> isize)
        })
    }
    fn pwritev(file: c_int, parts: Parts, count: c_int, offset: c_long; pc in "r8") -> isize {
        send_through(file, Ranges::of(parts, count as usize), pc, || {
            real!(pwritev(file => c_int, parts => Parts, count => c_int, offset => c_long) -> isize)
        })
    }
    fn pwritev64(file: c_int, parts: Parts, count: c_int, offset: c_long; pc in "r8") -> isize {
        send_through(file, Ranges::of(parts, count as usize), pc, || {
            real!(pwritev64(file => c_int, parts => Parts, count => c_int, offset => c_long) -> isize)
        })
    }
    fn recvmmsg(file: c_int, messages: Messages, count: c_uint, flags: c_int, time: *mut c_void; pc in "r9") -> c_int {
        let received = receive(file, nothing, pc, || {
            let received = real!(recvmmsg(
                file => c_int, messages => Messages, count => c_uint, flags => c_int, time => *mut c_void
            ) -> c_int);
            received as isize
        });
        log_received(messages, received.max(0) as usize, pc);
        received as c_int
    }
    fn sendmmsg(file: c_int, messages: Messages, count: c_uint, flags: c_int; pc in "r8") -> c_int {
        for index in 0..count as usize {
            log_ranges(pc, &Ranges::of_message(&raw const (*messages.add(index)).msg_hdr).0, &[]);
        }
        let sent = send_through(file, nothing(), pc, || {
            let sent = real!(sendmmsg(file => c_int, messages => Messages, count => c_uint, flags => c_int) -> c_int);
            sent as isize
        });
        for index in 0..sent.max(0) as usize {
            log_ranges(pc, &[], &[((&raw const (*messages.add(index)).msg_len) as u64, size_of::<c_uint>())]);
        }
        sent as c_int
    }
}
