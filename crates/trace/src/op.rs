//! What an event does: the closed set of operations, in a typed form ([`Op`]) for reading and in a
//! packed form ([`Kind`] and a 32-bit target) for storing.
//!
//! The table below is the only place that lists the kinds with their codes in the native format and
//! their names in the text format and in JSON. The formats, statistics and reports derive from it.

use crate::ids::{
    BarrierId, BlockId, ConditionId, LockId, MarkId, RegionId, SemaphoreId, ThreadId, VariableId,
};

macro_rules! operations {
    (
        plain { $($(#[$pdoc:meta])* $plain:ident = $pcode:literal, $ptext:literal, $pjson:literal;)* }
        targeted {
            $($(#[$doc:meta])* $name:ident($target:ty) = $code:literal, $text:literal, $json:literal;)*
        }
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

            /// Its name in the text format.
            pub const fn text_name(self) -> &'static str {
                match self {
                    $(Kind::$plain => $ptext,)*
                    $(Kind::$name => $text,)*
                }
            }

            /// The kind with this name in the text format, if there is one.
            #[inline]
            pub fn from_text_name(name: &[u8]) -> Option<Kind> {
                match name {
                    $(text_names::$plain => Some(Kind::$plain),)*
                    $(text_names::$name => Some(Kind::$name),)*
                    _ => None,
                }
            }

            /// Its name in JSON: lower-case words joined by `_`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$plain => $pjson,)*
                    $(Kind::$name => $json,)*
                }
            }

            /// What its operations act on.
            pub const fn object(self) -> ObjectKind {
                match self {
                    $(Kind::$plain => ObjectKind::Nothing,)*
                    $(Kind::$name => <$target as Target>::KIND,)*
                }
            }
        }

        /// The names in the text format as bytes, to match on.
        #[expect(non_upper_case_globals, reason = "named for the kinds")]
        mod text_names {
            $(pub(super) const $plain: &[u8] = $ptext.as_bytes();)*
            $(pub(super) const $name: &[u8] = $text.as_bytes();)*
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
                    $(Op::$name(target) => Target::raw(target),)*
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
        Begin = 0, "begin", "begin";
        /// The thread ends.
        End = 1, "end", "end";
        /// A memory fence.
        Fence = 2, "fence", "fence";
    }
    targeted {
        /// Creates a thread.
        Fork(ThreadId) = 3, "fork", "fork";
        /// Has waited for a thread's end.
        Join(ThreadId) = 4, "join", "join";
        /// A plain read.
        Read(VariableId) = 5, "r", "read";
        /// A plain write.
        Write(VariableId) = 6, "w", "write";
        /// An atomic read.
        AtomicRead(VariableId) = 7, "ar", "atomic_read";
        /// An atomic write.
        AtomicWrite(VariableId) = 8, "aw", "atomic_write";
        /// An atomic read-modify-write: a read and a write in one event.
        AtomicUpdate(VariableId) = 9, "rmw", "atomic_update";
        /// Asks for a lock and may block; the acquire follows when it succeeds.
        Request(LockId) = 10, "req", "request";
        /// Has taken a lock for itself alone.
        Acquire(LockId) = 11, "acq", "acquire";
        /// Gives up a lock it held alone.
        Release(LockId) = 12, "rel", "release";
        /// Asks for a lock to share and may block.
        RequestShared(LockId) = 13, "rreq", "request_shared";
        /// Has taken a lock together with other readers.
        AcquireShared(LockId) = 14, "racq", "acquire_shared";
        /// Gives up a shared lock.
        ReleaseShared(LockId) = 15, "rrel", "release_shared";
        /// Has been woken from a condition variable.
        Wait(ConditionId) = 16, "wait", "wait";
        /// Wakes at most one waiter.
        Signal(ConditionId) = 17, "signal", "signal";
        /// Wakes all waiters.
        Broadcast(ConditionId) = 18, "broadcast", "broadcast";
        /// Arrives at a barrier.
        BarrierEnter(BarrierId) = 19, "benter", "barrier_enter";
        /// Leaves a barrier after all its party arrived.
        BarrierExit(BarrierId) = 20, "bexit", "barrier_exit";
        /// Adds a permit to a semaphore.
        Post(SemaphoreId) = 21, "post", "post";
        /// Has taken a permit of a semaphore.
        Take(SemaphoreId) = 22, "take", "take";
        /// Allocates a block of memory.
        Allocate(BlockId) = 23, "alloc", "allocate";
        /// Frees a block of memory.
        Free(BlockId) = 24, "free", "free";
        /// This many branches were taken since the thread's last event.
        Branch(u32) = 25, "branch", "branch";
        /// A name and a value the user marked this point with.
        Mark(MarkId) = 26, "mark", "mark";
        /// A region the user calls atomic begins.
        RegionBegin(RegionId) = 27, "abegin", "region_begin";
        /// A region the user calls atomic ends.
        RegionEnd(RegionId) = 28, "aend", "region_end";
    }
}

impl Kind {
    /// Whether its operations have a memory order.
    #[inline]
    pub const fn has_memory_order(self) -> bool {
        matches!(self, Kind::Fence | Kind::AtomicRead | Kind::AtomicWrite | Kind::AtomicUpdate)
    }

    /// Its name as words, for people.
    pub fn words(self) -> String {
        self.name().replace('_', " ")
    }
}

/// What an operation acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ObjectKind {
    Nothing,
    Thread,
    Variable,
    Lock,
    Condition,
    Barrier,
    Semaphore,
    Block,
    /// Not an object but a number.
    Count,
    Mark,
    Region,
}

/// The target of an operation: an id, or the count of an [`Op::Branch`].
trait Target {
    const KIND: ObjectKind;

    fn raw(self) -> u32;
}

macro_rules! targets {
    ($($id:ty: $kind:ident,)*) => {$(impl Target for $id {
        const KIND: ObjectKind = ObjectKind::$kind;

        #[inline]
        fn raw(self) -> u32 {
            self.0
        }
    })*};
}

targets! {
    ThreadId: Thread,
    VariableId: Variable,
    LockId: Lock,
    ConditionId: Condition,
    BarrierId: Barrier,
    SemaphoreId: Semaphore,
    BlockId: Block,
    MarkId: Mark,
    RegionId: Region,
}

impl Target for u32 {
    const KIND: ObjectKind = ObjectKind::Count;

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

    /// Whether a thread can be held up at this operation until another does something.
    #[inline]
    pub fn can_block(self) -> bool {
        matches!(
            self,
            Op::Acquire(_)
                | Op::AcquireShared(_)
                | Op::Request(_)
                | Op::RequestShared(_)
                | Op::Join(_)
                | Op::Wait(_)
                | Op::BarrierExit(_)
                | Op::Take(_)
        )
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
            assert_eq!(Kind::from_text_name(kind.text_name().as_bytes()), Some(kind));
            assert!(op.target() == 7 || matches!(op, Op::Begin | Op::End | Op::Fence));
        }
        assert_eq!(Kind::from_code(Kind::ALL.len() as u8), None);
        let names: std::collections::BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
    }
}
