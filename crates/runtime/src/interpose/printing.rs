//! `printf` and its kin: the texts that they print are read, and what they count or print into memory is written.
//!
//! A text that nobody can write, as most are, is no access: a program that prints constants writes no events for it.

use core::ffi::{c_char, c_int, c_void};

use super::ranges::{length, limited_length, log_ranges};
use super::variadic::{Arguments, variadic};
use super::wide::wide_length;
use super::{hook, hook_of_six};
use crate::inside::enter;
use crate::modules::is_constant;
use crate::printed::{Format, Limit, Taken};
use crate::real::real;

type Text = *const c_char;
type Buffer = *mut c_char;
type Stream = *mut c_void;
type Rest = *mut Arguments;

/// Tells that this is read, unless it is nothing or never changes.
fn log_read(from: u64, size: usize, pc: u64) {
    if !is_constant(from) {
        log_ranges(pc, &[(from, size)], &[]);
    }
}

/// A text that is printed, up to its limit: the end is not looked for behind it.
///
/// # Safety
/// The text is null, or has its end or this number of bytes.
unsafe fn log_text(text: Text, limit: usize, pc: u64) {
    if text.is_null() || is_constant(text as u64) {
        return;
    }
    // SAFETY: by this function's contract.
    let found = unsafe { if limit == usize::MAX { length(text) } else { limited_length(text, limit) } };
    log_ranges(pc, &[(text as u64, found.saturating_add(1).min(limit))], &[]);
}

/// The same for wide characters; the limit counts bytes of the output, of which each character has at least one.
///
/// # Safety
/// As for [`log_text`].
unsafe fn log_wide_text(text: Text, limit: usize, pc: u64) {
    if text.is_null() || is_constant(text as u64) {
        return;
    }
    // SAFETY: by this function's contract.
    let found = unsafe { wide_length(text.cast_mut().cast(), limit) };
    log_ranges(pc, &[(text as u64, found.saturating_add(1).min(limit).saturating_mul(size_of::<u32>()))], &[]);
}

/// What a format that was printed leaves to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    /// Counts, which are written.
    Counts,
}

/// Tells what a call is about to read.
///
/// # Safety
/// The format is a text, and the arguments are those it needs.
unsafe fn log_printed(format: Text, mut rest: Arguments, pc: u64) -> Left {
    // Nobody asks where nothing is recorded.
    let Some(inside) = enter() else { return Left::Nothing };
    drop(inside);
    let mut left = Left::Nothing;
    // SAFETY: by this function's contract.
    unsafe {
        let bytes = core::slice::from_raw_parts(format.cast::<u8>(), length(format));
        log_read(format as u64, bytes.len() + 1, pc);
        let mut precision = usize::MAX;
        let up_to = |limit, precision| match limit {
            Limit::End => usize::MAX,
            Limit::Bytes(most) => most,
            Limit::Given => precision,
        };
        for taken in Format::new(bytes) {
            match taken {
                Taken::Word => {
                    rest.next();
                }
                Taken::Precision => precision = usize::try_from(rest.next() as c_int).unwrap_or(usize::MAX),
                Taken::Floating => rest.skip_floating(),
                Taken::LongDouble => rest.skip_long_double(),
                Taken::Text(limit) => log_text(rest.next() as Text, up_to(limit, precision), pc),
                Taken::WideText(limit) => log_wide_text(rest.next() as Text, up_to(limit, precision), pc),
                Taken::Count(_) => {
                    rest.next();
                    left = Left::Counts;
                }
            }
        }
    }
    left
}

/// Tells what a call has counted.
///
/// # Safety
/// As for [`log_printed`].
unsafe fn log_counts(format: Text, mut rest: Arguments, pc: u64) {
    // SAFETY: by this function's contract.
    unsafe {
        let bytes = core::slice::from_raw_parts(format.cast::<u8>(), length(format));
        for taken in Format::new(bytes) {
            match taken {
                Taken::Floating => rest.skip_floating(),
                Taken::LongDouble => rest.skip_long_double(),
                Taken::Count(size) => log_ranges(pc, &[], &[(rest.next(), size)]),
                _ => {
                    rest.next();
                }
            }
        }
    }
}

/// Prints, and tells what is read and written for it.
///
/// # Safety
/// As for [`log_printed`].
unsafe fn print(format: Text, rest: Rest, pc: u64, really: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: by this function's contract; the real function takes the arguments from the list, so here is a copy of it.
    unsafe {
        let before = *rest;
        let left = log_printed(format, before, pc);
        let length = really();
        if left == Left::Counts {
            log_counts(format, before, pc);
        }
        length
    }
}

/// The same into memory of this size.
///
/// # Safety
/// As for [`log_printed`].
unsafe fn print_into(
    to: Buffer,
    size: usize,
    (format, rest): (Text, Rest),
    pc: u64,
    really: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: by this function's contract.
    let length = unsafe { print(format, rest, pc, really) };
    if length >= 0 && size > 0 && !to.is_null() {
        log_ranges(pc, &[], &[(to as u64, (length as usize).saturating_add(1).min(size))]);
    }
    length
}

