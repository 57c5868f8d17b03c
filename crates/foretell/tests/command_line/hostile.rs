//! Traces that mean harm, and traces of other tools that mean something else than they seem to: on the command line.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::support::{Ran, Workplace};

/// One of each kind of characters that are not seen or change how others are seen.
const HIDDEN: &str = "\u{202e}\u{2066}\u{61c}\u{200b}\u{200d}\u{2060}\u{feff}\u{ad}\u{e0041}\u{fe0f}\u{3164}\u{1b}[31m\u{9b}2J\u{7}\u{7f}\u{2028}\u{85}";

fn assert_visible(what: &str, text: &[u8]) {
    let text = std::str::from_utf8(text).unwrap_or_else(|error| panic!("{what}: {error}"));
    let hidden = text.chars().find(|&c| c != '\n' && c != '\t' && report::is_hidden(c));
    assert_eq!(hidden, None, "{what}: {text}");
}

/// A race and a deadlock; names of threads, locks, variables and places hide something.
#[test]
fn no_report_has_characters_that_cannot_be_seen() {
    let place = Workplace::new();
    let (t, m, x, at) =
        (format!("T{HIDDEN}"), format!("m{HIDDEN}"), format!("x{HIDDEN}"), format!("l{HIDDEN}.c"));
    let trace = format!(
        "{t}|acq({m})|{at}:1\n{t}|acq(n)|{at}:2\n{t}|w({x})|{at}:3\n{t}|rel(n)|{at}:4\n{t}|rel({m})|{at}:5\n\
         U|acq(n)|{at}:6\nU|acq({m})|{at}:7\nU|rel({m})|{at}:8\nU|rel(n)|{at}:9\nU|w({x})|{at}:10\n"
    );
    place.write("t.std", trace);
    let files = ["--html=r.html", "--sarif=r.sarif", "--junit=r.xml", "--markdown=r.md", "--perfetto=r.json"];
    let commands: [&[&str]; 14] = [
        &[&["predict", "t.std"], &files[..]].concat(),
        &["predict", "t.std", "--verbose"],
        &["predict", "t.std", "--json"],
        &["predict", "t.std", "--format", "unix"],
        &["predict", "t.std", "--print-suppressions"],
        &["show", "t.std", "race-1"],
        &["show", "t.std", "deadlock-1"],
        &["decide", "t.std", "--race", "2,9"],
        &["decide", "t.std", "--race", "2,9", "--json"],
        &["states", "t.std", "--list"],
        &["compare", "t.std"],
        &["stats", "t.std"],
        &["stats", "t.std", "--json"],
        &["replay", "t.std", "race-1"],
    ];
    for command in commands {
        let Ran { code, stdout, stderr } = place.run(command);
        assert!(code.is_some_and(|code| code <= 2), "{command:?}: {code:?}");
        assert!(!stdout.is_empty() || !stderr.is_empty(), "{command:?}");
        assert_visible(&format!("{command:?}"), &stdout);
        assert_visible(&format!("{command:?}"), stderr.as_bytes());
    }
    for file in files {
        let (_, name) = file.split_once('=').unwrap();
        assert_visible(name, &place.read(name));
    }
    let json = place.run(&["predict", "t.std", "--json"]).json();
    assert_eq!(json["findings"][0]["object"], x.as_str(), "a program reads the name as it is");
    let proposed = place.run(&["predict", "t.std", "--print-suppressions"]).text();
    let lines = proposed.lines().filter(|line| line.starts_with("race:") || line.starts_with("deadlock:"));
    place.write("known.txt", lines.map(|line| format!("{line}\n")).collect::<String>());
    let silent = place.run(&["predict", "t.std", "--suppressions", "known.txt"]);
    assert_eq!(silent.code, Some(0), "what was proposed works: {proposed}{}", silent.stderr);
}

/// Much that says nothing, in a small file.
fn newlines(place: &Workplace, name: &str, bytes: usize) {
    let file = std::fs::File::create(place.path(name)).unwrap();
    let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let block = vec![b'\n'; 1 << 20];
    for _ in 0..bytes >> 20 {
        out.write_all(&block).unwrap();
    }
    out.finish().unwrap();
}

