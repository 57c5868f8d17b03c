//! Classes, walks and counts, judged by the definitions and by the oracle on random tiny traces.

mod naive;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use check::Model;
use generate::{TraceSettings, Weights, generate};
use naive::Naive;
use states::{Class, Loset, Natural, Reach, StateLimits, count, walk};
use trace::Trace;

/// Seeds whose traces have no more states than this are tried.
const MOST_STATES: usize = 6_000;
const SEEDS: std::ops::Range<u64> = 0..3_000;

fn traces() -> impl Iterator<Item = (u64, Trace)> {
    SEEDS.filter_map(|seed| {
        let settings = if seed % 3 == 0 { about_locks(seed) } else { TraceSettings::tiny(seed) };
        let trace = generate(&settings).expect("the settings are sound");
        let lengths = Loset::of(&trace).lengths().to_vec();
        let states: usize = lengths.iter().map(|&length| length as usize + 1).product();
        (states <= MOST_STATES).then_some((seed, trace))
    })
}

/// More locking than the tiny mixture has, exclusive and shared, with signals to order it.
fn about_locks(seed: u64) -> TraceSettings {
    let mut settings = TraceSettings::tiny(seed);
    settings.weights = Weights { acquire: 8, acquire_shared: 3, signal: 3, wait: 3, ..settings.weights };
    (settings.threads, settings.locks, settings.events) = (3 + (seed % 2) as u32, 2, 14 + seed % 7);
    settings
}

fn walked(trace: &Trace, loset: &Loset, class: Class) -> Vec<Vec<u32>> {
    let mut states = Vec::new();
    let end = walk(trace, loset, class, StateLimits::default(), |state| {
        states.push(state.to_vec());
        ControlFlow::Continue(())
    });
    assert_eq!(end, Ok(ControlFlow::Continue(())));
    states
}

#[test]
fn classes_walks_and_counts_are_as_defined() {
    let (mut tried, mut unreachable, mut hard) = (0, 0, 0);
    for (seed, trace) in traces() {
        let loset = Loset::of(&trace);
        let naive = Naive::new(&trace);
        let reachable: BTreeSet<Vec<u32>> = oracle::reachable_cuts(&trace, Model::Sync);
        let mut reach =
            Reach::new(&trace, &loset, StateLimits { steps: 1_000_000, ..StateLimits::default() });
        let semaphores = !trace.symbols().semaphores.is_empty();
        let mut expected: [Vec<Vec<u32>>; 5] = Default::default();
        for state in naive.all_states() {
            let is_lock_free = naive.is_feasible(&state) && naive.holds_nothing(&state);
            let truth = [
                naive.is_consistent(&state),
                naive.is_feasible(&state),
                naive.is_strong(&state),
                reachable.contains(&state),
                // With semaphores the class is narrower than the definition, and still reachable.
                if semaphores { loset.is_lock_free(&state) } else { is_lock_free },
            ];
            assert!(
                truth.is_sorted_by(|wider, narrower| wider >= narrower),
                "seed {seed}, {state:?}: {truth:?}"
            );
            assert!(!truth[4] || is_lock_free, "seed {seed}, {state:?}");
            assert_eq!(loset.is_compatible(&state), naive.is_compatible(&state), "seed {seed}, {state:?}");
            for (index, class) in Class::ALL.into_iter().enumerate() {
                let is_in = reach.is_in(class, &state);
                assert_eq!(is_in, Ok(truth[index]), "seed {seed}, {class:?}, {state:?}");
                if truth[index] {
                    expected[index].push(state.clone());
                }
            }
            if loset.threads() == 2 && !semaphores {
                assert_eq!(truth[2], truth[3], "theorem 18, seed {seed}, {state:?}");
            }
            unreachable += usize::from(truth[1] && !truth[3]);
            hard += usize::from(truth[2] && !truth[3]);
        }
        for (class, expected) in Class::ALL.into_iter().zip(&expected) {
            assert_eq!(&walked(&trace, &loset, class), expected, "seed {seed}, {class:?}");
            let counted = count(&trace, &loset, class, StateLimits::default(), |_| {});
            assert_eq!(counted, Ok(Natural::from(expected.len() as u64)), "seed {seed}, {class:?}");
        }
        tried += 1;
    }
    assert!(tried > 2_000, "only {tried} traces were small enough");
    assert!(unreachable > 100, "only {unreachable} feasible states were unreachable");
    println!(
        "{tried} traces, {unreachable} feasible but unreachable states, {hard} of them strongly feasible"
    );
}
