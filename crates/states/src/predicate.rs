//! Conditions over global states in a small language of our own (docs/predicates.md), and whether they possibly or
//! definitely hold.
//!
//! A text goes through `token.rs`, `parse.rs` and `resolve.rs`, which knows the trace's names and the types; every
//! error points at the characters it is about. What is left (`evaluate.rs`) asks only tables by thread and place.

mod definitely;
mod evaluate;
mod local;
mod monotone;
mod parse;
mod path;
mod possibly;
mod resolve;
mod token;

use std::ops::Range;

use trace::Trace;

pub use definitely::{Certainty, Definitely, definitely};
pub use evaluate::Predicate;
pub use path::Path;
pub use possibly::{Demand, Possibly, possibly, possibly_where};

/// A mistake in a predicate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PredicateError {
    /// What is wrong, in half a sentence.
    pub message: String,
    /// The bytes of the text it is about.
    pub span: Range<usize>,
    /// What could be written instead.
    pub help: Option<String>,
}

impl PredicateError {
    fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        PredicateError { message: message.into(), span, help: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl Predicate {
    /// The predicate that a text means about a trace.
    pub fn parse(text: &str, trace: &Trace) -> Result<Predicate, PredicateError> {
        resolve::resolve(&parse::parse(text)?, trace)
    }
}
