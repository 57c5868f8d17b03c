//! Per-thread views: the events of each thread in order, and each event's place among them.

use crate::ids::{EventId, ThreadId};
use crate::trace::Trace;

/// The events of each thread. 8 bytes an event, computed in linear time when asked for.
#[derive(Clone, Debug)]
pub struct ThreadEvents {
    /// Where each thread's events start in `events`; one more at the end.
    starts: Vec<u32>,
    /// Events grouped by thread, each group in order.
    events: Vec<EventId>,
    /// Each event's 0-based place among its thread's events.
    places: Vec<u32>,
}

impl ThreadEvents {
    /// Groups the events of a trace by thread.
    pub fn of(trace: &Trace) -> Self {
        let mut counts = vec![0u32; trace.symbols().threads.len()];
        let mut places = Vec::with_capacity(trace.len());
        for (_, thread, _) in trace.events() {
            let count = &mut counts[thread.index()];
            places.push(*count);
            *count += 1;
        }
        let mut starts = Vec::with_capacity(counts.len() + 1);
        let mut total = 0;
        starts.push(0);
        for count in counts {
            total += count;
            starts.push(total);
        }
        let mut events = vec![EventId(0); trace.len()];
        for (event, thread, _) in trace.events() {
            events[(starts[thread.index()] + places[event.index()]) as usize] = event;
        }
        ThreadEvents { starts, events, places }
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.starts.len() - 1
    }

    /// The events of a thread in order.
    #[inline]
    pub fn of_thread(&self, thread: ThreadId) -> &[EventId] {
        let (start, end) = (self.starts[thread.index()], self.starts[thread.index() + 1]);
        &self.events[start as usize..end as usize]
    }

    /// An event's 0-based place among its thread's events.
    #[inline]
    pub fn place(&self, event: EventId) -> usize {
        self.places[event.index()] as usize
    }
}
