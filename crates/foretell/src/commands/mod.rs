//! One file for each command: its arguments, and what it does.

mod convert;
mod stats;

pub use convert::Convert;
pub use stats::Stats;
