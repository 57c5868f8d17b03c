//! `foretell check`: whether an answer's evidence holds, by the trusted checker alone.

mod fault;
mod source;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use check::{Question, check_refutation, check_schedule};
use clap::Args;
use report::{About, ClaimedVerdict, Contradiction, Evidence, Fingerprint, SCHEMA, ScheduleFile, Words};
use serde::Serialize;
use trace::Trace;

use pipeline::predict::MemoryOrders;

use crate::arguments::one_of;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::mode::OutputMode;
use crate::open::{Reading, open_as};
use crate::output;
use crate::table::{counted, name};
use fault::Fault;
use pipeline::Bounds;

const EXAMPLES: &str = "\
The evidence names its trace by path and checksum. If the path does not exist,
it is tried relative to the evidence. The checker only uses the trace, not the
engine that found the evidence.

Examples:
  foretell decide run.ftr --race 4,9 --json > race.json
  foretell check race.json                    verify it against run.ftr
  foretell check race.json --trace copy.std   verify it against a copy
  foretell decide - --race 4,9 --json < t.ftr | foretell check - --trace t.ftr

Exit status: 0 the evidence holds, 1 it is wrong, 2 it cannot be checked: it
cannot be read, belongs to another trace, or its verdict is unknown.";

/// Verify a schedule or a refutation that `decide` wrote.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// The evidence: JSON or a schedule file; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: OsString,
    /// The trace, if it is not at the path that the evidence names.
    #[arg(long, value_name = "T")]
    trace: Option<OsString>,
    /// What the memory orders meant when it was decided: as `recorded`, or all `sc`.
    #[arg(long, value_name = "ORDER", value_parser = one_of(MemoryOrders::ALL, MemoryOrders::name))]
    #[arg(default_value = MemoryOrders::Recorded.name(), hide_possible_values = true)]
    memory_order: MemoryOrders,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    mode: OutputMode,
}

/// The contract is docs/json.md.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    verified: bool,
    verdict: ClaimedVerdict,
    guaranteed: Option<bool>,
    fault: Option<&'a Fault>,
}

impl Check {
    /// Verifies, and says what came of it.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let bytes = source::read(&self.file)?;
        self.check(&bytes)
    }

    fn check(&self, bytes: &[u8]) -> Result<Exit, Diagnostic> {
        let source::Read { evidence, file } = source::parse(&self.file, bytes)?;
        if evidence.verdict == ClaimedVerdict::Unknown {
            return Err(Diagnostic::new("there is nothing to verify: the verdict is unknown")
                .in_file(source::named(&self.file)));
        }
        let trace = self.open_trace(&evidence.trace)?;
        let verified = verify(&trace, &evidence, file.as_ref());
        if self.mode.json {
            output::print_json(&Report {
                schema: SCHEMA,
                verified: verified.is_ok(),
                verdict: evidence.verdict,
                guaranteed: evidence.guaranteed,
                fault: verified.as_ref().err(),
            })?;
        } else {
            output::print(&in_words(&trace, &evidence, &verified))?;
        }
        Ok(if verified.is_ok() { Exit::Nothing } else { Exit::Findings })
    }

    fn open_trace(&self, about: &About) -> Result<Trace, Diagnostic> {
        let path = match (&self.trace, &about.path) {
            (Some(argument), _) => argument.clone(),
            (None, Some(path)) => self.found(path).into_os_string(),
            (None, None) => {
                return Err(Diagnostic::new(
                    "the evidence does not say where its trace is: it came through a pipe",
                )
                .in_file(source::named(&self.file))
                .help("name the trace with `--trace T`"));
            }
        };
        if path == "-" && self.file == "-" {
            return Err(Diagnostic::new("the evidence and the trace cannot both come from standard input"));
        }
        let opened =
            open_as(&path, self.reading, Bounds::NONE, self.mode).map_err(|diagnostic| match self.trace {
                Some(_) => diagnostic,
                None => diagnostic.help("if the trace is elsewhere, name it with `--trace T`"),
            })?;
        same_trace(about, &opened.trace, &opened.name)?;
        Ok(opened.with_memory_orders(self.memory_order).trace)
    }

    /// The path as the evidence gives it, from here or from where the evidence is.
    fn found(&self, path: &str) -> PathBuf {
        let from_here = PathBuf::from(path);
        let beside = Path::new(&self.file).parent().map(|directory| directory.join(path));
        match beside.filter(|beside| self.file != OsStr::new("-") && !from_here.exists() && beside.exists()) {
            Some(beside) => beside,
            None => from_here,
        }
    }
}

