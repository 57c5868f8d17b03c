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
        (None, _) => sentence(possible()),
    }
}

/// The beginning of a sentence, unless that is the name of a thread.
fn sentence(text: String) -> String {
    match text.strip_prefix("this ") {
        Some(rest) => format!("This {rest}"),
        None => text,
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

/// What stands at the place of a failure: `T2 fails here`.
pub(crate) fn failing(failure: &Failure) -> String {
    format!("{} fails here", failure.thread.as_deref().map_or_else(|| "the program".to_owned(), shown))
}

/// A frame of a failure, `function at location`, with both parts as short as they are in other stacks.
pub(crate) fn shown_frame(frame: &str) -> String {
    match frame.rsplit_once(" at ") {
        Some((function, location)) => format!("{} at {}", shown(function), shown(location)),
        None => shown(frame),
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
    let has_begun = |name: &str| {
        context.trace.events().any(|(_, thread, _)| context.trace.symbols().thread(thread) == name)
    };
    let others = failure.threads.iter().filter(|other| Some(&other.thread) != failure.thread.as_ref());
    let mut others: Vec<_> = others.filter(|other| other.state != "finished").collect();
    // Those that only wait for the end of others are stuck because of them.
    others.sort_by_key(|other| other.waits_for.as_ref().is_some_and(|what| what.starts_with("the end of ")));
    threads.extend(others.into_iter().map(|other| {
        let what = other.waits_for.as_ref().map(|what| format!(" for {}", shown(what))).unwrap_or_default();
        let state = match &*other.state {
            "ready" if other.stack.is_empty() && !has_begun(&other.thread) => "had not begun",
            "ready" => "was ready to go on",
            "running" => "was running",
            "waiting" => "was waiting",
            "outside" => "was in a call that may block",
            other => &format!("was {}", shown(other)),
        };
        let heading = format!("{} {state}{what}", shown(&other.thread));
        ThreadAtEnd { heading, stack: context.shown_frames(&other.stack) }
    }));
    threads
}

/// What the program did when the finding happened.
pub(crate) fn effect(finding: &Finding) -> Option<String> {
    finding.harm.filter(|_| finding.failure.is_none()).map(|harm| harm.in_words().to_owned())
}
