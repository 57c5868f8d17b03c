//! From a trace to the questions worth asking, one module per kind of bug.

pub mod atomicity;
pub mod deadlocks;
mod found;
mod nearest;
pub mod nondeterminism;
pub mod orders;
pub mod races;
mod sections;

pub use found::{Found, Object, Report, Settings, Waited};
