//! Causally-precedes is the least relation of its definition, and what it reports hints at something real.

use std::collections::BTreeSet;

use candidates::races::RacePair;
use check::{Model, Question};
use order::Index;
use papers::races::cp::Cp;
use papers::races::hb;
use trace::{EventId, Op, Trace};

use crate::graph::Graph;
use crate::{conflicting_pairs, feasible_pairs, later, on_tiny_traces, pair, read, shown};

/// The definition, applied until nothing changes.
fn causally_precedes(trace: &Trace) -> Vec<Vec<bool>> {
    let hb = Graph::happens_before(trace);
    let all = || (0..trace.len()).map(EventId::new);
    let must = Graph::must(trace);
    let fixed = |a: EventId, b: EventId| trace.thread(a) != trace.thread(b) && must.has(a, b);
    let mut cp: Vec<Vec<bool>> = all().map(|a| all().map(|b| fixed(a, b)).collect()).collect();
    let sections: Vec<(EventId, Vec<EventId>)> = all()
        .filter(|&a| matches!(trace.op(a), Op::Acquire(_) | Op::AcquireShared(_)) && !trace.is_nested(a))
        .map(|a| {
            let own = all().filter(|&e| trace.thread(e) == trace.thread(a) && e >= a);
            let end = trace.section_end(a);
            (a, own.filter(|&e| end.is_none_or(|end| e <= end)).collect())
        })
        .collect();
    loop {
        let known = cp.clone();
        for (a, first) in &sections {
            for (b, second) in &sections {
                let Some(release) = trace.section_end(*a) else { continue };
                let excludes = match (trace.op(*a), trace.op(*b)) {
                    (Op::AcquireShared(_), Op::AcquireShared(_)) => false,
                    (x, y) => x.target() == y.target(),
                };
                if a >= b || !excludes || trace.thread(*a) == trace.thread(*b) {
                    continue;
                }
                let conflict = |x: EventId, y: EventId| match (trace.op(x).access(), trace.op(y).access()) {
                    (Some(x), Some(y)) => x.variable == y.variable && (x.writes || y.writes),
                    _ => false,
                };
                let related =
                    |&x: &EventId| second.iter().any(|&y| conflict(x, y) || cp[x.index()][y.index()]);
                if first.iter().any(related) {
                    cp[release.index()][b.index()] = true;
                }
            }
        }
        for x in all() {
            for y in all().filter(|&y| cp[x.index()][y.index()]).collect::<Vec<_>>() {
                for before in all().filter(|&before| hb.has(before, x)) {
                    for after in all().filter(|&after| hb.has(y, after)) {
                        cp[before.index()][after.index()] = true;
                    }
                }
            }
        }
        if cp == known {
            return cp;
        }
    }
}

#[test]
fn the_relation_is_that_of_its_definition() {
    let (mut races, mut more) = (0, 0);
    on_tiny_traces(0..4_000, |seed, trace| {
        let (cp, must) = (causally_precedes(trace), Graph::must(trace));
        let unordered = |p: &RacePair| !cp[p.first.index()][p.second.index()] && !must.has(p.first, p.second);
        let expected: BTreeSet<RacePair> = conflicting_pairs(trace).into_iter().filter(unordered).collect();
        let index = Index::new(trace);
        let method = Cp::new(&index).expect("a tiny trace fits");
        let found: Vec<RacePair> = method.pairs().collect();
        assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), expected, "seed {seed}\n{}", shown(trace));
        assert_eq!(found.len(), expected.len(), "each pair comes once: seed {seed}");
        assert_eq!(later(method.races()), later(expected), "seed {seed}\n{}", shown(trace));
        let by_hb = later(hb::races(trace));
        assert!(by_hb.is_subset(&later(method.races())), "seed {seed}\n{}", shown(trace));
        races += found.len();
        more += later(method.races()).len() - by_hb.len();
    });
    assert!(races > 1_000 && more > 10, "only {races} races to compare, {more} more than hb finds");
}

#[test]
fn the_first_race_is_real_or_a_deadlock_is() {
    let (mut with_races, mut false_pairs) = (0, 0);
    on_tiny_traces(100_000..106_000, |seed, trace| {
        let index = Index::new(trace);
        let cp = Cp::new(&index).expect("a tiny trace fits");
        let Some(first) = cp.races().next() else { return };
        with_races += 1;
        let feasible = feasible_pairs(trace, Model::ReadsFrom);
        let is_false = |pair: &RacePair| !feasible.contains(pair);
        false_pairs += cp.pairs().filter(is_false).count();
        if cp.pairs().filter(|pair| pair.second == first.second).any(|pair| is_false(&pair)) {
            let deadlocks: Vec<Question> = oracle::all_questions(trace)
                .into_iter()
                .filter(|question| matches!(question, Question::Deadlock(_)))
                .collect();
            let real = oracle::answer_all(trace, Model::ReadsFrom, &deadlocks).contains(&true);
            assert!(real, "seed {seed}: nothing real\n{}", shown(trace));
        }
    });
    assert!(with_races > 300, "only {with_races} traces to judge by");
    assert!(false_pairs > 0, "later pairs need not be real: the promise could be stronger");
}

#[test]
fn sections_that_conflict_stay_in_order() {
    let trace = read(
        "T1|w(y)
         T1|acq(l)
         T1|w(x)
         T1|rel(l)
         T2|acq(l)
         T2|r(x)
         T2|rel(l)
         T2|w(y)",
    );
    let index = Index::new(&trace);
    let cp = Cp::new(&index).expect("a tiny trace fits");
    assert_eq!(cp.pairs().collect::<Vec<_>>(), []);
}

#[test]
fn sections_that_do_not_conflict_order_nothing() {
    let trace = read(
        "T1|w(y)
         T1|acq(l)
         T1|w(x)
         T1|rel(l)
         T2|acq(l)
         T2|r(z)
         T2|rel(l)
         T2|w(y)",
    );
    let index = Index::new(&trace);
    let cp = Cp::new(&index).expect("a tiny trace fits");
    assert_eq!(cp.pairs().collect::<Vec<_>>(), [pair(0, 7)]);
}

#[test]
fn a_fork_within_a_section_keeps_the_childs_section_behind() {
    let trace = read(
        "T1|acq(l)
         T1|fork(T2)
         T1|w(x)
         T1|rel(l)
         T2|acq(l)
         T2|rel(l)
         T2|r(x)",
    );
    let index = Index::new(&trace);
    let cp = Cp::new(&index).expect("a tiny trace fits");
    assert_eq!(cp.pairs().collect::<Vec<_>>(), []);
}
