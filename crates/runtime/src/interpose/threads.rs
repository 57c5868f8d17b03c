//! Threads: creation, first and last events, joining.

use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use wire::Kind;

use super::{hook, log_limited, mutexes, openmp, outside};
use crate::clock::Wait;
use crate::inside::{Ended, Inside, enter, enter_point};
use crate::numbers::Numbers;
use crate::program::{self, scheduler};
use crate::real::real;
use crate::schedule::{End, GaveUp, Key, State};
use crate::start;
use crate::sys;
use crate::thread::{self, Routine, Thread};
use crate::token::gate;
use crate::watchdog;

type Attributes = *const libc::pthread_attr_t;

/// A limit that is over.
static LONG_AGO: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
/// The thread-specific key whose destructor sees the end of a thread.
static KEY: AtomicU32 = AtomicU32::new(0);
static KEY_IS_MADE: AtomicBool = AtomicBool::new(false);
/// What [`thread::current`] is for a thread that has ended: one for all, always passive.
static ENDED: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());

/// A thread that is always passive.
pub(crate) fn nobody() -> Option<&'static Thread> {
    // SAFETY: null, or a thread whose memory stays.
    unsafe { ENDED.load(Ordering::Relaxed).as_ref() }
}

/// Asks to be called at the end of the calling thread, after the program's own destructors.
pub(crate) fn watch_end() {
    if !KEY_IS_MADE.swap(true, Ordering::Relaxed) {
        let ended: *mut Thread = sys::map_memory(size_of::<Thread>()).cast();
        ENDED.store(ended, Ordering::Relaxed);
        if let Some(nobody) = nobody() {
            nobody.seat.presence.add(gate::PASSIVE);
        }
        KEY.store(make_key(), Ordering::Relaxed);
    }
    set_own_key();
}

/// A key that the program does not come upon: the low numbers are left to it, above all 0, which a key that was never made has. The C
/// library has room for this many in each thread without allocating.
fn make_key() -> u32 {
    const KEYS: usize = 32;
    let mut keys = [0; KEYS];
    let mut made = 0;
    // SAFETY: the keys are ours, and the destructor stays.
    unsafe {
        while made < KEYS && libc::pthread_key_create(&raw mut keys[made], Some(end_of_thread)) == 0 {
            made += 1;
            if keys[made - 1] as usize >= KEYS - 1 {
                break;
            }
        }
        for &unused in &keys[..made.saturating_sub(1)] {
            libc::pthread_key_delete(unused);
        }
    }
    keys[made.saturating_sub(1)]
}

fn set_own_key() {
    let thread: *const Thread = thread::current().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: the key is ours; its values are looked at by `end_of_thread` alone.
    unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), thread.cast()) };
}

/// The C library calls this up to four times, as long as it asks for more: the last time everybody else's
/// destructors have run.
extern "C" fn end_of_thread(_: *mut c_void) {
    const ROUNDS: u32 = 4;
    let Some(thread) = thread::current() else { return };
    thread.endings.set(thread.endings.get() + 1);
    if thread.endings.get() < ROUNDS {
        return set_own_key();
    }
    openmp::end_in_library();
    let Some(inside) = enter_point() else { return };
    if thread.detached.get() {
        GONE.set(thread.handle.load(Ordering::Relaxed), thread.number);
    }
    // SAFETY: the thread is about to end.
    unsafe { mutexes::give_back_robust(&inside) };
    inside.finish();
    // The memory may be another thread's by now.
    thread::set_current(nobody());
}

/// The calling thread is about to end by a system call of its own: nobody's destructors run.
pub(crate) fn end_without_destructors() {
    let Some(inside) = enter_point() else { return };
    inside.finish();
    // The memory may be another thread's by now.
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
///
/// # Safety
/// The argument is the [`Thread`] that was made for the calling thread.
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

/// # Safety
/// It is the calling thread, which has just begun.
unsafe extern "C" fn first_turn(thread: &'static Thread) -> Start {
// SAFETY: the thread waited for its turn, so it has the token; it was made with a routine.
unsafe {
    thread::set_current(Some(thread));
    // The C library gives new threads the memory of ended ones.
    let _ = thread::take_branched();
    thread.seat.presence.enter();
    thread.kernel_id.store(sys::gettid(), Ordering::Relaxed);
    scheduler().await_turn(thread.slot);
    let inside = Inside::assume(thread);
    thread.handle.store(libc::pthread_self(), Ordering::Relaxed);
    program::begin_thread(&inside, stack_of_caller(thread.stack_size.get()));
    watch_end();
    let start = Start { routine: thread.routine.get().unwrap_unchecked(), argument: thread.argument.get() };
    let mask = thread.mask.get();
    if thread.begins_in_library.get() {
        openmp::begin_in_library(inside);
    } else {
        drop(inside);
    }
    sys::call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, (&raw const mask) as usize, 0, 8, 0, 0]);
    start
}
}

