//! Functions of Rust's std, and of crates that implement locks, whose calls are reported to the runtime: code linked into the program passes
//! their numbers.

/// A function that orders threads, or that prints. What happens inside those of crates is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StdCall {
    /// `Condvar::wait`: the condition variable, and the mutex.
    Wait,
    /// `Condvar::notify_one`.
    NotifyOne,
    /// `Condvar::notify_all`.
    NotifyAll,
    /// `Barrier::wait`.
    Barrier,
    /// `Once::call`: the slow path of things done once.
    Once,
    /// The end of a scoped thread is counted.
    ScopeEnd,
    /// The slow path to a lock.
    Contended,
    /// `print!` and its kin.
    Print,
    /// `Condvar::wait_timeout`.
    WaitTimeout,
    /// The slow path to a lock of a crate. It returns whether the lock was taken before the time ran out.
    SlowLock,
    /// The slow path to a lock of a crate, which is taken in the end.
    SlowLockForGood,
    /// The slow path by which a lock of a crate is given back.
    SlowUnlock,
    /// A wait for a condition variable of a crate: the condition variable, and the mutex. It returns whether the time ran out.
    SlowWait,
    /// Something else inside a crate's lock that is nobody else's business, such as waking waiters.
    Hidden,
}

impl StdCall {
    const ALL: [StdCall; 14] = [
        StdCall::Wait,
        StdCall::NotifyOne,
        StdCall::NotifyAll,
        StdCall::Barrier,
        StdCall::Once,
        StdCall::ScopeEnd,
        StdCall::Contended,
        StdCall::Print,
        StdCall::WaitTimeout,
        StdCall::SlowLock,
        StdCall::SlowLockForGood,
        StdCall::SlowUnlock,
        StdCall::SlowWait,
        StdCall::Hidden,
    ];

    /// Its number in the linked code.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The call with this number.
    pub fn from_number(number: u64) -> Option<StdCall> {
        StdCall::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_calls() {
        for call in StdCall::ALL {
            assert_eq!(StdCall::from_number(u64::from(call.number())), Some(call));
        }
        assert_eq!(StdCall::from_number(StdCall::ALL.len() as u64), None);
        assert_eq!(StdCall::from_number(u64::MAX), None);
    }
}
