//! The second pass: from addresses to variables.

use wire::Op;

use super::blocks::{BlockNumber, Blocks, Placed};
use super::pages::Pages;
use super::sharing::{Region, Retention, Shared};

/// A variable as the second pass meets it: numbered in the order its block came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Slot(u32);

impl Slot {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What stands in the cells of memory that was freed, in place of a slot.
const FREED: u32 = u32::MAX;
/// Larger blocks are not marked when they are freed: they go back to the system.
const LARGEST_MARKED: u64 = 1 << 12;
/// The most bytes that are marked in a run: marks take memory.
const MOST_MARKED: u64 = 1 << 24;

/// The variables that an access touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touched {
    None,
    One(Slot),
    /// Memory of one thread that it has freed.
    Freed,
    /// Several, perhaps: they have to be looked for.
    Several,
}

/// Where a variable lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct VariableLocation {
    /// Its first address.
    pub(super) address: u64,
    pub(super) length: u64,
    pub(super) retention: Retention,
}

/// Which variable lies where, at some point of the run.
#[derive(Debug)]
pub(super) struct Variables {
    shared: Shared,
    blocks: Blocks,
    /// The slot of each byte, plus 1.
    cells: Pages<u32>,
    slots: Vec<VariableLocation>,
    /// The first slot of the variables of no block; they are in the order of their addresses.
    global: usize,
    /// Whether every block is kept, also one without variables.
    keeps_all_blocks: bool,
    /// How many bytes were marked as freed.
    marked: u64,
}

impl Variables {
    /// As it is before the first event.
    pub(super) fn new(shared: Shared) -> Variables {
        let (blocks, cells, slots) = (Blocks::default(), Pages::default(), Vec::new());
        let mut variables =
            Variables { shared, blocks, cells, slots, global: 0, keeps_all_blocks: false, marked: 0 };
        variables.open(BlockNumber::NONE, 0);
        variables.global = variables.slots.len();
        variables
    }

    /// No variables at all, but every block.
    pub(super) fn blocks_only() -> Variables {
        Variables { keeps_all_blocks: true, ..Variables::new(Shared::default()) }
    }

    /// Follows the blocks. Returns the block that came to be with this event, and those whose place it took.
    pub(super) fn follow(&mut self, op: &Op<'_>) -> Option<(Placed, Vec<Placed>)> {
        match *op {
            Op::Allocate { address, size } => Some(self.add(address, size)),
            Op::Begin { stack_low, stack_high, .. } if stack_low < stack_high => {
                Some(self.add(stack_low, stack_high - stack_low))
            }
            _ => None,
        }
    }

    fn add(&mut self, start: u64, length: u64) -> (Placed, Vec<Placed>) {
        let (placed, gone) = self.blocks.add(start, length);
        for block in &gone {
            if self.keeps_some_of(block.number) || block.length <= LARGEST_MARKED {
                self.cells.clear(block.start, block.length);
            }
            self.restore_globals(block.start, block.length);
        }
        self.cells.clear(placed.start, placed.length);
        self.open(placed.number, placed.start);
        (placed, gone)
    }

    /// A block is freed. If it is of one thread alone, its memory is marked: a use of it is seen, though it is no variable of the trace.
    pub(super) fn free(&mut self, address: u64) {
        let Some(block) = self.blocks.at(address).filter(|block| block.start == address) else { return };
        let is_marked = block.length <= LARGEST_MARKED && self.marked + block.length <= MOST_MARKED;
        if is_marked && !self.keeps_all_blocks && !self.shared.is_shared(block.number) {
            self.marked += block.length;
            self.cells.update(block.start, block.length, |_| FREED);
        }
    }

    /// No more of a variable is kept.
    pub(super) fn forget(&mut self, slot: Slot) {
        let known = &mut self.slots[slot.index()];
        known.retention = Retention::NoMore;
        self.cells.clear(known.address, known.length);
    }

    /// Forgets that a block was freed.
    pub(super) fn forget_free(&mut self, block: Placed) {
        self.cells.clear(block.start, block.length);
    }

    fn open(&mut self, block: BlockNumber, origin: u64) {
        for &Region { start, length, retention } in self.shared.of(block) {
            let address = origin + start;
            self.slots.push(VariableLocation { address, length, retention });
            let slot = self.slots.len() as u32;
            self.cells.update(address, length, |_| slot);
        }
    }

    /// Where a block was are the variables of no block again.
    fn restore_globals(&mut self, start: u64, length: u64) {
        let end = start + length;
        let first = self.slots[..self.global].partition_point(|slot| slot.address + slot.length <= start);
        for index in first..self.global {
            let VariableLocation { address, length, .. } = self.slots[index];
            if address >= end {
                break;
            }
            let (from, to) = (address.max(start), (address + length).min(end));
            self.cells.update(from, to - from, |_| index as u32 + 1);
        }
    }

