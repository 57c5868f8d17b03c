//! One file for each command: its arguments, and what it does.

mod cargo;
mod check;
mod compare;
mod compile;
mod convert;
mod decide;
mod diff;
mod generate;
mod hunt;
mod predict;
mod record;
mod recover;
mod replay;
mod report;
mod scrub;
mod show;
mod states;
mod stats;

pub use cargo::{Cargo, intercept_rustc};
pub use check::Check;
pub use compare::Compare;
pub use compile::{Cc, Cpp, intercept};
pub use convert::Convert;
pub use decide::Decide;
pub use diff::Diff;
pub use generate::Generate;
pub use hunt::Hunt;
pub use predict::Predict;
pub use record::Record;
pub use recover::Recover;
pub use replay::Replay;
pub use report::Report;
pub use scrub::Scrub;
pub use show::Show;
pub use states::States;
pub use stats::Stats;
