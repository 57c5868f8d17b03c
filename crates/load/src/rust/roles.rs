//! What an atomic operation means to a lock, by the names of the functions it is in.
//!
//! The table has the locks of std, those of spin, and every lock that implements the traits of `lock_api`, whichever crate it is from:
//! parking_lot, dashmap, a program's own. Functions are recognised inlined or not, as a demangler of either mangling names them.

use wire::Hold;
use wire::Hold::{Exclusive, Shared};

/// What an atomic operation of a lock, or of something like it, means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockRole {
    /// It takes the lock, waiting for it.
    Lock(Hold),
    /// It takes the lock if it is free.
    Try(Hold),
    /// It takes the lock, waiting for some time.
    TryFor(Hold),
    /// It gives the lock back.
    Unlock(Hold),
    /// What was locked together with others is locked alone, waiting for that.
    Upgrade,
    /// What was locked alone is locked together with others.
    Downgrade,
    /// It wakes one of those who wait for a condition variable, or all.
    NotifyOne,
    NotifyAll,
    /// It is nobody else's business.
    Internal,
}

use LockRole::{Downgrade, Internal, Lock, NotifyAll, NotifyOne, Try, TryFor, Unlock, Upgrade};

/// Methods and what their atomic operations mean.
type Methods = &'static [(&'static str, LockRole)];

/// Types, by the ends of their paths.
const TYPES: &[(&str, Methods)] = &[
    (
        "sync::mutex::futex::Mutex",
        &[("lock", Lock(Exclusive)), ("try_lock", Try(Exclusive)), ("unlock", Unlock(Exclusive))],
    ),
    (
        "sync::rwlock::futex::RwLock",
        &[
            ("read", Lock(Shared)),
            ("write", Lock(Exclusive)),
            ("try_read", Try(Shared)),
            ("try_write", Try(Exclusive)),
            ("read_unlock", Unlock(Shared)),
            ("write_unlock", Unlock(Exclusive)),
            ("downgrade", Downgrade),
        ],
    ),
    ("parking_lot::condvar::Condvar", &[("notify_one", NotifyOne), ("notify_all", NotifyAll)]),
    (
        "lock_api::remutex::RawReentrantMutex",
        &[
            ("lock", Internal),
            ("lock_internal", Internal),
            ("try_lock", Internal),
            ("try_lock_for", Internal),
            ("try_lock_until", Internal),
            ("unlock", Internal),
            ("unlock_fair", Internal),
            ("bump", Internal),
        ],
    ),
    (
        "spin::mutex::spin::SpinMutex",
        &[
            ("lock", Lock(Exclusive)),
            ("try_lock", Try(Exclusive)),
            ("try_lock_weak", Try(Exclusive)),
            ("force_unlock", Unlock(Exclusive)),
        ],
    ),
    ("spin::mutex::spin::SpinMutexGuard", &[("drop", Unlock(Exclusive))]),
];

/// Traits, by their paths: for every type that implements them.
const TRAITS: &[(&str, Methods)] = &[
    (
        "lock_api::mutex::RawMutex",
        &[("lock", Lock(Exclusive)), ("try_lock", Try(Exclusive)), ("unlock", Unlock(Exclusive))],
    ),
    ("lock_api::mutex::RawMutexFair", &[("unlock_fair", Unlock(Exclusive)), ("bump", Internal)]),
    (
        "lock_api::mutex::RawMutexTimed",
        &[("try_lock_for", TryFor(Exclusive)), ("try_lock_until", TryFor(Exclusive))],
    ),
    (
        "lock_api::rwlock::RawRwLock",
        &[
            ("lock_shared", Lock(Shared)),
            ("try_lock_shared", Try(Shared)),
            ("unlock_shared", Unlock(Shared)),
            ("lock_exclusive", Lock(Exclusive)),
            ("try_lock_exclusive", Try(Exclusive)),
            ("unlock_exclusive", Unlock(Exclusive)),
        ],
    ),
    (
        "lock_api::rwlock::RawRwLockFair",
        &[
            ("unlock_shared_fair", Unlock(Shared)),
            ("unlock_exclusive_fair", Unlock(Exclusive)),
            ("bump_shared", Internal),
            ("bump_exclusive", Internal),
        ],
    ),
    ("lock_api::rwlock::RawRwLockDowngrade", &[("downgrade", Downgrade)]),
    (
        "lock_api::rwlock::RawRwLockTimed",
        &[
            ("try_lock_shared_for", TryFor(Shared)),
            ("try_lock_shared_until", TryFor(Shared)),
            ("try_lock_exclusive_for", TryFor(Exclusive)),
            ("try_lock_exclusive_until", TryFor(Exclusive)),
        ],
    ),
    (
        "lock_api::rwlock::RawRwLockRecursive",
        &[("lock_shared_recursive", Lock(Shared)), ("try_lock_shared_recursive", Try(Shared))],
    ),
    (
        "lock_api::rwlock::RawRwLockRecursiveTimed",
        &[
            ("try_lock_shared_recursive_for", TryFor(Shared)),
            ("try_lock_shared_recursive_until", TryFor(Shared)),
        ],
    ),
    // Who may upgrade keeps out writers and others who may upgrade, but not readers. The trace has no such form, and what the holder does with
    // the data before it upgrades is what readers do.
    (
        "lock_api::rwlock::RawRwLockUpgrade",
        &[
            ("lock_upgradable", Lock(Shared)),
            ("try_lock_upgradable", Try(Shared)),
            ("unlock_upgradable", Unlock(Shared)),
            ("upgrade", Upgrade),
            ("try_upgrade", Upgrade),
        ],
    ),
    (
        "lock_api::rwlock::RawRwLockUpgradeFair",
        &[("unlock_upgradable_fair", Unlock(Shared)), ("bump_upgradable", Internal)],
    ),
    (
        "lock_api::rwlock::RawRwLockUpgradeDowngrade",
        &[("downgrade_upgradable", Internal), ("downgrade_to_upgradable", Downgrade)],
    ),
    (
        "lock_api::rwlock::RawRwLockUpgradeTimed",
        &[
            ("try_lock_upgradable_for", TryFor(Shared)),
            ("try_lock_upgradable_until", TryFor(Shared)),
            ("try_upgrade_for", Upgrade),
            ("try_upgrade_until", Upgrade),
        ],
    ),
];

