//! `scanf` and its kin: what they read goes where their arguments say, as the format has it.

use core::ffi::{c_char, c_int, c_void};

use super::hook;
use super::ranges::{length, log_ranges};
use super::variadic::{Arguments, variadic};
use crate::conversions::{Conversions, Filled};
use crate::real::real;

type Text = *const c_char;
type Stream = *mut c_void;
type Rest = *mut Arguments;

/// Records what a call has filled that made this number of conversions.
///
/// # Safety
/// The format is a text, and the arguments are those it needs.
unsafe fn log_scanned(format: Text, mut rest: Arguments, made: c_int, pc: u64) {
// SAFETY: by this function's contract.
unsafe {
    let format = core::slice::from_raw_parts(format.cast::<u8>(), length(format));
    let mut left = made.max(0);
    for conversion in Conversions(format) {
        if left == 0 && conversion.is_counted {
            break;
        }
        left -= c_int::from(conversion.is_counted);
        let to = rest.next();
        let size = match conversion.filled {
            Filled::Bytes(size) => size,
            Filled::Text => length(to as Text) + 1,
        };
        log_ranges(pc, &[], &[(to, size)]);
    }
}
}

/// The functions, each with the one that takes a list of arguments.
macro_rules! scanners {
    ($($name:ident($($argument:ident: $type:ty),*), $of_list:ident in $register:literal;)*) => {
        variadic! {
            $(fn $name([$($argument: $type,)* format: Text], rest, pc) -> c_int {
                let before = *rest;
                let made = real!($of_list($($argument => $type,)* format => Text, rest => Rest) -> c_int);
                log_scanned(format, before, made, pc);
                made
            })*
        }
        hook! {
            $(fn $of_list($($argument: $type,)* format: Text, rest: Rest; pc in $register) -> c_int {
                let before = *rest;
                let made = real!($of_list($($argument => $type,)* format => Text, rest => Rest) -> c_int);
                log_scanned(format, before, made, pc);
                made
            })*
        }
    };
}

scanners! {
    scanf(), vscanf in "rdx";
    fscanf(stream: Stream), vfscanf in "rcx";
    sscanf(text: Text), vsscanf in "rcx";
    __isoc99_scanf(), __isoc99_vscanf in "rdx";
    __isoc99_fscanf(stream: Stream), __isoc99_vfscanf in "rcx";
    __isoc99_sscanf(text: Text), __isoc99_vsscanf in "rcx";
    __isoc23_scanf(), __isoc23_vscanf in "rdx";
    __isoc23_fscanf(stream: Stream), __isoc23_vfscanf in "rcx";
    __isoc23_sscanf(text: Text), __isoc23_vsscanf in "rcx";
}
