//! Failures: the program is about to die by a signal that it caused. The thread, location and cause are written
//! to the log first.
//!
//! We handle the fatal signals unless the program installs its own handler. Our handler writes the log, and then
//! the signal has its usual effect. A failed assertion is recorded earlier, where its text is available. What
//! other code prints before it aborts (an uncaught exception, a panic) is read from the program's output, which
//! is not done here.

use core::ffi::{CStr, c_char, c_int, c_void};

use wire::Stop;

use super::hook;
use crate::losses;
use crate::real::real;
use crate::start::{self, Failing};
use crate::sys;

/// Signals that end a program by its own fault.
pub(crate) const FATAL: [c_int; 7] = [
    libc::SIGABRT,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Whether it ends a program by its own fault.
pub(crate) fn is_fatal(signal: c_int) -> bool {
    FATAL.contains(&signal)
}

/// Handles the fatal signals that have no handler yet.
pub(crate) fn watch() {
    for signal in FATAL {
        // SAFETY: zero bytes are an action; the kernel reads and writes nothing else.
        unsafe {
            let mut before: libc::sigaction = core::mem::zeroed();
            let none = core::ptr::null();
            let asked =
                real!(sigaction(signal => c_int, none => *const libc::sigaction, &raw mut before => *mut libc::sigaction) -> c_int);
            if asked == 0 && before.sa_sigaction == libc::SIG_DFL {
                watch_one(signal);
            }
        }
    }
}

/// Handles this signal.
///
/// # Safety
/// The program has no handler for it.
pub(crate) unsafe fn watch_one(signal: c_int) -> c_int {
    // SAFETY: zero bytes are an action; the handler stays as long as the process.
    unsafe {
        let mut ours: libc::sigaction = core::mem::zeroed();
        ours.sa_sigaction = failed as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        real!(sigaction(
            signal => c_int, &raw const ours => *const libc::sigaction, core::ptr::null_mut() => *mut libc::sigaction
        ) -> c_int)
    }
}

/// Whether a handler is ours, which the program does not know of.
pub(crate) fn is_ours(handler: usize) -> bool {
    handler == failed as *const () as usize
}

/// The handler of faults.
///
/// # Safety
/// Only the kernel calls it, with what belongs to the signal.
unsafe extern "C" fn failed(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands over what belongs to the signal; zero bytes are the default action.
    unsafe {
        let by_instruction = (*info).si_code > 0 && signal != libc::SIGABRT;
        let address = if by_instruction { (*info).si_addr() as u64 } else { 0 };
        if signal == libc::SIGBUS && losses::survives(address) {
            return;
        }
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        // As the address after a call has it.
        let pc = registers[libc::REG_RIP as usize] as u64 + 1;
        start::fail(Stop::Killed(signal), &Failing { pc, address, message: b"" });
        let default: libc::sigaction = core::mem::zeroed();
        real!(sigaction(
            signal => c_int, &raw const default => *const libc::sigaction, core::ptr::null_mut() => *mut libc::sigaction
        ) -> c_int);
        if !by_instruction {
            // The instruction will not cause it again.
            sys::signal_thread(sys::getpid(), sys::gettid(), signal);
        }
    }
}

/// Text of a fixed length at most.
struct Message {
    bytes: [u8; wire::MAX_TEXT],
    used: usize,
}

impl Message {
    fn of(parts: &[&[u8]]) -> Message {
        let mut message = Message { bytes: [0; wire::MAX_TEXT], used: 0 };
        for part in parts {
            let taken = part.len().min(message.bytes.len() - message.used);
            message.bytes[message.used..message.used + taken].copy_from_slice(&part[..taken]);
            message.used += taken;
        }
        message
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

type Text = *const c_char;

hook! {
    fn abort(; pc in "rdi") {
        start::fail(Stop::Killed(libc::SIGABRT), &Failing { pc, address: 0, message: b"" });
        // SAFETY: as the program calls it.
        real!(abort());
        sys::exit_group(127);
    }
    fn __assert_fail(assertion: Text, file: Text, line: u32, function: Text; pc in "r8") {
        // SAFETY: the compiler passes a text.
        let text = CStr::from_ptr(assertion).to_bytes();
        let message = Message::of(&[b"assertion `", text, b"` failed"]);
        start::fail(Stop::Killed(libc::SIGABRT), &Failing { pc, address: 0, message: message.text() });
        // SAFETY: as the program calls it.
        real!(__assert_fail(assertion => Text, file => Text, line => u32, function => Text));
        sys::exit_group(127);
    }
    fn __assert_perror_fail(error: c_int, file: Text, line: u32, function: Text; pc in "r8") {
        let mut digits = [0; 20];
        let number = crate::settings::decimal(u64::from(error.unsigned_abs()), &mut digits);
        let message = Message::of(&[b"unexpected error ", number]);
        start::fail(Stop::Killed(libc::SIGABRT), &Failing { pc, address: 0, message: message.text() });
        // SAFETY: as the program calls it.
        real!(__assert_perror_fail(error => c_int, file => Text, line => u32, function => Text));
        sys::exit_group(127);
    }
}
