//! The parts of memory that threads share, divided so that each access covers whole cells.

use crate::accesses::{Block, RawRun};

/// A part of memory that every access covers whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Cell(pub(crate) u32);

/// The cells of a run that more than one thread accesses, one of them to write.
#[derive(Debug)]
pub(crate) struct Cells {
    /// Where ranges start or end.
    bounds: Vec<(Block, u64)>,
    /// The cell that starts at each bound, if threads share it.
    shared: Vec<Option<Cell>>,
    pub(crate) count: u32,
}

/// Accesses of cells that a run may have.
const MOST_PARTS: usize = 4_000_000;

#[derive(Clone, Copy, Default)]
struct Usage {
    thread: Option<u32>,
    by_several: bool,
    is_written: bool,
}

impl Cells {
    /// Divides what a run accesses; none if it is too much.
    pub(crate) fn of(run: &RawRun) -> Option<Cells> {
        let ranges =
            || run.steps.iter().flat_map(|step| step.accesses.iter().map(move |access| (step, access)));
        let mut bounds: Vec<(Block, u64)> = ranges()
            .flat_map(|(_, access)| [(access.block, access.start), (access.block, access.end)])
            .collect();
        bounds.sort_unstable();
        bounds.dedup();
        let mut usage = vec![Usage::default(); bounds.len()];
        let mut parts = 0;
        for (step, access) in ranges() {
            let start = bounds.partition_point(|&bound| bound < (access.block, access.start));
            for (usage, _) in usage[start..]
                .iter_mut()
                .zip(&bounds[start..])
                .take_while(|(_, bound)| bound.1 < access.end && bound.0 == access.block)
            {
                parts += 1;
                let thread = step.event.thread;
                usage.by_several |= usage.thread.is_some_and(|other| other != thread);
                usage.thread = Some(thread);
                usage.is_written |= access.effect.writes();
            }
            if parts > MOST_PARTS {
                return None;
            }
        }
        let mut count = 0;
        let shared = usage.iter().map(|usage| {
            (usage.by_several && usage.is_written).then(|| {
                count += 1;
                Cell(count - 1)
            })
        });
        let shared = shared.collect();
        Some(Cells { bounds, shared, count })
    }

    /// The shared cells of a range, and where each starts and ends.
    pub(crate) fn of_range(
        &self,
        block: Block,
        start: u64,
        end: u64,
    ) -> impl Iterator<Item = (Cell, u64, u64)> + '_ {
        let first = self.bounds.partition_point(|&bound| bound < (block, start));
        let bounds = self.bounds[first..].windows(2).zip(&self.shared[first..]);
        bounds
            .take_while(move |(bounds, _)| bounds[0].0 == block && bounds[0].1 < end)
            .filter_map(|(bounds, cell)| cell.map(|cell| (cell, bounds[0].1, bounds[1].1)))
    }
}
