//! Which block of memory an address belongs to: blocks from the allocator, and the stacks of threads.
//!
//! A block lives from its allocation to the next that takes some of its bytes, so that an access after it was
//! freed is still an access to it. Both passes over a log see the same blocks with the same numbers.

use std::collections::BTreeMap;

/// A block: blocks are numbered from 1 in the order they came to be, 0 stands for all other memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BlockNumber(pub(super) u32);

impl BlockNumber {
    /// No block: globals, and memory of unknown origin.
    pub(super) const NONE: BlockNumber = BlockNumber(0);
}

/// A block and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) number: BlockNumber,
    pub(super) start: u64,
    pub(super) length: u64,
}

/// The blocks at some point of the run.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    by_start: BTreeMap<u64, Placed>,
    last: u32,
}

impl Blocks {
    /// A new block takes its place; those it takes the place of are returned.
    pub(super) fn add(&mut self, start: u64, length: u64) -> (Placed, Vec<Placed>) {
        let length = length.max(1).min(u64::MAX - start);
        let end = start + length;
        let mut gone = Vec::new();
        while let Some((&other, &placed)) = self.by_start.range(..end).next_back() {
            if placed.start + placed.length <= start {
                break;
            }
            self.by_start.remove(&other);
            gone.push(placed);
        }
        self.last += 1;
        let placed = Placed { number: BlockNumber(self.last), start, length };
        self.by_start.insert(start, placed);
        (placed, gone)
    }

    /// The number of the next block that comes to be.
    pub(super) fn next(&self) -> BlockNumber {
        BlockNumber(self.last + 1)
    }

    /// The block an address lies in.
    pub(super) fn at(&self, address: u64) -> Option<Placed> {
        let (_, &placed) = self.by_start.range(..=address).next_back()?;
        (address - placed.start < placed.length).then_some(placed)
    }

    /// All blocks that are there.
    pub(super) fn iter(&self) -> impl Iterator<Item = Placed> + '_ {
        self.by_start.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_block_takes_the_place_of_those_it_overlaps() {
        let mut blocks = Blocks::default();
        let (first, gone) = blocks.add(100, 50);
        assert!(gone.is_empty());
        let (second, _) = blocks.add(150, 10);
        let (third, _) = blocks.add(300, 0);
        assert_eq!(blocks.at(149), Some(first));
        assert_eq!(blocks.at(150), Some(second));
        assert_eq!(blocks.at(300), Some(third));
        assert_eq!(blocks.at(99), None);
        assert_eq!(blocks.at(301), None);
        let (_, gone) = blocks.add(120, 35);
        assert_eq!(gone, [second, first]);
        assert_eq!(blocks.at(110), None);
        assert_eq!(blocks.iter().count(), 2);
    }
}
