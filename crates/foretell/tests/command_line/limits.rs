//! `--timeout`, `--memory` and interrupts: a command ends with what it has, and says what it left.

use std::io::Write;
use std::process::Stdio;
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

/// A search that was ended before it found anything has not found that there is nothing.
#[test]
fn an_interrupt_before_the_first_finding_is_not_nothing_found() {
    let place = Workplace::new();
    let lines = (0..40_000).map(|i| (i, i % 8)).map(|(i, thread)| {
        format!("T{thread}|acq(l)|1\nT{thread}|w(x{})|{}\nT{thread}|rel(l)|2\n", i % 7, 100 + i % 997)
    });
    let trace = lines.collect::<String>();
    for signal in ["-TERM", "-INT"] {
        let mut child = place.command(&["predict", "-"]).stdin(Stdio::piped()).spawn().expect("it starts");
        // It reads, so it has begun; and it does not have the whole trace, so it has found nothing.
        let mut input = child.stdin.take().expect("it is piped");
        input.write_all(trace.as_bytes()).expect("it reads");
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().is_ok_and(|s| s.success()));
        // The signal is handled by a thread of its own.
        std::thread::sleep(Duration::from_millis(500));
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("it is text");
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("interrupted"), "{said}");
        assert!(!said.contains("nothing found"), "{said}");
    }
}

/// The same after the trace was read, as the findings keep it.
#[test]
fn a_search_that_was_stopped_does_not_say_nothing_found() {
    let place = Workplace::new();
    place.write("t.std", "T0|acq(l)|1\nT0|w(x)|2\nT0|rel(l)|3\nT1|acq(l)|4\nT1|w(x)|5\nT1|rel(l)|6\n");
    let mut found = place.run(&["predict", "t.std", "--json"]).json();
    place.write("found.json", found.to_string());
    let whole = place.run(&["report", "found.json"]);
    assert_eq!((whole.code, whole.text()), (Some(0), "SUMMARY: nothing found\n".to_owned()));
    found["stopped"] = serde_json::json!({
        "by": "interrupt", "reason": "interrupted", "unfinished": ["race"], "left_out": 0
    });
    place.write("found.json", found.to_string());
    let stopped = place.run(&["report", "found.json"]);
    let said = "Stopped: interrupted. Not searched to the end: data races.\nSUMMARY: stopped before anything was found\n";
    assert_eq!((stopped.code, stopped.text() + &stopped.stderr), (Some(3), said.to_owned()));
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
