//! Misuse of locks, threads and signal handlers: each kind has a small program, and a program that does it all correctly is silent.

use std::path::Path;

use serde_json::Value;

use crate::rust::program;
use crate::{foretell, json};

/// Each program, what is misused, and words of what is said about it.
const MISUSES: [(&str, &str, &str); 27] = [
    ("unlock_of_unlocked.c", "lock", "which no thread has locked"),
    ("unlock_by_another.c", "gate", "which main has locked"),
    ("unlock_refused.c", "gate", "which main has locked"),
    ("double_lock.c", "lock", "which it holds already"),
    ("read_unlock_of_write_lock.c", "lock", "as a reader, but holds it as a writer"),
    ("write_unlock_of_read_lock.c", "lock", "as a writer, but holds it as a reader"),
    ("read_lock_of_write_locked.c", "lock", "which it holds already"),
    ("destroy_of_locked.c", "lock", "which main holds"),
    ("destroy_of_read_lock.c", "lock", "which main holds"),
    ("use_after_destroy.c", "lock", "after it was destroyed"),
    ("destroyed_twice.c", "meeting", "after it was destroyed"),
    ("rwlock_after_destroy.c", "lock", "after it was destroyed"),
    ("not_initialised.c", "lock", "which was never initialised"),
    ("lock_held_here.c", "lock", "where the program says that no lock is held"),
    ("two_mutexes.c", "changed", "with another mutex than"),
    ("not_joined.c", "T1", "neither joined nor detached"),
    ("joined_twice.c", "T1", "joined or detached before"),
    ("semaphore_destroyed_in_use.c", "permits", "which other threads wait for"),
    ("condition_destroyed_in_use.c", "changed", "which other threads wait for"),
    ("barrier_destroyed_in_use.c", "meeting", "which other threads wait for"),
    ("allocation_in_handler.c", "signal handler", "in a signal handler"),
    ("lock_in_handler.c", "signal handler", "takes a lock at"),
    ("errno_in_handler.c", "errno", "does not restore it"),
    ("ignoring_at_end.c", "T1", "ends while its accesses are ignored since"),
    ("both_orders.c", "accounts", "while it holds journal, but takes them in another order at"),
    ("alone.c", "lock", "which main holds"),
    ("use_after_free_alone.c", "message", "after it has freed it"),
];

fn hunt(directory: &Path, name: &str) -> (Option<i32>, Value) {
    std::fs::copy(program(&format!("misuse/{name}")), directory.join(name)).unwrap();
    let hunted = foretell(directory, &["hunt", name, "--json", "--quiet", "--timeout", "8"]);
    (hunted.status.code(), json(&hunted))
}

#[test]
fn each_kind_of_misuse_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    for (name, object, words) in MISUSES {
        let (status, report) = hunt(directory.path(), name);
        let findings = report["findings"].as_array().unwrap();
        let misuse = findings.iter().find(|finding| finding["kind"] == "misuse");
        let misuse = misuse.unwrap_or_else(|| panic!("{name}: {report:#}"));
        assert!(misuse["object"].as_str().unwrap().contains(object), "{misuse:#}");
        assert_eq!(misuse["rung"], "confirmed", "{misuse:#}");
        assert!(misuse["misuse"].as_str().unwrap().contains(words), "{misuse:#}");
        assert_eq!((status, misuse["shown"].as_bool()), (Some(1), Some(true)), "{name}: {report:#}");
    }
}

#[test]
fn what_is_done_correctly_is_not_reported() {
    let directory = tempfile::tempdir().unwrap();
    // A handler with SA_RESTART does not end the call that it interrupts; a file may be replaced while it is used.
    for name in ["correct.c", "restarts.c", "file_replaced.c", "destroyed_by_last_user.c"] {
        let (status, report) = hunt(directory.path(), name);
        assert_eq!((status, &report["findings"]), (Some(0), &Value::Array(Vec::new())), "{name}: {report:#}");
    }
}

#[test]
fn a_lock_that_is_made_or_destroyed_while_another_thread_may_take_it_is_a_race() {
    let directory = tempfile::tempdir().unwrap();
    for (name, object) in [
        ("destroy_races.c", "lock"),
        ("initialised_late.c", "lock"),
        ("semaphore_destroyed_early.c", "permits"),
        ("condition_destroyed_early.c", "changed"),
    ] {
        let (status, report) = hunt(directory.path(), name);
        let findings = report["findings"].as_array().unwrap();
        let race = findings.iter().find(|finding| finding["kind"] == "race");
        let race = race.unwrap_or_else(|| panic!("{name}: {report:#}"));
        assert_eq!((status, &race["rung"]), (Some(1), &"confirmed".into()), "{race:#}");
        assert!(race["object"].as_str().unwrap().starts_with(object), "{race:#}");
    }
}

