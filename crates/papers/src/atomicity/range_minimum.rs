//! The minimum of any range of a sequence of numbers, in logarithmic time.

use std::ops::Range;

/// A sequence of numbers.
#[derive(Debug)]
pub(super) struct RangeMinimum {
    /// A binary tree without pointers: the numbers are its second half, and each node before is the minimum of its two children.
    tree: Vec<u32>,
}

impl RangeMinimum {
    pub(super) fn of(numbers: &[u32]) -> Self {
        let mut tree = vec![u32::MAX; numbers.len()];
        tree.extend_from_slice(numbers);
        for node in (1..numbers.len()).rev() {
            tree[node] = tree[2 * node].min(tree[2 * node + 1]);
        }
        RangeMinimum { tree }
    }

    /// The minimum of a range; [`u32::MAX`] if it is empty.
    pub(super) fn within(&self, range: Range<usize>) -> u32 {
        let half = self.tree.len() / 2;
        let (mut from, mut to) = (range.start + half, range.end + half);
        let mut minimum = u32::MAX;
        while from < to {
            if from % 2 == 1 {
                minimum = minimum.min(self.tree[from]);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                minimum = minimum.min(self.tree[to]);
            }
            (from, to) = (from / 2, to / 2);
        }
        minimum
    }
}

#[cfg(test)]
mod tests {
    use super::RangeMinimum;

    #[test]
    fn every_range_has_the_minimum_of_its_numbers() {
        let mut state = 1u32;
        for length in 0..20 {
            let numbers: Vec<u32> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    state >> 24
                })
                .collect();
            let minimum = RangeMinimum::of(&numbers);
            for start in 0..=numbers.len() {
                for end in start..=numbers.len() {
                    let expected = numbers[start..end].iter().copied().min().unwrap_or(u32::MAX);
                    assert_eq!(minimum.within(start..end), expected, "{start}..{end} of {numbers:?}");
                }
            }
        }
    }
}
