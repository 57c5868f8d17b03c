//! Sync-preserving races are those of a brute-force search through all schedules of their class, and real.

use std::collections::BTreeSet;

use candidates::races::RacePair;
use candidates::races::syncp::{Ideal, Syncp};
use check::{Model, Question};
use decide::{Index, Witness};
use trace::{EventId, Op, Trace};

use crate::graph::supplier;
use crate::{conflicting_pairs, later, on_tiny_traces, pair, read, shown};

/// The trace restricted to an ideal.
fn schedule(trace: &Trace, question: &Question, ideal: Ideal) -> Vec<EventId> {
    Witness::ideal(ideal.0).schedule(&Index::new(trace), question, Model::ReadsFrom)
}

#[test]
fn ideals_agree_with_brute_force_and_are_schedules() {
    let mut races = 0;
    on_tiny_traces(0..4_000, |seed, trace| {
        let index = Index::new(trace);
        let syncp = Syncp::new(&index);
        let reachable = Reachable::of(trace);
        let mut expected = BTreeSet::new();
        for pair in conflicting_pairs(trace) {
            let ideal = syncp.ideal(pair);
            let context = || format!("seed {seed}: {pair:?}\n{}", shown(trace));
            assert_eq!(ideal.is_some(), reachable.race(trace, pair), "{}", context());
            if let Some(ideal) = ideal {
                races += 1;
                expected.insert(pair);
                let question = Question::Race(pair.first, pair.second);
                let schedule = schedule(trace, &question, ideal);
                let checked = check::check_schedule(trace, &question, Model::ReadsFrom, &schedule);
                assert!(checked.is_ok(), "{checked:?} {}", context());
                assert!(oracle::decide(trace, &question, Model::ReadsFrom).is_some(), "{}", context());
            }
        }
        let found: Vec<RacePair> = syncp.races().map(|race| race.pair).collect();
        assert!(found.iter().all(|pair| expected.contains(pair)), "seed {seed}\n{}", shown(trace));
        assert_eq!(later(found), later(expected), "seed {seed}\n{}", shown(trace));
    });
    assert!(races > 1_000, "only {races} races to compare");
}

#[test]
fn ideals_by_memory_order_are_schedules_and_more() {
    let (mut races, mut by_order) = (0, 0);
    for seed in 0..4_000 {
        let trace = &generate::tiny_with_memory_orders(seed);
        let index = Index::new(trace);
        let (kept, syncp) = (Syncp::new(&index), Syncp::of_races(&index, Model::ReadsFrom));
        let mut expected = BTreeSet::new();
        for pair in conflicting_pairs(trace) {
            let Some(ideal) = syncp.ideal(pair) else {
                assert_eq!(kept.ideal(pair), None, "seed {seed}: {pair:?}\n{}", shown(trace));
                continue;
            };
            races += 1;
            by_order += usize::from(kept.ideal(pair).is_none());
            expected.insert(pair);
            let question = Question::Race(pair.first, pair.second);
            let cut = check::CutChecker::new(trace).check(&question, check::Model::ReadsFrom, &ideal.0, &[]);
            assert!(
                cut.is_ok_and(|certainty| certainty.guaranteed),
                "seed {seed}: {pair:?}\n{}",
                shown(trace)
            );
            let schedule = schedule(trace, &question, ideal);
            let checked = check::check_schedule(trace, &question, Model::ReadsFrom, &schedule);
            assert!(checked.is_ok(), "{checked:?} seed {seed}: {pair:?}\n{}", shown(trace));
        }
        let found: Vec<RacePair> = syncp.races().map(|race| race.pair).collect();
        assert_eq!(later(found), later(expected), "seed {seed}\n{}", shown(trace));
    }
    assert!(races > 1_000 && by_order > 100, "only {races} races, {by_order} by memory order");
}

/// All states that schedules of the class lead to: how many events of each thread happened.
struct Reachable {
    threads: Vec<Vec<EventId>>,
    cuts: BTreeSet<Vec<usize>>,
}

