//! Baselines: findings of an earlier search, to tell new ones from known ones.
//!
//! Findings are compared by their [`Cause`]: kind, variable and functions. So lines may move, and a known bug that a replay has confirmed since
//! stays known. Where functions are unknown, as in text traces, source locations take their place, and those must be equal.
//!
//! Some causes have lines in them: where a block was allocated, or where an assertion stands. What is left over is compared without these, one by
//! one: two assertions with the same words in one file are two bugs, wherever they are now.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::cause::Moved;
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
        let found: HashSet<Cause> = findings.iter().map(Cause::of).collect();
        let left = self.findings.iter().filter(|finding| !found.contains(&Cause::of(finding)));
        let mut fixed = HashMap::<Moved, Vec<&Finding>>::new();
        left.for_each(|finding| fixed.entry(Moved::of(finding)).or_default().push(finding));
        let mut is_known = |finding: &Finding| {
            self.causes.contains(&Cause::of(finding))
                || fixed.get_mut(&Moved::of(finding)).and_then(Vec::pop).is_some()
        };
        // What is shown has the first choice.
        let (shown, hidden): (Vec<&Finding>, Vec<&Finding>) =
            findings.iter().partition(|finding| finding.shown != Some(false));
        let known: Vec<&Finding> = shown.into_iter().filter(|finding| is_known(finding)).collect();
        for finding in hidden {
            is_known(finding);
        }
        let fixed: HashSet<&str> = fixed.values().flatten().map(|finding| finding.id.as_str()).collect();
        let fixed = self.findings.iter().filter(|finding| fixed.contains(finding.id.as_str()));
        Comparison {
            known: known.into_iter().map(|finding| finding.id.clone()).collect(),
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
    fn lines_in_names_move_as_well() {
        let of = |id: &str, object: &str, line: u32| finding(id, object, ["add", "audit"], [line, line + 1]);
        let old = Baseline::new(vec![
            of("race-1", "conn (names.c:22)->state", 30),
            of("race-2", "conn (names.c:25)->state", 30),
            of("race-3", "local of add in T1 at -296", 40),
        ]);
        let new = [
            of("race-1", "conn (names.c:24)->state", 32),
            of("race-2", "conn (names.c:27)->state", 32),
            of("race-3", "conn (names.c:90)->state", 32),
            of("race-4", "local of add in T2 at -8", 42),
            of("race-5", "conn (other.c:24)->state", 32),
        ];
        let comparison = old.compare(&new);
        // There were two such blocks, and now there are three.
        assert_eq!(comparison.known, ["race-1", "race-2", "race-4"]);
        assert_eq!(comparison.fixed, []);
        let back = Baseline::new(new.to_vec()).compare(&old.findings);
        assert_eq!(back.known, ["race-1", "race-2", "race-3"]);
        assert_eq!(back.fixed.len(), 2);
    }

    #[test]
    fn assertions_move() {
        let failure = |id: &str, line: u32| {
            let failed = serde_json::json!({
                "message": "assertion `n` failed", "identity": format!("assertion `n` failed at a.c:{line}"), "signal": 6,
                "status": null, "thread": "main", "stack": [], "threads": [], "failed_runs": 1, "runs": 1, "every_run": false
            });
            let found = finding(id, "assertion `n` failed", ["main", "main"], [line, line]);
            let failure = Some(serde_json::from_value(failed).expect("a failure"));
            Finding { kind: FindingKind::Failure, failure, ..found }
        };
        let old = Baseline::new(vec![failure("failure-1", 7)]);
        let comparison = old.compare(&[failure("failure-1", 9)]);
        assert_eq!((comparison.known.len(), comparison.fixed.len()), (1, 0));
        let comparison = old.compare(&[failure("failure-1", 7), failure("failure-2", 9)]);
        assert_eq!(comparison.known, ["failure-1"]);
    }

    #[test]
    fn what_was_not_shown_is_new_once_it_is_shown() {
        let hidden = Finding { shown: Some(false), ..finding("race-1", "balance", ["a", "b"], [1, 2]) };
        let now = Finding { shown: Some(true), ..hidden.clone() };
        let comparison = Baseline::new(vec![hidden]).compare(&[now]);
        assert_eq!(comparison, Comparison::default());
    }
}
