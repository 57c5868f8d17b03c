//! Targets that wait to be looked at, and which comes next.
//!
//! Those of pairs of places that were seen or tried least often come first. Of one pair, every second target is the one that changes least of the run
//! that the search began with (the least depth in the tree), and the others are drawn at random: a failure that takes many changes has as good a chance as
//! any other, instead of being among the last.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::run::SitePair;

/// A target that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Waiting {
    pub(crate) depth: u32,
    pub(crate) node: usize,
    /// Which of the node's targets it is.
    pub(crate) target: u32,
}

impl Waiting {
    /// About how many bytes one takes while it waits.
    pub(crate) const MEMORY: usize = 2 * size_of::<Waiting>() + size_of::<u64>();

    /// A number that is as good as drawn: that of SplitMix64.
    fn lot(self) -> u64 {
        let number = (self.node as u64) << 24 ^ u64::from(self.target);
        let mixed = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}

/// The targets of all pairs.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pairs: FxHashMap<SitePair, OfPair>,
    /// Each pair that has targets, once: how often it was tried, and its first target, when that was last looked up.
    heads: BinaryHeap<Reverse<(u32, Waiting, SitePair)>>,
    length: usize,
}

impl Queue {
    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn push(&mut self, pair: SitePair, tried: u32, waiting: Waiting) {
        let of_pair = self.pairs.entry(pair).or_default();
        if of_pair.first().is_none() {
            self.heads.push(Reverse((tried, waiting, pair)));
        }
        of_pair.push(waiting);
        self.length += 1;
    }

    /// Takes the next one out. How often a pair was tried is never less than before.
    pub(crate) fn pop(&mut self, tried: impl Fn(SitePair) -> u32) -> Option<Waiting> {
        while let Some(Reverse((then, head, pair))) = self.heads.pop() {
            let of_pair = self.pairs.get_mut(&pair)?;
            let (now, first) = (tried(pair), of_pair.first()?);
            if (then, head) != (now, first) {
                self.heads.push(Reverse((now, first, pair)));
                continue;
            }
            let next = of_pair.take();
            if let Some(first) = of_pair.first() {
                self.heads.push(Reverse((now, first, pair)));
            }
            self.length -= 1;
            return next;
        }
        None
    }
}

/// The targets of one pair of places.
#[derive(Debug, Default)]
struct OfPair {
    by_depth: BinaryHeap<Reverse<Waiting>>,
    by_lot: BinaryHeap<Reverse<(u64, Waiting)>>,
    /// Those that were taken out of one of the heaps, and are still in the other.
    taken: FxHashSet<Waiting>,
    /// The next one is drawn.
    draws: bool,
}

impl OfPair {
    fn push(&mut self, waiting: Waiting) {
        self.by_depth.push(Reverse(waiting));
        self.by_lot.push(Reverse((waiting.lot(), waiting)));
    }

    /// The one that changes least.
    fn first(&mut self) -> Option<Waiting> {
        while let Some(&Reverse(first)) = self.by_depth.peek() {
            if !self.taken.remove(&first) {
                return Some(first);
            }
            self.by_depth.pop();
        }
        None
    }

    fn drawn(&mut self) -> Option<Waiting> {
        while let Some(Reverse((_, drawn))) = self.by_lot.pop() {
            if !self.taken.remove(&drawn) {
                return Some(drawn);
            }
        }
        None
    }

    /// Takes the next one out.
    fn take(&mut self) -> Option<Waiting> {
        let next = if self.draws {
            self.drawn()
        } else {
            self.first().and(self.by_depth.pop()).map(|Reverse(first)| first)
        };
        self.draws = !self.draws;
        self.taken.extend(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::SitePair;

    fn pair(place: u64) -> SitePair {
        SitePair { read: place, write: place }
    }

    #[test]
    fn each_comes_once_and_every_second_one_by_depth() {
        let mut queue = Queue::default();
        for node in 0..500 {
            queue.push(pair(1), 0, Waiting { depth: node as u32 / 10, node, target: 0 });
        }
        let mut taken = Vec::new();
        while let Some(waiting) = queue.pop(|_| 7) {
            taken.push(waiting.node);
            assert_eq!(queue.len(), 500 - taken.len());
        }
        let by_depth: Vec<usize> = taken.iter().copied().step_by(2).collect();
        assert!(by_depth.is_sorted(), "{by_depth:?}");
        let drawn = taken.iter().skip(1).step_by(2).take(40);
        assert!(drawn.filter(|&&node| node > 250).count() > 10, "{taken:?}");
        taken.sort_unstable();
        assert_eq!(taken, Vec::from_iter(0..500));
    }

    #[test]
    fn the_pair_that_was_tried_least_comes_first() {
        let mut queue = Queue::default();
        for (target, place) in [1, 1, 2, 2, 2].into_iter().zip(0..) {
            queue.push(pair(place), 0, Waiting { depth: 0, node: 0, target });
        }
        for place in [1, 2] {
            (0..3).for_each(|target| {
                queue.push(pair(place), 0, Waiting { depth: 1, node: place as usize, target })
            });
        }
        let mut tried = FxHashMap::default();
        let mut order = Vec::new();
        while let Some(waiting) = queue.pop(|pair| tried.get(&pair).copied().unwrap_or(0)) {
            order.push(waiting.node);
            *tried.entry(pair(waiting.node as u64)).or_insert(0) += 1;
        }
        assert_eq!(order.len(), 11);
        assert_eq!(order.iter().filter(|&&node| node == 0).count(), 5);
    }
}
