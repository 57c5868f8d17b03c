//! Programs that do what few do: hunts end with what is true.

use std::process::Command;

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

/// The recorder's own key is none that a program gets by chance: the value of a key that was never created is refused, as always.
#[test]
fn keys_that_were_never_created_are_refused() {
    let (status, report) = hunt("key_never_created.c");
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

/// What is printed may depend on the order of the threads.
#[test]
fn output_that_depends_on_the_order_is_no_bug() {
    let (status, report) = hunt("first_of_list.c");
    assert_eq!((status, shown(&report).len()), (Some(0), 0), "{report:#}");
    assert_eq!(report["behaviours"], 2, "{report:#}");
}

/// What `realloc` leaves where it was is another block all the same.
#[test]
fn a_block_that_realloc_takes_away_is_not_to_be_used() {
    let (status, report) = hunt("reallocated.c");
    assert_eq!(status, Some(1), "{report:#}");
    let shown = shown(&report);
    let [use_after_realloc] = shown[..] else { panic!("{report:#}") };
    assert_eq!(use_after_realloc["rung"], "confirmed", "{report:#}");
    // The use comes after `realloc`: the other way round would be harmless.
    let expected = serde_json::json!(["reallocated.c:17", "reallocated.c:7"]);
    assert_eq!(use_after_realloc["locations"], expected, "{report:#}");
}

/// A wait that misses a signal is no deadlock if another signal ends it.
#[test]
fn output_that_differs_from_run_to_run_is_no_harm() {
    let (status, report) = hunt("noise.c");
    assert_eq!((shown(&report), status), (Vec::new(), Some(0)), "{report:#}");
}

#[test]
fn a_wait_that_another_signal_ends_is_no_deadlock() {
    let (status, report) = hunt("last_one_signals.c");
    assert_eq!((status, shown(&report).len()), (Some(0), 0), "{report:#}");
}

/// A program that goes into the background is recorded, not the parent that it leaves behind.
#[test]
fn a_daemon_stays_in_the_foreground() {
    let (status, report) = hunt("daemon.c");
    let shown = shown(&report);
    assert_eq!((status, shown.len()), (Some(1), 1), "{report:#}");
    assert_eq!((&shown[0]["kind"], &shown[0]["object"]), (&"race".into(), &"requests".into()), "{report:#}");
}

/// A replay meets the waits of a thread that is told by an event counter, each with what was sent before it in the recording.
#[test]
fn a_thread_that_waits_for_commands_is_replayed() {
    let (status, report) = hunt("mailbox.c");
    let found: Vec<_> = shown(&report).iter().map(|finding| (&finding["object"], &finding["rung"])).collect();
    assert_eq!(status, Some(1), "{report:#}");
    assert_eq!(found, [(&Value::from("batches"), &Value::from("confirmed"))], "{report:#}");
}

/// The C library starts a thread whenever such a timer expires.
#[test]
fn timers_that_start_threads() {
    let (status, report) = hunt("timer_thread.c");
    assert_eq!((status, shown(&report).len()), (Some(0), 0), "{report:#}");
    let (status, report) = hunt_with("timer_thread.c", "--flags=-DRACY");
    assert_eq!(status, Some(1), "{report:#}");
    assert!(shown(&report).iter().any(|finding| finding["object"] == "fired"), "{report:#}");
}

/// Calls from a library are known to be its own, although its debug information names source files.
#[test]
fn calls_from_a_library_can_be_suppressed() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for name in ["raw_library.c", "raw_library_user.c"] {
        std::fs::copy(program(&format!("as_they_are/{name}")), here.join(name)).unwrap();
    }
    let flags = ["-g", "-O1", "-fno-builtin", "-fPIC", "-shared", "raw_library.c", "-o", "libraw.so"];
    let built = Command::new("gcc").args(flags).current_dir(here).status();
    if !built.is_ok_and(|status| status.success()) {
        testing::skip("there is no gcc");
        return;
    }
    let flags = ["raw_library_user.c", "-o", "user", "-L.", "-lraw", "-Wl,-rpath,$ORIGIN"];
    assert!(foretell(here, &[&["cc", "-g"], &flags[..]].concat()).status.success());
    std::fs::write(here.join("raw.supp"), "called_from_lib:/libraw.so$\n").unwrap();
    for (options, expected) in [
        ("", 1),
        ("suppressions=raw.supp", 0),
        ("ignore_noninstrumented_modules=1", 0),
        ("ignore_noninstrumented_modules=0", 1),
    ] {
        let mut hunt = Command::new(env!("CARGO_BIN_EXE_foretell"));
        hunt.args(["hunt", "--json", "--quiet", "--only", "race", "--timeout", "8", "--", "./user"]);
        let hunted = hunt.current_dir(here).env("TSAN_OPTIONS", options).output().unwrap();
        let report = json(&hunted);
        assert_eq!(hunted.status.code(), Some(expected), "{options}: {report:#}");
    }
}

/// A hand-over by a futex in a library that is not instrumented is an order, and the library is named, for what it orders without the kernel.
#[test]
fn futexes_of_libraries_order_threads() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for name in ["hand_over.c", "hand_over_user.c"] {
        std::fs::copy(program(&format!("as_they_are/{name}")), here.join(name)).unwrap();
    }
    let flags = ["-g", "-O1", "-fPIC", "-shared", "hand_over.c", "-o", "libhand.so"];
    let built = Command::new("gcc").args(flags).current_dir(here).status();
    if !built.is_ok_and(|status| status.success()) {
        return testing::skip("there is no gcc");
    }
    let flags = ["hand_over_user.c", "-o", "user", "-pthread", "-L.", "-lhand", "-Wl,-rpath,$ORIGIN"];
    assert!(foretell(here, &[&["cc", "-g"], &flags[..]].concat()).status.success());
    assert!(foretell(here, &["record", "--quiet", "-o", "user.ftr", "--", "./user"]).status.success());
    let predicted = foretell(here, &["predict", "--json", "--quiet", "user.ftr", "--only", "race"]);
    assert_eq!(predicted.status.code(), Some(0), "{predicted:?}");
    let hunted = foretell(here, &["hunt", "--timeout", "8", "--", "./user"]);
    let said = String::from_utf8_lossy(&hunted.stderr);
    assert_eq!(hunted.status.code(), Some(0), "{hunted:?}");
    assert!(said.contains("libhand.so") && said.contains("orders threads in ways"), "{said}");
}
