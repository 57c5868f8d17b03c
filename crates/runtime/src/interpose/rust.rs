//! What Rust's standard library does out of sight. std is precompiled, without hooks. `foretell cargo` links a
//! program so that calls from instrumented code to the functions of std that order threads run our hooks before
//! (`foretell_rust_enter`) and after (`foretell_rust_leave`). The functions themselves are std's: they wait and
//! wake by futexes, which the scheduler implements.
//!
//! Between two hooks a thread keeps the token unless it blocks, so what std does in between is atomic.
//!
//! The slow paths of locks of other crates are intercepted in the same way. Their code has hooks of its own, which see nothing while the thread
//! is in there ([`gate::HIDDEN`]): how often it tries, spins and parks depends on who holds the lock, and the positions of a thread must not.

use core::sync::atomic::{AtomicBool, Ordering};

use wire::{Kind, StdCall, Waker};

use super::log_limited;
use crate::inside::{Ended, Inside, enter};
use crate::thread::Thread;
use crate::token::gate;

/// What a thread is doing in std.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StdActivity {
    /// The condition variable it is about to wait for, or waits for; 0: none.
    condition: u64,
    /// The mutex that goes with it.
    mutex: u64,
    /// Where the program called.
    pc: u64,
    /// The futex it waited for last.
    waited_for: u64,
    /// The counts of a scope, before one of its threads is counted as ended.
    scope: [u64; SCOPE],
    /// How many calls of `print!` it is in.
    printing: u32,
    /// How many calls it is in whose inside is hidden, the object of the outermost, and where that was called.
    hidden: u32,
    hidden_object: u64,
    hidden_pc: u64,
}

impl StdActivity {
    /// The object of the outermost call whose inside is hidden.
    pub(crate) fn hidden_object(&self) -> Option<u64> {
        (self.hidden > 0).then_some(self.hidden_object)
    }

    /// Whether it is printing.
    pub(crate) fn prints(&self) -> bool {
        self.printing > 0
    }
}

/// A scope's data are a count, a handle and a flag.
const SCOPE: usize = 3;

/// The nanoseconds of an `Option<Instant>` that is none.
const NO_INSTANT: u32 = 1_000_000_000;

/// Whether the program has a std without hooks.
static HIDDEN_STD: AtomicBool = AtomicBool::new(false);

/// Whether functions of the C library may be called from a std without hooks, so that what they access does not belong to the program.
#[inline]
pub(crate) fn has_hidden_std() -> bool {
    HIDDEN_STD.load(Ordering::Relaxed)
}

/// The program says so before `main`.
#[unsafe(no_mangle)]
extern "C" fn foretell_rust_program() {
    HIDDEN_STD.store(true, Ordering::Relaxed);
}

/// The program is about to call a function of std. What is returned is handed to [`foretell_rust_leave`].
///
/// # Safety
/// The arguments are those of the call of std's.
#[unsafe(no_mangle)]
unsafe extern "C" fn foretell_rust_enter(call: u64, first: u64, second: u64, pc: u64, fourth: u64) -> u64 {
// SAFETY: the call's first argument is the address of the object it is about.
unsafe {
    let (Some(call), Some(inside)) = (StdCall::from_number(call), enter()) else { return 0 };
    let thread = inside.thread();
    if thread.gated(gate::HIDDEN) {
        hide(thread, first, pc);
        return 0;
    }
    if has_position(call) {
        inside.point();
    }
    match call {
        StdCall::Wait | StdCall::WaitTimeout => {
            thread.change_std_activity(|std_activity| {
                (std_activity.condition, std_activity.mutex, std_activity.pc) = (first, second, pc);
            });
            if call == StdCall::WaitTimeout {
                log_limited(&inside, pc);
            }
            inside.detailed(Kind::Wait, pc, first, &[second], b"");
        }
        StdCall::NotifyOne => inside.simple(Kind::Signal, pc, first),
        StdCall::NotifyAll => inside.simple(Kind::Broadcast, pc, first),
        StdCall::Barrier => inside.simple(Kind::BarrierEnter, pc, first),
        StdCall::Once => {
            thread.change_std_activity(|std_activity| std_activity.waited_for = 0);
            return u64::from((first as *const u32).read_volatile());
        }
        StdCall::ScopeEnd => {
            let scope = (first as *const [u64; SCOPE]).read_volatile();
            thread.change_std_activity(|std_activity| std_activity.scope = scope);
        }
        // A reader that finds the lock taken does not even try: the number of places must not depend on that.
        StdCall::Contended if thread.loaded.get() == first => {
            inside.simple(Kind::TryFailedShared, pc, first);
        }
        StdCall::Print => thread.change_std_activity(|std_activity| std_activity.printing += 1),
        StdCall::Contended => {}
        StdCall::SlowLock | StdCall::SlowLockForGood => {
            if thread.loaded.get() == first {
                inside.simple(Kind::TryFailedShared, pc, first);
            }
            hide(thread, first, pc);
        }
        StdCall::SlowUnlock => {
            inside.simple(Kind::GaveBack, pc, first);
            hide(thread, first, pc);
        }
        StdCall::SlowWait => {
            thread.change_std_activity(|std_activity| {
                (std_activity.condition, std_activity.mutex, std_activity.pc) = (first, second, pc);
            });
            if fourth as u32 != NO_INSTANT {
                log_limited(&inside, pc);
            }
            inside.detailed(Kind::Wait, pc, first, &[second], b"");
            hide(thread, first, pc);
        }
        StdCall::Hidden => hide(thread, first, pc),
    }
    0
}
}

