//! Functions of the mathematical library that have more than one result: what they write into memory is recorded.

use core::ffi::{CStr, c_int, c_void};

use super::filled::log_fill;
use super::hook;
use super::ranges::log_ranges;
use crate::real::{Real, real};

type Bytes = *mut c_void;

/// Where they are.
const LIBRARY: &CStr = c"libm.so.6";
const DOUBLE: usize = size_of::<f64>();
const FLOAT: usize = size_of::<f32>();
/// A `long double`, as programs copy it.
const LONG_DOUBLE: usize = 16;
const INT: usize = size_of::<c_int>();

/// Functions that return a number and write one more.
macro_rules! also_writes {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $number:ty: $to:ident, $size:expr; $pc:ident in $register:literal;)*) => {
        hook! {
            $(fn $name($($argument: $type,)* $to: Bytes; $pc in $register) -> $number {
                let value = real!(in LIBRARY; $name($($argument => $type,)* $to => Bytes) -> $number);
                log_fill($to, $size, $pc);
                value
            })*
        }
    };
}

also_writes! {
    fn frexp(value: f64) -> f64: to, INT; pc in "rsi";
    fn frexpf(value: f32) -> f32: to, INT; pc in "rsi";
    fn modf(value: f64) -> f64: to, DOUBLE; pc in "rsi";
    fn modff(value: f32) -> f32: to, FLOAT; pc in "rsi";
    fn remquo(value: f64, divisor: f64) -> f64: to, INT; pc in "rsi";
    fn remquof(value: f32, divisor: f32) -> f32: to, INT; pc in "rsi";
    fn lgamma_r(value: f64) -> f64: to, INT; pc in "rsi";
    fn lgammaf_r(value: f32) -> f32: to, INT; pc in "rsi";
}

hook! {
    fn sincos(angle: f64, sine: Bytes, cosine: Bytes; pc in "rdx") {
        real!(in LIBRARY; sincos(angle => f64, sine => Bytes, cosine => Bytes));
        log_ranges(pc, &[], &[(sine as u64, DOUBLE), (cosine as u64, DOUBLE)]);
    }
    fn sincosf(angle: f32, sine: Bytes, cosine: Bytes; pc in "rdx") {
        real!(in LIBRARY; sincosf(angle => f32, sine => Bytes, cosine => Bytes));
        log_ranges(pc, &[], &[(sine as u64, FLOAT), (cosine as u64, FLOAT)]);
    }
}

/// The same with numbers that Rust has no type for. They are on the stack and stay there: the writes, which always happen, are recorded
/// first, and then the real function is called in place of this one.
macro_rules! long_doubles {
    ($(fn $name:ident($($to:ident, $size:expr);*);)*) => {
        $(
            const _: () = {
                static REAL: Real = Real::of(LIBRARY, concat!(stringify!($name), "\0"));

                extern "C" fn record($($to: u64,)* pc: u64) -> *mut c_void {
                    log_ranges(pc, &[], &[$(($to, $size)),*]);
                    REAL.get()
                }

                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    core::arch::naked_asm!(
                        ".cfi_startproc",
                        "push rdi",
                        ".cfi_adjust_cfa_offset 8",
                        "push rsi",
                        ".cfi_adjust_cfa_offset 8",
                        "sub rsp, 8",
                        ".cfi_adjust_cfa_offset 8",
                        concat!("mov ", long_doubles!(register $($to)*), ", [rsp + 24]"),
                        "call {}",
                        "add rsp, 8",
                        ".cfi_adjust_cfa_offset -8",
                        "pop rsi",
                        ".cfi_adjust_cfa_offset -8",
                        "pop rdi",
                        ".cfi_adjust_cfa_offset -8",
                        "jmp rax",
                        ".cfi_endproc",
                        sym record,
                    );
                }

                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(export_name = concat!("__interceptor_", stringify!($name)))]
                #[unsafe(naked)]
                unsafe extern "C" fn interceptor() {
                    core::arch::naked_asm!("jmp {}", sym $name);
                }
            };
        )*
    };
    (register $one:ident) => { "rsi" };
    (register $one:ident $other:ident) => { "rdx" };
}

long_doubles! {
    fn sincosl(sine, LONG_DOUBLE; cosine, LONG_DOUBLE);
    fn frexpl(to, INT);
    fn modfl(to, LONG_DOUBLE);
    fn remquol(to, INT);
    fn lgammal_r(to, INT);
}
