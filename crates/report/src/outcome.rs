//! What a finding does to the program, in words: its harm, and how a run of it failed.

use crate::context::Context;
use crate::words::{listed, printable, shown};
use findings::{Failure, Finding, FindingKind};

/// What can happen, or has happened, in a sentence without its full stop. `possible` is what the question says.
pub(crate) fn statement(finding: &Finding, possible: impl FnOnce() -> String) -> String {
    if let Some(misuse) = &finding.misuse {
        return printable(misuse);
    }
    match (&finding.failure, finding.kind) {
        (Some(failure), FindingKind::Deadlock) => match (failure.is_cycle, finding.events.len()) {
            (true, 1) => {
                format!("A thread waits for a lock that it holds itself, {}", shown(&finding.object))
            }
            (true, _) => {
                "The program ended in this deadlock: each thread waits for a lock that the next one holds"
                    .to_owned()
            }
            (false, _) => stuck(failure),
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

/// What threads wait for that nobody will wake.
fn stuck(failure: &Failure) -> String {
    let waits = failure.threads.iter().filter_map(|thread| {
        Some(format!("{} waits for {}", shown(&thread.thread), shown(thread.waits_for.as_deref()?)))
    });
    format!("The program ended in this deadlock, in which no thread can go on: {}", listed(waits))
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

/// A thread when the program failed.
pub(crate) struct ThreadAtEnd<'f> {
    /// `T2 failed here`, `T1 was waiting for gate`.
    pub(crate) heading: String,
    /// Its calls, the innermost first: `function at location`.
    pub(crate) stack: Vec<&'f str>,
}

/// Where the failing thread was, and what the others were doing that had not finished.
pub(crate) fn threads_at_end<'f>(context: &Context<'_>, failure: &'f Failure) -> Vec<ThreadAtEnd<'f>> {
    let mut threads = Vec::new();
    if !failure.stack.is_empty() {
        let thread = failure.thread.as_deref().unwrap_or("The program");
        let heading = format!("{} failed here", shown(thread));
        threads.push(ThreadAtEnd { heading, stack: context.shown_frames(&failure.stack) });
    }
    let others = failure.threads.iter().filter(|other| Some(&other.thread) != failure.thread.as_ref());
    threads.extend(others.filter(|other| other.state != "finished").map(|other| {
        let what = other.waits_for.as_ref().map(|what| format!(" for {}", shown(what))).unwrap_or_default();
        let heading = format!("{} was {}{what}", shown(&other.thread), shown(&other.state));
        ThreadAtEnd { heading, stack: context.shown_frames(&other.stack) }
    }));
    threads
}

/// What the program did when the finding happened.
pub(crate) fn effect(finding: &Finding) -> Option<String> {
    finding.harm.filter(|_| finding.failure.is_none()).map(|harm| harm.in_words().to_owned())
}
