//! From a trace to the questions worth asking, one module per kind of bug.

mod found;
pub mod races;

pub use found::{Found, Object, Report, Settings, Waited};
