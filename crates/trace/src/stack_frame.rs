//! A function on a call stack, as people read it.

use std::fmt;

use serde::{Serialize, Serializer};

/// A function on a call stack. In text and in JSON it is `function at file:line`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// The function's name; `?` if it has none.
    pub function: String,
    /// Where in it, as `file:line` or as module and offset.
    pub location: String,
}

impl fmt::Display for StackFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.function, self.location)
    }
}

impl Serialize for StackFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
