//! The locks of Rust's standard library, and those of crates, are words that atomic operations change: what those operations mean.
//!
//! std is precompiled, without hooks; only inlined or generic code is compiled with the program and visible.
//! That includes the fast path of taking a lock and of releasing it, which are recognised by the functions they
//! are in ([`roles`]). The locks of crates have slow paths of their own, which the runtime hides. It reports how slow paths
//! end. The acquire has the place of the last attempt, whether that succeeded or not, so a place is the same event in runs
//! with and without contention.

mod roles;

use rustc_hash::FxHashMap;
use wire::{Event, Hold, Op};

use roles::LockRole;

/// What an atomic operation means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is of a lock, or of something like it.
    OfLock(LockRole),
    /// It counts references.
    Count,
}

/// Finds what an operation means by the functions it is in, the innermost first.
#[derive(Debug, Default)]
pub(super) struct RoleSearch {
    found: Option<Role>,
}

impl RoleSearch {
    /// Looks at the next function, as a demangler names it; whether the one that calls it may say more. A lock that is made of others,
    /// such as one that is tried again and again, says what the operation is for.
    pub(super) fn goes_on_after(&mut self, function: Option<&str>) -> bool {
        let Some(function) = function else { return self.found.is_none() };
        let owner = function.rsplit_once("::").map_or("", |(owner, _)| owner);
        if self.found.is_none()
            && (owner.contains("alloc::sync::Arc<") || owner.contains("alloc::sync::Weak<"))
        {
            self.found = Some(Role::Count);
            return false;
        }
        match roles::role(function) {
            Some(LockRole::Internal) => self.found = self.found.or(Some(Role::OfLock(LockRole::Internal))),
            Some(role) => self.found = Some(Role::OfLock(role)),
            None => {}
        }
        roles::is_inside(function)
    }

    /// Whether anything was found.
    pub(super) fn has_found(&self) -> bool {
        self.found.is_some()
    }

    /// What was found.
    pub(super) fn role(self) -> Option<Role> {
        self.found
    }
}

/// Whether a function is part of a lock: where a lock is used is where it was called from.
pub(super) fn is_inside_lock(function: Option<&str>) -> bool {
    function.is_some_and(roles::is_inside)
}

