//! Potential races: exactly the conflicting pairs without a common lock, and all feasible ones are among them.

use std::collections::{BTreeMap, BTreeSet};

use candidates::races::RacePair;
use check::Model;
use papers::races::lockset::{self, LocationPair};
use trace::{EventId, LockId, Op, Trace};

use crate::{conflicting_pairs, feasible_pairs, later, on_tiny_traces, pair, read, shown};

/// The locks a thread holds when an event happens, and whether alone.
fn held_at(trace: &Trace, event: EventId) -> BTreeMap<LockId, bool> {
    let mut depths: BTreeMap<(LockId, bool), i32> = BTreeMap::new();
    for (_, _, op) in trace.events().take(event.index()).filter(|&(_, t, _)| t == trace.thread(event)) {
        match op {
            Op::Acquire(lock) => *depths.entry((lock, true)).or_default() += 1,
            Op::Release(lock) => *depths.entry((lock, true)).or_default() -= 1,
            Op::AcquireShared(lock) => *depths.entry((lock, false)).or_default() += 1,
            Op::ReleaseShared(lock) => *depths.entry((lock, false)).or_default() -= 1,
            _ => {}
        }
    }
    // The exclusive form sorts last and so prevails.
    depths.into_iter().filter(|&(_, depth)| depth > 0).map(|(hold, _)| hold).collect()
}

fn expected(trace: &Trace) -> BTreeSet<RacePair> {
    let excluded = |pair: &RacePair| {
        let (a, b) = (held_at(trace, pair.first), held_at(trace, pair.second));
        a.iter().any(|(lock, alone)| b.get(lock).is_some_and(|also_alone| *alone || *also_alone))
    };
    conflicting_pairs(trace).into_iter().filter(|pair| !excluded(pair)).collect()
}

#[test]
fn pairs_and_events_are_those_without_a_common_lock() {
    on_tiny_traces(0..6_000, |seed, trace| {
        let expected = expected(trace);
        let pairs: Vec<RacePair> = lockset::pairs(trace).collect();
        let context = || format!("seed {seed}\n{}", shown(trace));
        assert_eq!(pairs.iter().copied().collect::<BTreeSet<_>>(), expected, "{}", context());
        assert_eq!(pairs.len(), expected.len(), "each pair comes once: {}", context());
        let races: Vec<RacePair> = lockset::races(trace).collect();
        assert!(races.iter().all(|pair| expected.contains(pair)), "{}", context());
        assert_eq!(later(races), later(expected.iter().copied()), "{}", context());
        let mut by_location: BTreeMap<LocationPair, Vec<RacePair>> = BTreeMap::new();
        for &pair in &expected {
            by_location.entry(LocationPair::of(trace, pair)).or_default().push(pair);
        }
        let found = lockset::location_pairs(trace);
        assert_eq!(found.len(), by_location.len(), "{}", context());
        for (locations, pairs) in by_location {
            let races = found[&locations];
            assert_eq!(races.count, pairs.len() as u64, "{}", context());
            let earliest = pairs.iter().min_by_key(|pair| (pair.second, pair.first));
            assert_eq!(Some(&races.earliest), earliest, "{}", context());
        }
    });
}

#[test]
fn whatever_is_feasible_is_a_potential_race() {
    on_tiny_traces(10_000..12_000, |seed, trace| {
        let found: BTreeSet<RacePair> = lockset::pairs(trace).collect();
        let feasible = feasible_pairs(trace, Model::Sync);
        assert!(feasible.is_subset(&found), "seed {seed}\n{}", shown(trace));
    });
}

#[test]
fn more_locks_than_a_mask_has_bits() {
    // l0 and l64 share a bit.
    let mut text = String::new();
    for lock in 0..=64 {
        text.push_str(&format!("T0|acq(l{lock})\nT0|rel(l{lock})\n"));
    }
    text.push_str("T1|acq(l0)\nT1|w(x)\nT1|rel(l0)\nT2|acq(l64)\nT2|w(x)\nT2|rel(l64)\nT3|acq(l64)\nT3|w(x)");
    let trace = read(&text);
    let found: Vec<RacePair> = lockset::pairs(&trace).collect();
    assert_eq!(found, [pair(131, 134), pair(131, 137)]);
    assert_eq!(later(lockset::races(&trace)).len(), 2);
}
