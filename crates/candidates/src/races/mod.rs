//! Data races: pairs of accesses of one variable by different threads, one a write, not both atomic,
//! that could happen at the same time.
//!
//! Each method is a file, and says what it promises:
//!
//! | method | file | every pair it reports is real | it reports every real pair | cost |
//! |---|---|---|---|---|
//! | `lockset` | [`lockset`] | no | yes | linear, streams |
//! | `hb` | [`hb`] | the first one | no | linear, streams |
//! | `cp` | [`cp`] | the first one, or a deadlock is | no | a few linear passes |
//! | `syncp` | [`syncp`] | yes | of its class | near linear |
//! | `ucg` | [`ucg`] | no | yes | a saturation a pair |
//! | `poly` | the engine itself | yes | yes | a question a pair |
//!
//! *Real* means feasible in the model `rf` of [`check::Model`]; `lockset` and `ucg` report all that is
//! feasible in the model `sync`.

mod batch;
mod clock;
pub mod cp;
pub mod hb;
mod held;
pub mod lockset;
mod needs;
pub mod poly;
mod reported;
mod supply;
pub mod syncp;
pub mod ucg;

pub use reported::reported;
use std::fmt;
use std::str::FromStr;

use trace::{Access, EventId, Op};

/// Two events that race, in the order of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RacePair {
    /// The one recorded first.
    pub first: EventId,
    /// The one recorded second.
    pub second: EventId,
}

/// A way to find races.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// No common lock held.
    Lockset,
    /// Not ordered by happens-before.
    Hb,
    /// Not ordered by causally-precedes.
    Cp,
    /// Sync-preserving races.
    Syncp,
    /// Not refuted by rule 1 and a cycle.
    Ucg,
    /// Decided by the engine.
    Poly,
}

impl Method {
    /// Every method, the weakest first.
    pub const ALL: &[Method] =
        &[Method::Lockset, Method::Hb, Method::Cp, Method::Syncp, Method::Ucg, Method::Poly];

    /// The name it is selected by.
    pub fn name(self) -> &'static str {
        match self {
            Method::Lockset => "lockset",
            Method::Hb => "hb",
            Method::Cp => "cp",
            Method::Syncp => "syncp",
            Method::Ucg => "ucg",
            Method::Poly => "poly",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name of no method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no method '{0}' to find races: it is one of {names}", names = names())]
pub struct UnknownMethod(String);

fn names() -> String {
    Method::ALL.iter().map(|method| method.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let known = Method::ALL.iter().find(|method| method.name() == name);
        known.copied().ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

/// How an access takes part in races. One bit says whether it writes, the other whether it is plain, so that
/// hot loops need not branch on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
enum AccessKind {
    AtomicRead = 0b00,
    AtomicWrite = 0b01,
    PlainRead = 0b10,
    PlainWrite = 0b11,
}

impl AccessKind {
    #[inline]
    fn of(op: Op) -> Option<AccessKind> {
        match op {
            Op::Read(_) => Some(AccessKind::PlainRead),
            Op::Write(_) => Some(AccessKind::PlainWrite),
            Op::AtomicRead(_) => Some(AccessKind::AtomicRead),
            Op::AtomicWrite(_) | Op::AtomicUpdate(_) => Some(AccessKind::AtomicWrite),
            _ => None,
        }
    }

    /// The kind that the two lowest bits are.
    #[inline]
    fn from_bits(bits: u32) -> AccessKind {
        match bits & 0b11 {
            0b00 => AccessKind::AtomicRead,
            0b01 => AccessKind::AtomicWrite,
            0b10 => AccessKind::PlainRead,
            _ => AccessKind::PlainWrite,
        }
    }

    #[inline]
    fn writes(self) -> bool {
        self as u8 & 0b01 != 0
    }

    /// Whether two accesses of one variable by different threads of these kinds conflict: one writes, one is plain.
    #[inline]
    fn conflicts(self, other: AccessKind) -> bool {
        self as u8 | other as u8 == 0b11
    }

    /// Whether it conflicts with everything the other conflicts with.
    #[inline]
    fn covers(self, other: AccessKind) -> bool {
        other as u8 & !(self as u8) == 0
    }
}

/// Whether two accesses conflict, given that they are of different threads.
pub fn conflict(a: Access, b: Access) -> bool {
    a.variable == b.variable && (a.writes || b.writes) && !(a.atomic && b.atomic)
}

/// The item at this index of a table that grows as it is used.
#[inline]
fn at<T: Default>(table: &mut Vec<T>, index: usize) -> &mut T {
    if index >= table.len() {
        table.resize_with(index + 1, T::default);
    }
    &mut table[index]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_known_by_their_names() {
        for &method in Method::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        let error = "hp".parse::<Method>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no method 'hp' to find races: it is one of lockset, hb, cp, syncp, ucg, poly"
        );
    }

    #[test]
    fn a_kind_that_covers_another_conflicts_with_as_much() {
        use AccessKind::*;
        let all = [AtomicRead, AtomicWrite, PlainRead, PlainWrite];
        for a in all {
            assert_eq!(AccessKind::from_bits(0b100 | a as u32), a);
            for b in all {
                let as_much = all.iter().all(|&c| a.conflicts(c) || !b.conflicts(c));
                assert_eq!(a.covers(b), as_much, "{a:?} {b:?}");
            }
        }
    }
}