impl Reachable {
    fn of(trace: &Trace) -> Reachable {
        let mut threads = vec![Vec::new(); trace.symbols().threads.len()];
        for (event, thread, _) in trace.events() {
            threads[thread.index()].push(event);
        }
        let start = (vec![0; threads.len()], vec![None; trace.symbols().variables.len()]);
        let mut states = BTreeSet::from([start.clone()]);
        let mut open = vec![start];
        while let Some((cut, last_writes)) = open.pop() {
            for thread in 0..threads.len() {
                let Some(&event) = threads[thread].get(cut[thread]) else { continue };
                let happened = |e: EventId| {
                    let thread = trace.thread(e).index();
                    threads[thread].iter().position(|&x| x == e).is_some_and(|place| place < cut[thread])
                };
                if !can_happen(trace, event, &happened, &last_writes) {
                    continue;
                }
                let (mut cut, mut last_writes) = (cut.clone(), last_writes.clone());
                cut[thread] += 1;
                if let Some(variable) = trace.op(event).writes() {
                    last_writes[variable.index()] = Some(event);
                }
                if states.insert((cut.clone(), last_writes.clone())) {
                    open.push((cut, last_writes));
                }
            }
        }
        Reachable { threads, cuts: states.into_iter().map(|(cut, _)| cut).collect() }
    }

    fn race(&self, trace: &Trace, pair: RacePair) -> bool {
        let next = |cut: &[usize], event: EventId| {
            let thread = trace.thread(event).index();
            let forked = trace.fork_of(trace.thread(event)).is_none_or(|fork| {
                let forker = trace.thread(fork).index();
                self.threads[forker][..cut[forker]].contains(&fork)
            });
            forked && self.threads[thread].get(cut[thread]) == Some(&event)
        };
        self.cuts.iter().any(|cut| next(cut, pair.first) && next(cut, pair.second))
    }
}

/// Whether its thread's next event can happen: under `rf`, keeping the order of sections that exclude each other.
fn can_happen(
    trace: &Trace,
    event: EventId,
    happened: &impl Fn(EventId) -> bool,
    last_writes: &[Option<EventId>],
) -> bool {
    let thread = trace.thread(event);
    let op = trace.op(event);
    let waits_for: Vec<EventId> = match op {
        Op::Join(child) => trace.events().filter(|e| e.1 == child).map(|e| e.0).collect(),
        Op::Wait(_) => trace.link(event).event().into_iter().collect(),
        Op::BarrierExit(_) => {
            trace.matching().barrier_instances()[trace.barrier_instance(event).index()].enters.clone()
        }
        Op::Take(_) => supplier(trace, event).into_iter().collect(),
        _ => Vec::new(),
    };
    let locks = match op {
        Op::Acquire(_) | Op::AcquireShared(_) if !trace.is_nested(event) => {
            trace.events().all(|(other, user, other_op)| {
                let excludes = match (op, other_op) {
                    (Op::Acquire(x), Op::Acquire(y) | Op::AcquireShared(y)) => x == y,
                    (Op::AcquireShared(x), Op::Acquire(y)) => x == y,
                    _ => false,
                };
                let over = || trace.section_end(other).is_some_and(happened);
                let before = other < event;
                !excludes || user == thread || trace.is_nested(other) || !happened(other) || before && over()
            })
        }
        _ => true,
    };
    let seen = op.reads().is_none_or(|variable| last_writes[variable.index()] == trace.reads_from(event));
    trace.fork_of(thread).is_none_or(happened) && waits_for.into_iter().all(happened) && locks && seen
}

#[test]
fn a_race_that_happens_before_hides() {
    // As recorded T1's section comes first and orders the writes; nothing needs it to happen.
    let trace = read(
        "T1|w(x)
         T1|acq(l)
         T1|rel(l)
         T2|acq(l)
         T2|rel(l)
         T2|w(x)",
    );
    let races: Vec<_> = Syncp::new(&Index::new(&trace)).races().collect();
    assert_eq!(races.len(), 1);
    assert_eq!(races[0].pair, pair(0, 5));
    let question = Question::Race(EventId(0), EventId(5));
    assert_eq!(schedule(&trace, &question, races[0].ideal.clone()), [EventId(3), EventId(4)]);
}

#[test]
fn a_race_that_needs_sections_reversed_is_not_of_the_class() {
    let trace = read(
        "T1|acq(l)
         T1|w(x)
         T1|rel(l)
         T2|acq(l)
         T2|rel(l)
         T2|w(x)",
    );
    assert_eq!(Syncp::new(&Index::new(&trace)).ideal(pair(1, 5)), None);
}
