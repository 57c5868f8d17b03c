//! OpenMP programs as clang compiles them, with its library: what OpenMP orders is ordered, and what it does not is found.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::rust::program;
use crate::{json, line_of};

/// Whether there is a clang with OpenMP.
fn has_clang() -> bool {
    let mut compilers = std::fs::read_dir("/usr/lib").unwrap().flatten();
    if !testing::has("clang") {
        return false;
    }
    let has_library = compilers.any(|entry| entry.path().join("lib/libomp.so").exists());
    if !has_library {
        testing::skip("there is no libomp (libomp-dev)");
    }
    has_library
}

/// Hunts in a program of ours that clang compiles. None: there is no clang with OpenMP.
fn run(directory: &Path, name: &str, options: &[&str]) -> Option<Output> {
    if !has_clang() {
        return None;
    }
    std::fs::copy(program(&format!("openmp/{name}")), directory.join(name)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.args(["hunt", name, "--flags=-fopenmp"]).args(options).current_dir(directory);
    command.env("FORETELL_CC", "clang").env("OMP_CANCELLATION", "true").env_remove("FORETELL_OPTIONS");
    Some(command.output().unwrap())
}

fn hunt(name: &str, seconds: &str) -> Option<(Option<i32>, Value)> {
    let directory = tempfile::tempdir().unwrap();
    let hunted = run(directory.path(), name, &["--json", "--timeout", seconds])?;
    let said = String::from_utf8_lossy(&hunted.stderr);
    assert!(!said.contains("orders threads in ways"), "{said}");
    Some((hunted.status.code(), json(&hunted)))
}

/// What is correct is silent, also in runs that follow other schedules.
fn check_silent(name: &str) {
    let Some((status, report)) = hunt(name, "8") else { return };
    let findings = report["findings"].as_array().unwrap().iter();
    let shown: Vec<_> = findings.filter(|finding| finding["shown"] == true).collect();
    assert_eq!((status, &shown[..]), (Some(0), &[][..]), "{report:#}");
    assert!(report["runs"].as_u64().unwrap() > 1, "{report:#}");
}

/// There is one bug, and a replay runs into it.
fn check_confirmed(name: &str, kind: &str) {
    let Some((status, report)) = hunt(name, "40") else { return };
    let findings = report["findings"].as_array().unwrap().iter();
    let shown: Vec<_> =
        findings.filter(|finding| finding["kind"] == kind && finding["shown"] == true).collect();
    let [bug] = shown[..] else { panic!("{report:#}") };
    assert_eq!((status, &bug["rung"]), (Some(1), &"confirmed".into()), "{bug:#}");
}

#[test]
fn what_openmp_orders_is_silent() {
    check_silent("correct.c");
}

#[test]
fn tasks_and_what_waits_for_them_are_in_order() {
    check_silent("tasks_correct.c");
}

#[test]
fn what_is_rarely_used_is_in_order() {
    check_silent("corners_correct.c");
}

#[test]
fn an_increment_outside_of_the_critical_section_races() {
    check_confirmed("race.c", "race");
}

#[test]
fn tasks_that_depend_on_the_same_input_race() {
    check_confirmed("tasks_race.c", "race");
}

#[test]
fn a_task_that_nobody_waits_for_races() {
    check_confirmed("task_race.c", "race");
}

#[test]
fn a_part_of_a_reduction_that_is_used_too_early_races() {
    check_confirmed("reduction_race.c", "race");
}

#[test]
fn tasks_of_a_loop_race() {
    check_confirmed("taskloop_race.c", "race");
}

#[test]
fn regions_inside_of_regions_race() {
    check_confirmed("nested_race.c", "race");
}

#[test]
fn threads_of_a_large_team_race() {
    check_confirmed("many_threads.c", "race");
}

#[test]
fn iterations_that_wait_for_the_wrong_one_race() {
    check_confirmed("doacross_race.c", "race");
}

#[test]
fn locks_taken_in_opposite_order_deadlock() {
    check_confirmed("lock_order.c", "deadlock");
}

#[test]
fn critical_sections_in_opposite_order_deadlock() {
    check_confirmed("critical_order.c", "deadlock");
}

/// Threads of a team are created where the region begins, not in libomp.
#[test]
fn threads_are_created_at_the_region() {
    let directory = tempfile::tempdir().unwrap();
    let Some(hunted) = run(directory.path(), "sections_race.c", &["--timeout", "15"]) else { return };
    let said = String::from_utf8_lossy(&hunted.stdout);
    let source = std::fs::read_to_string(program("openmp/sections_race.c")).unwrap();
    let line = line_of(&source, "#pragma omp parallel");
    assert!(said.contains(&format!("was created by main at sections_race.c:{line}")), "{said}");
}

#[test]
fn a_module_brings_its_library_along() {
    if has_clang() {
        crate::openmp::check_module("clang");
    }
}
