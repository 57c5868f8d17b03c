//! What came of a replay.
//!
//! These types are what `replay --json` prints: docs/json.md is the contract.

use std::path::Path;
use std::time::Duration;

use load::{Recorded, StackFrame};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use wire::ThreadState;

use super::plan::PlannedEvent;
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

/// How a program ended. In JSON it is two fields, `end` and `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// We ended it: it had shown what it was to show.
    Ended,
    /// We ended it: it deadlocked.
    Deadlocked,
    /// We ended it: its time was over.
    TimedOut,
}

impl Ending {
    /// Its name, as JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Exited(_) => "exited",
            Ending::Killed(_) => "killed",
            Ending::Ended => "ended",
            Ending::Deadlocked => "deadlocked",
            Ending::TimedOut => "timed-out",
        }
    }

    /// The exit status, or the number of the signal.
    pub fn status(self) -> Option<i32> {
        match self {
            Ending::Exited(status) | Ending::Killed(status) => Some(status),
            Ending::Ended | Ending::Deadlocked | Ending::TimedOut => None,
        }
    }
}

impl Serialize for Ending {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Ending", 2)?;
        fields.serialize_field("end", self.name())?;
        fields.serialize_field("status", &self.status())?;
        fields.end()
    }
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

/// A thread at the end of the schedule, or where the program left it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ThreadStatus {
    /// Its name.
    pub thread: String,
    /// What it was doing.
    #[serde(serialize_with = "state_name")]
    pub state: ThreadState,
    /// Its call stack, innermost first.
    pub stack: Vec<StackFrame>,
}

fn state_name<S: Serializer>(state: &ThreadState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.name())
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
    /// The threads at the end of the schedule, or where the program left it.
    pub threads: Vec<ThreadStatus>,
    pub(super) log: Option<(Mapping, String)>,
}

impl Replay {
    /// What the runtime recorded, to be loaded into a trace; none if the program did not come so far.
    pub fn recorded<'a>(&'a self, directory: &'a Path) -> Option<Recorded<'a>> {
        self.log.as_ref().map(|(log, modules)| Recorded { log, modules, directory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_two_fields_of_json() {
        let json = |ending: Ending| serde_json::to_string(&ending).unwrap();
        assert_eq!(json(Ending::Killed(6)), r#"{"end":"killed","status":6}"#);
        assert_eq!(json(Ending::TimedOut), r#"{"end":"timed-out","status":null}"#);
    }
}
