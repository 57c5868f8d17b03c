//! `foretell scrub`: a trace without the values of environment variables.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use pipeline::scrubbing;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
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
    /// Print nothing.
    #[arg(short, long)]
    quiet: bool,
}

impl Scrub {
    /// Scrubs the trace, and says how much there was to remove.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let scrubbed = scrubbing::scrub(&self.trace, self.output.as_deref())?;
        if !self.quiet {
            let values = counted(scrubbed as u64, "value");
            let trace =
                self.output.as_deref().map_or(self.trace.to_string_lossy(), |path| path.to_string_lossy());
            eprintln!("removed {values} of environment variables: {trace}");
        }
        Ok(Exit::Nothing)
    }
}
