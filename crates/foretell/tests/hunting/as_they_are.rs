//! Programs that do what few do: hunts end with what is true.

use serde_json::Value;

use crate::rust::program;
use crate::{foretell, json};

fn hunt(name: &str) -> (Option<i32>, Value) {
    hunt_with(name, "--flags=")
}

fn hunt_with(name: &str, flags: &str) -> (Option<i32>, Value) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(program(&format!("as_they_are/{name}")), directory.path().join(name)).unwrap();
    let hunted = foretell(directory.path(), &["hunt", name, flags, "--json", "--quiet", "--timeout", "10"]);
    (hunted.status.code(), json(&hunted))
}

fn shown(report: &Value) -> Vec<&Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["shown"] == true).collect()
}

/// Joining the first thread orders what it did before what comes next, as joining any other does.
#[test]
fn the_first_thread_can_be_joined() {
    let (status, report) = hunt("join_main.c");
    assert_eq!((status, shown(&report).len()), (Some(0), 0), "{report:#}");
}

/// What docs/recording.md says that optimisation hides.
#[test]
fn reads_that_the_compiler_removes_are_found_without_optimisation() {
    let (status, report) = hunt_with("unused_read.c", "--flags=-O0");
    assert_eq!((status, shown(&report).len()), (Some(1), 1), "{report:#}");
    let (status, report) = hunt("unused_read.c");
    assert_eq!((status, shown(&report).len()), (Some(0), 0), "{report:#}");
}

/// What `calloc` has cleared may be read before anybody writes it, unless that does harm.
#[test]
fn flags_that_calloc_clears_may_be_looked_at_early() {
    let (status, report) = hunt("cleared_flags.c");
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["kind"] == "order"), "it is listed: {report:#}");
    assert_eq!((status, shown(&report).len()), (Some(0), 0), "{report:#}");
}

/// A wait that misses a signal is no deadlock if another signal ends it.
#[test]
fn a_wait_that_another_signal_ends_is_no_deadlock() {
    let (status, report) = hunt("last_one_signals.c");
    assert_eq!((status, shown(&report).len()), (Some(0), 0), "{report:#}");
}
