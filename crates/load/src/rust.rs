//! The locks of Rust's standard library are words that atomic operations change: what those operations mean.
//!
//! std is precompiled, without hooks; only inlined or generic code is compiled with the program and visible.
//! That includes the fast path of taking a lock and of releasing it, which are recognised by the functions they
//! are in. The runtime reports the end of the slow path. The acquire has the place of the last attempt, whether
//! that succeeded or not, so a place is the same event in runs with and without contention.

use rustc_hash::FxHashMap;
use wire::{Event, Hold, Op};

/// What an atomic operation of std means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It takes the lock, waiting for it.
    Lock(Hold),
    /// It takes the lock if it is free.
    Try(Hold),
    /// It gives the lock back.
    Unlock(Hold),
    /// What was locked alone is locked together with others.
    Downgrade,
    /// It counts references.
    Count,
}

/// What atomic operations in this function mean, as a demangler names it.
pub(super) fn role(function: &str) -> Option<Role> {
    let (owner, method) = function.rsplit_once("::")?;
    if owner.contains("alloc::sync::Arc<") || owner.contains("alloc::sync::Weak<") {
        return Some(Role::Count);
    }
    let owner = owner.trim_end_matches('>');
    if owner.ends_with("sync::mutex::futex::Mutex") {
        return match method {
            "lock" => Some(Role::Lock(Hold::Exclusive)),
            "try_lock" => Some(Role::Try(Hold::Exclusive)),
            "unlock" => Some(Role::Unlock(Hold::Exclusive)),
            _ => None,
        };
    }
    if !owner.ends_with("sync::rwlock::futex::RwLock") {
        return None;
    }
    match method {
        "read" => Some(Role::Lock(Hold::Shared)),
        "write" => Some(Role::Lock(Hold::Exclusive)),
        "try_read" => Some(Role::Try(Hold::Shared)),
        "try_write" => Some(Role::Try(Hold::Exclusive)),
        "read_unlock" => Some(Role::Unlock(Hold::Shared)),
        "write_unlock" => Some(Role::Unlock(Hold::Exclusive)),
        "downgrade" => Some(Role::Downgrade),
        _ => None,
    }
}

/// An attempt to take a lock that has not succeeded.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    lock: u64,
    hold: Hold,
    place: Option<u64>,
}

/// The events that stand for one of the log, in their order.
pub(super) type Meaning<'a> = [Option<Event<'a>>; 2];

/// What is known of locks of Rust's.
#[derive(Debug, Default)]
pub(super) struct Locks {
    /// By thread.
    attempts: FxHashMap<u32, Attempt>,
}

impl Locks {
    /// Whether an event can have to do with a lock of Rust's.
    #[inline]
    pub(super) fn concerns(&self, event: &Event<'_>) -> bool {
        is_of_lock(event) || matches!(event.op, Op::Obtained { .. } | Op::TryFailed { .. })
    }

    /// What such an event means. The role is that of an atomic operation.
    pub(super) fn understand<'a>(&mut self, event: &Event<'a>, role: Option<Role>) -> Meaning<'a> {
        let itself = [Some(*event), None];
        let (lock, changes) = match event.op {
            Op::AtomicRead { address, .. } => (address, false),
            Op::AtomicUpdate { address, .. } => (address, true),
            Op::Obtained { lock } | Op::TryFailed { lock, .. } => return self.slowly(event, lock),
            _ => return itself,
        };
        let tell = |op| Some(Event { op, ..*event });
        let Some(role) = role else { return itself };
        match role {
            Role::Lock(hold) => {
                let again = self.attempt(event.thread, lock).is_some();
                let request = Event { place: None, op: Op::Request { lock, hold }, ..*event };
                let request = (!again).then_some(request);
                if changes {
                    self.attempts.remove(&event.thread);
                    return [request, tell(Op::Acquire { lock, hold })];
                }
                self.attempts.insert(event.thread, Attempt { lock, hold, place: event.place });
                [request, None]
            }
            Role::Try(hold) if changes => {
                let limited = Event { place: None, op: Op::Limited, ..*event };
                [Some(limited), tell(Op::Acquire { lock, hold })]
            }
            Role::Unlock(hold) if changes => [tell(Op::Release { lock, hold }), None],
            Role::Downgrade if changes => {
                let shared = Op::Acquire { lock, hold: Hold::Shared };
                let release = tell(Op::Release { lock, hold: Hold::Exclusive });
                [release, Some(Event { place: None, op: shared, ..*event })]
            }
            Role::Try(_) | Role::Unlock(_) | Role::Downgrade => [None, None],
            Role::Count => itself,
        }
    }

    /// The slow way to a lock: one who did not even try, and one who has it at last.
    fn slowly<'a>(&mut self, event: &Event<'a>, lock: u64) -> Meaning<'a> {
        let Some(Attempt { hold, place, .. }) = self.attempt(event.thread, lock) else {
            return [Some(*event), None];
        };
        if let Op::TryFailed { .. } = event.op {
            self.attempts.insert(event.thread, Attempt { lock, hold, place: event.place });
            return [None, None];
        }
        self.attempts.remove(&event.thread);
        [Some(Event { place, op: Op::Acquire { lock, hold }, ..*event }), None]
    }

    /// Whether this event was an attempt to take a lock, and its thread has not taken it since.
    pub(super) fn is_open_attempt(&self, event: &Event<'_>) -> bool {
        let attempt = self.attempts.get(&event.thread);
        attempt.is_some_and(|attempt| attempt.place.is_some() && attempt.place == event.place)
    }

    fn attempt(&self, thread: u32, lock: u64) -> Option<Attempt> {
        self.attempts.get(&thread).copied().filter(|attempt| attempt.lock == lock)
    }
}

