//! Findings on their way to people and programs: the same for every command that has some.
//!
//! What the user does not want to hear of is taken out first ([`pipeline::suppress`]); then the files that were asked for are written, and
//! the rest is printed.

mod environment;
mod streamed;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use check::Question;
use clap::{Args, ValueEnum};
use pipeline::first_party::FirstParty;
use pipeline::sources::Files;
use pipeline::{Bounds, ExploredTrace, TraceFile, Unwanted, saved};
use report::{
    Context, Contexts, Extras, Finding, Predictions, ReportFlag, Steps, finding_in_words, ready_suppressions,
    summary,
};

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::interrupts;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;
use crate::output::{self, OutputTarget};
use crate::progress;

/// Where findings go, and how.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reports")]
pub struct Outputs {
    /// Which findings to report: `default` leaves out those that a hunt could not confirm or that do no visible harm,
    /// and counts them in one line; `all` reports them, too.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Show::Default, hide_possible_values = true)]
    pub show: Show,
    /// Show every step of long schedules.
    #[arg(long)]
    pub all_steps: bool,
    /// Show stacks with the frames of the runtime and the standard library.
    #[arg(long)]
    pub full_stacks: bool,
    /// Leave out findings that are entirely in dependencies or the standard library; by default they come last.
    #[arg(long)]
    pub first_party: bool,
    /// Write an HTML report: a single file that needs no network.
    #[arg(long, value_name = "FILE")]
    pub html: Option<OsString>,
    /// Write a SARIF 2.1.0 file for code scanning.
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<OsString>,
    /// Write a JUnit file in which each finding is a failed test case.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<OsString>,
    /// Write a short table in Markdown, for the summary of a CI job.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<OsString>,
    /// Write Chrome trace events for ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<OsString>,
    /// Hide the findings that this file lists, in ThreadSanitizer's format; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub suppressions: Vec<PathBuf>,
    /// Kinds of reports that options of ThreadSanitizer turn off.
    #[arg(skip)]
    pub off: Vec<ReportFlag>,
    /// Report only findings that this earlier report does not have: a hunt's directory, or findings as JSON.
    #[arg(long, value_name = "RUN|FINDINGS")]
    pub baseline: Option<PathBuf>,
    /// Print a suppression for each finding, ready to be copied into a file.
    #[arg(long)]
    pub print_suppressions: bool,
    /// Print each finding as a JSON object on a line of its own: `predict` as soon as it is found, other commands at the end, since
    /// replays say what a finding does and which of them belong together.
    #[arg(long, conflicts_with = "json")]
    pub json_lines: bool,
    /// How to print findings: `text`, or `unix`, lines of `file:line:column: error: ..` for editors.
    #[arg(long, value_name = "FORM", value_enum, default_value_t = TextForm::Text, hide_possible_values = true)]
    pub format: TextForm,
    /// Exit with this status instead of 1 if there are findings.
    #[arg(long, value_name = "N")]
    pub exit_code: Option<u8>,
    /// Print statistics of the search as well.
    #[arg(short, long)]
    pub verbose: bool,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TextForm {
    /// In full, for people.
    #[default]
    Text,
    /// A line for each place, for editors.
    Unix,
}

/// Which findings are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Show {
    /// All of them.
    All,
    /// Those that matter.
    #[default]
    Default,
}

/// Findings about a trace, about to be reported.
#[derive(Clone, Copy, Debug)]
pub struct Reporting<'a> {
    /// The trace.
    pub file: &'a TraceFile,
    /// Other recordings that findings are of.
    pub others: &'a [ExploredTrace],
    /// Where to.
    pub outputs: &'a Outputs,
    /// How to speak.
    pub mode: OutputMode,
    /// The options with which a search finds them again; none where they are saved.
    pub options: &'a [String],
    /// Where the user's own code is; none: the project that was recorded.
    pub roots: &'a [PathBuf],
    /// The directory of a suite, whose findings are of several recordings; none: findings are named with their recording.
    pub suite: Option<&'a Path>,
    /// What may still be spent on what reports show in addition.
    pub bounds: Bounds,
}

