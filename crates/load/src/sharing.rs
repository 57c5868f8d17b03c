//! The first pass: which memory is worth recording, and how it divides into variables.
//!
//! Kept is what more than one thread touched and somebody wrote; a free counts as a write by the thread that
//! frees. Of memory that one thread allocates and others use, the first use is kept as well: it must come after the allocation. A
//! variable is the smallest region that is always accessed alike: no access covers a part of it only
//! (paper 3, section 3). Time is linear in the accesses and the bytes they cover; memory is two bytes for each
//! byte of the pages the program touched, and what is kept.

use rustc_hash::FxHashMap;

use wire::{Event, Op, Plain, PlainAccess};

use super::blocks::{BlockNumber, Blocks, Placed};
use super::pages::{PAGE, Pages};

/// A variable of a block, or of no block: where it starts (from the start of its block) and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) retention: Retention,
}

/// Which accesses to a variable are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retention {
    All,
    /// Nobody but its user has to do with it, apart from who allocated it.
    First,
    /// The first was kept.
    NoMore,
}

/// The variables there are, by block. Regions are ascending and do not overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared {
    regions: FxHashMap<BlockNumber, Vec<Region>>,
}

impl Shared {
    /// The variables of a block; those of no block have addresses for their starts.
    pub(super) fn of(&self, block: BlockNumber) -> &[Region] {
        self.regions.get(&block).map_or(&[], Vec::as_slice)
    }

    /// Whether threads share something of a block.
    pub(super) fn is_shared(&self, block: BlockNumber) -> bool {
        self.of(block).iter().any(|region| region.retention == Retention::All)
    }
}

/// What is known of a byte. The lower bits are its owner: the only thread that touched it, plus 1.
type Cell = u16;
const OWNER: Cell = 0xfff;
/// More than one thread touched it.
const MANY: Cell = 1 << 12;
const WRITTEN: Cell = 1 << 13;
/// Some access started at this byte, or ended just before it.
const BOUNDARY: Cell = 1 << 14;

/// Of a block longer than this, a free touches only what was touched before.
const LARGE: u64 = 1 << 14;

/// Threads beyond the numbers a cell can hold are taken for several at once: what they touch is kept.
fn owner_of(thread: u32) -> Cell {
    match Cell::try_from(thread + 1) {
        Ok(owner) if owner < OWNER => owner,
        _ => OWNER | MANY,
    }
}

/// What is known of a byte after an access.
#[inline(always)]
fn touched(cell: Cell, owner: Cell, written: Cell) -> Cell {
    let before = cell & OWNER;
    let many = if before == 0 || before == owner & OWNER { owner & MANY } else { MANY };
    let owner = if before == 0 { owner & OWNER } else { 0 };
    cell | owner | many | written
}

/// What the first pass knows so far.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    cells: Pages<Cell>,
    /// What was known of bytes of no block before a block took their place.
    before: Pages<Cell>,
    blocks: Blocks,
    /// Who allocated each block that is there.
    allocators: FxHashMap<BlockNumber, u32>,
    shared: Shared,
    seen: RecentAccesses,
}

/// Accesses that were taken in since memory was last cleared: the same again changes nothing, and a thread that spins makes it again and
/// again. One is kept for each remainder of an address.
#[derive(Debug)]
struct RecentAccesses {
    accesses: Box<[RecentAccess; RecentAccesses::SLOTS]>,
    /// How often memory was cleared; at least once.
    clearings: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RecentAccess {
    thread: u32,
    written: bool,
    address: u64,
    length: u64,
    clearings: u64,
}

impl Default for RecentAccesses {
    fn default() -> RecentAccesses {
        RecentAccesses { accesses: Box::new([RecentAccess::default(); RecentAccesses::SLOTS]), clearings: 1 }
    }
}

impl RecentAccesses {
    const SLOTS: usize = 512;

