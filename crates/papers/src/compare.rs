//! What each method finds in a trace, as the papers tabulate it. A file for each table.

mod atomicity;
mod nondeterminism;
mod races;

use bounds::Bounds;
use candidates::SearchSettings;
use check::Model;
use decide::{Index, Options};
use serde::Serialize;
use trace::{Op, Trace};

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Races, after paper 1's table 1.
    Races,
    /// Atomicity violations, after paper 5's tables 2 and 3.
    Atomicity,
    /// Nondeterministic reads, after paper 4's table A1.
    Nondeterminism,
}

impl TableKind {
    /// All of them, in their order.
    pub const ALL: [TableKind; 3] = [TableKind::Races, TableKind::Atomicity, TableKind::Nondeterminism];

    /// The kind of bug that it is about.
    pub fn name(self) -> &'static str {
        match self {
            TableKind::Races => "race",
            TableKind::Atomicity => "atomicity",
            TableKind::Nondeterminism => "nondeterminism",
        }
    }
}

/// A row for each trace in each table. Tables that were not asked for are empty.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    #[serde(rename = "rows")]
    races: Vec<races::Row>,
    atomicity: Vec<atomicity::Row>,
    nondeterminism: Vec<nondeterminism::Row>,
}

/// A row that is missing, because the time or the memory ran out before it was whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingRow {
    /// The trace.
    pub trace: String,
    /// The kind of bug that the table is about.
    pub table: &'static str,
}

/// A table as text.
#[derive(Debug)]
pub struct Table {
    /// What it is about.
    pub title: &'static str,
    /// The names of its columns.
    pub header: Vec<String>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
}

impl Comparison {
    /// Runs the methods on a trace, and adds a row to each of these tables. Each question may take `budget` steps.
    pub fn add(&mut self, name: &str, trace: &Trace, kinds: &[TableKind], budget: u64) {
        self.add_within(name, trace, kinds, budget, Bounds::NONE);
    }

    /// The same; rows that the bounds do not leave time for are missing.
    pub fn add_within(
        &mut self,
        name: &str,
        trace: &Trace,
        kinds: &[TableKind],
        budget: u64,
        bounds: Bounds,
    ) -> Vec<MissingRow> {
        let index = Index::within(trace, bounds);
        let mut missing = Vec::new();
        for kind in kinds {
            let size = Size::of(name, trace);
            // What a search counts until it is stopped is less than there is, so it is no row.
            let is_whole = match kind {
                TableKind::Races => push_whole(&mut self.races, races::row(size, &index, budget), bounds),
                TableKind::Atomicity => {
                    push_whole(&mut self.atomicity, atomicity::row(size, &index, budget), bounds)
                }
                TableKind::Nondeterminism => {
                    push_whole(&mut self.nondeterminism, nondeterminism::row(size, &index, budget), bounds)
                }
            };
            if !is_whole {
                missing.push(MissingRow { trace: name.to_owned(), table: kind.name() });
            }
        }
        missing
    }

    /// A table with the rows so far.
    pub fn table(&self, kind: TableKind) -> Table {
        match kind {
            TableKind::Races => Table {
                title: "Races",
                header: races::header(),
                rows: self.races.iter().map(races::Row::cells).collect(),
            },
            TableKind::Atomicity => Table {
                title: "Atomicity violations",
                header: atomicity::header(),
                rows: self.atomicity.iter().map(atomicity::Row::cells).collect(),
            },
            TableKind::Nondeterminism => Table {
                title: "Nondeterministic reads",
                header: nondeterminism::header(),
                rows: self.nondeterminism.iter().map(nondeterminism::Row::cells).collect(),
            },
        }
    }
}

/// Adds a row unless the bounds were reached while it was made; whether it was added.
fn push_whole<R>(rows: &mut Vec<R>, row: R, bounds: Bounds) -> bool {
    let is_whole = !bounds.are_reached();
    if is_whole {
        rows.push(row);
    }
    is_whole
}

/// How all tables ask the engine.
fn settings(budget: u64) -> SearchSettings {
    SearchSettings { model: Model::ReadsFrom, options: Options { budget, ..Options::default() } }
}

/// A count, followed by `?` and the number of open questions if there are any.
fn with_unknown(count: u64, unknown: u64) -> String {
    match unknown {
        0 => count.to_string(),
        unknown => format!("{count} ?{unknown}"),
    }
}

/// What a trace is made of: the first columns of every table.
#[derive(Clone, Debug, Serialize)]
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
