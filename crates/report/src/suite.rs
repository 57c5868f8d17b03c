//! The tests of a suite, in words.

use findings::{Suite, SuiteTest, TestOutcome, TestStatus};
use textwrap::core::display_width;

use crate::figures::counted;
use crate::words::{printable, shown};

/// Names longer than this are cut in the table.
const LONGEST: usize = 50;
/// Tests that share an outcome in which there is nothing to see are listed up to this number.
const MOST_QUIET: usize = 20;

/// A table of the tests, those with findings first, and how many came to what.
pub fn suite_in_words(suite: &Suite) -> String {
    let mut tests: Vec<&SuiteTest> = suite.tests.iter().collect();
    tests.sort_by_key(|test| (test.findings.is_empty(), test.outcome != TestOutcome::Error));
    let is_quiet = |test: &SuiteTest| test.findings.is_empty() && test.outcome != TestOutcome::Error;
    let loud = tests.iter().filter(|test| !is_quiet(test)).count();
    let listed = &tests[..tests.len().min(loud + MOST_QUIET)];
    let name = |test: &SuiteTest| {
        let name = shown(&test.name);
        match name.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}..", &name[..end]),
            None => name,
        }
    };
    let width = listed.iter().map(|test| display_width(&name(test))).max().unwrap_or(0).max("test".len());
    let mut text =
        format!("{:width$}  {:>6}  {:>10}  {:>8}  result\n", "test", "runs", "behaviours", "seconds");
    for test in listed {
        let name = name(test);
        let padding = " ".repeat(width - display_width(&name));
        let (runs, behaviours) = match test.outcome {
            TestOutcome::Hunted => (test.runs.to_string(), test.behaviours.to_string()),
            _ => ("-".to_owned(), "-".to_owned()),
        };
        let seconds = test.milliseconds as f64 / 1000.0;
        let result = result_in_words(test);
        text.push_str(&format!("{name}{padding}  {runs:>6}  {behaviours:>10}  {seconds:>8.1}  {result}\n"));
    }
    if let Some(more @ 1..) = tests.len().checked_sub(listed.len()) {
        text.push_str(&format!("and {more} more without findings\n"));
    }
    text + &counts_in_words(suite) + "\n\n"
}

/// The result of a test.
pub(crate) fn result_in_words(test: &SuiteTest) -> String {
    match (&test.findings[..], &test.message) {
        ([], Some(message)) => format!("{}: {}", test.outcome.in_words(), printable(message)),
        ([], None) if test.status == TestStatus::Failed => {
            format!("{}, but the recorded run failed", test.outcome.in_words())
        }
        ([], None) if test.exhausted => "nothing found, all behaviours were run".to_owned(),
        ([], None) => test.outcome.in_words().to_owned(),
        (ids, _) => ids.join(", "),
    }
}

fn counts_in_words(suite: &Suite) -> String {
    let mut counts = vec![counted(suite.tests.len() as u64, "test")];
    let outcomes = [
        (TestOutcome::Hunted, "hunted in"),
        (TestOutcome::NoThreads, "without threads"),
        (TestOutcome::OtherShard, "in other shards"),
        (TestOutcome::NotReached, "not reached"),
        (TestOutcome::Error, "not possible to hunt in"),
    ];
    for (outcome, words) in outcomes {
        match suite.count(outcome) {
            0 => {}
            count => counts.push(format!("{count} {words}")),
        }
    }
    counts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, outcome: TestOutcome, findings: &[&str]) -> SuiteTest {
        SuiteTest {
            name: name.to_owned(),
            command: vec!["./x".to_owned()],
            status: TestStatus::Passed,
            outcome,
            message: (outcome == TestOutcome::Error).then(|| "it is a script".to_owned()),
            milliseconds: 1_250,
            runs: 7,
            behaviours: 3,
            exhausted: false,
            findings: findings.iter().map(|&id| id.to_owned()).collect(),
            directory: None,
        }
    }

    #[test]
    fn tests_with_findings_come_first() {
        let tests = vec![
            test("quiet", TestOutcome::NoThreads, &[]),
            test("broken", TestOutcome::Error, &[]),
            test("müsli", TestOutcome::Hunted, &["race-1", "deadlock-1"]),
        ];
        let suite = Suite { command: vec!["ctest".to_owned()], status: 0, tests };
        let expected = "\
test      runs  behaviours   seconds  result
müsli        7           3       1.2  race-1, deadlock-1
broken       -           -       1.2  error: it is a script
quiet        -           -       1.2  no threads
3 tests, 1 hunted in, 1 without threads, 1 not possible to hunt in

";
        assert_eq!(suite_in_words(&suite), expected);
    }

    #[test]
    fn long_suites_are_cut_where_nothing_was_found() {
        let mut tests: Vec<_> =
            (0..100).map(|number| test(&format!("t{number}"), TestOutcome::Hunted, &[])).collect();
        tests.extend((0..30).map(|number| test(&format!("b{number}"), TestOutcome::Hunted, &["race-1"])));
        let text = suite_in_words(&Suite { command: Vec::new(), status: 0, tests });
        assert_eq!(text.lines().filter(|line| line.contains("race-1")).count(), 30);
        assert!(text.contains("and 80 more without findings\n130 tests, 130 hunted in\n"), "{text}");
    }
}
