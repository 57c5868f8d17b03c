//! What a search keeps is bounded, however many behaviours a program has.

#[path = "enumeration/machine.rs"]
#[expect(dead_code, reason = "the other tests use all of it")]
mod machine;

use behaviours::{Doubt, Run, Search, SearchLimits};
use machine::{Instruction, Machine, Program};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// More runs than fit.
const RUNS: usize = 3_000;
const LIMIT: usize = 4 << 20;

#[test]
fn a_search_keeps_no_more_than_it_may() {
    let stores = |value| vec![Instruction::Store { variable: 0, value }; 12];
    let loads = vec![Instruction::Load { variable: 0, register: 0 }; 12];
    let program = Program { threads: vec![Vec::new(), stores(1), stores(2), loads] };
    let run = |route: Option<&behaviours::Route>, seed| {
        let mut machine = Machine::new(&program);
        route.into_iter().for_each(|route| machine.follow(route));
        machine.finish(seed);
        Run::of_events(machine.log().into_iter()).unwrap()
    };
    let before = ALLOCATED.current_usage();
    let mut search = Search::new(SearchLimits { memory: LIMIT, ..SearchLimits::default() });
    search.learn(run(None, 0));
    let mut half = 0;
    for number in 1..=RUNS {
        let task = search.next_task().expect("there are more behaviours than runs");
        let run = run(Some(&task.route), number as u64);
        search.finish(&task, Some(run));
        if number == RUNS / 2 {
            half = search.memory();
        }
    }
    let used = ALLOCATED.current_usage() - before;
    assert!(half > LIMIT / 2, "the limit is reached: {half}");
    assert!(search.memory() <= LIMIT + LIMIT / 8, "{}", search.memory());
    assert!(used < LIMIT * 3 / 2, "{used} bytes for an estimate of {}", search.memory());
    assert!(used > LIMIT / 2, "{used} bytes for an estimate of {}", search.memory());
    assert!(search.behaviours() > RUNS as u64 / 2, "runs that are not kept count: {}", search.behaviours());
    assert!(search.doubts().any(|doubt| doubt == Doubt::TooManyTargets));
}
