//! One step of an exploration that many hunts share: a run towards one target, and what is left to be tried after it.
//!
//! A hunt by itself knows all of its runs, and its search is complete. Hunts on many machines share less: which pairs of a read and a write
//! runs have shown, by their places in the program. Each pair that none has shown is a target. The worker that finds it publishes the schedule that leads there, and the worker that
//! takes it makes that run, searches it, and finds further targets. The number of pairs is limited, so this ends; it shows every pair that is found, not
//! every behaviour.

use serde::{Deserialize, Serialize};
use trace::ThreadPath;

/// A read that is to see what it has not been seen to see, and how to get there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplorationTarget {
    /// The place that reads and the place that writes.
    pub pair: String,
    /// Threads by their paths, one after the other, and how many events each has performed then.
    pub route: Vec<(String, u64)>,
}

/// What a step leaves, in `targets.json` of the run's directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOutcome {
    /// Pairs that its runs have shown.
    pub covered: Vec<String>,
    /// Pairs that they have not.
    pub targets: Vec<ExplorationTarget>,
}

impl StepOutcome {
    /// The name of its file.
    pub const FILE: &str = "targets.json";
    /// The most targets of a step that are stored, those of rarely tried pairs first. Later steps find the others.
    pub const MOST: usize = 200;
}

/// A step to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedStep {
    /// Where to; none: where the seed leads.
    pub target: Option<ExplorationTarget>,
}

impl ExplorationTarget {
    /// The route, if it is one.
    pub(crate) fn legs(&self) -> Option<Vec<(ThreadPath, u64)>> {
        let leg = |(thread, until): &(String, u64)| Some((thread.parse().ok()?, *until));
        self.route.iter().map(leg).collect()
    }

    /// Whether its pair is what it should be: the name is used for files and subjects.
    pub fn is_well_formed(&self) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        self.pair.len() <= 40 && self.pair.bytes().all(is_plain) && self.legs().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_from_elsewhere_are_looked_at() {
        let target =
            ExplorationTarget { pair: "55e0-7f10".into(), route: vec![("0".into(), 12), ("0.1".into(), 7)] };
        assert!(target.is_well_formed());
        assert_eq!(target.legs().unwrap()[1], (ThreadPath::FIRST.child(1), 7));
        assert!(!ExplorationTarget { pair: "../x".into(), ..target.clone() }.is_well_formed());
        assert!(!ExplorationTarget { pair: "a.b".into(), ..target.clone() }.is_well_formed());
        assert!(!ExplorationTarget { route: vec![("main".into(), 1)], ..target }.is_well_formed());
    }
}
