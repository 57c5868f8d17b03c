//! Atomicity violations by every method, after paper 5's tables 2 and 3.

use std::collections::BTreeSet;
use std::time::Instant;

use candidates::atomicity::{Intent, LIMITS};
use candidates::{Extent, Object, PatternLimits, Report};
use decide::Index;
use serde::Serialize;

use super::{Size, settings, with_unknown};
use crate::atomicity::{Method, search_by};

/// One trace.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    size: Size,
    methods: Vec<Outcome>,
}

/// What one method found in one trace.
#[derive(Clone, Debug, Serialize)]
struct Outcome {
    method: &'static str,
    violations: u64,
    /// Shared variables with a violation, by name.
    variables: BTreeSet<String>,
    unknown: u64,
    seconds: f64,
}

pub(super) fn row(size: Size, index: &Index<'_>, budget: u64) -> Row {
    Row { size, methods: Method::ALL.map(|method| outcome(method, index, budget)).into() }
}

fn outcome(method: Method, index: &Index<'_>, budget: u64) -> Outcome {
    let start = Instant::now();
    let (mut violations, mut variables) = (0, BTreeSet::new());
    let limits = PatternLimits { extent: Extent::PatternsOfVariables, ..LIMITS };
    let counts =
        search_by(method, index, settings(budget), &Intent::Stated, limits, &mut |report| match report {
            Report::Bug(found) if !found.remarks.inherent => {
                violations += 1;
                if let Object::Variable(variable) = found.object {
                    variables.insert(variable);
                }
            }
            Report::Bug(_) | Report::Unknown(_) | Report::Progress { .. } => {}
        });
    let symbols = index.trace().symbols();
    Outcome {
        method: method.name(),
        violations,
        variables: variables.into_iter().map(|variable| symbols.variable(variable).to_owned()).collect(),
        unknown: counts.tally.unknown,
        seconds: start.elapsed().as_secs_f64(),
    }
}

pub(super) fn header() -> Vec<String> {
    let fixed = ["trace", "thr", "vars", "evs"].map(str::to_owned);
    let of_each = |prefix: &str| Method::ALL.map(|method| format!("{prefix}{}", method.name()));
    [&fixed[..], &of_each(""), &of_each("sv-"), &of_each("s-")].concat()
}

impl Row {
    pub(super) fn cells(&self) -> Vec<String> {
        let Size { trace, threads, variables, events, .. } = &self.size;
        let mut cells = vec![trace.clone()];
        cells.extend([threads, variables, events].map(|size| size.to_string()));
        cells.extend(self.methods.iter().map(|method| with_unknown(method.violations, method.unknown)));
        cells.extend(self.methods.iter().map(|method| method.variables.len().to_string()));
        cells.extend(self.methods.iter().map(|method| format!("{:.3}", method.seconds)));
        cells
    }
}
