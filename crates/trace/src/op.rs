//! What an event does: the closed set of operations, in a typed form ([`Op`]) for reading and in a
//! packed form ([`Kind`] and a 32-bit target) for storing.

use crate::ids::{
    BarrierId, BlockId, ConditionId, LockId, MarkId, RegionId, SemaphoreId, ThreadId, VariableId,
};

macro_rules! operations {
    (
        plain { $($(#[$pdoc:meta])* $plain:ident = $pcode:literal,)* }
        targeted { $($(#[$doc:meta])* $name:ident($target:ty) = $code:literal,)* }
    ) => {
        /// The kind of an operation, without its object. The numbers are part of the native format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$pdoc])* $plain = $pcode,)*
            $($(#[$doc])* $name = $code,)*
        }

        impl Kind {
            /// Every kind, in the order of their codes.
            pub const ALL: &[Kind] = &[$(Kind::$plain,)* $(Kind::$name,)*];

            /// The kind with this code, if there is one.
            #[inline]
            pub fn from_code(code: u8) -> Option<Kind> {
                match code {
                    $($pcode => Some(Kind::$plain),)*
                    $($code => Some(Kind::$name),)*
                    _ => None,
                }
            }
        }

        /// One operation of one thread, with what it acts on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Op {
            $($(#[$pdoc])* $plain,)*
            $($(#[$doc])* $name($target),)*
        }

        impl Op {
            /// The kind of this operation.
            #[inline]
            pub fn kind(self) -> Kind {
                match self {
                    $(Op::$plain => Kind::$plain,)*
                    $(Op::$name(_) => Kind::$name,)*
                }
            }

            /// The raw target as it is stored: an id, a count, or 0 where there is none.
            #[inline]
            pub fn target(self) -> u32 {
                match self {
                    $(Op::$plain => 0,)*
                    $(Op::$name(target) => RawTarget::raw(target),)*
                }
            }

            /// The operation stored as this kind and raw target.
            #[inline]
            pub fn from_parts(kind: Kind, target: u32) -> Op {
                match kind {
                    $(Kind::$plain => Op::$plain,)*
                    $(Kind::$name => Op::$name(target.into()),)*
                }
            }
        }
    };
}

operations! {
    plain {
        /// The thread starts.
        Begin = 0,
        /// The thread ends.
        End = 1,
        /// A memory fence.
        Fence = 2,
    }
    targeted {
        /// Creates a thread.
        Fork(ThreadId) = 3,
        /// Has waited for a thread's end.
        Join(ThreadId) = 4,
        /// A plain read.
        Read(VariableId) = 5,
        /// A plain write.
        Write(VariableId) = 6,
        /// An atomic read.
        AtomicRead(VariableId) = 7,
        /// An atomic write.
        AtomicWrite(VariableId) = 8,
        /// An atomic read-modify-write: a read and a write in one event.
        AtomicUpdate(VariableId) = 9,
        /// Asks for a lock and may block; the acquire follows when it succeeds.
        Request(LockId) = 10,
        /// Has taken a lock for itself alone.
        Acquire(LockId) = 11,
        /// Gives up a lock it held alone.
        Release(LockId) = 12,
        /// Asks for a lock to share and may block.
        RequestShared(LockId) = 13,
        /// Has taken a lock together with other readers.
        AcquireShared(LockId) = 14,
        /// Gives up a shared lock.
        ReleaseShared(LockId) = 15,
        /// Has been woken from a condition variable.
        Wait(ConditionId) = 16,
        /// Wakes at most one waiter.
        Signal(ConditionId) = 17,
        /// Wakes all waiters.
        Broadcast(ConditionId) = 18,
        /// Arrives at a barrier.
        BarrierEnter(BarrierId) = 19,
        /// Leaves a barrier after all its party arrived.
        BarrierExit(BarrierId) = 20,
        /// Adds a permit to a semaphore.
        Post(SemaphoreId) = 21,
        /// Has taken a permit of a semaphore.
        Take(SemaphoreId) = 22,
        /// Allocates a block of memory.
        Allocate(BlockId) = 23,
        /// Frees a block of memory.
        Free(BlockId) = 24,
        /// This many branches were taken since the thread's last event.
        Branch(u32) = 25,
        /// A name and a value the user marked this point with.
        Mark(MarkId) = 26,
        /// A region the user calls atomic begins.
        RegionBegin(RegionId) = 27,
        /// A region the user calls atomic ends.
        RegionEnd(RegionId) = 28,
    }
}

/// Targets are ids, except the count of a [`Op::Branch`].
trait RawTarget {
    fn raw(self) -> u32;
}

macro_rules! raw_ids {
    ($($id:ty)*) => {$(impl RawTarget for $id {
        #[inline]
        fn raw(self) -> u32 {
            self.0
        }
    })*};
}

raw_ids! { ThreadId VariableId LockId ConditionId BarrierId SemaphoreId BlockId MarkId RegionId }

impl RawTarget for u32 {
    #[inline]
    fn raw(self) -> u32 {
        self
    }
}

/// How an event touches a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The variable touched.
    pub variable: VariableId,
    /// It sees the variable's value.
    pub reads: bool,
    /// It sets the variable's value.
    pub writes: bool,
    /// It is atomic: it never races with another atomic access.
    pub atomic: bool,
}

impl Op {
    /// The memory access this operation makes, if it makes one.
    #[inline]
    pub fn access(self) -> Option<Access> {
        let (variable, reads, writes, atomic) = match self {
            Op::Read(v) => (v, true, false, false),
            Op::Write(v) => (v, false, true, false),
            Op::AtomicRead(v) => (v, true, false, true),
            Op::AtomicWrite(v) => (v, false, true, true),
            Op::AtomicUpdate(v) => (v, true, true, true),
            _ => return None,
        };
        Some(Access { variable, reads, writes, atomic })
    }

    /// The variable this operation reads, if it reads one.
    #[inline]
    pub fn reads(self) -> Option<VariableId> {
        match self {
            Op::Read(v) | Op::AtomicRead(v) | Op::AtomicUpdate(v) => Some(v),
            _ => None,
        }
    }

    /// The variable this operation writes, if it writes one.
    #[inline]
    pub fn writes(self) -> Option<VariableId> {
        match self {
            Op::Write(v) | Op::AtomicWrite(v) | Op::AtomicUpdate(v) => Some(v),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_and_typed_forms_agree() {
        for (code, &kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(Kind::from_code(code as u8), Some(kind));
            assert_eq!(kind as usize, code);
            let op = Op::from_parts(kind, 7);
            assert_eq!(op.kind(), kind);
            assert!(op.target() == 7 || matches!(op, Op::Begin | Op::End | Op::Fence));
        }
        assert_eq!(Kind::from_code(Kind::ALL.len() as u8), None);
    }
}
