//! What every search for a kind of bug reports, as it goes.

use check::{Model, Question};
use decide::{Options, Witness};
use trace::{EventId, LockId, Symbols, VariableId};

/// What to look for and how hard.
#[derive(Clone, Copy, Debug)]
pub struct SearchSettings {
    /// What is demanded of reads.
    pub model: Model,
    /// What a question may cost.
    pub options: Options,
}

/// One bug: the question it answers and how it comes about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bug {
    /// What was asked and is feasible.
    pub question: Question,
    /// The events that make it up, in the order the contract names them: a race, the pair; a deadlock, the blocked
    /// events in cycle order; an atomicity violation, a, c, b (or a, c, d, .., b, if it is spread over several variables);
    /// nondeterminism, the read and the write seen instead (`None`: the initial value); an order, its two events.
    pub events: Vec<Option<EventId>>,
    /// What it is about.
    pub object: Object,
    /// The schedule that shows it.
    pub witness: Witness,
    /// What else the search knows of it.
    pub remarks: Remarks,
}

/// What a search knows of a bug besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Its events come in this order in every schedule, by forks, joins, signals and barriers: less a bug than how the
    /// program is meant to be.
    pub inherent: bool,
}

/// What a bug is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// A variable.
    Variable(VariableId),
    /// Locks, or whatever else the threads of a cycle wait for, in the order of the cycle.
    Cycle(Vec<Resource>),
    /// Something with a name of its own.
    Named(String),
}

/// What a blocked thread waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// A lock.
    Lock(LockId),
    /// A thread, condition variable, barrier or semaphore, by name.
    Named(String),
}

impl Object {
    /// Its name in reports.
    pub fn name(&self, symbols: &Symbols) -> String {
        match self {
            Object::Variable(variable) => symbols.variable(*variable).to_owned(),
            Object::Named(name) => name.clone(),
            Object::Cycle(waited) => {
                let names = waited.iter().map(|waited| match waited {
                    Resource::Lock(lock) => symbols.lock(*lock),
                    Resource::Named(name) => name,
                });
                names.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// What a search reports as it goes.
#[derive(Debug)]
pub enum Report {
    /// A bug.
    Bug(Bug),
    /// A question left open by the budget.
    Unknown(Question),
    /// So much of so much has been gone through.
    Progress {
        /// Gone through.
        done: u64,
        /// In all.
        total: u64,
    },
}
