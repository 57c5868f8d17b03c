//! Orders over the events of a trace, and the index of a trace that all analyses share.
//!
//! - [`Index`]: the events of each thread, the accesses of each variable, the sections of each lock and thread, the locks held
//!   after each event, and the orders that hold in every schedule ([`MustOrder`]);
//! - [`Chains`]: a partial order over the chains of k threads, kept transitively closed as edges arrive;
//! - [`Clocks`]: vector clocks that are sparse in threads and share what they have in common;
//! - [`LockSets`] and [`HeldLocks`]: sets of held locks, interned, also for traces that are only streamed;
//! - [`Synchronisation`]: what the memory orders of atomic operations put in order, and which reads put nothing in order;
//! - [`Needs`]: the events that any schedule keeping reads-from executes before an event.
//!
//! Each fast structure has a naive twin in the tests. The checker and the oracle use none of this.
//!
#![doc = include_str!("../README.md")]

mod access;
mod chains;
mod clocks;
mod groups;
mod index;
mod lock_sets;
mod must;
mod needs;
mod readers;
mod sections;
mod supply;
mod synchronisation;

pub use access::{AccessKind, contested_variables};
pub use chains::{ChainStep, Chains, Cycle, Mark, Node, Raised};
pub use clocks::{Clock, Clocks};
pub use groups::ByThread;
pub use index::Index;
pub use lock_sets::{HeldLocks, LockHold, LockSetId, LockSets};
pub use must::{MustOrder, ReadOrder};
pub use needs::{Needs, for_each_awaited};
pub use readers::Readers;
pub use sections::{LockUse, NONE, OpenSections, Section};
pub use supply::Supply;
pub use synchronisation::Synchronisation;

/// The entry at an index of a table that grows as it is used.
#[inline]
pub fn slot<T: Default>(table: &mut Vec<T>, index: usize) -> &mut T {
    if index >= table.len() {
        table.resize_with(index + 1, T::default);
    }
    &mut table[index]
}
