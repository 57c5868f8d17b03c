//! Calls that move data through files. A thread that would block gives up the token while it waits. A file that
//! is ready, as a regular file always is, lets the thread keep the token, so the call does not change the
//! schedule.
//!
//! The memory that is filled or sent counts as accessed. Data from a pipe or a socket comes after everything that
//! happened before it was sent, or before the other end was closed: see [`super::passages`].

use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use wire::{Kind, Passage};

use super::clients::{self, Question, Taking};
use super::descriptors::{as_recorded, opened, opened_pair, pair_as_recorded};
use super::epoll;
use super::own_files;
use super::passages::{forget_own, passage, remember_pair};
use super::ranges::log_ranges;
use super::{hook, hook_of_six, outside, outside_limited, readiness};
use crate::clock::Wait;
use crate::inside::{enter, enter_point};
use crate::real::real;
use crate::sys;

type Bytes = *mut c_void;
pub(super) type Parts = *const libc::iovec;

/// The most parts of a message that are looked at.
const MOST_PARTS: usize = 16;

/// The program has made a socket that can be connected.
static REACHES_OUT: AtomicBool = AtomicBool::new(false);

/// The program makes a socket.
pub(super) fn note_socket() {
    REACHES_OUT.store(true, Ordering::Relaxed);
}

/// Whether another process may be at the other end of a socket.
pub(crate) fn may_reach_out() -> bool {
    REACHES_OUT.load(Ordering::Relaxed)
}

/// Whether the file is ready for this, now.
fn is_ready(file: c_int, events: i16) -> bool {
// SAFETY: the kernel writes into what we own.
unsafe {
    let mut what = libc::pollfd { fd: file, events, revents: 0 };
    sys::call(libc::SYS_poll, [(&raw mut what) as usize, 1, 0, 0, 0, 0]) != 0
}
}

/// How long a call waits for what comes through a socket; none if there is no limit, or it is no socket.
fn limit_of(file: c_int) -> Option<Wait> {
    let mut limit = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut length = size_of::<libc::timeval>() as u32;
    let (limit_at, length_at) = ((&raw mut limit) as usize, (&raw mut length) as usize);
    let (level, name) = (libc::SOL_SOCKET as usize, libc::SO_RCVTIMEO as usize);
    // SAFETY: the kernel writes into what we own.
    let answer =
        unsafe { sys::call(libc::SYS_getsockopt, [file as usize, level, name, limit_at, length_at, 0]) };
    // SAFETY: it is our own.
    let limit = unsafe { readiness::length_in_microseconds(&raw const limit) };
    limit.filter(|limit| answer == 0 && !limit.is_none())
}

/// What a thread does with what a file carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Puts something into it, or ends it.
    Sends,
    /// Takes what is there.
    Takes,
    /// Is told that something is there.
    Sees,
}

impl Use {
    /// The event for it. A counter and a list of files are variables: who takes what is in a counter takes all of it, so that what is sent before
    /// and what is sent after are not the same. For the others it is an order that counts.
    fn kind(self, passage: Passage) -> Kind {
        match (passage, self) {
            (Passage::Counter(_) | Passage::Interest(_), Use::Sends | Use::Takes) => Kind::AtomicUpdate1,
            (Passage::Counter(_) | Passage::Interest(_), Use::Sees) => Kind::AtomicRead1,
            (_, Use::Sends) => Kind::HappensBefore,
            (_, Use::Takes | Use::Sees) => Kind::HappensAfter,
        }
    }
}

/// An order through a file, as an event of the calling thread.
pub(super) fn log_use(how: Use, passage: Passage, pc: u64) {
    if let Some(inside) = enter() {
        let (kind, object) = (how.kind(passage), passage.object());
        inside.stop_before(kind, object, 1, pc);
        inside.simple(kind, pc, object);
    }
}

/// The parts of a message, as far as they hold this number of bytes.
pub(super) struct Ranges(pub(super) [(u64, usize); MOST_PARTS]);

impl Ranges {
    pub(super) fn one(bytes: Bytes, size: usize) -> Ranges {
        let mut ranges = [(0, 0); MOST_PARTS];
        ranges[0] = (bytes as u64, size);
        Ranges(ranges)
    }

    /// # Safety
    /// The message has this number of parts.
    pub(super) unsafe fn of(parts: Parts, count: usize) -> Ranges {
// SAFETY: the message has this number of parts.
unsafe {
        let mut ranges = [(0, 0); MOST_PARTS];
        for (index, range) in ranges.iter_mut().enumerate().take(count) {
            let part = &*parts.add(index);
            *range = (part.iov_base as u64, part.iov_len);
        }
        Ranges(ranges)
    }
}

    /// # Safety
    /// The message is one.
    pub(super) unsafe fn of_message(message: *const libc::msghdr) -> Ranges {
// SAFETY: the message is valid and has this number of parts.
unsafe {
        Ranges::of((*message).msg_iov, (*message).msg_iovlen)
    }
}

    pub(super) fn first(mut self, bytes: usize) -> Ranges {
        let mut left = bytes;
        for (_, size) in &mut self.0 {
            *size = left.min(*size);
            left -= *size;
        }
        self
    }
}

