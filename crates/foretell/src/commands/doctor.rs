//! `foretell doctor`: what works on this machine, what is missing, and how to get it.

use clap::Args;
use pipeline::doctor::{Check, checks};
use serde::Serialize;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::mode::OutputMode;
use crate::output;

const EXAMPLES: &str = "\
Builds and records a small program in a temporary directory, and looks for the
tools that some commands need.

Exit status: 0 everything that is needed works, 2 something does not.";

/// Check that this machine has what Foretell needs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Doctor {
    #[command(flatten)]
    mode: OutputMode,
}

/// The contract is docs/json.md.
#[derive(Serialize)]
struct Report {
    schema: u32,
    checks: Vec<Check>,
}

impl Doctor {
    /// Looks at everything, and says what it found.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let checks = checks();
        let well = checks.iter().all(|check| check.ok || !check.needed);
        if self.mode.json {
            output::print_json(&Report { schema: 1, checks })?;
        } else {
            let lines: String = checks.iter().map(line).collect();
            let end = if well {
                "everything that is needed works\n"
            } else {
                "something that is needed does not work\n"
            };
            output::print(&(lines + end))?;
        }
        Ok(if well { Exit::Nothing } else { Exit::Mistake })
    }
}

fn line(check: &Check) -> String {
    let state = match (check.ok, check.needed) {
        (true, _) => "ok",
        (false, true) => "FAILED",
        (false, false) => "missing",
    };
    let help = check.help.filter(|_| !check.ok);
    let help = help.map(|help| format!("\n{:10}help: {help}", "")).unwrap_or_default();
    format!("{state:8}  {}: {}{help}\n", check.name, report::printable(&check.found))
}
