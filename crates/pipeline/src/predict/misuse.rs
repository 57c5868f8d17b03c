//! Misuse of locks and condition variables that the recorded run itself shows. Each has the run up to the call as its schedule.

use check::{Model, Question};
use report::{Finding, FindingKind, Predictions, Rung, Words};
use trace::{ConditionId, EventId, LockId, Misuse, MisuseKind, SemaphoreId, ThreadId, Trace};

use crate::error::Error;
use crate::first_party::{FirstParty, function_of};
use crate::verify;

/// Adds the misuses of a trace to the findings, one for each object, kind and location.
pub(super) fn search(
    trace: &Trace,
    first_party: &FirstParty,
    predictions: &mut Predictions,
) -> Result<(), Error> {
    let mut found: Vec<(Misuse, u64)> = Vec::new();
    for misuse in &trace.metadata().misuses {
        // Metadata can come from anywhere.
        if misuse.event as usize >= trace.len() || object(trace, misuse).is_none() {
            continue;
        }
        let location = |misuse: &Misuse| trace.location(EventId(misuse.event));
        let is_same = |(known, _): &&mut (Misuse, u64)| {
            (known.what, known.object, location(known)) == (misuse.what, misuse.object, location(misuse))
        };
        match found.iter_mut().find(is_same) {
            Some((_, count)) => *count += 1,
            None => found.push((*misuse, 1)),
        }
    }
    for (index, (misuse, count)) in found.iter().enumerate() {
        predictions.candidates += 1;
        predictions.findings.push(finding(trace, first_party, misuse, *count, index + 1)?);
    }
    Ok(())
}

fn finding(
    trace: &Trace,
    first_party: &FirstParty,
    misuse: &Misuse,
    count: u64,
    number: usize,
) -> Result<Finding, Error> {
    let event = EventId(misuse.event);
    let schedule: Vec<EventId> = (0..=event.index()).map(EventId::new).collect();
    let mut counts = vec![0; trace.symbols().threads.len()];
    schedule.iter().for_each(|&event| counts[trace.thread(event).index()] += 1);
    let question = Question::Cut(counts);
    let certainty = verify::schedule(trace, &question, Model::ReadsFrom, &schedule)?;
    Ok(Finding {
        id: format!("{}-{number}", FindingKind::Misuse.name()),
        kind: FindingKind::Misuse,
        rung: Rung::Predicted,
        harm: None,
        difference: Vec::new(),
        shown: None,
        guaranteed: certainty.guaranteed,
        events: vec![i64::from(event.0)],
        object: object(trace, misuse).unwrap_or_default().to_owned(),
        locations: vec![trace.symbols().location(trace.location(event)).to_owned()],
        functions: function_of(trace, event).into_iter().collect(),
        count,
        more: Vec::new(),
        pattern: None,
        racy: None,
        inherent: false,
        memory_orders: Vec::new(),
        fix: None,
        misuse: Some(in_words(trace, misuse)),
        third_party: !first_party.has(trace, event),
        schedule,
        question: question.written(trace),
        recording: None,
        tests: Vec::new(),
        failure: None,
        replay: None,
    })
}

/// What is misused, if the trace has it.
fn object<'t>(trace: &'t Trace, misuse: &Misuse) -> Option<&'t str> {
    let (symbols, index) = (trace.symbols(), misuse.object as usize);
    let names = match misuse.what {
        MisuseKind::UnlockByAnother => &symbols.semaphores,
        MisuseKind::UnlockOfUnlocked => &symbols.locks,
        MisuseKind::TwoMutexes => &symbols.conditions,
    };
    let is_known =
        index < names.len() && misuse.other.is_none_or(|other| (other as usize) < symbols.threads.len());
    is_known.then(|| match misuse.what {
        MisuseKind::UnlockByAnother => symbols.semaphore(SemaphoreId(misuse.object)),
        MisuseKind::UnlockOfUnlocked => symbols.lock(LockId(misuse.object)),
        MisuseKind::TwoMutexes => symbols.condition(ConditionId(misuse.object)),
    })
}

fn in_words(trace: &Trace, misuse: &Misuse) -> String {
    let words = Words::new(trace);
    let event = EventId(misuse.event);
    let (thread, place) = (words.thread_of(event), words.location(event));
    let object = report::shown(object(trace, misuse).unwrap_or_default());
    let other =
        misuse.other.map_or_else(|| "another thread".to_owned(), |other| words.thread(ThreadId(other)));
    match misuse.what {
        MisuseKind::UnlockByAnother => format!(
            "{thread} unlocks {object} at {place}, which {other} has locked: only the thread that locked a mutex may unlock it. In this trace {object} counts as a semaphore"
        ),
        MisuseKind::UnlockOfUnlocked => {
            format!("{thread} unlocks {object} at {place}, which nobody has locked")
        }
        MisuseKind::TwoMutexes => format!(
            "{thread} waits for {object} at {place} with another mutex than {other}, which still waits for it"
        ),
    }
}
