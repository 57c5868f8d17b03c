//! `foretell decide`: the verdict, its evidence, its exit status, and every way to ask wrongly.

use serde_json::{Value, json};

use crate::support::{Workplace, example};

/// Rule 1: a read of one section's write orders the sections.
const SECTIONS: &str = "\
T1|acq(m)|a.c:1
T1|w(x)|a.c:2
T1|w(z)|a.c:3
T1|rel(m)|a.c:4
T2|r(x)|b.c:1
T2|acq(m)|b.c:2
T2|r(y)|b.c:3
T2|rel(m)|b.c:4
T2|w(z)|b.c:5
";

/// Rule 2: a write must not come between a read and the write it sees.
const OVERWRITE: &str = "\
T1|w(x)|a.c:1
T2|w(j)|b.c:1
T2|r(x)|b.c:2
T2|w(k)|b.c:3
T3|w(x)|c.c:1
";

/// Two forks and a join.
const FORKS: &str = "\
main|w(x)|m.c:1
main|fork(T1)|m.c:2
T1|w(x)|t.c:1
main|join(T1)|m.c:3
main|w(x)|m.c:4
";

/// Gate: both locks are taken under a third.
const GATE: &str = "\
T1|acq(g)|a.c:1
T1|acq(a)|a.c:2
T1|acq(b)|a.c:3
T1|rel(b)|a.c:4
T1|rel(a)|a.c:5
T1|rel(g)|a.c:6
T2|acq(g)|b.c:1
T2|acq(b)|b.c:2
T2|acq(a)|b.c:3
T2|rel(a)|b.c:4
T2|rel(b)|b.c:5
T2|rel(g)|b.c:6
";

/// The same without the gate.
const INVERSION: &str = "\
T1|acq(a)|a.c:2
T1|acq(b)|a.c:3
T1|rel(b)|a.c:4
T1|rel(a)|a.c:5
T2|acq(b)|b.c:2
T2|acq(a)|b.c:3
T2|rel(a)|b.c:4
T2|rel(b)|b.c:5
";

const PERMITS: &str = "\
#! semaphore slots 1
T1|take(slots)|a.c:1
T1|w(x)|a.c:2
T1|post(slots)|a.c:3
T2|take(slots)|b.c:1
T2|w(x)|b.c:2
T2|post(slots)|b.c:3
";

