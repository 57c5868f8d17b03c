//! `foretell predict`: the bugs of the runs that did not happen, each with a schedule that shows it.
//!
//! The search is [`pipeline::predict`]; how findings are shown is in [`terminal::reporting`].

mod raw;
mod search;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};

use clap::Args;
use pipeline::predict::{PredictOptions, head, predict, predict_each};
use pipeline::{Bounds, TraceFile, saved};
use report::Predictions;

pub(crate) use search::Search;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::interrupts::{self, LastWords};
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::observer::{KeptFindings, TerminalObserver};
use crate::open::{Reading, open_as};
use crate::reporting::{Outputs, Reporting};

const EXAMPLES: &str = "\
Examples:
  foretell predict run.ftr                       all bugs that this run predicts
  foretell predict run.ftr --only deadlock,race  only these kinds
  foretell predict run.ftr --only race --all     every racing pair of events
  foretell predict run.ftr --model sync          also bugs that depend on values
  foretell predict run.ftr --order 'use.c:7 < init.c:3'
                                       can the use precede the initialisation?
  foretell predict run.ftr --rules rules.toml    your own rules (docs/rules.md)
  foretell predict run.ftr --only atomicity --atomic-within lock
                                       only within one critical section
  foretell predict run.ftr --only race --method hb
                                       what happens-before reports, decided
  foretell predict huge.ftr --raw --method hb    the same, undecided, streamed
  foretell predict run.ftr --json                for programs (docs/json.md)

A finding is `predicted` if some run of the program can show it, and `possible`
if that depends on the values that reads see. Every schedule is verified before
it is shown. The first hundred findings are shown in full (fewer of a trace with
millions of events), the others in one line each; `--json` and the report files
contain all schedules.

Regions that the program declares are meant to be atomic. Without any, every two
consecutive accesses of a thread to a variable are. A violation that forks and
joins make inevitable is marked and comes last. If the trace has allocations,
uses of freed memory and reads of uninitialised memory are searched for.

Methods for races: poly (default; exact), syncp, cp, hb, ucg, lockset.
Methods for atomicity violations: exact (default), over, under, avfilter.
docs/reference.md explains them. Each pair that a method reports is decided;
those that cannot happen are counted, not shown.

Exit status: 0 nothing found, 1 findings, 2 usage or input error, 3 nothing
found, but a budget ran out.";

/// Predict the bugs of other runs from the trace of one run.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// The trace, in any format; `-` is standard input.
    #[arg(value_name = "T")]
    trace: OsString,
    /// Print what the method (`hb` or `lockset`) reports, undecided. The trace is streamed, so its length does not
    /// matter, and it is not checked to be a run that can have happened.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    search: Search,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    limits: TimeAndMemory,
}

impl Predict {
    /// Searches, and reports what was found.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let bounds = self.limits.start();
        if self.raw {
            let all = self.search.wants_all();
            return raw::run(&self.trace, self.search.race_method(), all, bounds, self.mode);
        }
        let opened = open_as(&self.trace, self.reading, bounds, self.mode)?;
        self.predict(&Arc::new(opened), bounds)
    }

    fn predict(&self, file: &Arc<TraceFile>, bounds: Bounds) -> Result<Exit, Diagnostic> {
        let words = self.search.again();
        let known_ids = saved::ids_beside(&self.trace)?;
        let options = PredictOptions { known_ids, ..self.search.options(bounds) };
        let kept = KeptFindings::default();
        let observer = &mut TerminalObserver::new(self.mode).keeping(&kept);
        let reporting = Reporting {
            file,
            others: &[],
            outputs: &self.outputs,
            mode: self.mode,
            options: &words,
            roots: self.search.roots(),
            suite: None,
            bounds,
        };
        let head = head(file, &options)?;
        let Some(mut stream) = reporting.stream(&head)? else {
            interrupts::set_last_words(self.last_words(file, head, kept, bounds));
            return reporting.deliver(predict(file, &options, observer)?);
        };
        let mut printed = Ok(());
        let predictions = predict_each(file, &options, observer, &mut |predictions, _| {
            printed = stream.take(predictions);
            if printed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        printed?;
        stream.end(&predictions)
    }

    /// Reports what was found, if the search does not come to its end by itself.
    fn last_words(
        &self,
        file: &Arc<TraceFile>,
        head: Predictions,
        kept: KeptFindings,
        bounds: Bounds,
    ) -> LastWords {
        let (file, outputs, mode) = (Arc::clone(file), self.outputs.clone(), self.mode);
        let (options, roots) = (self.search.again(), self.search.roots().to_vec());
        Box::new(move |stopped| {
            let findings = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
            let predictions = Predictions { findings, unknown: 1, stopped: Some(stopped), ..head };
            let (file, outputs, options, roots) = (&*file, &outputs, &options[..], &roots[..]);
            let reporting =
                Reporting { file, others: &[], outputs, mode, options, roots, suite: None, bounds };
            reporting.deliver_at_last(predictions).unwrap_or_else(|diagnostic| {
                diagnostic.print_error();
                Exit::Budget
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{Arguments, Command};

    #[test]
    fn a_search_that_does_not_end_reports_what_was_found() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("found.sarif");
        let words = ["foretell", "predict", "t.std", "--quiet", "--sarif", &page.to_string_lossy()];
        let arguments = Arguments::try_parse_from(words).unwrap();
        let Command::Predict(command) = arguments.command else { panic!("{arguments:?}") };
        let trace = trace::text::read_bytes(b"T0|w(x)|a.c:1\nT1|w(x)|b.c:2\n").unwrap();
        let file = Arc::new(TraceFile::in_memory(trace, "test"));
        let (options, kept) = (PredictOptions::default(), KeptFindings::default());
        let head = head(&file, &options).unwrap();
        predict(&file, &options, &mut TerminalObserver::new(command.mode).keeping(&kept)).unwrap();
        let stopped = pipeline::budget::stopped_by(Bounds::NONE, pipeline::budget::Bound::Memory);
        assert_eq!(command.last_words(&file, head, kept, Bounds::NONE)(stopped), Exit::Budget);
        let written = std::fs::read_to_string(page).unwrap();
        assert!(written.contains("b.c"), "{written}");
    }
}
