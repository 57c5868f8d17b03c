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
    for kind in ["race", "atomicity", "nondeterminism"] {
        let form = |form: &str| compare(&["--only", kind, "--format", form]);
        let (csv, markdown, text) = (form("csv"), form("markdown"), form("text"));
        assert_eq!(words(&csv), words(&markdown));
        assert_eq!(words(&csv), words(&text));
        assert!(markdown.lines().nth(1).is_some_and(|rule| rule.starts_with("|---|")));
    }
    let all = compare(&["--format", "markdown"]);
    let titles: Vec<&str> = all.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(titles, ["## Races", "## Atomicity violations", "## Nondeterministic reads"]);
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

/// The cells of a table's rows by the names of their columns.
fn table(place: &Workplace, kind: &str, traces: &[&str]) -> Vec<std::collections::HashMap<String, String>> {
    let csv =
        place.run(&[&["compare", "--format", "csv", "--only", kind], traces].concat()).succeeded().text();
    let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    lines.map(|row| header.iter().cloned().zip(row).collect()).collect()
}

#[test]
fn paper_5_counts_violations_and_variables_by_method() {
    let place = Workplace::new();
    // Row 6 of table 1, twice, and main looks before and after: that is how it is meant.
    let trace = "main|w(x)|0\nmain|fork(T1)|1\nmain|fork(T2)|2\nT1|w(x)|3\nT1|r(x)|4\nT2|w(x)|5\nT1|w(y)|6\nT1|r(y)|7\n\
                 T2|w(y)|8\nmain|join(T1)|9\nmain|join(T2)|10\nmain|r(x)|11\n";
    place.write("t.std", trace);
    let row = &table(&place, "atomicity", &["t.std"])[0];
    let cells = ["over", "avfilter", "under", "exact", "sv-over", "sv-avfilter", "sv-under", "sv-exact"];
    assert_eq!(cells.map(|name| row[name].as_str()), ["2", "2", "0", "2", "2", "2", "0", "2"]);
    let json = place.run(&["compare", "--json", "--only", "atomicity", "t.std"]).succeeded().json();
    assert_eq!(json["atomicity"][0]["methods"][3]["variables"], serde_json::json!(["x", "y"]));
    assert_eq!(json["rows"], serde_json::json!([]), "not asked for");
}

#[test]
fn paper_4_counts_witnesses_by_phase() {
    let place = Workplace::new();
    let papers = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/papers");
    for figure in ["p4-fig1", "p4-fig5"] {
        let text = std::fs::read(papers.join(format!("{figure}.std"))).expect("the corpus is there");
        place.write(&format!("{figure}.std"), text);
    }
    for row in table(&place, "nondeterminism", &["p4-fig1.std", "p4-fig5.std"]) {
        let number = |name: &str| row[name].parse::<u64>().expect(name);
        let settled = number("cycles") + number("no choices") + number("choices");
        assert_eq!(settled, number("witnesses"), "{row:?}");
        assert_eq!(number("feasible") + number("infeasible"), number("witnesses"), "{row:?}");
        assert!(number("witnesses") > 0);
        assert_eq!(row["choices"] == "0", row["graphs"] == "-");
    }
}
