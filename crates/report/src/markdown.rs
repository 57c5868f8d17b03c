//! Findings as Markdown, for the summary of a CI job.

use findings::{Finding, Predictions, TestOutcome};

use crate::context::Contexts;
use crate::outcome::effect;
use crate::suite::result_in_words;
use crate::summary::summary;
use crate::terminal::{reproduction, title};
use crate::words::printable;

/// The most findings, and the most tests, that have a row: summaries of jobs are limited.
const MOST: usize = 100;

/// The whole text: what was found in a table, how to see it happen, and the tests of a suite.
pub fn markdown(contexts: &Contexts<'_>, predictions: &Predictions) -> String {
    let summary = summary(predictions);
    let last = summary.lines().last().unwrap_or_default();
    let mut text = format!("### Foretell: {}\n\n", cell(last.trim_start_matches("SUMMARY: ")));
    let findings = &predictions.findings;
    if !findings.is_empty() {
        text.push_str("| finding | what | where | see it happen |\n|---|---|---|---|\n");
        findings.iter().take(MOST).for_each(|finding| text.push_str(&row(contexts, finding)));
        text.push_str(&left_out(findings.len(), "findings"));
        text.push('\n');
    }
    for line in summary.lines().filter(|line| !line.starts_with("SUMMARY:")) {
        text.push_str(&format!("{}\n\n", cell(line)));
    }
    if let Some(suite) = &predictions.suite {
        let loud =
            |test: &&findings::SuiteTest| !test.findings.is_empty() || test.outcome == TestOutcome::Error;
        let tests: Vec<_> = suite.tests.iter().filter(loud).collect();
        let quiet = suite.tests.len() - tests.len();
        text.push_str("| test | result |\n|---|---|\n");
        for test in tests.iter().take(MOST) {
            text.push_str(&format!(
                "| {} | {} |\n",
                cell(&printable(&test.name)),
                cell(&result_in_words(test))
            ));
        }
        text.push_str(&left_out(tests.len(), "tests"));
        text.push_str(&format!("\n{quiet} of {} tests show nothing.\n", suite.tests.len()));
    }
    text
}

fn row(contexts: &Contexts<'_>, finding: &Finding) -> String {
    let effect = effect(finding).map(|effect| format!("; {effect}")).unwrap_or_default();
    let what = format!("{}, {}{effect}", title(finding), finding.rung.name());
    let mut places: Vec<String> =
        finding.locations.iter().map(|place| format!("`{}`", code(&printable(place)))).collect();
    places.dedup();
    let command = reproduction(contexts.of(finding), finding);
    let command = command.map(|command| format!("`{}`", code(&command))).unwrap_or_default();
    format!("| {} | {} | {} | {command} |\n", finding.id, cell(&what), places.join("<br>"))
}

fn left_out(count: usize, what: &str) -> String {
    match count.checked_sub(MOST) {
        Some(more @ 1..) => format!("\nand {more} more {what}\n"),
        _ => String::new(),
    }
}

/// Text in a cell: nothing in it is markup.
fn cell(text: &str) -> String {
    let mut cell = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => cell.push(' '),
            '|' | '*' | '_' | '[' | ']' | '`' | '\\' | '#' | '~' => cell.extend(['\\', c]),
            '<' => cell.push_str("&lt;"),
            '&' => cell.push_str("&amp;"),
            c => cell.push(c),
        }
    }
    cell
}

/// Text between backticks in a cell.
fn code(text: &str) -> String {
    text.replace('`', "'").replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        assert_eq!(cell("a|b *c* <img src=x> `d`\n# e"), "a\\|b \\*c\\* &lt;img src=x> \\`d\\` \\# e");
        assert_eq!(code("x`y|z"), "x'y\\|z");
        assert_eq!(left_out(MOST, "tests") + &left_out(MOST + 2, "tests"), "\nand 2 more tests\n");
    }
}
