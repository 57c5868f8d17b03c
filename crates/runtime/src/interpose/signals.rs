//! Signals: the program's handlers run between two events of their thread, never inside the runtime.
//!
//! A handler is installed through a function of ours. A signal that arrives while its thread is inside the runtime
//! is delayed until the thread leaves it; a signal that the thread's own instruction caused is delivered at once.
//! A thread that waits in the scheduler is made ready to handle the signal.
//!
//! Everything before a handler is installed, a timer set or a signal sent comes before what the handler does, and
//! also before what follows a wait for the signal. Which of several senders sent it is unknown, so it comes
//! after all of them: this may add orders that do not exist, but it misses none.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use wire::{Kind, Passage, Signal, SignalTarget, UnsafeCall};

use super::{failures, hook, outside_limited, readiness, timers};
use crate::clock::Wait;
use crate::inside::{Inside, enter, enter_point};
use crate::losses;
use crate::program;
use crate::real::real;
use crate::schedule::NEVER;
use crate::sys;
use crate::thread::{self, PUT_OFF, Thread};
use crate::token::gate;

const SIGNALS: usize = 65;
/// Handlers of the program, as it gave them.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];
/// Their flags.
static FLAGS: [AtomicU32; SIGNALS] = [const { AtomicU32::new(0) }; SIGNALS];
/// How many handlers were ever installed, of signals that a thread may wait for.
static INSTALLED: AtomicU32 = AtomicU32::new(0);

type Action = *mut libc::sigaction;
type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Whether something may arrive that changes what threads wait for: the program has handlers, or timers that start threads.
pub(crate) fn may_arrive() -> bool {
    INSTALLED.load(Ordering::Relaxed) > 0 || timers::is_set()
}

/// Whether the thread's own instruction caused the signal.
///
/// # Safety
/// The information is a signal's.
unsafe fn is_own_doing(signal: c_int, info: *const libc::siginfo_t) -> bool {
// SAFETY: the information is a signal's.
unsafe {
    let by_instruction = matches!(
        signal,
        libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGTRAP | libc::SIGSYS
    );
    by_instruction && (*info).si_code > 0
}
}

/// # Safety
/// The arguments are what the kernel calls a handler with.
unsafe fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
// SAFETY: the program installed the handler, for such arguments; with or without more of them, it takes the first in the same place.
unsafe {
    let handler = HANDLERS[signal as usize].load(Ordering::Relaxed);
    if handler > libc::SIG_IGN {
        let place = handler as u64 + 1;
        let Some(thread) = thread::current() else {
            let handler: Handler = core::mem::transmute(handler);
            return handler(signal, info, context);
        };
        log_arrival(signal, place);
        // With or without more arguments, a handler takes the first in the same place.
        let handler: Handler = core::mem::transmute(handler);
        let is_asynchronous = !is_own_doing(signal, info);
        let (before, outer) = (*libc::__errno_location(), thread.handler_frame.get());
        if is_asynchronous {
            thread.handler_frame.set((&raw const outer) as u64);
        }
        handler(signal, info, context);
        thread.handler_frame.set(outer);
        if is_asynchronous && *libc::__errno_location() != before {
            log_unsafe(UnsafeCall::ChangesErrno, place);
        }
    }
}
}

/// How far below the frame of a handler its calls are looked for.
const DEEPEST: u64 = 1 << 20;

/// Whether the calling thread is in a handler of a signal that came from outside. A handler that is left by a jump is left: its frame is
/// not above the caller's any more.
fn is_handling(thread: &Thread) -> bool {
    let here = 0_u8;
    let frame = thread.handler_frame.get();
    frame != 0 && frame.wrapping_sub((&raw const here) as u64) < DEEPEST
}

fn log_unsafe(call: UnsafeCall, pc: u64) {
    if let Some(inside) = enter() {
        inside.detailed(Kind::Unsafe, pc, 0, &[call.code()], b"");
    }
}

/// Writes that a handler takes a lock, if one does.
pub(crate) fn log_lock_in_handler(inside: &Inside, pc: u64) {
    if is_handling(inside.thread()) {
        inside.detailed(Kind::Unsafe, pc, 0, &[UnsafeCall::Locks.code()], b"");
    }
}

/// Writes that a handler allocates or frees memory, if one does.
pub(crate) fn log_allocation_in_handler(inside: &Inside, pc: u64) {
    if is_handling(inside.thread()) {
        inside.detailed(Kind::Unsafe, pc, 0, &[UnsafeCall::Allocates.code()], b"");
    }
}

/// Tells that a signal reaches the calling thread, in this place of the program.
fn log_arrival(signal: c_int, pc: u64) {
    if let Some(inside) = enter() {
        inside.simple(Kind::Signalled, pc, signal as u64);
    }
}

/// Tells that the calling thread is about to cause a signal, or to say what is done about it.
pub(super) fn log_cause(signal: c_int, target: SignalTarget, pc: u64) {
    if let Some(inside) = enter_point() {
        let passage = Passage::Signal(Signal(signal as u8), target);
        inside.simple(Kind::HappensBefore, pc, passage.object());
    }
}

