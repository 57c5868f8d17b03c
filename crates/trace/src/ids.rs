//! Ids as newtypes: an event cannot be mistaken for a variable, nor a thread for a lock.
//!
//! Every id is a dense index starting at 0 into the table of its kind, so a `Vec` indexed by it is
//! the natural map from it.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id at this index of its table. The index must fit in 32 bits.
            #[inline]
            pub fn new(index: usize) -> Self {
                debug_assert!(index < u32::MAX as usize);
                Self(index as u32)
            }

            /// Its index into the table of its kind.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<u32> for $name {
            fn from(raw: u32) -> Self {
                Self(raw)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    )*};
}

ids! {
    /// An event: its 0-based position in the trace.
    EventId
    /// A thread, numbered in the order of first mention.
    ThreadId
    /// A variable: a region of memory that is always accessed alike.
    VariableId
    /// A lock, exclusive or reader/writer.
    LockId
    /// A condition variable.
    ConditionId
    /// A barrier.
    BarrierId
    /// A counting semaphore.
    SemaphoreId
    /// A block of allocated memory.
    BlockId
    /// A region of code the user calls atomic.
    RegionId
    /// A pair of a mark's name and value.
    MarkId
    /// A source location.
    LocationId
    /// One use of a barrier: the enters that wait for each other.
    InstanceId
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
