//! What the chores of this repository share with its benchmarks (`crates/bench`): running cargo, Debian's sources, the machine measured on, and
//! the results in bench.

pub mod cargo;
pub mod debian;
pub mod machine;
pub mod results;
pub mod scratch;
mod skip;

pub use skip::skipped;

/// A chore either does all of its work or says what stopped it.
pub type Outcome = Result<(), String>;
