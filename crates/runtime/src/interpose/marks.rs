//! The functions of `foretell.h`, with which a program annotates itself.

use core::ffi::{CStr, c_char, c_longlong};

use wire::Kind;

use super::hook;
use crate::inside::enter_point;

/// # Safety
/// The name is null or a string with its end.
unsafe fn log_mark(kind: Kind, name: *const c_char, arguments: &[u64], pc: u64) {
// SAFETY: the name is a string with its end.
unsafe {
    if let Some(inside) = enter_point() {
        let text = if name.is_null() { b"" } else { CStr::from_ptr(name).to_bytes() };
        inside.detailed(kind, pc, 0, arguments, text);
    }
}
}

hook! {
    fn foretell_mark(name: *const c_char, value: c_longlong; pc in "rdx") {
        log_mark(Kind::Mark, name, &[value as u64], pc);
    }
    fn foretell_atomic_begin(name: *const c_char; pc in "rsi") {
        log_mark(Kind::RegionBegin, name, &[], pc);
    }
    fn foretell_atomic_end(name: *const c_char; pc in "rsi") {
        log_mark(Kind::RegionEnd, name, &[], pc);
    }
}
