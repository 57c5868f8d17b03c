//! Replacements for functions of the C library that the program calls, grouped by topic.
//!
//! Each replacement calls [`enter`] first: inside the runtime, or while it is passive, it only calls the real
//! function. A call that could block is first tried without blocking, and then waits in the scheduler.
//!
//! # Safety
//!
//! The program calls each exported function in place of the function of that name in the C library or libtsan.
//! Its arguments meet that function's contract: pointers are valid, or null where that is allowed, and no other
//! thread changes what they point to except as the function allows. We pass on and access only these arguments.
//! A program that breaks the contract would have broken it without us.

pub(crate) mod annotations;
pub(crate) mod barriers;
pub(crate) mod blocking;
pub(crate) mod c11;
pub(crate) mod children;
pub(crate) mod clients;
pub(crate) mod clocks;
pub(crate) mod conditions;
pub(crate) mod containers;
pub(crate) mod databases;
pub(crate) mod descriptors;
pub(crate) mod encodings;
pub(crate) mod epoll;
pub(crate) mod failures;
pub(crate) mod fibers;
pub(crate) mod files;
pub(crate) mod filled;
pub(crate) mod inquiries;
pub(crate) mod invisible;

pub(crate) mod libcxx;
pub(crate) mod lifetimes;
pub(crate) mod listings;
pub(crate) mod mappings;
pub(crate) mod marks;
pub(crate) mod mathematics;
pub(crate) mod memory;
pub(crate) mod mutexes;
pub(crate) mod once;
pub(crate) mod openmp;
pub(crate) mod own_files;
pub(crate) mod passages;
pub(crate) mod printing;
pub(crate) mod process;
pub(crate) mod ranges;
pub(crate) mod readiness;
pub(crate) mod rust;
pub(crate) mod rwlocks;
pub(crate) mod scanning;
pub(crate) mod searching;
pub(crate) mod semaphores;
pub(crate) mod signals;
pub(crate) mod sleeping;
pub(crate) mod syscalls;
pub(crate) mod threads;
pub(crate) mod timers;
pub(crate) mod variadic;
pub(crate) mod vectors;
pub(crate) mod wide;

use core::ffi::c_int;

use wire::Kind;

use crate::clock::Wait;
use crate::inside::{Ended, Inside, enter};
use crate::program::scheduler;
use crate::schedule::{End, Key, NEVER};
use crate::sys;

/// Defines exported functions that get their return address in a register after (or instead of) their arguments. Each is also there
/// under the name that ThreadSanitizer gives its own, for programs that replace a function of the C library and call that.
macro_rules! hook {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),*; $pc:ident in $register:expr) $(-> $result:ty)? $body:block)*) => {
        $(
            const _: () = {
                /// # Safety
                /// See the head of this module.
                unsafe extern "C" fn body($($argument: $type,)* $pc: u64) $(-> $result)? {
                    // SAFETY: see the head of this module.
                    unsafe { $body }
                }

                $(#[$attribute])*
                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    core::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {}", sym body);
                }

                /// # Safety
                /// See the head of this module.
                $(#[$attribute])*
                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(export_name = concat!("__interceptor_", stringify!($name)))]
                #[unsafe(naked)]
                unsafe extern "C" fn interceptor() {
                    core::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {}", sym body);
                }
            };
        )*
    };
}
pub(crate) use hook;

/// The same for functions whose arguments are used as numbers alone.
macro_rules! safe_hook {
    ($(fn $name:ident($($argument:ident: $type:ty),*; $pc:ident in $register:expr) $(-> $result:ty)? $body:block)*) => {
        $(
            const _: () = {
                extern "C" fn body($($argument: $type,)* $pc: u64) $(-> $result)? $body

                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    core::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {}", sym body);
                }
            };
        )*
    };
}
pub(crate) use safe_hook;

/// Functions with six arguments, whose return address comes on the stack.
macro_rules! hook_of_six {
    ($(fn $name:ident($($argument:ident: $type:ty),*; $pc:ident) -> $result:ty $body:block)*) => {
        $(
            const _: () = {
                /// # Safety
                /// See the head of this module.
                unsafe extern "C" fn body($($argument: $type,)* $pc: u64) -> $result {
                    // SAFETY: see the head of this module.
                    unsafe { $body }
                }

                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    core::arch::naked_asm!(
                        ".cfi_startproc",
                        "push qword ptr [rsp]",
                        ".cfi_adjust_cfa_offset 8",
                        "call {}",
                        "add rsp, 8",
                        ".cfi_adjust_cfa_offset -8",
                        "ret",
                        ".cfi_endproc",
                        sym body,
                    );
                }

                /// # Safety
                /// See the head of this module.
                #[unsafe(export_name = concat!("__interceptor_", stringify!($name)))]
                #[unsafe(naked)]
                unsafe extern "C" fn interceptor() {
                    core::arch::naked_asm!("jmp {}", sym $name);
                }
            };
        )*
    };
}
pub(crate) use hook_of_six;

/// Functions whose arguments fill six registers, with one more on the stack: where the return address lies already.
macro_rules! hook_of_seven {
    ($(fn $name:ident($($argument:ident: $type:ty),*; $pc:ident, $last:ident: $last_type:ty) -> $result:ty $body:block)*) => {
        $(
            const _: () = {
                /// # Safety
                /// See the head of this module.
                unsafe extern "C" fn body($($argument: $type,)* $pc: u64, $last: $last_type) -> $result {
                    // SAFETY: see the head of this module.
                    unsafe { $body }
                }

                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    core::arch::naked_asm!(
                        ".cfi_startproc",
                        "sub rsp, 8",
                        ".cfi_adjust_cfa_offset 8",
                        "push qword ptr [rsp + 16]",
                        ".cfi_adjust_cfa_offset 8",
                        "push qword ptr [rsp + 16]",
                        ".cfi_adjust_cfa_offset 8",
                        "call {}",
                        "add rsp, 24",
                        ".cfi_adjust_cfa_offset -24",
                        "ret",
                        ".cfi_endproc",
                        sym body,
                    );
                }
            };
        )*
    };
}
pub(crate) use hook_of_seven;

