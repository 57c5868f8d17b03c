//! Functions of the C library that fill memory of the program: their writes are recorded when they return.

use core::ffi::{c_char, c_int, c_long, c_void};

use super::hook;
use super::ranges::{length, log_ranges};
use super::variadic::{Arguments, variadic};
use crate::real::real;

type Bytes = *mut c_void;
type Text = *mut c_char;

/// Tells that so many bytes were written there, unless that is nowhere.
fn log_fill(to: Bytes, size: usize, pc: u64) {
    if !to.is_null() {
        log_ranges(pc, &[], &[(to as u64, size)]);
    }
}

/// How far above our own frame those are of the function that asks for the time.
const OWN_FRAMES: u64 = 1 << 10;

/// The same of the time. How often an event loop asks for it depends on the time itself, and the positions of a thread must not: what is in the
/// frame of the function that asks is nobody else's.
fn log_time(to: Bytes, size: usize, pc: u64) {
    let here = 0_u8;
    if (to as u64).wrapping_sub((&raw const here) as u64) >= OWN_FRAMES {
        log_fill(to, size, pc);
    }
}

/// Tells that this text was written, unless it is none.
///
/// # Safety
/// The text is null or ends with a zero.
unsafe fn log_text(text: Text, pc: u64) -> Text {
// SAFETY: the text is not null.
unsafe {
    if !text.is_null() {
        log_fill(text.cast(), length(text) + 1, pc);
    }
    text
}
}

/// Functions that fill one object of a known size and say by their result whether they did.
macro_rules! fills {
    ($how:ident: $(fn $name:ident($($argument:ident: $type:ty),*; $pc:ident in $register:literal) -> $result:ty: $to:ident, $size:expr, $good:expr;)*) => {
        hook! {
            $(fn $name($($argument: $type),*; $pc in $register) -> $result {
                let result = real!($name($($argument => $type),*) -> $result);
                let is_good: fn($result) -> bool = $good;
                if is_good(result) {
                    $how($to.cast(), $size, $pc);
                }
                result
            })*
        }
    };
}

const TIME: usize = size_of::<libc::time_t>();
const TIMESPEC: usize = size_of::<libc::timespec>();
const CALENDAR: usize = size_of::<libc::tm>();
const STATUS: usize = size_of::<libc::stat>();

fn none(result: c_int) -> bool {
    result == 0
}

fn some(result: Bytes) -> bool {
    !result.is_null()
}

fills! {
    log_time:
    fn time(to: Bytes; pc in "rsi") -> libc::time_t: to, TIME, |_| true;
    fn gettimeofday(to: Bytes, zone: Bytes; pc in "rdx") -> c_int: to, TIMESPEC, none;
    fn clock_gettime(clock: c_int, to: Bytes; pc in "rdx") -> c_int: to, TIMESPEC, none;
}

