//! Global states of a trace: which there are, how many, and what holds in them (paper 2).
//!
//! A trace is taken as a [`Loset`]: happened-before without the order of locks, and the sections of the
//! locks in addition. A *state* is how many events of each thread have happened, by thread id. The classes
//! of states ([`Class`]) from the widest to the narrowest:
//!
//! ```text
//! consistent > feasible > strongly feasible > reachable > lock-free feasible
//! ```
//!
//! All but `reachable` are polynomial to check; that one is exact, and costs a search ([`Reach`]).
//! [`walk()`] and [`walk_on_all_cores`] show the states of a class in lexical order without storing what they have shown, and [`count()`]
//! counts them without visiting each where their structure allows it.
//!
//! Semaphores are not in the paper. Here a feasible state takes no more permits than there are, and a
//! lock-free one is consistent also with each take's recorded post, which keeps it reachable; but a
//! reset point ([`Loset::greatest_lock_free`]) says nothing about the states above it.
//!
#![doc = include_str!("../README.md")]

mod baseline;
mod budget;
mod class;
mod compatible;
mod consistent;
mod count;
mod count_walked;
mod easy;
mod frames;
mod greedy;
mod irreducible;
mod judge;
mod lock_free;
mod locks;
mod loset;
mod natural;
mod normalise;
mod pairs;
mod parts;
mod predicate;
mod reach;
mod reachable_window;
mod rows;
mod rule;
mod strong;
mod walk;
mod walker_pool;

pub use baseline::{Baseline, walk_stored};
pub use budget::{Exhausted, StateLimits, WalkProgress};
pub use class::Class;
pub use count::count;
pub use loset::{Loset, SectionId};
pub use natural::Natural;
pub use normalise::{LockingOrder, Unorderable};
pub use predicate::{
    Certainty, Definitely, Demand, Path, Possibly, Predicate, PredicateError, definitely, possibly,
    possibly_where,
};
pub use reach::Reach;
pub use walk::walk;
pub use walker_pool::walk_on_all_cores;
