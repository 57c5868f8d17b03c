//! Nondeterministic reads by phase, after paper 4's table A1.
//!
//! The engine builds no graph for each combination of choices, as the paper does: it guesses an order and goes through choices only where
//! that fails. So witnesses without and with choices (columns 4 and 5) are one column if they are feasible, and a graph counts
//! as explored when a case of a refutation was closed.

use std::time::Instant;

use candidates::nondeterminism::search;
use decide::{Phases, Setup};
use serde::Serialize;

use super::layout::with_open;
use super::{Size, settings};

/// One trace.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    size: Size,
    /// Column 2: a read and something it did not see.
    witnesses: u64,
    /// Column 3: refuted by a cycle of orders.
    cycles: u64,
    /// Column 9.
    feasible: u64,
    /// Refuted by going through choices.
    choices: u64,
    /// Cases closed for those.
    graphs: u64,
    unknown: u64,
    /// Reads that can see something else.
    reads: u64,
    seconds: f64,
}

pub(super) fn row(size: Size, setup: &Setup<'_>, budget: u64) -> Row {
    let start = Instant::now();
    let counts = search(setup, settings(budget), &mut |report| drop(report));
    let Phases { witnesses, feasible, unknown, by_cases, cases, .. } = counts.phases;
    Row {
        size,
        witnesses,
        cycles: witnesses - feasible - unknown - by_cases,
        feasible,
        choices: by_cases,
        graphs: cases,
        unknown,
        reads: counts.not_view_preserving,
        seconds: start.elapsed().as_secs_f64(),
    }
}

pub(super) fn header() -> Vec<String> {
    let names = [
        "trace",
        "thr",
        "evs",
        "lkevs",
        "lks",
        "rwevs",
        "vars",
        "wnevs",
        "witnesses",
        "cycles",
        "feasible",
        "choices",
        "graphs",
        "reads",
        "s",
    ];
    names.map(str::to_owned).into()
}

impl Row {
    pub(super) fn cells(&self) -> Vec<String> {
        let Size { trace, threads, locks, variables, events, .. } = &self.size;
        let graphs = match self.choices {
            0 => "-".to_owned(),
            choices => format!("{:.2}", self.graphs as f64 / choices as f64),
        };
        vec![
            trace.clone(),
            threads.to_string(),
            events.to_string(),
            self.size.lock_events.to_string(),
            locks.to_string(),
            (self.size.reads + self.size.writes).to_string(),
            variables.to_string(),
            self.size.condition_events.to_string(),
            self.witnesses.to_string(),
            self.cycles.to_string(),
            with_open(self.feasible, self.unknown),
            self.choices.to_string(),
            graphs,
            self.reads.to_string(),
            format!("{:.3}", self.seconds),
        ]
    }
}
