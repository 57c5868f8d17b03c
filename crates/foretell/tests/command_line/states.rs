//! `foretell states`: counts, lists, single states, conditions, and every way to ask wrongly.

use serde_json::{Value, json};

use crate::support::{Ran, Workplace};

/// Paper 2's figure 1: a file that two threads can have open at once.
const FILE: &str = "\
t1|acq(l)|a.c:1
t1|mark(f,1)|a.c:2
t1|rel(l)|a.c:3
t1|mark(f,0)|a.c:4
t2|acq(l)|b.c:1
t2|mark(f,1)|b.c:2
t2|mark(f,0)|b.c:3
t2|rel(l)|b.c:4
";

/// Paper 2's figure 3: one that they cannot.
const ONE_AT_A_TIME: &str = "\
t1|acq(l)|a.c:1
t1|signal(n)|a.c:2
t1|mark(f,1)|a.c:3
t1|mark(f,0)|a.c:4
t1|rel(l)|a.c:5
t3|acq(l)|c.c:1
t3|wait(n)|c.c:2
t3|signal(m)|c.c:3
t2|wait(m)|b.c:1
t2|mark(f,1)|b.c:2
t3|rel(l)|c.c:4
";

const BOTH_OPEN: &str = "exists t, u: t != u && value(t, f) > 0 && value(u, f) > 0";

fn workplace() -> Workplace {
    let workplace = Workplace::new();
    workplace.write("file.std", FILE).write("one.std", ONE_AT_A_TIME);
    workplace
}

#[track_caller]
fn run(arguments: &[&str], exit: i32) -> Ran {
    let ran = workplace().run(arguments);
    assert_eq!(ran.code, Some(exit), "{}", ran.seen());
    ran
}

#[track_caller]
fn json_of(arguments: &[&str], exit: i32) -> Value {
    run(arguments, exit).json()
}

#[test]
fn counts_each_class() {
    for (class, count) in
        [("consistent", 25), ("feasible", 19), ("strong", 19), ("reachable", 19), ("lock-free", 6)]
    {
        let found = json_of(&["states", "file.std", "--class", class, "--json"], 0);
        assert_eq!(found["count"], json!(count.to_string()), "{class}");
        assert_eq!(found["class"], json!(class));
    }
    assert_eq!(workplace().run(&["states", "file.std"]).succeeded().text(), "19 reachable states\n");
}

#[test]
fn lists_in_lexical_order() {
    let found = json_of(&["states", "file.std", "--list", "--json"], 0);
    let states: Vec<Vec<u32>> = serde_json::from_value(found["states"].clone()).expect("lists of numbers");
    assert_eq!((states.len(), &found["count"]), (19, &json!("19")));
    assert!(states.is_sorted());
    let first = json_of(&["states", "file.std", "--list", "--limit", "2", "--json"], 0);
    assert_eq!((&first["states"], &first["count"]), (&json!([[0, 0], [0, 1]]), &json!("19")));
    let text = workplace().run(&["states", "file.std", "--list", "--limit", "2", "-q"]).succeeded().text();
    assert_eq!(text, "t1  t2\n 0   0\n 0   1\n");
}

#[test]
fn tells_all_about_one_state() {
    let reachable = run(&["states", "file.std", "--cut", "t1=3,t2=2"], 1).text();
    insta::assert_snapshot!("one_reachable", reachable);
    let unreachable = run(&["states", "one.std", "--cut", "t1=3,t2=2,t3=4", "--why"], 0);
    insta::assert_snapshot!("one_unreachable", unreachable.text());
    let found = json_of(&["states", "one.std", "--cut", "t1=3,t2=2,t3=4", "--json"], 0);
    assert_eq!((&found["cut"]["feasible"], &found["cut"]["strong"]), (&json!(true), &json!(false)));
    assert!(found["cut"]["refutation"].is_object() && found["schedule"].is_null());
}

#[test]
fn searches_for_a_condition() {
    let found = json_of(&["states", "file.std", "--possibly", BOTH_OPEN, "--json"], 1);
    assert_eq!((&found["holds"], &found["states"]), (&json!(true), &json!([[3, 2]])));
    assert_eq!(found["schedule"], json!([0, 1, 2, 4, 5]));
    let found = json_of(&["states", "one.std", "--possibly", BOTH_OPEN, "--json"], 0);
    assert_eq!((&found["holds"], &found["schedule"]), (&json!(false), &Value::Null));
    let path_of = |condition: &str, status| {
        json_of(&["states", "file.std", "--possibly", condition, "--json"], status)["path"].clone()
    };
    assert_eq!(path_of("ended(t1) && done(t2) > 0", 1), "stable");
    assert_eq!(path_of("done(t1) < 2", 1), "initial");
    assert_eq!(path_of("done(t1) == 2", 1), "conjunctive");
    assert_eq!(path_of("done(t1) > done(t2) + 1", 1), "linear");
    assert_eq!(path_of("exists t, u: t != u && done(t) == 2 && done(u) == 2", 0), "enumeration");
    let found = json_of(&["states", "file.std", "--definitely", "value(t1, f) == 1", "--json"], 1);
    assert_eq!(found["holds"], json!(true));
    let avoided = run(&["states", "file.std", "--definitely", BOTH_OPEN], 0);
    insta::assert_snapshot!("avoided", avoided.text());
}

#[test]
fn says_when_a_budget_ran_out() {
    let arguments = ["states", "file.std", "--possibly", BOTH_OPEN, "--budget", "3", "--json"];
    let found = json_of(&arguments, 3);
    assert!(found["holds"].is_null() && found["exhausted"].is_string(), "{found}");
    let listed = json_of(&["states", "file.std", "--list", "--budget", "3", "--json"], 3);
    assert_eq!(listed["states"].as_array().map(Vec::len), Some(3));
}

#[test]
fn points_at_mistakes() {
    let said = |arguments: &[&str]| run(arguments, 2).stderr;
    insta::assert_snapshot!("no_such_thread", said(&["states", "file.std", "--possibly", "holds(t9, l)"]));
    insta::assert_snapshot!("unfinished", said(&["states", "file.std", "--possibly", "holds(t1, l) &&"]));
    assert!(said(&["states", "file.std", "--cut", "t1=9"]).contains("has only 4 events"));
    assert!(said(&["states", "file.std", "--cut", "t1"]).contains("is not of the form THREAD=COUNT"));
    assert!(said(&["states", "file.std", "--why"]).contains("--cut"));
}
