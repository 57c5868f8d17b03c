//! Functions of Rust's std whose calls are reported to the runtime: code linked into the program passes their numbers.

/// A function of std that orders threads, or that prints.
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
}

impl StdCall {
    const ALL: [StdCall; 9] = [
        StdCall::Wait,
        StdCall::NotifyOne,
        StdCall::NotifyAll,
        StdCall::Barrier,
        StdCall::Once,
        StdCall::ScopeEnd,
        StdCall::Contended,
        StdCall::Print,
        StdCall::WaitTimeout,
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
