//! `foretell predict`: what it finds, what it shows, and its exit status.

use serde_json::{Value, json};

use crate::support::{Workplace, example, with_source};

/// Two threads race on `x` three times, at two places; `y` is locked; `z` depends on the value of `f`.
const SEVERAL: &str = "\
main|fork(T1)|m.c:1
main|fork(T2)|m.c:2
T1|w(x)|a.c:1
T1|w(x)|a.c:1
T1|acq(m)|a.c:2
T1|w(y)|a.c:3
T1|rel(m)|a.c:4
T1|w(z)|a.c:5
T1|w(f)|a.c:6
T2|r(x)|b.c:1
T2|acq(m)|b.c:2
T2|r(y)|b.c:3
T2|rel(m)|b.c:4
T2|r(f)|b.c:6
T2|w(z)|b.c:7
";

/// Predicts races.
fn predict(trace: &str, options: &[&str]) -> crate::support::Ran {
    let place = Workplace::new();
    place.write("t.std", trace);
    place.run(&[&["predict", "t.std", "--only", "race"], options].concat())
}

#[test]
fn shows_the_readme_s_race() {
    let place = Workplace::new();
    place.write("account.std", example());
    insta::assert_snapshot!(place.run(&["predict", "account.std"]).seen());
}

#[test]
fn one_finding_for_each_pair_of_places() {
    insta::assert_snapshot!(predict(SEVERAL, &[]).seen());
}

#[test]
fn statistics_of_the_search_are_for_verbose() {
    let told = |options: &[&str]| predict(SEVERAL, options).seen();
    for all in [&[][..], &["--all"]] {
        let verbose = told(&[&["--verbose", "--quiet"], all].concat());
        assert!(verbose.starts_with("Conflicting pairs of accesses: 5; "), "{verbose}");
        assert!(!told(all).contains("Conflicting pairs"));
    }
}

#[test]
fn json_has_what_others_rely_on() {
    let ran = predict(SEVERAL, &["--json"]);
    assert_eq!(ran.code, Some(1));
    let json = ran.json();
    assert_eq!(json["schema"], 1);
    assert_eq!(
        json["trace"],
        json!({"events": 15, "threads": 3, "locks": 1, "variables": 4, "path": "t.std"})
    );
    assert_eq!((&json["model"], &json["method"]), (&json!("rf"), &json!("poly")));
    assert_eq!((&json["unknown"], json["candidates"].is_u64()), (&json!(0), true));
    let findings = json["findings"].as_array().expect("findings");
    let about =
        |object: &str| findings.iter().find(|f| f["object"] == object).cloned().unwrap_or(Value::Null);
    let race = about("x");
    assert_eq!(race["kind"], "race");
    assert_eq!(race["rung"], "predicted");
    assert_eq!(race["guaranteed"], true);
    assert_eq!(race["locations"], json!(["a.c:1", "b.c:1"]));
    assert!(race["schedule"].is_array());
    assert_eq!(race["question"], json!({"race": [2, 9]}));
    assert_eq!(about("y"), Value::Null, "the lock keeps them apart");
    assert_eq!(about("z"), Value::Null, "the read of f orders them");
}

#[test]
fn all_lists_every_pair() {
    let merged = predict(SEVERAL, &["--json"]).json();
    let all = predict(SEVERAL, &["--json", "--all"]).json();
    let counts: u64 =
        merged["findings"].as_array().expect("findings").iter().filter_map(|f| f["count"].as_u64()).sum();
    let all = all["findings"].as_array().expect("findings");
    assert_eq!(all.len() as u64, counts);
    assert!(all.iter().all(|finding| finding["count"] == 1));
    let mut events: Vec<String> = all.iter().map(|finding| finding["events"].to_string()).collect();
    events.dedup();
    assert_eq!(events.len(), all.len(), "each pair once");
}

#[test]
fn sync_lists_more_each_with_its_rung() {
    let json = predict(SEVERAL, &["--json", "--model", "sync"]).json();
    let findings = json["findings"].as_array().expect("findings");
    let rung = |object: &str| findings.iter().find(|f| f["object"] == object).map(|f| f["rung"].clone());
    assert_eq!(rung("x"), Some(json!("predicted")));
    assert_eq!(rung("z"), Some(json!("possible")));
    assert_eq!(rung("f"), Some(json!("predicted")), "the write and the read that sees it");
}

