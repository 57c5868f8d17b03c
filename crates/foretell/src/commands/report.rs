//! `foretell report`: findings that were saved, in other forms.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use pipeline::saved;
use report::{Predictions, Rung};

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;
use crate::open::open_within;
use crate::progress;
use crate::reporting::{Outputs, Reporting};
use crate::table::counted;

const EXAMPLES: &str = "\
Examples:
  foretell report                                    findings of the last hunt
  foretell report .foretell/latest --html bugs.html  as a page for the browser
  foretell predict run.ftr --json > findings.json
  foretell report findings.json --sarif bugs.sarif   without searching again

Schedules are verified against the trace before they are reported. Replays are
not repeated: `confirmed` is reported as saved.

Exit status: as for `foretell predict`.";

/// Report saved findings, in any format.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Report {
    /// The directory of a hunt, or a file written by `predict --json`.
    #[arg(value_name = "RUN|FINDINGS", default_value = saved::LATEST)]
    from: PathBuf,
    /// The trace of the findings, if it is not at the path they name.
    #[arg(long, value_name = "T")]
    trace: Option<OsString>,
    /// Where your own code is, for `--print-suppressions`; by default the project that was recorded. May be repeated.
    #[arg(long, value_name = "DIR")]
    first_party_root: Vec<PathBuf>,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    limits: TimeAndMemory,
}

impl Report {
    /// What a replay saw is on record only.
    fn say_what_was_not_verified(&self, predictions: &Predictions) {
        let replayed = predictions.findings.iter().filter(|finding| finding.rung == Rung::Confirmed).count();
        if replayed > 0 && !self.mode.quiet {
            let findings = counted(replayed as u64, "finding");
            progress::say(&format!(
                "{findings} confirmed when saved; schedules are verified, but replays are not repeated (use `foretell replay`)"
            ));
        }
    }

    /// Reads, verifies and reports.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let file = saved::findings_of(&self.from);
        let bounds = self.limits.start();
        let predictions = saved::read(&file)?;
        let trace = match &self.trace {
            Some(trace) => trace.clone(),
            None => saved::trace_for(&file, &predictions)?.into(),
        };
        let opened = open_within(&trace, bounds, self.mode)?;
        let opened = if predictions.suite.is_some() { opened.seen_from_here() } else { opened };
        let others = saved::others(&file, &predictions, bounds, &mut TerminalObserver::new(self.mode))?;
        saved::verify(&opened.trace, None, &predictions, bounds)?;
        for other in &others {
            saved::verify(&other.file.trace, Some(&other.name), &predictions, bounds)?;
        }
        self.say_what_was_not_verified(&predictions);
        let (outputs, mode) = (&self.outputs, self.mode);
        let suite = predictions.suite.as_ref().and_then(|_| file.parent());
        let roots = &self.first_party_root;
        let reporting =
            Reporting { file: &opened, others: &others, outputs, mode, options: &[], roots, suite, bounds };
        reporting.deliver(predictions)
    }
}
