//! Reader-writer locks.

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use wire::{Kind, Waker};

use super::lifetimes::{enter_use, log_refusal};
use super::mutexes::Patience;
use super::{EXCLUSIVE, LockKinds, SHARED, acquire, log_limited_attempt, hook, outside_limited, log_attempt};
use crate::clock::{self, Wait};
use crate::inside::enter;
use crate::real::real;

/// What is known of glibc's lock on x86-64.
#[repr(C)]
struct RwLock {
    _state: [u32; 6],
    writer: c_int,
    shared_between_processes: c_int,
}

type Lock = *mut RwLock;
type Time = *const libc::timespec;

/// The real functions for one way of holding.
struct Ways {
    kinds: &'static LockKinds,
    attempt: unsafe fn(Lock) -> c_int,
    block: unsafe fn(Lock, Patience) -> c_int,
}

const READING: Ways = Ways {
    kinds: &SHARED,
    attempt: |lock| {
        // SAFETY: called with the caller's lock.
        unsafe { real!(pthread_rwlock_tryrdlock(lock => Lock) -> c_int) }
    },
    block: |lock, patience| {
        // SAFETY: called with the caller's lock and time.
        unsafe {
            match patience {
                Patience::Forever => real!(pthread_rwlock_rdlock(lock => Lock) -> c_int),
                Patience::Until(clock, time) => {
                    let time = clock::by_machine(clock, time);
                    real!(pthread_rwlock_clockrdlock(lock => Lock, clock => c_int, &raw const time => Time) -> c_int)
                }
            }
        }
    },
};

const WRITING: Ways = Ways {
    kinds: &EXCLUSIVE,
    attempt: |lock| {
        // SAFETY: called with the caller's lock.
        unsafe { real!(pthread_rwlock_trywrlock(lock => Lock) -> c_int) }
    },
    block: |lock, patience| {
        // SAFETY: called with the caller's lock and time.
        unsafe {
            match patience {
                Patience::Forever => real!(pthread_rwlock_wrlock(lock => Lock) -> c_int),
                Patience::Until(clock, time) => {
                    let time = clock::by_machine(clock, time);
                    real!(pthread_rwlock_clockwrlock(lock => Lock, clock => c_int, &raw const time => Time) -> c_int)
                }
            }
        }
    },
};

/// # Safety
/// The lock is one, and the time limit, if any, is a `timespec`'s.
unsafe fn lock(ways: &Ways, lock: Lock, patience: Patience, pc: u64) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let Some(inside) = enter_use(lock as u64, pc) else { return (ways.block)(lock, patience) };
    if (*lock).shared_between_processes != 0 {
        if let Patience::Forever = patience {
            inside.simple(ways.kinds.request, pc, lock as u64);
        }
        let really = || (ways.block)(lock, patience);
        let result =
            outside_limited(inside, patience.limit(), really, |&result| result == libc::ETIMEDOUT);
        let Some(inside) = enter() else { return result };
        return match patience {
            Patience::Forever => log_attempt(&inside, ways.kinds, lock as u64, pc, result),
            Patience::Until(..) => log_limited_attempt(&inside, ways.kinds, lock as u64, pc, result),
        };
    }
    if (*lock).writer == inside.thread().kernel_id.load(Ordering::Relaxed) as c_int {
        return log_refusal(&inside, lock as u64, pc, libc::EDEADLK);
    }
    let mut end = None;
    if let Patience::Until(clock, time) = patience {
        let Some(wait) = Wait::until(clock, time) else { return libc::EINVAL };
        end = Some(inside.end_of(wait));
    }
    acquire(&inside, ways.kinds, lock as u64, end, pc, || (ways.attempt)(lock))
}
}

/// # Safety
/// The lock is one.
unsafe fn try_lock(ways: &Ways, lock: Lock, pc: u64) -> c_int {
// SAFETY: the arguments are as the real function demands them, by the contract of this one.
unsafe {
    let inside = enter_use(lock as u64, pc);
    let result = (ways.attempt)(lock);
    if let Some(inside) = inside {
        log_limited_attempt(&inside, ways.kinds, lock as u64, pc, result);
    }
    result
}
}

hook! {
    fn pthread_rwlock_rdlock(it: Lock; pc in "rsi") -> c_int {
        lock(&READING, it, Patience::Forever, pc)
    }
    fn pthread_rwlock_timedrdlock(it: Lock, time: Time; pc in "rdx") -> c_int {
        lock(&READING, it, Patience::Until(libc::CLOCK_REALTIME, time), pc)
    }
    fn pthread_rwlock_clockrdlock(it: Lock, clock: c_int, time: Time; pc in "rcx") -> c_int {
        lock(&READING, it, Patience::Until(clock, time), pc)
    }
    fn pthread_rwlock_tryrdlock(it: Lock; pc in "rsi") -> c_int {
        try_lock(&READING, it, pc)
    }
    fn pthread_rwlock_wrlock(it: Lock; pc in "rsi") -> c_int {
        lock(&WRITING, it, Patience::Forever, pc)
    }
    fn pthread_rwlock_timedwrlock(it: Lock, time: Time; pc in "rdx") -> c_int {
        lock(&WRITING, it, Patience::Until(libc::CLOCK_REALTIME, time), pc)
    }
    fn pthread_rwlock_clockwrlock(it: Lock, clock: c_int, time: Time; pc in "rcx") -> c_int {
        lock(&WRITING, it, Patience::Until(clock, time), pc)
    }
    fn pthread_rwlock_trywrlock(it: Lock; pc in "rsi") -> c_int {
        try_lock(&WRITING, it, pc)
    }
    fn pthread_rwlock_unlock(it: Lock; pc in "rsi") -> c_int {
        let really = || real!(pthread_rwlock_unlock(it => Lock) -> c_int);
        let Some(inside) = enter_use(it as u64, pc) else { return really() };
        let kind = if (*it).writer != 0 { Kind::Release } else { Kind::ReleaseShared };
        let result = really();
        if result == 0 {
            inside.simple(kind, pc, it as u64);
            inside.wake_all(it as u64, Waker::Signal);
        }
        result
    }
}
