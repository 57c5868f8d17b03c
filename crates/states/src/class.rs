//! The classes of states (paper 2, figure 9).

use serde::{Deserialize, Serialize};

/// A class of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// With an event, all that happened before it (section 2.1).
    Consistent,
    /// Consistent, and no lock is held by two threads that exclude each other (section 2.1).
    Feasible,
    /// Feasible, and normalisation finds no cycle (definition 16).
    Strong,
    /// Some schedule leads to it (definition 3).
    Reachable,
    /// Feasible, and no lock is held at all (section 3).
    LockFree,
}

impl Class {
    /// Every class, from the widest to the narrowest.
    pub const ALL: [Class; 5] =
        [Class::Consistent, Class::Feasible, Class::Strong, Class::Reachable, Class::LockFree];

    /// Its name in options and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Class::Consistent => "consistent",
            Class::Feasible => "feasible",
            Class::Strong => "strong",
            Class::Reachable => "reachable",
            Class::LockFree => "lock-free",
        }
    }
}
