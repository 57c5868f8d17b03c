//! What a program declares about its own synchronisation, through libtsan's interface
//! (`sanitizer/tsan_interface.h`) or the older `Annotate..` functions: orders that the runtime cannot see, custom
//! locks, and accesses and races that are intended.
//!
//! Accesses inside a custom lock, between the two calls that announce it, are not recorded: they would fix the
//! order of its sections to that of the run. Nor are they positions, so that a replay may try as often as it has to.

use core::ffi::{CStr, c_char, c_int, c_void};

use wire::{Kind, Passage, Refusal};

use super::ranges::log_ranges;
use super::{EXCLUSIVE, SHARED, hook, safe_hook};
use crate::inside::{enter, enter_point};
use crate::numbers::Numbers;
use crate::token::gate;

type Object = *mut c_void;
type File = *const c_char;

/// A lock is held for reading, or only tried, or the try failed: flags of `__tsan_mutex_..`.
const READS: u32 = 1 << 3;
const TRIES: u32 = 1 << 4;
const FAILED: u32 = 1 << 5;
/// A lock is taken as often as the call says, or given back as often as it is held.
const LOCKS_ALL: u32 = 1 << 6;
const UNLOCKS_ALL: u32 = 1 << 7;

/// How often the locks that are held alone are held.
static DEPTHS: Numbers<4096> = Numbers::new();

/// The deepest a lock is taken at once.
const DEEPEST: u32 = 64;

/// Locks that their holder may take again, as the program says when it makes or takes them.
static REENTRANT: Numbers<4096> = Numbers::new();
const IS_REENTRANT: u32 = 1 << 1 | 1 << 2 | LOCKS_ALL;

/// Notes that a lock may be taken again by its holder, if the flags say so.
pub(crate) fn note_flags(lock: u64, flags: u32) {
    if flags & IS_REENTRANT != 0
        && let Some(_inside) = enter()
    {
        REENTRANT.set(lock, 1);
    }
}

/// Notes that the holder of a lock takes it again, if it must not.
fn log_double(lock: u64, pc: u64) {
    if let Some(inside) = enter()
        && DEPTHS.get(lock).is_some()
        && REENTRANT.get(lock).is_none()
    {
        inside.detailed(Kind::Refused, pc, lock, &[Refusal::Deadlock.code()], b"");
    }
}

/// Takes a lock alone, so often.
fn take_alone(lock: u64, times: u32, pc: u64) {
    log_double(lock, pc);
    let times = times.clamp(1, DEEPEST);
    for _ in 0..times {
        log_event(Kind::Acquire, lock, pc);
    }
    if let Some(_inside) = enter() {
        DEPTHS.set(lock, DEPTHS.get(lock).unwrap_or(0).saturating_add(times));
    }
}

/// Gives back a lock that is held alone, once or altogether; how often.
fn give_back(lock: u64, altogether: bool, pc: u64) -> c_int {
    let Some(inside) = enter() else { return 1 };
    let depth = DEPTHS.get(lock).unwrap_or(1).max(1);
    drop(inside);
    let times = if altogether { depth } else { 1 };
    for _ in 0..times {
        log_event(Kind::Release, lock, pc);
    }
    if let Some(_inside) = enter() {
        match depth - times {
            0 => DEPTHS.remove(lock),
            left => DEPTHS.set(lock, left),
        }
    }
    times as c_int
}

fn log_event(kind: Kind, object: u64, pc: u64) {
    if let Some(inside) = enter_point() {
        inside.simple(kind, pc, object);
    }
}

/// Something that is no place: it must not change the schedule.
fn log_remark(kind: Kind, address: u64, argument: u64, pc: u64) {
    if let Some(inside) = enter() {
        inside.detailed(kind, pc, address, &[argument], b"");
    }
}

const IGNORED_READS: u64 = 1;
const IGNORED_WRITES: u64 = 2;
const IGNORED: u64 = 3;
/// Atomic accesses, too.
const INSIDE_A_LOCK: u64 = 7;
/// What would order threads.
const IGNORED_ORDERS: u64 = 8;
/// Whatever orders threads in the implementation of a signal is not part of what the signal promises.
const INSIDE_A_SIGNAL: u64 = INSIDE_A_LOCK | IGNORED_ORDERS;

/// # Safety
/// The name is a string with its end.
unsafe fn name_thread(name: *const c_char, pc: u64) {
// SAFETY: the name is a string with its end.
unsafe {
    if let Some(inside) = enter() {
        let number = u64::from(inside.thread().number);
        inside.detailed(Kind::ThreadName, pc, 0, &[number], CStr::from_ptr(name).to_bytes());
    }
}
}

fn held(reads: bool) -> &'static super::LockKinds {
    if reads { &SHARED } else { &EXCLUSIVE }
}

