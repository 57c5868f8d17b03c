//! Findings printed as they come, one by one, and forgotten: their number does not matter to memory. For people, the first ones
//! are printed in full and the others in a line each: nobody reads a thousand schedules, and each takes time to write out.

use pipeline::predict::{Prediction, with_schedules};
use pipeline::sources::Files;
use report::{Context, Finding, Predictions, Tally, finding_in_a_line, summary_of};

use super::{Outputs, Reporting, environment, exit_with};
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::mode::OutputMode;
use crate::output;
use crate::progress;

/// The number of findings that are printed in full; fewer if the trace is so long that writing out their schedules would take longer than
/// finding them.
fn how_many_in_full(events: usize) -> u64 {
    const MOST: u64 = 100;
    const LEAST: u64 = 5;
    const EVENTS: u64 = 100_000_000;
    (EVENTS / events.max(1) as u64).clamp(LEAST, MOST)
}

/// The member of the JSON object that findings go into.
const FINDINGS: &str = "\"findings\":[";

/// Findings on their way, while the search goes on.
#[derive(Debug)]
pub struct Streamed<'a> {
    reporting: Reporting<'a>,
    outputs: Outputs,
    tally: Tally,
    /// How many findings are printed in full.
    in_full: u64,
    /// From here on they are printed in a line each.
    in_lines: bool,
    /// What comes before the findings, until it is printed.
    head: Option<String>,
    /// The reader of the output has gone.
    gone: bool,
}

impl<'a> Reporting<'a> {
    /// Begins to print findings as they come, if nothing is asked for that takes all of them at once. `head` is
    /// what is known before the search.
    pub fn stream(self, head: &Predictions) -> Result<Option<Streamed<'a>>, Diagnostic> {
        let mut outputs = self.outputs.clone();
        let metadata = self.file.trace.metadata();
        environment::fill(&mut outputs, metadata)?;
        if outputs.take_all_findings() || !metadata.tsan_suppressions.is_empty() {
            return Ok(None);
        }
        let head = if self.mode.json { Some(around_findings(head)?.0) } else { None };
        let in_full = how_many_in_full(self.file.trace.len());
        Ok(Some(Streamed {
            reporting: self,
            outputs,
            tally: Tally::default(),
            in_full,
            in_lines: false,
            head,
            gone: false,
        }))
    }
}

impl Streamed<'_> {
    /// Prints findings.
    pub fn take(&mut self, mut predictions: Vec<Prediction<'_>>) -> Result<(), Diagnostic> {
        let before = self.tally.all();
        predictions.iter().for_each(|prediction| self.tally.add(prediction.finding()));
        if self.gone {
            return Ok(());
        }
        if self.outputs.json_lines {
            return self.take_as_lines(predictions);
        }
        let OutputMode { json, quiet, .. } = self.reporting.mode;
        if json {
            return self.take_for_programs(before == 0, predictions);
        }
        let late = predictions.iter().any(Prediction::is_late);
        let in_full = if quiet || late || self.in_lines { 0 } else { self.in_full.saturating_sub(before) };
        let others = predictions.split_off(predictions.len().min(in_full as usize));
        let mut words = String::new();
        for finding in with_schedules(predictions)? {
            words += &self.in_full(&finding)?;
        }
        for prediction in others {
            let finding = prediction.verified()?;
            if !std::mem::replace(&mut self.in_lines, true) {
                words += if late { LATE } else { OTHERS };
            }
            words += &finding_in_a_line(&finding);
        }
        self.gone = !quiet && !output::print_on(&words)?;
        Ok(())
    }

    fn take_as_lines(&mut self, predictions: Vec<Prediction<'_>>) -> Result<(), Diagnostic> {
        for finding in with_schedules(predictions)? {
            let json = report::plain_json(&finding).map_err(not_json)?;
            self.put(&(json + "\n"))?;
        }
        Ok(())
    }

    fn take_for_programs(
        &mut self,
        mut first: bool,
        predictions: Vec<Prediction<'_>>,
    ) -> Result<(), Diagnostic> {
        for finding in with_schedules(predictions)? {
            let json = report::plain_json(&finding).map_err(not_json)?;
            self.put(&if first { json } else { format!(",{json}") })?;
            first = false;
        }
        Ok(())
    }

    fn in_full(&self, finding: &Finding) -> Result<String, Diagnostic> {
        let file = self.reporting.file;
        let sources = Files::of(file);
        let context =
            Context::new(&file.trace, file.path(), &sources, [finding]).found_with(self.reporting.options);
        let context = context.with_full_stacks(self.reporting.outputs.full_stacks);
        Ok(self.reporting.one_in_words(&context, finding)? + "\n")
    }

    /// Prints what the whole search came to.
    pub fn end(mut self, predictions: &Predictions) -> Result<Exit, Diagnostic> {
        if self.gone {
            // There is no reader.
        } else if self.outputs.json_lines {
            if !self.reporting.mode.quiet {
                progress::say(summary_of(predictions, &self.tally).trim_end());
            }
        } else if self.reporting.mode.json {
            let (_, tail) = around_findings(predictions)?;
            self.put(&(tail + "\n"))?;
        } else {
            let gap = if self.in_lines && !self.reporting.mode.quiet { "\n" } else { "" };
            let statistics = self.reporting.statistics(predictions);
            output::print(&format!("{gap}{statistics}{}", summary_of(predictions, &self.tally)))?;
        }
        Ok(exit_with(predictions, self.tally.all() > 0, self.outputs.exit_code))
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

/// What is said before the findings that are not told in full.
const OTHERS: &str = "The remaining findings, one line each. They are verified as well; `--json` and `--html FILE` contain their schedules.\n";

/// The same if there is no time to tell any more of them in full.
const LATE: &str =
    "There is no time left to show findings in full: one line each. They are verified as well.\n";

/// What comes before the findings and after them, where there are none yet.
fn around_findings(predictions: &Predictions) -> Result<(String, String), Diagnostic> {
    let json = report::plain_json(predictions).map_err(not_json)?;
    // A quote in a name is escaped, so this is the member itself.
    let at = json.find(FINDINGS).map_or(0, |at| at + FINDINGS.len());
    Ok((json[..at].to_owned(), json[at..].to_owned()))
}

fn not_json(error: serde_json::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot write JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::how_many_in_full;

    #[test]
    fn fewer_findings_of_long_traces_are_printed_in_full() {
        assert_eq!([1, 1_000_000, 10_000_000, 1_000_000_000].map(how_many_in_full), [100, 100, 10, 5]);
        assert_eq!(how_many_in_full(0), 100);
    }
}
