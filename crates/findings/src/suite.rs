//! The tests of a whole test command, each hunted by itself.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use trace::Viewpoint;

use crate::{Finding, FindingKind};

/// A test command and its tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suite {
    /// The command.
    #[serde(rename = "test_command")]
    pub command: Vec<String>,
    /// The status that it ended with by itself, as a shell gives it.
    #[serde(rename = "test_command_status")]
    pub status: u8,
    /// Its tests.
    pub tests: Vec<SuiteTest>,
}

impl Suite {
    /// How many tests came to this.
    pub fn count(&self, outcome: TestOutcome) -> u64 {
        self.tests.iter().filter(|test| test.outcome == outcome).count() as u64
    }

    /// Names only these findings: others are known, or not to be shown.
    pub fn keep_findings(&mut self, findings: &[Finding]) {
        let kept: HashSet<&str> = findings.iter().map(|finding| finding.id.as_str()).collect();
        self.tests.iter_mut().for_each(|test| test.findings.retain(|id| kept.contains(id.as_str())));
    }
}

impl Finding {
    /// The same with places as they are called from another directory: tests that run elsewhere have other names for the same source.
    pub fn seen_from(mut self, viewpoint: &Viewpoint) -> Finding {
        // Where a program failed is what it printed.
        let printed = viewpoint.clone().without_relative_names();
        let named_by = if self.kind == FindingKind::Failure { &printed } else { viewpoint };
        let rename = |location: &mut String| *location = named_by.location(location).into_owned();
        self.locations.iter_mut().for_each(rename);
        self.more.iter_mut().flat_map(|places| &mut places.locations).for_each(rename);
        self.memory_orders.iter_mut().for_each(|change| rename(&mut change.location));
        for place in self.fix.iter_mut().flat_map(|fix| &mut fix.places) {
            rename(&mut place.from);
            rename(&mut place.to);
        }
        // A frame is a function and its location.
        if let Some(failure) = &mut self.failure {
            let others = failure.threads.iter_mut().flat_map(|thread| &mut thread.stack);
            for frame in failure.stack.iter_mut().chain(others) {
                if let Some((function, location)) = frame.rsplit_once(' ') {
                    *frame = format!("{function} {}", printed.location(location));
                }
            }
        }
        self
    }
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteTest {
    /// Its name.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How the run ended that was recorded first.
    pub status: TestStatus,
    /// The result of the hunt in it.
    pub outcome: TestOutcome,
    /// Why it could not be hunted in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How long that took.
    pub milliseconds: u64,
    /// How often it was run.
    pub runs: u64,
    /// How many of these runs differ.
    pub behaviours: u64,
    /// Whether it has no other behaviour.
    pub exhausted: bool,
    /// The ids of the findings that it shows.
    pub findings: Vec<String>,
    /// Where its trace and its own report are, relative to the findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

/// How the run of a test ended that was recorded first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestStatus {
    /// By itself, with status 0.
    Passed,
    /// With another status, or by a signal.
    Failed,
    /// It could not go on, or its time was over.
    Hung,
    /// There is no such run.
    NotRecorded,
}

/// The result of the hunt in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestOutcome {
    /// It was hunted in.
    Hunted,
    /// It creates no threads, so there is nothing to hunt in.
    NoThreads,
    /// It could not be hunted in.
    Error,
    /// Time was up, or the user interrupted the work, before its turn.
    NotReached,
    /// It belongs to another shard.
    OtherShard,
}

impl TestOutcome {
    /// In words, as a table has it.
    pub fn in_words(self) -> &'static str {
        match self {
            TestOutcome::Hunted => "nothing found",
            TestOutcome::NoThreads => "no threads",
            TestOutcome::Error => "error",
            TestOutcome::NotReached => "not reached",
            TestOutcome::OtherShard => "in another shard",
        }
    }
}