/// Paper 1, figure 2: both orders of the sections end in a cycle.
const CASES: &str = "\
T1|fork(T2)|fork2
T1|fork(T3)|fork3
T1|acq(l)|acq1
T1|signal(s-p)|s
T3|wait(s-p)|p
T3|signal(q-t')|q:t'
T3|signal(q-t)|q:t
T1|wait(q-t')|t'
T1|rel(l)|rel1
T2|acq(l)|acq2
T2|mark(s',1)|s'
T2|wait(q-t)|t
T2|rel(l)|rel2
";

fn decide(trace: &str, arguments: &[&str]) -> String {
    let place = Workplace::new();
    place.write("t.std", trace);
    place.run(&[&["decide", "t.std"], arguments].concat()).seen()
}

fn example_text() -> String {
    String::from_utf8(example()).unwrap()
}

#[test]
fn a_race() {
    insta::assert_snapshot!(decide(&example_text(), &["--race", "6,15"]));
}

#[test]
fn a_race_by_locations() {
    let by_location = decide(&example_text(), &["--race", "account.c:11,account.c:18"]);
    assert_eq!(by_location, decide(&example_text(), &["--race", "8,13"]));
    insta::assert_snapshot!(by_location);
}

#[test]
fn a_race_that_reads_may_prevent() {
    insta::assert_snapshot!(decide(SECTIONS, &["--race", "2,8", "--model", "sync"]));
}

#[test]
fn an_atomicity_violation() {
    insta::assert_snapshot!(decide(&example_text(), &["--order", "5,15,6"]));
}

#[test]
fn an_order_that_is_not_guaranteed() {
    insta::assert_snapshot!(decide(SECTIONS, &["--order", "4,8,1"]));
}

#[test]
fn a_deadlock() {
    insta::assert_snapshot!(decide(INVERSION, &["--deadlock", "1,5"]));
}

#[test]
fn a_read_of_something_else() {
    insta::assert_snapshot!(decide(&example_text(), &["--reads", "account.c:20"]));
}

#[test]
fn a_read_of_the_initial_value() {
    let initial = decide("T1|w(x)|1\nT2|r(x)|2\n", &["--reads", "1=initial"]);
    assert_eq!(initial, decide("T1|w(x)|1\nT2|r(x)|2\n", &["--reads", "1=-1"]));
    insta::assert_snapshot!(initial);
}

#[test]
fn a_cut() {
    insta::assert_snapshot!(decide(FORKS, &["--cut", "main=2,T1=1"]));
    insta::assert_snapshot!("the_empty_cut", decide(FORKS, &["--cut", ""]));
}

#[test]
fn with_quiet_only_the_verdict() {
    insta::assert_snapshot!(decide(INVERSION, &["--deadlock", "1,5", "--quiet"]));
}

#[test]
fn a_long_schedule_is_abbreviated() {
    let mut trace = String::new();
    for round in 0..30 {
        let thread = 1 + round % 3;
        for access in 0..4 {
            trace.push_str(&format!("T{thread}|w(v{thread})|t{thread}.c:{access}\n"));
        }
    }
    trace.push_str("T1|w(x)|t1.c:9\nT2|w(x)|t2.c:9\n");
    insta::assert_snapshot!(decide(&trace, &["--race", "120,121"]));
    let all = decide(&trace, &["--race", "120,121", "--all-steps"]);
    assert_eq!(all.lines().filter(|line| line.contains("write v")).count(), 80, "{all}");
}

#[test]
fn many_threads_share_a_column() {
    let trace: String = (0..9).map(|thread| format!("T{thread}|w(x)|t.c:{thread}\n")).collect();
    insta::assert_snapshot!(decide(&trace, &["--order", "8,7,6,5,4,3,2,1,0"]));
}

#[test]
fn explained_by_exclusion() {
    insta::assert_snapshot!(decide(SECTIONS, &["--race", "2,8", "--explain"]));
}

#[test]
fn explained_by_overwriting() {
    insta::assert_snapshot!(decide(OVERWRITE, &["--order", "0,4,1,3", "--explain"]));
    let initial = "T1|w(j)|a.c:1\nT1|r(x)|a.c:2\nT1|w(k)|a.c:3\nT2|w(x)|b.c:1\n";
    insta::assert_snapshot!(
        "explained_by_the_initial_value",
        decide(initial, &["--order", "3,0,2", "--explain"])
    );
}

#[test]
fn explained_by_fork_and_join() {
    insta::assert_snapshot!("explained_by_fork", decide(FORKS, &["--race", "0,2", "--explain"]));
    insta::assert_snapshot!("explained_by_join", decide(FORKS, &["--race", "2,4", "--explain"]));
}

#[test]
fn explained_by_cases() {
    insta::assert_snapshot!(decide(CASES, &["--order", "s',p", "--explain"]));
    insta::assert_snapshot!("cases_in_short", decide(CASES, &["--order", "s',p"]));
}

#[test]
fn explained_by_every_source() {
    insta::assert_snapshot!(decide(&example_text(), &["--reads", "5", "--explain"]));
}

#[test]
fn explained_deadlocks_that_are_none() {
    insta::assert_snapshot!("explained_by_the_gate", decide(GATE, &["--deadlock", "2,8", "--explain"]));
    insta::assert_snapshot!(
        "explained_as_not_blocked",
        decide(INVERSION, &["--deadlock", "0,5", "--explain"])
    );
}

#[test]
fn explained_by_permits() {
    insta::assert_snapshot!(decide(PERMITS, &["--race", "1,4", "--explain"]));
}

#[test]
fn an_exhausted_budget() {
    let place = Workplace::new();
    place.write("t.std", CASES);
    let ran = place.run(&["decide", "t.std", "--order", "s',p", "--budget", "1"]);
    assert_eq!(ran.code, Some(3));
    insta::assert_snapshot!(ran.seen());
    let ran = place.run(&["decide", "t.std", "--order", "s',p", "--budget", "1", "--json"]);
    assert_eq!(ran.code, Some(3));
    let json = ran.json();
    assert_eq!((&json["verdict"], &json["budget"]), (&json!("unknown"), &json!(1)));
    assert_eq!([&json["guaranteed"], &json["schedule"], &json["refutation"]], [&Value::Null; 3]);
}

#[test]
fn the_json_is_the_contract() {
    let place = Workplace::new();
    place.write("t.std", example());
    let ran = place.run(&["decide", "t.std", "--race", "6,15", "--json"]);
    assert_eq!(ran.code, Some(1));
    let about = json!({"path": "t.std", "events": 21, "checksum": "crc32:a9aaba22"});
    let expected = json!({
        "schema": 1, "verdict": "feasible", "guaranteed": true, "model": "rf",
        "schedule": [0, 1, 2, 3, 4, 5, 11, 12, 13, 14], "refutation": null,
        "question": {"race": [6, 15]}, "trace": about, "budget": null
    });
    assert_eq!(ran.json(), expected);
    assert_eq!(ran.text().lines().count(), 1, "one object on one line");

    let ran = place.run(&["decide", "t.std", "--race", "8,13", "--json", "--model", "sync"]);
    assert_eq!(ran.code, Some(0));
    let expected = json!({
        "schema": 1, "verdict": "infeasible", "guaranteed": null, "model": "sync", "schedule": null,
        "refutation": {"steps": [{"end": {"never-released": {"held": 7, "wanted": 12, "path": []}}}]},
        "question": {"race": [8, 13]}, "trace": about, "budget": null
    });
    assert_eq!(ran.json(), expected);

    for (arguments, question) in [
        (["--order", "5,15,6"], json!({"order": [5, 15, 6]})),
        (["--deadlock", "7,12"], json!({"deadlock": [7, 12]})),
        (["--reads", "15"], json!({"reads": [15]})),
        (["--reads", "15=1"], json!({"reads": [15, 1]})),
        (["--reads", "15=initial"], json!({"reads": [15, -1]})),
        (["--cut", "main=3,auditor=0,depositor=1"], json!({"cut": {"main": 3, "depositor": 1}})),
    ] {
        let ran = place.run(&[&["decide", "t.std", "--json"], &arguments[..]].concat());
        assert_eq!(ran.json()["question"], question);
    }
    // A trace from a pipe has no path, but the same checksum in whatever form.
    place.run(&["convert", "-q", "t.std", "t.ftr"]).succeeded();
    let piped = place.run_with_input(&["decide", "-", "--race", "6,15", "--json"], &place.read("t.ftr"));
    assert_eq!(piped.json()["trace"], json!({"path": null, "events": 21, "checksum": "crc32:a9aaba22"}));
}

#[test]
fn the_schedule_goes_to_a_file() {
    let place = Workplace::new();
    place.write("t.std", INVERSION);
    let ran = place.run(&["decide", "t.std", "--deadlock", "1,5", "--schedule-out", "s.txt", "-q"]);
    assert_eq!(ran.code, Some(1));
    insta::assert_snapshot!(String::from_utf8(place.read("s.txt")).unwrap());
    let ran = place.run(&["decide", "t.std", "--deadlock", "0,4", "--schedule-out", "none.txt", "-q"]);
    insta::assert_snapshot!("no_schedule_to_write", ran.seen());
    assert_eq!(place.files(), ["s.txt", "t.std"]);
}

#[test]
fn names_cannot_play_tricks_on_the_terminal() {
    let trace = "T\u{1b}[31m|w(x\u{7})|a\u{9b}2J\nT2|w(x\u{7})|b\nT3|w(x\u{7})|b\n";
    for arguments in [["--race", "0,1"], ["--order", "0,1"], ["--race", "b,0"], ["--cut", "Tx=1"]] {
        let seen = decide(trace, &arguments);
        assert!(!seen.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{seen:?}");
    }
}

#[track_caller]
fn refusal(trace: &str, arguments: &[&str]) -> String {
    let seen = decide(trace, arguments);
    assert!(seen.ends_with("[exit 2]\n"), "{seen}");
    seen
}

#[test]
fn questions_that_make_no_sense() {
    let trace = &example_text();
    let mut seen = String::new();
    for arguments in [
        &["--race", "6"][..],
        &["--race", "6,7,8"],
        &["--race", "6,"],
        &["--race", "6,99"],
        &["--race", "6,99999999999999"],
        &["--race", "5,19"],
        &["--race", "5,6"],
        &["--race", "8,15"],
        &["--race", "2,3"],
        &["--race", "account.c:9,15"],
        &["--race", "account.c:10,15"],
        &["--race", "nowhere.c:1,15"],
        &["--order", "5"],
        &["--order", "5,5"],
        &["--deadlock", "7"],
        &["--deadlock", "6,12"],
        &["--deadlock", "17,18"],
        &["--reads", "6"],
        &["--reads", "5=8"],
        &["--reads", "5=now"],
        &["--cut", "main"],
        &["--cut", "main=many"],
        &["--cut", "main=99"],
        &["--cut", "main=1,main=2"],
        &["--cut", "nobody=1"],
    ] {
        seen.push_str(&format!("$ decide t.std {}\n{}\n", arguments.join(" "), refusal(trace, arguments)));
    }
    insta::assert_snapshot!(seen);
}

#[test]
fn usage() {
    let trace = &example_text();
    insta::assert_snapshot!("usage_no_question", refusal(trace, &[]));
    insta::assert_snapshot!("usage_two_questions", refusal(trace, &["--race", "1,2", "--order", "1,2"]));
    insta::assert_snapshot!("usage_no_model", refusal(trace, &["--race", "6,15", "--model", "tso"]));
    insta::assert_snapshot!("usage_no_branches", refusal(trace, &["--race", "6,15", "--model", "branch"]));
    insta::assert_snapshot!(
        "usage_schedule_to_stdout",
        refusal(trace, &["--race", "6,15", "--schedule-out", "-"])
    );
    refusal("", &["--race", "0,1"]);
}

#[test]
fn a_location_may_be_the_end_of_a_path_or_a_number() {
    let trace = "T1|w(x)|src/a.c:1\nT2|w(x)|7\n";
    assert!(decide(trace, &["--race", "a.c:1,@7", "-q"]).ends_with("[exit 1]\n"));
    refusal(trace, &["--race", ".c:1,@7"]);
    let many: String = (0..12).map(|i| format!("T{i}|w(x)|loop.c:3\n")).collect();
    insta::assert_snapshot!(refusal(&many, &["--race", "loop.c:3,0"]));
}
