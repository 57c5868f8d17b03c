//! A finding's schedule as the file that travels.

use report::{About, Finding, Fingerprint, ModelName, Rung, ScheduleFile};

use crate::diagnostics::Diagnostic;
use crate::minimize::minimized;
use crate::open::Opened;

/// The schedule file of a finding under the model it was looked for; with as few switches as can be, if so wished.
pub fn schedule_file(
    opened: &Opened,
    finding: &Finding,
    model: ModelName,
    minimize: bool,
) -> Result<ScheduleFile, Diagnostic> {
    let trace = &opened.trace;
    let question = finding.question.about(trace).map_err(|error| Diagnostic::new(error.to_string()))?;
    let about = About::new(opened.path(), Fingerprint::of(trace));
    // What is possible only was found under the weaker model.
    let model = if finding.rung == Rung::Possible { ModelName::Sync } else { model };
    let shorter;
    let mut schedule = &finding.schedule;
    if minimize {
        shorter = minimized(trace, &question, model.into(), schedule);
        schedule = &shorter;
    }
    ScheduleFile::new(trace, &question, model, about, finding.guaranteed, schedule)
        .map_err(|error| Diagnostic::new(error.to_string()).in_file(opened.name.as_str()))
}
