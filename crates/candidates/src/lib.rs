//! From a trace to the questions worth asking, one module per kind of bug.

pub mod races;
