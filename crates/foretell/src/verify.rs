//! Whatever the engine says is verified by [`check`] before it is told. Where the two disagree there is no answer.

use check::{Certainty, Model, Question, Refutation};

use trace::{EventId, Trace};

use crate::diagnostics::Diagnostic;

/// Verifies a schedule.
pub fn schedule(
    trace: &Trace,
    question: &Question,
    model: Model,
    schedule: &[EventId],
) -> Result<Certainty, Diagnostic> {
    let checked = check::check_schedule(trace, question, model, schedule);
    checked.map_err(|fault| defect(question, model, "schedule", &fault.to_string()))
}

/// Verifies a refutation.
pub fn refutation(
    trace: &Trace,
    question: &Question,
    model: Model,
    refutation: &Refutation,
) -> Result<(), Diagnostic> {
    let checked = check::check_refutation(trace, question, model, refutation);
    checked.map_err(|fault| defect(question, model, "refutation", &fault.to_string()))
}

/// Two of our own disagree: there is no answer, and the user is asked to tell us.
pub fn defect(question: &Question, model: Model, what: &str, fault: &str) -> Diagnostic {
    Diagnostic::new(format!(
        "this is a defect in foretell: it found a {what} that does not hold, so there is no answer"
    ))
    .note(format!("the checker says: {fault}"))
    .note(format!("the question was {question:?} under `{}`", model.name()))
    .help(format!("please report it, with the trace, at {}/issues", env!("CARGO_PKG_REPOSITORY")))
}
