//! `--baseline` and `diff`: what is new, known and fixed.

use crate::support::{Ran, Workplace};

/// Races on `x` and `counter`.
const BEFORE: &str = "main|fork(T1)|m.c:1\nmain|fork(T2)|m.c:2\nT1|w(x)|a.c:1\nT2|w(x)|b.c:1\n\
                      T1|w(counter)|a.c:9\nT2|w(counter)|b.c:9\n";
/// The race on `counter` is fixed; there is one on `total`.
const AFTER: &str = "main|fork(T1)|m.c:1\nmain|fork(T2)|m.c:2\nT1|w(x)|a.c:1\nT2|w(x)|b.c:1\n\
                     T1|w(total)|a.c:20\nT2|r(total)|b.c:20\n";

/// A directory with both traces, and the findings of each.
fn workplace() -> Workplace {
    let place = Workplace::new();
    place.write("before.std", BEFORE).write("after.std", AFTER);
    for name in ["before", "after"] {
        let ran = place.run(&["predict", &format!("{name}.std"), "--only", "race", "--json"]);
        place.write(&format!("{name}.json"), ran.text());
    }
    place
}

fn predict(place: &Workplace, trace: &str, options: &[&str]) -> Ran {
    place.run(&[&["predict", trace, "--only", "race", "--baseline", "before.json"], options].concat())
}

#[test]
fn only_new_findings_are_reported_and_fail() {
    let place = workplace();
    let unchanged = predict(&place, "before.std", &[]);
    assert_eq!(unchanged.code, Some(0), "{}", unchanged.seen());
    insta::assert_snapshot!("unchanged", unchanged.seen());
    let changed = predict(&place, "after.std", &[]);
    assert_eq!(changed.code, Some(1), "{}", changed.seen());
    let text = changed.text();
    assert!(text.contains("data race on total") && !text.contains("data race on x"), "{text}");
    assert!(text.contains("1 finding known and not shown, 1 not found again"), "{text}");
}

#[test]
fn programs_are_told_what_is_known_and_fixed() {
    let place = workplace();
    let json = predict(&place, "after.std", &["--json"]).json();
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["baseline"]["known"], serde_json::json!(["race-1"]));
    assert_eq!(json["baseline"]["fixed"][0]["object"], "counter");
    // Code scanning takes what is missing for fixed, so all are there.
    predict(&place, "after.std", &["--quiet", "--sarif", "out.sarif"]);
    let sarif: serde_json::Value = serde_json::from_slice(&place.read("out.sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let states: Vec<_> = results.iter().map(|result| result["baselineState"].as_str().unwrap()).collect();
    assert_eq!(states, ["unchanged", "new"]);
}

#[test]
fn two_reports_are_compared() {
    let place = workplace();
    let changed = place.run(&["diff", "before.json", "after.json"]);
    assert_eq!(changed.code, Some(1), "{}", changed.seen());
    insta::assert_snapshot!("changed", changed.seen());
    let same = place.run(&["diff", "after.json", "after.json"]);
    assert_eq!(same.code, Some(0), "{}", same.seen());
    assert_eq!(same.text(), "SUMMARY: 0 new, 2 known, 0 fixed\n");
    let json = place.run(&["diff", "before.json", "after.json", "--json"]).json();
    assert_eq!(json["new"], serde_json::json!(["race-2"]));
    assert_eq!(json["known"], serde_json::json!(["race-1"]));
}

#[test]
fn what_is_no_report_is_refused() {
    let place = workplace();
    for wrong in ["before.std", "missing.json"] {
        let ran = place.run(&["diff", wrong, "after.json"]);
        assert_eq!(ran.code, Some(2), "{}", ran.seen());
        assert!(ran.seen().contains(wrong), "{}", ran.seen());
    }
}
