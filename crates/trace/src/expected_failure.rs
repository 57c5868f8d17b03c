//! The failure that a schedule leads to.

use crate::ThreadPath;

/// How a program fails at the end of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedFailure {
    /// What makes it the same failure: the message and the source line, without values that differ from run to run.
    pub identity: String,
    /// The thread that fails, if it is one.
    pub thread: Option<ThreadPath>,
}
