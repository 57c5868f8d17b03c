//! The figures of the README's table are the measured ones in bench/data.

use crate::page;

/// The rows of a measured table, without its head. Figures have no commas: only a name, the first cell, may be quoted.
fn rows(table: &str) -> Vec<Vec<String>> {
    let text = page(&format!("bench/data/{table}.csv"));
    let cells = |line: &str| {
        let (name, figures) = match line.strip_prefix('"') {
            Some(rest) => rest.split_once("\",").unwrap(),
            None => line.split_once(',').unwrap(),
        };
        std::iter::once(name).chain(figures.split(',')).map(str::to_owned).collect()
    };
    text.lines().skip(1).map(cells).collect()
}

/// The row that begins with this cell, in the first of these tables that has one.
fn row(tables: &[&str], first: &str) -> Vec<String> {
    let mut all = tables.iter().flat_map(|table| rows(table));
    all.find(|row| row[0] == first).unwrap_or_else(|| panic!("there is no row {first} in {tables:?}"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn the_readme_has_the_measured_figures() {
    let readme = page("README.md");
    let scenarios = row(&["scenarios-1"], "all");
    let [_, programs, errors, one, hundred, predicted, confirmed, ..] = &scenarios[..] else {
        panic!("{scenarios:?}")
    };
    let figures = format!(
        "| {errors} errors in {programs} small programs | {predicted}, all replayed | {one} in one run, {hundred} in 100 |"
    );
    assert_eq!(predicted, confirmed);
    assert!(readme.contains(&figures), "the README should have: {figures}");

    // One table for each collection of programs.
    let bugs = ["peers-1", "peers-2", "peers-3"];
    let real = ["aget", "pbzip2 0.9.4", "ctrace"].map(|program| row(&bugs, program));
    let sum = |column: usize| real.iter().map(|row| row[column].parse::<u32>().unwrap()).sum::<u32>();
    let (ours, confirmed, tsan, helgrind) = (sum(1), sum(2), sum(7), sum(10));
    assert_eq!(ours, confirmed);
    let figures = format!(
        "| races in aget, pbzip2 0.9.4, ctrace | {ours}, all replayed | {tsan} in one run | {helgrind} |"
    );
    assert!(readme.contains(&figures), "the README should have: {figures}");

    let costs = rows("peers-4");
    let ratio = |column: usize| median(costs.iter().map(|row| row[column].parse().unwrap()).collect());
    let figures = format!(
        "| CPU time, median of {} programs | {:.1} × plain | {:.1} × plain |",
        costs.len(),
        ratio(3),
        ratio(2)
    );
    assert!(readme.contains(&figures), "the README should have: {figures}");
}
