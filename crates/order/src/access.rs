//! Accesses of variables: how they conflict, and which variables they can conflict on.

use trace::{Op, ThreadId, Trace};

/// How an access takes part in races. One bit says whether it writes, the other whether it is plain, so that
/// hot loops need not branch on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AccessKind {
    /// An atomic read.
    AtomicRead = 0b00,
    /// An atomic write or update.
    AtomicWrite = 0b01,
    /// A plain read.
    PlainRead = 0b10,
    /// A plain write.
    PlainWrite = 0b11,
}

impl AccessKind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [AccessKind; 4] =
        [AccessKind::AtomicRead, AccessKind::AtomicWrite, AccessKind::PlainRead, AccessKind::PlainWrite];

    /// The kind of an operation, if it is an access.
    #[inline]
    pub fn of(op: Op) -> Option<AccessKind> {
        match op {
            Op::Read(_) => Some(AccessKind::PlainRead),
            Op::Write(_) => Some(AccessKind::PlainWrite),
            Op::AtomicRead(_) => Some(AccessKind::AtomicRead),
            Op::AtomicWrite(_) | Op::AtomicUpdate(_) => Some(AccessKind::AtomicWrite),
            _ => None,
        }
    }

    /// The kind with this number, in the two lowest bits.
    #[inline]
    pub fn from_bits(bits: u32) -> AccessKind {
        match bits & 0b11 {
            0b00 => AccessKind::AtomicRead,
            0b01 => AccessKind::AtomicWrite,
            0b10 => AccessKind::PlainRead,
            _ => AccessKind::PlainWrite,
        }
    }

    /// Whether it writes.
    #[inline]
    pub fn writes(self) -> bool {
        self as u8 & 0b01 != 0
    }

    /// Whether two accesses of one variable by different threads of these kinds conflict: one writes, one is plain.
    #[inline]
    pub fn conflicts(self, other: AccessKind) -> bool {
        self as u8 | other as u8 == 0b11
    }

    /// Whether it conflicts with everything the other conflicts with.
    #[inline]
    pub fn covers(self, other: AccessKind) -> bool {
        other as u8 & !(self as u8) == 0
    }
}

/// For each variable, whether more than one thread accesses it and some thread writes it. The order of
/// accesses to any other variable cannot matter.
pub fn contested_variables(trace: &Trace) -> Vec<bool> {
    #[derive(Clone, Copy, Default)]
    struct Users {
        first: Option<ThreadId>,
        several: bool,
        written: bool,
    }
    let mut users = vec![Users::default(); trace.symbols().variables.len()];
    for (_, thread, op) in trace.events() {
        if let Some(access) = op.access() {
            let users = &mut users[access.variable.index()];
            users.several |= users.first.is_some_and(|first| first != thread);
            users.first.get_or_insert(thread);
            users.written |= access.writes;
        }
    }
    users.iter().map(|users| users.several && users.written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_covers_another_conflicts_with_as_much() {
        for a in AccessKind::ALL {
            assert_eq!(AccessKind::from_bits(0b100 | a as u32), a);
            for b in AccessKind::ALL {
                let as_much = AccessKind::ALL.iter().all(|&c| a.conflicts(c) || !b.conflicts(c));
                assert_eq!(a.covers(b), as_much, "{a:?} {b:?}");
            }
        }
    }
}
