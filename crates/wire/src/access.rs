//! Plain accesses to memory: most events of most logs.

use crate::event::{Event, Op};
use crate::kind::Kind;
use crate::predict::Key;

/// What a plain access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It reads, and writes the same bytes then.
    ReadWrite,
}

/// A plain access to memory, as the fast way through a log hands it over. It stands for the [`Event`] of the same fields, and for the
/// event of a branch before that if there was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainAccess {
    /// Whose access: the thread's number.
    pub thread: u32,
    /// What it does.
    pub plain: Plain,
    /// How many bytes it covers.
    pub size: u8,
    /// Whether the thread has taken a branch since its last event.
    pub is_after_branch: bool,
    /// How many schedulable events of the thread came before.
    pub place: u64,
    /// The instruction after the call of the hook.
    pub pc: u64,
    /// The first byte.
    pub address: u64,
}

impl PlainAccess {
    /// Whether this is the code of a kind of plain access.
    #[inline(always)]
    pub(crate) fn is_code(code: u8) -> bool {
        (Kind::Read1 as u8..=Kind::ReadWrite16 as u8).contains(&code)
    }

    /// The access at a site of such a kind.
    #[inline(always)]
    pub(crate) fn new(thread: u32, place: u64, key: Key, address: u64) -> PlainAccess {
        let number = key.code() - Kind::Read1 as u8;
        let plain = match number / 5 {
            0 => Plain::Read,
            1 => Plain::Write,
            _ => Plain::ReadWrite,
        };
        let (size, is_after_branch) = (1 << (number % 5), key.is_after_branch());
        PlainAccess { thread, plain, size, is_after_branch, place, pc: key.pc(), address }
    }

    /// The access that an event is, if it is one. A branch is an event of its own.
    #[inline]
    pub fn of(event: &Event<'_>) -> Option<PlainAccess> {
        let (plain, address, size) = match event.op {
            Op::Read { address, size } => (Plain::Read, address, size),
            Op::Write { address, size } => (Plain::Write, address, size),
            Op::ReadWrite { address, size } => (Plain::ReadWrite, address, size),
            _ => return None,
        };
        let Event { thread, pc, .. } = *event;
        Some(PlainAccess { thread, plain, size, is_after_branch: false, place: event.place?, pc, address })
    }

    /// The event that it is, apart from a branch before it.
    #[inline]
    pub fn event(&self) -> Event<'static> {
        let PlainAccess { thread, plain, size, place, pc, address, .. } = *self;
        let op = match plain {
            Plain::Read => Op::Read { address, size },
            Plain::Write => Op::Write { address, size },
            Plain::ReadWrite => Op::ReadWrite { address, size },
        };
        Event { thread, place: Some(place), pc, op }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event;

    #[test]
    fn an_access_is_the_event_of_its_kind() {
        for &kind in Kind::ALL {
            let op = event::simple(kind, 4096);
            let event = op.map(|op| Event { thread: 3, place: Some(7), pc: 99, op });
            let access = event.as_ref().and_then(PlainAccess::of);
            assert_eq!(access.is_some(), PlainAccess::is_code(kind as u8), "{kind:?}");
            if let Some(access) = access {
                assert_eq!(access, PlainAccess::new(3, 7, Key::new(kind, 99), 4096));
                assert_eq!(Some(access.event()), event);
            }
        }
    }
}
