//! OpenMP programs as gcc compiles them: what OpenMP orders is ordered, and what it does not is found.

use serde_json::Value;

use crate::rust::program;
use crate::{foretell, json};

fn hunt(name: &str) -> (Option<i32>, Value) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(program(&format!("openmp/{name}")), directory.path().join(name)).unwrap();
    let options = ["hunt", name, "--flags=-fopenmp", "--json", "--quiet", "--timeout", "15"];
    let hunted = foretell(directory.path(), &options);
    (hunted.status.code(), json(&hunted))
}

/// The findings of a kind that are shown.
fn shown<'r>(report: &'r Value, kind: &str) -> Vec<&'r Value> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings.filter(|finding| finding["kind"] == kind && finding["shown"] == true).collect()
}

/// Recorded and predicted, not hunted: libgomp runs tasks where it likes, so replays of this program take long.
#[test]
fn what_openmp_orders_is_silent() {
    let directory = tempfile::tempdir().unwrap();
    let source = program("openmp/correct.c");
    let run = |arguments: &[&str]| {
        let output = foretell(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    };
    run(&["cc", "-fopenmp", "-O1", source.to_str().unwrap(), "-o", "correct"]);
    run(&["record", "-o", "correct.ftr", "--", "./correct"]);
    run(&["predict", "correct.ftr", "--only", "race,deadlock,order,misuse"]);
}

#[test]
fn an_increment_outside_of_the_critical_section_races() {
    let (status, report) = hunt("race.c");
    let races = shown(&report, "race");
    let [race] = races[..] else { panic!("{report:#}") };
    assert_eq!(
        (status, &race["object"], &race["rung"]),
        (Some(1), &"bad".into(), &"confirmed".into()),
        "{race:#}"
    );
}

#[test]
fn a_task_that_nobody_waits_for_races() {
    let (status, report) = hunt("task_race.c");
    let races = shown(&report, "race");
    assert_eq!((status, races.len()), (Some(1), 1), "{report:#}");
    assert_eq!(races[0]["object"], "result", "{report:#}");
}

#[test]
fn locks_taken_in_opposite_order_deadlock() {
    let (status, report) = hunt("lock_order.c");
    let deadlocks = shown(&report, "deadlock");
    assert_eq!((status, deadlocks.len()), (Some(1), 1), "{report:#}");
    assert_eq!(deadlocks[0]["rung"], "confirmed", "{report:#}");
}