/// The same into memory that the C library allocates.
///
/// # Safety
/// As for [`log_printed`]; the address of the memory goes to `to`.
unsafe fn print_into_new(
    to: *mut Buffer,
    (format, rest): (Text, Rest),
    pc: u64,
    really: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe {
        let length = print(format, rest, pc, really);
        if length >= 0 {
            log_ranges(pc, &[], &[(to as u64, size_of::<Buffer>()), (*to as u64, length as usize + 1)]);
        }
        length
    }
}

/// Functions that print to a stream or a file, each with the one that takes a list of arguments.
macro_rules! printers {
    ($($name:ident($($argument:ident: $type:ty),*), $of_list:ident in $register:literal;)*) => {
        variadic! {
            $(fn $name([$($argument: $type,)* format: Text], rest, pc) -> c_int {
                print(format, rest, pc, || {
                    real!($of_list($($argument => $type,)* format => Text, rest => Rest) -> c_int)
                })
            })*
        }
        hook! {
            $(fn $of_list($($argument: $type,)* format: Text, rest: Rest; pc in $register) -> c_int {
                print(format, rest, pc, || {
                    real!($of_list($($argument => $type,)* format => Text, rest => Rest) -> c_int)
                })
            })*
        }
    };
}

printers! {
    printf(), vprintf in "rdx";
    fprintf(stream: Stream), vfprintf in "rcx";
    dprintf(file: c_int), vdprintf in "rcx";
    __printf_chk(flag: c_int), __vprintf_chk in "rcx";
    __fprintf_chk(stream: Stream, flag: c_int), __vfprintf_chk in "r8";
    __dprintf_chk(file: c_int, flag: c_int), __vdprintf_chk in "r8";
}

/// Functions that print into memory.
mod into_memory {
    use super::*;

    hook! {
        fn vsprintf(to: Buffer, format: Text, rest: Rest; pc in "rcx") -> c_int {
            print_into(to, usize::MAX, (format, rest), pc, || {
                real!(vsprintf(to => Buffer, format => Text, rest => Rest) -> c_int)
            })
        }
        fn vsnprintf(to: Buffer, size: usize, format: Text, rest: Rest; pc in "r8") -> c_int {
            print_into(to, size, (format, rest), pc, || {
                real!(vsnprintf(to => Buffer, size => usize, format => Text, rest => Rest) -> c_int)
            })
        }
        fn __vsprintf_chk(to: Buffer, flag: c_int, room: usize, format: Text, rest: Rest; pc in "r9") -> c_int {
            print_into(to, usize::MAX, (format, rest), pc, || {
                real!(__vsprintf_chk(to => Buffer, flag => c_int, room => usize, format => Text, rest => Rest) -> c_int)
            })
        }
        fn vasprintf(to: *mut Buffer, format: Text, rest: Rest; pc in "rcx") -> c_int {
            print_into_new(to, (format, rest), pc, || {
                real!(vasprintf(to => *mut Buffer, format => Text, rest => Rest) -> c_int)
            })
        }
        fn __vasprintf_chk(to: *mut Buffer, flag: c_int, format: Text, rest: Rest; pc in "r8") -> c_int {
            print_into_new(to, (format, rest), pc, || {
                real!(__vasprintf_chk(to => *mut Buffer, flag => c_int, format => Text, rest => Rest) -> c_int)
            })
        }
    }

    hook_of_six! {
        fn __vsnprintf_chk(to: Buffer, size: usize, flag: c_int, room: usize, format: Text, rest: Rest; pc) -> c_int {
            print_into(to, size, (format, rest), pc, || {
                real!(__vsnprintf_chk(to => Buffer, size => usize, flag => c_int, room => usize, format => Text, rest => Rest) -> c_int)
            })
        }
    }

    variadic! {
        fn sprintf([to: Buffer, format: Text], rest, pc) -> c_int {
            print_into(to, usize::MAX, (format, rest), pc, || {
                real!(vsprintf(to => Buffer, format => Text, rest => Rest) -> c_int)
            })
        }
        fn snprintf([to: Buffer, size: usize, format: Text], rest, pc) -> c_int {
            print_into(to, size, (format, rest), pc, || {
                real!(vsnprintf(to => Buffer, size => usize, format => Text, rest => Rest) -> c_int)
            })
        }
        fn __sprintf_chk([to: Buffer, flag: c_int, room: usize, format: Text], rest, pc) -> c_int {
            print_into(to, usize::MAX, (format, rest), pc, || {
                real!(__vsprintf_chk(to => Buffer, flag => c_int, room => usize, format => Text, rest => Rest) -> c_int)
            })
        }
        fn __snprintf_chk([to: Buffer, size: usize, flag: c_int, room: usize, format: Text], rest, pc) -> c_int {
            print_into(to, size, (format, rest), pc, || {
                real!(__vsnprintf_chk(to => Buffer, size => usize, flag => c_int, room => usize, format => Text, rest => Rest) -> c_int)
            })
        }
        fn asprintf([to: *mut Buffer, format: Text], rest, pc) -> c_int {
            print_into_new(to, (format, rest), pc, || {
                real!(vasprintf(to => *mut Buffer, format => Text, rest => Rest) -> c_int)
            })
        }
        fn __asprintf_chk([to: *mut Buffer, flag: c_int, format: Text], rest, pc) -> c_int {
            print_into_new(to, (format, rest), pc, || {
                real!(__vasprintf_chk(to => *mut Buffer, flag => c_int, format => Text, rest => Rest) -> c_int)
            })
        }
    }
}
