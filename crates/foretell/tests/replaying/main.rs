//! Replaying as a user does it: the programs of the corpus are compiled, recorded once, and run into every bug expected of
//! them.

mod debugging;
#[path = "../../../bench/src/expectations.rs"]
mod expectations;
mod hostile;
mod judging;
mod options;
mod promises;
mod scenarios;
mod second_opinion;
#[path = "../recording/support.rs"]
#[expect(dead_code, reason = "the tests of recording use more of it")]
mod support;

use judging::Program;

macro_rules! programs {
    ($($test:ident $file:literal $buggy:expr;)*) => {
        $(
            #[test]
            fn $test() {
                Program::new(concat!("replay/", $file)).judge($buggy);
            }
        )*
    };
}

/// Replays of each bug: the same schedule must lead to it every time.
const TIMES: u32 = 20;

programs! {
    a_race "race-buggy.c" TIMES;
    no_race "race-fixed.c" 0;
    a_deadlock "deadlock-buggy.c" TIMES;
    no_deadlock "deadlock-fixed.c" 0;
    an_atomicity_violation "atomicity-buggy.c" TIMES;
    no_atomicity_violation "atomicity-fixed.c" 0;
    a_read_before_initialisation "order-init-buggy.c" TIMES;
    no_read_before_initialisation "order-init-fixed.c" 0;
    a_use_after_free "order-free-buggy.c" TIMES;
    no_use_after_free "order-free-fixed.c" 0;
    a_nondeterministic_read "nondeterminism-buggy.c" TIMES;
    no_nondeterministic_read "nondeterminism-fixed.c" 0;
    a_state "predicate-buggy.c" TIMES;
    sixteen_threads "sixteen-buggy.c" TIMES;
    sixteen_threads_without_a_race "sixteen-fixed.c" 0;
    cplusplus "cplusplus-buggy.cc" TIMES;
    cplusplus_without_a_race "cplusplus-fixed.cc" 0;
    an_index_that_guards "false-queue.c" 0;
    a_limit_and_a_way_back "timed-fallback.c" 0;
    limits_everywhere "timed-only.c" 0;
    waits_with_limits "timed-waits.c" 0;
    what_was_taken_with_a_limit_is_held "timed-holder-buggy.c" TIMES;
    a_barrier_made_at_home "false-barrier.c" 0;
}
