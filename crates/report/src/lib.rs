//! Verdicts and their evidence, for people and for programs.
//!
//! [`Words`] says events and questions in words, [`explain()`] tells a refutation as prose, [`interleaving()`]
//! shows a schedule as a table. [`Evidence`] is what `decide --json` prints, a [`ScheduleFile`] what
//! `--schedule-out` writes; both can be read back, and name the trace they are about by a [`Fingerprint`].
//! Nothing here decides or verifies, and nothing touches the operating system.

mod evidence;
mod explain;
mod findings;
mod fingerprint;
mod interleaving;
mod schedule_file;
mod values;
mod words;
mod wrap;

pub use evidence::{
    About, Asked, DEEPEST, Evidence, EvidenceError, ModelName, NoSuchThread, Pair, ReadAndSource, SCHEMA,
    VerdictName, ids_named,
};
pub use explain::{explain, in_one_sentence};
pub use findings::{Finding, FindingKind, Funnel, Predictions, Rung, Size, finding_in_words};
pub use fingerprint::{Fingerprint, event_line};
pub use interleaving::{Steps, interleaving};
pub use schedule_file::{Line, ScheduleFile, ScheduleFileError, ScheduleProblem};
pub use values::{Changed, changed_reads};
pub use words::Words;
pub use wrap::wrapped;
