//! Functions that ask the kernel or the C library about files, sockets, processes, threads and names: what they fill is written.

use core::ffi::{c_char, c_int, c_ulong, c_void};

use super::databases::log_name;
use super::files::{Parts, Ranges};
use super::filled::{fills, log_fill, log_text, none};
use super::ranges::log_ranges;
use super::{hook, hook_of_six};
use crate::real::real;

type Bytes = *mut c_void;
type Text = *mut c_char;

const INT: usize = size_of::<c_int>();
const SIZE: usize = size_of::<usize>();
const PARAMETERS: usize = size_of::<libc::sched_param>();

fn one(result: c_int) -> bool {
    result == 1
}

fills! {
    log_fill:
    fn sem_getvalue(semaphore: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn sched_getaffinity(process: c_int, size: usize, to: Bytes; pc in "rcx") -> c_int: to, size, none;
    fn sched_getparam(process: c_int, to: Bytes; pc in "rdx") -> c_int: to, PARAMETERS, none;
    fn tcgetattr(file: c_int, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::termios>(), none;
    fn timerfd_gettime(file: c_int, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::itimerspec>(), none;
    fn mincore(start: Bytes, size: usize, to: Bytes; pc in "rcx") -> c_int: to, size.div_ceil(PAGE), none;
    fn clock_getcpuclockid(process: c_int, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn inet_aton(text: Text, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::in_addr>(), one;
    fn ether_aton_r(text: Text, to: Bytes; pc in "rdx") -> Bytes: to, ETHERNET, |found| !found.is_null();
    fn pthread_getcpuclockid(thread: c_ulong, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_attr_getdetachstate(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_attr_getguardsize(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, SIZE, none;
    fn pthread_attr_getinheritsched(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_attr_getschedparam(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, PARAMETERS, none;
    fn pthread_attr_getschedpolicy(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_attr_getscope(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_attr_getstacksize(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, SIZE, none;
    fn pthread_attr_getaffinity_np(attributes: Bytes, size: usize, to: Bytes; pc in "rcx") -> c_int: to, size, none;
    fn pthread_mutexattr_gettype(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_mutexattr_getpshared(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_mutexattr_getprotocol(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_mutexattr_getprioceiling(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_mutexattr_getrobust(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_rwlockattr_getpshared(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_rwlockattr_getkind_np(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_condattr_getpshared(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_condattr_getclock(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
    fn pthread_barrierattr_getpshared(attributes: Bytes, to: Bytes; pc in "rdx") -> c_int: to, INT, none;
}

const PAGE: usize = 4096;
/// The address of a network card.
const ETHERNET: usize = 6;

/// Functions that fill as many bytes as they return, unless they are asked with no room what room there must be.
macro_rules! fills_returned {
    ($(fn $name:ident($($argument:ident: $type:ty),*; $pc:ident in $register:literal) -> $result:ty: $to:ident, $room:expr $(, reads $text:ident)*;)*) => {
        hook! {
            $(fn $name($($argument: $type),*; $pc in $register) -> $result {
                $(log_name($text, $pc);)*
                let size = real!($name($($argument => $type),*) -> $result);
                if size > 0 && $room > 0 {
                    log_fill($to.cast(), (size as usize).min($room as usize), $pc);
                }
                size
            })*
        }
    };
}

fills_returned! {
    fn getxattr(path: Text, name: Text, to: Bytes, size: usize; pc in "r8") -> isize: to, size, reads path, reads name;
    fn lgetxattr(path: Text, name: Text, to: Bytes, size: usize; pc in "r8") -> isize: to, size, reads path, reads name;
    fn fgetxattr(file: c_int, name: Text, to: Bytes, size: usize; pc in "r8") -> isize: to, size, reads name;
    fn listxattr(path: Text, to: Text, size: usize; pc in "rcx") -> isize: to, size, reads path;
    fn llistxattr(path: Text, to: Text, size: usize; pc in "rcx") -> isize: to, size, reads path;
    fn flistxattr(file: c_int, to: Text, size: usize; pc in "rcx") -> isize: to, size;
    fn readlinkat(directory: c_int, path: Text, to: Text, size: usize; pc in "r8") -> isize: to, size, reads path;
    fn confstr(name: c_int, to: Text, size: usize; pc in "rcx") -> usize: to, size;
}

/// Functions that fill a text if they return 0.
macro_rules! fills_text {
    ($(fn $name:ident($($argument:ident: $type:ty),*; $pc:ident in $register:literal): $to:ident;)*) => {
        hook! {
            $(fn $name($($argument: $type),*; $pc in $register) -> c_int {
                let error = real!($name($($argument => $type),*) -> c_int);
                if error == 0 {
                    log_text($to, $pc);
                }
                error
            })*
        }
    };
}

fills_text! {
    fn ttyname_r(file: c_int, to: Text, size: usize; pc in "rcx"): to;
    fn ptsname_r(file: c_int, to: Text, size: usize; pc in "rcx"): to;
    fn pthread_getname_np(thread: c_ulong, to: Text, size: usize; pc in "rcx"): to;
}

type Length = *mut libc::socklen_t;
const LENGTH: usize = size_of::<libc::socklen_t>();

/// Records a call that fills what there is room for, and says how much there is.
///
/// # Safety
/// The length is valid.
unsafe fn log_with_length(to: Bytes, length: Length, pc: u64, really: impl FnOnce() -> c_int) -> c_int {
    log_ranges(pc, &[(length as u64, LENGTH)], &[]);
    // SAFETY: by this function's contract.
    let room = unsafe { *length };
    let result = really();
    if result == 0 {
        // SAFETY: the same.
        let filled = room.min(unsafe { *length }) as usize;
        log_ranges(pc, &[], &[(to as u64, filled), (length as u64, LENGTH)]);
    }
    result
}

/// Three numbers of a process, which are written if the call succeeds.
fn log_three(result: c_int, numbers: [Bytes; 3], pc: u64) -> c_int {
    if result == 0 {
        log_ranges(pc, &[], &numbers.map(|number| (number as u64, INT)));
    }
    result
}

hook! {
    fn getsockname(file: c_int, to: Bytes, length: Length; pc in "rcx") -> c_int {
        log_with_length(to, length, pc, || {
            real!(getsockname(file => c_int, to => Bytes, length => Length) -> c_int)
        })
    }
    fn getpeername(file: c_int, to: Bytes, length: Length; pc in "rcx") -> c_int {
        log_with_length(to, length, pc, || {
            real!(getpeername(file => c_int, to => Bytes, length => Length) -> c_int)
        })
    }
    fn getsockopt(file: c_int, level: c_int, option: c_int, to: Bytes, length: Length; pc in "r9") -> c_int {
        log_with_length(to, length, pc, || {
            real!(getsockopt(file => c_int, level => c_int, option => c_int, to => Bytes, length => Length) -> c_int)
        })
    }
    fn getresuid(real: Bytes, effective: Bytes, saved: Bytes; pc in "rcx") -> c_int {
        let result = real!(getresuid(real => Bytes, effective => Bytes, saved => Bytes) -> c_int);
        log_three(result, [real, effective, saved], pc)
    }
    fn getresgid(real: Bytes, effective: Bytes, saved: Bytes; pc in "rcx") -> c_int {
        let result = real!(getresgid(real => Bytes, effective => Bytes, saved => Bytes) -> c_int);
        log_three(result, [real, effective, saved], pc)
    }
    fn getgroups(room: c_int, to: Bytes; pc in "rdx") -> c_int {
        let count = real!(getgroups(room => c_int, to => Bytes) -> c_int);
        if count > 0 && room > 0 {
            log_fill(to, count as usize * size_of::<libc::gid_t>(), pc);
        }
        count
    }
    fn getloadavg(to: Bytes, room: c_int; pc in "rdx") -> c_int {
        let count = real!(getloadavg(to => Bytes, room => c_int) -> c_int);
        if count > 0 {
            log_fill(to, count as usize * size_of::<f64>(), pc);
        }
        count
    }
    fn inet_pton(family: c_int, text: Text, to: Bytes; pc in "rcx") -> c_int {
        log_name(text, pc);
        let result = real!(inet_pton(family => c_int, text => Text, to => Bytes) -> c_int);
        if one(result) {
            let size = if family == libc::AF_INET { size_of::<libc::in_addr>() } else { size_of::<libc::in6_addr>() };
            log_fill(to, size, pc);
        }
        result
    }
    fn ether_ntoa_r(address: Bytes, to: Text; pc in "rdx") -> Text {
        log_ranges(pc, &[(address as u64, ETHERNET)], &[]);
        log_text(real!(ether_ntoa_r(address => Bytes, to => Text) -> Text), pc)
    }
    fn if_indextoname(index: u32, to: Text; pc in "rdx") -> Text {
        log_text(real!(if_indextoname(index => u32, to => Text) -> Text), pc)
    }
    fn tmpnam_r(to: Text; pc in "rsi") -> Text {
        log_text(real!(tmpnam_r(to => Text) -> Text), pc)
    }
    fn backtrace(to: Bytes, room: c_int; pc in "rdx") -> c_int {
        let count = real!(backtrace(to => Bytes, room => c_int) -> c_int);
        log_fill(to, count.max(0) as usize * SIZE, pc);
        count
    }
    fn pthread_attr_getstack(attributes: Bytes, start: Bytes, size: Bytes; pc in "rcx") -> c_int {
        let error = real!(pthread_attr_getstack(attributes => Bytes, start => Bytes, size => Bytes) -> c_int);
        if error == 0 {
            log_ranges(pc, &[], &[(start as u64, SIZE), (size as u64, SIZE)]);
        }
        error
    }
    fn pthread_getschedparam(thread: c_ulong, policy: Bytes, parameters: Bytes; pc in "rcx") -> c_int {
        let error = real!(pthread_getschedparam(thread => c_ulong, policy => Bytes, parameters => Bytes) -> c_int);
        if error == 0 {
            log_ranges(pc, &[], &[(policy as u64, INT), (parameters as u64, PARAMETERS)]);
        }
        error
    }
}

hook_of_six! {
    fn process_vm_readv(process: c_int, to: Parts, count: c_ulong, from: Parts, pieces: c_ulong, flags: c_ulong; pc) -> isize {
        let size = real!(process_vm_readv(
            process => c_int, to => Parts, count => c_ulong, from => Parts, pieces => c_ulong, flags => c_ulong
        ) -> isize);
        if size > 0 {
            log_ranges(pc, &[], &Ranges::of(to, count as usize).first(size as usize).0);
        }
        size
    }
    fn process_vm_writev(process: c_int, from: Parts, count: c_ulong, to: Parts, pieces: c_ulong, flags: c_ulong; pc) -> isize {
        log_ranges(pc, &Ranges::of(from, count as usize).0, &[]);
        real!(process_vm_writev(
            process => c_int, from => Parts, count => c_ulong, to => Parts, pieces => c_ulong, flags => c_ulong
        ) -> isize)
    }
}