/// What the kernel calls.
///
/// # Safety
/// The kernel calls it, as a handler.
unsafe extern "C" fn arrived(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
// SAFETY: the arguments are the kernel's.
unsafe {
    if signal == libc::SIGBUS && is_own_doing(signal, info) && losses::survives((*info).si_addr() as u64) {
        return;
    }
    let Some(thread) = thread::current() else { return handle(signal, info, context) };
    let presence = &thread.seat.presence;
    let inside = presence.is_inside();
    if inside && !is_own_doing(signal, info) {
        return put_off(thread, info);
    }
    let was_outside = thread.gated(gate::AWAY);
    presence.leave();
    handle(signal, info, context);
    if inside {
        presence.enter();
    } else if was_outside
        && !thread.gated(gate::AWAY)
        && let Some(inside) = enter()
    {
        // The handler took the token; the call it interrupted may go on blocking.
        inside.leave(NEVER);
    }
}
}

/// # Safety
/// The information is a signal's.
unsafe fn put_off(thread: &Thread, info: *const libc::siginfo_t) {
// SAFETY: the information is a signal's.
unsafe {
    let count = thread.pending_count.load(Ordering::Relaxed) as usize;
    if count < PUT_OFF {
        let mut pending = thread.pending.get();
        pending[count] = *info;
        thread.pending.set(pending);
        thread.pending_count.store(count as u32 + 1, Ordering::Relaxed);
        thread.seat.presence.add(gate::SIGNALS);
        // About to sleep until its turn comes? It should look again.
        thread.seat.turn.rouse();
    }
}
}

/// Handles what was put off, and goes on inside the runtime; whether there was anything.
pub(crate) fn deliver(inside: &Inside) -> bool {
    let thread = inside.thread();
    if !thread.gated(gate::SIGNALS) {
        return false;
    }
    thread.seat.presence.leave();
    deliver_outside(thread);
    thread.seat.presence.enter();
    true
}

/// Whether a call that the last signals have interrupted goes on after their handlers (`SA_RESTART`).
pub(crate) fn restarts(inside: &Inside) -> bool {
    inside.thread().restarts.get()
}

/// Handles what was put off: the calling thread is about to leave the runtime, or has just left it.
#[cold]
pub(crate) fn deliver_outside(thread: &Thread) {
    thread.seat.presence.remove(gate::SIGNALS);
    let pending = thread.pending.get();
    let count = thread.pending_count.swap(0, Ordering::Relaxed) as usize;
    let restarts = |info: &libc::siginfo_t| {
        let flags = FLAGS[info.si_signo as usize % SIGNALS].load(Ordering::Relaxed);
        flags & libc::SA_RESTART as u32 != 0
    };
    thread.restarts.set(pending.iter().take(count).all(restarts));
    // SAFETY: the thread's own error number, which stays where it is; the signals came for this thread.
    unsafe {
        let error = libc::__errno_location();
        let before = *error;
        for mut info in pending.into_iter().take(count) {
            handle(info.si_signo, &raw mut info, core::ptr::null_mut());
        }
        *error = before;
    }
}

/// # Safety
/// As for `sigaction`.
unsafe fn install(signal: c_int, new: *const libc::sigaction, old: Action, pc: u64) -> c_int {
// SAFETY: the actions are null or the program's, which `sigaction` may read and write.
unsafe {
    let really = |new: *const libc::sigaction| real!(sigaction(signal => c_int, new => *const libc::sigaction, old => Action) -> c_int);
    let Some(index) = usize::try_from(signal).ok().filter(|&index| index < SIGNALS) else {
        return really(new);
    };
    let handles = !new.is_null() && (*new).sa_sigaction > libc::SIG_IGN;
    if handles {
        log_cause(signal, SignalTarget::Anyone, pc);
    }
    let Some(_inside) = enter() else { return really(new) };
    let (handler, flags) = (HANDLERS[index].load(Ordering::Relaxed), FLAGS[index].load(Ordering::Relaxed));
    let result = if handles {
        let mut ours = *new;
        ours.sa_sigaction = arrived as *const () as usize;
        ours.sa_flags |= libc::SA_SIGINFO;
        // First, since the signal may come as soon as it can.
        HANDLERS[index].store((*new).sa_sigaction, Ordering::Relaxed);
        FLAGS[index].store((*new).sa_flags as u32, Ordering::Relaxed);
        INSTALLED.fetch_add(u32::from(Signal(index as u8).may_be_waited_for()), Ordering::Relaxed);
        really(&raw const ours)
    } else {
        really(new)
    };
    if result == 0 && !old.is_null() && (*old).sa_sigaction == arrived as *const () as usize {
        (*old).sa_sigaction = handler;
        (*old).sa_flags = flags as c_int;
    }
    if result == 0 && !old.is_null() && failures::is_ours((*old).sa_sigaction) {
        (*old).sa_sigaction = libc::SIG_DFL;
        (*old).sa_flags = 0;
    }
    let is_default = !new.is_null() && (*new).sa_sigaction == libc::SIG_DFL;
    if result == 0 && is_default && failures::is_fatal(signal) {
        failures::watch_one(signal);
    }
    result
}
}

