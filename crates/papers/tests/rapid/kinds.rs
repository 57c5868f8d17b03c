//! The kinds of difference there are, and why.

use std::fmt;

use candidates::races::conflict;
use trace::{EventId, Trace};

use crate::peer::Engine;

/// Who reports an event that the other does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Rapid,
    Ours,
}

/// What sort of difference an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) engine: Engine,
    pub(crate) side: Side,
    /// The event is racy.
    pub(crate) real: bool,
    /// Another thread has made a conflicting access before.
    pub(crate) has_conflict: bool,
    /// RAPID did not see a fork or join, which names its thread by number.
    pub(crate) by_number: bool,
}

impl Kind {
    /// The name it is kept under.
    pub(crate) fn name(self) -> String {
        let by_number = if self.by_number { "by-number-" } else { "" };
        format!("{by_number}{}", self.sort())
    }

    fn sort(self) -> String {
        let engine = self.engine.name().to_lowercase();
        let sort = match (self.side, self.real, self.has_conflict) {
            (Side::Rapid, false, false) => "reports-without-conflict",
            (Side::Rapid, false, true) => "reports-what-cannot-happen",
            (Side::Rapid, true, _) => "reports-what-ours-does-not",
            (Side::Ours, true, _) => "misses",
            (Side::Ours, false, _) => "does-not-report-what-ours-does",
        };
        format!("{engine}-{sort}")
    }

    /// Why the two differ, where that is known.
    pub(crate) fn why(self) -> Option<&'static str> {
        if self.by_number {
            return Some(
                "RAPID takes the number of a forked thread for the name of another thread, so it sees no fork and no join, and none of the order they make",
            );
        }
        Some(match (self.engine, self.side, self.real, self.has_conflict) {
            (Engine::Lockset, Side::Rapid, false, false) => {
                "no other thread has made a conflicting access before: RAPID's lockset is Eraser's, one set of locks for all accesses of a \
                 variable, so an access of the only writer is reported once a reader held other locks"
            }
            (Engine::Lockset, Side::Rapid, false, true) => {
                "each conflicting access before it held a lock in common with it, though no lock is common to all accesses of the variable, \
                 which is what RAPID's lockset (Eraser's) asks for"
            }
            (Engine::Wcp, Side::Rapid, false, _) => {
                "WCP promises that the first race it reports is one, or a deadlock is; this is a later one, and it cannot happen"
            }
            (Engine::Wcp, Side::Ours, true, _) => {
                "WCP does not find every race, and RAPID's engine orders more than WCP's definition: in the kept case no two conflicting accesses are \
                 in sections of one lock, so that WCP orders nothing, and still the pair is not reported"
            }
            (Engine::Shb, Side::Ours, true, _) => {
                "SHB keeps the order of all sections as recorded; the schedule drops or swaps some"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// Whether another thread has made a conflicting access before this event.
pub(crate) fn has_conflict(trace: &Trace, event: EventId) -> bool {
    let Some(access) = trace.op(event).access() else { return false };
    let thread = trace.thread(event);
    let before = trace.events().take(event.index());
    before
        .filter(|&(_, other, _)| other != thread)
        .any(|(_, _, op)| op.access().is_some_and(|other| conflict(access, other)))
}
