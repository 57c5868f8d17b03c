//! Data races: pairs of accesses of one variable by different threads, one a write, not both atomic,
//! that could happen at the same time.
//!
//! [`poly`] is the search: it finds all pairs that are feasible under a model, and no other. [`syncp`] is the part of it
//! that settles most pairs without the engine, and a method of its own. [`lifetimes`] finds races with the allocation and the freeing of memory. The methods of other papers are in the crate `papers`.

mod batch;
pub mod lifetimes;
pub mod poly;
pub mod syncp;

use trace::{Access, EventId};

/// Two events that race, in the order of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RacePair {
    /// The one recorded first.
    pub first: EventId,
    /// The one recorded second.
    pub second: EventId,
}

/// Whether two accesses conflict, given that they are of different threads.
pub fn conflict(a: Access, b: Access) -> bool {
    a.variable == b.variable && (a.writes || b.writes) && !(a.atomic && b.atomic)
}