/// Whether it may be an operation on a lock: those are words of four bytes.
fn is_of_lock(event: &Event<'_>) -> bool {
    matches!(event.op, Op::AtomicRead { size: 4, .. } | Op::AtomicUpdate { size: 4, .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Option<Role> = Some(Role::Lock(Hold::Exclusive));
    const UNLOCK: Option<Role> = Some(Role::Unlock(Hold::Exclusive));

    #[test]
    fn functions_are_known_in_both_manglings() {
        assert_eq!(role("<std::sys::sync::mutex::futex::Mutex>::lock"), LOCK);
        assert_eq!(role("std::sys::sync::mutex::futex::Mutex::lock"), LOCK);
        let read = Some(Role::Lock(Hold::Shared));
        assert_eq!(role("std::sys::sync::rwlock::futex::RwLock::read"), read);
        assert_eq!(role("<alloc::sync::Arc<u32> as core::clone::Clone>::clone"), Some(Role::Count));
        assert_eq!(role("<bank::Mutex>::lock"), None);
        assert_eq!(role("lock"), None);
    }

    fn told(locks: &mut Locks, thread: u32, place: u64, op: Op<'static>, role: Option<Role>) -> Vec<String> {
        let event = Event { thread, place: Some(place), pc: 0, op };
        let told = locks.understand(&event, role).into_iter().flatten();
        let at = |place: Option<u64>| place.map_or("-".to_owned(), |place| place.to_string());
        let word = |op: Op<'_>| format!("{op:?}").split(' ').next().unwrap().to_owned();
        told.map(|event| format!("{} {} {}", event.thread, at(event.place), word(event.op))).collect()
    }

    #[test]
    fn a_failed_attempt_is_an_acquire_once_the_lock_is_obtained() {
        let mut locks = Locks::default();
        let (taken, found) =
            (Op::AtomicUpdate { address: 8, size: 4 }, Op::AtomicRead { address: 8, size: 4 });
        assert_eq!(told(&mut locks, 0, 3, taken, LOCK), ["0 - Request", "0 3 Acquire"]);
        assert_eq!(told(&mut locks, 1, 5, found, LOCK), ["1 - Request"]);
        assert_eq!(told(&mut locks, 0, 4, taken, UNLOCK), ["0 4 Release"]);
        assert_eq!(told(&mut locks, 1, 6, Op::Obtained { lock: 8 }, None), ["1 5 Acquire"]);
        assert_eq!(told(&mut locks, 1, 7, taken, None), ["1 7 AtomicUpdate"]);
    }

    #[test]
    fn a_reader_that_looks_first_is_one_attempt() {
        let mut locks = Locks::default();
        let read = Some(Role::Lock(Hold::Shared));
        let (looked, taken) =
            (Op::AtomicRead { address: 8, size: 4 }, Op::AtomicUpdate { address: 8, size: 4 });
        assert_eq!(told(&mut locks, 0, 0, looked, read), ["0 - Request"]);
        assert_eq!(told(&mut locks, 0, 1, taken, read), ["0 1 Acquire"]);
        // Without trying, the place of the attempt is one of its own.
        assert_eq!(told(&mut locks, 1, 0, looked, read), ["1 - Request"]);
        let failed = Op::TryFailed { lock: 8, hold: Hold::Shared };
        assert!(told(&mut locks, 1, 1, failed, None).is_empty());
        assert_eq!(told(&mut locks, 1, 2, Op::Obtained { lock: 8 }, None), ["1 1 Acquire"]);
    }
}
