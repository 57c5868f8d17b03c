//! All that a search or a hunt came to: the findings, what was covered, and what was left.

use check::Model;
use serde::{Deserialize, Serialize};
use trace::Trace;

use crate::{Comparison, Finding, FindingKind, Suite};

/// All findings about a trace, as `predict --json` has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predictions {
    /// The version of this shape.
    pub schema: u32,
    /// The size of the trace.
    pub trace: Size,
    /// The model asked under.
    pub model: Model,
    /// How candidates were found.
    pub method: String,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Questions left open by the budget.
    pub unknown: u64,
    /// Candidates looked at.
    pub candidates: u64,
    /// Candidates of an inexact method that are infeasible even under `sync`.
    #[serde(default)]
    pub refuted: u64,
    /// Findings left out because the user suppressed them.
    #[serde(default)]
    pub suppressed: u64,
    /// Findings left out because they are entirely in code that is not the user's own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_code: u64,
    /// How many pairs of conflicting accesses each stage of the search for races settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub funnel: Option<Funnel>,
    /// What a hunt covered.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Why the search ended before its end, and what it left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// How the findings compare with a baseline, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Comparison>,
    /// The tests that were hunted in, of a whole test command.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub suite: Option<Suite>,
}

/// Why a search ended before its end, and what it left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// `time`, `memory`, `events`, `interrupt` or `error`.
    pub by: StoppedBy,
    /// The same in half a sentence.
    pub reason: String,
    /// The kinds that were not searched for to the end.
    pub unfinished: Vec<FindingKind>,
    /// Findings that were found, but not written out.
    pub left_out: u64,
}

impl Stopped {
    /// Adds what another search of the same work left.
    pub fn join(&mut self, other: Stopped) {
        self.left_out += other.left_out;
        for kind in other.unfinished {
            if !self.unfinished.contains(&kind) {
                self.unfinished.push(kind);
            }
        }
    }
}

/// What ends a search before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedBy {
    /// The time.
    Time,
    /// The memory.
    Memory,
    /// The number of events that are recorded.
    Events,
    /// The user.
    Interrupt,
    /// Something that went wrong.
    Error,
}

/// What a hunt covered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// How often the program was run.
    pub runs: u64,
    /// How many of these runs differ in what reads saw or in which order threads synchronised.
    pub behaviours: u64,
    /// Reads that could see something else and were not tried.
    #[serde(default)]
    pub targets: u64,
    /// Whether there is no other behaviour for this input, and none fails or ends with another exit status.
    pub exhausted: bool,
    /// The exit statuses of runs that did not fail, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<i32>,
    /// Why there may be other behaviours, even if no target is left.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// Why the hunt ended.
    #[serde(default)]
    pub ended: HuntEnd,
    /// The first run that failed, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<FirstFailure>,
}

/// When a hunt met the first run that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstFailure {
    /// The number of the run, from 1.
    pub run: u64,
    /// The CPU time until then in milliseconds, that of the program included.
    pub cpu_ms: u64,
}

/// Why a hunt ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HuntEnd {
    /// It did not come to its end, or has not yet.
    #[default]
    Unfinished,
    /// It was to search the recorded run only.
    RecordedRunOnly,
    /// No target is left.
    NothingLeft,
    /// Something was found, and nothing more for a while.
    #[serde(rename = "found")]
    NoNewFindings,
    /// It was stopped.
    #[serde(untagged)]
    Stopped(StoppedBy),
}

/// The size of a trace, and where it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the number of what it is called")]
pub struct Size {
    pub events: usize,
    pub threads: usize,
    pub locks: usize,
    pub variables: usize,
    /// The file, as it was named; `None`: it came through a pipe.
    #[serde(default)]
    pub path: Option<String>,
    /// How many events were left out of it because they cannot have happened (`--lenient`): what is found in it may be wrong.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Size {
    /// Of this trace.
    pub fn of(trace: &Trace, path: Option<String>) -> Self {
        let symbols = trace.symbols();
        Size {
            events: trace.len(),
            threads: symbols.threads.len(),
            locks: symbols.locks.len(),
            variables: symbols.variables.len(),
            path,
            dropped: trace.metadata().dropped,
        }
    }
}

/// How many pairs of conflicting accesses each stage of the search for races settled. JSON has the stages only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Funnel {
    /// Accesses of variables that more than one thread touches and someone writes.
    #[serde(skip)]
    pub accesses: u64,
    /// Conflicting pairs of them.
    pub pairs: u64,
    /// Of those: ordered in every schedule.
    pub ordered: u64,
    /// Kept apart by a common lock.
    pub locked: u64,
    /// Not looked at: enough races were found at the same two source locations.
    #[serde(skip)]
    pub repeated: u64,
    /// Races in the order of the trace's own synchronisation.
    pub preserving: u64,
    /// Asked of the engine.
    pub asked: u64,
    /// Races.
    #[serde(skip)]
    pub feasible: u64,
    /// Left open by the budget, and one more if the search was cut short.
    #[serde(skip)]
    pub unknown: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_of_a_hunt_has_its_name_in_json() {
        let names = [
            (HuntEnd::Unfinished, "unfinished"),
            (HuntEnd::RecordedRunOnly, "recorded-run-only"),
            (HuntEnd::NothingLeft, "nothing-left"),
            (HuntEnd::NoNewFindings, "found"),
            (HuntEnd::Stopped(StoppedBy::Time), "time"),
            (HuntEnd::Stopped(StoppedBy::Memory), "memory"),
            (HuntEnd::Stopped(StoppedBy::Interrupt), "interrupt"),
        ];
        for (end, name) in names {
            let coverage = Coverage { ended: end, ..Coverage::default() };
            let json = serde_json::to_value(&coverage).unwrap();
            assert_eq!(json["ended"], name);
            assert_eq!(serde_json::from_value::<Coverage>(json).unwrap(), coverage);
        }
    }
}
