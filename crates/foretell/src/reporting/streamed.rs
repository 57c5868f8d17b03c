//! Findings printed as they are found, one by one, and forgotten: their number does not matter to memory.

use report::{Context, Finding, Predictions, Tally, summary_of};

use super::{Outputs, Reporting, environment, exit_with};
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::output;
use crate::sources::Files;

/// The member of the JSON object that findings go into.
const FINDINGS: &str = "\"findings\":[";

/// Findings on their way, while the search goes on.
#[derive(Debug)]
pub struct Streamed<'a> {
    reporting: Reporting<'a>,
    outputs: Outputs,
    tally: Tally,
    /// What comes before the findings, until it is printed.
    head: Option<String>,
    /// Whoever read the output has gone.
    gone: bool,
}

impl<'a> Reporting<'a> {
    /// Begins to print findings as they come, if nothing is asked for that takes all of them at once. `head` is
    /// what is known before the search.
    pub fn stream(self, head: &Predictions) -> Result<Option<Streamed<'a>>, Diagnostic> {
        let mut outputs = self.outputs.clone();
        environment::fill(&mut outputs)?;
        if outputs.take_all_findings() {
            return Ok(None);
        }
        let head = if self.manner.json { Some(around_findings(head)?.0) } else { None };
        Ok(Some(Streamed { reporting: self, outputs, tally: Tally::default(), head, gone: false }))
    }
}

impl Streamed<'_> {
    /// Prints a finding.
    pub fn take(&mut self, finding: Finding) -> Result<(), Diagnostic> {
        let first = self.tally.all() == 0;
        self.tally.add(&finding);
        if self.gone {
            return Ok(());
        }
        if self.reporting.manner.json {
            let json = serde_json::to_string(&finding).map_err(not_json)?;
            return self.put(&if first { json } else { format!(",{json}") });
        }
        if self.reporting.manner.quiet {
            return Ok(());
        }
        let opened = self.reporting.opened;
        let sources = Files::of(opened);
        let context = Context::new(&opened.trace, opened.path(), &sources, std::slice::from_ref(&finding))
            .found_with(self.reporting.options);
        let words = self.reporting.one_in_words(&context, &finding)?;
        self.gone = !output::print_on(&(words + "\n"))?;
        Ok(())
    }

    /// Prints what the whole search came to.
    pub fn end(mut self, predictions: &Predictions) -> Result<Exit, Diagnostic> {
        if self.gone {
            // Nobody is there to be told.
        } else if self.reporting.manner.json {
            let (_, tail) = around_findings(predictions)?;
            self.put(&(tail + "\n"))?;
        } else {
            output::print(&summary_of(predictions, &self.tally))?;
        }
        Ok(exit_with(self.tally.all() > 0, predictions.unknown > 0, self.outputs.exit_code))
    }

    fn put(&mut self, text: &str) -> Result<(), Diagnostic> {
        let head = self.head.take().unwrap_or_default();
        let written = output::to_stdout(|out| {
            out.write_all(head.as_bytes())?;
            out.write_all(text.as_bytes())
        });
        self.gone |= written?.is_none();
        Ok(())
    }
}

/// What comes before the findings and after them, where there are none yet.
fn around_findings(predictions: &Predictions) -> Result<(String, String), Diagnostic> {
    let json = serde_json::to_string(predictions).map_err(not_json)?;
    // A quote in a name is escaped, so this is the member itself.
    let at = json.find(FINDINGS).map_or(0, |at| at + FINDINGS.len());
    Ok((json[..at].to_owned(), json[at..].to_owned()))
}

fn not_json(error: serde_json::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot write JSON: {error}"))
}