/// What ThreadSanitizer calls a lock-order-inversion is turned off as such, and gone if the orders agree.
#[test]
fn both_orders_of_two_locks_are_turned_off_like_deadlocks() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(program("misuse/both_orders.c"), directory.path().join("both_orders.c")).unwrap();
    std::fs::write(directory.path().join("supp"), "deadlock:audit\n").unwrap();
    let hunt = ["hunt", "both_orders.c", "--json", "--quiet", "--timeout", "4"];
    let kinds = |more: &[&str]| {
        let report = json(&foretell(directory.path(), &[hunt.as_slice(), more].concat()));
        let findings = report["findings"].as_array().unwrap().clone();
        let shown = findings.into_iter().filter(|finding| finding["shown"] == true);
        shown.map(|finding| finding["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&[]), ["misuse"]);
    assert_eq!(kinds(&["--suppressions", "supp"]), [""; 0]);
    assert_eq!(kinds(&["--flags=-g -DFIXED"]), [""; 0]);
}

/// Giving a lock back is a use of it, so the race leads the hunt to the schedule in which the lock is destroyed while it is held.
#[test]
fn a_lock_that_another_schedule_destroys_while_it_is_held() {
    let directory = tempfile::tempdir().unwrap();
    let name = "destroyed_while_held.c";
    let (status, report) = hunt(directory.path(), name);
    let findings = report["findings"].as_array().unwrap();
    let of_kind =
        |kind: &str| findings.iter().find(|finding| finding["kind"] == kind && finding["object"] == "lock");
    let misuse = of_kind("misuse").unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!((status, &misuse["rung"]), (Some(1), &"confirmed".into()), "{misuse:#}");
    assert!(misuse["misuse"].as_str().unwrap().contains("which T1 holds"), "{misuse:#}");
    // The recorded run alone shows the race.
    let predicted = foretell(
        directory.path(),
        &["predict", ".foretell/latest/trace.ftr", "--only", "race", "--json", "--quiet"],
    );
    assert_eq!(json(&predicted)["findings"][0]["object"], "lock", "{predicted:?}");
    let fixed = foretell(
        directory.path(),
        &["hunt", name, "--flags=-g -DFIXED", "--json", "--quiet", "--timeout", "4"],
    );
    assert_eq!(fixed.status.code(), Some(0), "{fixed:?}");
}

/// The recorded run has the two waits one after the other.
#[test]
fn waits_with_two_mutexes_are_predicted_and_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let source = program("misuse/two_mutexes_apart.c");
    let build = ["cc", "-g", "-O1", "-pthread", source.to_str().unwrap(), "-o", "apart"];
    assert!(foretell(here, &build).status.success());
    assert!(foretell(here, &["record", "--quiet", "--", "./apart"]).status.success());
    let predicted =
        json(&foretell(here, &["predict", "foretell.ftr", "--only", "misuse", "--json", "--quiet"]));
    let findings = predicted["findings"].as_array().unwrap();
    let [misuse] = &findings[..] else { panic!("{predicted:#}") };
    assert_eq!((&misuse["object"], &misuse["rung"]), (&"changed".into(), &"predicted".into()), "{misuse:#}");
    assert!(misuse["misuse"].as_str().unwrap().contains("with another mutex than T1"), "{misuse:#}");
    let replayed = json(&foretell(here, &["replay", "foretell.ftr", "misuse-1", "--times", "3", "--json"]));
    assert_eq!(replayed["confirmed"], 3, "{replayed:#}");
}

#[test]
fn a_file_that_is_closed_while_another_thread_may_use_it_is_a_race() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["file_closed_early.c", "pipe_closed_early.c", "file_replaced_early.c"] {
        let (status, report) = hunt(directory.path(), name);
        let findings = report["findings"].as_array().unwrap();
        let of_a_file = |finding: &&Value| {
            finding["kind"] == "race" && finding["object"].as_str().unwrap().starts_with("file descriptor ")
        };
        let race = findings.iter().find(of_a_file).unwrap_or_else(|| panic!("{name}: {report:#}"));
        assert_eq!((status, &race["rung"]), (Some(1), &"confirmed".into()), "{race:#}");
    }
}

/// The order of a relaxed flag holds for the flag, not for the memory that is freed after it.
#[test]
fn memory_that_is_freed_after_a_relaxed_flag_is_a_race() {
    let directory = tempfile::tempdir().unwrap();
    let (status, report) = hunt(directory.path(), "freed_after_relaxed.c");
    let findings = report["findings"].as_array().unwrap();
    let race = findings.iter().find(|finding| finding["kind"] == "race");
    let race = race.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!((status, &race["rung"]), (Some(1), &"confirmed".into()), "{race:#}");
    assert!(race["object"].as_str().unwrap().starts_with("int (freed_after_relaxed.c:"), "{race:#}");
    assert!(!race["memory_orders"].as_array().unwrap().is_empty(), "{race:#}");
}

/// A lock whose order the program has ignored keeps the accesses apart in every replay; they race all the same.
#[test]
fn locks_whose_order_is_ignored_do_not_hide_races() {
    let directory = tempfile::tempdir().unwrap();
    let (status, report) = hunt(directory.path(), "ignored_lock.c");
    let findings = report["findings"].as_array().unwrap();
    let race = findings.iter().find(|finding| finding["kind"] == "race");
    let race = race.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!((status, &race["rung"]), (Some(1), &"confirmed".into()), "{race:#}");
}