#[test]
fn an_inexact_method_shows_only_what_is_true() {
    let json = predict(SEVERAL, &["--json", "--method", "lockset"]).json();
    assert_eq!(json["method"], "lockset");
    let findings = json["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|f| f["object"] == "z" && f["rung"] == "possible"), "{findings:?}");
    assert!(findings.iter().all(|f| f["object"] != "y"));
}

#[test]
fn a_clean_trace_exits_with_0() {
    let ran = predict("T1|acq(m)|1\nT1|w(x)|2\nT1|rel(m)|3\nT2|acq(m)|4\nT2|w(x)|5\nT2|rel(m)|6\n", &[]);
    insta::assert_snapshot!(ran.seen());
}

#[test]
fn a_budget_that_runs_out_exits_with_3() {
    // The read orders the sections, so z cannot race; but that takes more than a look.
    let trace =
        "T1|acq(m)|1\nT1|aw(x)|2\nT1|w(z)|3\nT1|rel(m)|4\nT2|ar(x)|5\nT2|acq(m)|6\nT2|rel(m)|7\nT2|w(z)|8\n";
    assert_eq!(predict(trace, &[]).code, Some(0));
    let ran = predict(trace, &["--budget", "1", "--json"]);
    assert_eq!(ran.code, Some(3), "{}", ran.seen());
    assert!(ran.json()["unknown"].as_u64().is_some_and(|unknown| unknown > 0));
}

#[test]
fn mistakes_are_told() {
    insta::assert_snapshot!("no_such_method", predict(SEVERAL, &["--method", "hp"]).seen());
    insta::assert_snapshot!("no_such_kind", predict(SEVERAL, &["--only", "dragons"]).seen());
    insta::assert_snapshot!("no_branches", predict(SEVERAL, &["--model", "branch"]).seen());
}

#[test]
fn the_source_is_shown_under_carets() {
    let place = with_source("apache-21285-buggy");
    insta::assert_snapshot!(place.run(&["predict", "apache-21285-buggy.std", "--only", "race"]).seen());
}

#[test]
fn a_source_file_is_found_beside_the_trace_and_in_the_recorded_directory() {
    let place = Workplace::new();
    std::fs::create_dir_all(place.path("run/src")).unwrap();
    std::fs::create_dir_all(place.path("built")).unwrap();
    place.write("run/src/beside.c", "a();\nbeside = 1;\n").write("built/recorded.c", "recorded = x;\n");
    let recorded = place.path("built").display().to_string();
    let trace = format!(
        "#! metadata {{\"directory\":\"{recorded}\",\"command\":[\"./a\"]}}\n\
         T1|w(x)|src/beside.c:2\nT2|w(x)|recorded.c:1\nT2|w(y)|gone.c:1\nT1|w(y)|recorded.c:77\n"
    );
    place.write("run/t.std", trace);
    let seen = place.run(&["predict", "run/t.std", "--only", "race"]).seen();
    assert!(seen.contains("2 | beside = 1;") && seen.contains("1 | recorded = x;"), "{seen}");
    assert!(!seen.contains("--> gone.c:1"), "{seen}");
    assert!(!seen.contains("foretell replay"), "text cannot be replayed: {seen}");
}

/// A trace from elsewhere must not make a report of ours carry what is on this disk.
#[test]
fn only_source_files_are_shown() {
    let place = Workplace::new();
    place.write("secret", "hunter2\n").write("t.std", "T1|w(x)|secret:1\nT2|w(x)|./secret:1\n");
    assert!(!place.run(&["predict", "t.std"]).seen().contains("hunter2"));
}

/// `p` is used by a thread that nobody joins before it is freed; `done` is set by one thread and read by another.
const MEMORY: &str = "\
main|alloc(p)|src/m.c:1
main|w(p.size)|src/m.c:2
main|fork(T1)|src/m.c:3
T1|r(p.size)|src/t.c:1
T1|w(done)|src/t.c:2
main|r(done)|src/m.c:4
main|free(p)|src/m.c:5
";

fn only_order(options: &[&str]) -> crate::support::Ran {
    let place = Workplace::new();
    place.write("t.std", MEMORY).write(
        "rules.toml",
        "[[order]]\nname = \"done too early\"\nbefore = \"t.c:2\"\nafter = \"m.c:4\"\n\n\
         [[order]]\nrule = \"5 < 4\"\n\n[[predicate]]\npossibly = \"true\"\n",
    );
    place.write("wrong.toml", "[[order]]\nbefore = \"t.c:2\"\n");
    place.write("unknown.toml", "[[order]]\nrule = \"t.c:2 < nowhere.c:1\"\n");
    place.write("malformed.toml", "[[order]]\nruel = \"1 < 2\"\n");
    place.run(&[&["predict", "t.std", "--only", "order"], options].concat())
}

#[test]
fn memory_and_stated_orders() {
    insta::assert_snapshot!(only_order(&["--order", "m.c:4 < t.c:2"]).seen());
    let events = |ran: crate::support::Ran| {
        let json = ran.json();
        let findings = json["findings"].as_array().expect("findings");
        assert!(findings.iter().all(|finding| finding["kind"] == "order"), "{findings:?}");
        findings.iter().map(|f| (f["object"].to_string(), f["events"].clone())).collect::<Vec<_>>()
    };
    let free = ("\"p\"".to_owned(), json!([6, 3]));
    // Under `rf` the read that lets main free is a read of what T1 wrote after its use.
    assert_eq!(events(only_order(&["--json"])), []);
    assert_eq!(events(only_order(&["--json", "--model", "sync"])), [free]);
    let named = ("\"done too early\"".to_owned(), json!([4, 5]));
    let numbered = ("\"5 < 4\"".to_owned(), json!([5, 4]));
    assert_eq!(events(only_order(&["--json", "--rules", "rules.toml"])), [named, numbered]);
}

#[test]
fn mistakes_in_rules_are_told() {
    insta::assert_snapshot!("half_an_order", only_order(&["--rules", "wrong.toml"]).seen());
    insta::assert_snapshot!("no_such_place", only_order(&["--rules", "unknown.toml"]).seen());
    insta::assert_snapshot!("no_such_field", only_order(&["--rules", "malformed.toml"]).seen());
    insta::assert_snapshot!("no_order", only_order(&["--order", "1 > 2"]).seen());
    insta::assert_snapshot!("no_rules", only_order(&["--rules", "none.toml"]).seen());
}

/// A file that two threads can have open at once; and a read that would see something else if T2 came first.
const CONDITIONS: &str = "\
T1|acq(l)|a.c:1
T1|mark(open,1)|a.c:2
T1|rel(l)|a.c:3
T1|w(x)|a.c:4
T1|mark(open,-1)|a.c:5
T2|acq(l)|b.c:1
T2|mark(open,1)|b.c:2
T2|mark(open,-1)|b.c:3
T2|rel(l)|b.c:4
T2|r(x)|b.c:5
";

fn only_predicate(rules: &str, options: &[&str]) -> crate::support::Ran {
    let place = Workplace::new();
    place.write("t.std", CONDITIONS).write("rules.toml", rules);
    place.run(&[&["predict", "t.std", "--only", "predicate", "--rules", "rules.toml"], options].concat())
}

const BOTH_OPEN: &str = "\
[[predicate]]
name = \"open twice\"
possibly = 'exists t, u: t != u && mark(t, \"open\") > 0 && mark(u, \"open\") > 0'
";
const READ_FIRST: &str = "[[predicate]]\npossibly = \"done(T2) == 5 && done(T1) == 0\"\n";

#[test]
fn stated_conditions() {
    insta::assert_snapshot!("open_twice", only_predicate(BOTH_OPEN, &[]).seen());
    let found = only_predicate(&format!("{BOTH_OPEN}{READ_FIRST}"), &["--json"]).json();
    let findings = found["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "under rf the read keeps what it saw: {findings:?}");
    let finding = &findings[0];
    assert_eq!((&finding["id"], &finding["kind"]), (&json!("predicate-1"), &json!("predicate")));
    assert_eq!((&finding["rung"], &finding["object"]), (&json!("predicted"), &json!("open twice")));
    assert_eq!(finding["schedule"].as_array().map(Vec::len), Some(5), "a1 to a3, b1, b2");
    let found = only_predicate(&format!("{BOTH_OPEN}{READ_FIRST}"), &["--json", "--model", "sync"]).json();
    let rungs: Vec<_> =
        found["findings"].as_array().into_iter().flatten().map(|f| f["rung"].clone()).collect();
    assert_eq!(rungs, [json!("predicted"), json!("possible")]);
    let ran = only_predicate("[[predicate]]\npossibly = \"mark(\\\"open\\\") > 2\"\n", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.seen());
    // Every run gives all back, and none needs to have the file open twice.
    let certain = "[[predicate]]\ndefinitely = 'mark(\"open\") == 1'\n";
    assert_eq!(only_predicate(certain, &[]).code, Some(0));
    let avoided = BOTH_OPEN.replace("possibly", "definitely");
    let found = only_predicate(&avoided, &["--json"]).json();
    assert_eq!(found["findings"][0]["schedule"].as_array().map(Vec::len), Some(10));
}

#[test]
fn mistakes_in_conditions_are_pointed_at() {
    let rules = format!("{BOTH_OPEN}\n[[predicate]]\npossibly = 'done(T1) > 1 && holds(T9, l)'\n");
    insta::assert_snapshot!("no_such_thread", only_predicate(&rules, &[]).seen());
    insta::assert_snapshot!("no_condition", only_predicate("[[predicate]]\nname = \"x\"\n", &[]).seen());
}

/// A balance is read and written under a lock, but not under one section of it; and main looks at it in the end.
const BANK: &str = "\
main|w(balance)|m.c:1
main|fork(T1)|m.c:2
main|fork(T2)|m.c:3
T1|acq(l)|d.c:1
T1|r(balance)|d.c:2
T1|rel(l)|d.c:3
T1|acq(l)|d.c:4
T1|w(balance)|d.c:5
T1|r(balance)|d.c:6
T1|rel(l)|d.c:7
T2|acq(l)|e.c:1
T2|w(balance)|e.c:2
T2|rel(l)|e.c:3
main|join(T1)|m.c:4
main|join(T2)|m.c:5
main|r(balance)|m.c:6
";

fn atomicity(options: &[&str]) -> Value {
    let place = Workplace::new();
    place.write("t.std", BANK);
    place.run(&[&["predict", "t.std", "--only", "atomicity", "--json"], options].concat()).json()
}

fn events(predictions: &Value) -> Vec<&Value> {
    predictions["findings"].as_array().expect("findings").iter().map(|finding| &finding["events"]).collect()
}

#[test]
fn atomicity_by_every_method() {
    let inherent = [json!([0, 7, 15]), json!([0, 11, 15])];
    let exact = atomicity(&[]);
    assert_eq!(exact["method"], "exact");
    assert_eq!(events(&exact), [&json!([4, 11, 7]), &inherent[0], &inherent[1]]);
    let is_inherent: Vec<&Value> =
        exact["findings"].as_array().expect("findings").iter().map(|f| &f["inherent"]).collect();
    assert_eq!(
        is_inherent,
        [&Value::Null, &json!(true), &json!(true)],
        "what joins keep in order comes last"
    );
    let over = atomicity(&["--method", "over"]);
    assert_eq!((&over["method"], events(&over).len()), (&json!("over"), 3));
    // The violation moves the write of T2 before the read of T1, which no read depends on.
    assert_eq!(events(&atomicity(&["--method", "avfilter"])).len(), 3);
    assert_eq!(events(&atomicity(&["--method", "under"])), events(&exact));
    assert_eq!(events(&atomicity(&["--atomic-within", "lock"])), Vec::<&Value>::new());
}

#[test]
fn options_that_do_not_fit_the_kind_are_told() {
    let seen = |options: &[&str]| {
        let place = Workplace::new();
        place.write("t.std", BANK);
        place.run(&[&["predict", "t.std"], options].concat()).seen()
    };
    insta::assert_snapshot!("method_of_another_kind", seen(&["--only", "race", "--method", "avfilter"]));
    insta::assert_snapshot!("method_of_races", seen(&["--only", "atomicity", "--method", "hb"]));
    insta::assert_snapshot!("scope_of_another_kind", seen(&["--only", "race", "--atomic-within", "lock"]));
    insta::assert_snapshot!("order_of_another_kind", seen(&["--only", "race", "--order", "1 < 2"]));
    insta::assert_snapshot!("no_call_stacks", seen(&["--only", "atomicity", "--atomic-within", "function"]));
}

#[test]
fn nondeterministic_reads_that_race_come_first() {
    let place = Workplace::new();
    // x is locked and read in either order; y races.
    let trace =
        "T1|acq(l)|1\nT1|w(x)|2\nT1|rel(l)|3\nT2|acq(l)|4\nT2|r(x)|5\nT2|rel(l)|6\nT1|w(y)|7\nT2|r(y)|8\n";
    place.write("t.std", trace);
    let ran = place.run(&["predict", "t.std", "--only", "nondeterminism", "--json"]);
    let told: Vec<(Value, Value)> = ran.json()["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|finding| (finding["object"].clone(), finding["racy"].clone()))
        .collect();
    assert_eq!(told, [(json!("y"), json!(true)), (json!("x"), json!(false))]);
    let text = place.run(&["predict", "t.std", "--only", "nondeterminism"]).text();
    assert!(text.contains("nondeterministic read on y, predicted, racy"), "{text}");
}

/// `--all` prints findings one by one; what comes out is the same object all the same.
#[test]
fn all_findings_are_streamed_into_one_object() {
    let ran = predict(SEVERAL, &["--all", "--json"]);
    assert_eq!(ran.code, Some(1));
    let json = ran.json();
    let ids: Vec<&Value> = json["findings"].as_array().expect("findings").iter().map(|f| &f["id"]).collect();
    assert_eq!(ids, [&json!("race-1"), &json!("race-2"), &json!("race-3")]);
    assert_eq!((&json["schema"], &json["unknown"]), (&json!(1), &json!(0)));
    assert!(json["funnel"]["pairs"].is_u64(), "what is known at the end comes after the findings");
    let one_by_one = predict(SEVERAL, &["--all"]).seen();
    assert!(one_by_one.contains("SUMMARY: 3 findings (3 data races)"), "{one_by_one}");
    assert_eq!(predict("a|w(x)|1\n", &["--all", "--json"]).json()["findings"], json!([]));
}

#[test]
fn what_a_method_reports_is_not_decided() {
    insta::assert_snapshot!(predict(SEVERAL, &["--raw", "--method", "lockset"]).seen());
}

#[test]
fn raw_reports_are_the_same_one_by_one() {
    let merged = predict(SEVERAL, &["--raw", "--method", "hb", "--json"]).json();
    let single = predict(SEVERAL, &["--raw", "--method", "hb", "--json", "--all"]).json();
    assert_eq!((&merged["events"], &merged["racy_events"]), (&json!(15), &single["racy_events"]));
    assert_eq!(single["pairs"].as_array().map(Vec::len), single["racy_events"].as_u64().map(|n| n as usize));
    assert_eq!(merged["pairs"][0]["locations"], json!(["a.c:1", "b.c:1"]));
    assert_eq!(single["pairs"][0]["locations"], json!(["a.c:1", "b.c:1"]));
}

#[test]
fn raw_needs_a_method_that_streams() {
    insta::assert_snapshot!(predict(SEVERAL, &["--raw"]).seen());
}

/// Findings beyond those that a person reads are printed in a line each; programs get the schedules of all of them.
#[test]
fn many_findings_are_told_in_a_line_each() {
    let place = Workplace::new();
    let settings = "--events 5k --threads 4 --locations 80 --variables 30 --disciplined-percent 50 --seed 3";
    let settings: Vec<&str> = settings.split(' ').collect();
    assert_eq!(place.run(&[&["generate", "-o", "many.std"], &settings[..]].concat()).code, Some(0));
    for method in ["poly", "syncp"] {
        let predict = |how: &[&str]| {
            place.run(&[&["predict", "many.std", "--only", "race", "--method", method], how].concat())
        };
        let json = predict(&["--json"]).json();
        let findings = json["findings"].as_array().expect("findings");
        assert!(findings.len() > 110, "{method}: only {} findings", findings.len());
        assert!(findings.iter().all(|finding| finding["schedule"].as_array().is_some_and(|s| !s.is_empty())));
        let text = String::from_utf8(predict(&[]).stdout).expect("text");
        let in_full = text.lines().filter(|line| line.starts_with("SUMMARY: foretell: data race")).count();
        assert_eq!(in_full, 100, "{method}");
        for finding in findings {
            let id = finding["id"].as_str().expect("an id");
            let number: usize = id["race-".len()..].parse().expect("a number");
            let line = text.lines().find(|line| line.contains(&format!("{id}: data race on")));
            let line = line.unwrap_or_else(|| panic!("{method}: {id} is not told"));
            let places = finding["locations"].as_array().expect("locations");
            let tells_places = places.iter().all(|place| line.contains(place.as_str().expect("a place")));
            assert!(number <= 100 || tells_places, "{method}: {line}");
        }
        let quiet = String::from_utf8(predict(&["--quiet"]).stdout).expect("text");
        assert_eq!(quiet.lines().last(), text.lines().last(), "{method}");
    }
}
