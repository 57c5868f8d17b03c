//! Misuse of locks, condition variables, threads and signal handlers that the recorded run itself shows. Each has the run up to the call as its schedule.
//! That of condition variables with two mutexes is predicted as well ([`two_mutexes`]).

use check::{Model, Question};
use decide::{Index, Options};
use report::{Finding, FindingKind, Predictions, Rung, Words};
use trace::{EventId, Misuse, MisuseKind, Trace};

use super::two_mutexes;
use crate::error::Error;
use crate::first_party::{FirstParty, function_of};
use crate::verify;

/// Whether there is anything to look at.
pub(super) fn is_possible(trace: &Trace) -> bool {
    !trace.metadata().misuses.is_empty() || two_mutexes::are_possible(trace)
}

/// Adds the misuses of a trace to the findings, one for each object, kind and location.
pub(super) fn search(
    index: &Index<'_>,
    options: Options,
    first_party: &FirstParty,
    predictions: &mut Predictions,
) -> Result<(), Error> {
    let trace = index.trace();
    let mut found: Vec<(&Misuse, u64)> = Vec::new();
    for misuse in &trace.metadata().misuses {
        // Metadata can come from anywhere.
        if misuse.event as usize >= trace.len() {
            continue;
        }
        let is_same = |(known, _): &&mut (&Misuse, u64)| {
            (known.what, &known.location) == (misuse.what, &misuse.location)
                && (misuse.what == MisuseKind::NotJoined || known.object == misuse.object)
        };
        match found.iter_mut().find(is_same) {
            Some((_, count)) => *count += 1,
            None => found.push((misuse, 1)),
        }
    }
    for (number, (misuse, count)) in found.iter().enumerate() {
        predictions.candidates += 1;
        let schedule = (0..=misuse.event).map(EventId).collect();
        let case = Case { misuse: (*misuse).clone(), schedule, rung: Rung::Predicted };
        predictions.findings.push(finding(trace, first_party, case, *count, number + 1)?);
    }
    for (number, case) in two_mutexes::search(index, options).into_iter().enumerate() {
        predictions.candidates += 1;
        predictions.findings.push(finding(trace, first_party, case, 1, found.len() + number + 1)?);
    }
    Ok(())
}

/// A misuse, and a schedule that ends in it.
pub(super) struct Case {
    pub(super) misuse: Misuse,
    pub(super) schedule: Vec<EventId>,
    pub(super) rung: Rung,
}

fn finding(
    trace: &Trace,
    first_party: &FirstParty,
    case: Case,
    count: u64,
    number: usize,
) -> Result<Finding, Error> {
    let Case { misuse, schedule, rung } = case;
    let event = EventId(misuse.event);
    let mut counts = vec![0; trace.symbols().threads.len()];
    schedule.iter().for_each(|&event| counts[trace.thread(event).index()] += 1);
    let question = Question::Cut(counts);
    let certainty = verify::schedule(trace, &question, Model::ReadsFrom, &schedule)?;
    Ok(Finding {
        id: format!("{}-{number}", FindingKind::Misuse.name()),
        guaranteed: certainty.guaranteed,
        events: vec![i64::from(event.0)],
        object: misuse.object.clone(),
        locations: vec![misuse.location.clone()],
        functions: function_of(trace, event).into_iter().collect(),
        count,
        misuse: Some(in_words(trace, &misuse)),
        call: Some(call_in_words(&misuse)),
        third_party: !first_party.has(trace, event),
        schedule,
        ..Finding::new(FindingKind::Misuse, rung, question.written(trace))
    })
}

