//! What a Rust program can tell Foretell about itself, as `include/foretell.h` is for C and C++.
//!
//! ```
//! use foretell_mark::{atomic_begin, atomic_end, mark};
//!
//! mark!("open", +1); //             a counter or a value, for conditions such as mark(t, "open") > 0
//! atomic_begin!("transfer");
//! // ..                             what another thread must not come between
//! atomic_end!("transfer");
//! mark!("open", -1);
//! ```
//!
//! Names are string literals; values are converted to `i64` by `i64::from`.
//!
//! The hooks are weak symbols: without Foretell's library they are null, and what is left of a mark is a load and a test. Where
//! weak symbols are not known (other than x86-64 and AArch64 with ELF) nothing is left at all. Either way the
//! program needs nothing at run time, and the crate depends on nothing.
//!
#![doc = include_str!("../README.md")]
#![no_std]

/// The address of a hook, or null if the program has none.
///
/// Stable Rust has no weak symbols, so the symbol is declared weak where it is used, and its address is
/// read from the table that the linker and the loader fill in.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux"))]
macro_rules! address_of {
    ($symbol:literal) => {{
        let address: *const ();
        #[expect(unsafe_code, reason = "no other way to a weak symbol")]
        // SAFETY: reads one word of the global offset table, which is there and constant while the program runs; a weak symbol
        // that nobody defines has the address zero in it. Nothing is written.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            core::arch::asm!(
                concat!(".weak ", $symbol),
                concat!("mov {address}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
                address = out(reg) address,
                options(pure, readonly, nostack, preserves_flags)
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::asm!(
                concat!(".weak ", $symbol),
                concat!("adrp {address}, :got:", $symbol),
                concat!("ldr {address}, [{address}, :got_lo12:", $symbol, "]"),
                address = out(reg) address,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        address
    }};
}

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux")))]
macro_rules! address_of {
    ($symbol:literal) => {
        core::ptr::null::<()>()
    };
}

/// What the macros call. Not for others: the name must end with a zero byte.
#[doc(hidden)]
pub mod hooks {
    use core::ffi::{CStr, c_char, c_longlong};

    /// Reports a mark.
    #[inline(always)]
    pub fn mark(name: &'static CStr, value: i64) {
        let hook = address_of!("foretell_mark");
        if !hook.is_null() {
            #[expect(unsafe_code, reason = "the hook is a C function")]
            // SAFETY: who defines the symbol defines it as include/foretell.h declares it; the name is a C string that lives on.
            unsafe {
                let hook: extern "C" fn(*const c_char, c_longlong) = core::mem::transmute(hook);
                hook(name.as_ptr(), value);
            }
        }
    }

    /// Reports the beginning of an atomic region.
    #[inline(always)]
    pub fn atomic_begin(name: &'static CStr) {
        call(address_of!("foretell_atomic_begin"), name);
    }

    /// Reports its end.
    #[inline(always)]
    pub fn atomic_end(name: &'static CStr) {
        call(address_of!("foretell_atomic_end"), name);
    }

    #[inline(always)]
    fn call(hook: *const (), name: &'static CStr) {
        if !hook.is_null() {
            #[expect(unsafe_code, reason = "the hook is a C function")]
            // SAFETY: as above; this hook takes a name only.
            unsafe {
                let hook: extern "C" fn(*const c_char) = core::mem::transmute(hook);
                hook(name.as_ptr());
            }
        }
    }
}

/// Counts by a value, or sets one: `mark!("open", +1)`.
#[macro_export]
macro_rules! mark {
    ($name:literal, + $value:expr) => {
        $crate::mark!($name, $value)
    };
    ($name:literal, $value:expr) => {
        $crate::hooks::mark($crate::c_string!($name), i64::from($value))
    };
}

/// Begins a region that no other thread may come between.
#[macro_export]
macro_rules! atomic_begin {
    ($name:literal) => {
        $crate::hooks::atomic_begin($crate::c_string!($name))
    };
}

/// Ends the region begun last with this name.
#[macro_export]
macro_rules! atomic_end {
    ($name:literal) => {
        $crate::hooks::atomic_end($crate::c_string!($name))
    };
}

/// A literal as a C string, checked when compiled.
#[doc(hidden)]
#[macro_export]
macro_rules! c_string {
    ($name:literal) => {
        const {
            match ::core::ffi::CStr::from_bytes_with_nul(::core::concat!($name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => ::core::panic!("a name of a mark holds no zero byte"),
            }
        }
    };
}