    /// Whether a block is in the trace: it has a variable.
    pub(super) fn keeps_some_of(&self, block: BlockNumber) -> bool {
        self.keeps_all_blocks || !self.shared.of(block).is_empty()
    }

    /// Whether the next block that comes to be will be in the trace.
    pub(super) fn keeps_some_of_next(&self) -> bool {
        self.keeps_some_of(self.blocks.next())
    }

    /// The block an address lies in.
    pub(super) fn block_at(&self, address: u64) -> Option<Placed> {
        self.blocks.at(address)
    }

    /// Each variable an access touches, in the order of their addresses.
    #[inline]
    pub(super) fn touched(&mut self, address: u64, length: u64, mut each: impl FnMut(Slot)) {
        let length = length.min(super::LONGEST_ACCESS).min(u64::MAX - address);
        let mut last = 0;
        self.cells.look(address, length, |_, cells| {
            for &cell in cells.cells {
                if cell != last {
                    last = cell;
                    if cell != 0 && cell != FREED {
                        each(Slot(cell - 1));
                    }
                }
            }
        });
    }

    /// The variables that an access to a few bytes touches: mostly one.
    #[inline]
    pub(super) fn touched_by_few(&mut self, address: u64, length: u8) -> Touched {
        match length {
            1 => self.in_few::<1>(address),
            2 => self.in_few::<2>(address),
            4 => self.in_few::<4>(address),
            8 => self.in_few::<8>(address),
            _ => Touched::Several,
        }
    }

    #[inline(always)]
    fn in_few<const N: usize>(&mut self, address: u64) -> Touched {
        let Some(cells) = self.cells.few::<N>(address) else { return Touched::Several };
        // All of them, without a branch for each.
        let differences = cells.iter().fold(0, |differences, &cell| differences | cell ^ cells[0]);
        match (differences, cells[0]) {
            (0, 0) => Touched::None,
            (0, FREED) => Touched::Freed,
            (0, cell) => Touched::One(Slot(cell - 1)),
            _ => Touched::Several,
        }
    }

