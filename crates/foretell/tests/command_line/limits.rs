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

/// What ends a command that does not end by itself.
const LAST_RESORT: &str = "in the middle of a step";

/// Every loop of each search asks for time, also where it finds nothing: the last resort has nothing to do.
#[test]
fn searches_in_hostile_traces_end_by_themselves() {
    let searches: [(Shape, u32, &[&str]); 8] = [
        (Shape::HeldLocks, 400_000, &["predict", "--only", "race", "--method", "syncp"]),
        (Shape::Workers, 40_000, &["predict", "--only", "race", "--method", "hb"]),
        (Shape::Workers, 40_000, &["predict", "--raw", "--method", "hb"]),
        (Shape::OwnLocks, 30_000, &["predict", "--only", "race", "--method", "lockset"]),
        (Shape::OppositeLocks, 20_000, &["predict", "--only", "deadlock", "--all"]),
        (Shape::LocksAroundAccesses, 6_000, &["predict", "--only", "atomicity,nondeterminism"]),
        (Shape::Posts, 40_000, &["decide", "--order", "79999,0"]),
        (Shape::Relay, 20_000, &["states", "--class", "consistent"]),
    ];
    let place = Workplace::new();
    for (shape, size, arguments) in searches {
        place.write("t.std", shape.text(size));
        let ran = place.run(&[arguments, &["t.std", "--timeout", "1"]].concat());
        let name = shape.name();
        assert_eq!(ran.code, Some(3), "{name} {arguments:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains(LAST_RESORT), "{name} {arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_raw_report_says_what_ended_it() {
    let place = Workplace::new();
    place.write("t.std", Shape::Workers.text(40_000));
    let raw = ["predict", "t.std", "--raw", "--method", "hb", "--timeout", "1"];
    let ran = place.run(&[raw.as_slice(), &["--json"]].concat());
    assert_eq!((ran.code, &ran.json()["stopped"]["by"]), (Some(3), &"time".into()), "{}", ran.stderr);
    let ran = place.run(&[raw.as_slice(), &["--json", "--all"]].concat());
    assert_eq!((ran.code, &ran.json()["stopped"]["by"]), (Some(3), &"time".into()), "{}", ran.stderr);
    let ran = place.run(&[raw.as_slice(), &["--memory", "4k"]].concat());
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.text().starts_with("Stopped: the memory of 0 MB was used up.\nSUMMARY:"), "{}", ran.text());
}

/// What a method looks up of two threads is made for those that it is asked about: all pairs would take a gigabyte here.
#[test]
fn a_method_for_pairs_of_threads_does_not_make_all_of_them() {
    let place = Workplace::new();
    place.write("t.std", Shape::Workers.text(4_000));
    let ran =
        place.run(&["predict", "t.std", "--only", "atomicity", "--method", "avfilter", "--memory", "500M"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}{}", ran.text(), ran.stderr);
}

/// What states need is known before it is asked for.
#[test]
fn states_of_too_many_locks_are_refused() {
    let place = Workplace::new();
    place.write("t.std", Shape::Stripes.text(20_000));
    let ran = place.run(&["states", "t.std", "--memory", "500M"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("bytes of memory"), "{}", ran.stderr);
}

/// Where there is no terminal, a log shows what the time goes into.
#[test]
fn long_commands_say_that_they_work() {
    let place = Workplace::new();
    place.write("relay.std", Shape::Relay.text(40_000));
    place.write("posts.std", Shape::Posts.text(40_000));
    let commands: [(&[&str], &str); 3] = [
        (&["states", "relay.std", "--count", "--class", "consistent"], "counting"),
        (&["states", "relay.std", "--list"], "listing"),
        (&["decide", "posts.std", "--order", "79999,0"], "deciding"),
    ];
    let start = |&(arguments, doing): &(&[&str], &str)| {
        let mut command = place.command(&[arguments, &["--timeout", "11"]].concat());
        let child = command.stdout(Stdio::null()).spawn().expect("it starts");
        (arguments.join(" "), doing.to_owned(), child)
    };
    let running: Vec<_> = commands.iter().map(start).collect();
    for (arguments, doing, child) in running {
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let beat = said.lines().find(|line| line.starts_with(&doing));
        assert!(beat.is_some_and(|line| line.contains("10 s")), "{arguments}: {said}");
    }
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
    place.write("evidence.json", place.run(&["decide", "t.std", "--race", "0,1", "--json"]).stdout);
    place.run(&["generate", "--events", "100", "-o", "s.ftr"]).succeeded();
    std::fs::create_dir(place.path("hunted")).expect("it can be made");
    place.write("hunted/findings.json", found.text().replace("t.std", "../t.std"));
    for command in [
        vec!["predict", "t.std"],
        vec!["states", "t.std"],
        vec!["decide", "t.std", "--race", "0,1"],
        vec!["show", "t.std", "race-1"],
        vec!["report", "found.json", "--html", "report.html"],
        vec!["replay", "t.std", "race-1"],
        vec!["predict", "t.std", "--raw", "--method", "lockset"],
        vec!["compare", "t.std", "t.std"],
        vec!["check", "evidence.json"],
        vec!["diff", "found.json", "found.json"],
        vec!["stats", "t.std"],
        vec!["convert", "t.std", "t.ftr"],
        vec!["scrub", "s.ftr"],
        vec!["merge", "hunted", "-o", "merged"],
        vec!["generate", "--events", "1k", "-o", "g.std"],
    ] {
        let mut arguments = command.clone();
        arguments.extend(["--memory", "4k"]);
        let ran = place.run(&arguments);
        assert_eq!(ran.code, Some(3), "{command:?}: {}", ran.stderr);
        let said = ran.text() + &ran.stderr;
        assert!(said.contains("memory"), "{command:?}: {said}");
    }
    let ran = place.run(&["report", "found.json", "--html", "report.html", "--timeout", "0.000001"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("the time"), "{}", ran.stderr);
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

/// The rows that are whole are printed, and those that are not are named.
#[test]
fn a_comparison_ends_with_the_rows_that_it_has() {
    let place = endless();
    place.write("small.std", example());
    let compare = ["compare", "small.std", "t.std", "small.std", "--only", "race"];
    let limited = [compare.as_slice(), &["--timeout", "2"]].concat();
    let ran = place.run(&limited);
    assert_eq!(ran.code, Some(3), "{}{}", ran.text(), ran.stderr);
    assert!(!ran.stderr.contains(LAST_RESORT), "{}", ran.stderr);
    let rows = ran.text().lines().filter(|line| line.starts_with("small.std")).count();
    let is_cut = ran.text().lines().any(|line| line.starts_with("t.std"));
    assert_eq!((rows, is_cut), (1, false), "{}", ran.text());
    let left = "Stopped: the time of 2 s was up. Rows left out: race of t.std, race of small.std.";
    assert!(ran.stderr.contains(left), "{}", ran.stderr);
    let json = place.run(&[limited.as_slice(), &["--json"]].concat()).json();
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["stopped"]["by"], "time");
    assert_eq!(json["stopped"]["missing"][0], serde_json::json!({"trace": "t.std", "table": "race"}));
    let child = place.command(&compare).spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(2));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().is_ok_and(|s| s.success()));
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("Stopped: interrupted."), "{said}");
}

/// What is not whole when the time is up is no file.
#[test]
fn files_that_are_not_finished_in_time_do_not_appear() {
    let place = Workplace::new();
    let generate = ["generate", "--events", "4e9", "-o", "t.ftr", "--timeout", "1"];
    let ran = place.run(&generate);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("stopped: the time of 1 s was up"), "{}", ran.stderr);
    assert!(place.files().is_empty(), "{:?}", place.files());
    let mut child = place.command(&generate[..5]).spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(1));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().is_ok_and(|s| s.success()));
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    assert!(place.files().is_empty(), "{:?}", place.files());
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
