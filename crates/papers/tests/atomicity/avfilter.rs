//! The filter is paper 5's algorithm, line by line.

use std::collections::BTreeSet;

use candidates::PatternLimits;
use candidates::atomicity::Triple;
use check::Model;
use decide::Index;
use papers::atomicity::{AvFilter, Method};
use trace::{EventId, Op, Trace};

use crate::run;
use crate::support::{on_traces, shown, tiny};
use crate::violations::{Events, feasible, triples};

/// Algorithm 1 of paper 5, line by line, event by event.
fn algorithm_1(trace: &Trace, triple: Triple) -> bool {
    let Triple { first: ai, between: aj, second: ak } = triple;
    let (one, two) = (trace.thread(ai), trace.thread(aj));
    let all = || (0..trace.len()).map(EventId::new);
    let variable = |e: EventId| trace.op(e).access().map(|access| access.variable);
    let is_read = |e: EventId| trace.op(e).reads().is_some();
    let is_write = |e: EventId| trace.op(e).writes().is_some();
    let tid = |e: EventId| trace.thread(e);
    let br = |e: EventId| {
        let branch = |e: EventId| matches!(trace.op(e), Op::Branch(_));
        let before = all().take(e.index()).rev().filter(|&other| tid(other) == tid(e));
        let mut counted = before.take_while(|&other| branch(other));
        !branch(e) && counted.any(|b| matches!(trace.op(b), Op::Branch(count) if count > 0))
    };
    let branches = |r: EventId| all().any(|e| e > r && e < ak && tid(e) == one && br(e));
    let last_write = |r: EventId| all().rfind(|&e| is_write(e) && variable(e) == variable(r) && e < r);
    if aj > ai {
        let prev = all().rfind(|&e| tid(e) == two && variable(e) == variable(aj) && e < aj);
        let to_prev = |r: EventId| r > ai && prev.is_some_and(|prev| r <= prev);
        for r in all().filter(|&r| (to_prev(r) || r > ak && r < aj) && is_read(r) && tid(r) == two) {
            let Some(w) = last_write(r) else { continue };
            if to_prev(r) && w > ai && tid(w) == one {
                return true;
            }
            if r > ak && r < aj && w > ak && tid(w) == one {
                return true;
            }
        }
        for r in all().filter(|&r| r >= ai && r < ak && is_read(r) && tid(r) == one) {
            let w = all().find(|&e| is_write(e) && variable(e) == variable(r) && e > r && tid(e) == two);
            if w.zip(prev).is_some_and(|(w, prev)| w <= prev) && branches(r) {
                return true;
            }
        }
    }
    if aj < ai {
        for r in all().filter(|&r| r > aj && r <= ai && is_read(r) && tid(r) == one) {
            if last_write(r).is_some_and(|w| w >= aj && tid(w) == two) {
                return true;
            }
        }
        let next = all().find(|&e| tid(e) == two && variable(e) == variable(aj) && e > aj);
        for r in all().filter(|&r| r > ai && r < ak && is_read(r) && tid(r) == one) {
            let of_two =
                |e: &EventId| is_write(*e) && variable(*e) == variable(r) && *e < r && tid(*e) == two;
            let w = all().rfind(of_two);
            if w.zip(next).is_some_and(|(w, next)| w > next) && branches(r) {
                return true;
            }
        }
    }
    false
}

fn events(triple: &Triple) -> Events {
    vec![Some(triple.first), Some(triple.between), Some(triple.second)]
}

/// Which triples the filter filters.
pub(crate) fn compare(seed: u64, trace: &Trace) -> Vec<bool> {
    let index = Index::new(trace);
    let filter = AvFilter::new(&index);
    let compared = triples(trace).into_iter().map(|triple| {
        let expected = algorithm_1(trace, triple);
        assert_eq!(filter.filters(triple), expected, "seed {seed} {triple:?}\n{}", shown(trace));
        expected
    });
    compared.collect()
}

#[test]
fn avfilter_is_its_algorithm_line_by_line() {
    let (mut filtered, mut kept) = (0, 0);
    on_traces(6_000, tiny, |seed, trace| {
        let filters = compare(seed, trace);
        filtered += filters.iter().filter(|&&filters| filters).count();
        kept += filters.iter().filter(|&&filters| !filters).count();
        if seed < 1_000 {
            let (reported, counts) = run(trace, Model::ReadsFrom, Method::AvFilter, PatternLimits::ALL);
            let over = feasible(trace, Model::Sync);
            let kept = triples(trace).into_iter().filter(|&triple| !algorithm_1(trace, triple));
            let expected: BTreeSet<Events> = kept.map(|t| events(&t)).filter(|e| over.contains(e)).collect();
            let found: BTreeSet<Events> = reported.events().into_iter().collect();
            assert_eq!(found, expected, "seed {seed}\n{}", shown(trace));
            assert_eq!(counts.tally.unknown, 0);
        }
    });
    assert!(filtered > 1_000 && kept > 1_000, "{filtered} filtered, {kept} kept");
}
