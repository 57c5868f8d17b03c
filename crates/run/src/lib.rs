//! Starts, records, replays and stops processes.
//!
//! [`program`] says whether a file can be recorded, [`influences`] what its runs may depend on besides their schedule; [`record`] runs it
//! under the recorder; [`replay`] runs it along a schedule; [`survey`] finds the programs that a command starts.
//!
#![doc = include_str!("../README.md")]

mod cancellation;
pub mod clock;
pub mod directory;
pub mod drive;
pub mod environment;
pub mod failure;
pub mod influences;
pub mod job;
mod launch;
pub mod machine;
pub mod mapping;
mod output;
pub mod program;
pub mod record;
pub mod replay;
mod signals;
mod stuck;
pub mod survey;
mod usage;
mod waiting;

pub use cancellation::Cancellation;
pub use signals::survive_file_limit;
pub use usage::{own_processor_time, processor_time};
