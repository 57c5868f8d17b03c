//! The trusted part: what a question means, what counts as evidence for its answer, and the
//! checker that verifies evidence. It depends on nothing but the trace crate and shares no code
//! with the engine it judges.
//!
#![doc = include_str!("../README.md")]

mod cut;
mod evidence;
mod facts;
mod memory;
mod question;
mod refutation;
mod schedule;
mod state;

pub use cut::CutChecker;
pub use evidence::{End, Reason, Refutation, Split, Step};
pub use question::{Model, Question, QuestionError, Source, UnknownModel, WrittenQuestion};
pub use refutation::{RefutationFault, StepProblem, check_refutation};
pub use schedule::{Certainty, ScheduleChecker, ScheduleFault, check_schedule, unordered_reads};
