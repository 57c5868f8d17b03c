//! What counts as evidence that no schedule answers a question.
//!
//! A [`Refutation`] is a flat list of [`Step`]s, numbered by their positions, as an LRAT proof is for a SAT solver. Most
//! steps derive an order of two events, with a [`Reason`] that refers to the trace, the question or earlier steps. A
//! *scope* is a stretch of the list that refutes what is assumed in it:
//!
//! ```text
//! scope = order* end                              something is impossible
//!       | order* split (case scope)* every-case   one of the cases must hold, and none can
//! ```
//!
//! The whole list is a scope with no assumption. Each case is a scope that assumes one case of its split. What is derived in
//! a scope holds until the scope ends, in the cases within it too. Scopes nest as deeply as they like: nothing that reads,
//! writes, checks or drops the list recurses.

use serde::{Deserialize, Serialize};
use trace::EventId;

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refutation {
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Refutation {
    /// How many contradictions it ends in: one more than the cases beyond the first of each split.
    pub fn contradictions(&self) -> usize {
        let is_contradiction = |step: &&Step| matches!(step, Step::End { end } if *end != End::EveryCase);
        self.steps.iter().filter(is_contradiction).count()
    }
}

/// One step of a refutation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, try_from = "Fields")]
pub enum Step {
    /// If the second event happens, the first happens before it.
    Order {
        /// The two events.
        before: (EventId, EventId),
        /// Why.
        because: Reason,
    },
    /// One of these cases must hold. They follow, each refuted.
    Split {
        /// What the cases are.
        split: Split,
    },
    /// A scope begins that assumes one case of the split before it.
    Case {
        /// Which case: they come in order, numbered from 0.
        case: usize,
    },
    /// The scope ends, because what it assumes is impossible.
    End {
        /// Why.
        end: End,
    },
}

/// The fields of a step of any kind. [`Step`] is read through this, so that an error says what is wrong and where.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    before: Option<(EventId, EventId)>,
    because: Option<Reason>,
    split: Option<Split>,
    case: Option<usize>,
    end: Option<End>,
}

impl TryFrom<Fields> for Step {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Self, Self::Error> {
        match fields {
            Fields { before: Some(before), because: Some(because), split: None, case: None, end: None } => {
                Ok(Step::Order { before, because })
            }
            Fields { before: None, because: None, split: Some(split), case: None, end: None } => {
                Ok(Step::Split { split })
            }
            Fields { before: None, because: None, split: None, case: Some(case), end: None } => {
                Ok(Step::Case { case })
            }
            Fields { before: None, because: None, split: None, case: None, end: Some(end) } => {
                Ok(Step::End { end })
            }
            _ => Err("a step has either `before` and `because`, or `split`, or `case`, or `end`"),
        }
    }
}

/// Why one event comes before another. A *path* is a list of events each of which comes before the
/// next by program order or by an earlier step.
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
    /// Memory orders demand it: the first synchronises with the second, or the second passes on that its thread has seen a write, which
    /// the first leads to.
    Synchronises,
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

/// Why what a scope assumes is impossible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// One of the cases of the split before it must hold, and each is refuted.
    EveryCase,
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