/// What is ignored where the thread is inside.
fn ignored_inside() -> u64 {
    match enter() {
        Some(inside) if inside.thread().signals.get() => INSIDE_A_SIGNAL,
        _ => INSIDE_A_LOCK,
    }
}

/// The thread signals by a lock from now on, or does so no longer.
fn set_signals(signals: bool) {
    if let Some(inside) = enter() {
        inside.thread().signals.set(signals);
    }
}

/// The thread goes inside a lock.
fn go_inside(pc: u64) {
    log_remark(Kind::IgnoreBegin, 0, ignored_inside(), pc);
    if let Some(inside) = enter() {
        let thread = inside.thread();
        thread.locks_inside.set(thread.locks_inside.get() + 1);
        thread.tries.set(0);
        thread.seat.presence.add(gate::LOCKING);
    }
}

/// The thread comes out of a lock, for a time or for good.
fn come_out(pc: u64) {
    if let Some(inside) = enter() {
        let thread = inside.thread();
        let left = thread.locks_inside.get().saturating_sub(1);
        thread.locks_inside.set(left);
        if left == 0 {
            thread.seat.presence.remove(gate::LOCKING);
        }
    }
    log_remark(Kind::IgnoreEnd, 0, ignored_inside(), pc);
}

safe_hook! {
    fn __tsan_acquire(object: Object; pc in "rsi") {
        log_event(Kind::HappensAfter, object as u64, pc);
    }
    fn __tsan_release(object: Object; pc in "rsi") {
        log_event(Kind::HappensBefore, object as u64, pc);
    }
    fn AnnotateHappensBefore(_file: File, _line: c_int, object: Object; pc in "rcx") {
        log_event(Kind::HappensBefore, object as u64, pc);
    }
    fn AnnotateHappensAfter(_file: File, _line: c_int, object: Object; pc in "rcx") {
        log_event(Kind::HappensAfter, object as u64, pc);
    }
    fn WTFAnnotateHappensBefore(_file: File, _line: c_int, object: Object; pc in "rcx") {
        log_event(Kind::HappensBefore, object as u64, pc);
    }
    fn WTFAnnotateHappensAfter(_file: File, _line: c_int, object: Object; pc in "rcx") {
        log_event(Kind::HappensAfter, object as u64, pc);
    }
    fn AnnotateCondVarSignal(_file: File, _line: c_int, object: Object; pc in "rcx") {
        log_event(Kind::HappensBefore, object as u64, pc);
    }
    fn AnnotateCondVarSignalAll(_file: File, _line: c_int, object: Object; pc in "rcx") {
        log_event(Kind::HappensBefore, object as u64, pc);
    }
    fn AnnotateCondVarWait(_file: File, _line: c_int, object: Object, _lock: Object; pc in "r8") {
        log_event(Kind::HappensAfter, object as u64, pc);
    }
    fn __tsan_mutex_pre_lock(lock: Object, flags: u32; pc in "rdx") {
        // Not a position: whether the lock is free is not known yet. But a thread that is not to take it yet stops here, because it cannot inside.
        if let Some(inside) = enter_point() && flags & TRIES == 0 {
            inside.simple(held(flags & READS != 0).request, pc, lock as u64);
        }
        go_inside(pc);
    }
    fn __tsan_mutex_post_lock(lock: Object, flags: u32, recursion: c_int; pc in "rcx") {
        come_out(pc);
        let kinds = held(flags & READS != 0);
        if flags & FAILED != 0 {
            log_event(kinds.failed, lock as u64, pc);
        } else if flags & READS != 0 {
            log_double(lock as u64, pc);
            log_event(kinds.acquire, lock as u64, pc);
        } else {
            note_flags(lock as u64, flags);
            let times = if flags & LOCKS_ALL != 0 { recursion.max(1) as u32 } else { 1 };
            take_alone(lock as u64, times, pc);
        }
    }
    fn __tsan_mutex_pre_unlock(lock: Object, flags: u32; pc in "rdx") -> c_int {
        let times = match flags & READS {
            0 => give_back(lock as u64, flags & UNLOCKS_ALL != 0, pc),
            _ => {
                log_event(Kind::ReleaseShared, lock as u64, pc);
                1
            }
        };
        go_inside(pc);
        times
    }
    fn __tsan_mutex_post_unlock(_lock: Object, _flags: u32; pc in "rdx") {
        come_out(pc);
    }
    fn __tsan_mutex_pre_signal(_lock: Object, _flags: u32; pc in "rdx") {
        drop(enter_point());
        set_signals(true);
        go_inside(pc);
    }
    fn __tsan_mutex_post_signal(_lock: Object, _flags: u32; pc in "rdx") {
        come_out(pc);
        set_signals(false);
    }
    fn __tsan_mutex_pre_divert(_lock: Object, _flags: u32; pc in "rdx") {
        come_out(pc);
    }
    fn __tsan_mutex_post_divert(_lock: Object, _flags: u32; pc in "rdx") {
        go_inside(pc);
    }
    fn AnnotateRWLockAcquired(_file: File, _line: c_int, lock: Object, writes: usize; pc in "r8") {
        if writes != 0 {
            take_alone(lock as u64, 1, pc);
        } else {
            log_double(lock as u64, pc);
            log_event(Kind::AcquireShared, lock as u64, pc);
        }
    }
    fn AnnotateRWLockReleased(_file: File, _line: c_int, lock: Object, writes: usize; pc in "r8") {
        if writes != 0 {
            give_back(lock as u64, false, pc);
        } else {
            log_event(Kind::ReleaseShared, lock as u64, pc);
        }
    }
    fn AnnotateIgnoreReadsBegin(_file: File, _line: c_int; pc in "rdx") {
        log_remark(Kind::IgnoreBegin, 0, IGNORED_READS, pc);
    }
    fn AnnotateIgnoreReadsEnd(_file: File, _line: c_int; pc in "rdx") {
        log_remark(Kind::IgnoreEnd, 0, IGNORED_READS, pc);
    }
    fn AnnotateIgnoreWritesBegin(_file: File, _line: c_int; pc in "rdx") {
        log_remark(Kind::IgnoreBegin, 0, IGNORED_WRITES, pc);
    }
    fn AnnotateIgnoreWritesEnd(_file: File, _line: c_int; pc in "rdx") {
        log_remark(Kind::IgnoreEnd, 0, IGNORED_WRITES, pc);
    }
    fn AnnotateIgnoreSyncBegin(_file: File, _line: c_int; pc in "rdx") {
        log_remark(Kind::IgnoreBegin, 0, IGNORED_ORDERS, pc);
    }
    fn AnnotateIgnoreSyncEnd(_file: File, _line: c_int; pc in "rdx") {
        log_remark(Kind::IgnoreEnd, 0, IGNORED_ORDERS, pc);
    }
    fn __tsan_check_no_mutexes_held(; pc in "rdi") {
        if let Some(inside) = enter() {
            inside.simple(Kind::NoLock, pc, 0);
        }
    }
    fn __tsan_ignore_thread_begin(; pc in "rdi") {
        log_remark(Kind::IgnoreBegin, 0, IGNORED, pc);
    }
    fn __tsan_ignore_thread_end(; pc in "rdi") {
        log_remark(Kind::IgnoreEnd, 0, IGNORED, pc);
    }
    fn AnnotateBenignRace(_file: File, _line: c_int, address: Object, _why: File; pc in "r8") {
        log_remark(Kind::Benign, address as u64, 1, pc);
    }
    fn AnnotateBenignRaceSized(_file: File, _line: c_int, address: Object, size: usize, _why: File; pc in "r9") {
        log_remark(Kind::Benign, address as u64, size as u64, pc);
    }
    fn WTFAnnotateBenignRaceSized(_file: File, _line: c_int, address: Object, size: usize, _why: File; pc in "r9") {
        log_remark(Kind::Benign, address as u64, size as u64, pc);
    }
    fn __tsan_java_alloc(block: u64, size: u64; pc in "rdx") {
        // A new object is all zeros.
        log_ranges(pc, &[], &[(block, size as usize)]);
    }
    fn __tsan_java_finalize(; pc in "rdi") {
        log_event(Kind::HappensAfter, Passage::Everything.object(), pc);
    }
    fn __tsan_java_acquire(object: Object; pc in "rsi") {
        log_event(Kind::HappensAfter, object as u64, pc);
    }
    fn __tsan_java_release(object: Object; pc in "rsi") {
        log_event(Kind::HappensBefore, object as u64, pc);
    }
    fn __tsan_java_release_store(object: Object; pc in "rsi") {
        log_event(Kind::HappensBefore, object as u64, pc);
    }
    fn __tsan_java_mutex_lock(lock: Object; pc in "rsi") {
        note_flags(lock as u64, LOCKS_ALL);
        take_alone(lock as u64, 1, pc);
    }
    fn __tsan_java_mutex_unlock(lock: Object; pc in "rsi") {
        give_back(lock as u64, false, pc);
    }
    fn __tsan_java_mutex_lock_rec(lock: Object, depth: c_int; pc in "rdx") {
        take_alone(lock as u64, depth.max(1) as u32, pc);
    }
    fn __tsan_java_mutex_unlock_rec(lock: Object; pc in "rsi") -> c_int {
        give_back(lock as u64, true, pc)
    }
    fn __tsan_java_mutex_read_lock(lock: Object; pc in "rsi") {
        log_event(Kind::AcquireShared, lock as u64, pc);
    }
    fn __tsan_java_mutex_read_unlock(lock: Object; pc in "rsi") {
        log_event(Kind::ReleaseShared, lock as u64, pc);
    }
}

hook! {
    fn AnnotateThreadName(_file: File, _line: c_int, name: *const c_char; pc in "rcx") {
        name_thread(name, pc);
    }
}
