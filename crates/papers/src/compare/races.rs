//! Races by every method, after paper 1's table 1.

use std::collections::BTreeSet;
use std::time::Instant;

use candidates::Report;
use candidates::races::poly;
use decide::Index;
use serde::Serialize;
use trace::EventId;

use super::{Size, settings, with_unknown};
use crate::races::{Method, for_each_pair, lockset};

/// One trace.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    size: Size,
    candidates: u64,
    methods: Vec<Outcome>,
}

/// What one method found in one trace.
#[derive(Clone, Debug, Serialize)]
struct Outcome {
    method: &'static str,
    /// `null`: the trace is too large for the method.
    racy_events: Option<u64>,
    unknown: u64,
    microseconds_a_candidate: f64,
}

pub(super) fn row(size: Size, index: &Index<'_>, budget: u64) -> Row {
    let candidates = lockset::pairs_within(index.trace(), index.bounds()).count() as u64;
    let methods = Method::ALL.iter().map(|&method| outcome(method, index, candidates, budget)).collect();
    Row { size, candidates, methods }
}

fn outcome(method: Method, index: &Index<'_>, candidates: u64, budget: u64) -> Outcome {
    let start = Instant::now();
    let mut racy: BTreeSet<EventId> = BTreeSet::new();
    let mut unknown = 0;
    let whole = match method {
        Method::Poly => {
            let funnel = poly::races(index, settings(budget), &mut |report| {
                if let Report::Bug(found) = report {
                    racy.extend(found.question.named().into_iter().max());
                }
            });
            unknown = funnel.unknown;
            true
        }
        method => for_each_pair(method, index, &mut |pair| {
            racy.insert(pair.second);
        })
        .is_ok(),
    };
    Outcome {
        method: method.name(),
        racy_events: whole.then_some(racy.len() as u64),
        unknown,
        microseconds_a_candidate: start.elapsed().as_secs_f64() * 1e6 / candidates.max(1) as f64,
    }
}

pub(super) fn header() -> Vec<String> {
    let fixed = ["trace", "thr", "lks", "cvs", "vars", "evs", "lkevs", "coevs", "rwevs (r/w)", "pairs"];
    let counts = Method::ALL.iter().map(|method| method.name().to_owned());
    let times = Method::ALL.iter().map(|method| format!("us-{method}"));
    fixed.iter().map(|&name| name.to_owned()).chain(counts).chain(times).collect()
}

impl Row {
    pub(super) fn cells(&self) -> Vec<String> {
        let Size { trace, threads, locks, conditions, variables, events, .. } = &self.size;
        let (reads, writes) = (self.size.reads, self.size.writes);
        let mut cells = vec![trace.clone()];
        cells.extend([threads, locks, conditions, variables, events].map(|size| size.to_string()));
        cells.extend([self.size.lock_events.to_string(), self.size.condition_events.to_string()]);
        cells.push(format!("{} ({reads}/{writes})", reads + writes));
        cells.push(self.candidates.to_string());
        cells.extend(self.methods.iter().map(|result| match result.racy_events {
            None => "too large".to_owned(),
            Some(racy) => with_unknown(racy, result.unknown),
        }));
        cells.extend(self.methods.iter().map(|result| format!("{:.2}", result.microseconds_a_candidate)));
        cells
    }
}
