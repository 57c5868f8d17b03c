//! Everything that asks the operating system for something: here files are mapped into memory, and
//! programs compiled, recorded and replayed.

pub mod compiler;
pub mod embedded;
mod fingerprint;
pub mod load;
pub mod mapping;
pub mod program;
pub mod record;
pub mod replay;
pub mod rust;
mod signals;
pub mod stopping;
