//! The papers' own methods, kept to compare them with the engine, and the tables that compare them.
//!
//! - [`races`]: `lockset`, `hb`, `cp` and `ucg`, next to `syncp` and `poly` of the crate `candidates`;
//! - [`atomicity`]: `over`, `avfilter` and `under`, next to `exact`;
//! - [`compare`]: what each method finds in a trace, as the papers tabulate it.
//!
#![doc = include_str!("../README.md")]

pub mod atomicity;
pub mod compare;
pub mod races;