    /// Where a variable lies.
    pub(super) fn location_of(&self, slot: Slot) -> VariableLocation {
        self.slots[slot.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::sharing::Sharing;
    use super::*;
    use wire::Event;

    fn event(thread: u32, op: Op<'static>) -> Event<'static> {
        Event { thread, place: None, pc: 0, op }
    }

    /// What each access touches, as whole regions relative to their blocks.
    fn touched_by(run: &[(u32, Op<'static>)]) -> Vec<Vec<(u32, u64, u64)>> {
        let mut sharing = Sharing::default();
        run.iter().for_each(|&(thread, op)| sharing.see(&event(thread, op)));
        let mut variables = Variables::new(sharing.finish());
        let mut all = Vec::new();
        for (_, op) in run {
            variables.follow(op);
            let (address, length) = match *op {
                Op::Read { address, size } | Op::Write { address, size } => (address, u64::from(size)),
                Op::ReadRange { address, length } | Op::WriteRange { address, length } => (address, length),
                _ => continue,
            };
            let mut slots = Vec::new();
            variables.touched(address, length, |slot| slots.push(slot));
            match variables.touched_by_few(address, length.try_into().unwrap_or(u8::MAX)) {
                Touched::None | Touched::Freed => assert_eq!(slots, []),
                Touched::One(slot) => assert_eq!(slots, [slot]),
                Touched::Several => {}
            }
            all.push(
                slots
                    .into_iter()
                    .map(|slot| variables.location_of(slot))
                    .map(|at| {
                        (
                            variables.block_at(at.address).map_or(0, |block| block.number.0),
                            at.address,
                            at.length,
                        )
                    })
                    .collect(),
            );
        }
        all
    }

    fn read(address: u64, size: u8) -> Op<'static> {
        Op::Read { address, size }
    }

    fn write(address: u64, size: u8) -> Op<'static> {
        Op::Write { address, size }
    }

    #[test]
    fn only_shared_and_written_memory_is_kept() {
        let touched = touched_by(&[
            (0, write(100, 4)),
            (0, write(200, 4)),
            (1, read(200, 4)),
            (0, read(300, 4)),
            (1, read(300, 4)),
        ]);
        assert_eq!(touched, [vec![], vec![(0, 200, 4)], vec![(0, 200, 4)], vec![], vec![]]);
    }

    #[test]
    fn a_variable_is_always_accessed_alike() {
        // Two halves that are read apart, and as one; the byte behind belongs to nobody else.
        let touched =
            touched_by(&[(0, write(100, 8)), (1, read(100, 4)), (1, read(104, 4)), (1, read(108, 1))]);
        assert_eq!(touched[0], [(0, 100, 4), (0, 104, 4)]);
        assert_eq!(touched[1], [(0, 100, 4)]);
        assert_eq!(touched[3], []);
        // A range over both and over what only one thread touches.
        let touched = touched_by(&[
            (0, Op::WriteRange { address: 90, length: 40 }),
            (1, read(100, 4)),
            (1, read(108, 4)),
        ]);
        assert_eq!(touched[0], [(0, 100, 4), (0, 108, 4)]);
    }

    #[test]
    fn memory_that_is_used_again_is_another_variable() {
        let allocate = Op::Allocate { address: 1000, size: 16 };
        let touched = touched_by(&[
            (0, allocate),
            (0, write(1000, 8)),
            (1, read(1000, 8)),
            (1, Op::Free { address: 1000 }),
            (0, allocate),
            (0, write(1000, 4)),
            (1, read(1000, 4)),
        ]);
        assert_eq!(touched[1], [(1, 1000, 8)]);
        assert_eq!(touched[3], [(2, 1000, 4)]);
    }

    #[test]
    fn a_block_of_one_thread_that_another_frees_is_kept() {
        let allocate = Op::Allocate { address: 1000, size: 16 };
        let touched = touched_by(&[(0, allocate), (0, read(1008, 4)), (1, Op::Free { address: 1000 })]);
        assert_eq!(touched[0], [(1, 1008, 4)]);
        let touched = touched_by(&[(0, allocate), (0, read(1008, 4)), (0, Op::Free { address: 1000 })]);
        assert_eq!(touched[0], []);
    }

    #[test]
    fn what_one_thread_allocates_and_another_uses_is_kept_where_it_is_used_first() {
        let allocate = Op::Allocate { address: 1000, size: 16 };
        let run = [(0, allocate), (1, write(1004, 4)), (1, read(1008, 4)), (1, Op::Free { address: 1000 })];
        let touched = touched_by(&run);
        assert_eq!(touched, [vec![(1, 1004, 4)], vec![]]);
        let touched = touched_by(&[(1, allocate), (1, write(1004, 4))]);
        assert_eq!(touched, [vec![]], "it is of one thread alone");
        let mut sharing = Sharing::default();
        run.iter().for_each(|&(thread, op)| sharing.see(&event(thread, op)));
        let mut variables = Variables::new(sharing.finish());
        variables.follow(&allocate);
        let Touched::One(slot) = variables.touched_by_few(1004, 4) else { panic!("it is kept") };
        variables.forget(slot);
        assert_eq!(variables.touched_by_few(1004, 4), Touched::None);
        variables.free(1000);
        assert_eq!(variables.touched_by_few(1004, 4), Touched::Freed, "a use now comes too late");
    }

    #[test]
    fn memory_of_one_thread_is_marked_until_it_is_given_out_again() {
        let allocate = Op::Allocate { address: 1000, size: 16 };
        let run = [(0, allocate), (0, write(1000, 8)), (0, Op::Free { address: 1000 }), (0, allocate)];
        let mut sharing = Sharing::default();
        run.iter().for_each(|&(thread, op)| sharing.see(&event(thread, op)));
        let mut variables = Variables::new(sharing.finish());
        variables.follow(&allocate);
        assert_eq!(variables.touched_by_few(1000, 8), Touched::None);
        variables.free(1008);
        assert_eq!(variables.touched_by_few(1008, 8), Touched::None, "no block begins there");
        variables.free(1000);
        assert_eq!(variables.touched_by_few(1008, 8), Touched::Freed);
        assert_eq!(variables.touched_by_few(1016, 8), Touched::None);
        variables.follow(&allocate);
        assert_eq!(variables.touched_by_few(1008, 8), Touched::None);
    }

    #[test]
    fn what_a_block_covered_is_there_again_when_it_is_gone() {
        let touched = touched_by(&[
            (0, write(1000, 8)),
            (1, read(1000, 8)),
            (0, Op::Allocate { address: 992, size: 64 }),
            (0, write(1000, 8)),
            (0, Op::Allocate { address: 1040, size: 8 }),
            (0, read(1000, 8)),
        ]);
        assert_eq!(touched, [vec![(0, 1000, 8)], vec![(0, 1000, 8)], vec![], vec![(0, 1000, 8)]]);
    }

    #[test]
    fn threads_beyond_the_numbers_of_a_cell_are_taken_for_several() {
        let touched = touched_by(&[(5000, write(100, 4)), (4000, write(200, 4)), (4000, read(200, 4))]);
        assert_eq!(touched, [vec![(0, 100, 4)], vec![], vec![]]);
    }
}
