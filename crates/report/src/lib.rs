//! Verdicts and their evidence, for people and for programs.
//!
//! [`Words`] says events and questions in words, [`explain()`] tells a refutation as prose, [`interleaving()`]
//! shows a schedule as a table. [`Evidence`] is what `decide --json` prints, a [`ScheduleFile`] what
//! `--schedule-out` writes; both can be read back, and name the trace they are about by a [`Fingerprint`].
//! Nothing here decides or verifies, and nothing touches the operating system.
//!
#![doc = include_str!("../README.md")]

mod answer;
mod context;
mod edges;
mod evidence;
mod explain;
mod figures;
mod fingerprint;
mod fixes;
mod html;
mod interleaving;
mod junit;
mod markdown;
mod outcome;
mod perfetto;
mod place;
mod plain_json;
mod quickfix;
mod report_flags;
mod sarif;
mod schedule_file;
mod suite;
mod summary;
mod suppressions;
mod terminal;
mod values;
mod words;
mod wrap;

pub use answer::AnswerInWords;
pub use context::{Context, Contexts, HeldLock};
pub use edges::{Edge, EdgeKind, edges};
pub use evidence::{About, ClaimedVerdict, Evidence, EvidenceError, SCHEMA, events_named};
pub use explain::{explain, in_one_sentence};
pub use figures::{counted, number};
pub use findings::{
    Baseline, Cause, Comparison, Coverage, Failure, FailureThread, Finding, FindingKind, FirstFailure,
    FixPlace, FixedFinding, Funnel, FurtherPlaces, Harm, HuntEnd, LockFix, LockMistake, MOST_ELEMENTS, NoFix,
    OrderChange, Predictions, Replayed, Rung, Size, Stopped, StoppedBy, Suite, SuiteTest, TestOutcome,
    TestStatus, family, group_by_cause, number_by_rank,
};
pub use fingerprint::{Fingerprint, event_line};
pub use fixes::{fix_in_words, no_fix_in_words, orders_in_words};
pub use html::{Extras, Lattice, RuledOut, html};
pub use interleaving::{Steps, interleaving};
pub use junit::junit;
pub use markdown::markdown;
pub use perfetto::perfetto;
pub use place::{NoSources, SourcePlace, Sources, is_of_the_system};
pub use plain_json::{plain_json, write_plain_json};
pub use quickfix::quickfix;
pub use report_flags::ReportFlag;
pub use sarif::sarif;
pub use schedule_file::{Contradiction, Line, ReplayPoint, ScheduleFile, ScheduleFileError, ScheduleProblem};
pub use suite::suite_in_words;
pub use summary::{Tally, hidden_in_words, statistics, summary, summary_of};
pub use suppressions::{Suppression, SuppressionError, SuppressionProblem, Suppressions, ready_suppressions};
pub use terminal::{finding_in_a_line, finding_in_words, quoted, reproduction, title, title_and_places};
pub use values::{ChangedRead, changed_reads, unordered_reads};
pub use words::{Words, character_start, demand, is_hidden, printable, shown, shown_object};
pub use wrap::wrapped;
