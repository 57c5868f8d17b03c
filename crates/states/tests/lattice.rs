//! Theorem 7: the lock-free feasible states of a trace form a distributive lattice; and the walks of the paper's
//! baselines, which store what they visit, agree with ours, which stores nothing.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use generate::{TraceSettings, generate};
use proptest::prelude::*;
use states::{Baseline, Class, Loset, StateLimits, walk, walk_stored};
use trace::Trace;

type State = Vec<u32>;

fn tiny(seed: u64) -> Trace {
    generate(&TraceSettings::tiny(seed)).expect("tiny settings are sound")
}

fn meet(a: &[u32], b: &[u32]) -> State {
    a.iter().zip(b).map(|(&a, &b)| a.min(b)).collect()
}

fn join(a: &[u32], b: &[u32]) -> State {
    a.iter().zip(b).map(|(&a, &b)| a.max(b)).collect()
}

fn below(a: &[u32], b: &[u32]) -> bool {
    a.iter().zip(b).all(|(a, b)| a <= b)
}

/// The state that lies at these shares of each thread.
fn somewhere(loset: &Loset, shares: &[f64]) -> State {
    let at = |(&length, share): (&u32, f64)| (f64::from(length) * share).round() as u32;
    loset.lengths().iter().zip(shares.iter().copied().cycle()).map(at).collect()
}

fn all(trace: &Trace, loset: &Loset, class: Class) -> BTreeSet<State> {
    let mut states = BTreeSet::new();
    let end = walk(trace, loset, class, StateLimits::default(), |state| {
        states.insert(state.to_vec());
        ControlFlow::Continue(())
    });
    assert_eq!(end, Ok(ControlFlow::Continue(())));
    states
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn meets_and_joins_of_lock_free_states_are_lock_free(
        seed in 0u64..1_000_000,
        shares in prop::collection::vec(0.0..=1.0, 10),
    ) {
        let trace = tiny(seed);
        let loset = Loset::of(&trace);
        let [a, b, c] = [0, 3, 6].map(|start| loset.greatest_lock_free(&somewhere(&loset, &shares[start..start + 4])));
        for state in [&a, &b, &c, &meet(&a, &b), &join(&a, &b)] {
            prop_assert!(loset.is_lock_free(state), "{:?}", state);
        }
        prop_assert_eq!(meet(&a, &join(&b, &c)), join(&meet(&a, &b), &meet(&a, &c)));
        prop_assert_eq!(join(&a, &meet(&a, &b)), a);
    }

    #[test]
    fn greatest_and_least_are(seed in 0u64..1_000_000, shares in prop::collection::vec(0.0..=1.0, 5)) {
        let trace = tiny(seed);
        let loset = Loset::of(&trace);
        let state = somewhere(&loset, &shares);
        let free = all(&trace, &loset, Class::LockFree);
        let greatest = loset.greatest_lock_free(&state);
        prop_assert!(free.contains(&greatest) && below(&greatest, &state));
        prop_assert!(free.iter().filter(|free| below(free, &state)).all(|free| below(free, &greatest)));
        let least = free.iter().filter(|free| below(&state, free)).cloned().reduce(|a, b| meet(&a, &b));
        prop_assert_eq!(loset.least_lock_free(&state), least);
    }

    #[test]
    fn join_irreducibles_are_those_with_one_lower_cover(seed in 0u64..1_000_000) {
        let trace = tiny(seed);
        let loset = Loset::of(&trace);
        let free = all(&trace, &loset, Class::LockFree);
        let zero = vec![0; loset.threads()];
        let joined = |of: &State| {
            let lower = free.iter().filter(|lower| *lower != of && below(lower, of));
            lower.fold(zero.clone(), |all, lower| join(&all, lower))
        };
        let expected: Vec<State> = free.iter().filter(|state| joined(state) != **state).cloned().collect();
        prop_assert_eq!(loset.join_irreducibles(), expected);
    }

    #[test]
    fn baselines_agree(seed in 0u64..1_000_000) {
        let trace = tiny(seed);
        let loset = Loset::of(&trace);
        let ours = all(&trace, &loset, Class::Reachable);
        prop_assert_eq!(&stored(&loset, Baseline::BreadthFirst), &ours, "breadth first");
        prop_assert_eq!(&stored(&loset, Baseline::DepthFirst), &ours, "depth first");
    }
}

/// What a baseline of the paper walks.
fn stored(loset: &Loset, baseline: Baseline) -> BTreeSet<State> {
    let mut states = BTreeSet::new();
    let end = walk_stored(loset, baseline, |state| {
        assert!(states.insert(state.to_vec()), "{state:?} is shown twice");
        ControlFlow::Continue(())
    });
    assert_eq!(end, ControlFlow::Continue(()));
    states
}
