//! Schedules in which a thread uses a block of memory before it is allocated.
//!
//! A thread has the address of a block from the thread that allocated it, and the reads on that way keep a schedule from using the block too
//! early. If a schedule does so nevertheless, part of the way was not recorded: a library that is not instrumented keeps the address in
//! a container of its own, say. The program cannot follow such a schedule, so it shows no bug by itself. The exception is `realloc`, which
//! may leave a block where it was: its address is known from before.

use decide::{Index, Witness};
use rustc_hash::FxHashMap;
use trace::{BlockId, BlockNames, EventId, Op};

/// Where the blocks of a recording are allocated.
pub(super) struct Allocations {
    /// Of each variable, by its number.
    blocks: Vec<Option<BlockId>>,
    /// Of each block, in the order of the trace.
    by_block: FxHashMap<BlockId, Vec<EventId>>,
}

impl Allocations {
    /// Those of a recorded trace; what was written by hand is taken at its word.
    pub(super) fn of(index: &Index<'_>) -> Option<Allocations> {
        let trace = index.trace();
        trace.notes()?;
        let mut by_block: FxHashMap<BlockId, Vec<EventId>> = FxHashMap::default();
        for (event, _, op) in trace.events() {
            if let Op::Allocate(block) = op {
                by_block.entry(block).or_default().push(event);
            }
        }
        let names = BlockNames::of(trace.symbols());
        let blocks = trace.symbols().variables.iter().map(|name| names.block_of(name)).collect();
        Some(Allocations { blocks, by_block })
    }

    /// Whether one of these events uses a block that is not there yet.
    pub(super) fn are_missing(
        &self,
        index: &Index<'_>,
        events: &[Option<EventId>],
        witness: &Witness,
    ) -> bool {
        let trace = index.trace();
        let uses = events.iter().flatten().filter_map(|&event| Some((self.allocation(index, event)?, event)));
        // Who allocates a block uses it afterwards in every schedule.
        let uses = uses.filter(|&(allocation, event)| trace.thread(allocation) != trace.thread(event));
        let mut early = uses.filter(|&(allocation, event)| !comes_before(index, witness, allocation, event));
        early.any(|(allocation, _)| !is_reallocation(index, allocation))
    }

    /// The allocation of the block that an event accesses.
    fn allocation(&self, index: &Index<'_>, event: EventId) -> Option<EventId> {
        let variable = index.trace().op(event).access()?.variable;
        let all = self.by_block.get(&self.blocks[variable.index()]?)?;
        all[..all.partition_point(|&allocation| allocation < event)].last().copied()
    }
}

/// Whether an event that the trace has before another comes before it in a schedule, too.
fn comes_before(index: &Index<'_>, witness: &Witness, first: EventId, second: EventId) -> bool {
    let (cut, tail) = witness.cut_and_tail(index);
    let (thread, place) = (index.trace().thread(first), index.threads().place(first));
    if (place as u32) < cut[thread.index()] {
        return true;
    }
    let at = |event: EventId| tail.iter().position(|&other| other == event);
    at(first).is_some_and(|first| at(second).is_none_or(|second| first < second))
}

/// Whether a block is what `realloc` makes of another.
fn is_reallocation(index: &Index<'_>, allocation: EventId) -> bool {
    let trace = index.trace();
    let place = trace.symbols().location(trace.location(allocation));
    trace.metadata().reallocations.iter().any(|known| known == place)
}