/// Roughly where the calling thread's stack is, if it is so long: the C library keeps its own data at the high end.
pub(crate) fn stack_of_caller(size: u64) -> (u64, u64) {
    // SAFETY: takes nothing, touches nothing.
    let high = unsafe { libc::pthread_self() };
    (high.saturating_sub(size), high)
}

/// Creates a thread.
///
/// # Safety
/// As for `pthread_create`.
pub(crate) unsafe fn create(
    handle: *mut libc::pthread_t,
    attributes: Attributes,
    routine: Routine,
    argument: *mut c_void,
    pc: u64,
) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let really = |routine: Routine, argument: *mut c_void| {
        real!(pthread_create(
            handle => *mut libc::pthread_t, attributes => Attributes, routine => Routine, argument => *mut c_void
        ) -> c_int)
    };
    let Some(inside) = enter_point() else { return really(routine, argument) };
    // The number of the thread is written before the thread starts.
    inside.stop_before(Kind::Write8, handle as u64, size_of::<libc::pthread_t>() as u64, pc);
    watchdog::start(&inside);
    start::linger_at_exit();
    let Some(slot) = scheduler().with_lock(|schedule, program| schedule.add(program)) else {
        return really(routine, argument);
    };
    let child = program::thread_in(slot);
    child.routine.set(Some(routine));
    child.argument.set(argument);
    let is_for_library = inside.thread().creates_for_library.get();
    child.begins_in_library.set(is_for_library);
    // What a library does with its threads at their end is out of sight, and nothing of the program's.
    child.detached.set(is_for_library || is_detached(attributes));
    child.stack_size.set(stack_size(attributes));
    // A signal must not reach the child before it knows itself.
    let all = u64::MAX;
    let mask = child.mask.as_ptr();
    sys::call(
        libc::SYS_rt_sigprocmask,
        [libc::SIG_SETMASK as usize, (&raw const all) as usize, mask as usize, 8, 0, 0],
    );
    let before = *mask;
    let result = really(start_thread, core::ptr::from_ref(child).cast_mut().cast());
    sys::call(
        libc::SYS_rt_sigprocmask,
        [libc::SIG_SETMASK as usize, (&raw const before) as usize, 0, 8, 0, 0],
    );
    if result == 0 {
        child.handle.store(*handle, Ordering::Relaxed);
        GONE.remove(*handle);
        let own = inside.thread().slot;
        scheduler().with_lock(|schedule, _| schedule.created(own, slot));
        inside.simple(Kind::Write8, pc, handle as u64);
        inside.detailed(Kind::Create, pc, 0, &[u64::from(child.number)], b"");
        if child.detached.get() {
            inside.detailed(Kind::Detach, pc, 0, &[u64::from(child.number)], b"");
        }
        let comes_first = scheduler().with_lock(|schedule, program| {
            schedule.give_budget(own, program);
            schedule.begins_at_once(slot, own)
        });
        if comes_first {
            inside.preempt(GaveUp::ToANewThread, None);
        }
    } else {
        scheduler().with_lock(|schedule, _| schedule.take_back(slot));
    }
    result
}
}

/// # Safety
/// The attributes are null or ones.
unsafe fn is_detached(attributes: Attributes) -> bool {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let mut state: c_int = 0;
    !attributes.is_null()
        && real!(pthread_attr_getdetachstate(attributes => Attributes, &raw mut state => *mut c_int) -> c_int)
            == 0
        && state == libc::PTHREAD_CREATE_DETACHED
}
}

/// # Safety
/// The attributes are null or ones.
unsafe fn stack_size(attributes: Attributes) -> u64 {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let mut size = 0;
    if attributes.is_null() || libc::pthread_attr_getstacksize(attributes, &raw mut size) != 0 {
        size = 8 << 20;
    }
    size as u64
}
}

/// Waits for the end of a thread, at most until then, and joins it.
///
/// # Safety
/// As for `pthread_timedjoin_np`.
pub(crate) unsafe fn join(
    handle: libc::pthread_t,
    result: *mut *mut c_void,
    limit: Option<(c_int, *const libc::timespec)>,
    pc: u64,
) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let really = || real!(pthread_join(handle => libc::pthread_t, result => *mut *mut c_void) -> c_int);
    let Some(inside) = enter_point() else { return really() };
    let child = program::find(handle).filter(|child| child.slot != inside.thread().slot);
    let Some(child) = child else {
        log_gone(&inside, handle, pc);
        return outside(inside, really);
    };
    if child.detached.get() {
        inside.detailed(Kind::JoinedAgain, pc, 0, &[u64::from(child.number)], b"");
        return outside(inside, really);
    }
    if !is_finished(child) {
        let end = match limit {
            None => End::NEVER,
            Some((clock, time)) => match Wait::until(clock, time) {
                Some(wait) => inside.end_of(wait),
                None => return libc::EINVAL,
            },
        };
        while !is_finished(child) {
            if end.is_never() {
                inside.detailed(Kind::AwaitsEnd, pc, 0, &[u64::from(child.number)], b"");
            }
            let ended = inside.block(Key::end_of(child.slot), end);
            if ended == Ended::TimedOut {
                return libc::ETIMEDOUT;
            }
            if end.is_never() {
                inside.simple(Kind::Awaits, pc, 0);
            }
            if inside.thread().cancelled.load(Ordering::Relaxed) {
                drop(inside);
                cancellation_point();
                return join(handle, result, limit, pc);
            }
        }
    }
    let status = really();
    if status == 0 {
        if limit.is_some() {
            log_limited(&inside, pc);
        }
        inside.detailed(Kind::Join, pc, 0, &[u64::from(child.number)], b"");
        forget(child);
    }
    status
}
}

