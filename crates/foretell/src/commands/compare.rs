//! `foretell compare`: what each method finds, trace by trace, as the papers tabulate it.

mod layout;

use std::ffi::OsString;

use clap::Args;
use papers::compare::{Comparison, TableKind};
use serde::Serialize;

use self::layout::Form;
use crate::arguments::one_of;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::mode::OutputMode;
use crate::open::{Reading, open_as};
use crate::output;
use crate::quantity::quantity;
use pipeline::Bounds;

const EXAMPLES: &str = "\
Prints three tables with one row per trace. A number after `?` counts questions
that the budget left open. The model is `rf`. docs/reference.md explains the
methods and names the papers.

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
            let opened = open_as(trace, self.reading, Bounds::NONE, self.mode)?;
            comparison.add(&opened.name, &opened.trace, &kinds, self.budget);
        }
        if self.mode.json {
            output::print_json(&Output { schema: report::SCHEMA, comparison: &comparison })?;
        } else {
            let tables: Vec<_> = kinds.iter().map(|&kind| comparison.table(kind)).collect();
            output::print(&layout::laid_out(&tables, self.format))?;
        }
        Ok(Exit::Nothing)
    }

    /// The tables to make, in their order.
    fn kinds(&self) -> Vec<TableKind> {
        let wanted = |kind: &TableKind| self.only.is_empty() || self.only.contains(kind);
        TableKind::ALL.into_iter().filter(wanted).collect()
    }
}
