//! The ends of a process, and its children.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

use rawlog::Stop;

use crate::hooks::enter;
use crate::real::{Real, real};
use crate::replay::replay;
use crate::scheduler::{self, scheduler};
use crate::start;
use crate::sys;
use crate::watchdog;
use crate::writer::writer;

#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(status: c_int) -> ! {
    start::end(Stop::Exit(status));
    sys::exit_group(status)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _Exit(status: c_int) -> ! {
    _exit(status)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn quick_exit(status: c_int) -> ! {
    start::end(Stop::Exit(status));
    real!(quick_exit(status => c_int));
    sys::exit_group(status)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn abort() -> ! {
    start::end(Stop::Killed(libc::SIGABRT));
    real!(abort());
    sys::exit_group(127)
}

/// Not in the C library but in each program, except that a program linked with libtsan takes it from there.
#[unsafe(no_mangle)]
unsafe extern "C" fn atexit(handler: *mut c_void) -> c_int {
    real!(__cxa_atexit(
        handler => *mut c_void, core::ptr::null_mut() => *mut c_void, core::ptr::null_mut() => *mut c_void
    ) -> c_int)
}

/// The same, for a function that returns twice: it must see its caller's frame.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn sigsetjmp() {
    naked_asm!("jmp qword ptr [rip + __sigsetjmp@GOTPCREL]");
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> libc::pid_t {
    // With the token, but not inside: handlers that the program asked to be called at a fork have events of their own.
    let Some(inside) = enter() else { return real!(fork() -> libc::pid_t) };
    drop(inside);
    let child = real!(fork() -> libc::pid_t);
    if child == 0 {
        in_child();
    }
    child
}

/// The child has one thread and the parent's memory. It gets a log of its own or none.
unsafe fn in_child() {
    watchdog::is_gone_in_child();
    writer().abandon();
    replay().forget();
    scheduler::stop();
    if scheduler().settings.follow_children {
        start::record();
    }
}

/// Called before the program loads or unloads something.
unsafe extern "C" fn modules_change(real: &Real) -> *mut c_void {
    start::modules_change();
    real.get()
}

/// Functions that see who called them, so we jump on to them with the stack as it came.
macro_rules! loaders {
    ($($name:ident)*) => {
        $(
            const _: () = {
                static REAL: Real = Real::new(
                    match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!(),
                    },
                );

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
