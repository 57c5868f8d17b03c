//! The search against all interleavings: for random small programs and for classic ones, it runs every behaviour, each once.

mod classics;
mod machine;
mod random;

use std::collections::BTreeSet;

use behaviours::{Doubt, Run, Search, SearchLimits};
use machine::{Behaviour, Instruction, Machine, Program};

/// What a search came to.
struct Found {
    behaviours: BTreeSet<Behaviour>,
    runs: usize,
    counted: u64,
    doubts: usize,
}

/// Lets the search run the program until no target is left.
fn search(program: &Program, seed: u64) -> Found {
    let mut search = Search::new(SearchLimits::default());
    let (mut behaviours, mut runs) = (BTreeSet::new(), 1);
    let mut machine = Machine::new(program);
    machine.finish(seed);
    behaviours.insert(machine.behaviour());
    search.learn(Run::of_events(machine.log().into_iter()).unwrap());
    while let Some(task) = search.next_task() {
        let mut machine = Machine::new(program);
        machine.follow(&task.route);
        machine.finish(seed + runs as u64);
        behaviours.insert(machine.behaviour());
        search.finish(&task, Some(Run::of_events(machine.log().into_iter()).unwrap()));
        runs += 1;
        assert!(runs < 100_000);
    }
    Found { behaviours, runs, counted: search.behaviours(), doubts: search.doubts().count() }
}

fn compare(program: &Program, seed: u64) -> usize {
    let all = machine::all_behaviours(program);
    let found = search(program, seed);
    if found.doubts > 0 {
        assert!(found.behaviours.is_subset(&all), "{program:?}");
        assert!(machine::can_get_stuck(program), "there is nothing to doubt: {program:?}");
        return 0;
    }
    assert_eq!(found.behaviours, all, "{program:?}");
    // What a compare-exchange or a try does under another source is not known before, so some runs are for nothing.
    let most = if program.is_fixed() { all.len() } else { 2 * all.len() + 4 };
    assert!(found.runs <= most, "{} runs for {} behaviours: {program:?}", found.runs, all.len());
    assert_eq!(found.counted, all.len() as u64, "{program:?}");
    all.len()
}

#[test]
fn random_programs_of_reads_and_writes() {
    let most = (0..400).map(|seed| compare(&random::program(seed, &random::MEMORY), seed)).max();
    assert!(most > Some(20), "some have many behaviours: {most:?}");
}

#[test]
fn random_programs_with_locks() {
    let most = (0..400).map(|seed| compare(&random::program(seed, &random::LOCKS), seed)).max();
    assert!(most > Some(10), "some have many behaviours: {most:?}");
}

#[test]
fn random_programs_with_everything() {
    let most = (0..150).map(|seed| compare(&random::program(seed, &random::ALL), seed)).max();
    assert!(most > Some(20), "some have many behaviours: {most:?}");
}

/// A long run has more pairs of reads and writes than can be tried. Those that are kept come from all parts of it.
#[test]
fn targets_of_long_runs_come_from_all_parts() {
    const LONG: usize = 200;
    let stores = (0..LONG).map(|value| Instruction::Store { variable: 0, value: value as i64 }).collect();
    let loads = vec![Instruction::Load { variable: 0, register: 0 }; LONG];
    let program = Program { threads: vec![Vec::new(), stores, loads] };
    let limits = SearchLimits { per_run: 100, ..SearchLimits::default() };
    let mut search = Search::new(limits);
    let mut machine = Machine::new(&program);
    machine.finish(1);
    search.learn(Run::of_events(machine.log().into_iter()).unwrap());
    assert!(search.left() > 20 && search.left() <= limits.per_run as u64, "{}", search.left());
    assert!(search.doubts().any(|doubt| doubt == Doubt::TooManyTargets));
    let mut furthest = 0;
    while let Some(task) = search.next_task() {
        // The reader is the second thread that is created, and reads at the end of the route.
        furthest = furthest.max(task.route.legs.iter().map(|leg| leg.until).max().unwrap_or(0));
        search.finish(&task, None);
    }
    assert!(furthest > 3 * LONG as u64 / 4, "{furthest}");
}
