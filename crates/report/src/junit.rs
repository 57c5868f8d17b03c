//! Findings as a JUnit report: each is a failed test case; a report without findings has one that passed. Of a whole test command, each
//! test is a case.

use check::Question;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::context::{Context, Contexts};
use crate::interleaving::Steps;
use crate::outcome::{effect, statement};
use crate::suite::result_in_words;
use crate::summary::summary;
use crate::terminal::{finding_in_words, title};
use findings::{Finding, Predictions, SuiteTest, TestOutcome};

/// The whole file. `questions` are those of the findings, in their order.
pub fn junit(contexts: &Contexts<'_>, predictions: &Predictions, questions: &[Question]) -> String {
    let name = contexts.own.name.clone().unwrap_or_else(|| "standard input".to_owned());
    let mut suite = TestSuite::new(name);
    let found: Vec<(&Finding, &Question)> = predictions.findings.iter().zip(questions).collect();
    if let Some(tests) = &predictions.suite {
        suite.add_test_cases(tests.tests.iter().map(|test| tested(contexts, test, &found)));
    } else {
        for (finding, question) in found {
            suite.add_test_case(failed(contexts.of(finding), finding, question));
        }
    }
    if predictions.findings.is_empty() && predictions.suite.is_none() {
        let mut case = TestCase::new("nothing found", TestCaseStatus::success());
        case.set_classname("foretell");
        suite.add_test_case(case);
    }
    suite.set_system_out(summary(predictions));
    let mut report = Report::new("foretell");
    report.add_test_suite(suite);
    // It is written to memory, and has no text that XML cannot hold.
    report.to_string().unwrap_or_default()
}

/// A test of a suite: it fails with what it shows, or passes; what was not hunted in is skipped.
fn tested(contexts: &Contexts<'_>, test: &SuiteTest, found: &[(&Finding, &Question)]) -> TestCase {
    let shown: Vec<_> = found.iter().filter(|(finding, _)| test.findings.contains(&finding.id)).collect();
    let mut status = match test.outcome {
        TestOutcome::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
        _ if !shown.is_empty() => TestCaseStatus::non_success(NonSuccessKind::Failure),
        TestOutcome::Hunted => TestCaseStatus::success(),
        TestOutcome::NoThreads | TestOutcome::NotReached | TestOutcome::OtherShard => {
            TestCaseStatus::skipped()
        }
    };
    let titles = shown.iter().map(|(finding, _)| format!("{}: {}", finding.id, title(finding)));
    let message = match shown.is_empty() {
        true => result_in_words(test),
        false => titles.collect::<Vec<_>>().join("; "),
    };
    if test.outcome != TestOutcome::Hunted || !shown.is_empty() {
        status.set_message(message);
    }
    if !shown.is_empty() {
        let words = |&&(finding, question): &&(&Finding, &Question)| {
            finding_in_words(contexts.of(finding), finding, question, Steps::Telling)
        };
        let told: String = shown.iter().map(words).collect::<Vec<_>>().join("\n");
        status.set_description(anstream::adapter::strip_str(&told).to_string());
    }
    let mut case = TestCase::new(test.name.as_str(), status);
    case.set_classname("foretell.test");
    case.set_time(std::time::Duration::from_millis(test.milliseconds));
    case
}

fn failed(context: &Context<'_>, finding: &Finding, question: &Question) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(finding.rung.name());
    let effect = effect(finding).map(|effect| format!("; {effect}")).unwrap_or_default();
    let said = statement(finding, || context.words().possible(question));
    status.set_message(format!("{said}{effect}"));
    let told = finding_in_words(context, finding, question, Steps::Telling);
    status.set_description(anstream::adapter::strip_str(&told).to_string());
    let mut case = TestCase::new(format!("{}: {}", finding.id, title(finding)), status);
    case.set_classname(format!("foretell.{}", finding.kind.name()));
    case
}