/// A file's number as something to access: using the file reads it and closing the file writes it, so that a file which is closed while another
/// thread may use it is a race.
pub(super) fn log_access(kind: Kind, file: c_int, pc: u64) {
    if file >= 0
        && let Some(inside) = enter()
    {
        let object = Passage::File(file as u32).object();
        inside.stop_before(kind, object, 1, pc);
        inside.simple(kind, pc, object);
    }
}

/// Waits for what comes through a file, and takes it.
pub(super) fn receive(
    file: c_int,
    into: impl FnOnce() -> Ranges,
    pc: u64,
    really: impl FnOnce() -> isize,
) -> isize {
    receive_as(Taking::Takes, file, into, pc, really)
}

/// The same for a call that may leave there what it finds.
fn receive_as(
    taking: Taking,
    file: c_int,
    into: impl FnOnce() -> Ranges,
    pc: u64,
    really: impl FnOnce() -> isize,
) -> isize {
    log_access(Kind::Read1, file, pc);
    let Some(inside) = enter_point() else {
        clients::unseen(file);
        return really();
    };
    let passage = passage(file);
    let result = if is_ready(file, libc::POLLIN) {
        drop(inside);
        really()
    } else {
        let question = Question::ask(&inside, file, taking);
        // SAFETY: the thread's own error number.
        let ran_out = |&result: &isize| result < 0 && unsafe { *libc::__errno_location() } == libc::EAGAIN;
        let call = || {
            question.into_iter().for_each(Question::wait);
            really()
        };
        outside_limited(inside, limit_of(file), call, ran_out)
    };
    if result >= 0 {
        let into = into();
        own_files::used();
        clients::received(file, taking, &into.0, result as usize);
        log_use(Use::Takes, passage, pc);
        log_ranges(pc, &[], &into.first(result as usize).0);
    } else {
        clients::received_nothing(file, taking);
    }
    result
}

/// Sends something through a file.
pub(super) fn send_through(file: c_int, from: Ranges, pc: u64, really: impl FnOnce() -> isize) -> isize {
    log_access(Kind::Read1, file, pc);
    let Some(inside) = enter_point() else { return really() };
    drop(inside);
    log_ranges(pc, &from.0, &[]);
    log_use(Use::Sends, passage(file), pc);
    let result = match enter() {
        Some(inside) if !is_ready(file, libc::POLLOUT) => outside(inside, really),
        _ => really(),
    };
    own_files::used();
    clients::sent(file, result);
    result
}

