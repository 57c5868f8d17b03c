//! `foretell diff`: what changed between two searches.

use std::path::PathBuf;

use clap::Args;
use pipeline::budget::ensure_within;
use pipeline::saved;
use report::{Comparison, Finding, FixedFinding, finding_in_a_line, shown, shown_object};
use serde::Serialize;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  foretell diff main.json branch.json    files from `predict --json`
  foretell diff main.json .foretell/latest

Findings are compared by kind, variable and functions, so moved code does not
make a finding new. Where functions are unknown, as in text traces, the lines
must be equal. `hunt`, `predict` and `report` compare with `--baseline` in the
same way.

Exit status: 0 nothing new, 1 new findings, 2 usage or input error, 3 a limit
was reached.";

/// Compare the findings of two searches: new, known and fixed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    /// The earlier findings: a hunt's directory, or a file from `predict --json`.
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The later findings.
    #[arg(value_name = "NEW")]
    new: PathBuf,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    limits: TimeAndMemory,
}

/// The contract is docs/json.md.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    new: Vec<&'a str>,
    known: Vec<String>,
    fixed: Vec<FixedFinding>,
}

impl Diff {
    /// Reads both, compares and reports.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let bounds = self.limits.start();
        let old = saved::baseline(&self.old)?;
        let findings = saved::read(&saved::findings_of(&self.new))?.findings;
        ensure_within(bounds)?;
        let comparison = old.compare(&findings);
        let is_new = |finding: &&Finding| finding.shown != Some(false) && !comparison.knows(finding);
        let new: Vec<&Finding> = findings.iter().filter(is_new).collect();
        let exit = if new.is_empty() { Exit::Nothing } else { Exit::Findings };
        if self.mode.json {
            let ids = new.iter().map(|finding| finding.id.as_str()).collect();
            let Comparison { known, fixed } = comparison;
            output::print_json(&Report { schema: report::SCHEMA, new: ids, known, fixed })?;
        } else {
            output::print(&in_words(&new, &comparison, self.mode.quiet))?;
        }
        Ok(exit)
    }
}

fn in_words(new: &[&Finding], comparison: &Comparison, quiet: bool) -> String {
    let mut text = String::new();
    if !quiet {
        new.iter().for_each(|finding| text += &format!("new    {}", finding_in_a_line(finding)));
        comparison.fixed.iter().for_each(|finding| text += &format!("fixed  {}", fixed_in_words(finding)));
    }
    let (known, fixed) = (comparison.known.len(), comparison.fixed.len());
    text + &format!("SUMMARY: {} new, {known} known, {fixed} fixed\n", new.len())
}

fn fixed_in_words(finding: &FixedFinding) -> String {
    let places: Vec<String> = finding.locations.iter().map(|location| shown(location)).collect();
    let places = if places.is_empty() { String::new() } else { format!(" at {}", places.join(", ")) };
    format!(
        "{}: {} on {}{places}\n",
        finding.id,
        finding.kind.title(),
        shown_object(finding.kind, &finding.object)
    )
}
