//! `foretell compare`: what each method finds, trace by trace, as the papers tabulate it.

mod layout;

use std::ffi::OsString;

use clap::Args;
use papers::compare::{Comparison, MissingRow, TableKind};
use serde::Serialize;

use self::layout::Form;
use crate::arguments::one_of;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::heartbeat::Heartbeat;
use crate::interrupts;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::open::{Reading, open_as};
use crate::output;
use crate::progress;
use crate::quantity::quantity;
use pipeline::Bounds;
use pipeline::budget::{bound_of_findings, in_words};
use report::StoppedBy;

const EXAMPLES: &str = "\
Prints three tables with one row per trace. A number after `?` counts questions
that the budget left open. The model is `rf`. docs/reference.md explains the
methods and names the papers. When `--timeout` or `--memory` is used up, the
rows that are whole are printed, and the exit status is 3.

Races (paper 1, table 1): threads, locks, condition variables, variables;
events, lock events, condition events, reads, writes; pairs without a common
lock; then for each method its racy events (those that race with an earlier
event) and the microseconds per pair.

Atomicity violations (paper 5, tables 2 and 3): for each method its violations
(one per variable and three source locations, without inevitable ones), the
shared variables that have one (`sv-`) and the seconds (`s-`).

Nondeterministic reads (paper 4, table A1): witnesses (a read and another write
that it might see; the paper counts three orders for each); those refuted by a
cycle of orders; those feasible without a choice between critical sections or
writes; those settled by trying choices, and the average number of cases; all
feasible and all infeasible ones; reads that can see another value; seconds.

Examples:
  foretell compare corpus/races/*.std
  foretell compare --only atomicity --format csv run1.ftr run2.ftr > methods.csv";

/// Compare the search methods on traces.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    /// The traces, in any format.
    #[arg(value_name = "T", required = true)]
    traces: Vec<OsString>,
    /// Print only the tables for these kinds of bugs.
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    #[arg(value_parser = one_of(&TableKind::ALL, TableKind::name))]
    only: Vec<TableKind>,
    /// The format of the tables.
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Text)]
    format: Form,
    /// The maximum number of steps per question.
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "20M")]
    budget: u64,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    limits: TimeAndMemory,
}

/// The tables as JSON.
#[derive(Debug, Serialize)]
struct Output<'a> {
    schema: u32,
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// What ended it before all rows were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<StoppedComparison<'a>>,
}

#[derive(Debug, Serialize)]
struct StoppedComparison<'a> {
    by: StoppedBy,
    reason: String,
    missing: &'a [MissingRow],
}

/// The tables so far.
#[derive(Clone, Debug, Default)]
struct Tables {
    comparison: Comparison,
    missing: Vec<MissingRow>,
}

impl Compare {
    /// Compares, and prints the tables.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let bounds = self.limits.start();
        let printer = Printer { kinds: self.kinds(), format: self.format, mode: self.mode, bounds };
        let mut tables = Tables::default();
        for (number, trace) in self.traces.iter().enumerate() {
            printer.set_last_words(&tables, &self.traces[number..]);
            let opened = match open_as(trace, self.reading, bounds, self.mode) {
                Ok(opened) => opened,
                Err(_) if bounds.are_final() => {
                    tables.missing.extend(printer.rows_of(&self.traces[number..]));
                    break;
                }
                Err(diagnostic) => return Err(diagnostic),
            };
            let mut heartbeat = Heartbeat::new(self.mode);
            heartbeat.begin(format!("comparing the methods on {}", opened.name));
            let Tables { comparison, missing } = &mut tables;
            missing.extend(comparison.add_within(
                &opened.name,
                &opened.trace,
                &printer.kinds,
                self.budget,
                bounds,
            ));
            heartbeat.stop();
        }
        interrupts::begin_report();
        printer.print(&tables)
    }

    /// The tables to make, in their order.
    fn kinds(&self) -> Vec<TableKind> {
        let wanted = |kind: &TableKind| self.only.is_empty() || self.only.contains(kind);
        TableKind::ALL.into_iter().filter(wanted).collect()
    }
}

/// How the tables are printed.
#[derive(Clone, Debug)]
struct Printer {
    kinds: Vec<TableKind>,
    format: Form,
    mode: OutputMode,
    bounds: Bounds,
}

impl Printer {
    /// Prints the tables, and what is missing in them.
    fn print(&self, Tables { comparison, missing }: &Tables) -> Result<Exit, Diagnostic> {
        let bound = self.bounds.reached().filter(|_| !missing.is_empty());
        let reason = bound.map(|bound| in_words(self.bounds, bound));
        if self.mode.json {
            let stopped = bound.zip(reason.clone()).map(|(bound, reason)| StoppedComparison {
                by: bound_of_findings(bound),
                reason,
                missing,
            });
            output::print_json(&Output { schema: report::SCHEMA, comparison, stopped })?;
        } else {
            let tables: Vec<_> = self.kinds.iter().map(|&kind| comparison.table(kind)).collect();
            output::print(&layout::laid_out(&tables, self.format))?;
        }
        let Some(reason) = reason else { return Ok(Exit::Nothing) };
        let rows = missing.iter().map(|row| format!("{} of {}", row.table, report::shown(&row.trace)));
        progress::say(&format!("Stopped: {reason}. Rows left out: {}.", rows.collect::<Vec<_>>().join(", ")));
        Ok(Exit::Budget)
    }

    /// From now on these tables are printed if a method does not end when it is asked to.
    fn set_last_words(&self, tables: &Tables, rest: &[OsString]) {
        let (printer, mut tables) = (self.clone(), tables.clone());
        tables.missing.extend(self.rows_of(rest));
        interrupts::set_last_words(Box::new(move |_| printer.print(&tables).unwrap_or(Exit::Budget)));
    }

    /// A row of each of these traces in each table.
    fn rows_of(&self, traces: &[OsString]) -> Vec<MissingRow> {
        let rows = |trace: &OsString| {
            let trace = trace.to_string_lossy().into_owned();
            let row = |kind: &TableKind| MissingRow { trace: trace.clone(), table: kind.name() };
            self.kinds.iter().map(row).collect::<Vec<_>>()
        };
        traces.iter().flat_map(rows).collect()
    }
}
