//! OpenMP programs as gcc compiles them: what OpenMP orders is ordered, and what it does not is found.

use std::process::Command;

use serde_json::Value;

use crate::rust::program;
use crate::{foretell, json, line_of};

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

/// Tasks run where our own queue says, so replays follow their schedules, and a hunt finds nothing to report in any of them.
#[test]
fn tasks_and_what_waits_for_them_are_in_order() {
    let (status, report) = hunt("tasks_correct.c");
    let findings: Vec<_> = ["race", "deadlock", "failure", "misuse", "atomicity", "order"]
        .iter()
        .flat_map(|kind| shown(&report, kind))
        .collect();
    assert_eq!((status, &findings[..]), (Some(0), &[][..]), "{report:#}");
    assert!(report["runs"].as_u64().unwrap() > 1, "{report:#}");
}

#[test]
fn tasks_that_depend_on_the_same_input_race() {
    let (status, report) = hunt("tasks_race.c");
    let races = shown(&report, "race");
    assert_eq!((status, races.len()), (Some(1), 1), "{report:#}");
    assert_eq!(races[0]["rung"], "confirmed", "{report:#}");
}

#[test]
fn sections_race_though_one_thread_could_do_both() {
    let (status, report) = hunt("sections_race.c");
    let races = shown(&report, "race");
    assert_eq!((status, races.len()), (Some(1), 1), "{report:#}");
    assert_eq!(races[0]["rung"], "confirmed", "{report:#}");
}

/// A thread begins its part when all of its team are there: a replay brings those there first.
#[test]
fn threads_of_a_large_team_race() {
    let (status, report) = hunt("many_threads.c");
    let races = shown(&report, "race");
    assert_eq!((status, races.len()), (Some(1), 1), "{report:#}");
    assert_eq!(races[0]["rung"], "confirmed", "{report:#}");
}

#[test]
fn iterations_that_wait_for_the_wrong_one_race() {
    let (status, report) = hunt("doacross_race.c");
    let races = shown(&report, "race");
    assert_eq!((status, races.is_empty()), (Some(1), false), "{report:#}");
    assert_eq!(races[0]["rung"], "confirmed", "{report:#}");
}

/// Threads of a team are created where the region begins, not in libgomp.
#[test]
fn threads_are_created_at_the_region() {
    let directory = tempfile::tempdir().unwrap();
    let source = program("openmp/sections_race.c");
    std::fs::copy(&source, directory.path().join("sections_race.c")).unwrap();
    let options = ["hunt", "sections_race.c", "--flags=-fopenmp", "--timeout", "15"];
    let hunted = foretell(directory.path(), &options);
    let said = String::from_utf8_lossy(&hunted.stdout);
    let line = line_of(&std::fs::read_to_string(source).unwrap(), "#pragma omp parallel");
    assert!(said.contains(&format!("was created by main at sections_race.c:{line}")), "{said}");
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

/// The program itself needs no OpenMP library, and looks none up among its own.
#[test]
fn a_module_brings_its_library_along() {
    check_module("gcc");
}

/// Records a program that loads a module which this compiler has built.
pub(crate) fn check_module(compiler: &str) {
    let directory = tempfile::tempdir().unwrap();
    for name in ["module.c", "loads_module.c"] {
        std::fs::copy(program(&format!("openmp/{name}")), directory.path().join(name)).unwrap();
    }
    let mut command = Command::new(compiler);
    command.args(["-fopenmp", "-shared", "-fPIC", "module.c", "-o", "module.so"]);
    let built = command.current_dir(directory.path()).output().unwrap();
    assert!(built.status.success(), "{built:?}");
    for arguments in
        [["cc", "loads_module.c", "-o", "program", "-ldl"], ["record", "-o", "a.ftr", "--", "./program"]]
    {
        let output = foretell(directory.path(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    }
}
