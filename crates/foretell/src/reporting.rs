//! Findings on their way to people and programs: the same for every command that has some.

use clap::Args;
use report::{Context, Finding, Predictions, Steps, finding_in_words, summary};

use crate::arguments::Manner;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::open::Opened;
use crate::output;
use crate::sources::Files;

/// Where findings go, and how.
#[derive(Clone, Debug, Default, Args)]
pub struct Outputs {
    /// Show every step of long schedules.
    #[arg(long)]
    pub all_steps: bool,
}

/// Findings about a trace, about to be reported.
#[derive(Clone, Copy, Debug)]
pub struct Reporting<'a> {
    /// The trace.
    pub opened: &'a Opened,
    /// Where to.
    pub outputs: &'a Outputs,
    /// How to speak.
    pub manner: Manner,
}

impl Reporting<'_> {
    /// Prints and writes the findings wherever they are wanted.
    pub fn deliver(&self, predictions: Predictions) -> Result<Exit, Diagnostic> {
        if self.manner.json {
            output::print_json(&predictions)?;
        } else {
            output::print(&self.in_words(&predictions)?)?;
        }
        Ok(match predictions {
            Predictions { ref findings, .. } if !findings.is_empty() => Exit::Findings,
            Predictions { unknown: 1.., .. } => Exit::Budget,
            _ => Exit::Nothing,
        })
    }

    fn in_words(&self, predictions: &Predictions) -> Result<String, Diagnostic> {
        let mut text = String::new();
        if !self.manner.quiet {
            let sources = Files::of(self.opened);
            let context =
                Context::new(&self.opened.trace, self.opened.path(), &sources, &predictions.findings);
            for finding in &predictions.findings {
                text.push_str(&self.one_in_words(&context, finding)?);
                text.push('\n');
            }
        }
        text.push_str(&summary(predictions));
        Ok(text)
    }

    /// One finding in full.
    pub fn one_in_words(&self, context: &Context<'_>, finding: &Finding) -> Result<String, Diagnostic> {
        let question = finding.question.about(context.trace);
        let question = question.map_err(|error| Diagnostic::new(error.to_string()))?;
        let steps = if self.outputs.all_steps { Steps::All } else { Steps::Telling };
        Ok(finding_in_words(context, finding, &question, steps))
    }
}
