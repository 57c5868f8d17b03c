//! Signals: handlers of the program run between two events of their thread, never inside the runtime.
//!
//! A handler is installed through a function of ours. A signal that arrives while its thread is inside the runtime is
//! put off until it leaves; one that the thread's own instruction caused is passed on at once. A thread that
//! waits in the scheduler is made ready to handle it.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::hooks::enter;
use crate::real::real;
use crate::scheduler::scheduler;
use crate::thread::{self, PUT_OFF, Thread, gate};

const SIGNALS: usize = 65;
/// Handlers of the program, as it gave them.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];
/// Their flags.
static FLAGS: [AtomicU32; SIGNALS] = [const { AtomicU32::new(0) }; SIGNALS];
/// How many handlers were ever installed.
static INSTALLED: AtomicU32 = AtomicU32::new(0);

type Action = *mut libc::sigaction;
type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Whether a signal may arrive that changes something: the program has handlers.
pub(crate) fn may_arrive() -> bool {
    INSTALLED.load(Ordering::Relaxed) > 0
}

/// Whether the thread's own instruction caused the signal.
unsafe fn is_own_doing(signal: c_int, info: *const libc::siginfo_t) -> bool {
    let by_instruction = matches!(
        signal,
        libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGTRAP | libc::SIGSYS
    );
    by_instruction && (*info).si_code > 0
}

unsafe fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let handler = HANDLERS[signal as usize].load(Ordering::Relaxed);
    if handler > libc::SIG_IGN {
        // With or without more arguments, a handler takes the first in the same place.
        let handler: Handler = core::mem::transmute(handler);
        handler(signal, info, context);
    }
}

/// What the kernel calls.
unsafe extern "C" fn arrived(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let thread = thread::current();
    if thread.is_null() {
        return handle(signal, info, context);
    }
    let inside = (*thread).inside.load(Ordering::Relaxed) != 0;
    if inside && !is_own_doing(signal, info) {
        return put_off(thread, info);
    }
    let was_outside = (*thread).gated(gate::STOLEN);
    (*thread).inside.store(0, Ordering::Relaxed);
    handle(signal, info, context);
    if inside {
        (*thread).inside.store(1, Ordering::Relaxed);
    } else if was_outside
        && !(*thread).gated(gate::STOLEN)
        && let Some(inside) = enter()
    {
        // The handler took the token; the call it interrupted may go on blocking.
        scheduler().leave(inside.0);
    }
}

unsafe fn put_off(thread: *mut Thread, info: *const libc::siginfo_t) {
    let count = (*thread).pending_count.load(Ordering::Relaxed) as usize;
    if count < PUT_OFF {
        (*thread).pending[count] = *info;
        (*thread).pending_count.store(count as u32 + 1, Ordering::Relaxed);
        (*thread).gate.fetch_or(gate::SIGNALS, Ordering::Relaxed);
        // About to sleep until its turn comes? It should look again.
        let _ = (*thread).turn.compare_exchange(2, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Handles what was put off, and goes on inside the runtime; whether there was anything.
///
/// # Safety
/// The thread is the caller's, inside, and holds the token.
pub(crate) unsafe fn deliver(thread: *mut Thread) -> bool {
    if !(*thread).gated(gate::SIGNALS) {
        return false;
    }
    (*thread).inside.store(0, Ordering::Relaxed);
    deliver_outside(thread);
    (*thread).inside.store(1, Ordering::Relaxed);
    true
}

/// Handles what was put off: the thread is about to leave the runtime.
///
/// # Safety
/// The thread is the caller's and not inside.
#[cold]
pub(crate) unsafe fn deliver_outside(thread: *mut Thread) {
    (*thread).gate.fetch_and(!gate::SIGNALS, Ordering::Relaxed);
    let pending = (*thread).pending;
    let count = (*thread).pending_count.swap(0, Ordering::Relaxed) as usize;
    let error = *libc::__errno_location();
    for mut info in pending.into_iter().take(count) {
        handle(info.si_signo, &raw mut info, core::ptr::null_mut());
    }
    *libc::__errno_location() = error;
}

unsafe fn install(signal: c_int, new: *const libc::sigaction, old: Action) -> c_int {
    let really = |new: *const libc::sigaction| real!(sigaction(signal => c_int, new => *const libc::sigaction, old => Action) -> c_int);
    let Some(index) = usize::try_from(signal).ok().filter(|&index| index < SIGNALS) else {
        return really(new);
    };
    let Some(_inside) = enter() else { return really(new) };
    let (handler, flags) = (HANDLERS[index].load(Ordering::Relaxed), FLAGS[index].load(Ordering::Relaxed));
    let result = if !new.is_null() && (*new).sa_sigaction > libc::SIG_IGN {
        let mut ours = *new;
        ours.sa_sigaction = arrived as *const () as usize;
        ours.sa_flags |= libc::SA_SIGINFO;
        // First, since the signal may come as soon as it can.
        HANDLERS[index].store((*new).sa_sigaction, Ordering::Relaxed);
        FLAGS[index].store((*new).sa_flags as u32, Ordering::Relaxed);
        INSTALLED.fetch_add(1, Ordering::Relaxed);
        really(&raw const ours)
    } else {
        really(new)
    };
    if result == 0 && !old.is_null() && (*old).sa_sigaction == arrived as *const () as usize {
        (*old).sa_sigaction = handler;
        (*old).sa_flags = flags as c_int;
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: Action) -> c_int {
    install(signal, new, old)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    let mut new: libc::sigaction = core::mem::zeroed();
    let mut old: libc::sigaction = core::mem::zeroed();
    new.sa_sigaction = handler;
    new.sa_flags = libc::SA_RESTART;
    if install(signal, &raw const new, &raw mut old) == 0 { old.sa_sigaction } else { libc::SIG_ERR }
}
