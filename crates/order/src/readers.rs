//! Which reads saw each write.

use trace::{EventId, Trace};

use crate::NONE;

/// The reads that saw each write, as lists linked through the events.
#[derive(Debug)]
pub struct Readers {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Readers {
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut readers = Readers { first: vec![NONE; trace.len()], next: vec![NONE; trace.len()] };
        for event in (0..trace.len()).rev().map(EventId::new) {
            if trace.op(event).reads().is_some()
                && let Some(write) = trace.reads_from(event)
            {
                readers.next[event.index()] = std::mem::replace(&mut readers.first[write.index()], event.0);
            }
        }
        readers
    }

    /// The reads that saw a write, in the order of the trace.
    #[inline]
    pub fn of_write(&self, write: EventId) -> impl Iterator<Item = EventId> + '_ {
        let event = |id: u32| (id != NONE).then_some(EventId(id));
        std::iter::successors(event(self.first[write.index()]), move |read| event(self.next[read.index()]))
    }
}
