//! `foretell compare`: the table of methods, in each layout.

use crate::support::Workplace;

/// Paper 1's figure 7, second trace: `cp` misses the race on y, `ucg` reports one on x that is none.
fn figure() -> String {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/papers/p1-fig7-trace2.std");
    std::fs::read_to_string(path).expect("the corpus is there")
}

fn compare(options: &[&str]) -> String {
    let place = Workplace::new();
    place.write("fig7.std", figure());
    place.run(&[&["compare", "fig7.std"], options].concat()).succeeded().text()
}

#[test]
fn counts_racy_events_by_method() {
    let csv = compare(&["--format", "csv"]);
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let cell = |name: &str| lines[1][lines[0].iter().position(|&column| column == name).expect(name)];
    let found = ["pairs", "lockset", "hb", "cp", "syncp", "ucg", "poly"].map(cell);
    assert_eq!(found, ["2", "2", "0", "0", "1", "2", "1"]);
    assert_eq!((cell("evs"), cell("rwevs (r/w)")), ("10", "6 (2/4)"));
}

#[test]
fn every_layout_has_the_same_cells() {
    let words = |text: &str| {
        text.split(|c: char| c == ',' || c == '|' || c.is_whitespace())
            .filter(|w| !w.is_empty() && !w.starts_with("---"))
            .count()
    };
    let (csv, markdown, text) =
        (compare(&["--format", "csv"]), compare(&["--format", "markdown"]), compare(&[]));
    assert_eq!(words(&csv), words(&markdown));
    assert_eq!(words(&csv), words(&text));
    assert!(markdown.lines().nth(1).is_some_and(|rule| rule.starts_with("|---|")));
}

#[test]
fn json_has_a_row_for_each_trace() {
    let place = Workplace::new();
    place.write("a.std", figure()).write("b.std", "T1|w(x)|1\nT2|w(x)|2\n");
    let json = place.run(&["compare", "--json", "a.std", "b.std"]).succeeded().json();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["rows"][1]["methods"][5]["method"], "poly");
    assert_eq!(json["rows"][1]["methods"][5]["racy_events"], 1);
}
