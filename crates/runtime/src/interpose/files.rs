//! Calls that move data through files. A thread that would block gives up the token while it waits. A file that
//! is ready, as a regular file always is, lets the thread keep the token, so the call does not change the
//! schedule.
//!
//! The memory that is filled or sent counts as accessed. Data from a pipe or a socket comes after everything that
//! happened before it was sent, or before the other end was closed: see [`super::passages`].

use core::ffi::{c_int, c_long, c_void};

use wire::{Kind, Passage};

use super::passages::{passage, remember_pair};
use super::ranges::log_ranges;
use super::{hook, hook_of_six, outside};
use crate::inside::{enter, enter_point};
use crate::real::real;
use crate::sys;

type Bytes = *mut c_void;
type Parts = *const libc::iovec;

/// The most parts of a message that are looked at.
const MOST_PARTS: usize = 16;

/// Whether the file is ready for this, now.
fn is_ready(file: c_int, events: i16) -> bool {
// SAFETY: the kernel writes into what we own.
unsafe {
    let mut what = libc::pollfd { fd: file, events, revents: 0 };
    sys::call(libc::SYS_poll, [(&raw mut what) as usize, 1, 0, 0, 0, 0]) != 0
}
}

/// An order through a file, as an event of the calling thread.
pub(super) fn log_order(kind: Kind, passage: Passage, pc: u64) {
    if let Some(inside) = enter() {
        let object = passage.object();
        inside.stop_before(kind, object, 1, pc);
        inside.simple(kind, pc, object);
    }
}

/// The parts of a message, as far as they hold so many bytes.
struct Ranges([(u64, usize); MOST_PARTS]);

impl Ranges {
    fn one(bytes: Bytes, size: usize) -> Ranges {
        let mut ranges = [(0, 0); MOST_PARTS];
        ranges[0] = (bytes as u64, size);
        Ranges(ranges)
    }