/// Waits for a signal in the outside world; the number of the one that came, if one came.
fn wait(pc: u64, really: impl FnOnce() -> c_int, came: impl FnOnce(c_int) -> Option<c_int>) -> c_int {
    wait_limited(None, pc, really, came)
}

/// The same with a time limit.
fn wait_limited(
    limit: Option<Wait>,
    pc: u64,
    really: impl FnOnce() -> c_int,
    came: impl FnOnce(c_int) -> Option<c_int>,
) -> c_int {
    // SAFETY: the thread's own error number.
    let ran_out = |&result: &c_int| result < 0 && unsafe { *libc::__errno_location() } == libc::EAGAIN;
    let result = match enter() {
        Some(inside) => outside_limited(inside, limit, really, ran_out),
        None => return really(),
    };
    if let Some(signal) = came(result) {
        log_arrival(signal, pc);
    }
    result
}

/// Whether a signal to these processes, as `kill` names them, may reach this one.
fn reaches_us(process: libc::pid_t) -> bool {
    process <= 0 || process as u32 == sys::getpid()
}

type Info = *mut libc::siginfo_t;
type Value = *mut c_void;
type Bytes = *mut c_void;

hook! {
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: Action; pc in "rcx") -> c_int {
        install(signal, new, old, pc)
    }
    fn signal(signal: c_int, handler: usize; pc in "rdx") -> usize {
        let mut new: libc::sigaction = core::mem::zeroed();
        let mut old: libc::sigaction = core::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART;
        if install(signal, &raw const new, &raw mut old, pc) == 0 { old.sa_sigaction } else { libc::SIG_ERR }
    }
    fn kill(process: libc::pid_t, signal: c_int; pc in "rdx") -> c_int {
        if signal != 0 && reaches_us(process) {
            log_cause(signal, SignalTarget::Anyone, pc);
        }
        real!(kill(process => libc::pid_t, signal => c_int) -> c_int)
    }
    fn killpg(group: libc::pid_t, signal: c_int; pc in "rdx") -> c_int {
        if signal != 0 {
            log_cause(signal, SignalTarget::Anyone, pc);
        }
        real!(killpg(group => libc::pid_t, signal => c_int) -> c_int)
    }
    fn sigqueue(process: libc::pid_t, signal: c_int, value: Value; pc in "rcx") -> c_int {
        if signal != 0 && reaches_us(process) {
            log_cause(signal, SignalTarget::Anyone, pc);
        }
        real!(sigqueue(process => libc::pid_t, signal => c_int, value => Value) -> c_int)
    }
    fn pthread_kill(handle: libc::pthread_t, signal: c_int; pc in "rdx") -> c_int {
        if signal != 0 {
            log_cause(signal, target(handle), pc);
        }
        real!(pthread_kill(handle => libc::pthread_t, signal => c_int) -> c_int)
    }
    fn pthread_sigqueue(handle: libc::pthread_t, signal: c_int, value: Value; pc in "rcx") -> c_int {
        if signal != 0 {
            log_cause(signal, target(handle), pc);
        }
        real!(pthread_sigqueue(handle => libc::pthread_t, signal => c_int, value => Value) -> c_int)
    }
    fn tgkill(process: libc::pid_t, thread: libc::pid_t, signal: c_int; pc in "rcx") -> c_int {
        if signal != 0 {
            log_cause(signal, SignalTarget::Anyone, pc);
        }
        real!(tgkill(process => libc::pid_t, thread => libc::pid_t, signal => c_int) -> c_int)
    }
    fn sigwait(set: Bytes, signal: *mut c_int; pc in "rdx") -> c_int {
        let really = || real!(sigwait(set => Bytes, signal => *mut c_int) -> c_int);
        wait(pc, really, |result| (result == 0).then(|| *signal))
    }
    fn sigwaitinfo(set: Bytes, info: Info; pc in "rdx") -> c_int {
        let really = || real!(sigwaitinfo(set => Bytes, info => Info) -> c_int);
        wait(pc, really, |result| (result > 0).then_some(result))
    }
    fn sigtimedwait(set: Bytes, info: Info, limit: *const libc::timespec; pc in "rcx") -> c_int {
        let really = || real!(sigtimedwait(set => Bytes, info => Info, limit => *const libc::timespec) -> c_int);
        wait_limited(readiness::length(limit), pc, really, |result| (result > 0).then_some(result))
    }
}

/// One whose number is not known.
pub(super) const ANY_SIGNAL: c_int = 0;

/// The calling thread was not created through us: a timer may have started it, so it comes after what was done before that.
pub(crate) fn log_attachment() {
    log_arrival(ANY_SIGNAL, 0);
}

/// The thread with this handle, as far as it is known.
fn target(handle: libc::pthread_t) -> SignalTarget {
// SAFETY: takes nothing, touches nothing.
unsafe {
    let Some(inside) = enter() else { return SignalTarget::Anyone };
    let own = handle == libc::pthread_self();
    let thread = if own { Some(inside.thread()) } else { program::find(handle) };
    thread.map_or(SignalTarget::Anyone, |thread| SignalTarget::Thread(thread.number))
}
}