fn is_finished(thread: &Thread) -> bool {
    scheduler().with_lock(|schedule, _| schedule.state(thread.slot)) == State::Finished
}

/// The numbers of threads that were joined, or detached and have ended, by their handles.
static GONE: Numbers<4096> = Numbers::new();

/// Writes that a thread of which nothing is left is joined or detached, if it is one.
fn log_gone(inside: &Inside, handle: libc::pthread_t, pc: u64) {
    if let Some(number) = GONE.get(handle) {
        inside.detailed(Kind::JoinedAgain, pc, 0, &[u64::from(number)], b"");
    }
}

fn forget(thread: &Thread) {
    GONE.set(thread.handle.load(Ordering::Relaxed), thread.number);
    // The first thread's memory is the process's as long as it lasts.
    if thread.number > 0 {
        scheduler().with_lock(|schedule, _| schedule.forget(thread.slot));
    }
}

/// Detaches a thread.
///
/// # Safety
/// As for `pthread_detach`.
pub(crate) unsafe fn detach(handle: libc::pthread_t, pc: u64) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let inside = enter_point();
    let child = inside.as_ref().and_then(|inside| {
        let child = program::find(handle);
        if child.is_none() {
            log_gone(inside, handle, pc);
        }
        child
    });
    let result = real!(pthread_detach(handle => libc::pthread_t) -> c_int);
    if let (0, Some(inside), Some(child)) = (result, inside, child) {
        child.detached.set(true);
        inside.detailed(Kind::Detach, pc, 0, &[u64::from(child.number)], b"");
        if is_finished(child) {
            forget(child);
        }
    }
    result
}
}

/// Ends the calling thread here if that was asked for: at the end of a function that waits, outside the runtime.
#[inline]
pub(crate) fn cancellation_point() {
// SAFETY: the thread is outside the runtime, and the frames from here to the program hold nothing.
unsafe {
    if thread::current().is_some_and(|thread| thread.cancelled.load(Ordering::Relaxed)) {
        pthread_testcancel();
    }
}
}

unsafe extern "C" {
    /// Declared as one that does not unwind, although it does: otherwise the compiler puts an abort there. The frames
    /// between it and the program hold nothing that would need cleaning up, and have unwind tables.
    fn pthread_testcancel();
}

/// Lets others run. The kernel is asked only where it can do something for the program: threads that are outside the scheduler may be waited
/// for, and now and then other processes. On a busy machine each such call costs a slice of time.
pub(crate) fn give_way() -> c_int {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    const SELDOM: u32 = 32;
    let asks_kernel = match enter() {
        Some(inside) => {
            inside.preempt(GaveUp::Yielding, None);
            let is_someone_outside = scheduler().with_lock(|schedule, _| schedule.outside() > 0);
            is_someone_outside || COUNT.fetch_add(1, Ordering::Relaxed).is_multiple_of(SELDOM)
        }
        None => true,
    };
    if asks_kernel {
        sys::yield_now();
    }
    0
}

hook! {
    fn pthread_create(handle: *mut libc::pthread_t, attributes: Attributes, routine: Routine, argument: *mut c_void; pc in "r8") -> c_int {
        start::starts_thread();
        openmp::while_creating(pc, |pc| create(handle, attributes, routine, argument, pc))
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
            && let Some(child) = program::find(handle)
            && !is_finished(child)
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
            && let Some(target) = program::find(handle)
        {
            target.cancelled.store(true, Ordering::Relaxed);
            scheduler().with_lock(|schedule, _| schedule.rouse(target.slot));
        }
        result
    }
    fn pthread_setname_np(handle: libc::pthread_t, name: *const c_char; pc in "rdx") -> c_int {
        let inside = enter();
        let result = real!(pthread_setname_np(handle => libc::pthread_t, name => *const c_char) -> c_int);
        if let (0, Some(inside)) = (result, inside) {
            let own = handle == libc::pthread_self();
            let named = if own { Some(inside.thread()) } else { program::find(handle) };
            if let Some(named) = named {
                let text = CStr::from_ptr(name).to_bytes();
                inside.detailed(Kind::ThreadName, pc, 0, &[u64::from(named.number)], text);
            }
        }
        result
    }
}

#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> c_int {
    give_way()
}

#[unsafe(no_mangle)]
extern "C" fn pthread_yield() -> c_int {
    give_way()
}
