//! Orders over the events of a trace, and what several analyses need to know about a trace.
//!
//! - [`Chains`]: a partial order over the chains of k threads, kept transitively closed as edges arrive;
//! - [`LockSets`] and [`HeldLocks`]: which locks each thread holds, as interned sets;
//! - [`Needs`]: the events that any schedule keeping reads-from executes before an event;
//! - [`AccessKind`]: how an access takes part in races.
//!
//! Each fast structure has a naive twin in the tests. The checker and the oracle use none of this.

mod access;
mod chains;
mod lock_sets;
mod needs;
mod supply;

pub use access::{AccessKind, contested_variables};
pub use chains::{Chains, Cycle, Node, Raised, Step};
pub use lock_sets::{HeldLocks, LockSetId, LockSets};
pub use needs::Needs;
pub use supply::Supply;

/// The entry at an index of a table that grows as it is used.
#[inline]
pub fn slot<T: Default>(table: &mut Vec<T>, index: usize) -> &mut T {
    if index >= table.len() {
        table.resize_with(index + 1, T::default);
    }
    &mut table[index]
}
