//! One file for each command: its arguments, and what it does.

mod convert;
mod generate;
mod stats;

pub use convert::Convert;
pub use generate::Generate;
pub use stats::Stats;