hook! {
    fn read(file: c_int, bytes: Bytes, size: usize; pc in "rcx") -> isize {
        receive(file, || Ranges::one(bytes, size), pc, || real!(read(file => c_int, bytes => Bytes, size => usize) -> isize))
    }
    fn readv(file: c_int, parts: Parts, count: c_int; pc in "rcx") -> isize {
        receive(file, || Ranges::of(parts, count as usize), pc, || {
            real!(readv(file => c_int, parts => Parts, count => c_int) -> isize)
        })
    }
    fn recv(file: c_int, bytes: Bytes, size: usize, flags: c_int; pc in "r8") -> isize {
        receive_as(Taking::with(flags), file, || Ranges::one(bytes, size), pc, || {
            real!(recv(file => c_int, bytes => Bytes, size => usize, flags => c_int) -> isize)
        })
    }
    fn recvmsg(file: c_int, message: *mut libc::msghdr, flags: c_int; pc in "rcx") -> isize {
        receive_as(Taking::with(flags), file, || Ranges::of_message(message), pc, || {
            real!(recvmsg(file => c_int, message => *mut libc::msghdr, flags => c_int) -> isize)
        })
    }
    fn accept(file: c_int, address: Bytes, length: Bytes; pc in "rcx") -> c_int {
        let new = receive_as(Taking::Accepts, file, || Ranges::one(address, 0), pc, || {
            real!(accept(file => c_int, address => Bytes, length => Bytes) -> c_int) as isize
        });
        let new = as_recorded(new as c_int);
        clients::accepted(new);
        opened(new, pc)
    }
    fn accept4(file: c_int, address: Bytes, length: Bytes, flags: c_int; pc in "r8") -> c_int {
        let new = receive_as(Taking::Accepts, file, || Ranges::one(address, 0), pc, || {
            real!(accept4(file => c_int, address => Bytes, length => Bytes, flags => c_int) -> c_int) as isize
        });
        let new = as_recorded(new as c_int);
        clients::accepted(new);
        opened(new, pc)
    }
    fn pread(file: c_int, bytes: Bytes, size: usize, offset: c_long; pc in "r8") -> isize {
        receive(file, || Ranges::one(bytes, size), pc, || {
            real!(pread(file => c_int, bytes => Bytes, size => usize, offset => c_long) -> isize)
        })
    }
    fn pread64(file: c_int, bytes: Bytes, size: usize, offset: c_long; pc in "r8") -> isize {
        receive(file, || Ranges::one(bytes, size), pc, || {
            real!(pread64(file => c_int, bytes => Bytes, size => usize, offset => c_long) -> isize)
        })
    }
    fn write(file: c_int, bytes: Bytes, size: usize; pc in "rcx") -> isize {
        send_through(file, Ranges::one(bytes, size), pc, || {
            real!(write(file => c_int, bytes => Bytes, size => usize) -> isize)
        })
    }
    fn writev(file: c_int, parts: Parts, count: c_int; pc in "rcx") -> isize {
        send_through(file, Ranges::of(parts, count as usize), pc, || {
            real!(writev(file => c_int, parts => Parts, count => c_int) -> isize)
        })
    }
    fn send(file: c_int, bytes: Bytes, size: usize, flags: c_int; pc in "r8") -> isize {
        send_through(file, Ranges::one(bytes, size), pc, || {
            real!(send(file => c_int, bytes => Bytes, size => usize, flags => c_int) -> isize)
        })
    }
    fn sendmsg(file: c_int, message: *const libc::msghdr, flags: c_int; pc in "rcx") -> isize {
        send_through(file, Ranges::of_message(message), pc, || {
            real!(sendmsg(file => c_int, message => *const libc::msghdr, flags => c_int) -> isize)
        })
    }
    fn pwrite(file: c_int, bytes: Bytes, size: usize, offset: c_long; pc in "r8") -> isize {
        send_through(file, Ranges::one(bytes, size), pc, || {
            real!(pwrite(file => c_int, bytes => Bytes, size => usize, offset => c_long) -> isize)
        })
    }
    fn eventfd_read(file: c_int, value: *mut u64; pc in "rdx") -> c_int {
        let taken = receive(file, || Ranges::one(value.cast(), size_of::<u64>()), pc, || {
            // As `read` returns it: the number of bytes, or a failure.
            match real!(eventfd_read(file => c_int, value => *mut u64) -> c_int) {
                0 => size_of::<u64>() as isize,
                failure => failure as isize,
            }
        });
        taken.min(0) as c_int
    }
    fn eventfd_write(file: c_int, value: u64; pc in "rdx") -> c_int {
        send_through(file, Ranges::one(core::ptr::null_mut(), 0), pc, || {
            real!(eventfd_write(file => c_int, value => u64) -> c_int) as isize
        }) as c_int
    }
    fn pwrite64(file: c_int, bytes: Bytes, size: usize, offset: c_long; pc in "r8") -> isize {
        send_through(file, Ranges::one(bytes, size), pc, || {
            real!(pwrite64(file => c_int, bytes => Bytes, size => usize, offset => c_long) -> isize)
        })
    }
    fn connect(file: c_int, address: Bytes, length: u32; pc in "rcx") -> c_int {
        // Who accepts comes after.
        log_use(Use::Sends, passage(file), pc);
        let really = || real!(connect(file => c_int, address => Bytes, length => u32) -> c_int);
        let result = match enter() {
            Some(inside) => outside(inside, really),
            None => really(),
        };
        clients::connected(file);
        result
    }
    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, files: *mut c_int; pc in "r8") -> c_int {
        let result = real!(socketpair(domain => c_int, kind => c_int, protocol => c_int, files => *mut c_int) -> c_int);
        if result == 0 {
            pair_as_recorded(files);
            remember_pair(*files, *files.add(1));
        }
        opened_pair(result, files, pc)
    }
    fn shutdown(file: c_int, how: c_int; pc in "rdx") -> c_int {
        log_use(Use::Sends, passage(file), pc);
        let result = real!(shutdown(file => c_int, how => c_int) -> c_int);
        own_files::used();
        result
    }
    fn close(file: c_int; pc in "rsi") -> c_int {
        closing(file, pc);
        let result = real!(close(file => c_int) -> c_int);
        own_files::used();
        result
    }
}

/// The file with this number is about to be closed.
pub(super) fn closing(file: c_int, pc: u64) {
    log_access(Kind::Write1, file, pc);
    log_end(file, pc);
}

/// What the number stands for ends.
pub(super) fn log_end(file: c_int, pc: u64) {
    // Who reads comes to the end.
    log_use(Use::Sends, passage(file), pc);
    // Who is given its number comes after.
    if file >= 0 {
        forget_own(file);
        clients::closing(file);
        epoll::forget(file);
        log_use(Use::Sends, Passage::Descriptor(file as u32), pc);
    }
}

hook_of_six! {
    fn recvfrom(file: c_int, bytes: Bytes, size: usize, flags: c_int, address: Bytes, length: Bytes; pc) -> isize {
        receive_as(Taking::with(flags), file, || Ranges::one(bytes, size), pc, || real!(recvfrom(
            file => c_int, bytes => Bytes, size => usize, flags => c_int, address => Bytes, length => Bytes
        ) -> isize))
    }
    fn sendto(file: c_int, bytes: Bytes, size: usize, flags: c_int, address: Bytes, length: u32; pc) -> isize {
        send_through(file, Ranges::one(bytes, size), pc, || real!(sendto(
            file => c_int, bytes => Bytes, size => usize, flags => c_int, address => Bytes, length => u32
        ) -> isize))
    }
}
