//! The figures of the README's table are those of bench/RESULTS.md.

use crate::page;

/// The cells of the row that begins with this, below a heading.
fn row<'t>(text: &'t str, heading: &str, first: &str) -> Vec<&'t str> {
    let below = text.split_once(heading).unwrap_or_else(|| panic!("RESULTS.md has no {heading}")).1;
    let line = below.lines().find(|line| line.starts_with(&format!("| {first} |")));
    cells(line.unwrap_or_else(|| panic!("there is no row {first} below {heading}")))
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn the_readme_has_the_measured_figures() {
    let (readme, results) = (page("README.md"), page("bench/RESULTS.md"));
    let scenarios = row(&results, "## Scenarios", "all");
    let [_, programs, errors, one, hundred, predicted, confirmed, ..] = scenarios[..] else {
        panic!("{scenarios:?}")
    };
    let figures = format!(
        "| {errors} errors in {programs} small programs | {predicted}, all replayed | {one} in one run, {hundred} in 100 |"
    );
    assert_eq!(predicted, confirmed);
    assert!(readme.contains(&figures), "the README should have: {figures}");

    let real = ["aget", "pbzip2 0.9.4", "ctrace"].map(|program| row(&results, "### Distinct bugs", program));
    let sum = |column: usize| real.iter().map(|row| row[column].parse::<u32>().unwrap()).sum::<u32>();
    let (ours, confirmed, tsan, helgrind) = (sum(1), sum(2), sum(7), sum(10));
    assert_eq!(ours, confirmed);
    let figures = format!(
        "| races in aget, pbzip2 0.9.4, ctrace | {ours}, all replayed | {tsan} in one run | {helgrind} |"
    );
    assert!(readme.contains(&figures), "the README should have: {figures}");

    let costs = results.split_once("### What it costs").unwrap().1;
    let rows: Vec<Vec<&str>> = costs
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect();
    let ratio = |column: usize| median(rows.iter().map(|row| row[column].parse().unwrap()).collect());
    let figures = format!(
        "| CPU time, median of {} programs | {:.1} × plain | {:.1} × plain |",
        rows.len(),
        ratio(3),
        ratio(2)
    );
    assert!(readme.contains(&figures), "the README should have: {figures}");
}
