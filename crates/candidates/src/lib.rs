//! From a trace to the questions worth asking, one module per kind of bug.

pub mod deadlocks;
mod found;
pub mod nondeterminism;
pub mod races;

pub use found::{Found, Object, Report, Settings, Waited};
