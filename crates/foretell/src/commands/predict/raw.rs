//! `predict --raw`: what a linear method reports, as it stands.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::ops::ControlFlow;

use papers::races::Method;
use pipeline::Bounds;
use pipeline::predict::raw::{Places, Racy, RacySink, Totals, report_races};
use report::{SCHEMA, Stopped};
use serde::Serialize;
use trace::LocationId;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;
use crate::output;
use crate::table::{counted, number};

/// All of it, as JSON. With `--all` the same is written piece by piece.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: u32,
    method: &'static str,
    pairs: Vec<Racy<'a>>,
    events: u64,
    racy_events: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
}

/// Reads the trace, and prints what the method reports.
pub(super) fn run(
    trace: &OsStr,
    method: Method,
    all: bool,
    bounds: Bounds,
    mode: OutputMode,
) -> Result<Exit, Diagnostic> {
    let observer = &mut TerminalObserver::new(mode);
    let totals = match all {
        true => {
            let mut lines = Lines::new(method, mode);
            let totals = report_races(trace, method, bounds, &mut lines, observer)?;
            lines.finish(method, &totals)?;
            totals
        }
        false => {
            let mut places = Places::default();
            let totals = report_races(trace, method, bounds, &mut places, observer)?;
            print(&places, method, &totals, mode)?;
            totals
        }
    };
    Ok(match totals {
        Totals { stopped: Some(_), .. } => Exit::Budget,
        Totals { racy: 1.., .. } => Exit::Findings,
        _ => Exit::Nothing,
    })
}

/// Prints pairs of places.
fn print(places: &Places, method: Method, totals: &Totals, mode: OutputMode) -> Result<(), Diagnostic> {
    let pairs: Vec<Racy<'_>> = places.in_order().collect();
    if mode.json {
        let Totals { events, racy, stopped } = totals.clone();
        let method = method.name();
        let report = Report { schema: SCHEMA, method, pairs, events, racy_events: racy, stopped };
        return output::print_json(&report);
    }
    let at = format!(" at {} of locations", counted(pairs.len() as u64, "pair"));
    let mut text: String = pairs.iter().filter(|_| !mode.quiet).map(in_words).collect();
    text.push_str(&summary(method, totals, &at));
    output::to_stdout(|out| out.write_all(text.as_bytes())).map(|_| ())
}

/// Every racy event, printed as the trace is read.
struct Lines {
    mode: OutputMode,
    /// What is yet to be printed.
    text: String,
    is_first: bool,
    failed: Option<Diagnostic>,
}

impl Lines {
    fn new(method: Method, mode: OutputMode) -> Self {
        let text = match mode.json {
            true => format!("{{\"schema\":{SCHEMA},\"method\":\"{method}\",\"pairs\":["),
            false => String::new(),
        };
        Lines { mode, text, is_first: true, failed: None }
    }

    /// Prints what was written down. No: nobody reads it.
    fn print(&mut self) -> Result<bool, Diagnostic> {
        if self.text.is_empty() {
            return Ok(true);
        }
        let printed = output::to_stdout(|out| out.write_all(self.text.as_bytes()))?;
        self.text.clear();
        Ok(printed.is_some())
    }

    fn finish(mut self, method: Method, totals: &Totals) -> Result<(), Diagnostic> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let Totals { events, racy, stopped } = totals;
        if self.mode.json {
            let _ = write!(self.text, "],\"events\":{events},\"racy_events\":{racy}");
            if let Some(stopped) = stopped {
                let stopped = report::plain_json(stopped).unwrap_or_default();
                let _ = write!(self.text, ",\"stopped\":{stopped}");
            }
            self.text.push_str("}\n");
        } else {
            self.text.push_str(&summary(method, totals, ""));
        }
        self.print().map(|_| ())
    }
}

impl RacySink for Lines {
    fn take<'a>(&mut self, _places: [LocationId; 2], racy: impl FnOnce() -> Racy<'a>) {
        if self.mode.json {
            self.text.push_str(if self.is_first { "" } else { "," });
            self.text.push_str(&report::plain_json(&racy()).unwrap_or_default());
            self.is_first = false;
        } else if !self.mode.quiet {
            self.text.push_str(&in_words(&racy()));
        }
    }

    fn flush(&mut self) -> ControlFlow<()> {
        match self.print() {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(failed) => {
                self.failed = Some(failed);
                ControlFlow::Break(())
            }
        }
    }
}

fn in_words(racy: &Racy<'_>) -> String {
    let Racy { object, locations: [earlier, later], count, event } = racy;
    match count {
        1 => format!("{object}: {later} with {earlier}, at event {event}\n"),
        _ => {
            format!("{object}: {later} with {earlier}, {} times, first at event {event}\n", number(*count))
        }
    }
}

fn summary(method: Method, totals: &Totals, places: &str) -> String {
    let stopped = totals.stopped.as_ref().map(|stopped| format!("Stopped: {}.\n", stopped.reason));
    format!(
        "{}SUMMARY: {}{places} in {}, reported by `{method}`, not decided\n",
        stopped.unwrap_or_default(),
        counted(totals.racy, "racy event"),
        counted(totals.events, "event")
    )
}
