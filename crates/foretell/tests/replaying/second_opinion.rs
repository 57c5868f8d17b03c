//! `replay --tsan`: what the genuine ThreadSanitizer says of a schedule's synchronisation, and what it says without.

use std::process::Command;

use crate::judging::{Printed, Program};

/// In how many of some runs of its own ThreadSanitizer reports nothing.
fn silent_runs(program: &Program, runs: usize) -> usize {
    let found = Command::new("gcc").arg("-print-file-name=libtsan.so.2").output().expect("gcc");
    let library = String::from_utf8(found.stdout).expect("a path");
    let directory = std::path::Path::new(library.trim()).parent().expect("a directory").to_owned();
    let silent = (0..runs).filter(|_| {
        // Its shadow does not fit around random addresses.
        let mut command = program.shop.other("setarch", &["-R", "./program"]);
        let output = command.env("LD_LIBRARY_PATH", &directory).output().expect("setarch");
        !String::from_utf8_lossy(&output.stderr).contains("WARNING: ThreadSanitizer")
    });
    silent.count()
}

/// What ThreadSanitizer says of a finding's schedule.
fn opinion(program: &Program, id: &str, more: &[&str]) -> (bool, String) {
    let Printed { json, .. } = program.json(&[&["replay", "run.ftr", id, "--json", "--tsan"], more].concat());
    let report = json["tsan"]["report"].as_str().expect("a report").to_owned();
    (json["tsan"]["reported"].as_bool().expect("a word"), report)
}

/// A program in which ThreadSanitizer reports nothing as it runs, and the race at these places with the schedule of the finding.
fn is_missed_and_reported(file: &str, places: [&str; 2]) {
    let program = Program::new(file);
    assert!(silent_runs(&program, 5) > 0, "{file}: ThreadSanitizer needs no help");
    let id = program.first();
    for _ in 0..3 {
        let (reported, report) = opinion(&program, &id, &["--order", "ab"]);
        assert!(reported && report.contains("WARNING: ThreadSanitizer: data race"), "{file}: {report}");
        assert!(places.iter().all(|place| report.contains(place)), "{file}: {places:?}: {report}");
    }
}

#[test]
fn a_race_hidden_by_two_sections_is_reported() {
    is_missed_and_reported("replay/race-buggy.c", ["race-buggy.c:28", "race-buggy.c:39"]);
}

#[test]
fn a_race_hidden_by_a_condition_variable_and_a_lock_is_reported() {
    is_missed_and_reported("replay/cplusplus-buggy.cc", ["cplusplus-buggy.cc:33", "cplusplus-buggy.cc:50"]);
}

#[test]
fn a_race_among_sixteen_threads_is_reported() {
    is_missed_and_reported("replay/sixteen-buggy.c", ["sixteen-buggy.c:24", "sixteen-buggy.c:27"]);
}

#[test]
fn what_is_no_race_in_any_run_is_not_reported() {
    // Every access is locked: a violation, but no race.
    let program = Program::new("replay/atomicity-buggy.c");
    assert_eq!(opinion(&program, &program.first(), &[]), (false, String::new()));
    // Locks alone would let the accesses race, what the program reads does not.
    let program = Program::new("replay/false-queue.c");
    let Printed { json, .. } =
        program.json(&["predict", "run.ftr", "--json", "--model", "sync", "--only", "race"]);
    let id = json["findings"][0]["id"].as_str().expect("a candidate").to_owned();
    assert_eq!(opinion(&program, &id, &["--model", "sync"]), (false, String::new()));
}

#[test]
fn without_a_threadsanitizer_there_is_a_clear_word() {
    let program = Program::new("replay/race-buggy.c");
    let id = program.first();
    let mut replay = program.shop.foretell(&["replay", "run.ftr", &id, "--tsan"]);
    let refused = replay.env("PATH", program.shop.path("nowhere")).output().expect("it can be run");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("gcc's own libtsan.so.2 was not found") && said.contains("install"), "{said}");
}