/// Functions whose arguments fill six registers, with two more on the stack.
macro_rules! hook_of_eight {
    ($(fn $name:ident($($argument:ident: $type:ty),*; $seventh:ident: $seventh_type:ty, $eighth:ident: $eighth_type:ty, $pc:ident) -> $result:ty $body:block)*) => {
        $(
            const _: () = {
                /// # Safety
                /// See the head of this module.
                unsafe extern "C" fn body($($argument: $type,)* $seventh: $seventh_type, $eighth: $eighth_type, $pc: u64) -> $result {
                    // SAFETY: see the head of this module.
                    unsafe { $body }
                }

                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    core::arch::naked_asm!(
                        ".cfi_startproc",
                        "push qword ptr [rsp]",
                        ".cfi_adjust_cfa_offset 8",
                        "push qword ptr [rsp + 24]",
                        ".cfi_adjust_cfa_offset 8",
                        "push qword ptr [rsp + 24]",
                        ".cfi_adjust_cfa_offset 8",
                        "call {}",
                        "add rsp, 24",
                        ".cfi_adjust_cfa_offset -24",
                        "ret",
                        ".cfi_endproc",
                        sym body,
                    );
                }
            };
        )*
    };
}
pub(crate) use hook_of_eight;

/// The kinds of events of a lock, by how it is held.
pub(crate) struct LockKinds {
    pub(crate) request: Kind,
    pub(crate) acquire: Kind,
    pub(crate) failed: Kind,
}

pub(crate) const EXCLUSIVE: LockKinds =
    LockKinds { request: Kind::Request, acquire: Kind::Acquire, failed: Kind::TryFailed };
pub(crate) const SHARED: LockKinds =
    LockKinds { request: Kind::RequestShared, acquire: Kind::AcquireShared, failed: Kind::TryFailedShared };

/// Takes a lock by trying until it is free or the time is over. The request of a call that can block for ever is logged even if
/// the lock is free, which distinguishes it from a call that gives up by itself.
pub(crate) fn acquire(
    inside: &Inside,
    kinds: &LockKinds,
    lock: u64,
    end: Option<End>,
    pc: u64,
    attempt: impl Fn() -> c_int,
) -> c_int {
    if end.is_none() {
        inside.simple(kinds.request, pc, lock);
    }
    let mut result = attempt();
    while result == libc::EBUSY {
        let ended = inside.block_at(Key::address(lock), end.unwrap_or(End::NEVER), pc);
        result = attempt();
        if ended == Ended::TimedOut && result == libc::EBUSY {
            result = libc::ETIMEDOUT;
        }
    }
    match end {
        None => log_attempt(inside, kinds, lock, pc, result),
        Some(_) => log_limited_attempt(inside, kinds, lock, pc, result),
    }
}

/// Writes how a call that gives up by itself went.
pub(crate) fn log_limited_attempt(
    inside: &Inside,
    kinds: &LockKinds,
    lock: u64,
    pc: u64,
    result: c_int,
) -> c_int {
    log_limited(inside, pc);
    log_attempt(inside, kinds, lock, pc, result)
}

/// Says that what follows is by a call that gives up by itself.
pub(crate) fn log_limited(inside: &Inside, pc: u64) {
    inside.simple(Kind::Limited, pc, 0);
}

/// Writes how an attempt to take a lock went.
pub(crate) fn log_attempt(
    inside: &Inside,
    kinds: &LockKinds,
    lock: u64,
    pc: u64,
    result: c_int,
) -> c_int {
    match result {
        0 => inside.simple(kinds.acquire, pc, lock),
        // The owner died, but the lock is taken.
        libc::EOWNERDEAD => {
            inside.simple(kinds.acquire, pc, lock);
            inside.simple(Kind::HappensAfter, pc, lock);
        }
        libc::EBUSY | libc::ETIMEDOUT => inside.simple(kinds.failed, pc, lock),
        _ => {
            lifetimes::log_refusal(inside, lock, pc, result);
        }
    }
    result
}

/// Calls something that may block outside the program; other threads run in the meantime.
pub(crate) fn outside<R>(inside: Inside, call: impl FnOnce() -> R) -> R {
    outside_limited(inside, None, call, |_| false)
}

/// The same with a time limit. If it ran out, which the result says, it is that time.
pub(crate) fn outside_limited<R>(
    inside: Inside,
    limit: Option<Wait>,
    call: impl FnOnce() -> R,
    ran_out: impl FnOnce(&R) -> bool,
) -> R {
    let end = limit.map_or(NEVER, |limit| limit.end(inside.now()));
    let since = match scheduler().with_lock(|schedule, _| schedule.is_alone()) {
        true => {
            drop(inside);
            Some(sys::now(libc::CLOCK_MONOTONIC))
        }
        false => {
            inside.leave(end);
            None
        }
    };
    let result = call();
    let passed = since.map_or(0, |since| sys::now(libc::CLOCK_MONOTONIC).saturating_sub(since));
    let has_run_out = end != NEVER && ran_out(&result);
    if let Some(_inside) = enter() {
        scheduler().with_lock(|schedule, _| match has_run_out {
            true => schedule.pass_until(end),
            false => schedule.pass_alone(passed),
        });
    }
    result
}
