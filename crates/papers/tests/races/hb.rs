//! Happens-before with epochs is reachability in the graph of program order and synchronisation.

use candidates::races::RacePair;
use check::{Model, Question};
use papers::races::hb;

use crate::graph::Graph;
use crate::{conflicting_pairs, later, on_tiny_traces, pair, read, shown};

#[test]
fn epochs_agree_with_the_graph_and_the_first_race_is_real() {
    let mut races = 0;
    on_tiny_traces(0..6_000, |seed, trace| {
        let graph = Graph::happens_before(trace);
        let unordered = |pair: &RacePair| !graph.has(pair.first, pair.second);
        let expected: Vec<RacePair> = conflicting_pairs(trace).into_iter().filter(unordered).collect();
        let found: Vec<RacePair> = hb::races(trace).collect();
        assert_eq!(
            later(found.iter().copied()),
            later(expected.iter().copied()),
            "seed {seed}\n{}",
            shown(trace)
        );
        for pair in &found {
            assert!(expected.contains(pair), "seed {seed}: {pair:?}\n{}", shown(trace));
        }
        races += found.len();
        let first = found.first().map(|pair| pair.second);
        for pair in expected.iter().filter(|pair| Some(pair.second) == first) {
            let question = Question::Race(pair.first, pair.second);
            let schedule = oracle::decide(trace, &question, Model::ReadsFrom);
            assert!(schedule.is_some(), "seed {seed}: {pair:?} is not real\n{}", shown(trace));
        }
    });
    assert!(races > 1_000, "only {races} races to compare");
}

#[test]
fn epochs_agree_with_the_graph_whatever_the_memory_orders() {
    let (mut races, mut by_order) = (0, 0);
    for seed in 0..6_000 {
        let trace = &generate::tiny_with_memory_orders(seed);
        let graph = Graph::happens_before(trace);
        let unordered = |pair: &RacePair| !graph.has(pair.first, pair.second);
        let expected = later(conflicting_pairs(trace).into_iter().filter(unordered));
        assert_eq!(later(hb::races(trace)), expected, "seed {seed}\n{}", shown(trace));
        races += expected.len();
        by_order += expected.len() - later(hb::races(&trace.clone().without_memory_orders())).len();
    }
    assert!(races > 1_000 && by_order > 100, "only {races} races to compare, {by_order} by memory order");
}

#[test]
fn a_lock_orders_what_comes_before_its_release() {
    let trace = read(
        "T1|w(x)
         T1|w(y)
         T1|acq(l)
         T1|rel(l)
         T1|w(z)
         T2|acq(l)
         T2|rel(l)
         T2|w(y)
         T2|w(z)",
    );
    assert_eq!(hb::races(&trace).collect::<Vec<_>>(), [pair(4, 8)]);
}

#[test]
fn an_event_races_with_a_write_behind_another() {
    // T3 is ordered after T2's write, which raced with T1's.
    let trace = read(
        "T1|w(x)
         T2|w(x)
         T2|fork(T3)
         T3|r(x)",
    );
    assert_eq!(hb::races(&trace).collect::<Vec<_>>(), [pair(0, 1), pair(0, 3)]);
}

#[test]
fn more_signals_and_posts_than_are_told_apart_keep_all_orders() {
    let many = hb::MOST_WAITING + 10;
    let mut text = String::from("T1|w(x)\nT1|w(y)\n");
    for _ in 0..many {
        text.push_str("T1|signal(c)\nT1|post(s)\n");
    }
    text.push_str("T2|wait(c)\nT2|w(x)\nT3|take(s)\nT3|w(y)\nT4|w(y)");
    let trace = read(&text);
    let racy = later(hb::races(&trace));
    assert_eq!(racy.len(), 1, "only T4 is not ordered");
    assert_eq!(racy.first().map(|event| event.index()), Some(trace.len() - 1));
}
