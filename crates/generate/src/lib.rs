//! Random runs of random programs: tiny ones to fuzz with, and endless ones to measure with.
//!
//! ```
//! use generate::{Generator, TraceSettings, generate};
//!
//! // The same seed gives the same trace, on every machine and in every version.
//! let tiny = generate(&TraceSettings::tiny(7))?;
//! assert!(tiny.len() <= 18);
//!
//! // 10 threads, 50 locks, 1000 variables; one event at a time, nothing kept.
//! let settings = TraceSettings::large(10_000, 10, 50, 1000);
//! assert_eq!(Generator::new(&settings)?.count(), 10_000);
//! # Ok::<(), generate::SettingsError>(())
//! ```
//!
//! [`TraceSettings`] are the knobs, for every kind of event. What comes out is a run that can have
//! happened, by construction: `world.rs` knows who holds and waits for what, and no thread does what
//! is not possible. [`generate`] keeps the run as a trace; [`Generator`] is the run itself, in
//! memory bounded by the number of threads and objects, for traces that are only passed on ([`write_native`], [`write_text`]).
//! [`shrink()`] makes a trace that shows a bug smaller while it shows it. [`hard()`] makes traces, not random ones, about
//! which a question is hard to decide; [`hostile`] small ones that cost more than they look.
//!
#![doc = include_str!("../README.md")]

mod accesses;
mod generator;
mod hard;
pub mod hostile;
mod memory_orders;
mod names;
mod rng;
mod sections;
mod settings;
mod shrink;
mod stream;
mod world;

pub use generator::{Event, Generator};
pub use hard::{Family, Hard, Outcome, hard};
pub use memory_orders::{tiny_with_memory_orders, with_memory_orders};
pub use names::{generate, names};
pub use settings::{AtStandstill, Ending, SettingsError, TraceSettings, Weights};
pub use shrink::shrink;
pub use stream::{write_native, write_text};