fn same_trace(about: &About, trace: &Trace, file: &str) -> Result<(), Diagnostic> {
    let Fingerprint { events, checksum } = Fingerprint::of(trace);
    if (events, &checksum) == (about.events, &about.checksum) {
        return Ok(());
    }
    Err(Diagnostic::new("the evidence belongs to another trace")
        .in_file(file)
        .note(format!("this trace has {} and checksum {checksum}", counted(events as u64, "event")))
        .note(format!(
            "the evidence belongs to a trace with {} and checksum {}",
            counted(about.events as u64, "event"),
            name(&about.checksum)
        ))
        .help("name the trace it was decided on with `--trace T`"))
}

/// Whether the evidence shows what it claims to show.
fn verify(trace: &Trace, evidence: &Evidence, file: Option<&ScheduleFile>) -> Result<(), Fault> {
    let question = evidence.question.about(trace).map_err(|error| Fault::new("question", error))?;
    question.validate(trace).map_err(|error| Fault::new("question", error))?;
    if let Some(file) = file {
        compare_with_trace(file, trace, &question)?;
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

/// Whether the lines of a schedule file say what the trace says.
fn compare_with_trace(file: &ScheduleFile, trace: &Trace, question: &Question) -> Result<(), Fault> {
    let contradiction =
        file.contradiction(trace, question).map_err(|error| Fault::new("trace", error.to_string()))?;
    if let Some(Contradiction { line, event, found, expected }) = contradiction {
        // Whole: where they differ may be what a shorter form leaves out.
        let (found, expected) = (report::printable(&found), report::printable(&expected));
        let message = format!("it says `{found}`, but in the trace event {event} is `{expected}`");
        return Err(Fault::new(format!("line {line}"), message).about(event));
    }
    if file.can_be_replayed() && trace.notes().is_none() {
        Diagnostic::new("the paths of threads and places in the run were not compared: this trace has none")
            .help("name the native trace with `--trace T`")
            .print_warning();
    }
    if file.can_be_replayed() && file.command != trace.metadata().command && trace.notes().is_some() {
        let line = |words: &[String]| report::printable(&words.join(" "));
        Diagnostic::new("the schedule names another command than the trace")
            .note(format!("the schedule: {}", line(&file.command)))
            .note(format!("the trace: {}", line(&trace.metadata().command)))
            .print_warning();
    }
    Ok(())
}

fn in_words(trace: &Trace, evidence: &Evidence, verified: &Result<(), Fault>) -> String {
    let words = Words::new(trace);
    let model = evidence.model.name();
    match verified {
        Err(fault) => format!("wrong: {fault}\n"),
        Ok(()) => match (question(trace, evidence), &evidence.schedule) {
            (Some(question), Some(schedule)) => {
                let steps = counted(schedule.len() as u64, "step");
                let guaranteed =
                    if evidence.guaranteed == Some(true) { "guaranteed" } else { "not guaranteed" };
                format!(
                    "verified: feasible under `{model}` by a schedule of {steps}, {guaranteed}: {}\n",
                    words.possible(&question)
                )
            }
            (Some(question), None) => {
                format!("verified: infeasible under `{model}`: {}\n", words.impossible(&question))
            }
            (None, _) => unreachable!("what was verified is about this trace"),
        },
    }
}

fn question(trace: &Trace, evidence: &Evidence) -> Option<Question> {
    evidence.question.about(trace).ok()
}
