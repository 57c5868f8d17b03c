//! `--timeout`, `--memory` and interrupts: a command ends with what it has, and says what it left.

use std::time::{Duration, Instant};

use generate::hostile::Shape;

use crate::support::{Workplace, example};

/// A trace that takes far longer than any test.
fn endless() -> Workplace {
    let place = Workplace::new();
    let text = Shape::Writes.text(40_000);
    place.write("t.std", text);
    place
}

/// Every pair of accesses, so that no limit of the search itself ends it.
const EVERYTHING: [&str; 4] = ["predict", "t.std", "--all", "--json-lines"];

#[test]
fn time_ends_a_search_with_what_it_has() {
    let place = endless();
    let started = Instant::now();
    let ran = place.run(&[EVERYTHING.as_slice(), &["--only", "race", "--timeout", "1"]].concat());
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("Stopped: the time of 1 s was up."), "{}", ran.stderr);
    assert!(ran.stderr.contains("Not searched to the end: data races."), "{}", ran.stderr);
    let lines: Vec<serde_json::Value> =
        ran.text().lines().map(|line| serde_json::from_str(line).expect("a finding")).collect();
    assert!(!lines.is_empty() && lines.iter().all(|finding| finding["kind"] == "race"));
}

#[test]
fn what_was_left_is_in_the_json() {
    let place = endless();
    let ran = place.run(&["predict", "t.std", "--all", "--only", "race", "--json", "--timeout", "1"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let stopped = &ran.json()["stopped"];
    assert_eq!(stopped["by"], "time");
    assert_eq!(stopped["unfinished"], serde_json::json!(["race"]));
}

#[test]
fn memory_ends_a_command_before_it_has_begun() {
    let place = Workplace::new();
    place.write("t.std", Shape::Writes.text(40_000));
    let found = place.run(&["predict", "t.std", "--only", "race", "--json", "--timeout", "1"]);
    place.write("found.json", found.text());
    for command in [
        vec!["predict", "t.std"],
        vec!["states", "t.std"],
        vec!["decide", "t.std", "--race", "0,1"],
        vec!["show", "t.std", "race-1"],
        vec!["report", "found.json", "--html", "report.html"],
    ] {
        let mut arguments = command.clone();
        arguments.extend(["--memory", "4k"]);
        let ran = place.run(&arguments);
        assert_eq!(ran.code, Some(3), "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("memory"), "{command:?}: {}", ran.stderr);
    }
    assert!(!place.path("report.html").exists(), "a file appears whole or not at all");
}

/// Commands other than `predict` end by an interrupt and by time, too.
#[test]
fn states_are_counted_until_there_is_no_time() {
    let place = Workplace::new();
    let generate = ["generate", "--events", "20000", "--threads", "8", "--locks", "32", "-o", "t.ftr"];
    place.run(&generate).succeeded();
    let count = ["states", "t.ftr", "--count"];
    let ran = place.run(&[count.as_slice(), &["--timeout", "1"]].concat());
    assert_eq!(ran.code, Some(3), "{}{}", ran.text(), ran.stderr);
    let child = place.command(&count).spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(2));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().is_ok_and(|s| s.success()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_interrupt_ends_a_search_with_what_it_has() {
    for signal in ["-TERM", "-INT"] {
        let place = endless();
        let arguments = [EVERYTHING.as_slice(), &["--only", "race"]].concat();
        let child = place.command(&arguments).spawn().expect("it starts");
        std::thread::sleep(Duration::from_secs(2));
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().is_ok_and(|s| s.success()));
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains("Stopped: interrupted."), "{stderr}");
        assert!(output.stdout.ends_with(b"}\n"), "the last finding is whole");
    }
}

#[test]
fn a_search_that_ends_in_time_says_nothing_of_limits() {
    let place = Workplace::new();
    place.write("t.std", example());
    let plain = place.run(&["predict", "t.std"]);
    let limited = place.run(&["predict", "t.std", "--timeout", "10m", "--memory", "64G"]);
    assert_eq!((plain.code, plain.stdout), (limited.code, limited.stdout));
    let lines = place.run(&["predict", "t.std", "--json-lines", "--quiet"]);
    let findings = lines.text().lines().count();
    assert_eq!(
        findings,
        place.run(&["predict", "t.std", "--json"]).json()["findings"].as_array().unwrap().len()
    );
}

#[test]
fn limits_that_make_no_sense_are_mistakes() {
    let place = Workplace::new();
    place.write("t.std", example());
    for limit in [["--timeout", "0"], ["--timeout", "soon"], ["--memory", "0"], ["--memory", "much"]] {
        let ran = place.run(&[["predict", "t.std"].as_slice(), &limit].concat());
        assert_eq!(ran.code, Some(2), "{limit:?}");
        assert!(ran.stderr.contains("expected"), "{}", ran.stderr);
    }
}
