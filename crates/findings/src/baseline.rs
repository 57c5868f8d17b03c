//! Baselines: findings of an earlier search, to tell new ones from known ones.
//!
//! Findings are compared by their [`Cause`]: kind, variable and functions. So lines may move, and a known bug that a replay has confirmed since
//! stays known. Where functions are unknown, as in text traces, source locations take their place, and those must be equal.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::{Cause, Finding, FindingKind};

/// The findings of an earlier search.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    findings: Vec<Finding>,
    causes: HashSet<Cause>,
}

/// How findings compare with a baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// The ids of findings that the baseline has, too.
    pub known: Vec<String>,
    /// Findings of the baseline that were not found again.
    pub fixed: Vec<FixedFinding>,
}

/// A finding of a baseline that was not found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedFinding {
    /// Its id in the baseline.
    pub id: String,
    /// What kind of bug it was.
    pub kind: FindingKind,
    /// What it was about.
    pub object: String,
    /// Where its events were in the source.
    pub locations: Vec<String>,
}

impl Baseline {
    /// A baseline of these findings. Those that were counted but not shown belong to no baseline: they are new once they are shown.
    pub fn new(mut findings: Vec<Finding>) -> Self {
        findings.retain(|finding| finding.shown != Some(false));
        let causes = findings.iter().map(Cause::of).collect();
        Baseline { findings, causes }
    }

    /// Compares the findings of a later search.
    pub fn compare(&self, findings: &[Finding]) -> Comparison {
        let shown = || findings.iter().filter(|finding| finding.shown != Some(false));
        let found: HashSet<Cause> = findings.iter().map(Cause::of).collect();
        let known = shown().filter(|finding| self.causes.contains(&Cause::of(finding)));
        let fixed = self.findings.iter().filter(|finding| !found.contains(&Cause::of(finding)));
        Comparison {
            known: known.map(|finding| finding.id.clone()).collect(),
            fixed: fixed.map(FixedFinding::of).collect(),
        }
    }
}

impl Comparison {
    /// Whether the baseline has this finding.
    pub fn knows(&self, finding: &Finding) -> bool {
        self.known.contains(&finding.id)
    }
}

impl FixedFinding {
    fn of(finding: &Finding) -> Self {
        let Finding { id, kind, object, locations, .. } = finding.clone();
        FixedFinding { id, kind, object, locations }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &str, object: &str, functions: [&str; 2], lines: [u32; 2]) -> Finding {
        let value = serde_json::json!({
            "id": id, "kind": "race", "rung": "predicted", "guaranteed": true, "events": [1, 2], "object": object,
            "locations": lines.map(|line| format!("bank.c:{line}")), "functions": functions, "count": 1,
            "question": { "race": [1, 2] }, "schedule": [0, 1]
        });
        serde_json::from_value(value).expect("a finding")
    }

    #[test]
    fn lines_move_and_functions_stay() {
        let old = Baseline::new(vec![
            finding("race-1", "balance", ["deposit", "audit"], [9, 20]),
            finding("race-2", "total", ["deposit", "audit"], [10, 21]),
        ]);
        let new = [
            finding("race-1", "limit", ["deposit", "audit"], [11, 25]),
            finding("race-2", "balance", ["audit", "deposit"], [40, 51]),
            finding("race-3", "balance", ["deposit", "close"], [40, 60]),
        ];
        let comparison = old.compare(&new);
        assert_eq!(comparison.known, ["race-2"]);
        assert!(comparison.knows(&new[1]) && !comparison.knows(&new[0]) && !comparison.knows(&new[2]));
        let fixed: Vec<_> = comparison.fixed.iter().map(|fixed| (&*fixed.id, &*fixed.object)).collect();
        assert_eq!(fixed, [("race-2", "total")]);
    }

    #[test]
    fn what_was_not_shown_is_new_once_it_is_shown() {
        let hidden = Finding { shown: Some(false), ..finding("race-1", "balance", ["a", "b"], [1, 2]) };
        let now = Finding { shown: Some(true), ..hidden.clone() };
        let comparison = Baseline::new(vec![hidden]).compare(&[now]);
        assert_eq!(comparison, Comparison::default());
    }
}
