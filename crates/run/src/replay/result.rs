//! The result of a replay.
//!
//! These types are what `replay --json` prints: docs/json.md is the contract.

use std::path::Path;
use std::time::Duration;

use load::Recorded;
use trace::{Ending, StackFrame};

use super::plan::PlannedEvent;
use crate::failure::{RunFailure, ThreadAtEnd};
use crate::mapping::Mapping;

/// Whether a replay showed what its schedule leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayVerdict {
    /// The program followed the schedule, and what it leads to was seen.
    Confirmed,
    /// The program left the schedule.
    Diverged,
    /// The program ended, or its time was over, before the end of the schedule.
    NotReached,
}

impl ReplayVerdict {
    /// The verdict in words.
    pub fn name(self) -> &'static str {
        match self {
            ReplayVerdict::Confirmed => "confirmed",
            ReplayVerdict::Diverged => "diverged",
            ReplayVerdict::NotReached => "not reached",
        }
    }
}

/// Where a program left the schedule.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Divergence {
    /// At which step, counted from 0; one past the last: at the goal.
    pub step: usize,
    /// The name of the thread whose step it is.
    pub thread: String,
    /// What was expected.
    pub expected: String,
    /// What happened instead.
    pub came: String,
}

/// An event that the goal names, as the replay saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedEvent {
    /// The event.
    pub event: PlannedEvent,
    /// What memory held there before it.
    pub before: Option<Vec<u8>>,
    /// What memory held there after it.
    pub after: Option<Vec<u8>>,
    /// Its call stack, innermost first.
    pub stack: Vec<StackFrame>,
}

/// A replay that was carried out.
#[derive(Debug)]
pub struct Replay {
    /// Whether it showed what its schedule leads to.
    pub verdict: ReplayVerdict,
    /// Where the program left the schedule, if the verdict is that it did.
    pub divergence: Option<Divergence>,
    /// How the program ended.
    pub ending: Ending,
    /// What it printed, on both streams.
    pub output: Vec<u8>,
    /// How long it took.
    pub elapsed: Duration,
    /// The events that the goal names.
    pub events: Vec<ObservedEvent>,
    /// The threads, by name, at the end of the schedule, or where the program left it.
    pub threads: Vec<ThreadAtEnd<String>>,
    /// How the program failed, if it did.
    pub failure: Option<RunFailure>,
    pub(super) log: Option<(Mapping, String)>,
}

impl Replay {
    /// The log that the runtime wrote; none if the program did not come so far.
    pub fn log(&self) -> Option<&[u8]> {
        self.log.as_ref().map(|(log, _)| &**log)
    }

    /// What the runtime recorded, to be loaded into a trace; none if the program did not come so far.
    pub fn recorded<'a>(&'a self, directory: &'a Path) -> Option<Recorded<'a>> {
        self.log.as_ref().map(|(log, modules)| Recorded { log, modules, directory })
    }
}