/// Whether a call has an event of its own before it starts. That of a lock's slow path was the attempt before.
fn has_position(call: StdCall) -> bool {
    match call {
        StdCall::Contended
        | StdCall::Print
        | StdCall::SlowLock
        | StdCall::SlowLockForGood
        | StdCall::SlowUnlock
        | StdCall::Hidden => false,
        StdCall::Wait
        | StdCall::WaitTimeout
        | StdCall::SlowWait
        | StdCall::NotifyOne
        | StdCall::NotifyAll
        | StdCall::Barrier
        | StdCall::Once
        | StdCall::ScopeEnd => true,
    }
}

/// What the thread does from here on is hidden: it is inside a lock, or the like, at this address.
fn hide(thread: &Thread, object: u64, pc: u64) {
    thread.change_std_activity(|std_activity| {
        if std_activity.hidden == 0 {
            (std_activity.hidden_object, std_activity.hidden_pc) = (object, pc);
        }
        std_activity.hidden += 1;
    });
    thread.seat.presence.add(gate::HIDDEN);
}

/// A call whose inside is hidden is over; whether it was the outermost.
fn unhide(thread: &Thread) -> bool {
    thread.change_std_activity(|std_activity| std_activity.hidden -= 1);
    let is_out = thread.std_activity.get().hidden == 0;
    if is_out {
        thread.seat.presence.remove(gate::HIDDEN);
        thread.loaded.set(0);
    }
    is_out
}

/// What a thread waits for that waits for a futex, and where: the object whose inside is hidden, or else the futex itself.
pub(crate) fn awaited(inside: &Inside, word: u64, pc: u64) -> (u64, u64) {
    let StdActivity { hidden, hidden_object, hidden_pc, .. } = inside.thread().std_activity.get();
    if hidden > 0 { (hidden_object, hidden_pc) } else { (word, pc) }
}

/// The function of std has returned.
///
/// # Safety
/// As for [`foretell_rust_enter`].
#[unsafe(no_mangle)]
unsafe extern "C" fn foretell_rust_leave(call: u64, first: u64, second: u64, pc: u64, entered: u64, result: u64) {
// SAFETY: as in `foretell_rust_enter`.
unsafe {
    let (Some(call), Some(inside)) = (StdCall::from_number(call), enter()) else { return };
    let thread = inside.thread();
    if thread.gated(gate::HIDDEN) && !unhide(thread) {
        return;
    }
    // A Rust function that returns a `bool` leaves the upper bits of the register undefined.
    let is_true = result & 1 != 0;
    match call {
        StdCall::SlowLock if is_true => inside.simple(Kind::Obtained, pc, first),
        StdCall::SlowLockForGood => inside.simple(Kind::Obtained, pc, first),
        StdCall::SlowLock | StdCall::SlowUnlock | StdCall::Hidden => {}
        StdCall::SlowWait => {
            if thread.std_activity.get().condition != 0 {
                log_woken(&inside, if is_true { Ended::TimedOut } else { Ended::Woken(Waker::Signal) });
            }
            inside.simple(Kind::Acquire, pc, second);
        }
        StdCall::Wait | StdCall::WaitTimeout => {
            if thread.std_activity.get().condition != 0 {
                log_woken(&inside, Ended::Interrupted);
            }
            inside.simple(Kind::Acquire, pc, second);
        }
        StdCall::Barrier => inside.simple(Kind::BarrierExit, pc, first),
        StdCall::Once => {
            let did = thread.std_activity.get().waited_for != first
                && u64::from((first as *const u32).read_volatile()) != entered;
            let kind = if did { Kind::AtomicWrite4 } else { Kind::AtomicRead4 };
            inside.simple(kind, pc, first);
        }
        StdCall::ScopeEnd => {
            let before = thread.std_activity.get().scope;
            let after = (first as *const [u64; SCOPE]).read_volatile();
            if let Some(count) = (0..SCOPE).find(|&at| after[at].wrapping_add(1) == before[at]) {
                inside.simple(Kind::AtomicUpdate8, pc, first + 8 * count as u64);
            }
        }
        StdCall::Print => thread.change_std_activity(|std_activity| std_activity.printing = std_activity.printing.saturating_sub(1)),
        StdCall::Contended => inside.simple(Kind::Obtained, pc, first),
        StdCall::NotifyOne | StdCall::NotifyAll => {}
    }
}
}

/// The thread has waited for a futex.
pub(crate) fn after_wait(inside: &Inside, word: u64, ended: Ended) {
    let thread = inside.thread();
    thread.change_std_activity(|std_activity| std_activity.waited_for = word);
    // std waits again after a signal.
    if thread.std_activity.get().condition == word && ended != Ended::Interrupted {
        log_woken(inside, ended);
    }
}

/// The wait for a condition variable is over; the mutex is wanted next.
fn log_woken(inside: &Inside, ended: Ended) {
    let by = match ended {
        Ended::TimedOut => Waker::Timeout,
        Ended::Interrupted => Waker::Spurious,
        Ended::Woken(by) => by,
    };
    let StdActivity { condition, mutex, pc, .. } = inside.thread().std_activity.get();
    inside.thread().change_std_activity(|std_activity| std_activity.condition = 0);
    inside.detailed(Kind::Woken, pc, condition, &[by.code()], b"");
    inside.point();
    inside.simple(Kind::Request, pc, mutex);
}
