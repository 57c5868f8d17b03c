//! `foretell show`: one finding in full.

use std::ffi::OsString;

use clap::Args;
use report::Context;

use super::predict::Search;
use crate::arguments::Manner;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::open::open;
use crate::reporting::{Outputs, Reporting};
use crate::sources::Files;
use crate::stack::with_room;
use crate::{output, saved};

const EXAMPLES: &str = "\
Examples:
  foretell show run.ftr race-1                 the finding that `foretell predict run.ftr` calls race-1
  foretell show run.ftr race-1 --all-steps     with every step of its schedule
  foretell show deadlock-2                     of the last hunt

If `findings.json` lies beside the trace and is about it, the finding is taken from there, and verified; else the trace
is searched again, which gives the same ids as long as the options are the same.

Exit status: 1 it is shown, 2 usage or input error, or there is no such finding.";

/// Show one finding in full: source, locks, and the interleaving.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Show {
    /// The trace, or the directory of a run. May be left out: that of the last hunt.
    #[arg(value_name = "T")]
    trace: OsString,
    /// The finding's id, as `predict` prints it.
    finding: Option<String>,
    /// Show every step of a long schedule.
    #[arg(long)]
    all_steps: bool,
    #[command(flatten)]
    search: Search,
    #[command(flatten)]
    manner: Manner,
}

impl Show {
    /// Finds the finding, and prints it.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let (path, id) = saved::named(&self.trace, self.finding.as_deref())?;
        let opened = open(&path, self.manner)?;
        with_room(|| {
            let only = saved::finding(&path, &opened, &id, &self.search, self.manner)?;
            let options = self.search.again();
            let outputs = Outputs { all_steps: self.all_steps, ..Outputs::default() };
            let reporting = Reporting {
                opened: &opened,
                others: &[],
                outputs: &outputs,
                manner: self.manner,
                options: &options,
            };
            if self.manner.json {
                output::print_json(&only)?;
            } else {
                let sources = Files::of(&opened);
                let context =
                    Context::new(&opened.trace, opened.path(), &sources, &only.findings).found_with(&options);
                output::print(&reporting.one_in_words(&context, &only.findings[0])?)?;
            }
            Ok(Exit::Findings)
        })?
    }
}
