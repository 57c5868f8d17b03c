//! Threads: creation, first and last events, joining.

use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use wire::Kind;

use super::{hook, limited, mutexes, outside};
use crate::clock::{End, Wait};
use crate::hooks::{self, enter, enter_point};
use crate::policy::GaveUp;
use crate::real::real;
use crate::replay::replay;
use crate::scheduler::{self, Ended, scheduler};
use crate::start;
use crate::sys;
use crate::thread::{self, Routine, State, Thread, gate};
use crate::watchdog;
use crate::writer;

type Attributes = *const libc::pthread_attr_t;

/// A limit that is over.
static LONG_AGO: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
/// The thread-specific key whose destructor sees the end of a thread.
static KEY: AtomicU32 = AtomicU32::new(0);
static KEY_IS_MADE: AtomicBool = AtomicBool::new(false);
/// What [`thread::current`] is for a thread that has ended: one for all, always passive.
static ENDED: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());

/// A thread that is always passive.
pub(crate) fn nobody() -> *mut Thread {
    ENDED.load(Ordering::Relaxed)
}

/// Asks to be called at the end of the calling thread, after the program's own destructors.
pub(crate) unsafe fn watch_end() {
    if !KEY_IS_MADE.swap(true, Ordering::Relaxed) {
        let ended: *mut Thread = sys::map_memory(size_of::<Thread>()).cast();
        if !ended.is_null() {
            (*ended).gate.store(gate::PASSIVE, Ordering::Relaxed);
        }
        ENDED.store(ended, Ordering::Relaxed);
        let mut key = 0;
        libc::pthread_key_create(&raw mut key, Some(end_of_thread));
        KEY.store(key, Ordering::Relaxed);
    }
    libc::pthread_setspecific(KEY.load(Ordering::Relaxed), thread::current().cast());
}

/// The C library calls this up to four times, as long as it asks for more: the last time everybody else's
/// destructors have run.
unsafe extern "C" fn end_of_thread(this: *mut c_void) {
    const ROUNDS: u32 = 4;
    let thread: *mut Thread = this.cast();
    (*thread).endings += 1;
    if (*thread).endings < ROUNDS {
        libc::pthread_setspecific(KEY.load(Ordering::Relaxed), this);
        return;
    }
    let Some(inside) = enter_point() else { return };
    mutexes::give_back_robust(thread);
    scheduler().finish(thread);
    // The memory may be another thread's by now.
    core::mem::forget(inside);
    thread::set_current(nobody());
}

/// What a new thread runs, and with what.
#[repr(C)]
struct Start {
    routine: Routine,
    argument: *mut c_void,
}

/// The first function of a new thread. It is assembly so that the program can unwind through it, as `pthread_exit`
/// does.
#[unsafe(naked)]
unsafe extern "C" fn start_thread(thread: *mut c_void) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {}",
        "mov rdi, rdx",
        "call rax",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        sym first_turn,
    );
}

unsafe extern "C" fn first_turn(thread: *mut Thread) -> Start {
    thread::set_current(thread);
    (*thread).inside.store(1, Ordering::Relaxed);
    (*thread).kernel_id.store(sys::gettid(), Ordering::Relaxed);
    scheduler::await_turn(thread);
    (*thread).handle = libc::pthread_self();
    scheduler::begin(thread, stack_of_caller((*thread).stack_size));
    watch_end();
    let start = Start { routine: (*thread).routine.unwrap_unchecked(), argument: (*thread).argument };
    let mask = (*thread).mask;
    drop(hooks::Inside(thread));
    sys::call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, (&raw const mask) as usize, 0, 8, 0, 0]);
    start
}

/// Roughly where the calling thread's stack is, if it is so long: the C library keeps its own data at the high end.
pub(crate) unsafe fn stack_of_caller(size: u64) -> (u64, u64) {
    let high = libc::pthread_self();
    (high.saturating_sub(size), high)
}

/// Creates a thread.
pub(crate) unsafe fn create(
    handle: *mut libc::pthread_t,
    attributes: Attributes,
    routine: Routine,
    argument: *mut c_void,
    pc: u64,
) -> c_int {
    let really = |routine: Routine, argument: *mut c_void| {
        real!(pthread_create(
            handle => *mut libc::pthread_t, attributes => Attributes, routine => Routine, argument => *mut c_void
        ) -> c_int)
    };
    let Some(inside) = enter_point() else { return really(routine, argument) };
    watchdog::start();
    start::linger_at_exit();
    let Some(child) = scheduler().add_locked() else { return really(routine, argument) };
    (*child).routine = Some(routine);
    (*child).argument = argument;
    (*child).detached = is_detached(attributes);
    (*child).stack_size = stack_size(attributes);
    // A signal must not reach the child before it knows itself.
    let all = u64::MAX;
    let mask = &raw mut (*child).mask;
    sys::call(
        libc::SYS_rt_sigprocmask,
        [libc::SIG_SETMASK as usize, (&raw const all) as usize, mask as usize, 8, 0, 0],
    );
    let before = *mask;
    let result = really(start_thread, child.cast());
    sys::call(
        libc::SYS_rt_sigprocmask,
        [libc::SIG_SETMASK as usize, (&raw const before) as usize, 0, 8, 0, 0],
    );
    if result == 0 {
        (*child).handle = *handle;
        replay().created(inside.0, child);
        writer::detailed(inside.0, Kind::Create, pc, 0, &[u64::from((*child).number)], b"");
        scheduler().give_budget(inside.0);
        scheduler().let_begin(child, inside.0);
    } else {
        scheduler().take_back(child);
    }
    result
}

