//! Correct programs and their buggy twins, from corpus/pairs: the correct ones are silent, and the mistakes of the others are found. This
//! is a part of them; `cargo xtask corpus` hunts in all.

use testing::pairs::{Pairs, Program};

use crate::{foretell, json};

/// Correct programs in which accesses of other threads come between two of one, as they are meant to.
const SILENT: [&str; 15] = [
    "arc_mutex.rs",
    "atomic_maximum.cc",
    "bakery.c",
    "c11_flag_lock.c",
    "coroutine_pool.cc",
    "dekker.c",
    "handoff.c",
    "locked_map.cc",
    "mutex_counter.c",
    "peterson.c",
    "promise_value.cc",
    "seqlock.cc",
    "spin_lock.rs",
    "stop_token.cc",
    "ticket_lock.c",
];

/// Programs whose mistake is found.
const BUGGY: [&str; 18] = [
    "arc_mutex_bug.rs",
    "barrier_phases_bug.c",
    "binary_semaphore_bug.cc",
    "c11_refcount_bug.c",
    "c11_threads_bug.c",
    "condvar_gate_bug.rs",
    "coroutine_pool_bug.cc",
    "double_checked_bug.cc",
    "handoff_bug.c",
    "handshake_bug.c",
    "indexer_bug.c",
    "latch_results_bug.cc",
    "lock_order_bug.c",
    "mutex_counter_bug.c",
    "rwlock_table_bug.c",
    "scoped_lock_bug.cc",
    "thread_argument_bug.c",
    "trylock_stats_bug.c",
];

fn hunt(file: &str) -> (Option<i32>, serde_json::Value) {
    hunt_for(file, "8")
}

fn hunt_for(file: &str, seconds: &str) -> (Option<i32>, serde_json::Value) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(Pairs::directory().join(file), directory.path().join(file)).unwrap();
    let hunted = foretell(directory.path(), &["hunt", file, "--json", "--quiet", "--timeout", seconds]);
    (hunted.status.code(), json(&hunted))
}

#[test]
fn correct_programs_are_silent() {
    let pairs = Pairs::read();
    for file in SILENT {
        assert!(pairs.program(file).silent, "{file}");
        let (status, report) = hunt(file);
        let shown = Program::shown(&report);
        // On a busy machine the time can be up while the recorded run is searched.
        let expected = if report["stopped"].is_null() { 0 } else { 3 };
        assert_eq!((shown, status), (Vec::new(), Some(expected)), "{file}");
    }
}

#[test]
fn mistakes_are_found() {
    let pairs = Pairs::read();
    for file in BUGGY {
        let (status, report) = hunt_for(file, "20");
        assert_eq!(status, Some(1), "{file}: {report:#}");
        assert_eq!(pairs.program(file).lacks(&report), [""; 0], "{file}: {report:#}");
    }
}

/// Each of two threads compares a maximum and stores its own value. Only if the lesser value comes last does it matter that the other came
/// between: which thread it is decides.
#[test]
fn the_update_that_was_lost_is_shown_with_the_failure() {
    for (file, lines) in [("atomic_maximum_bug.cc", [11, 12, 12]), ("scoped_maximum_bug.rs", [6, 7, 7])] {
        let (status, report) = hunt_for(file, "30");
        assert_eq!(status, Some(1), "{file}: {report:#}");
        let shown = Program::shown(&report);
        let kinds: Vec<&str> = shown.iter().filter_map(|finding| finding["kind"].as_str()).collect();
        assert_eq!(kinds, ["failure", "atomicity"], "{file}: {report:#}");
        let [failure, lost] = &shown[..] else { unreachable!("there are two") };
        assert_eq!((&lost["harm"], &lost["rung"]), (&"failure".into(), &"confirmed".into()), "{lost:#}");
        assert_eq!(lost["recording"], failure["recording"], "{file}: it is that of the run which failed");
        let places: Vec<String> = lines.iter().map(|line| format!("{file}:{line}")).collect();
        assert_eq!(lost["locations"], serde_json::json!(places), "{lost:#}");
    }
}

/// libstdc++ spins and yields before it waits, and a futex takes the wake-up of another thread.
#[test]
fn a_waiter_that_nobody_wakes_is_a_deadlock_that_replays() {
    let (status, report) = hunt_for("atomic_wait_bug.cc", "60");
    assert_eq!(status, Some(1), "{report:#}");
    let findings = report["findings"].as_array().unwrap();
    let [finding] = &findings.iter().filter(|finding| finding["shown"] == true).collect::<Vec<_>>()[..]
    else {
        panic!("{report:#}");
    };
    assert_eq!((&finding["kind"], &finding["object"]), (&"deadlock".into(), &"signal_given".into()));
    assert_eq!(finding["replay"]["confirmed"], 3, "{finding:#}");
    let threads = finding["failure"]["threads"].as_array().unwrap();
    let waits: Vec<&str> = threads.iter().filter_map(|thread| thread["waits_for"].as_str()).collect();
    assert!(
        waits.contains(&"signal_given") && waits.iter().any(|wait| wait.starts_with("the end of T")),
        "{waits:?}"
    );
}
