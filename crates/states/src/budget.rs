//! How much work a walk or a count may cost.

use bounds::Bounds;

/// The limits of a walk or a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateLimits {
    /// States looked at before giving up.
    pub states: u64,
    /// Steps the engine may take for one state.
    pub steps: u64,
    /// What all of it may take.
    pub bounds: Bounds,
}

impl StateLimits {
    /// Whether the work may go on.
    pub(crate) fn check(&self) -> Result<(), Exhausted> {
        if self.bounds.are_reached() { Err(Exhausted::Bounds) } else { Ok(()) }
    }
}

impl Default for StateLimits {
    fn default() -> Self {
        StateLimits { states: u64::MAX, steps: decide::Options::default().budget, bounds: Bounds::NONE }
    }
}

/// How far a walk or a count is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WalkProgress {
    /// States looked at one by one.
    pub looked: u64,
    /// The share of the lexical order that lies behind, by the places of the first threads: only an estimate of the share
    /// of the states.
    pub share: f64,
}

/// A budget ran out before the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// The limit of states was reached.
    #[error("the budget of {0} states is used up")]
    States(u64),
    /// The engine could not decide one state within the limit of steps.
    #[error("whether a state is reachable was not settled within {0} steps")]
    Steps(u64),
    /// Whether the condition holds in one state took more than the limit of steps.
    #[error("whether the condition holds in a state was not settled within {0} steps")]
    Condition(u64),
    /// The time or the memory of the whole command ran out, or the user interrupted it.
    #[error("the time or the memory is used up")]
    Bounds,
    /// What is needed for every thread at every event takes this number of bytes.
    #[error("the global states of this number of threads would take {0} bytes of memory")]
    Memory(u64),
}
