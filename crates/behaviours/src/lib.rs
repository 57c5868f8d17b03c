//! The behaviours of a program: what its reads can see.
//!
//! Two runs are the same *behaviour* if every thread performs the same events and every read sees the write of the same event. Lock
//! operations count as accesses of the lock: an acquire sees the release before it, a failed try sees the acquire. Condition variables and
//! semaphores are treated alike. A thread's own steps depend on nothing but what its reads see, so whether a run fails depends on its
//! behaviour alone.
//!
//! [`Run`] is a run as a graph: events, program order, and the source of each read. [`Search`] finds every other behaviour, given something
//! that runs the program along a [`Route`]. It is stateless model checking by reads-from equivalence.
//!
//! # Why nothing is missed
//!
//! A *prefix* is a set of events of a run that contains, with an event, all that it depends on by program order and sources. The search is a
//! tree of prefixes. A node with prefix K is responsible for all runs that contain K, and has one such run C. Let C' be another one, and r the
//! first event of C' that does not have the same past in C. All events before r in C' are in C, too, so its thread comes to r in C as well, and the
//! write w that r sees in C' is an event of C. So C' contains the prefix K' = K + past(r) + past(w) + "r sees w". For each
//! such pair (r, w) the node has a child. K' is larger than K, so this ends if the program does.
//!
//! Of two siblings the elder is responsible for what contains both of their prefixes. A child whose prefix contains that of an elder sibling,
//! or of an elder sibling of an ancestor, has nothing to do. A child whose prefix is part of a known run takes that run. So the program is run
//! only if that gives a new behaviour: there are as many runs as behaviours.
//!
//! Whether a prefix can be run at all is decided exactly ([`Route`]). What the argument does not cover is a [`Doubt`], and the search then
//! claims nothing.
//!
#![doc = include_str!("../README.md")]

mod accesses;
mod cells;
mod doubt;
mod intervals;
mod prefix;
mod route;
mod run;
mod search;
mod targets;
mod waiting;

pub use doubt::Doubt;
pub use route::{Leg, Route};
pub use run::{Run, SitePair};
pub use search::{Learned, Search, SearchLimits, Task};
