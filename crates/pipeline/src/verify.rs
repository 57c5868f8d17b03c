//! Whatever the engine says is verified by [`check`] before it is reported. If the two disagree, there is no answer.

use check::{Certainty, Model, Question, Refutation, ScheduleChecker};

use trace::{EventId, Trace};

use crate::error::{Error, ErrorKind};

/// Verifies a schedule.
pub fn schedule(
    trace: &Trace,
    question: &Question,
    model: Model,
    schedule: &[EventId],
) -> Result<Certainty, Error> {
    schedule_by(&ScheduleChecker::new(trace), question, model, schedule)
}

/// Verifies one of many schedules of a trace.
pub fn schedule_by(
    checker: &ScheduleChecker<'_>,
    question: &Question,
    model: Model,
    schedule: &[EventId],
) -> Result<Certainty, Error> {
    let checked = checker.check(question, model, schedule);
    checked.map_err(|fault| defect(question, model, "schedule", &fault.to_string()))
}

/// Verifies a refutation.
pub fn refutation(
    trace: &Trace,
    question: &Question,
    model: Model,
    refutation: &Refutation,
) -> Result<(), Error> {
    let checked = check::check_refutation(trace, question, model, refutation);
    checked.map_err(|fault| defect(question, model, "refutation", &fault.to_string()))
}

/// The engine and the checker disagree: there is no answer, and the user is asked to report it.
pub fn defect(question: &Question, model: Model, what: &'static str, fault: &str) -> Error {
    Error::from(ErrorKind::Defect(what))
        .note(format!("the checker says: {fault}"))
        .note(format!("the question was {question:?} under `{}`", model.name()))
        .help(format!("please report it, with the trace, at {}/issues", env!("CARGO_PKG_REPOSITORY")))
}
