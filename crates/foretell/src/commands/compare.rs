//! `foretell compare`: what each method finds, trace by trace, as the papers tabulate it. A file for each table.

mod atomicity;
mod layout;
mod nondeterminism;
mod races;

use std::ffi::OsString;

use check::Model;
use clap::{Args, ValueEnum};
use decide::{Options, Setup};
use serde::Serialize;
use trace::{Op, Trace};

use self::layout::{Cells, Form};
use crate::arguments::Manner;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::open::open;
use crate::output;
use crate::quantity::quantity;
use crate::stack::with_room;

const EXAMPLES: &str = "\
A row for each trace in each of three tables. What a budget left open stands behind a `?`; the engine is asked under `rf`.

Races, after table 1 of *Precisely Deciding Control State Reachability in Concurrent Traces with Limited Observability*:
threads, locks, condition variables, variables; events, of locks, of conditions, reads and writes; pairs without a
common lock; then for each method the racy events (those that race with an earlier one) and the microseconds it took
for each of those pairs.

Atomicity violations, after tables 2 and 3 of *A Method for Improving the Precision and Coverage of Atomicity Violation
Predictions*: for each method the violations (one for each variable and three places in the source, without those that
forks and joins leave no choice about), the shared variables with one (`sv-`), and the seconds it took (`s-`). `over` is the
paper's OA, `under` its UA; `exact` is the engine.

Nondeterministic reads, after table A1 of *Efficient Predictive Analysis for Detecting Nondeterminism in Multi-Threaded
Programs*: possible witnesses (a read and another write it might see; the paper counts three orders for each); those that
a cycle of orders refutes; those found feasible without going into a choice between sections or writes; those settled,
one way or the other, by going into choices, and how many cases that took for one, on average; all that are feasible and all
that are not; reads that can see something else; seconds.

Examples:
  foretell compare corpus/races/*.std
  foretell compare --only atomicity --format csv run1.ftr run2.ftr > methods.csv";

/// Compare what each method finds.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    /// The traces, in any form and compression.
    #[arg(value_name = "T", required = true)]
    traces: Vec<OsString>,
    /// Only the tables of these kinds of bugs.
    #[arg(long, value_name = "KIND,..", value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// How to lay out the tables.
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Text)]
    format: Form,
    /// How many steps each question may take.
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "20M")]
    budget: u64,
    #[command(flatten)]
    manner: Manner,
}

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Race,
    Atomicity,
    Nondeterminism,
}

/// All tables. Those not asked for are empty.
#[derive(Debug, Default, Serialize)]
struct Comparison {
    schema: u32,
    rows: Vec<races::Row>,
    atomicity: Vec<atomicity::Row>,
    nondeterminism: Vec<nondeterminism::Row>,
}

/// What all tables ask under.
fn settings(budget: u64) -> candidates::Settings {
    let options = Options { budget, ..Options::default() };
    candidates::Settings { model: Model::ReadsFrom, options }
}

impl Compare {
    /// Compares, and prints the tables.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let mut comparison = Comparison { schema: report::SCHEMA, ..Comparison::default() };
        for trace in &self.traces {
            let opened = open(trace, self.manner)?;
            with_room(|| self.rows(&opened.name, &opened.trace, &mut comparison))?;
        }
        if self.manner.json {
            output::print_json(&comparison)?;
        } else {
            output::print(&self.render(&comparison))?;
        }
        Ok(Exit::Nothing)
    }

    fn wants(&self, kind: Kind) -> bool {
        self.only.is_empty() || self.only.contains(&kind)
    }

    fn rows(&self, name: &str, trace: &Trace, comparison: &mut Comparison) {
        let setup = Setup::new(trace);
        let size = || Size::of(name, trace);
        if self.wants(Kind::Race) {
            comparison.rows.push(races::row(size(), &setup, self.budget));
        }
        if self.wants(Kind::Atomicity) {
            comparison.atomicity.push(atomicity::row(size(), &setup, self.budget));
        }
        if self.wants(Kind::Nondeterminism) {
            comparison.nondeterminism.push(nondeterminism::row(size(), &setup, self.budget));
        }
    }

    fn render(&self, comparison: &Comparison) -> String {
        let Comparison { rows, atomicity, nondeterminism, .. } = comparison;
        let mut tables = Vec::new();
        if self.wants(Kind::Race) {
            tables.push(("Races", Cells::new(races::header(), rows.iter().map(races::Row::cells))));
        }
        if self.wants(Kind::Atomicity) {
            let cells = atomicity.iter().map(atomicity::Row::cells);
            tables.push(("Atomicity violations", Cells::new(atomicity::header(), cells)));
        }
        if self.wants(Kind::Nondeterminism) {
            let cells = nondeterminism.iter().map(nondeterminism::Row::cells);
            tables.push(("Nondeterministic reads", Cells::new(nondeterminism::header(), cells)));
        }
        layout::laid_out(&tables, self.format)
    }
}

/// What a trace is made of: the first columns of every table.
#[derive(Debug, Serialize)]
struct Size {
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
}

impl Size {
    fn of(name: &str, trace: &Trace) -> Self {
        let count =
            |wanted: &dyn Fn(Op) -> bool| trace.events().filter(|&(_, _, op)| wanted(op)).count() as u64;
        let symbols = trace.symbols();
        Size {
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
        }
    }
}
