//! `foretell predict`: the bugs of the runs that did not happen, each with a schedule that shows it.
//!
//! Searches report as they go (`candidates`); `gather.rs` keeps one finding for each set of source locations,
//! or all of them, and verifies every schedule that is shown.

mod gather;
mod others;
mod races;

use std::ffi::OsString;

use candidates::races::Method;
use clap::{Args, ValueEnum};
use decide::{Options, Setup};
use report::{FindingKind, ModelName, Predictions, SCHEMA, Size, Steps, finding_in_words};
use trace::Trace;

use super::decide::{ModelArgument, refuse_without_branches};
use crate::arguments::Manner;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::open::open;
use crate::output;
use crate::quantity::quantity;
use crate::stack::with_room;
use crate::table::{counted, number};

const EXAMPLES: &str = "\
Examples:
  foretell predict run.ftr                          every bug that can be foretold from this run
  foretell predict run.std.gz --only race --all     every racing pair of events, not one for each pair of places
  foretell predict run.ftr --model sync             also what may depend on values that reads would see
  foretell predict run.ftr --only race --method hb  what happens-before reports, with what is true of it
  foretell predict run.ftr --only deadlock,race     other kinds: atomicity, nondeterminism
  foretell predict run.ftr --json                   for programs (see docs/json.md)

Methods to find races: lockset, hb (happens-before), cp (causally precedes), syncp (sync-preserving),
ucg (rule 1 and cycles), poly (the engine; exact). Each pair that a method reports is asked of the engine too,
for its rung; pairs that are infeasible are counted, not shown.

A finding is `predicted` if some run of the program must be able to show it (every read sees what it saw), and
`possible` if that depends on values. Every schedule has been verified before it is shown.

Exit status: 0 nothing found, 1 findings, 2 usage or input error, 3 nothing found, but a budget ran out.";

/// Foretell the bugs of other runs from this one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// The trace, in any form and compression; `-` is standard input.
    #[arg(value_name = "T")]
    trace: OsString,
    /// Look for these kinds of bugs only.
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',', num_args = 1..)]
    only: Vec<KindArgument>,
    /// What reads must see in a schedule: `sync`, `rf` or `branch` (see `foretell decide --help`).
    #[arg(long, value_name = "M", value_enum, default_value_t = ModelArgument::Rf, hide_possible_values = true)]
    model: ModelArgument,
    /// How to find races.
    #[arg(long, value_name = "X", default_value = "poly")]
    method: Method,
    /// One finding for each set of events, not for each set of source locations.
    #[arg(long)]
    all: bool,
    /// Show every step of long schedules.
    #[arg(long)]
    all_steps: bool,
    /// How many steps each question may take.
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "20M")]
    budget: u64,
    #[command(flatten)]
    manner: Manner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindArgument {
    Race,
    Deadlock,
    Atomicity,
    Nondeterminism,
}

impl KindArgument {
    const ALL: &[KindArgument] =
        &[KindArgument::Race, KindArgument::Deadlock, KindArgument::Atomicity, KindArgument::Nondeterminism];
}

impl Predict {
    /// Searches, and prints what was found.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let opened = open(&self.trace, self.manner)?;
        with_room(|| self.predict(&opened.trace))?
    }

    fn predict(&self, trace: &Trace) -> Result<Exit, Diagnostic> {
        let model = ModelName::from(self.model);
        if model == ModelName::Branch {
            refuse_without_branches(trace)?;
        }
        let setup = Setup::new(trace);
        let options = Options { budget: self.budget, ..Options::default() };
        let mut gatherer = gather::Gatherer::new(&setup, model, options, self.all);
        let mut predictions = Predictions {
            schema: SCHEMA,
            trace: Size::of(trace),
            model,
            method: self.method.name(),
            findings: Vec::new(),
            unknown: 0,
            candidates: 0,
            refuted: 0,
            funnel: None,
        };
        let kinds = if self.only.is_empty() { KindArgument::ALL } else { &self.only };
        for kind in kinds {
            match kind {
                KindArgument::Race => {
                    races::search(self.method, &mut gatherer, &mut predictions, self.manner)?;
                }
                KindArgument::Deadlock => others::deadlocks(&mut gatherer, &mut predictions, self.manner),
                KindArgument::Atomicity => others::atomicity(&mut gatherer, &mut predictions, self.manner),
                KindArgument::Nondeterminism => {
                    others::nondeterminism(&mut gatherer, &mut predictions, self.manner);
                }
            }
        }
        gatherer.finish(&mut predictions)?;
        if self.manner.json {
            output::print_json(&predictions)?;
        } else {
            output::print(&self.render(trace, &predictions))?;
        }
        Ok(match predictions {
            Predictions { ref findings, .. } if !findings.is_empty() => Exit::Findings,
            Predictions { unknown: 1.., .. } => Exit::Budget,
            _ => Exit::Nothing,
        })
    }

    fn render(&self, trace: &Trace, predictions: &Predictions) -> String {
        let mut text = String::new();
        let steps = if self.all_steps { Steps::All } else { Steps::Telling };
        if !self.manner.quiet {
            for finding in &predictions.findings {
                text.push_str(&finding_in_words(trace, finding, steps));
                text.push('\n');
            }
        }
        text.push_str(&summary(predictions));
        text
    }
}

/// The last lines: how many of what, and what was left open.
fn summary(predictions: &Predictions) -> String {
    let mut lines = Vec::new();
    if let Some(funnel) = predictions.funnel.filter(|funnel| funnel.pairs > 0) {
        lines.push(format!(
            "Of {} of accesses, {} are ordered in every run, {} kept apart by a lock, {} race with all \
             locks taken in the same order, {} were asked of the engine.",
            counted(funnel.pairs, "conflicting pair"),
            number(funnel.ordered),
            number(funnel.locked),
            number(funnel.preserving),
            number(funnel.asked)
        ));
    }
    if predictions.refuted > 0 {
        lines.push(format!(
            "{} that `{}` reports cannot happen in any order of these events, and are not shown.",
            counted(predictions.refuted, "pair"),
            predictions.method
        ));
    }
    if predictions.unknown > 0 {
        lines.push(format!(
            "{} left open: the budget ran out. More can be had by a larger `--budget`.",
            counted(predictions.unknown, "question")
        ));
    }
    let of_rung =
        |rung| predictions.findings.iter().filter(move |finding| finding.rung == rung).count() as u64;
    let (predicted, possible) = (of_rung(report::Rung::Predicted), of_rung(report::Rung::Possible));
    lines.push(match predictions.findings.len() as u64 {
        0 => "SUMMARY: nothing found".to_owned(),
        all => format!(
            "SUMMARY: {} ({}): {predicted} predicted, {possible} possible",
            counted(all, "finding"),
            kinds_in_words(predictions)
        ),
    });
    lines.join("\n") + "\n"
}

fn kinds_in_words(predictions: &Predictions) -> String {
    let mut kinds: Vec<(FindingKind, u64)> = Vec::new();
    for finding in &predictions.findings {
        match kinds.iter_mut().find(|(kind, _)| *kind == finding.kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((finding.kind, 1)),
        }
    }
    let words = kinds.iter().map(|(kind, count)| format!("{} {}", number(*count), kind.name()));
    words.collect::<Vec<_>>().join(", ")
}
