//! Timers of the kernel's: they run in real time.
//!
//! What a timer causes comes after what was done before it was set. From then on the program's clocks do not fall behind real time, and its
//! sleeps are real ones, so that a timer and a sleep end in the order in which they should.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use wire::SignalTarget;

use super::filled::log_fill;
use super::hook;
use super::ranges::log_ranges;
use super::signals::{ANY_SIGNAL, log_cause};
use crate::clock;
use crate::inside::enter;
use crate::program::scheduler;
use crate::real::real;

type Bytes = *mut c_void;
type Setting = *const libc::itimerspec;

/// The program has set a timer.
static IS_ANY_SET: AtomicBool = AtomicBool::new(false);
/// The same of one that causes signals: something may happen at any time.
static IS_SET: AtomicBool = AtomicBool::new(false);

/// Whether time must pass as it does for the kernel.
pub(crate) fn is_any_set() -> bool {
    IS_ANY_SET.load(Ordering::Relaxed)
}

/// Whether what threads wait for may come by itself, at any time.
pub(crate) fn is_set() -> bool {
    IS_SET.load(Ordering::Relaxed)
}

/// The calling thread is about to set a timer.
fn set() {
    if let Some(_inside) = enter() {
        scheduler().with_lock(|schedule, program| schedule.keep_up(program));
    }
    IS_ANY_SET.store(true, Ordering::Relaxed);
}

/// The same of a timer that causes this signal.
fn set_for(signal: c_int, pc: u64) {
    set();
    IS_SET.store(true, Ordering::Relaxed);
    log_cause(signal, SignalTarget::Anyone, pc);
}

/// A setting whose first time is a time of a clock, as the kernel needs it. Which clock is told from the time: those of two clocks are far apart.
///
/// # Safety
/// The setting is one.
unsafe fn absolute(setting: Setting) -> libc::itimerspec {
// SAFETY: the setting is one.
unsafe {
    let first = &raw const (*setting).it_value;
    let time = clock::nanoseconds(first).unwrap_or(0);
    let clocks = [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC];
    let clock = clocks.into_iter().min_by_key(|&clock| clock::shown(clock).abs_diff(time));
    let it_value = match clock {
        // No time stops the timer.
        Some(clock) if time > 0 => clock::by_machine(clock, first),
        _ => *first,
    };
    libc::itimerspec { it_value, ..*setting }
}
}

hook! {
    fn alarm(seconds: u32; pc in "rsi") -> u32 {
        set_for(libc::SIGALRM, pc);
        real!(alarm(seconds => u32) -> u32)
    }
    fn ualarm(first: u32, then: u32; pc in "rdx") -> u32 {
        set_for(libc::SIGALRM, pc);
        real!(ualarm(first => u32, then => u32) -> u32)
    }
    fn setitimer(which: c_int, new: Bytes, old: Bytes; pc in "rcx") -> c_int {
        let signal = match which {
            libc::ITIMER_VIRTUAL => libc::SIGVTALRM,
            libc::ITIMER_PROF => libc::SIGPROF,
            _ => libc::SIGALRM,
        };
        set_for(signal, pc);
        real!(setitimer(which => c_int, new => Bytes, old => Bytes) -> c_int)
    }
    fn timer_create(clock: c_int, event: Bytes, timer: Bytes; pc in "rcx") -> c_int {
        log_cause(ANY_SIGNAL, SignalTarget::Anyone, pc);
        real!(timer_create(clock => c_int, event => Bytes, timer => Bytes) -> c_int)
    }
    fn timer_settime(timer: Bytes, flags: c_int, new: Setting, old: Bytes; pc in "r8") -> c_int {
        // Which signal it sends, or that it starts threads instead, was said when it was made.
        set_for(ANY_SIGNAL, pc);
        let setting = (flags & libc::TIMER_ABSTIME != 0 && !new.is_null()).then(|| absolute(new));
        let new = setting.as_ref().map_or(new, core::ptr::from_ref);
        real!(timer_settime(timer => Bytes, flags => c_int, new => Setting, old => Bytes) -> c_int)
    }
    fn timerfd_settime(file: c_int, flags: c_int, new: Setting, old: Bytes; pc in "r8") -> c_int {
        let size = size_of::<libc::itimerspec>();
        set();
        log_ranges(pc, &[(new as u64, size)], &[]);
        let setting = (flags & libc::TFD_TIMER_ABSTIME != 0 && !new.is_null()).then(|| absolute(new));
        let new = setting.as_ref().map_or(new, core::ptr::from_ref);
        let result = real!(timerfd_settime(file => c_int, flags => c_int, new => Setting, old => Bytes) -> c_int);
        if result == 0 {
            log_fill(old, size, pc);
        }
        result
    }
}
