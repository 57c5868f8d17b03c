//! Runs that fail are findings: whatever they were made for, and whether or not the failure depends on the schedule.

use std::fs;

use serde_json::Value;

use crate::rust::program;
use crate::{foretell, json};

/// A program, what is reported about it, and whether every schedule fails.
struct Case {
    program: &'static str,
    kind: &'static str,
    harm: &'static str,
    message: &'static str,
    every_run: bool,
    /// What stands under the line of source where it fails.
    label: &'static str,
    /// How its summary ends, and the pattern that suppresses it.
    place: &'static str,
    suppression: &'static str,
}

const CASES: [Case; 7] = [
    Case {
        program: "null_pointer.c",
        kind: "failure",
        harm: "failure",
        message: "SIGSEGV at 0x0",
        every_run: true,
        label: "T1 fails here",
        place: "null_pointer.c:8 in touch",
        suppression: "failure_top:^touch$",
    },
    Case {
        program: "assert_late.c",
        kind: "failure",
        harm: "failure",
        message: "assertion `seen == 0` failed",
        every_run: false,
        label: "^^^^^^^^^ T2 fails here",
        place: "assert_late.c:23 in read_value",
        suppression: "failure_top:^read_value$",
    },
    Case {
        program: "new_thread_first.c",
        kind: "failure",
        harm: "failure",
        message: "assertion `!is_first_new` failed",
        every_run: false,
        label: "^^^^^^^^^^^^^ main fails here",
        place: "new_thread_first.c:30 in main",
        suppression: "failure:^assertion `!is_first_new` failed$",
    },
    Case {
        program: "throws.cc",
        kind: "failure",
        harm: "failure",
        message: "uncaught exception std::runtime_error: no more paper",
        every_run: true,
        label: "T1 failed here",
        place: "",
        suppression: "failure:^uncaught exception std::runtime_error: no more paper$",
    },
    Case {
        program: "throws_inlined.cc",
        kind: "failure",
        harm: "failure",
        message: "uncaught exception std::runtime_error: no job",
        every_run: false,
        label: "main fails here",
        place: "throws_inlined.cc:19 in take",
        suppression: "failure:^take$",
    },
    Case {
        program: "lost_update.rs",
        kind: "failure",
        harm: "failure",
        message: "panicked: assertion `left == right` failed",
        every_run: false,
        label: "main fails here",
        place: "lost_update.rs:16",
        suppression: "failure:^panicked: assertion `left == right` failed$",
    },
    Case {
        program: "locks_twice.c",
        kind: "deadlock",
        harm: "hang",
        message: "deadlock: no thread can go on",
        every_run: true,
        label: "main: request lock, holding lock",
        place: "locks_twice.c:9 in main",
        suppression: "deadlock:^lock$",
    },
];

#[test]
fn each_is_reported_and_can_be_replayed() {
    for case in &CASES {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        std::fs::copy(program(case.program), here.join(case.program)).unwrap();
        let hunted = foretell(here, &["hunt", case.program, "--json", "--quiet"]);
        assert_eq!(hunted.status.code(), Some(1), "{}: {hunted:?}", case.program);
        let report = json(&hunted);
        let findings = report["findings"].as_array().unwrap();
        let meant =
            |finding: &&Value| finding["kind"] == case.kind && finding["failure"]["message"] == case.message;
        let finding = findings
            .iter()
            .find(meant)
            .unwrap_or_else(|| panic!("{}: no {}: {report:#}", case.program, case.message));
        assert_eq!(finding["harm"], case.harm, "{}: {finding:#}", case.program);
        assert_eq!(finding["rung"], "confirmed", "{}: {finding:#}", case.program);
        assert_eq!(finding["shown"], true, "{}: {finding:#}", case.program);
        assert_eq!(finding["failure"]["every_run"], case.every_run, "{}: {finding:#}", case.program);
        assert!(report["runs"].as_u64() > Some(1), "{}: {report:#}", case.program);
        let id = finding["id"].as_str().unwrap();
        let replayed = foretell(here, &["replay", ".foretell/latest", id, "--times", "20", "--json"]);
        assert_eq!(json(&replayed)["confirmed"], 20, "{}: {replayed:?}", case.program);
        // Saved findings hold up when they are verified again.
        let reported = foretell(here, &["report"]);
        assert_eq!(reported.status.code(), Some(1), "{}: {reported:?}", case.program);
        let text = String::from_utf8_lossy(&reported.stdout).into_owned();
        assert!(
            text.contains(if case.every_run { "in every schedule tried" } else { "depends on the schedule" }),
            "{text}"
        );
        assert!(text.contains(case.label), "{}: {text}", case.label);
        let summary = format!("SUMMARY: foretell: {} {}", case.kind, case.place);
        assert!(text.contains(&summary), "{summary}: {text}");
        let suppressions = foretell(here, &["report", "-q", "--print-suppressions"]);
        let lines = String::from_utf8_lossy(&suppressions.stdout).into_owned();
        assert!(lines.contains(case.suppression), "{}: {lines}", case.suppression);
    }
}

#[test]
fn a_program_that_gives_up_is_no_clean_one() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(program("refuses.c"), directory.path().join("refuses.c")).unwrap();
    let hunted = foretell(directory.path(), &["hunt", "refuses.c"]);
    let text = String::from_utf8_lossy(&hunted.stderr).into_owned();
    assert_eq!(hunted.status.code(), Some(2), "{text}");
    assert!(text.contains("ended with status 3 before it started a thread"), "{text}");
    assert!(text.contains("refuses: no configuration"), "{text}");
}

/// A deadlock that happened has no events that could block each other.
#[test]
fn code_scanning_says_what_a_deadlocked_run_waits_for() {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(program("locks_twice.c"), directory.path().join("locks_twice.c")).unwrap();
    foretell(directory.path(), &["hunt", "locks_twice.c", "--quiet", "--sarif", "found.sarif"]);
    let sarif = fs::read_to_string(directory.path().join("found.sarif")).unwrap();
    assert!(sarif.contains("confirmed: A thread waits for a lock that it holds itself, lock."), "{sarif}");
    assert!(!sarif.contains("can block each other"), "{sarif}");
}

/// The update of one thread is lost if another one comes between its two halves; all else is noise.
const LOST_UPDATE: &str = "\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int total, noise;
static void make_noise(void) { for (int i = 0; i < 30; i++) atomic_fetch_add(&noise, 1); }
static void *adds(void *unused)
{
    make_noise();
    int seen = atomic_load(&total);
    make_noise();
    atomic_store(&total, seen + 1);
    return unused;
}
int main(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, adds, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    assert(total == 3);
    return 0;
}
";

/// Main, a thread, another one, the first again, the third, main: no order of fewer switches loses an update.
#[test]
fn the_schedule_of_a_failure_has_no_needless_switches() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("lost.c"), LOST_UPDATE).unwrap();
    let found = json(&foretell(directory.path(), &["hunt", "lost.c", "--json", "--quiet"]));
    let finding = &found["findings"][0];
    assert_eq!((&finding["kind"], &finding["rung"]), (&"failure".into(), &"confirmed".into()), "{found:#}");
    assert_eq!(finding["failure"]["switches"], 5, "{finding:#}");
}
