//! `foretell compare`: what each method finds, trace by trace, as the papers tabulate it.

mod layout;

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use papers::compare::{Comparison, TableKind};
use serde::Serialize;

use self::layout::Form;
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

impl From<Kind> for TableKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Race => TableKind::Races,
            Kind::Atomicity => TableKind::Atomicity,
            Kind::Nondeterminism => TableKind::Nondeterminism,
        }
    }
}

/// The tables as JSON.
#[derive(Debug, Serialize)]
struct Output<'a> {
    schema: u32,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

impl Compare {
    /// Compares, and prints the tables.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let mut comparison = Comparison::default();
        let kinds = self.kinds();
        for trace in &self.traces {
            let opened = open(trace, self.manner)?;
            with_room(|| comparison.add(&opened.name, &opened.trace, &kinds, self.budget))?;
        }
        if self.manner.json {
            output::print_json(&Output { schema: report::SCHEMA, comparison: &comparison })?;
        } else {
            let tables: Vec<_> = kinds.iter().map(|&kind| comparison.table(kind)).collect();
            output::print(&layout::laid_out(&tables, self.format))?;
        }
        Ok(Exit::Nothing)
    }

    /// The tables to make, in their order.
    fn kinds(&self) -> Vec<TableKind> {
        let wanted = |kind: &Kind| self.only.is_empty() || self.only.contains(kind);
        Kind::value_variants().iter().copied().filter(wanted).map(TableKind::from).collect()
    }
}
