//! Calls that may block outside the program: the thread gives up the token and takes it back afterwards. Calls
//! that move data are in [`super::files`], those that wait for files in [`super::readiness`].

use core::ffi::{c_char, c_int, c_long, c_void};

use wire::{Kind, Passage, Stop, Waker};

use super::{children, clocks, libcxx, outside, rust, signals, sleeping, threads};
use crate::clock::{self, Wait};
use crate::inside::{Ended, Inside, enter};
use crate::real::real;
use crate::schedule::{End, Key};
use crate::start;

/// Functions that block until something happens.
macro_rules! always {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            /// # Safety
            /// See the head of `interpose`.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                // SAFETY: see the head of `interpose`.
                let really = || unsafe { real!($name($($argument => $type),*) -> $result) };
                match enter() {
                    Some(inside) => outside(inside, really),
                    None => really(),
                }
            }
        )*
    };
}

type Bytes = *mut c_void;

always! {
    fn wait(status: *mut c_int) -> c_int;
    fn wait3(status: *mut c_int, options: c_int, usage: Bytes) -> c_int;
    fn wait4(process: c_int, status: *mut c_int, options: c_int, usage: Bytes) -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn waitid(kind: c_int, id: u32, info: Bytes, options: c_int) -> c_int;
    fn sigsuspend(set: Bytes) -> c_int;
    fn pause() -> c_int;
    fn flock(file: c_int, operation: c_int) -> c_int;
    fn msgrcv(queue: c_int, message: Bytes, size: usize, kind: c_long, flags: c_int) -> isize;
    fn msgsnd(queue: c_int, message: Bytes, size: usize, flags: c_int) -> c_int;
    fn semop(set: c_int, operations: Bytes, count: usize) -> c_int;
    fn system(command: *const c_char) -> c_int;
    fn pclose(stream: Bytes) -> c_int;
}

/// System calls by number. The return address goes where an eighth argument would be.
///
/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rsp + 8]",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rsp + 24]",
        ".cfi_adjust_cfa_offset 8",
        "call {}",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        ".cfi_endproc",
        sym system_call,
    );
}

/// The scheduler handles futexes, new processes are tracked, all other system calls are passed on.
///
/// # Safety
/// As for `syscall`, which calls it.
unsafe extern "C" fn system_call(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    pc: u64,
) -> c_long {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    if number == libc::SYS_futex
        && let Some(result) = futex(a as *mut u32, b as c_int, c as u32, d as *const libc::timespec, pc)
    {
        return result;
    }
    if let Some(result) = clocks::system_call(number, a, b).or_else(|| sleeping::system_call(number, a, b, c, d)) {
        return result;
    }
    let really = || {
        real!(syscall(
            number => c_long, a => usize, b => usize, c => usize, d => usize, e => usize, f => usize
        ) -> c_long)
    };
    match number {
        libc::SYS_exit => threads::end_without_destructors(),
        libc::SYS_exit_group => start::end(Stop::Exit(a as c_int)),
        // The mode without a filter: no call but reading, writing and ending.
        libc::SYS_seccomp if a == 0 => start::end(Stop::Sandbox),
        _ => {}
    }
    if children::copies(number, a) { children::call_copying(really) } else { really() }
}
}

/// A thread in the strict sandbox is killed by what recording takes, so recording ends before.
///
/// # Safety
/// As for the function of that name that it replaces.
#[unsafe(no_mangle)]
unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    if option == libc::PR_SET_SECCOMP && a == libc::SECCOMP_MODE_STRICT as usize {
        start::end(Stop::Sandbox);
    }
    real!(prctl(option => c_int, a => usize, b => usize, c => usize, d => usize) -> c_int)
}
}

/// C's number of `memory_order_relaxed`.
const RELAXED: u64 = 0;
/// How many waiters a futex wakes if it wakes all.
const EVERYONE: u32 = i32::MAX as u32;

/// A futex of this process alone; none if the kernel should see to it.
///
/// # Safety
/// The word and the time limit are as for the system call.
unsafe fn futex(
    word: *mut u32,
    operation: c_int,
    value: u32,
    limit: *const libc::timespec,
    pc: u64,
) -> Option<c_long> {
// SAFETY: the program gives the word and the limit as it would to the kernel.
unsafe {
    let command = operation & libc::FUTEX_CMD_MASK;
    let key = word as u64 | 1;
    let inside = enter()?;
    let awaited = libcxx::awaited(&inside);
    let limit = if awaited.is_some() { core::ptr::null() } else { limit };
    match command {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            if limit.is_null() {
                let (object, pc) = rust::awaited(&inside, word as u64, pc);
                inside.simple(Kind::Awaits, pc, awaited.unwrap_or(object) | 1);
            }
            let end = if limit.is_null() {
                End::NEVER
            } else if command == libc::FUTEX_WAIT {
                inside.end_of(Wait::For(clock::nanoseconds(limit)?))
            } else {
                let real = operation & libc::FUTEX_CLOCK_REALTIME != 0;
                let clock = if real { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
                inside.end_of(Wait::until(clock, limit)?)
            };
            let ended = loop {
                if look(&inside, word, pc) != value {
                    inside.simple(Kind::Awaits, pc, 0);
                    carry(&inside, Kind::HappensAfter, word, pc);
                    return Some(fail(libc::EAGAIN));
                }
                let ended = inside.block(Key::address(key), end);
                // The kernel does the call again.
                if !(ended == Ended::Interrupted && end.is_never() && signals::restarts(&inside)) {
                    break ended;
                }
            };
            inside.simple(Kind::Awaits, pc, 0);
            rust::after_wait(&inside, word as u64, ended);
            if matches!(ended, Ended::Woken(_)) {
                carry(&inside, Kind::HappensAfter, word, pc);
            }
            Some(match ended {
                Ended::Woken(_) => 0,
                Ended::TimedOut => fail(libc::ETIMEDOUT),
                Ended::Interrupted => fail(libc::EINTR),
            })
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            carry(&inside, Kind::HappensBefore, word, pc);
            let waiters = inside.waiters(key).min(value as usize);
            let by = if value == EVERYONE { Waker::Broadcast } else { Waker::Signal };
            for _ in 0..waiters {
                inside.wake_one(key, by);
            }
            // Threads we do not schedule, and other processes, wait in the kernel.
            (waiters > 0).then_some(waiters as c_long)
        }
        _ => None,
    }
}
}

/// Writes that a futex carries an order from one thread to another, if nothing else says so: what Rust's std does with its own words is understood
/// without it, and what instrumented code does is left out when the log is read.
fn carry(inside: &Inside, kind: Kind, word: *mut u32, pc: u64) {
    if !rust::has_hidden_std() {
        inside.simple(kind, pc, Passage::Futex(word as u64).object());
    }
}

/// What the kernel reads before a thread waits for a futex. It is an event: whether the thread waits depends on who was here
/// before. What Rust's std does with its own words is understood without it.
///
/// # Safety
/// The word can be read.
unsafe fn look(inside: &Inside, word: *mut u32, pc: u64) -> u32 {
    if rust::has_hidden_std() {
        // SAFETY: the caller says so.
        return unsafe { word.read_volatile() };
    }
    inside.stop_before(Kind::AtomicRead4, word as u64, 4, pc);
    inside.simple(Kind::Order, pc, RELAXED);
    inside.simple(Kind::AtomicRead4, pc, word as u64);
    // SAFETY: the caller says so.
    unsafe { word.read_volatile() }
}

fn fail(error: c_int) -> c_long {
// SAFETY: the thread's own error number.
unsafe {
    *libc::__errno_location() = error;
    -1
}
}
