//! Signals while a program runs under us: it gets them, we stay.
//!
//! What the terminal sends goes to both already; what another process sends us is passed on. How many came is counted: a caller that
//! waits for the program ends it if it does not end by itself.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// The signals that would end us.
const PASSED_ON: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// The program that runs, or 0.
static PROGRAM: AtomicI32 = AtomicI32::new(0);
/// How many signals came that were to end us.
static RECEIVED: AtomicU32 = AtomicU32::new(0);
/// A signal that came before the program was there.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// While it lives, signals go to the program.
#[derive(Debug)]
pub(crate) struct PassingOn {
    before: Vec<(Signal, SigAction)>,
}

impl PassingOn {
    /// From now on signals wait for the program.
    #[expect(unsafe_code, reason = "installing a signal handler is unsafe")]
    pub(crate) fn start() -> io::Result<PassingOn> {
        PROGRAM.store(0, Ordering::SeqCst);
        EARLY.store(0, Ordering::SeqCst);
        RECEIVED.store(0, Ordering::SeqCst);
        let mut passing = PassingOn { before: Vec::new() };
        let action = SigAction::new(
            SigHandler::SigAction(pass_on),
            SaFlags::SA_SIGINFO | SaFlags::SA_RESTART,
            SigSet::empty(),
        );
        for signal in PASSED_ON {
            // SAFETY: the handler calls only what is safe in one: loads, stores and `kill`.
            let before = unsafe { sigaction(signal, &action) }?;
            if matches!(before.handler(), SigHandler::SigIgn) {
                // Somebody wants it ignored, by us and by the program (`nohup`).
                // SAFETY: this puts back what was there.
                unsafe { sigaction(signal, &before) }?;
            } else {
                passing.before.push((signal, before));
            }
        }
        Ok(passing)
    }

    /// The program is there.
    pub(crate) fn to(&self, program: u32) {
        PROGRAM.store(program as i32, Ordering::SeqCst);
        let early = EARLY.swap(0, Ordering::SeqCst);
        if early != 0 {
            send(program as i32, early);
        }
    }

    /// How many signals came.
    pub(crate) fn received(&self) -> u32 {
        RECEIVED.load(Ordering::SeqCst)
    }

    /// The program is gone, and its number may be another's soon.
    pub(crate) fn to_nobody(&self) {
        PROGRAM.store(0, Ordering::SeqCst);
    }
}

impl Drop for PassingOn {
    #[expect(unsafe_code, reason = "installing a signal handler is unsafe")]
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: this puts back what was there. There is nobody to tell if that fails.
            let _ = unsafe { sigaction(*signal, before) };
        }
    }
}

#[expect(unsafe_code, reason = "the kernel passes a pointer")]
extern "C" fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    RECEIVED.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the kernel passes a valid `siginfo_t` to a handler with SA_SIGINFO.
    let from_a_process = unsafe { (*info).si_code } <= 0;
    if !from_a_process {
        return;
    }
    match PROGRAM.load(Ordering::SeqCst) {
        0 => EARLY.store(signal, Ordering::SeqCst),
        program => send(program, signal),
    }
}

/// Sends a signal, from a handler or not.
#[expect(unsafe_code, reason = "nix's own `kill` takes no number that is not one of its signals")]
pub(crate) fn send(program: i32, signal: i32) {
    // SAFETY: `kill` touches no memory of ours. The program may be gone, which does no harm.
    unsafe { libc::kill(program, signal) };
}

/// A file that grows beyond the limit of the process (`ulimit -f`) is an error of the write, not the end of the process.
#[expect(unsafe_code, reason = "installing a signal handler is unsafe")]
pub fn survive_file_limit() -> io::Result<()> {
    extern "C" fn nothing(_: libc::c_int) {}
    // A handler, since programs that we start would inherit that the signal is ignored.
    let action = SigAction::new(SigHandler::Handler(nothing), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler does nothing.
    unsafe { sigaction(Signal::SIGXFSZ, &action) }?;
    Ok(())
}
