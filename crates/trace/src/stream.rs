//! Events as they are read, without a trace being made of them: for what needs one pass only, over traces of any length.
//!
//! Ids and names are those that the trace would have. What it takes a whole trace to know is missing: nothing is matched or checked
//! beyond what a line or a chunk shows by itself, and `begin` and `end` are as they were written.

use std::ops::ControlFlow;

use crate::ids::{EventId, LocationId, ThreadId};
use crate::memory_order::MemoryOrder;
use crate::names::Names;
use crate::op::Op;
use crate::trace::Columns;

/// Some events of a trace, in order.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    pub(crate) first: EventId,
    pub(crate) columns: &'a Columns,
    /// The names so far.
    pub names: NamesSoFar<'a>,
    /// The permits declared so far, by semaphore.
    pub declared_permits: &'a [Option<u32>],
}

/// The names of what events so far are about.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "each field is the table of the objects it is named for")]
pub struct NamesSoFar<'a> {
    pub threads: &'a Names,
    pub variables: &'a Names,
    pub locks: &'a Names,
    pub locations: &'a Names,
}

/// What is done with each batch; it may want no more.
pub type Take<'t> = dyn FnMut(&Batch<'_>) -> ControlFlow<()> + 't;

impl Batch<'_> {
    /// The memory order of an event of this batch.
    #[inline]
    pub fn memory_order(&self, event: EventId) -> MemoryOrder {
        self.columns.order(EventId(event.0 - self.first.0))
    }

    /// The events in order.
    #[inline]
    pub fn events(&self) -> impl ExactSizeIterator<Item = (EventId, ThreadId, Op, LocationId)> + '_ {
        let first = self.first.0;
        self.columns.iter().zip(self.columns.locations()).map(move |((event, thread, op), &location)| {
            (EventId(first + event.0), thread, op, LocationId(location))
        })
    }
}