unsafe fn is_detached(attributes: Attributes) -> bool {
    let mut state: c_int = 0;
    !attributes.is_null()
        && real!(pthread_attr_getdetachstate(attributes => Attributes, &raw mut state => *mut c_int) -> c_int)
            == 0
        && state == libc::PTHREAD_CREATE_DETACHED
}

unsafe fn stack_size(attributes: Attributes) -> u64 {
    let mut size = 0;
    if attributes.is_null() || libc::pthread_attr_getstacksize(attributes, &raw mut size) != 0 {
        size = 8 << 20;
    }
    size as u64
}

/// Waits for the end of a thread, at most until then, and joins it.
pub(crate) unsafe fn join(
    handle: libc::pthread_t,
    result: *mut *mut c_void,
    limit: Option<(c_int, *const libc::timespec)>,
    pc: u64,
) -> c_int {
    let really = || real!(pthread_join(handle => libc::pthread_t, result => *mut *mut c_void) -> c_int);
    let Some(inside) = enter_point() else { return really() };
    let child = scheduler().find(handle).filter(|&child| child != inside.0);
    let Some(child) = child else { return outside(inside, really) };
    if (*child).state != State::Finished {
        let end = match limit {
            None => End::NEVER,
            Some((clock, time)) => match Wait::until(clock, time) {
                Some(wait) => scheduler().end_of(inside.0, wait),
                None => return libc::EINVAL,
            },
        };
        while (&raw const (*child).state).read_volatile() != State::Finished {
            if scheduler().block(inside.0, child as u64, end) == Ended::TimedOut {
                return libc::ETIMEDOUT;
            }
            if (*inside.0).cancelled {
                drop(inside);
                cancellation_point();
                return join(handle, result, limit, pc);
            }
        }
    }
    let status = really();
    if status == 0 {
        if limit.is_some() {
            limited(inside.0, pc);
        }
        writer::detailed(inside.0, Kind::Join, pc, 0, &[u64::from((*child).number)], b"");
        scheduler().forget(child);
    }
    status
}

/// Detaches a thread.
pub(crate) unsafe fn detach(handle: libc::pthread_t, pc: u64) -> c_int {
    let inside = enter_point();
    let result = real!(pthread_detach(handle => libc::pthread_t) -> c_int);
    if let (0, Some(inside)) = (result, inside)
        && let Some(child) = scheduler().find(handle)
    {
        (*child).detached = true;
        writer::detailed(inside.0, Kind::Detach, pc, 0, &[u64::from((*child).number)], b"");
        if (*child).state == State::Finished {
            scheduler().forget(child);
        }
    }
    result
}

/// Ends the calling thread here if that was asked for: at the end of a function that waits, outside the runtime.
#[inline]
pub(crate) unsafe fn cancellation_point() {
    let thread = thread::current();
    if !thread.is_null() && (*thread).cancelled {
        pthread_testcancel();
    }
}

unsafe extern "C" {
    /// Declared as one that does not unwind, although it does: otherwise the compiler puts an abort there. The frames
    /// between it and the program hold nothing that would need cleaning up, and have unwind tables.
    fn pthread_testcancel();
}

/// Lets others run.
pub(crate) unsafe fn give_way() -> c_int {
    if let Some(inside) = enter() {
        scheduler().preempt(inside.0, GaveUp::Willingly);
    }
    sys::yield_now();
    0
}

hook! {
    fn pthread_create(handle: *mut libc::pthread_t, attributes: Attributes, routine: Routine, argument: *mut c_void; pc in "r8") -> c_int {
        create(handle, attributes, routine, argument, pc)
    }
    fn pthread_join(handle: libc::pthread_t, result: *mut *mut c_void; pc in "rdx") -> c_int {
        join(handle, result, None, pc)
    }
    fn pthread_timedjoin_np(handle: libc::pthread_t, result: *mut *mut c_void, time: *const libc::timespec; pc in "rcx") -> c_int {
        join(handle, result, Some((libc::CLOCK_REALTIME, time)), pc)
    }
    fn pthread_clockjoin_np(handle: libc::pthread_t, result: *mut *mut c_void, clock: c_int, time: *const libc::timespec; pc in "r8") -> c_int {
        join(handle, result, Some((clock, time)), pc)
    }
    fn pthread_tryjoin_np(handle: libc::pthread_t, result: *mut *mut c_void; pc in "rdx") -> c_int {
        if let Some(_inside) = enter()
            && let Some(child) = scheduler().find(handle)
            && (*child).state != State::Finished
        {
            return libc::EBUSY;
        }
        join(handle, result, Some((libc::CLOCK_REALTIME, &raw const LONG_AGO)), pc)
    }
    fn pthread_detach(handle: libc::pthread_t; pc in "rsi") -> c_int {
        detach(handle, pc)
    }
    fn pthread_cancel(handle: libc::pthread_t; _pc in "rsi") -> c_int {
        let inside = enter();
        let result = real!(pthread_cancel(handle => libc::pthread_t) -> c_int);
        if let (0, Some(_inside)) = (result, inside)
            && let Some(target) = scheduler().find(handle)
        {
            (*target).cancelled = true;
            scheduler().rouse(target);
        }
        result
    }
    fn pthread_setname_np(handle: libc::pthread_t, name: *const c_char; pc in "rdx") -> c_int {
        let inside = enter();
        let result = real!(pthread_setname_np(handle => libc::pthread_t, name => *const c_char) -> c_int);
        if let (0, Some(inside)) = (result, inside) {
            let own = handle == libc::pthread_self();
            let named = if own { Some(inside.0) } else { scheduler().find(handle) };
            if let Some(named) = named {
                let text = CStr::from_ptr(name).to_bytes();
                writer::detailed(inside.0, Kind::ThreadName, pc, 0, &[u64::from((*named).number)], text);
            }
        }
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    give_way()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_yield() -> c_int {
    give_way()
}