#[test]
fn the_time_ends_the_reading_of_what_never_ends() {
    let place = Workplace::new();
    newlines(&place, "n.std.gz", 1 << 30);
    place.write("e.std", "T0|w(x)|1\nT1|w(x)|2\n");
    place.write("e.json", place.run(&["decide", "e.std", "--race", "0,1", "--json"]).stdout);
    let commands: [&[&str]; 8] = [
        &["check", "e.json", "--trace", "n.std.gz"],
        &["compare", "n.std.gz", "--only", "race"],
        &["predict", "n.std.gz"],
        &["stats", "n.std.gz"],
        &["convert", "n.std.gz", "n.ftr"],
        &["states", "n.std.gz", "--count"],
        &["decide", "n.std.gz", "--race", "1,2"],
        &["show", "n.std.gz", "race-1"],
    ];
    for command in commands {
        let started = Instant::now();
        let ran = place.run(&[command, &["--timeout", "0.3"]].concat());
        assert_eq!(ran.code, Some(3), "{command:?}: {}", ran.stderr);
        // The comparison says which rows are missing.
        let why =
            if command[0] == "compare" { "race of n.std.gz" } else { "the trace was not read to its end" };
        assert!(ran.stderr.contains(why), "{command:?}: {}", ran.stderr);
        assert!(started.elapsed() < Duration::from_secs(10), "{command:?}: {:?}", started.elapsed());
    }
    assert!(!place.path("n.ftr").exists());
    // What cannot be evidence, or a schedule, is not unpacked.
    let others: [(&[&str], &str); 2] = [
        (&["check", "n.std.gz"], "this is not evidence"),
        (&["replay", "--schedule", "n.std.gz"], "this is not a schedule file"),
    ];
    for (command, why) in others {
        let started = Instant::now();
        let ran = place.run(command);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
}

/// Evidence and schedules are read as a whole, so the memory ends the reading of a file that unpacks to a gigabyte.
#[test]
fn the_memory_ends_the_reading_of_evidence_that_unpacks_to_much() {
    let place = Workplace::new();
    place.write("e.std", "T0|r(x)|1\nT1|w(x)|2\n");
    let decide = ["decide", "e.std", "--reads", "0=1", "--model", "sync", "-q", "--schedule-out", "e.sched"];
    place.run(&decide);
    let header = String::from_utf8(place.read("e.sched")).expect("it is text");
    let header = header.replace("foretell-schedule 1", "foretell-schedule 2");
    let start = header.split("# id").next().expect("it has a header");
    let files = [("s.sched.gz", start, "1|T1|0|w(x)|2|0|0\n"), ("e.json.gz", "{", " ")];
    for (name, start, line) in files {
        let file = std::fs::File::create(place.path(name)).unwrap();
        let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        let block = line.repeat((1 << 20) / line.len());
        out.write_all(start.as_bytes()).unwrap();
        (0..512).for_each(|_| out.write_all(block.as_bytes()).unwrap());
        out.finish().unwrap();
    }
    let commands: [&[&str]; 3] = [
        &["check", "s.sched.gz", "--trace", "e.std"],
        &["check", "e.json.gz", "--trace", "e.std"],
        &["replay", "--schedule", "s.sched.gz"],
    ];
    for command in commands {
        let ran = place.run(&[command, &["--memory", "200M"]].concat());
        assert_eq!(ran.code, Some(3), "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("the file was not read to its end"), "{command:?}: {}", ran.stderr);
    }
}

/// All writes are cases of each split here: the checker does not make a list of them for each.
#[test]
fn a_refutation_that_splits_often_takes_no_memory_for_each_case() {
    let place = Workplace::new();
    place.write("t.std", format!("T0|r(x)|1\n{}", "T1|w(x)|2\n".repeat(40_000)));
    let mut evidence = place.run(&["decide", "t.std", "--reads", "0", "--model", "sync", "--json"]).json();
    let split = || [serde_json::json!({"split": {"source": 0}}), serde_json::json!({"case": 0})];
    evidence["verdict"] = "infeasible".into();
    evidence["schedule"] = serde_json::Value::Null;
    evidence["guaranteed"] = serde_json::Value::Null;
    evidence["refutation"] =
        serde_json::json!({"steps": (0..5_000).flat_map(|_| split()).collect::<Vec<_>>()});
    place.write("e.json", evidence.to_string());
    let ran = place.run(&["check", "e.json", "--memory", "300M"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.text(), ran.stderr);
    assert!(ran.text().contains("stops before it is complete"), "{}", ran.text());
}

/// A condition that is long without being nested is refused, or answered.
#[test]
fn conditions_that_are_long_do_not_overflow_the_stack() {
    let place = Workplace::new();
    place.write("t.std", "T0|w(x)|1\nT1|w(y)|2\n");
    let names: Vec<String> = (0..50_000).map(|number| format!("t{number}")).collect();
    let conditions = [
        (format!("{} > 0", vec!["1"; 100_000].join(" + ")), 2),
        (format!("exists {}: true", names.join(", ")), 2),
        (vec!["done(T0) == 3"; 50_000].join(" || "), 0),
    ];
    for (condition, code) in conditions {
        place.write("rules.toml", format!("[[predicate]]\npossibly = '{condition}'\n"));
        let ran = place.run(&["predict", "t.std", "--rules", "rules.toml"]);
        assert_eq!(ran.code, Some(code), "{}: {}", &condition[..30], ran.stderr);
    }
}

/// `A` holds `p` and waits on the monitor `q`; `B` needs `p` before it can notify. The trace logs `wait` where waiting begins, as Java's tools do.
const WAITS_WITH_A_LOCK: &str = "M|fork(A)|1\nM|fork(B)|2\nB|acq(p)|20\nB|rel(p)|21\n\
    A|acq(p)|10\nA|acq(q)|11\nA|rel(q)|12\nA|wait(q)|12\nB|acq(q)|22\nB|notify(q)|23\nB|rel(q)|24\n\
    A|acq(q)|12\nA|rel(q)|13\nA|rel(p)|14\n";

/// `A` waits for `B`, which takes `p` and then `q`, before it starts `C`, which takes `q` and then `p`: no deadlock. Where the wait is
/// taken for one that is over, nothing orders `B` before `C`.
const ORDERED_BY_A_WAIT: &str = "A|fork(B)|1\nA|acq(c)|2\nA|rel(c)|4\nA|wait(c)|4\n\
    B|acq(p)|10\nB|acq(q)|11\nB|acq(c)|12\nB|notify(c)|13\nB|rel(c)|14\nB|rel(q)|15\nB|rel(p)|16\n\
    A|acq(c)|4\nA|rel(c)|5\nA|fork(C)|6\nC|acq(q)|20\nC|acq(p)|21\nC|rel(p)|22\nC|rel(q)|23\n";

#[test]
fn waits_that_are_logged_where_they_begin() {
    let place = Workplace::new();
    place.write("held.std", WAITS_WITH_A_LOCK).write("ordered.std", ORDERED_BY_A_WAIT);
    let found = place.run(&["predict", "held.std", "--only", "deadlock"]);
    assert_eq!(found.code, Some(1), "{}", found.seen());
    assert!(found.stderr.contains("1 wait is logged where waiting begins"), "{}", found.stderr);
    assert!(found.text().contains("A's wait for q"), "{}", found.text());
    let as_woken = place.run(&["predict", "held.std", "--only", "deadlock", "--wait", "woken"]);
    assert!(as_woken.stderr.contains("1 wait is without a signal"), "{}", as_woken.stderr);
    assert!(!as_woken.text().contains("A's wait for q"), "{}", as_woken.text());
    let silent = place.run(&["predict", "ordered.std", "--only", "deadlock"]);
    assert!(!silent.text().contains("acquire of p"), "B and C do not meet: {}", silent.text());
    let as_woken = place.run(&["predict", "ordered.std", "--only", "deadlock", "--wait", "woken"]);
    assert!(as_woken.text().contains("deadlock on"), "what is wrong without it: {}", as_woken.text());
}

#[test]
fn what_cannot_have_happened_is_refused_with_both_lines_or_left_out_and_marked() {
    let place = Workplace::new();
    let twice = "M|fork(A)|1\nM|fork(A)|2\nA|w(x)|3\nM|w(x)|4\n";
    let held = "A|acq(m)|1\nB|acq(m)|2\nA|w(x)|3\nA|rel(m)|4\nB|w(x)|5\nB|rel(m)|6\n";
    for (text, first, second) in [(twice, 1, 2), (held, 1, 2)] {
        place.write("t.std", text);
        let refused = place.run(&["predict", "t.std"]);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(&format!("t.std:{second}:")), "{}", refused.stderr);
        assert!(refused.stderr.contains(&format!("line {first}")), "{}", refused.stderr);
        assert!(refused.stderr.contains("`--lenient`"), "{}", refused.stderr);
        let read = place.run(&["predict", "t.std", "--lenient", "--json"]);
        assert_eq!(read.code, Some(1), "{}", read.stderr);
        assert!(read.stderr.contains("left out"), "{}", read.stderr);
        let found = read.json();
        let findings = found["findings"].as_array().unwrap();
        assert!(
            !findings.is_empty() && findings.iter().all(|finding| finding["rung"] == "possible"),
            "{found}"
        );
    }
}
