//! A finding's schedule as the file that travels.

use check::{Model, Question};
use papers::races::hb;
use report::{About, Finding, Fingerprint, Rung, ScheduleFile};
use trace::{EventId, ExpectedFailure, ThreadId, Trace};

use crate::error::{Error, ErrorKind};
use crate::minimize::minimized;
use crate::trace_file::TraceFile;

/// In a longer recording the recorded order is not replayed.
const LONGEST: usize = 100_000;

/// The recorded run up to the last event that a finding names, if it is one of what reads see: a replay along it sees what was seen.
pub fn recorded_order(
    opened: &TraceFile,
    finding: &Finding,
    model: Model,
) -> Result<Option<ScheduleFile>, Error> {
    let ordered = matches!(finding.question, Question::Order(_) | Question::Reads(..));
    let Some(last) = finding.named_events().max().filter(|_| ordered) else { return Ok(None) };
    if last.index() >= LONGEST {
        return Ok(None);
    }
    let schedule = (0..=last.index()).map(EventId::new).collect();
    schedule_file(opened, &Finding { schedule, ..finding.clone() }, model, false).map(Some)
}

/// The schedule file of a finding under the model it was looked for; with as few switches as possible if `minimize` is set.
pub fn schedule_file(
    opened: &TraceFile,
    finding: &Finding,
    model: Model,
    minimize: bool,
) -> Result<ScheduleFile, Error> {
    let trace = &opened.trace;
    let question = finding.question.about(trace).map_err(|error| ErrorKind::Question(error.to_string()))?;
    let about = About::new(opened.path(), Fingerprint::of(trace));
    // What is possible or likely only was found under a weaker model.
    let model = match finding.rung {
        Rung::Possible => Model::Sync,
        Rung::Likely => Model::Branch,
        Rung::Diverged | Rung::Predicted | Rung::Confirmed => model,
    };
    let shorter;
    let mut schedule = &finding.schedule;
    if minimize {
        shorter = minimized(trace, &question, model, schedule);
        schedule = &shorter;
    }
    let file = ScheduleFile::new(trace, &question, model, about, finding.guaranteed, schedule)
        .map_err(|error| Error::from(ErrorKind::Schedule(error.to_string())).in_file(opened.name.as_str()))?;
    let unordered = check::unordered_reads(trace, &question, model, schedule);
    let file = match unordered {
        Ok(reads) if within_reach(&question) && (!reads.is_empty() || is_kept_apart(trace, &question)) => {
            file.with_recorded_order(trace).map_err(|error| ErrorKind::Schedule(error.to_string()))?
        }
        _ => file,
    };
    Ok(ScheduleFile { failure: finding.failure.as_ref().map(|failure| scheduled(failure, trace)), ..file })
}

/// Whether two accesses race in the recorded order itself, though a lock keeps them apart whose order the program has ignored: no replay
/// brings both next.
fn is_kept_apart(trace: &Trace, question: &Question) -> bool {
    match question {
        Question::Race(a, b) if trace.metadata().ignores_orders => {
            hb::races(trace).any(|pair| pair.second == *a.max(b))
        }
        _ => false,
    }
}

/// Whether the recorded order up to all events is replayed.
fn within_reach(question: &Question) -> bool {
    question.named().into_iter().all(|event| event.index() < LONGEST)
}

/// A failure as a schedule file has it.
fn scheduled(failure: &report::Failure, trace: &Trace) -> ExpectedFailure {
    let mut threads = (0..trace.symbols().threads.len()).map(ThreadId::new);
    let failed = |thread: &ThreadId| failure.thread.as_deref() == Some(trace.symbols().thread(*thread));
    let thread = threads.find(failed).and_then(|thread| trace.notes()?.path(thread));
    ExpectedFailure { identity: failure.identity.clone(), thread }
}
