//! What a finding does to the program, in words: its harm, and how a run of it failed.

use crate::words::{printable, shown};
use findings::{Failure, Finding, FindingKind};

/// What can happen, or has happened, in a sentence without its full stop. `possible` is what the question says.
pub(crate) fn statement(finding: &Finding, possible: impl FnOnce() -> String) -> String {
    if let Some(misuse) = &finding.misuse {
        return printable(misuse);
    }
    match (&finding.failure, finding.kind) {
        (Some(_), FindingKind::Deadlock) => match finding.events.len() {
            1 => format!("A thread waits for a lock that it holds itself, {}", shown(&finding.object)),
            _ => "The program ended in this deadlock: each thread waits for a lock that the next one holds"
                .to_owned(),
        },
        (Some(failure), _) => match &failure.thread {
            Some(thread) => {
                format!("The program fails in {}: {}", shown(thread), printable(&failure.message))
            }
            None => format!("The program fails: {}", printable(&failure.message)),
        },
        (None, _) => possible(),
    }
}

/// How often a failure was met.
pub(crate) fn frequency(failure: &Failure) -> String {
    match (failure.every_run, failure.runs) {
        (true, 2..) => format!(
            "It happens in every schedule tried ({} runs), so it does not seem to depend on the schedule",
            failure.runs
        ),
        (_, runs @ 2..) => {
            format!("It happened in {} of {runs} runs, so it depends on the schedule", failure.failed_runs)
        }
        _ => "It happened in the only run".to_owned(),
    }
}

/// What the program did when the finding happened.
pub(crate) fn effect(finding: &Finding) -> Option<String> {
    finding.harm.filter(|_| finding.failure.is_none()).map(|harm| harm.in_words().to_owned())
}