    /// # Safety
    /// There are so many parts.
    unsafe fn of(parts: Parts, count: usize) -> Ranges {
// SAFETY: there are so many parts.
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
    unsafe fn of_message(message: *const libc::msghdr) -> Ranges {
// SAFETY: the message is one, with so many parts.
unsafe {
        Ranges::of((*message).msg_iov, (*message).msg_iovlen)
    }
}

    fn first(mut self, bytes: usize) -> Ranges {
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
fn receive(
    file: c_int,
    into: impl FnOnce() -> Ranges,
    pc: u64,
    really: impl FnOnce() -> isize,
) -> isize {
    log_access(Kind::Read1, file, pc);
    let Some(inside) = enter_point() else { return really() };
    let passage = passage(file);
    let result = if is_ready(file, libc::POLLIN) {
        drop(inside);
        really()
    } else {
        outside(inside, really)
    };
    if result >= 0 {
        log_order(Kind::HappensAfter, passage, pc);
        log_ranges(pc, &[], &into().first(result as usize).0);
    }
    result
}

/// Sends something through a file.
fn send_through(file: c_int, from: Ranges, pc: u64, really: impl FnOnce() -> isize) -> isize {
    log_access(Kind::Read1, file, pc);
    let Some(inside) = enter_point() else { return really() };
    drop(inside);
    log_ranges(pc, &from.0, &[]);
    log_order(Kind::HappensBefore, passage(file), pc);
    match enter() {
        Some(inside) if !is_ready(file, libc::POLLOUT) => outside(inside, really),
        _ => really(),
    }
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
        receive(file, || Ranges::one(bytes, size), pc, || {
            real!(recv(file => c_int, bytes => Bytes, size => usize, flags => c_int) -> isize)
        })
    }
    fn recvmsg(file: c_int, message: *mut libc::msghdr, flags: c_int; pc in "rcx") -> isize {
        receive(file, || Ranges::of_message(message), pc, || {
            real!(recvmsg(file => c_int, message => *mut libc::msghdr, flags => c_int) -> isize)
        })
    }
    fn accept(file: c_int, address: Bytes, length: Bytes; pc in "rcx") -> c_int {
        let new = receive(file, || Ranges::one(address, 0), pc, || {
            real!(accept(file => c_int, address => Bytes, length => Bytes) -> c_int) as isize
        });
        opened(new as c_int, pc)
    }
    fn accept4(file: c_int, address: Bytes, length: Bytes, flags: c_int; pc in "r8") -> c_int {
        let new = receive(file, || Ranges::one(address, 0), pc, || {
            real!(accept4(file => c_int, address => Bytes, length => Bytes, flags => c_int) -> c_int) as isize
        });
        opened(new as c_int, pc)
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
    fn pwrite64(file: c_int, bytes: Bytes, size: usize, offset: c_long; pc in "r8") -> isize {
        send_through(file, Ranges::one(bytes, size), pc, || {
            real!(pwrite64(file => c_int, bytes => Bytes, size => usize, offset => c_long) -> isize)
        })
    }
    fn connect(file: c_int, address: Bytes, length: u32; pc in "rcx") -> c_int {
        // Who accepts comes after.
        log_order(Kind::HappensBefore, passage(file), pc);
        let really = || real!(connect(file => c_int, address => Bytes, length => u32) -> c_int);
        match enter() {
            Some(inside) => outside(inside, really),
            None => really(),
        }
    }
    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, files: *mut c_int; pc in "r8") -> c_int {
        let result = real!(socketpair(domain => c_int, kind => c_int, protocol => c_int, files => *mut c_int) -> c_int);
        if result == 0 {
            remember_pair(*files, *files.add(1));
        }
        opened_pair(result, files, pc)
    }
    fn shutdown(file: c_int, how: c_int; pc in "rdx") -> c_int {
        log_order(Kind::HappensBefore, passage(file), pc);
        real!(shutdown(file => c_int, how => c_int) -> c_int)
    }
    fn close(file: c_int; pc in "rsi") -> c_int {
        closing(file, pc);
        real!(close(file => c_int) -> c_int)
    }
    fn epoll_ctl(file: c_int, operation: c_int, about: c_int, event: Bytes; pc in "r8") -> c_int {
        log_order(Kind::HappensBefore, Passage::Sockets, pc);
        real!(epoll_ctl(file => c_int, operation => c_int, about => c_int, event => Bytes) -> c_int)
    }
    fn epoll_wait(file: c_int, events: Bytes, count: c_int, limit: c_int; pc in "r8") -> c_int {
        wait_for_events(pc, limit, |limit| {
            real!(epoll_wait(file => c_int, events => Bytes, count => c_int, limit => c_int) -> c_int)
        })
    }
    fn epoll_pwait(file: c_int, events: Bytes, count: c_int, limit: c_int, mask: Bytes; pc in "r9") -> c_int {
        wait_for_events(pc, limit, |limit| {
            real!(epoll_pwait(file => c_int, events => Bytes, count => c_int, limit => c_int, mask => Bytes) -> c_int)
        })
    }
}

/// The file with this number is about to be closed.
pub(super) fn closing(file: c_int, pc: u64) {
    log_access(Kind::Write1, file, pc);
    log_end(file, pc);
}

/// What the number stands for ends.
fn log_end(file: c_int, pc: u64) {
    // Who reads comes to the end.
    log_order(Kind::HappensBefore, passage(file), pc);
    // Who is given its number comes after.
    if file >= 0 {
        log_order(Kind::HappensBefore, Passage::Descriptor(file as u32), pc);
    }
}

/// A number is about to be given to a copy of a file: what it stood for is closed. The number stays valid all the time, so others may use it
/// meanwhile, and programs do that on purpose; only closing it is a race.
fn replace(file: c_int, number: c_int, pc: u64) {
    log_access(Kind::Read1, file, pc);
    if file != number {
        log_access(Kind::Read1, number, pc);
        log_end(number, pc);
    }
}

/// The numbers of two new files, written by a call with this result.
///
/// # Safety
/// The call was given these two numbers to write.
pub(super) unsafe fn opened_pair(result: c_int, files: *mut c_int, pc: u64) -> c_int {
    if result == 0 {
        // SAFETY: the call has written both.
        let (one, other) = unsafe { (*files, *files.add(1)) };
        opened(one, pc);
        opened(other, pc);
        log_ranges(pc, &[], &[(files as u64, 2 * size_of::<c_int>())]);
    }
    result
}

/// The number of a new file: it comes after the number was closed.
fn opened(file: c_int, pc: u64) -> c_int {
    if file >= 0 {
        log_order(Kind::HappensAfter, Passage::Descriptor(file as u32), pc);
    }
    file
}

type Path = *const core::ffi::c_char;

// The mode, which is there only if a file may be created, is passed on as it came.
hook! {
    fn open(path: Path, flags: c_int, mode: u32; pc in "rcx") -> c_int {
        opened(real!(open(path => Path, flags => c_int, mode => u32) -> c_int), pc)
    }
    fn open64(path: Path, flags: c_int, mode: u32; pc in "rcx") -> c_int {
        opened(real!(open64(path => Path, flags => c_int, mode => u32) -> c_int), pc)
    }
    fn openat(directory: c_int, path: Path, flags: c_int, mode: u32; pc in "r8") -> c_int {
        opened(real!(openat(directory => c_int, path => Path, flags => c_int, mode => u32) -> c_int), pc)
    }
    fn openat64(directory: c_int, path: Path, flags: c_int, mode: u32; pc in "r8") -> c_int {
        opened(real!(openat64(directory => c_int, path => Path, flags => c_int, mode => u32) -> c_int), pc)
    }
    fn creat(path: Path, mode: u32; pc in "rdx") -> c_int {
        opened(real!(creat(path => Path, mode => u32) -> c_int), pc)
    }
    fn socket(domain: c_int, kind: c_int, protocol: c_int; pc in "rcx") -> c_int {
        opened(real!(socket(domain => c_int, kind => c_int, protocol => c_int) -> c_int), pc)
    }
    fn dup(file: c_int; pc in "rsi") -> c_int {
        log_access(Kind::Read1, file, pc);
        opened(real!(dup(file => c_int) -> c_int), pc)
    }
    fn dup2(file: c_int, number: c_int; pc in "rdx") -> c_int {
        replace(file, number, pc);
        opened(real!(dup2(file => c_int, number => c_int) -> c_int), pc)
    }
    fn dup3(file: c_int, number: c_int, flags: c_int; pc in "rcx") -> c_int {
        replace(file, number, pc);
        opened(real!(dup3(file => c_int, number => c_int, flags => c_int) -> c_int), pc)
    }
    fn pipe(files: *mut c_int; pc in "rsi") -> c_int {
        opened_pair(real!(pipe(files => *mut c_int) -> c_int), files, pc)
    }
    fn pipe2(files: *mut c_int, flags: c_int; pc in "rdx") -> c_int {
        opened_pair(real!(pipe2(files => *mut c_int, flags => c_int) -> c_int), files, pc)
    }
    fn eventfd(value: u32, flags: c_int; pc in "rdx") -> c_int {
        opened(real!(eventfd(value => u32, flags => c_int) -> c_int), pc)
    }
}

/// Waits for events of many files: tried without waiting first.
fn wait_for_events(pc: u64, limit: c_int, really: impl Fn(c_int) -> c_int) -> c_int {
    let Some(inside) = enter_point() else { return really(limit) };
    let result = match really(0) {
        0 => outside(inside, || really(limit)),
        result => {
            drop(inside);
            result
        }
    };
    if result > 0 {
        log_order(Kind::HappensAfter, Passage::Sockets, pc);
    }
    result
}

hook_of_six! {
    fn recvfrom(file: c_int, bytes: Bytes, size: usize, flags: c_int, address: Bytes, length: Bytes; pc) -> isize {
        receive(file, || Ranges::one(bytes, size), pc, || real!(recvfrom(
            file => c_int, bytes => Bytes, size => usize, flags => c_int, address => Bytes, length => Bytes
        ) -> isize))
    }
    fn sendto(file: c_int, bytes: Bytes, size: usize, flags: c_int, address: Bytes, length: u32; pc) -> isize {
        send_through(file, Ranges::one(bytes, size), pc, || real!(sendto(
            file => c_int, bytes => Bytes, size => usize, flags => c_int, address => Bytes, length => u32
        ) -> isize))
    }
}
