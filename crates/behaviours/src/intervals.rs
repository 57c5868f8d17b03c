//! A map from ranges of addresses to values.

use std::collections::BTreeMap;

/// Ranges that do not overlap, each with a value.
#[derive(Clone, Debug)]
pub(crate) struct IntervalMap<T> {
    /// By their starts: where they end, and their values.
    ranges: BTreeMap<u64, (u64, T)>,
}

impl<T> Default for IntervalMap<T> {
    fn default() -> Self {
        IntervalMap { ranges: BTreeMap::new() }
    }
}

impl<T: Copy> IntervalMap<T> {
    /// From here on this range has this value.
    pub(crate) fn set(&mut self, start: u64, end: u64, value: T) {
        if start >= end {
            return;
        }
        if let Some((&before, &(before_end, before_value))) = self.ranges.range(..start).next_back()
            && before_end > start
        {
            self.ranges.insert(before, (start, before_value));
            if before_end > end {
                self.ranges.insert(end, (before_end, before_value));
            }
        }
        let inside: Vec<u64> = self.ranges.range(start..end).map(|(&at, _)| at).collect();
        for at in inside {
            let Some((old_end, old)) = self.ranges.remove(&at) else { continue };
            if old_end > end {
                self.ranges.insert(end, (old_end, old));
            }
        }
        self.ranges.insert(start, (end, value));
    }

    /// The range split by value; none where nothing was set.
    pub(crate) fn parts(&self, start: u64, end: u64) -> Vec<(u64, u64, Option<T>)> {
        let mut parts = Vec::new();
        let mut at = start;
        let first = self.ranges.range(..=start).next_back().map_or(start, |(&first, _)| first);
        for (&range, &(range_end, value)) in self.ranges.range(first..end) {
            if range_end <= at {
                continue;
            }
            if range > at {
                parts.push((at, range, None));
                at = range;
            }
            let until = range_end.min(end);
            parts.push((at, until, Some(value)));
            at = until;
        }
        if at < end {
            parts.push((at, end, None));
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against an array of bytes.
    #[test]
    fn ranges_are_as_bytes_would_be() {
        let mut seed = 7u64;
        let mut roll = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for _ in 0..300 {
            let (mut map, mut bytes) = (IntervalMap::default(), [None; 40]);
            for value in 0..12 {
                let start = roll(40);
                let end = (start + roll(12)).min(40);
                map.set(start, end, value);
                bytes[start as usize..end as usize].fill(Some(value));
                let (from, to) = (roll(20), 20 + roll(20));
                let mut read = Vec::new();
                for (start, end, value) in map.parts(from, to) {
                    assert!(start < end);
                    read.extend((start..end).map(|_| value));
                }
                assert_eq!(read, bytes[from as usize..to as usize]);
            }
        }
    }
}