fills! {
    log_fill:
    fn clock_getres(clock: c_int, to: Bytes; pc in "rdx") -> c_int: to, TIMESPEC, none;
    fn localtime_r(time: Bytes, to: Bytes; pc in "rdx") -> Bytes: to, CALENDAR, some;
    fn gmtime_r(time: Bytes, to: Bytes; pc in "rdx") -> Bytes: to, CALENDAR, some;
    fn stat(path: Text, to: Bytes; pc in "rdx") -> c_int: to, STATUS, none;
    fn lstat(path: Text, to: Bytes; pc in "rdx") -> c_int: to, STATUS, none;
    fn fstat(file: c_int, to: Bytes; pc in "rdx") -> c_int: to, STATUS, none;
    fn fstatat(directory: c_int, path: Text, to: Bytes, flags: c_int; pc in "r8") -> c_int: to, STATUS, none;
    fn gethostname(to: Bytes, size: usize; pc in "rdx") -> c_int: to, size, none;
    fn getrusage(who: c_int, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::rusage>(), none;
    fn sigemptyset(to: Bytes; pc in "rsi") -> c_int: to, size_of::<libc::sigset_t>(), none;
    fn sigfillset(to: Bytes; pc in "rsi") -> c_int: to, size_of::<libc::sigset_t>(), none;
    fn rand_r(seed: Bytes; pc in "rsi") -> c_int: seed, size_of::<c_int>(), |_| true;
}

hook! {
    fn strerror_r(error: c_int, to: Text, size: usize; pc in "rcx") -> Text {
        let text = real!(strerror_r(error => c_int, to => Text, size => usize) -> Text);
        // A text of its own is not written anywhere.
        if text == to && size > 0 { log_text(text, pc) } else { text }
    }
    fn __xpg_strerror_r(error: c_int, to: Text, size: usize; pc in "rcx") -> c_int {
        let result = real!(__xpg_strerror_r(error => c_int, to => Text, size => usize) -> c_int);
        if size > 0 {
            log_text(to, pc);
        }
        result
    }
    fn ctime_r(time: Bytes, to: Text; pc in "rdx") -> Text {
        log_ranges(pc, &[(time as u64, TIME)], &[]);
        log_text(real!(ctime_r(time => Bytes, to => Text) -> Text), pc)
    }
    fn asctime_r(time: Bytes, to: Text; pc in "rdx") -> Text {
        log_ranges(pc, &[(time as u64, CALENDAR)], &[]);
        log_text(real!(asctime_r(time => Bytes, to => Text) -> Text), pc)
    }
    fn strftime(to: Text, size: usize, format: Text, time: Bytes; pc in "r8") -> usize {
        log_ranges(pc, &[(time as u64, CALENDAR)], &[]);
        let length = real!(strftime(to => Text, size => usize, format => Text, time => Bytes) -> usize);
        if length > 0 {
            log_fill(to.cast(), length + 1, pc);
        }
        length
    }
    fn fgets(to: Text, size: c_int, stream: Bytes; pc in "rcx") -> Text {
        log_text(real!(fgets(to => Text, size => c_int, stream => Bytes) -> Text), pc)
    }
    fn getline(line: *mut Text, size: *mut usize, stream: Bytes; pc in "rcx") -> isize {
        log_line(line, size, pc, || real!(getline(line => *mut Text, size => *mut usize, stream => Bytes) -> isize))
    }
    fn getdelim(line: *mut Text, size: *mut usize, end: c_int, stream: Bytes; pc in "r8") -> isize {
        log_line(line, size, pc, || {
            real!(getdelim(line => *mut Text, size => *mut usize, end => c_int, stream => Bytes) -> isize)
        })
    }
    fn __getdelim(line: *mut Text, size: *mut usize, end: c_int, stream: Bytes; pc in "r8") -> isize {
        log_line(line, size, pc, || {
            real!(__getdelim(line => *mut Text, size => *mut usize, end => c_int, stream => Bytes) -> isize)
        })
    }
    fn getcwd(to: Text, size: usize; pc in "rdx") -> Text {
        log_text(real!(getcwd(to => Text, size => usize) -> Text), pc)
    }
    fn realpath(path: Text, to: Text; pc in "rdx") -> Text {
        log_text(real!(realpath(path => Text, to => Text) -> Text), pc)
    }
    fn readlink(path: Text, to: Bytes, size: usize; pc in "rcx") -> isize {
        let length = real!(readlink(path => Text, to => Bytes, size => usize) -> isize);
        if length > 0 {
            log_fill(to, length as usize, pc);
        }
        length
    }
    fn inet_ntop(family: c_int, address: Bytes, to: Text, size: u32; pc in "r8") -> Text {
        log_text(real!(inet_ntop(family => c_int, address => Bytes, to => Text, size => u32) -> Text), pc)
    }
    fn strtol(text: Text, end: *mut Text, base: c_int; pc in "rcx") -> c_long {
        // With a base that is none nothing is looked at, and where it ended is not told.
        let mut after = text;
        let value = real!(strtol(text => Text, &raw mut after => *mut Text, base => c_int) -> c_long);
        log_ranges(pc, &[(text as u64, after as usize - text as usize + 1)], &[]);
        if !end.is_null() {
            log_ranges(pc, &[], &[(end as u64, size_of::<Text>())]);
            *end = after;
        }
        value
    }
    fn atoi(text: Text; pc in "rsi") -> c_int {
        let mut after = text;
        let value = real!(strtol(text => Text, &raw mut after => *mut Text, 10 => c_int) -> c_long);
        log_ranges(pc, &[(text as u64, after as usize - text as usize + 1)], &[]);
        value as c_int
    }
    fn vsprintf(to: Text, format: Text, rest: *mut Arguments; pc in "rcx") -> c_int {
        log_print(to, usize::MAX, pc, || {
            real!(vsprintf(to => Text, format => Text, rest => *mut Arguments) -> c_int)
        })
    }
    fn vsnprintf(to: Text, size: usize, format: Text, rest: *mut Arguments; pc in "r8") -> c_int {
        log_print(to, size, pc, || {
            real!(vsnprintf(to => Text, size => usize, format => Text, rest => *mut Arguments) -> c_int)
        })
    }
}

variadic! {
    fn sprintf([to: Text, format: Text], rest, pc) -> c_int {
        log_print(to, usize::MAX, pc, || {
            real!(vsprintf(to => Text, format => Text, rest => *mut Arguments) -> c_int)
        })
    }
    fn snprintf([to: Text, size: usize, format: Text], rest, pc) -> c_int {
        log_print(to, size, pc, || {
            real!(vsnprintf(to => Text, size => usize, format => Text, rest => *mut Arguments) -> c_int)
        })
    }
}

/// Prints into memory of this size.
fn log_print(to: Text, size: usize, pc: u64, really: impl FnOnce() -> c_int) -> c_int {
    let length = really();
    if length >= 0 && size > 0 {
        log_fill(to.cast(), (length as usize).saturating_add(1).min(size), pc);
    }
    length
}

/// Reads a line into memory that the C library makes larger if it is too small.
///
/// # Safety
/// As for `getline`.
unsafe fn log_line(line: *mut Text, size: *mut usize, pc: u64, really: impl FnOnce() -> isize) -> isize {
// SAFETY: both are the program's variables, which `getline` may read and write.
unsafe {
    log_ranges(pc, &[(line as u64, size_of::<Text>()), (size as u64, size_of::<usize>())], &[]);
    let (line_before, size_before) = (*line, *size);
    let length = really();
    if *line != line_before {
        log_ranges(pc, &[], &[(line as u64, size_of::<Text>())]);
    }
    if *size != size_before {
        log_ranges(pc, &[], &[(size as u64, size_of::<usize>())]);
    }
    if length >= 0 {
        log_fill((*line).cast(), length as usize + 1, pc);
    }
    length
}
}
