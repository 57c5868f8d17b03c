//! Everything that asks the operating system for something: here files are mapped into memory, and
//! programs compiled, recorded and replayed.

pub mod mapping;
