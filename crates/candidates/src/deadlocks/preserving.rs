//! Deadlocks that are reached with all sections in the order of the trace and every read seeing what it saw: Tunc, Mathur,
//! Pavlogiannis, Viswanathan, *Sound Dynamic Deadlock Prediction in Linear Time* (PLDI 2023).
//!
//! The least run-up to a set of blocked events grows with each of them along its thread. So if it passes one of them, it
//! passes it for all later ones of the others, and one walk along the groups of a cycle finds the first set that is not
//! passed, or that there is none. Cycles through anything but locks are left to the engine: whether a permit is left, say, is
//! not decided by the run-up.
//!
//! Promise: sound under every model; complete for its class within the steps. Cost: a run-up for each event of the groups.

use bounds::Bounds;
use trace::{EventId, ThreadEvents};

use super::blocked::Demand;
use super::instances::CycleEntry;
use crate::races::syncp::{Passed, Syncp};

/// Blocked events, and how many events of each thread come before.
pub(super) struct PreservingInstance {
    pub(super) events: Vec<EventId>,
    pub(super) ideal: Vec<u32>,
}

/// The first instance of a cycle of this kind. Takes a step for each run-up.
pub(super) fn first(
    syncp: &Syncp<'_>,
    threads: &ThreadEvents,
    bounds: Bounds,
    cycle: &[CycleEntry<'_>],
    steps: &mut u64,
) -> Option<PreservingInstance> {
    if !cycle.iter().all(|place| matches!(place.node.wanted, Demand::Lock(_))) {
        return None;
    }
    let mut events: Vec<EventId> =
        cycle.iter().map(|place| place.group.events.first().copied()).collect::<Option<_>>()?;
    let mut ideal = Vec::new();
    while *steps > 0 && !bounds.are_reached() {
        *steps -= 1;
        let Err(Passed { index, count }) = syncp.next_together(&events, &mut ideal) else {
            return Some(PreservingInstance { events, ideal });
        };
        let group = &cycle[index].group.events;
        let next = group.partition_point(|&event| (threads.place(event) as u32) < count);
        events[index] = *group.get(next)?;
    }
    None
}
