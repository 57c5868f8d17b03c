//! `foretell scrub`: a trace without the values of environment variables.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use pipeline::scrubbing;
use serde::Serialize;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::output;
use crate::table::counted;

const EXAMPLES: &str = "\
A trace that was recorded with `--keep-environment`, or by an old version, holds
the values of environment variables, which may be secrets. This command replaces
them by their lengths. The events stay as they are. The trace is replaced;
copies of the old one elsewhere, and what a disk keeps of it, are not. Arguments
of the recorded command are not changed.

Examples:
  foretell scrub run.ftr                 in place
  foretell scrub run.ftr -o shared.ftr   a scrubbed copy";

/// Remove the values of environment variables from a trace.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Scrub {
    /// The trace, in the native format.
    #[arg(value_name = "T")]
    trace: OsString,
    /// Write to this file and leave the trace as it is.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    limits: TimeAndMemory,
}

/// The contract is docs/json.md.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    file: &'a str,
    values: usize,
}

impl Scrub {
    /// Scrubs the trace, and says how much there was to remove.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let scrubbed = scrubbing::scrub(&self.trace, self.output.as_deref(), self.limits.start())?;
        let file = self.output.as_deref().map_or(self.trace.to_string_lossy(), |path| path.to_string_lossy());
        if self.mode.json {
            output::print_json(&Report { schema: 1, file: &file, values: scrubbed })?;
        } else if !self.mode.quiet {
            eprintln!("removed {} of environment variables: {file}", counted(scrubbed as u64, "value"));
        }
        Ok(Exit::Nothing)
    }
}
