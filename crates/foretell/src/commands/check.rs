//! `foretell check`: whether an answer's evidence holds, by the trusted checker alone.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;

use check::Question;
use clap::Args;
use pipeline::evidence::{EvidenceFile, Fault, require_same_trace};
use report::{ClaimedVerdict, Evidence, SCHEMA, Words};
use serde::Serialize;
use trace::Trace;

use pipeline::predict::MemoryOrders;

use crate::arguments::one_of;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;
use crate::open::{Reading, open_as};
use crate::output;
use crate::table::counted;
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
cannot be read, belongs to another trace, or its verdict is unknown, 3 a limit
was reached before it was verified.";

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
    #[command(flatten)]
    limits: TimeAndMemory,
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
    /// Verifies, and prints the result.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let bounds = self.limits.start();
        let file = self.read(bounds)?;
        file.require_verdict()?;
        let trace = self.open_trace(&file, bounds)?;
        let evidence = &file.evidence;
        let verified = file.verify(&trace, &mut TerminalObserver::new(self.mode));
        if self.mode.json {
            output::print_json(&Report {
                schema: SCHEMA,
                verified: verified.is_ok(),
                verdict: evidence.verdict,
                guaranteed: evidence.guaranteed,
                fault: verified.as_ref().err(),
            })?;
        } else {
            output::print(&in_words(&trace, evidence, &verified))?;
        }
        Ok(if verified.is_ok() { Exit::Nothing } else { Exit::Findings })
    }

    fn read(&self, bounds: Bounds) -> Result<EvidenceFile, Diagnostic> {
        if self.file == "-" {
            return Ok(EvidenceFile::read("<stdin>", io::stdin(), bounds)?);
        }
        let name = self.file.to_string_lossy();
        let file = File::open(&self.file)
            .map_err(|error| Diagnostic::from_io("read", &format!("`{name}`"), &error))?;
        Ok(EvidenceFile::read(&name, file, bounds)?)
    }

    fn open_trace(&self, file: &EvidenceFile, bounds: Bounds) -> Result<Trace, Diagnostic> {
        let own = (self.file != "-").then(|| Path::new(&self.file));
        let path = match &self.trace {
            Some(argument) => argument.clone(),
            None => file.trace_path(own)?.into_os_string(),
        };
        if path == "-" && self.file == "-" {
            return Err(Diagnostic::new("the evidence and the trace cannot both come from standard input"));
        }
        let opened =
            open_as(&path, self.reading, bounds, self.mode).map_err(|diagnostic| match self.trace {
                Some(_) => diagnostic,
                None if bounds.are_final() => diagnostic,
                None => diagnostic.help("if the trace is elsewhere, name it with `--trace T`"),
            })?;
        require_same_trace(&file.evidence.trace, &opened.trace, &opened.name)?;
        Ok(opened.with_memory_orders(self.memory_order).trace)
    }
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
