//! How a run of a program ended.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How a run ended, recorded or replayed. In JSON it is two fields, `end` and `status`.
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

/// Signals that a program causes by its own fault: abort, segmentation fault, bus error, arithmetic error, illegal instruction, trap, bad
/// system call.
const FAULTS: [i32; 7] = [6, 11, 7, 8, 4, 5, 31];

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

    /// The signal that the program was killed by through its own fault.
    pub fn fault(self) -> Option<i32> {
        match self {
            Ending::Killed(signal) if FAULTS.contains(&signal) => Some(signal),
            _ => None,
        }
    }

    /// Whether the program ran to an end of its own, or to a deadlock.
    pub fn is_own(self) -> bool {
        matches!(self, Ending::Exited(_) | Ending::Killed(_) | Ending::Deadlocked)
    }
}

#[derive(Serialize, Deserialize)]
struct Fields {
    end: String,
    status: Option<i32>,
}

impl Serialize for Ending {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fields { end: self.name().to_owned(), status: self.status() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Ending {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields { end, status } = Fields::deserialize(deserializer)?;
        match (end.as_str(), status) {
            ("exited", Some(status)) => Ok(Ending::Exited(status)),
            ("killed", Some(signal)) => Ok(Ending::Killed(signal)),
            ("ended", None) => Ok(Ending::Ended),
            ("deadlocked", None) => Ok(Ending::Deadlocked),
            ("timed-out", None) => Ok(Ending::TimedOut),
            _ => Err(serde::de::Error::custom("not the ending of a run")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_two_fields_of_json() {
        for (ending, json) in [
            (Ending::Exited(3), r#"{"end":"exited","status":3}"#),
            (Ending::Killed(6), r#"{"end":"killed","status":6}"#),
            (Ending::Ended, r#"{"end":"ended","status":null}"#),
            (Ending::Deadlocked, r#"{"end":"deadlocked","status":null}"#),
            (Ending::TimedOut, r#"{"end":"timed-out","status":null}"#),
        ] {
            assert_eq!(serde_json::to_string(&ending).unwrap(), json);
            assert_eq!(serde_json::from_str::<Ending>(json).unwrap(), ending);
        }
        assert!(serde_json::from_str::<Ending>(r#"{"end":"exited","status":null}"#).is_err());
    }
}
