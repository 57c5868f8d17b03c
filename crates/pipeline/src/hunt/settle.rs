//! The end of a hunt: findings with the same cause become one, the most harmful first, and ids follow the rank.
//!
//! While a hunt goes on, each variable and set of locations is a finding of its own: which of them does harm is known only when they have
//! been replayed.

use std::collections::BTreeMap;

use report::{
    Failure, Finding, FindingKind, Harm, Predictions, Rung, group_by_cause, is_of_the_system, number_by_rank,
};

use super::fixes::{Causes, Recordings};
use super::run_directory::RunDirectory;
use crate::error::Error;

/// Puts findings with the same cause together, numbers them by rank, and keeps them so. Their schedules follow, and their fixes.
pub(super) fn settle(
    directory: &RunDirectory,
    recordings: &Recordings<'_>,
    predictions: &mut Predictions,
) -> Result<(), Error> {
    let mut findings = std::mem::take(&mut predictions.findings);
    findings.sort_by_key(Finding::rank);
    let before: Vec<String> = findings.iter().map(|finding| finding.id.clone()).collect();
    leave_out_explained_hangs(&mut findings);
    let causes = Causes::of(&findings);
    findings = group_by_cause(findings);
    causes.fix_as_a_whole(recordings, &mut findings);
    let kept: Vec<String> = findings.iter().map(|finding| finding.id.clone()).collect();
    number_by_rank(&mut findings);
    let now: BTreeMap<&String, &str> =
        kept.iter().zip(findings.iter().map(|finding| finding.id.as_str())).collect();
    directory.rename_schedules(before.iter().map(|id| (id.as_str(), now.get(id).copied())))?;
    predictions.findings = findings;
    directory.save(predictions)
}

/// A run in which no thread can go on is what a confirmed deadlock comes to, if a thread waits where that deadlock is.
fn leave_out_explained_hangs(findings: &mut Vec<Finding>) {
    let is_confirmed = |finding: &&Finding| {
        finding.kind == FindingKind::Deadlock
            && finding.rung == Rung::Confirmed
            && finding.harm == Some(Harm::Hang)
    };
    let deadlocks: Vec<String> =
        findings.iter().filter(is_confirmed).flat_map(|finding| finding.locations.clone()).collect();
    let placed: Vec<String> = findings
        .iter()
        .filter(is_confirmed)
        .filter(|finding| !lies_in_the_library(finding))
        .map(|finding| finding.object.clone())
        .collect();
    findings.retain(|finding| {
        // The same wait in another run, whose stack does not reach the program's own code.
        let is_again =
            is_confirmed(&finding) && lies_in_the_library(finding) && placed.contains(&finding.object);
        if is_again {
            return false;
        }
        let hang = finding
            .failure
            .as_ref()
            .filter(|_| finding.kind == FindingKind::Failure && finding.harm == Some(Harm::Hang));
        !hang.is_some_and(|failure| deadlocks.iter().any(|place| waits_at(failure, place)))
    });
}

fn lies_in_the_library(finding: &Finding) -> bool {
    finding.locations.iter().all(|place| is_of_the_system(place))
}

/// Whether a thread waits at this place.
fn waits_at(failure: &Failure, place: &str) -> bool {
    let line = match place.rsplit_once(':') {
        Some((line, column)) if line.contains(':') && column.parse::<u32>().is_ok() => line,
        _ => place,
    };
    let waiting = failure.threads.iter().filter(|thread| thread.state == "waiting");
    // The standard library's frames are those of the waiting itself.
    let mut innermost = waiting.filter_map(|thread| {
        let mut places = thread.stack.iter().filter_map(|frame| Some(frame.rsplit_once(" at ")?.1));
        places.find(|place| !is_of_the_system(place))
    });
    innermost.any(|at| at == place || at == line)
}

#[cfg(test)]
mod tests {
    use report::FailureThread;

    use super::*;

    #[test]
    fn a_hang_is_explained_by_where_threads_wait() {
        let thread = |state: &str, frame: &str| FailureThread {
            thread: "T1".to_owned(),
            state: state.to_owned(),
            waits_for: None,
            stack: vec![frame.to_owned(), "main at main.c:9".to_owned()],
        };
        let mut threads =
            vec![thread("waiting", "pop at src/queue.c:29"), thread("finished", "end at src/a.c:3")];
        threads[0].stack.insert(0, "futex_wait at /rustc/5980/library/std/src/sys/futex.rs:73".to_owned());
        let failure = Failure { threads, ..Failure::default() };
        assert!(waits_at(&failure, "src/queue.c:29:35") && waits_at(&failure, "src/queue.c:29"));
        for elsewhere in ["src/queue.c:2", "src/queue.c:290", "src/a.c:3", "main.c:9"] {
            assert!(!waits_at(&failure, elsewhere), "{elsewhere}");
        }
    }
}
