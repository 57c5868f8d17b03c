//! The tests of a whole test command, each hunted by itself.

use serde::{Deserialize, Serialize};

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
    /// What came of hunting in it.
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
    /// Where its trace and its own report are, beside the findings.
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

/// What came of hunting in a test.
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
