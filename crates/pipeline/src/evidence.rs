//! Evidence from a file, verified by the trusted checker alone: the engine that found it has no part in this.

mod fault;
mod parse;

use std::path::{Path, PathBuf};

use check::{Question, check_refutation, check_schedule};
use report::{
    About, ClaimedVerdict, Contradiction, Evidence, Fingerprint, ScheduleFile, counted, printable, shown,
};
use trace::Trace;

use crate::error::{Error, ErrorKind};
use crate::observer::Observer;
pub use fault::Fault;
pub(crate) use parse::{content, schedule};

/// Evidence, as a file has it.
#[derive(Clone, Debug)]
pub struct EvidenceFile {
    /// The file, as the user named it.
    pub name: String,
    /// The evidence.
    pub evidence: Evidence,
    /// The schedule file that it came as, if it did.
    pub schedule_file: Option<ScheduleFile>,
}

impl EvidenceFile {
    /// Whether there is something to verify.
    pub fn require_verdict(&self) -> Result<(), Error> {
        match self.evidence.verdict {
            ClaimedVerdict::Unknown => {
                Err(Error::from(ErrorKind::NothingToVerify).in_file(self.name.as_str()))
            }
            ClaimedVerdict::Feasible | ClaimedVerdict::Infeasible => Ok(()),
        }
    }

    /// Where its trace is: at the path that the evidence has for it, from here or, if there is nothing, from where the evidence is.
    /// `own` is the evidence's own path, if it has one.
    pub fn trace_path(&self, own: Option<&Path>) -> Result<PathBuf, Error> {
        let Some(path) = &self.evidence.trace.path else {
            return Err(Error::from(ErrorKind::UnknownTrace)
                .in_file(self.name.as_str())
                .help("name the trace with `--trace T`"));
        };
        let from_here = PathBuf::from(path);
        let from_evidence = own.and_then(|own| own.parent()).map(|directory| directory.join(path));
        let is_only_there = |other: &PathBuf| !from_here.exists() && other.exists();
        Ok(from_evidence.filter(is_only_there).unwrap_or(from_here))
    }

    /// Whether the evidence shows what it claims to show. What could not be compared is a warning.
    pub fn verify(&self, trace: &Trace, observer: &mut dyn Observer) -> Result<(), Fault> {
        let evidence = &self.evidence;
        let question = evidence.question.about(trace).map_err(|error| Fault::new("question", error))?;
        question.validate(trace).map_err(|error| Fault::new("question", error))?;
        if let Some(file) = &self.schedule_file {
            compare_with_trace(file, trace, &question, observer)?;
        }
        match (evidence.verdict, &evidence.schedule, &evidence.refutation) {
            (ClaimedVerdict::Feasible, Some(schedule), None) => {
                let certainty = check_schedule(trace, &question, evidence.model, schedule)
                    .map_err(|fault| Fault::of_schedule(trace, schedule, &fault))?;
                match (evidence.guaranteed, certainty.guaranteed) {
                    (Some(claimed), found) if claimed == found => Ok(()),
                    (_, true) => Err(Fault::new("guaranteed", "it must be true for this schedule")),
                    (_, false) => Err(Fault::new("guaranteed", "it must be false for this schedule")),
                }
            }
            (ClaimedVerdict::Infeasible, None, Some(refutation)) => {
                check_refutation(trace, &question, evidence.model, refutation)
                    .map_err(|fault| Fault::of_refutation(trace, refutation, &fault))
            }
            (ClaimedVerdict::Feasible, ..) => {
                Err(Fault::new("schedule", "a feasible verdict has a schedule and no refutation"))
            }
            (ClaimedVerdict::Infeasible | ClaimedVerdict::Unknown, ..) => {
                Err(Fault::new("refutation", "an infeasible verdict has a refutation and no schedule"))
            }
        }
    }
}

/// Whether the evidence is about this trace, from this file.
pub fn require_same_trace(about: &About, trace: &Trace, file: &str) -> Result<(), Error> {
    let Fingerprint { events, checksum } = Fingerprint::of(trace);
    if (events, &checksum) == (about.events, &about.checksum) {
        return Ok(());
    }
    Err(Error::from(ErrorKind::EvidenceOfAnotherTrace)
        .in_file(file)
        .note(format!("this trace has {} and checksum {checksum}", counted(events as u64, "event")))
        .note(format!(
            "the evidence belongs to a trace with {} and checksum {}",
            counted(about.events as u64, "event"),
            shown(&about.checksum)
        ))
        .help("name the trace it was decided on with `--trace T`"))
}

/// Whether the lines of a schedule file say what the trace says.
fn compare_with_trace(
    file: &ScheduleFile,
    trace: &Trace,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<(), Fault> {
    let contradiction =
        file.contradiction(trace, question).map_err(|error| Fault::new("trace", error.to_string()))?;
    if let Some(Contradiction { line, event, found, expected }) = contradiction {
        // Whole: where they differ may be what a shorter form leaves out.
        let (found, expected) = (printable(&found), printable(&expected));
        let message = format!("it says `{found}`, but in the trace event {event} is `{expected}`");
        return Err(Fault::new(format!("line {line}"), message).about(event));
    }
    if file.can_be_replayed() && trace.notes().is_none() {
        let warning = Error::from(ErrorKind::PositionsNotCompared);
        observer.warning(warning.help("name the native trace with `--trace T`"));
    }
    if file.can_be_replayed() && file.command != trace.metadata().command && trace.notes().is_some() {
        let line = |words: &[String]| printable(&words.join(" "));
        observer.warning(
            Error::from(ErrorKind::AnotherCommand)
                .note(format!("the schedule: {}", line(&file.command)))
                .note(format!("the trace: {}", line(&trace.metadata().command))),
        );
    }
    Ok(())
}
