//! Functions of the C library that fill memory of the program, or return memory of its own that they have filled: their writes are recorded when
//! they return.

use core::ffi::{c_char, c_int, c_long, c_void};

use super::hook;
use super::ranges::{length, log_ranges};
use crate::real::real;

type Bytes = *mut c_void;
type Text = *mut c_char;

/// Records that this number of bytes was written there, unless that is nowhere.
pub(super) fn log_fill(to: Bytes, size: usize, pc: u64) {
    if !to.is_null() {
        log_ranges(pc, &[], &[(to as u64, size)]);
    }
}

/// Tells that this text was written, unless it is none.
///
/// # Safety
/// The text is null or ends with a zero.
pub(super) unsafe fn log_text(text: Text, pc: u64) -> Text {
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
pub(super) use fills;

const TIME: usize = size_of::<libc::time_t>();
const TIMESPEC: usize = size_of::<libc::timespec>();
const CALENDAR: usize = size_of::<libc::tm>();
const STATUS: usize = size_of::<libc::stat>();

pub(super) fn none(result: c_int) -> bool {
    result == 0
}

fn some(result: Bytes) -> bool {
    !result.is_null()
}

fills! {
    log_fill:
    fn clock_getres(clock: c_int, to: Bytes; pc in "rdx") -> c_int: to, TIMESPEC, none;
    fn localtime_r(time: Bytes, to: Bytes; pc in "rdx") -> Bytes: to, CALENDAR, some;
    fn gmtime_r(time: Bytes, to: Bytes; pc in "rdx") -> Bytes: to, CALENDAR, some;
    fn stat(path: Text, to: Bytes; pc in "rdx") -> c_int: to, STATUS, none;
    fn lstat(path: Text, to: Bytes; pc in "rdx") -> c_int: to, STATUS, none;
    fn fstat(file: c_int, to: Bytes; pc in "rdx") -> c_int: to, STATUS, none;
    fn stat64(path: Text, to: Bytes; pc in "rdx") -> c_int: to, STATUS, none;
    fn lstat64(path: Text, to: Bytes; pc in "rdx") -> c_int: to, STATUS, none;
    fn fstat64(file: c_int, to: Bytes; pc in "rdx") -> c_int: to, STATUS, none;
    fn fstatat64(directory: c_int, path: Text, to: Bytes, flags: c_int; pc in "r8") -> c_int: to, STATUS, none;
    fn fstatat(directory: c_int, path: Text, to: Bytes, flags: c_int; pc in "r8") -> c_int: to, STATUS, none;
    fn gethostname(to: Bytes, size: usize; pc in "rdx") -> c_int: to, size, none;
    fn getrusage(who: c_int, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::rusage>(), none;
    fn sigemptyset(to: Bytes; pc in "rsi") -> c_int: to, size_of::<libc::sigset_t>(), none;
    fn sigfillset(to: Bytes; pc in "rsi") -> c_int: to, size_of::<libc::sigset_t>(), none;
    fn rand_r(seed: Bytes; pc in "rsi") -> c_int: seed, size_of::<c_int>(), |_| true;
    fn random_r(state: Bytes, to: Bytes; pc in "rdx") -> c_int: to, size_of::<i32>(), none;
    fn lrand48_r(state: Bytes, to: Bytes; pc in "rdx") -> c_int: to, size_of::<c_long>(), none;
    fn drand48_r(state: Bytes, to: Bytes; pc in "rdx") -> c_int: to, size_of::<f64>(), none;
    fn statfs(path: Text, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::statfs>(), none;
    fn fstatfs(file: c_int, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::statfs>(), none;
    fn statfs64(path: Text, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::statfs>(), none;
    fn fstatfs64(file: c_int, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::statfs>(), none;
    fn statvfs64(path: Text, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::statvfs>(), none;
    fn fstatvfs64(file: c_int, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::statvfs>(), none;
    fn statvfs(path: Text, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::statvfs>(), none;
    fn fstatvfs(file: c_int, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::statvfs>(), none;
    fn uname(to: Bytes; pc in "rsi") -> c_int: to, size_of::<libc::utsname>(), none;
    fn sysinfo(to: Bytes; pc in "rsi") -> c_int: to, size_of::<libc::sysinfo>(), none;
    fn getitimer(which: c_int, to: Bytes; pc in "rdx") -> c_int: to, size_of::<libc::itimerval>(), none;
    fn sigpending(to: Bytes; pc in "rsi") -> c_int: to, size_of::<libc::sigset_t>(), none;
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
    fn localtime(time: Bytes; pc in "rsi") -> Bytes {
        log_ranges(pc, &[(time as u64, TIME)], &[]);
        let calendar = real!(localtime(time => Bytes) -> Bytes);
        log_fill(calendar, CALENDAR, pc);
        calendar
    }
    fn gmtime(time: Bytes; pc in "rsi") -> Bytes {
        log_ranges(pc, &[(time as u64, TIME)], &[]);
        let calendar = real!(gmtime(time => Bytes) -> Bytes);
        log_fill(calendar, CALENDAR, pc);
        calendar
    }
    fn ctime(time: Bytes; pc in "rsi") -> Text {
        log_ranges(pc, &[(time as u64, TIME)], &[]);
        log_text(real!(ctime(time => Bytes) -> Text), pc)
    }
    fn asctime(time: Bytes; pc in "rsi") -> Text {
        log_ranges(pc, &[(time as u64, CALENDAR)], &[]);
        log_text(real!(asctime(time => Bytes) -> Text), pc)
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
    fn strptime(text: Text, format: Text, to: Bytes; pc in "rcx") -> Text {
        let after = real!(strptime(text => Text, format => Text, to => Bytes) -> Text);
        let read = if after.is_null() { length(text) + 1 } else { after as usize - text as usize };
        log_ranges(pc, &[(text as u64, read)], &[]);
        if !after.is_null() {
            log_fill(to, CALENDAR, pc);
        }
        after
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
    fn getrandom(to: Bytes, size: usize, flags: c_int; pc in "rcx") -> isize {
        let length = real!(getrandom(to => Bytes, size => usize, flags => c_int) -> isize);
        if length > 0 {
            log_fill(to, length as usize, pc);
        }
        length
    }
    fn strxfrm(to: Text, from: Text, size: usize; pc in "rcx") -> usize {
        log_ranges(pc, &[(from as u64, length(from) + 1)], &[]);
        let needed = real!(strxfrm(to => Text, from => Text, size => usize) -> usize);
        if needed < size {
            log_fill(to.cast(), needed + 1, pc);
        }
        needed
    }
    fn readdir_r(directory: Bytes, to: Bytes, result: *mut *mut libc::dirent; pc in "rcx") -> c_int {
        let error = real!(readdir_r(directory => Bytes, to => Bytes, result => *mut *mut libc::dirent) -> c_int);
        log_entry(error, result, pc)
    }
    fn readdir64_r(directory: Bytes, to: Bytes, result: *mut *mut libc::dirent; pc in "rcx") -> c_int {
        let error = real!(readdir64_r(directory => Bytes, to => Bytes, result => *mut *mut libc::dirent) -> c_int);
        log_entry(error, result, pc)
    }
    fn inet_ntop(family: c_int, address: Bytes, to: Text, size: u32; pc in "r8") -> Text {
        log_text(real!(inet_ntop(family => c_int, address => Bytes, to => Text, size => u32) -> Text), pc)
    }
    fn strtol(text: Text, end: *mut Text, base: c_int; pc in "rcx") -> c_long {
        log_number(text, end, pc, |after| real!(strtol(text => Text, after => *mut Text, base => c_int) -> c_long))
    }
    fn strtoimax(text: Text, end: *mut Text, base: c_int; pc in "rcx") -> c_long {
        log_number(text, end, pc, |after| real!(strtoimax(text => Text, after => *mut Text, base => c_int) -> c_long))
    }
    fn strtoumax(text: Text, end: *mut Text, base: c_int; pc in "rcx") -> c_long {
        log_number(text, end, pc, |after| real!(strtoumax(text => Text, after => *mut Text, base => c_int) -> c_long))
    }
    fn atoi(text: Text; pc in "rsi") -> c_int {
        let none = core::ptr::null_mut();
        log_number(text, none, pc, |after| {
            real!(strtol(text => Text, after => *mut Text, 10 => c_int) -> c_long)
        }) as c_int
    }
}

/// Records how far a number was read, and that where it ended was written if somebody asks.
///
/// # Safety
/// As for `strtol`.
unsafe fn log_number(text: Text, end: *mut Text, pc: u64, really: impl FnOnce(*mut Text) -> c_long) -> c_long {
    // With a base that is none nothing is looked at, and where it ended is not told.
    let mut after = text;
    let value = really(&raw mut after);
    log_ranges(pc, &[(text as u64, after as usize - text as usize + 1)], &[]);
    if !end.is_null() {
        log_ranges(pc, &[], &[(end as u64, size_of::<Text>())]);
        // SAFETY: by this function's contract.
        unsafe { *end = after };
    }
    value
}

/// An entry of a directory and where it is, if it was read without error.
///
/// # Safety
/// The entry is one, or null.
unsafe fn log_entry(error: c_int, result: *mut *mut libc::dirent, pc: u64) -> c_int {
    if error == 0 {
        log_fill(result.cast(), size_of::<Bytes>(), pc);
        // SAFETY: by this function's contract.
        if let Some(entry) = unsafe { (*result).as_ref() } {
            log_fill(core::ptr::from_ref(entry).cast_mut().cast(), usize::from(entry.d_reclen), pc);
        }
    }
    error
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