/// An attempt to take a lock that has not succeeded.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    lock: u64,
    hold: Hold,
    place: Option<u64>,
    /// Where it is in the program.
    pc: u64,
    /// The lock is the thread's as soon as it goes on, unless it has to wait for that.
    is_upgrade: bool,
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
        matches!(
            event.op,
            Op::AtomicRead { .. }
                | Op::AtomicWrite { .. }
                | Op::AtomicUpdate { .. }
                | Op::Obtained { .. }
                | Op::GaveBack { .. }
                | Op::TryFailed { .. }
        )
    }

    /// What such an event means. The role is that of an atomic operation.
    pub(super) fn understand<'a>(&mut self, event: &Event<'a>, role: Option<Role>) -> Meaning<'a> {
        let itself = [Some(*event), None];
        let (lock, changes) = match event.op {
            Op::AtomicRead { address, .. } => (address, false),
            Op::AtomicWrite { address, .. } | Op::AtomicUpdate { address, .. } => (address, true),
            Op::Obtained { lock } | Op::GaveBack { lock } | Op::TryFailed { lock, .. } => {
                return self.slowly(event, lock);
            }
            _ => return itself,
        };
        let Some(Role::OfLock(role)) = role else { return itself };
        let tell = |op| Some(Event { op, ..*event });
        let aside = |op| Some(Event { place: None, op, ..*event });
        let attempt = |hold| Attempt { lock, hold, place: event.place, pc: event.pc, is_upgrade: false };
        match role {
            LockRole::Lock(hold) => {
                let again = self.attempt(event.thread, lock).is_some();
                let request = aside(Op::Request { lock, hold }).filter(|_| !again);
                if changes {
                    self.attempts.remove(&event.thread);
                    return [request, tell(Op::Acquire { lock, hold })];
                }
                self.attempts.insert(event.thread, attempt(hold));
                [request, None]
            }
            LockRole::Try(hold) | LockRole::TryFor(hold) if changes => {
                [aside(Op::Limited), tell(Op::Acquire { lock, hold })]
            }
            LockRole::Unlock(hold) if changes => {
                self.attempts.remove(&event.thread);
                [tell(Op::Release { lock, hold }), None]
            }
            LockRole::TryFor(hold) | LockRole::Unlock(hold) => {
                self.attempts.insert(event.thread, attempt(hold));
                [None, None]
            }
            LockRole::Upgrade if changes => {
                let upgrade = Attempt { is_upgrade: true, ..attempt(Hold::Exclusive) };
                self.attempts.insert(event.thread, upgrade);
                let request = Op::Request { lock, hold: Hold::Exclusive };
                [aside(Op::Release { lock, hold: Hold::Shared }), aside(request)]
            }
            LockRole::Downgrade if changes => {
                let shared = Op::Acquire { lock, hold: Hold::Shared };
                [tell(Op::Release { lock, hold: Hold::Exclusive }), aside(shared)]
            }
            LockRole::NotifyOne => [tell(Op::Signal { condition: lock }), None],
            LockRole::NotifyAll => [tell(Op::Broadcast { condition: lock }), None],
            LockRole::Try(_) | LockRole::Upgrade | LockRole::Downgrade | LockRole::Internal => [None, None],
        }
    }

    /// Whether something comes before the next event of a thread: see [`Locks::before`].
    #[inline]
    pub(super) fn is_upgrading(&self, thread: u32) -> bool {
        !self.attempts.is_empty() && self.attempts.get(&thread).is_some_and(|attempt| attempt.is_upgrade)
    }

    /// What comes before an event of a thread: a lock that was upgraded is its own when it goes on.
    #[inline]
    pub(super) fn before<'a>(&mut self, event: &Event<'a>) -> Option<Event<'a>> {
        if self.attempts.is_empty() {
            return None;
        }
        let &Attempt { lock, hold, place, pc, is_upgrade } = self.attempts.get(&event.thread)?;
        let waits = matches!(event.op, Op::Awaits { .. } | Op::TryFailed { .. } | Op::Obtained { .. });
        if !is_upgrade || waits {
            return None;
        }
        self.attempts.remove(&event.thread);
        Some(Event { place, pc, op: Op::Acquire { lock, hold }, ..*event })
    }

    /// The slow way to a lock: one who did not even try, one who has it at last, and one who has given it back.
    fn slowly<'a>(&mut self, event: &Event<'a>, lock: u64) -> Meaning<'a> {
        let Some(attempt) = self.attempt(event.thread, lock) else {
            return [Some(*event), None];
        };
        if let Op::TryFailed { .. } = event.op {
            let place = if attempt.is_upgrade { attempt.place } else { event.place };
            self.attempts.insert(event.thread, Attempt { place, ..attempt });
            return [None, None];
        }
        self.attempts.remove(&event.thread);
        let Attempt { hold, place, .. } = attempt;
        let op = match event.op {
            Op::GaveBack { .. } => Op::Release { lock, hold },
            _ => Op::Acquire { lock, hold },
        };
        [Some(Event { place, op, ..*event }), None]
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

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Option<Role> = Some(Role::OfLock(LockRole::Lock(Hold::Exclusive)));
    const UNLOCK: Option<Role> = Some(Role::OfLock(LockRole::Unlock(Hold::Exclusive)));
    const READ: Option<Role> = Some(Role::OfLock(LockRole::Lock(Hold::Shared)));

    fn searched(functions: &[&str]) -> Option<Role> {
        let mut search = RoleSearch::default();
        let _ = functions.iter().find(|function| !search.goes_on_after(Some(function)));
        search.role()
    }

    #[test]
    fn the_outermost_lock_says_what_an_operation_is_for() {
        let exchange = "<core::sync::atomic::AtomicBool>::compare_exchange_weak";
        let attempt = "<spin::mutex::spin::SpinMutex<u8>>::try_lock_weak";
        let lock = "<spin::mutex::spin::SpinMutex<u8>>::lock";
        assert_eq!(searched(&[exchange, attempt, lock, "<spin::mutex::Mutex<u8>>::lock", "main"]), LOCK);
        let tried = Some(Role::OfLock(LockRole::Try(Hold::Exclusive)));
        assert_eq!(searched(&[exchange, attempt, "<bank::Bank>::pay", lock]), tried);
        assert_eq!(searched(&[exchange, "main", lock]), None);
        let clone = "<alloc::sync::Arc<u32> as core::clone::Clone>::clone";
        assert_eq!(searched(&[exchange, clone, lock]), Some(Role::Count));
    }

    fn operations_of(
        locks: &mut Locks,
        thread: u32,
        place: u64,
        op: Op<'static>,
        role: Option<Role>,
    ) -> Vec<String> {
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
        assert_eq!(operations_of(&mut locks, 0, 3, taken, LOCK), ["0 - Request", "0 3 Acquire"]);
        assert_eq!(operations_of(&mut locks, 1, 5, found, LOCK), ["1 - Request"]);
        assert_eq!(operations_of(&mut locks, 0, 4, taken, UNLOCK), ["0 4 Release"]);
        assert_eq!(operations_of(&mut locks, 1, 6, Op::Obtained { lock: 8 }, None), ["1 5 Acquire"]);
        assert_eq!(operations_of(&mut locks, 1, 7, taken, None), ["1 7 AtomicUpdate"]);
    }

    #[test]
    fn a_reader_that_looks_first_is_one_attempt() {
        let mut locks = Locks::default();
        let (looked, taken) =
            (Op::AtomicRead { address: 8, size: 4 }, Op::AtomicUpdate { address: 8, size: 4 });
        assert_eq!(operations_of(&mut locks, 0, 0, looked, READ), ["0 - Request"]);
        assert_eq!(operations_of(&mut locks, 0, 1, taken, READ), ["0 1 Acquire"]);
        // Without trying, the place of the attempt is one of its own.
        assert_eq!(operations_of(&mut locks, 1, 0, looked, READ), ["1 - Request"]);
        let failed = Op::TryFailed { lock: 8, hold: Hold::Shared };
        assert!(operations_of(&mut locks, 1, 1, failed, None).is_empty());
        assert_eq!(operations_of(&mut locks, 1, 2, Op::Obtained { lock: 8 }, None), ["1 1 Acquire"]);
    }

    #[test]
    fn a_lock_that_is_given_back_slowly_is_given_back_at_the_first_attempt() {
        let mut locks = Locks::default();
        let found = Op::AtomicRead { address: 8, size: 1 };
        assert!(operations_of(&mut locks, 0, 3, found, UNLOCK).is_empty());
        assert_eq!(operations_of(&mut locks, 0, 4, Op::GaveBack { lock: 8 }, None), ["0 3 Release"]);
        let stored = Op::AtomicWrite { address: 8, size: 1 };
        assert_eq!(operations_of(&mut locks, 0, 5, stored, UNLOCK), ["0 5 Release"]);
    }

    #[test]
    fn an_upgraded_lock_is_taken_when_its_thread_goes_on() {
        let mut locks = Locks::default();
        let upgrade = Some(Role::OfLock(LockRole::Upgrade));
        let changed = Op::AtomicUpdate { address: 8, size: 8 };
        let next = Event { thread: 0, place: Some(7), pc: 0, op: Op::Write { address: 64, size: 8 } };
        assert_eq!(operations_of(&mut locks, 0, 3, changed, upgrade), ["0 - Release", "0 - Request"]);
        assert_eq!(locks.before(&next).unwrap().place, Some(3));
        assert!(locks.before(&next).is_none());
        // With readers to wait for.
        operations_of(&mut locks, 0, 8, changed, upgrade);
        let awaits = Event { op: Op::Awaits { object: Some(8) }, place: None, ..next };
        assert!(locks.before(&awaits).is_none());
        assert_eq!(operations_of(&mut locks, 0, 9, Op::Obtained { lock: 8 }, None), ["0 8 Acquire"]);
        assert!(locks.before(&next).is_none());
    }
}
