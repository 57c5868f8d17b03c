//! Walking on all cores shows what one core shows, in the same order, up to the same budget; counting finds as many.

use std::ops::ControlFlow;

use generate::{TraceSettings, Weights, generate};
use states::{Class, Exhausted, Loset, Natural, StateLimits, count, walk, walk_on_all_cores};
use trace::Trace;

type Walked = (Vec<Vec<u32>>, Result<ControlFlow<()>, Exhausted>);

/// Traces with more states than one stretch holds, and not so many that they cannot be stored here.
fn traces() -> Vec<(u64, Trace)> {
    let fits = |trace: &Trace| {
        let states = count(trace, &Loset::of(trace), Class::Consistent, StateLimits::default(), |_| {});
        let states: u64 = states.expect("no budget is set").to_string().parse().unwrap_or(u64::MAX);
        (100_000..1_000_000).contains(&states)
    };
    let made = (0..400).filter_map(|seed| {
        let mut settings = TraceSettings::tiny(seed);
        settings.weights = Weights { acquire: 8, acquire_shared: 3, ..settings.weights };
        (settings.threads, settings.locks, settings.events) = (4 + (seed % 3) as u32, 3, 50 + seed % 20);
        let trace = generate(&settings).expect("the settings are sound");
        fits(&trace).then_some((seed, trace))
    });
    made.take(6).collect()
}

fn one_by_one(trace: &Trace, loset: &Loset, class: Class, limits: StateLimits) -> Walked {
    let mut states = Vec::new();
    let end = walk(trace, loset, class, limits, |state| {
        states.push(state.to_vec());
        ControlFlow::Continue(())
    });
    (states, end)
}

fn on_all_cores(trace: &Trace, loset: &Loset, class: Class, limits: StateLimits) -> Walked {
    let (mut states, mut before) = (Vec::new(), (0, 0.0));
    let visit = |stretch: &mut Vec<Vec<u32>>, state: &[u32]| {
        stretch.push(state.to_vec());
        ControlFlow::Continue(())
    };
    let end = walk_on_all_cores(trace, loset, class, limits, visit, |mut stretch, at| {
        states.append(&mut stretch);
        assert!(before.0 <= at.looked && before.1 <= at.share && at.share < 1.000_001, "{before:?} {at:?}");
        before = (at.looked, at.share);
        ControlFlow::Continue(())
    });
    (states, end)
}

#[test]
fn as_on_one() {
    let traces = traces();
    assert!(traces.len() >= 4, "only {} traces are of the right size", traces.len());
    for (seed, trace) in traces {
        let loset = Loset::of(&trace);
        for class in Class::ALL {
            let limits = StateLimits::default();
            let walked = one_by_one(&trace, &loset, class, limits);
            assert!(walked.0.is_sorted_by(|a, b| a < b), "seed {seed}, {class:?}: lexical, each once");
            assert!(walked == on_all_cores(&trace, &loset, class, limits), "seed {seed}, {class:?}");
            let counted = count(&trace, &loset, class, limits, |_| {});
            assert_eq!(counted, Ok(Natural::from(walked.0.len() as u64)), "seed {seed}, {class:?}");
        }
    }
}

#[test]
fn a_budget_ends_it_at_the_same_state() {
    let (seed, trace) = traces().swap_remove(0);
    let loset = Loset::of(&trace);
    for states in [0, 1, 77_777] {
        let limits = StateLimits { states, ..StateLimits::default() };
        let walked = one_by_one(&trace, &loset, Class::Reachable, limits);
        assert_eq!(walked.1, Err(Exhausted::States(states)), "seed {seed}");
        assert!(walked == on_all_cores(&trace, &loset, Class::Reachable, limits), "seed {seed}, {states}");
    }
}
