//! `foretell compare`: what each method finds, trace by trace, as the papers tabulate it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use candidates::races::{Method, lockset, poly, reported};
use candidates::{Report, Settings};
use check::Model;
use clap::{Args, ValueEnum};
use decide::{Options, Setup};
use serde::Serialize;
use trace::{EventId, Op, Trace};

use crate::arguments::Manner;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::open::open;
use crate::output;
use crate::quantity::quantity;
use crate::stack::with_room;

const EXAMPLES: &str = "\
A row for each trace, after table 1 of *Precisely Deciding Control State Reachability in Concurrent Traces with Limited
Observability*: threads, locks, condition variables, variables; events, of locks, of conditions, reads and writes;
pairs without a common lock; then for each method the racy events (those that race with an earlier one) and the
microseconds it took for each of those pairs. `poly` is asked under `rf`; what its budget left open stands behind a `?`.

Examples:
  foretell compare corpus/races/*.std
  foretell compare --format csv run1.ftr run2.ftr > methods.csv";

/// Compare what each method finds.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    /// The traces, in any form and compression.
    #[arg(value_name = "T", required = true)]
    traces: Vec<OsString>,
    /// How to lay out the table.
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Text)]
    format: Form,
    /// How many steps each question may take.
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "20M")]
    budget: u64,
    #[command(flatten)]
    manner: Manner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Columns for a terminal.
    Text,
    /// Comma-separated values.
    Csv,
    /// A Markdown table.
    Markdown,
}

/// One trace.
#[derive(Debug, Serialize)]
struct Row {
    trace: String,
    threads: usize,
    locks: usize,
    conditions: usize,
    variables: usize,
    events: usize,
    lock_events: u64,
    condition_events: u64,
    reads: u64,
    writes: u64,
    candidates: u64,
    methods: Vec<Outcome>,
}

/// What one method found in one trace.
#[derive(Debug, Serialize)]
struct Outcome {
    method: &'static str,
    /// `null`: the trace is too large for the method.
    racy_events: Option<u64>,
    unknown: u64,
    microseconds_a_candidate: f64,
}

#[derive(Debug, Serialize)]
struct Comparison {
    schema: u32,
    rows: Vec<Row>,
}

impl Compare {
    /// Compares, and prints the table.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let mut rows = Vec::new();
        for trace in &self.traces {
            let opened = open(trace, self.manner)?;
            rows.push(with_room(|| self.row(&opened.name, &opened.trace))?);
        }
        if self.manner.json {
            output::print_json(&Comparison { schema: report::SCHEMA, rows })?;
        } else {
            output::print(&self.render(&rows))?;
        }
        Ok(Exit::Nothing)
    }

    fn row(&self, name: &str, trace: &Trace) -> Row {
        let count =
            |wanted: &dyn Fn(Op) -> bool| trace.events().filter(|&(_, _, op)| wanted(op)).count() as u64;
        let symbols = trace.symbols();
        let setup = Setup::new(trace);
        let candidates = lockset::pairs(trace).count() as u64;
        Row {
            trace: name.to_owned(),
            threads: symbols.threads.len(),
            locks: symbols.locks.len(),
            conditions: symbols.conditions.len(),
            variables: symbols.variables.len(),
            events: trace.len(),
            lock_events: count(&|op| {
                matches!(op, Op::Acquire(_) | Op::Release(_) | Op::AcquireShared(_) | Op::ReleaseShared(_))
            }),
            condition_events: count(&|op| matches!(op, Op::Wait(_) | Op::Signal(_) | Op::Broadcast(_))),
            reads: count(&|op| op.reads().is_some()),
            writes: count(&|op| op.writes().is_some()),
            candidates,
            methods: Method::ALL.iter().map(|&method| self.result(method, &setup, candidates)).collect(),
        }
    }

    fn result(&self, method: Method, setup: &Setup<'_>, candidates: u64) -> Outcome {
        let start = Instant::now();
        let mut racy: BTreeSet<EventId> = BTreeSet::new();
        let mut unknown = 0;
        let whole = match method {
            Method::Poly => {
                let options = Options { budget: self.budget, ..Options::default() };
                let funnel =
                    poly::races(setup, Settings { model: Model::ReadsFrom, options }, &mut |report| {
                        if let Report::Found(found) = report {
                            racy.extend(found.question.named().into_iter().max());
                        }
                    });
                unknown = funnel.unknown;
                true
            }
            method => reported(method, setup, &mut |pair| {
                racy.insert(pair.second);
            })
            .is_ok(),
        };
        Outcome {
            method: method.name(),
            racy_events: whole.then_some(racy.len() as u64),
            unknown,
            microseconds_a_candidate: microseconds(start.elapsed()) / candidates.max(1) as f64,
        }
    }

    fn render(&self, rows: &[Row]) -> String {
        let mut table = vec![header()];
        table.extend(rows.iter().map(cells));
        match self.format {
            Form::Csv => table
                .iter()
                .map(|row| row.iter().map(|c| quoted(c)).collect::<Vec<_>>().join(",") + "\n")
                .collect(),
            Form::Markdown => {
                let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
                let rule = format!("|{}\n", "---|".repeat(table[0].len()));
                let body: String = table[1..].iter().map(line).collect();
                format!("{}{rule}{body}", line(&table[0]))
            }
            Form::Text => columns(&table),
        }
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn header() -> Vec<String> {
    let fixed = ["trace", "thr", "lks", "cvs", "vars", "evs", "lkevs", "coevs", "rwevs (r/w)", "pairs"];
    let counts = Method::ALL.iter().map(|method| method.name().to_owned());
    let times = Method::ALL.iter().map(|method| format!("us-{method}"));
    fixed.iter().map(|&name| name.to_owned()).chain(counts).chain(times).collect()
}

fn cells(row: &Row) -> Vec<String> {
    let sizes =
        [row.threads, row.locks, row.conditions, row.variables, row.events].map(|size| size.to_string());
    let mut cells = vec![row.trace.clone()];
    cells.extend(sizes);
    cells.extend([row.lock_events.to_string(), row.condition_events.to_string()]);
    cells.push(format!("{} ({}/{})", row.reads + row.writes, row.reads, row.writes));
    cells.push(row.candidates.to_string());
    cells.extend(row.methods.iter().map(|result| match (result.racy_events, result.unknown) {
        (None, _) => "too large".to_owned(),
        (Some(racy), 0) => racy.to_string(),
        (Some(racy), unknown) => format!("{racy} ?{unknown}"),
    }));
    cells.extend(row.methods.iter().map(|result| format!("{:.2}", result.microseconds_a_candidate)));
    cells
}

/// A cell as CSV has it.
fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

/// The first column to the left, the others to the right.
fn columns(table: &[Vec<String>]) -> String {
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(index, (cell, width))| match index {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    table.iter().map(line).collect()
}
