//! What each policy promises, beyond what holds for all.

use super::scripts::Op;
use super::simulation::{Outcome, Simulation};
use crate::schedule::Chooser;
use wire::{NewThreads, Policy};

/// Three threads that do nothing but work, switched after every event or so; who worked when.
fn workers(policy: Policy, seed: u64, quantum: u64) -> Vec<usize> {
    let scripts =
        vec![vec![Op::Spawn(1), Op::Spawn(2), Op::Work(1000)], vec![Op::Work(1000)], vec![Op::Work(1000)]];
    let mut simulation = Simulation::new(scripts, Chooser::new(policy, seed, quantum), |_| ());
    assert_eq!(simulation.run(), Outcome::AllDone);
    simulation.events
}

/// While all three work, each gets about a third of the turns.
#[test]
fn random_is_fair() {
    for seed in 0..20 {
        let events = workers(Policy::Random, seed, 1);
        let together = &events[10..1500];
        for thread in 0..3 {
            let share = together.iter().filter(|&&worker| worker == thread).count();
            assert!((350..650).contains(&share), "seed {seed}: thread {thread} has {share} of 1490 events");
        }
    }
}

/// Round robin goes around: nobody waits for more than a round.
#[test]
fn round_robin_goes_around() {
    let events = workers(Policy::RoundRobin, 0, 4);
    for window in events[20..2000].windows(4 * 3) {
        for thread in 0..3 {
            assert!(window.contains(&thread), "thread {thread} is passed over: {window:?}");
        }
    }
}

/// Priorities decide, and change seldom: long stretches of one thread.
#[test]
fn pct_runs_the_highest_priority() {
    let events = workers(Policy::Pct, 1, 0);
    let switches = events.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(switches < 60, "{switches} switches of 3000 events");
}

/// A thread that yields a few times before it does something else may do so before anyone else runs, but nobody yields for ever.
#[test]
fn pct_lets_threads_yield_in_vain_for_a_while() {
    let yields = |count: usize| [vec![Op::Yield; count], vec![Op::Work(1)]].concat();
    let first_to_work = |yields: Vec<Op>, seed| {
        let scripts = vec![vec![Op::Spawn(1), Op::Work(1)], yields];
        let mut simulation = Simulation::new(scripts, Chooser::new(Policy::Pct, seed, 1000), |_| ());
        assert_eq!(simulation.run(), Outcome::AllDone);
        simulation.events[1]
    };
    let short: usize = (0..200).map(|seed| first_to_work(yields(8), seed)).sum();
    assert!((70..130).contains(&short), "the yielding thread works first in {short} of 200 runs");
    let long: usize = (0..200).map(|seed| first_to_work(yields(100), seed)).sum();
    assert_eq!(long, 0, "it yields to the other in the end");
}

/// A turn ends where the recording does; from there on turns are long.
#[test]
fn nobody_is_interrupted_often_once_nothing_is_recorded() {
    let scripts = vec![vec![Op::Spawn(1), Op::Work(5000)], vec![Op::Work(5000)]];
    let mut simulation = Simulation::new(scripts, Chooser::new(Policy::Random, 3, 40), |_| ());
    simulation.schedule.max_events = 200;
    assert_eq!(simulation.run(), Outcome::AllDone);
    assert!(simulation.turns.iter().any(|&(thread, _)| thread == 1), "both have turns");
    let switches = |events: &[usize]| events.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(switches(&simulation.events[..200]) > 1);
    assert!(switches(&simulation.events[210..]) <= 2, "{}", switches(&simulation.events[210..]));
}

/// The thread that waits longest comes next when a slice of time is over.
#[test]
fn the_os_policy_starves_nobody() {
    let events = workers(Policy::Os, 0, 0);
    let last_first = (0..3).map(|thread| events.iter().position(|&worker| worker == thread)).max();
    assert!(last_first.flatten().is_some_and(|at| at < 2990), "{last_first:?}");
}

/// Who works first after a thread has created another: 0 its creator, 1 the new thread.
fn first_after_spawn(chooser: Chooser) -> usize {
    let scripts = vec![vec![Op::Work(3), Op::Spawn(1), Op::Work(20)], vec![Op::Work(20)]];
    let mut simulation = Simulation::new(scripts, chooser, |_| ());
    assert_eq!(simulation.run(), Outcome::AllDone);
    simulation.events[4]
}

/// Over many seeds a new thread comes first about as often as its creator.
#[test]
fn new_threads_come_first_half_of_the_time() {
    for policy in [Policy::Random, Policy::Pct] {
        let firsts: usize = (0..200).map(|seed| first_after_spawn(Chooser::new(policy, seed, 0))).sum();
        assert!(
            (70..130).contains(&firsts),
            "{policy:?}: the new thread comes first in {firsts} of 200 runs"
        );
    }
}

/// Whatever the policy, it can be fixed who comes first.
#[test]
fn new_threads_come_first_or_last_as_asked() {
    for policy in Policy::ALL {
        for seed in 0..20 {
            let first =
                |new_threads| first_after_spawn(Chooser::new(policy, seed, 0).with_new_threads(new_threads));
            assert_eq!(first(NewThreads::First), 1, "{policy:?} {seed}");
            assert_eq!(first(NewThreads::Last), 0, "{policy:?} {seed}");
        }
    }
}