impl Reporting<'_> {
    /// Prints and writes the findings wherever they are wanted.
    pub fn deliver(&self, predictions: Predictions) -> Result<Exit, Diagnostic> {
        interrupts::begin_report();
        self.deliver_at_last(predictions)
    }

    /// The same as [last words](interrupts::set_last_words), which are a report begun already.
    pub fn deliver_at_last(&self, mut predictions: Predictions) -> Result<Exit, Diagnostic> {
        let mut outputs = self.outputs.clone();
        environment::fill(&mut outputs, self.file.trace.metadata())?;
        let sources = Files::of(self.file);
        let contexts = self.contexts(&sources, &predictions.findings);
        let observer = &mut TerminalObserver::new(self.mode);
        let unwanted = Unwanted { files: &outputs.suppressions, off: &outputs.off };
        let suppressed = pipeline::suppress(&contexts, unwanted, &mut predictions.findings, observer)?;
        predictions.suppressed += suppressed;
        if outputs.first_party {
            let before = predictions.findings.len();
            predictions.findings.retain(|finding| !finding.third_party);
            predictions.other_code = (before - predictions.findings.len()) as u64;
        }
        if outputs.show == Show::All {
            predictions.findings.iter_mut().for_each(|finding| finding.shown = finding.shown.map(|_| true));
        }
        if let Some(file) = &outputs.baseline {
            predictions.baseline = Some(saved::baseline(file)?.compare(&predictions.findings));
        }
        if self.mode.json {
            output::print_json(&predictions)?;
        }
        if outputs.json_lines {
            predictions
                .findings
                .iter()
                .filter(|f| f.shown != Some(false))
                .filter(|f| predictions.baseline.as_ref().is_none_or(|baseline| !baseline.knows(f)))
                .try_for_each(output::print_json)?;
        }
        let is_hidden = |finding: &mut Finding| finding.shown == Some(false);
        let hidden: Vec<Finding> = predictions.findings.extract_if(.., is_hidden).collect();
        if let Some(file) = &outputs.sarif {
            write(file, &report::sarif(&contexts, &predictions))?;
        }
        // What code scanning does not get, it takes for fixed; all others get what is new.
        if let Some(baseline) = &predictions.baseline {
            predictions.findings.retain(|finding| !baseline.knows(finding));
        }
        if let Some(suite) = &mut predictions.suite {
            suite.keep_findings(&predictions.findings);
        }
        self.write_files(&outputs, &contexts, &predictions, &hidden)?;
        if outputs.json_lines {
            progress::say(self.closing_words(&predictions).trim_end());
        } else if !self.mode.json {
            output::print(&self.in_words(&contexts, &predictions, &hidden)?)?;
        }
        if outputs.print_suppressions {
            self.print_suppressions(&contexts, &predictions)?;
        }
        Ok(exit_with(&predictions, !predictions.findings.is_empty(), outputs.exit_code))
    }

    /// What is said to people after findings for programs.
    fn closing_words(&self, predictions: &Predictions) -> String {
        if self.mode.quiet { String::new() } else { summary(predictions) }
    }

    /// What is known around the findings, each in its recording. All are of one program, so its sources are the same.
    fn contexts<'c>(&'c self, sources: &'c Files, findings: &[Finding]) -> Contexts<'c> {
        let of = |file: &'c TraceFile, name: Option<&String>| {
            let own = findings.iter().filter(|finding| finding.recording.as_ref() == name);
            let name = self.suite.map(|directory| directory.display().to_string()).or_else(|| file.path());
            let context = Context::new(&file.trace, name, sources, own);
            context.found_with(self.options).with_full_stacks(self.outputs.full_stacks)
        };
        let others = self.others.iter().map(|other| (other.name.clone(), of(&other.file, Some(&other.name))));
        Contexts { own: of(self.file, None), others: others.collect() }
    }

    fn write_files(
        &self,
        outputs: &Outputs,
        contexts: &Contexts<'_>,
        predictions: &Predictions,
        hidden: &[Finding],
    ) -> Result<(), Diagnostic> {
        if let Some(file) = &outputs.html {
            let extras = pipeline::extras(&contexts.own, predictions, self.bounds);
            let extras = Extras { hidden: report::hidden_in_words(hidden), ..extras };
            write(file, &report::html(contexts, predictions, extras))?;
        }
        if let Some(file) = &outputs.junit {
            write(file, &report::junit(contexts, predictions, &questions(contexts, predictions)?))?;
        }
        if let Some(file) = &outputs.markdown {
            write(file, &report::markdown(contexts, predictions))?;
        }
        if let Some(file) = &outputs.perfetto {
            write(file, &report::perfetto(contexts, predictions))?;
        }
        Ok(())
    }

    fn in_words(
        &self,
        contexts: &Contexts<'_>,
        predictions: &Predictions,
        hidden: &[Finding],
    ) -> Result<String, Diagnostic> {
        let mut text = String::new();
        if self.outputs.format == TextForm::Unix {
            return Ok(predictions.findings.iter().map(report::quickfix).collect());
        }
        if !self.mode.quiet {
            for finding in &predictions.findings {
                text.push_str(&self.one_in_words(contexts.of(finding), finding)?);
                text.push('\n');
            }
        }
        text.push_str(&predictions.suite.as_ref().map(report::suite_in_words).unwrap_or_default());
        text.push_str(&self.statistics(predictions));
        text.push_str(&report::hidden_in_words(hidden));
        text.push_str(&summary(predictions));
        Ok(text)
    }

    /// What `--verbose` adds.
    fn statistics(&self, predictions: &Predictions) -> String {
        self.outputs.verbose.then(|| report::statistics(predictions)).flatten().unwrap_or_default()
    }

    /// One finding in full.
    pub fn one_in_words(&self, context: &Context<'_>, finding: &Finding) -> Result<String, Diagnostic> {
        let steps = if self.outputs.all_steps { Steps::All } else { Steps::Telling };
        Ok(finding_in_words(context, finding, &question(context, finding)?, steps))
    }

    /// Lines that a file of suppressions can have, of which one silences a finding and the other is a comment; with JSON they go to standard error.
    fn print_suppressions(
        &self,
        contexts: &Contexts<'_>,
        predictions: &Predictions,
    ) -> Result<(), Diagnostic> {
        let mut text = String::new();
        let mut printed = Vec::new();
        for finding in &predictions.findings {
            let context = contexts.of(finding);
            let own = FirstParty::of(context.trace, self.roots);
            let lines = ready_suppressions(context, finding, |location| own.contains(location));
            let Some((line, others)) = lines.split_first() else { continue };
            if !printed.contains(line) {
                text.push_str(&format!("# {}: {}\n{line}\n", finding.id, report::title(finding)));
                others.iter().for_each(|other| text.push_str(&format!("# or: {other}\n")));
                printed.push(line.clone());
            }
        }
        match self.mode.json {
            true => {
                eprint!("{text}");
                Ok(())
            }
            false => output::print(&text),
        }
    }
}

