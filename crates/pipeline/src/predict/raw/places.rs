//! Racy events counted by the two places they race at.
//!
//! There are many racy events and many pairs of places, and what there is to say of a pair is its names: they are copied when the pair is
//! first seen, one after the other into one text, since the names of a streamed trace do not stay.

use rustc_hash::FxHashMap;
use serde::Serialize;
use trace::LocationId;

use super::RacySink;

/// Racy events at one place that race with something at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Racy<'a> {
    /// What they access.
    pub object: &'a str,
    /// Of the earlier access, and of the racy one.
    pub locations: [&'a str; 2],
    /// How many racy events.
    pub count: u64,
    /// The first of them.
    pub event: u32,
}

/// All pairs of places, in the order of their first racy events.
#[derive(Debug, Default)]
pub struct Places {
    /// Where in the list a pair is.
    indices: FxHashMap<Pair, u32>,
    pairs: Vec<Counted>,
    /// The object, the earlier place and the later one of each pair, without anything between.
    names: String,
}

/// Two places as one number, which is hashed in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pair(u64);

impl Pair {
    fn of([earlier, later]: [LocationId; 2]) -> Pair {
        Pair(u64::from(earlier.0) << 32 | u64::from(later.0))
    }
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    count: u64,
    event: u32,
    /// Where its names end.
    ends: [usize; 3],
}

impl Places {
    /// Counts a racy event at these places; `racy` says what it is if none was there before.
    #[inline]
    fn count<'a>(&mut self, places: [LocationId; 2], racy: impl FnOnce() -> Racy<'a>) {
        let index = *self.indices.entry(Pair::of(places)).or_insert_with(|| {
            let Racy { object, locations: [earlier, later], event, .. } = racy();
            let mut end = |name: &str| {
                self.names.push_str(name);
                self.names.len()
            };
            let ends = [end(object), end(earlier), end(later)];
            self.pairs.push(Counted { count: 0, event, ends });
            self.pairs.len() as u32 - 1
        });
        self.pairs[index as usize].count += 1;
    }

    /// Every pair, the one that was seen first before the others.
    pub fn in_order(&self) -> impl Iterator<Item = Racy<'_>> {
        let mut start = 0;
        self.pairs.iter().map(move |&Counted { count, event, ends: [object, earlier, later] }| {
            let locations = [&self.names[object..earlier], &self.names[earlier..later]];
            let racy = Racy { object: &self.names[start..object], locations, count, event };
            start = later;
            racy
        })
    }
}

impl RacySink for Places {
    #[inline]
    fn take<'a>(&mut self, places: [LocationId; 2], racy: impl FnOnce() -> Racy<'a>) {
        self.count(places, racy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The naive twin: a list of all, and a count of those that are alike.
    #[test]
    fn pairs_are_counted_in_the_order_they_are_first_seen() {
        let names = ["a.c:1", "", "é", "a.c:12", "b"];
        let events: Vec<[u32; 2]> = (0..200u32).map(|n| [n * n % 5, n * 7 / 3 % 5]).collect();
        let racy = |event: usize, [earlier, later]: [u32; 2]| Racy {
            object: names[(earlier + later) as usize % 5],
            locations: [names[earlier as usize], names[later as usize]],
            count: 1,
            event: event as u32,
        };
        let mut places = Places::default();
        let mut twin: Vec<Racy<'_>> = Vec::new();
        for (event, &pair) in events.iter().enumerate() {
            places.count(pair.map(LocationId), || racy(event, pair));
            match twin.iter_mut().find(|known| known.locations == racy(event, pair).locations) {
                Some(known) => known.count += 1,
                None => twin.push(racy(event, pair)),
            }
        }
        assert!(twin.len() > 5, "{}", twin.len());
        assert_eq!(places.in_order().collect::<Vec<_>>(), twin);
    }
}
