//! Mutexes of every type, and spin locks.

use core::ffi::{c_int, c_void};

use wire::{Kind, Waker};

use super::lifetimes::{enter_use, log_refusal};
use super::signals::log_lock_in_handler;
use super::{EXCLUSIVE, acquire, log_limited_attempt, hook, outside_limited, log_attempt};
use crate::clock::{self, Wait};
use crate::inside::Inside;
use crate::real::real;
use crate::sys;

/// What is known of glibc's mutex on x86-64.
#[repr(C)]
pub(crate) struct Mutex {
    _lock: c_int,
    _count: u32,
    owner: c_int,
    _users: u32,
    kind: c_int,
}

const KIND_SHARED: c_int = 128;
const KIND_TYPE: c_int = 3;

/// How long to try.
#[derive(Clone, Copy)]
pub(crate) enum Patience {
    Forever,
    Until(c_int, *const libc::timespec),
}

impl Patience {
    /// Until when to try; none if for ever, or if that is no time.
    ///
    /// # Safety
    /// The time limit, if any, is a `timespec`'s.
    pub(crate) unsafe fn limit(self) -> Option<Wait> {
        match self {
            Patience::Forever => None,
            // SAFETY: the time limit is a `timespec`'s.
            Patience::Until(clock, time) => unsafe { Wait::until(clock, time) },
        }
    }
}

pub(crate) type Lock = *mut Mutex;

/// # Safety
/// The mutex is one.
unsafe fn really_try(mutex: Lock) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    real!(pthread_mutex_trylock(mutex => Lock) -> c_int)
}
}

/// # Safety
/// The mutex is one, and the time limit, if any, is a `timespec`'s.
unsafe fn really_lock(mutex: Lock, patience: Patience) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    match patience {
        Patience::Forever => real!(pthread_mutex_lock(mutex => Lock) -> c_int),
        Patience::Until(libc::CLOCK_REALTIME, time) => {
            let time = clock::by_machine(libc::CLOCK_REALTIME, time);
            real!(pthread_mutex_timedlock(mutex => Lock, &raw const time => *const libc::timespec) -> c_int)
        }
        Patience::Until(clock, time) => {
            let time = clock::by_machine(clock, time);
            real!(pthread_mutex_clocklock(
                mutex => Lock, clock => c_int, &raw const time => *const libc::timespec
            ) -> c_int)
        }
    }
}
}

/// Takes a mutex.
///
/// # Safety
/// As for [`really_lock`].
pub(crate) unsafe fn lock(mutex: Lock, patience: Patience, pc: u64) -> c_int {
// SAFETY: the mutex and the time are what this function's contract says.
unsafe {
    let Some(inside) = enter_use(mutex as u64, pc) else { return really_lock(mutex, patience) };
    log_lock_in_handler(&inside, pc);
    if (*mutex).kind & KIND_SHARED != 0 {
        // Another process may have it: we would not see it given back.
        let tell = match patience {
            Patience::Forever => log_attempt,
            Patience::Until(..) => log_limited_attempt,
        };
        if let Patience::Forever = patience {
            inside.simple(Kind::Request, pc, mutex as u64);
        }
        let mut result = really_try(mutex);
        if result == libc::EBUSY {
            let really = || really_lock(mutex, patience);
            result = outside_limited(inside, patience.limit(), really, |&result| result == libc::ETIMEDOUT);
            let Some(inside) = crate::inside::enter() else { return result };
            return tell(&inside, &EXCLUSIVE, mutex as u64, pc, result);
        }
        return tell(&inside, &EXCLUSIVE, mutex as u64, pc, result);
    }
    take(&inside, mutex, patience, pc)
}
}

/// Takes a mutex of this process: the thread has the token.
///
/// # Safety
/// As for [`really_lock`].
pub(crate) unsafe fn take(inside: &Inside, mutex: Lock, patience: Patience, pc: u64) -> c_int {
// SAFETY: the mutex and the time are what this function's contract says.
unsafe {
    let checks = (*mutex).kind & KIND_TYPE == libc::PTHREAD_MUTEX_ERRORCHECK;
    let own = inside.thread().kernel_id.load(core::sync::atomic::Ordering::Relaxed) as c_int;
    if checks && (*mutex).owner == own {
        return log_refusal(inside, mutex as u64, pc, libc::EDEADLK);
    }
    let mut end = None;
    if let Patience::Until(clock, time) = patience {
        let result = really_try(mutex);
        if result != libc::EBUSY {
            return log_limited_attempt(inside, &EXCLUSIVE, mutex as u64, pc, result);
        }
        let Some(wait) = Wait::until(clock, time) else { return libc::EINVAL };
        end = Some(inside.end_of(wait));
    }
    acquire(inside, &EXCLUSIVE, mutex as u64, end, pc, || really_try(mutex))
}
}