/// What the process ends with.
fn exit_with(predictions: &Predictions, found: bool, chosen: Option<u8>) -> Exit {
    let unknown = predictions.unknown > 0;
    // A hunt is for its findings; of a search, what was found is not all there is.
    let is_cut = predictions.stopped.is_some() && !(found && predictions.coverage.is_some());
    match chosen {
        _ if is_cut => Exit::Budget,
        Some(status) if found => Exit::Chosen(status),
        None if found => Exit::Findings,
        _ if unknown => Exit::Budget,
        _ => Exit::Nothing,
    }
}

impl Outputs {
    /// Whether something is wanted that can be made of all findings together only.
    fn take_all_findings(&self) -> bool {
        let Outputs { html, sarif, junit, markdown, perfetto, .. } = self;
        let Outputs { suppressions, off, baseline, print_suppressions, format, .. } = self;
        let files = [html, sarif, junit, markdown, perfetto];
        files.into_iter().any(Option::is_some)
            || baseline.is_some()
            || !suppressions.is_empty()
            || !off.is_empty()
            || *print_suppressions
            || *format != TextForm::Text
            || self.first_party
    }
}

fn question(context: &Context<'_>, finding: &Finding) -> Result<Question, Diagnostic> {
    let question = finding.question.about(context.trace);
    question.map_err(|error| Diagnostic::new(format!("{}: {error}", finding.id)))
}

fn questions(contexts: &Contexts<'_>, predictions: &Predictions) -> Result<Vec<Question>, Diagnostic> {
    predictions.findings.iter().map(|finding| question(contexts.of(finding), finding)).collect()
}

fn write(file: &OsString, content: &str) -> Result<(), Diagnostic> {
    OutputTarget::plain(file).write(|out| out.write_all(content.as_bytes())).map(|_| ())
}
