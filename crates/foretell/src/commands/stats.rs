//! `foretell stats`: what is in a trace.

mod text;

use std::ffi::OsString;

use clap::Args;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::open::{Reading, open_as};
use crate::output;
use pipeline::survey::{Survey, TraceFigures};

const EXAMPLES: &str = "\
Examples:
  foretell stats run.ftr                 summarise a recording
  foretell stats trace.std.gz --top 30   list more variables and locks
  zcat trace.std.gz | foretell stats -   read standard input
  foretell stats run.ftr --json          for programs (docs/json.md)";

/// Summarise a trace: threads, events, the hottest variables and locks.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Stats {
    /// The trace, in any format; `-` is standard input.
    #[arg(value_name = "T")]
    trace: OsString,
    /// How many threads, variables and locks to list.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    limits: TimeAndMemory,
}

impl Stats {
    /// Prints the figures.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let opened = open_as(&self.trace, self.reading, self.limits.start(), self.mode)?;
        let survey = Survey::of(&opened.trace, self.top);
        if self.mode.json {
            output::print_json(&TraceFigures::of(&opened, &survey))?;
        } else {
            output::print(&text::render(&opened, &survey, self.top))?;
        }
        Ok(Exit::Nothing)
    }
}
