//! From a trace to the questions worth asking, one module per kind of bug.

mod asking;
pub mod atomicity;
pub mod deadlocks;
mod found;
mod nearest;
pub mod nondeterminism;
pub mod orders;
pub mod races;

pub use asking::{Extent, Limits, ask};
pub use found::{Found, Object, Remarks, Report, Settings, Waited};