    /// Whether this access is among them; it is then.
    #[inline]
    fn contains(&mut self, thread: u32, address: u64, length: u64, written: Cell) -> bool {
        let slot = &mut self.accesses[(address >> 2 ^ u64::from(thread)) as usize % RecentAccesses::SLOTS];
        let written = written != 0;
        let access = RecentAccess { thread, written, address, length, clearings: self.clearings };
        std::mem::replace(slot, access) == access
    }

    fn clear(&mut self) {
        self.clearings += 1;
    }
}

impl Sharing {
    /// Takes an event in.
    #[inline]
    pub(super) fn see(&mut self, event: &Event<'_>) {
        match event.op {
            Op::Read { address, size } | Op::AtomicRead { address, size } => {
                self.access(event.thread, address, u64::from(size), 0);
            }
            Op::Write { address, size }
            | Op::ReadWrite { address, size }
            | Op::AtomicWrite { address, size }
            | Op::AtomicUpdate { address, size } => {
                self.access(event.thread, address, u64::from(size), WRITTEN);
            }
            Op::ReadRange { address, length } => self.access(event.thread, address, length, 0),
            Op::WriteRange { address, length } => self.access(event.thread, address, length, WRITTEN),
            Op::Allocate { address, size } => {
                let block = self.block(address, size);
                self.allocators.insert(block, event.thread);
            }
            Op::Begin { stack_low, stack_high, .. } if stack_low < stack_high => {
                self.block(stack_low, stack_high - stack_low);
            }
            Op::Free { address } => self.free(event.thread, address),
            _ => {}
        }
    }

    /// Takes a plain access in.
    #[inline]
    pub(super) fn see_access(&mut self, access: &PlainAccess) {
        let PlainAccess { thread, address, .. } = *access;
        let written = if access.plain == Plain::Read { 0 } else { WRITTEN };
        let is_done = match access.size {
            // The byte behind the access is one of those that change.
            1 => self.few::<1, 2>(thread, address, written),
            2 => self.few::<2, 3>(thread, address, written),
            4 => self.few::<4, 5>(thread, address, written),
            8 => self.few::<8, 9>(thread, address, written),
            _ => false,
        };
        if !is_done {
            self.access(thread, address, access.size.into(), written);
        }
    }

    /// What [`Sharing::access`] does, for a few bytes and the one behind them; nothing if they lie in two pages.
    #[inline(always)]
    fn few<const LENGTH: usize, const WITH_NEXT: usize>(
        &mut self,
        thread: u32,
        address: u64,
        written: Cell,
    ) -> bool {
        let Some(cells) = self.cells.few_mut::<WITH_NEXT>(address) else { return false };
        let owner = owner_of(thread);
        for cell in &mut cells[..LENGTH] {
            *cell = touched(*cell, owner, written);
        }
        cells[0] |= BOUNDARY;
        cells[LENGTH] |= BOUNDARY;
        true
    }

    #[inline]
    fn access(&mut self, thread: u32, address: u64, length: u64, written: Cell) {
        let length = length.min(super::LONGEST_ACCESS).min(u64::MAX - address);
        if self.seen.contains(thread, address, length, written) {
            return;
        }
        let owner = owner_of(thread);
        self.cells.update(address, length, |cell| touched(cell, owner, written));
        self.cells.update(address, 1, |cell| cell | BOUNDARY);
        self.cells.update(address + length, 1, |cell| cell | BOUNDARY);
    }

    /// What a free touches: all that was touched of the block. Of one that is not large, the rest as well: a thread that touches it
    /// now comes too late.
    fn free(&mut self, thread: u32, address: u64) {
        let Some(placed) = self.blocks.at(address).filter(|placed| placed.start == address) else { return };
        let owner = owner_of(thread);
        if placed.length <= LARGE {
            let freed = |cell| if cell & OWNER == 0 { cell | owner | WRITTEN } else { cell };
            self.cells.update(placed.start, placed.length, freed);
        }
        let mut starts = Vec::new();
        self.cells.look(placed.start, placed.length, |at, cells| starts.push((at, cells.len() as u64)));
        for (at, length) in starts {
            self.cells.update(at, length, |cell| match cell & OWNER {
                0 => cell,
                other if other == owner => cell | WRITTEN,
                _ => cell | WRITTEN | MANY,
            });
        }
    }

