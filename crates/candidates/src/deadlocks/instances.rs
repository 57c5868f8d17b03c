//! The events that make up a cycle: one of each group, and no two are ordered in every schedule.
//!
//! What must come before an event grows along its thread, so for an event chosen in one thread, those of another
//! that can be next at the same time are a band, found by binary search.

use std::ops::Range;

use decide::Index;
use order::MustOrder;
use trace::{EventId, ThreadId};

use super::blocked::{Blocked, Group, Node};
use super::cycles::Visit;
use crate::nearest::outward;

/// One place of a cycle: a node and a group of its events.
#[derive(Clone, Copy)]
pub(super) struct CycleEntry<'b> {
    pub(super) node: &'b Node,
    pub(super) group: &'b Group,
}

/// Shows the instances of a cycle.
pub(super) struct Instances<'a> {
    pub(super) index: &'a Index<'a>,
    pub(super) must: &'a MustOrder,
    pub(super) blocked: &'a Blocked,
    pub(super) cycle: &'a [CycleEntry<'a>],
    /// How many events to try at most in each place after the first, the nearest to it first.
    pub(super) width: usize,
    /// Events that may still be tried.
    pub(super) steps: &'a mut u64,
}

impl Instances<'_> {
    /// Shows each instance to `visit` until it stops, or there are no steps left.
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&[EventId]) -> Visit) -> Visit {
        let mut chosen = Vec::with_capacity(self.cycle.len());
        for &first in &self.cycle[0].group.events {
            if *self.steps == 0 || self.index.bounds().are_reached() {
                return Visit::Stop;
            }
            *self.steps -= 1;
            chosen.clear();
            chosen.push(first);
            if self.extend(&mut chosen, visit) == Visit::Stop {
                return Visit::Stop;
            }
        }
        Visit::Continue
    }

    fn extend(&mut self, chosen: &mut Vec<EventId>, visit: &mut dyn FnMut(&[EventId]) -> Visit) -> Visit {
        if chosen.len() == self.cycle.len() {
            return if self.closes(chosen) { visit(chosen) } else { Visit::Continue };
        }
        let cycle = self.cycle;
        let events = &cycle[chosen.len()].group.events;
        let band = self.band(chosen);
        for index in outward(events, band, chosen[0]).take(self.width) {
            if *self.steps == 0 || self.index.bounds().are_reached() {
                return Visit::Stop;
            }
            *self.steps -= 1;
            chosen.push(events[index]);
            let go = self.extend(chosen, visit);
            chosen.pop();
            if go == Visit::Stop {
                return Visit::Stop;
            }
        }
        Visit::Continue
    }

    /// The events of the next place that can be next together with those chosen, and that the last one chosen waits
    /// for.
    fn band(&self, chosen: &[EventId]) -> Range<usize> {
        let next = self.cycle[chosen.len()];
        let events = &next.group.events;
        let threads = self.index.threads();
        let mut band = 0..events.len();
        for (&event, place) in chosen.iter().zip(self.cycle) {
            let least = self.must.run_up(self.index, event, next.node.thread);
            let own = threads.place(event) as u32;
            let together = |&other: &EventId| self.must.run_up(self.index, other, place.node.thread) <= own;
            band.start = band.start.max(events.partition_point(|&e| (threads.place(e) as u32) < least));
            band.end = band.end.min(events.partition_point(together));
        }
        let last = chosen[chosen.len() - 1];
        let supplied = self.supplied_at(last, next.node.thread);
        band.end = band.end.min(events.partition_point(|&e| (threads.place(e) as u32) < supplied));
        band.start..band.end.max(band.start)
    }

    fn supplied_at(&self, event: EventId, by: ThreadId) -> u32 {
        self.blocked.supplied_at(self.index.trace(), self.index.threads(), event, by).unwrap_or(0)
    }

    fn closes(&self, chosen: &[EventId]) -> bool {
        let supplied = self.supplied_at(chosen[chosen.len() - 1], self.cycle[0].node.thread);
        (self.index.threads().place(chosen[0]) as u32) < supplied
    }
}
