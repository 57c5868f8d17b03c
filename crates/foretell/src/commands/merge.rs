//! `foretell merge`: one report of suites that ran elsewhere, such as the shards of a CI job.

use std::path::PathBuf;

use clap::Args;
use pipeline::suite::merge;

use super::test::report;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;
use crate::reporting::Outputs;

const EXAMPLES: &str = "\
Each directory is one that `foretell test` made. A finding that several of them
have is reported once; of each test that was hunted in, the result is kept.

Examples:
  foretell merge shard-*/.foretell/latest
  foretell merge -o all a/.foretell/latest b/.foretell/latest --sarif bugs.sarif

Exit status: as for `foretell test`.";

/// Join the results of several `foretell test` runs into one report.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Merge {
    /// The directories of the suites.
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// Where to keep the result.
    #[arg(short, long, value_name = "DIRECTORY", default_value = ".foretell/merged")]
    output: PathBuf,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    limits: TimeAndMemory,
}

impl Merge {
    /// Reads all of them, and reports them as one.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let bounds = self.limits.start();
        let observer = &mut TerminalObserver::new(self.mode);
        let outcome = merge(&self.output, &self.directories, bounds, observer)?;
        report(outcome, &self.outputs, bounds, self.mode)
    }
}
