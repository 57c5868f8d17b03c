//! The end of a process, and the libraries that it loads while it runs.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

use wire::Stop;

use crate::real::{Real, real};
use crate::start;
use crate::sys;

#[unsafe(no_mangle)]
extern "C" fn _exit(status: c_int) -> ! {
    start::end(Stop::Exit(status));
    sys::exit_group(status)
}

#[unsafe(no_mangle)]
extern "C" fn _Exit(status: c_int) -> ! {
    _exit(status)
}

/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn quick_exit(status: c_int) -> ! {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    start::end(Stop::Exit(status));
    real!(quick_exit(status => c_int));
    sys::exit_group(status)
}
}

/// Not in the C library but in each program, except that a program linked with libtsan takes it from there.
///
/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn atexit(handler: *mut c_void) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    real!(__cxa_atexit(
        handler => *mut c_void, core::ptr::null_mut() => *mut c_void, core::ptr::null_mut() => *mut c_void
    ) -> c_int)
}
}

/// The same, for a function that returns twice: it must see its caller's frame.
///
/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn sigsetjmp() {
    naked_asm!("jmp qword ptr [rip + __sigsetjmp@GOTPCREL]");
}

/// Called before the program loads or unloads something.
extern "C" fn modules_change(real: &Real) -> *mut c_void {
    start::modules_change();
    real.get()
}

/// Functions that see who called them, so we jump on to them with the stack as it came.
macro_rules! loaders {
    ($($name:ident)*) => {
        $(
            const _: () = {
                static REAL: Real = Real::named(concat!(stringify!($name), "\0"));

                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    naked_asm!(
                        "push rdi",
                        "push rsi",
                        "push rdx",
                        "lea rdi, [rip + {}]",
                        "call {}",
                        "pop rdx",
                        "pop rsi",
                        "pop rdi",
                        "jmp rax",
                        sym REAL,
                        sym modules_change,
                    );
                }
            };
        )*
    };
}

loaders! { dlopen dlmopen dlclose }
