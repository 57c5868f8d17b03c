//! Nondeterministic reads by phase, after paper 4's table A1.
//!
//! The engine builds no graph for each combination of choices between sections, as the paper does: it guesses an order and goes into a choice
//! only where that fails. So a witness counts as one *with choices* if a choice had to be gone into, and each case gone
//! into as a graph explored. The paper counts three orders of events for each witness here (its numbers are all divisible by three).

use std::time::Instant;

use candidates::nondeterminism::search;
use decide::{Index, Phases};
use serde::Serialize;

use super::{Size, settings, with_unknown};

/// One trace.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    size: Size,
    /// Column 2: a read and something it did not see.
    witnesses: u64,
    /// Column 3: refuted by a cycle of orders.
    cycles: u64,
    /// Column 4: feasible without going into choices.
    no_choices: u64,
    /// Column 5: settled, one way or the other, by going into choices.
    choices: u64,
    /// Cases gone into for those; divided by them, column 7.
    graphs: u64,
    /// Column 9.
    feasible: u64,
    /// Column 10.
    infeasible: u64,
    unknown: u64,
    /// Reads that can see something else.
    reads: u64,
    seconds: f64,
}

pub(super) fn row(size: Size, index: &Index<'_>, budget: u64) -> Row {
    let start = Instant::now();
    let counts = search(index, settings(budget), &mut |report| drop(report));
    let Phases { witnesses, feasible, unknown, feasible_by_cases, refuted_by_cases, cases, .. } =
        counts.phases;
    let infeasible = witnesses - feasible - unknown;
    Row {
        size,
        witnesses,
        cycles: infeasible - refuted_by_cases,
        no_choices: feasible - feasible_by_cases,
        choices: feasible_by_cases + refuted_by_cases,
        graphs: cases,
        feasible,
        infeasible,
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
        "no choices",
        "choices",
        "graphs",
        "feasible",
        "infeasible",
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
            self.no_choices.to_string(),
            self.choices.to_string(),
            graphs,
            with_unknown(self.feasible, self.unknown),
            self.infeasible.to_string(),
            self.reads.to_string(),
            format!("{:.3}", self.seconds),
        ]
    }
}
