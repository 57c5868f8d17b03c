//! What each policy promises, beyond what holds for all.

use super::scripts::Op;
use super::simulation::{Outcome, Simulation};
use crate::schedule::Chooser;
use wire::Policy;

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

/// Whoever waits longest comes next when a slice of time is over.
#[test]
fn the_os_policy_starves_nobody() {
    let events = workers(Policy::Os, 0, 0);
    let last_first = (0..3).map(|thread| events.iter().position(|&worker| worker == thread)).max();
    assert!(last_first.flatten().is_some_and(|at| at < 2990), "{last_first:?}");
}
