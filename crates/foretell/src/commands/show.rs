//! `foretell show`: one finding in full.

use std::ffi::OsString;

use clap::Args;
use pipeline::saved;
use pipeline::sources::Files;
use report::Context;

use super::predict::Search;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;
use crate::open::open_within;
use crate::output;
use crate::reporting::{Outputs, Reporting};

const EXAMPLES: &str = "\
Examples:
  foretell show run.ftr race-1               a finding of `predict run.ftr`
  foretell show run.ftr race-1 --all-steps   with every step of its schedule
  foretell show deadlock-2                   a finding of the last hunt

The finding is read from `findings.json` in the trace's directory and verified.
If there is no such file for this trace, the trace is searched again; the same
options give the same ids.

Exit status: 1 the finding is shown, 2 usage or input error, or there is no such
finding, 3 a limit was reached before it was found.";

/// Show one finding in full: source, locks and interleaving.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Show {
    /// The trace or the directory of a hunt; by default that of the last hunt.
    #[arg(value_name = "T")]
    trace: OsString,
    /// The id of the finding, such as `race-1`.
    finding: Option<String>,
    /// Show every step of a long schedule.
    #[arg(long)]
    all_steps: bool,
    /// Show stacks with the frames of the runtime and the standard library.
    #[arg(long)]
    full_stacks: bool,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    search: Search,
    #[command(flatten)]
    limits: TimeAndMemory,
}

impl Show {
    /// Finds the finding, and prints it.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let (path, id) = saved::named(&self.trace, self.finding.as_deref())?;
        let bounds = self.limits.start();
        let opened = open_within(&path, bounds, self.mode)?;
        let observer = &mut TerminalObserver::new(self.mode);
        let only = saved::finding(&path, &opened, &id, &self.search.options(bounds), observer)?;
        let options = self.search.again();
        let outputs = Outputs { all_steps: self.all_steps, ..Outputs::default() };
        let reporting = Reporting {
            file: &opened,
            others: &[],
            outputs: &outputs,
            mode: self.mode,
            options: &options,
            roots: self.search.roots(),
            suite: None,
            bounds,
        };
        if self.mode.json {
            output::print_json(&only)?;
        } else {
            let sources = Files::of(&opened);
            let context =
                Context::new(&opened.trace, opened.path(), &sources, &only.findings).found_with(&options);
            let context = context.with_full_stacks(self.full_stacks);
            output::print(&reporting.one_in_words(&context, &only.findings[0])?)?;
        }
        Ok(Exit::Findings)
    }
}