    /// A block comes to be: what was known of its bytes is of others.
    fn block(&mut self, start: u64, length: u64) -> BlockNumber {
        self.seen.clear();
        let (placed, gone) = self.blocks.add(start, length);
        for block in gone {
            self.close(block);
        }
        let before = &mut self.before;
        self.cells.look(placed.start, placed.length, |at, cells| {
            if cells.cells.iter().any(|&cell| cell != 0) {
                before.merge(at, cells, merged);
            }
        });
        self.cells.clear(placed.start, placed.length);
        placed.number
    }

    /// Notes the variables of a block that is no more.
    fn close(&mut self, block: Placed) {
        let mut regions = regions(&mut self.cells, block.start, block.length, block.start);
        if let Some(allocator) = self.allocators.remove(&block.number)
            && regions.is_empty()
        {
            regions.extend(used_by_another(&mut self.cells, block, allocator));
        }
        if !regions.is_empty() {
            self.shared.regions.insert(block.number, regions);
        }
        self.cells.clear(block.start, block.length);
    }

    /// The variables there are, at the end of the run.
    pub(super) fn finish(mut self) -> Shared {
        for block in self.blocks.iter().collect::<Vec<_>>() {
            self.close(block);
        }
        for start in self.cells.starts() {
            let before = &mut self.before;
            self.cells.look(start, PAGE as u64, |at, cells| {
                before.merge(at, cells, merged);
            });
        }
        let mut all = Vec::new();
        let mut pages = self.before.starts().into_iter().peekable();
        // Pages that touch each other are looked at as one range: a variable may lie across.
        while let Some(start) = pages.next() {
            let mut length = PAGE as u64;
            while pages.next_if_eq(&start.wrapping_add(length)).is_some() {
                length += PAGE as u64;
            }
            all.extend(regions(&mut self.before, start, length, 0));
        }
        self.shared.regions.insert(BlockNumber::NONE, all);
        self.shared
    }
}

/// What is known of a byte with what is known of it from another time.
fn merged(known: Cell, more: Cell) -> Cell {
    let owners = (known & OWNER, more & OWNER);
    let many = if owners.0 == 0 || owners.1 == 0 || owners.0 == owners.1 { 0 } else { MANY };
    known | more | many
}

/// What another thread uses first, by its address, of a block that threads do not share.
fn used_by_another(cells: &mut Pages<Cell>, block: Placed, allocator: u32) -> Option<Region> {
    let own = owner_of(allocator) & OWNER;
    let mut found: Option<(u64, u64)> = None;
    let mut is_over = false;
    cells.look(block.start, block.length, |at, cells| {
        // Where cells are the same, what is true of the second is true of all after it.
        let looked_at = if cells.times > 1 { 2 } else { cells.len() };
        // The last cell may be that of the last address there is.
        for (cell, address) in cells.iter().take(looked_at).zip(at..=u64::MAX) {
            if is_over {
                return;
            }
            let is_used = cell & OWNER != 0 && (cell & OWNER != own || cell & MANY != 0);
            match &mut found {
                // Freeing touches bytes that nobody has used, but no access begins there.
                None if is_used && cell & BOUNDARY != 0 => found = Some((address, address.saturating_add(1))),
                None => {}
                Some((_, end)) if is_used && cell & BOUNDARY == 0 && *end == address => {
                    *end = end.saturating_add(1)
                }
                Some(_) => is_over = true,
            }
        }
        if let Some((_, end)) = &mut found
            && looked_at < cells.len()
            && *end == at.saturating_add(looked_at as u64)
        {
            *end = at.saturating_add(cells.len() as u64);
        }
    });
    found.map(|(start, end)| Region {
        start: start - block.start,
        length: end - start,
        retention: Retention::First,
    })
}

/// The variables in a range of memory, their starts counted from `origin`.
fn regions(cells: &mut Pages<Cell>, start: u64, length: u64, origin: u64) -> Vec<Region> {
    let mut found: Vec<Region> = Vec::new();
    // Where the region that goes on at this address started, and whether it is kept.
    let mut open: Option<(u64, bool)> = None;
    let mut close = |open: &mut Option<(u64, bool)>, end: u64| {
        if let Some((start, true)) = open.take() {
            found.push(Region { start: start - origin, length: end - start, retention: Retention::All });
        }
    };
    let mut next = start;
    cells.look(start, length, |at, cells| {
        if at != next {
            close(&mut open, next);
        }
        // Where cells are the same, nothing begins after the first, unless an access begins at each.
        let is_one = cells.times > 1 && cells.cells[0] & BOUNDARY == 0;
        for (offset, cell) in cells.iter().enumerate().take(if is_one { 1 } else { usize::MAX }) {
            // Addresses come from the log, which may be damaged: the last one is as far as they go.
            let address = at.saturating_add(offset as u64);
            let kept = cell & (MANY | WRITTEN) == MANY | WRITTEN;
            let same = cell & BOUNDARY == 0 && matches!(open, Some((_, before)) if before == kept);
            if !same {
                close(&mut open, address);
                open = Some((address, kept));
            }
        }
        next = at.saturating_add(cells.len() as u64);
    });
    close(&mut open, next);
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The naive twin: byte by byte.
    fn used_by_another_bytewise(
        cells: &mut Pages<Cell>,
        block: Placed,
        allocator: u32,
    ) -> Option<(u64, u64)> {
        let own = owner_of(allocator) & OWNER;
        let is_used = |cell: Cell| cell & OWNER != 0 && (cell & OWNER != own || cell & MANY != 0);
        let bytes: Vec<Cell> =
            (0..block.length).map(|at| cells.few::<1>(block.start + at).unwrap_or_default()[0]).collect();
        let start = bytes.iter().position(|&cell| is_used(cell) && cell & BOUNDARY != 0)?;
        let more = bytes[start + 1..].iter().take_while(|&&cell| is_used(cell) && cell & BOUNDARY == 0);
        Some((start as u64, 1 + more.count() as u64))
    }

    /// Where pages touch, or somewhere.
    fn border() -> impl Strategy<Value = u64> {
        prop_oneof![3 => (0..6u64).prop_map(|page| page * PAGE as u64), 1 => 0..6 * PAGE as u64]
    }

    proptest! {
        #[test]
        fn what_another_thread_uses_is_found_as_by_the_naive_twin(
            ranges in prop::collection::vec((border(), border(), 0..16u16), 0..6),
            length in 1..6 * PAGE as u64,
        ) {
            let mut cells = Pages::default();
            // The thread that allocates it, another one, or both; and where an access begins.
            let kinds = [owner_of(0), owner_of(1), owner_of(0) | MANY, owner_of(1) | WRITTEN];
            for (start, end, kind) in ranges {
                let (start, length) = (start.min(end), start.abs_diff(end));
                let boundary = if kind & 4 == 0 { 0 } else { BOUNDARY };
                cells.update(start, length, |_| kinds[usize::from(kind & 3)] | boundary);
                if kind & 8 != 0 {
                    cells.update(start, 1, |cell| cell | BOUNDARY);
                }
            }
            let block = Placed { number: BlockNumber(1), start: 0, length };
            let found = used_by_another(&mut cells, block, 0).map(|region| (region.start, region.length));
            // Pages that nobody has touched end a region, as a byte that nobody has touched does.
            prop_assert_eq!(found, used_by_another_bytewise(&mut cells, block, 0));
        }
    }
}
