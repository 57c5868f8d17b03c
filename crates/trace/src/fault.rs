//! Why a sequence of events cannot be a run that happened.

use crate::ids::{BarrierId, EventId, LockId, RegionId, SemaphoreId, ThreadId};
use crate::trace::Symbols;

/// An event that cannot have happened where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpossibleEvent {
    /// The event at fault.
    pub event: EventId,
    /// What is wrong with it.
    pub fault: Fault,
    /// The names it mentions, as [`ImpossibleEvent::new`] puts them in order.
    mentioned: MentionedNames,
}

/// The names a fault mentions, kept so that it can explain itself after the trace is gone.
type MentionedNames = [String; 3];

/// What is wrong with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the sentence made from each is its documentation")]
pub enum Fault {
    /// A thread's begin is not its first event.
    BeginNotFirst { thread: ThreadId, first: EventId },
    /// A thread acts after its end.
    ActsAfterEnd { thread: ThreadId, end: EventId },
    /// A thread acts after it has been joined.
    ActsAfterJoin { thread: ThreadId, join: EventId },
    /// A thread was running before it was forked.
    RanBeforeFork { child: ThreadId, first: EventId },
    /// A thread is forked a second time.
    ForkedTwice { child: ThreadId, fork: EventId },
    /// A thread forks or joins itself.
    OfItself { thread: ThreadId },
    /// A lock is taken while another thread holds it.
    Held { lock: LockId, holder: ThreadId, since: EventId },
    /// A lock is released that the thread does not hold.
    NotHeld { lock: LockId, thread: ThreadId },
    /// A lock is released by another thread than its holder.
    HeldByAnother { lock: LockId, thread: ThreadId, holder: ThreadId, since: EventId },
    /// A barrier is left that was not entered.
    NotEntered { barrier: BarrierId, thread: ThreadId },
    /// A semaphore is taken when it has no permits left.
    NoPermit { semaphore: SemaphoreId, initial: u32 },
    /// An atomic region ends that did not begin.
    RegionNotBegun { region: RegionId, thread: ThreadId },
}

impl ImpossibleEvent {
    pub(crate) fn new(event: EventId, fault: Fault, symbols: &Symbols) -> Self {
        let thread = |t: ThreadId| symbols.thread(t).to_owned();
        let none = String::new;
        let names = match fault {
            Fault::BeginNotFirst { thread: t, .. }
            | Fault::ActsAfterEnd { thread: t, .. }
            | Fault::ActsAfterJoin { thread: t, .. }
            | Fault::OfItself { thread: t } => [thread(t), none(), none()],
            Fault::RanBeforeFork { child, .. } | Fault::ForkedTwice { child, .. } => {
                [thread(child), none(), none()]
            }
            Fault::Held { lock, holder, .. } => [symbols.lock(lock).to_owned(), thread(holder), none()],
            Fault::NotHeld { lock, thread: t } => [symbols.lock(lock).to_owned(), thread(t), none()],
            Fault::HeldByAnother { lock, thread: t, holder, .. } => {
                [symbols.lock(lock).to_owned(), thread(t), thread(holder)]
            }
            Fault::NotEntered { barrier, thread: t } => {
                [symbols.barrier(barrier).to_owned(), thread(t), none()]
            }
            Fault::NoPermit { semaphore, .. } => [symbols.semaphore(semaphore).to_owned(), none(), none()],
            Fault::RegionNotBegun { region, thread: t } => {
                [symbols.region(region).to_owned(), thread(t), none()]
            }
        };
        ImpossibleEvent { event, fault, mentioned: names }
    }

    /// The same with other numbers for its events.
    pub(crate) fn renumbered(mut self, number: impl Fn(EventId) -> EventId) -> Self {
        self.event = number(self.event);
        match &mut self.fault {
            Fault::BeginNotFirst { first: other, .. }
            | Fault::ActsAfterEnd { end: other, .. }
            | Fault::ActsAfterJoin { join: other, .. }
            | Fault::RanBeforeFork { first: other, .. }
            | Fault::ForkedTwice { fork: other, .. }
            | Fault::Held { since: other, .. }
            | Fault::HeldByAnother { since: other, .. } => *other = number(*other),
            Fault::OfItself { .. }
            | Fault::NotHeld { .. }
            | Fault::NotEntered { .. }
            | Fault::NoPermit { .. }
            | Fault::RegionNotBegun { .. } => {}
        }
        self
    }

    /// What is wrong and what was expected, other events being named by `place` ("line 12").
    pub fn explain(&self, place: impl Fn(EventId) -> String) -> String {
        let [a, b, c] = &self.mentioned;
        match self.fault {
            Fault::BeginNotFirst { first, .. } => format!(
                "thread {a} begins here, but it has acted since {}; a begin must be its thread's first event",
                place(first)
            ),
            Fault::ActsAfterEnd { end, .. } => format!(
                "thread {a} acts here, but it ended at {}; an end must be its thread's last event",
                place(end)
            ),
            Fault::ActsAfterJoin { join, .. } => format!(
                "thread {a} acts here, but it was joined at {}; a join comes after the joined thread's last event",
                place(join)
            ),
            Fault::RanBeforeFork { first, .. } => format!(
                "thread {a} is forked here, but it has run since {}; a fork comes before its child's first event",
                place(first)
            ),
            Fault::ForkedTwice { fork, .. } => {
                format!("thread {a} is forked here, but it was forked already at {}", place(fork))
            }
            Fault::OfItself { .. } => format!("thread {a} cannot fork or join itself"),
            Fault::Held { since, .. } => format!(
                "lock {a} is taken here, but thread {b} holds it since {}; it must be released first",
                place(since)
            ),
            Fault::NotHeld { .. } => format!(
                "lock {a} is released here, but thread {b} does not hold it; a release needs an acquire before it, of the same form (exclusive or shared)"
            ),
            Fault::HeldByAnother { since, .. } => format!(
                "lock {a} is released here by thread {b}, but thread {c} holds it since {}; only the holder can release it",
                place(since)
            ),
            Fault::NotEntered { .. } => format!(
                "barrier {a} is left here, but thread {b} did not enter it; an exit needs an enter of the same thread before it"
            ),
            Fault::NoPermit { initial, .. } => format!(
                "semaphore {a} is taken here, but it has no permit left: all of its initial {initial} and of those posted are taken"
            ),
            Fault::RegionNotBegun { .. } => {
                format!("atomic region {a} ends here, but it did not begin in thread {b}")
            }
        }
    }
}

impl std::fmt::Display for ImpossibleEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "event {}: {}", self.event, self.explain(|event| format!("event {event}")))
    }
}

impl std::error::Error for ImpossibleEvent {}
