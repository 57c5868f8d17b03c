//! Findings as a JUnit report: each is a failed test case; a suite without findings has one that passed.

use check::Question;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::context::{Context, Contexts};
use crate::interleaving::Steps;
use crate::outcome::{effect, statement};
use crate::summary::summary;
use crate::terminal::{finding_in_words, title};
use findings::{Finding, Predictions};

/// The whole file. `questions` are those of the findings, in their order.
pub fn junit(contexts: &Contexts<'_>, predictions: &Predictions, questions: &[Question]) -> String {
    let name = contexts.own.name.clone().unwrap_or_else(|| "standard input".to_owned());
    let mut suite = TestSuite::new(name);
    for (finding, question) in predictions.findings.iter().zip(questions) {
        suite.add_test_case(failed(contexts.of(finding), finding, question));
    }
    if predictions.findings.is_empty() {
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
