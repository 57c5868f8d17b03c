//! What counts as evidence that no schedule answers a question.
//!
//! A [`Refutation`] is a chain of small steps. Each [`Step`] says of two events that, if the second
//! happens, the first happens before it, and why; the reasons refer to the trace, to the question,
//! or to steps before. The steps end in something impossible ([`End`]). Where no single chain does, a
//! [`Split`] lists cases one of which must hold, each with its own refutation.

use serde::{Deserialize, Serialize};
use trace::EventId;

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Refutation {
    /// One chain of steps into something impossible.
    Chain {
        /// What follows, in order.
        steps: Vec<Step>,
        /// What is impossible.
        end: End,
    },
    /// One of the cases must hold, and each is refuted.
    Split {
        /// What follows before the split, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<Step>,
        /// What the cases are.
        split: Split,
        /// The refutation of each, in the order [`Split`] gives them.
        cases: Vec<Refutation>,
    },
}

/// If the second event happens, the first happens before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The two events.
    pub before: (EventId, EventId),
    /// Why.
    pub because: Reason,
}

/// Why one event comes before another. A *path* is a list of events each of which comes before the
/// next by program order or by a step before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The first forks the second's thread.
    Fork,
    /// The second joins the first's thread.
    Join,
    /// The first signals the second.
    Signal,
    /// The first enters the barrier that the second leaves.
    Barrier,
    /// The second must see the first's value.
    ReadsFrom,
    /// The question demands it.
    Asked,
    /// The first releases a lock that the second acquires, because the other way round is cut off:
    /// the path leads from the first's acquire into the second's section.
    Exclusion {
        /// From the acquire of the first's section to an event not after the second's release.
        path: Vec<EventId>,
    },
    /// The first releases a lock that the second acquires, because the second never releases it.
    NeverReleased,
    /// The first is a read that must see a write the second would overwrite.
    BeforeOverwrite {
        /// From the write the read must see to the second; empty for the initial value.
        path: Vec<EventId>,
    },
    /// The second is the write that the path's last event must see, so the first, another write of
    /// the variable before that read, comes before the second.
    BeforeSource {
        /// From the first to a read that must see the second.
        path: Vec<EventId>,
    },
}

/// Something impossible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Each event before the next, and the last before the first.
    Cycle(Vec<EventId>),
    /// This event is needed, but it cannot happen: its thread is to stop before it.
    CannotHappen(EventId),
    /// A section must end before another begins, but it never ends.
    NeverReleased {
        /// The acquire of the section that never ends.
        held: EventId,
        /// The acquire that has to wait for it.
        wanted: EventId,
        /// From `held` into the section of `wanted`; empty if that one never ends either.
        path: Vec<EventId>,
    },
    /// This event of the deadlock is not blocked by the next one.
    NotBlocked(EventId),
    /// These takes of one semaphore need more permits than can have been posted before the last.
    NoPermits(Vec<EventId>),
    /// The semaphore of this blocked take has permits left whatever happens.
    PermitsLeft(EventId),
}

/// Cases one of which must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Two acquires of a lock: the first's section comes before the second's; or after.
    Sections(EventId, EventId),
    /// A read that must see a write, and another write: that write comes before the source; or
    /// after the read.
    Overwrite {
        /// The read.
        read: EventId,
        /// The other write.
        write: EventId,
    },
    /// A post and a take: the post comes before the take; or, if at all, after it.
    Supply {
        /// The post.
        post: EventId,
        /// The take.
        take: EventId,
    },
    /// The event happens; or it does not.
    Happens(EventId),
    /// The read sees the initial value, or one of the writes of its variable in the order of the
    /// trace; what it saw in the trace is left out.
    Source(EventId),
}
