//! The product as a library: a program is recorded ([`recording`]), its trace searched ([`predict`]), findings are replayed
//! ([`replay`]), and [`hunt`] does all of it; [`suite`] hunts in all tests of a test command.
//!
//! There are no arguments and no terminal here. What to do comes in as options, with a [`Budget`] and a [`Cancellation`]; what
//! happens meanwhile goes to an [`Observer`]; what went wrong is an [`Error`] with its place and what can be done.
//!
#![doc = include_str!("../README.md")]

pub mod answer;
pub mod budget;
pub mod build;
pub mod client_input;
pub mod condition;
pub mod confirm;
pub mod doctor;
pub mod ending;
pub mod error;
pub mod evidence;
mod extras;
pub mod files;
pub mod first_party;
mod fullest;
pub mod hunt;
mod jobs;
pub mod minimize;
pub mod observer;
mod parallel;
pub mod predict;
pub mod project;
pub mod question;
pub mod recorded_command;
pub mod recording;
pub mod recovery;
pub mod replay;
pub mod rerecording;
pub mod rules;
pub mod runs;
pub mod saved;
pub mod schedules;
pub mod scrubbing;
pub mod sources;
pub mod state;
pub mod suite;
mod suppress;
pub mod survey;
pub mod trace_file;
pub mod verify;

pub use budget::{Bound, Bounds, Budget, Cancellation};
pub use error::{Error, ErrorKind};
pub use extras::extras;
pub use observer::{Event, NotReplayed, Observer, Progress, Silent, Stage};
pub use suppress::{Unwanted, suppress};
pub use trace_file::{ExploredTrace, TraceFile};