/// Tries to take a mutex.
///
/// # Safety
/// The mutex is one.
pub(crate) unsafe fn try_lock(mutex: Lock, pc: u64) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let Some(inside) = enter_use(mutex as u64, pc) else { return really_try(mutex) };
    log_limited_attempt(&inside, &EXCLUSIVE, mutex as u64, pc, really_try(mutex))
}
}

/// Gives a mutex back.
///
/// # Safety
/// The mutex is one.
pub(crate) unsafe fn unlock(mutex: Lock, pc: u64) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let really = || real!(pthread_mutex_unlock(mutex => Lock) -> c_int);
    let Some(inside) = enter_use(mutex as u64, pc) else { return really() };
    let result = really();
    if result == 0 {
        inside.simple(Kind::Release, pc, mutex as u64);
        inside.wake_all(mutex as u64, Waker::Signal);
    }
    log_refusal(&inside, mutex as u64, pc, result)
}
}

/// Gives a mutex back as part of a wait, which is one event in the log.
///
/// # Safety
/// The mutex is one.
pub(crate) unsafe fn unlock_to_wait(inside: &Inside, mutex: Lock) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let result = real!(pthread_mutex_unlock(mutex => Lock) -> c_int);
    if result == 0 {
        inside.wake_all(mutex as u64, Waker::Signal);
    }
    result
}
}

/// The kernel's list of the robust mutexes that a thread holds.
#[repr(C)]
struct RobustList {
    /// The first entry; the last leads back here. The lowest bit says something else.
    first: usize,
    /// Where the mutex is, from its entry on.
    distance: isize,
    _pending: usize,
}

/// The thread is about to end: the robust mutexes it holds are given back as the kernel will do it, and the thread that takes one next learns that
/// its owner died.
///
/// # Safety
/// The calling thread is about to end.
pub(crate) unsafe fn give_back_robust(inside: &Inside) {
// SAFETY: the kernel's list is the thread's own, which changes it no more; its entries are part of mutexes that it holds.
unsafe {
    const MOST: usize = 4096;
    let (mut list, mut size): (*const RobustList, usize) = (core::ptr::null(), 0);
    let (list_at, size_at) = ((&raw mut list) as usize, (&raw mut size) as usize);
    if sys::call(libc::SYS_get_robust_list, [0, list_at, size_at, 0, 0, 0]) != 0 || list.is_null() {
        return;
    }
    let mut entry = (*list).first & !1;
    for _ in 0..MOST {
        if entry == list as usize || entry == 0 {
            break;
        }
        let mutex = entry.wrapping_add_signed((*list).distance) as u64;
        // Who learns of the death comes after it in every run, not only after the lock was given back.
        inside.simple(Kind::HappensBefore, inside.thread().start(), mutex);
        inside.simple(Kind::Release, inside.thread().start(), mutex);
        inside.wake_all(mutex, Waker::Signal);
        entry = *(entry as *const usize) & !1;
    }
}
}

hook! {
    fn pthread_mutex_lock(mutex: Lock; pc in "rsi") -> c_int {
        lock(mutex, Patience::Forever, pc)
    }
    fn pthread_mutex_timedlock(mutex: Lock, time: *const libc::timespec; pc in "rdx") -> c_int {
        lock(mutex, Patience::Until(libc::CLOCK_REALTIME, time), pc)
    }
    fn pthread_mutex_clocklock(mutex: Lock, clock: c_int, time: *const libc::timespec; pc in "rcx") -> c_int {
        lock(mutex, Patience::Until(clock, time), pc)
    }
    fn pthread_mutex_trylock(mutex: Lock; pc in "rsi") -> c_int {
        try_lock(mutex, pc)
    }
    fn pthread_mutex_unlock(mutex: Lock; pc in "rsi") -> c_int {
        unlock(mutex, pc)
    }
    fn pthread_spin_lock(lock: *mut c_void; pc in "rsi") -> c_int {
        let Some(inside) = enter_use(lock as u64, pc) else { return real!(pthread_spin_lock(lock => *mut c_void) -> c_int) };
        acquire(&inside, &EXCLUSIVE, lock as u64, None, pc, || {
            real!(pthread_spin_trylock(lock => *mut c_void) -> c_int)
        })
    }
    fn pthread_spin_trylock(lock: *mut c_void; pc in "rsi") -> c_int {
        let inside = enter_use(lock as u64, pc);
        let result = real!(pthread_spin_trylock(lock => *mut c_void) -> c_int);
        if let Some(inside) = inside {
            log_limited_attempt(&inside, &EXCLUSIVE, lock as u64, pc, result);
        }
        result
    }
    fn pthread_spin_unlock(lock: *mut c_void; pc in "rsi") -> c_int {
        let inside = enter_use(lock as u64, pc);
        let result = real!(pthread_spin_unlock(lock => *mut c_void) -> c_int);
        if let Some(inside) = inside {
            inside.simple(Kind::Release, pc, lock as u64);
            inside.wake_all(lock as u64, Waker::Signal);
        }
        result
    }
}