/// What the call does: `unlocks m`.
fn call_in_words(misuse: &Misuse) -> String {
    let object = report::shown(&misuse.object);
    match misuse.what {
        MisuseKind::UnlockByAnother
        | MisuseKind::UnlockOfUnlocked
        | MisuseKind::ReadUnlockOfWriteLock
        | MisuseKind::WriteUnlockOfReadLock => format!("unlocks {object}"),
        MisuseKind::DoubleLock | MisuseKind::BothOrders => format!("locks {object}"),
        MisuseKind::DestroyOfLocked | MisuseKind::DestroyInUse => format!("destroys {object}"),
        MisuseKind::LockHeldHere => format!("holds {object}"),
        MisuseKind::UseAfterDestroy | MisuseKind::UseAfterFree | MisuseKind::NotInitialised => {
            format!("uses {object}")
        }
        MisuseKind::TwoMutexes => format!("waits for {object}"),
        MisuseKind::NotJoined => format!("creates {object}"),
        MisuseKind::JoinedTwice => format!("joins or detaches {object}"),
        MisuseKind::AllocationInHandler => "allocates or frees memory".to_owned(),
        MisuseKind::LockInHandler => "takes a lock".to_owned(),
        MisuseKind::IgnoringAtEnd => "begins to ignore accesses".to_owned(),
        MisuseKind::ErrnoInHandler => "changes `errno`".to_owned(),
    }
}

fn in_words(trace: &Trace, misuse: &Misuse) -> String {
    let words = Words::new(trace);
    let thread = words.thread_of(EventId(misuse.event));
    let place = report::shown(&misuse.location);
    let object = report::shown(&misuse.object);
    let other = misuse.other.as_deref().map_or_else(|| "another thread".to_owned(), report::shown);
    let call = format!("{thread} {} at {place}", call_in_words(misuse));
    match misuse.what {
        MisuseKind::UnlockByAnother => {
            format!("{call}, which {other} has locked: only the thread that locked a mutex may unlock it")
        }
        MisuseKind::UnlockOfUnlocked => format!("{call}, which no thread has locked"),
        MisuseKind::DoubleLock if misuse.other.is_some() => format!("{call}, which {other} holds"),
        MisuseKind::DoubleLock => format!("{call}, which it holds already and which cannot be locked twice"),
        MisuseKind::BothOrders => format!(
            "{call} while it holds {other}, but takes them in another order at {}: two threads that do this at once can deadlock",
            report::shown(misuse.earlier.as_deref().unwrap_or_default())
        ),
        MisuseKind::ReadUnlockOfWriteLock => format!("{call} as a reader, but holds it as a writer"),
        MisuseKind::WriteUnlockOfReadLock => format!("{call} as a writer, but holds it as a reader"),
        MisuseKind::DestroyOfLocked => format!("{call}, which {other} holds"),
        MisuseKind::DestroyInUse => format!("{call}, which other threads wait for"),
        MisuseKind::LockHeldHere => format!("{call}, where the program says that no lock is held"),
        MisuseKind::UseAfterDestroy => format!("{call} after it was destroyed"),
        MisuseKind::UseAfterFree => format!("{call} after it has freed it"),
        MisuseKind::NotInitialised => format!("{call}, which was never initialised"),
        MisuseKind::TwoMutexes => {
            format!("{call} with another mutex than {other}, which still waits for it")
        }
        MisuseKind::NotJoined => format!(
            "{object}, created at {place}, has ended and is neither joined nor detached: its memory is never freed"
        ),
        MisuseKind::JoinedTwice => format!("{call}, which was joined or detached before"),
        MisuseKind::AllocationInHandler => format!(
            "{call} in a signal handler, which can deadlock or corrupt the heap: neither is async-signal-safe"
        ),
        MisuseKind::LockInHandler => {
            format!("{call} in a signal handler, which deadlocks if the interrupted code holds it")
        }
        MisuseKind::IgnoringAtEnd => format!(
            "{object} ends while its accesses are ignored since {place}: an annotation that ends this is missing"
        ),
        MisuseKind::ErrnoInHandler => format!(
            "the signal handler at {place} changes `errno` in {thread} and does not restore it: the code it interrupts may see a wrong error"
        ),
    }
}
