//! From a trace to the questions worth asking, one module per kind of bug.
//!
#![doc = include_str!("../README.md")]

pub mod atomicity;
mod bug;
pub mod deadlocks;
mod families;
pub mod fixes;
mod lives;
mod nearest;
pub mod nondeterminism;
pub mod orders;
mod pattern_search;
pub mod races;

pub use bug::{Bug, Object, Remarks, Report, Resource, SearchSettings};
pub use pattern_search::{Extent, PatternLimits, Tally, ask};
