//! `foretell show`: one finding, from what was saved or searched for again.

use crate::support::{PHILOSOPHERS, Workplace, example, with_source};

#[test]
fn one_finding_in_full() {
    let place = with_source("apache-21285-buggy");
    insta::assert_snapshot!(place.run(&["show", "apache-21285-buggy.std", "race-2", "--all-steps"]).seen());
}

#[test]
fn an_unknown_id_is_told_with_those_there_are() {
    let place = Workplace::new();
    place.write("account.std", example()).write("clean.std", "T1|w(x)|1\n");
    let ran = [["account.std", "race-9"], ["clean.std", "race-1"]]
        .map(|[t, id]| place.run(&["show", t, id]).seen());
    insta::assert_snapshot!(ran.join("\n"));
}

#[test]
fn saved_findings_beside_the_trace_are_used_if_they_are_about_it() {
    let place = Workplace::new();
    place.write("t.std", PHILOSOPHERS);
    let saved = place.run(&["predict", "t.std", "--json"]).text();
    place.write("findings.json", saved.replace("deadlock-1", "deadlock-77"));
    assert_eq!(place.run(&["show", "t.std", "deadlock-77"]).code, Some(1));
    assert_eq!(place.run(&["show", "t.std", "deadlock-1"]).code, Some(2));
    place.write("other.std", PHILOSOPHERS);
    assert_eq!(
        place.run(&["show", "other.std", "deadlock-1", "--json"]).json()["findings"][0]["id"],
        "deadlock-1"
    );
}