/// Where the helpers of these functions are: a lock that calls them is looked for further out.
const INSIDE: &[&str] = &[
    "std::",
    "core::",
    "alloc::",
    "parking_lot::",
    "parking_lot_core::",
    "lock_api::",
    "spin::",
    "dashmap::lock::",
];

/// What atomic operations in this function mean, as a demangler names it.
pub(super) fn role(function: &str) -> Option<LockRole> {
    let Function { owner, of_trait, method } = Function::parse(function)?;
    let found = |table: &[(&str, Methods)], is: &dyn Fn(&str) -> bool| {
        let (_, methods) = table.iter().find(|(name, _)| is(name))?;
        methods.iter().find(|(name, _)| *name == method).map(|&(_, role)| role)
    };
    let trait_role = of_trait.and_then(|of_trait| found(TRAITS, &|name| of_trait == name));
    trait_role.or_else(|| found(TYPES, &|name| is_end_of_path(&owner, name)))
}

/// Whether a function may be a helper of a lock's.
pub(super) fn is_inside(function: &str) -> bool {
    let path = function.trim_start_matches(['<', '&']);
    INSIDE.iter().any(|start| path.starts_with(start))
}

fn is_end_of_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with("::"))
}

/// The name of a method, taken apart. Types are without their parameters.
#[derive(Debug, PartialEq, Eq)]
struct Function<'a> {
    owner: String,
    of_trait: Option<String>,
    method: &'a str,
}

impl<'a> Function<'a> {
    fn parse(function: &'a str) -> Option<Function<'a>> {
        let (owner, of_trait, method) = match function.strip_prefix('<') {
            Some(rest) => {
                let (inner, after) = rest.split_at(end_of_brackets(rest)?);
                let method = after.strip_prefix(">::")?;
                match inner.rsplit_once(" as ") {
                    Some((owner, of_trait)) => (owner, Some(of_trait), method),
                    None => (inner, None, method),
                }
            }
            None => {
                let end = function.find("::<").unwrap_or(function.len());
                let (owner, method) = function[..end].rsplit_once("::")?;
                (owner, None, method)
            }
        };
        let method = method.split_once("::<").map_or(method, |(method, _)| method);
        let is_method = !method.contains([':', '{']);
        let without =
            |path: &str| path.split('<').next().unwrap_or_default().trim_end_matches("::").to_owned();
        is_method.then(|| Function { owner: without(owner), of_trait: of_trait.map(without), method })
    }
}

/// Where the bracket is closed that was opened before this text.
fn end_of_brackets(text: &str) -> Option<usize> {
    let mut depth = 1;
    let mut last = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            // Not that of an arrow.
            '>' if last != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
        last = letter;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_known_in_both_manglings() {
        for (function, expected) in [
            ("<std::sys::sync::mutex::futex::Mutex>::lock", Some(Lock(Exclusive))),
            ("std::sys::sync::mutex::futex::Mutex::lock", Some(Lock(Exclusive))),
            ("std::sys::sync::rwlock::futex::RwLock::read", Some(Lock(Shared))),
            ("<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock", Some(Lock(Exclusive))),
            ("<bank::Spin<fn(u8) -> u8> as lock_api::mutex::RawMutex>::unlock", Some(Unlock(Exclusive))),
            (
                "<parking_lot::raw_rwlock::RawRwLock as lock_api::rwlock::RawRwLockUpgrade>::upgrade",
                Some(Upgrade),
            ),
            ("<parking_lot::condvar::Condvar>::notify_one", Some(NotifyOne)),
            ("<spin::mutex::spin::SpinMutex<alloc::vec::Vec<u8>>>::lock", Some(Lock(Exclusive))),
            ("spin::mutex::spin::SpinMutex<T,R>::try_lock", Some(Try(Exclusive))),
            (
                "<spin::mutex::spin::SpinMutexGuard<i32> as core::ops::drop::Drop>::drop",
                Some(Unlock(Exclusive)),
            ),
            (
                "<lock_api::remutex::RawReentrantMutex<parking_lot::raw_mutex::RawMutex, \
                 parking_lot::remutex::RawThreadId>>::lock_internal::<<X>::lock::{closure#0}>",
                Some(Internal),
            ),
            ("<bank::Mutex>::lock", None),
            ("<spin::mutex::spin::SpinMutex<u8>>::lock::{closure#0}", None),
            ("lock", None),
            ("<broken", None),
            ("", None),
        ] {
            assert_eq!(role(function), expected, "{function}");
        }
    }

    #[test]
    fn helpers_are_those_of_crates_with_locks() {
        assert!(is_inside("<parking_lot::raw_rwlock::RawRwLock>::try_lock_shared_fast"));
        assert!(!is_inside("<bank::Account>::pay") && !is_inside("dashmap::DashMap<K,V>::get"));
    }
}
