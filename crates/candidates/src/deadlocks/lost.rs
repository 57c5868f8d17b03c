//! Lost wake-ups: a signal that can come before its wait begins wakes nobody, and the wait never ends.
//!
//! A trace records where a wait ended, right after what its thread did before it began: for `pthread_cond_wait`, the release
//! of the lock. So the question is whether the signal can come before that event. If it is a read, it is not named, because a named read may see
//! another value and a thread that tests before it waits would not wait then; the event before it is named instead. That
//! asks for a little more than is needed: what is found is real, and a signal that fits only between the two is missed.
//!
//! Signals that came before the wait began in the trace already (text traces do not say which signal woke whom)
//! are no evidence of anything and are not asked about.

use check::Question;
use decide::{Setup, Witness};
use trace::{EventId, LocationId, Op};

use super::blocked::Attempts;
use crate::races::syncp::Syncp;
use crate::{Object, Waited};

/// A wait that may miss its signal.
#[derive(Clone, Debug)]
pub(super) struct Lost {
    pub(super) wait: EventId,
    pub(super) question: Question,
    pub(super) object: Object,
    /// Where the wait and the signal are in the source.
    pub(super) sites: [LocationId; 2],
}

/// Every wait that may miss its signal.
pub(super) fn candidates<'a>(setup: &'a Setup<'_>) -> impl Iterator<Item = Lost> + 'a {
    let trace = setup.trace();
    let attempts = Attempts::of(trace);
    trace.events().filter_map(move |(wait, _, op)| {
        let Op::Wait(condition) = op else { return None };
        // It would have ended by itself.
        if attempts.has(trace, wait) {
            return None;
        }
        let signal = trace.link(wait).event()?;
        let begins = begins(setup, wait).filter(|&begins| begins < signal)?;
        let name = trace.symbols().condition(condition).to_owned();
        Some(Lost {
            wait,
            question: Question::Order(vec![signal, begins]),
            object: Object::Cycle(vec![Waited::Named(name)]),
            sites: [trace.location(wait), trace.location(signal)],
        })
    })
}

/// A schedule in which the signal comes first, with all sections in the order of the trace, if there is one.
pub(super) fn preserving(setup: &Setup<'_>, syncp: &Syncp<'_>, question: &Question) -> Option<Witness> {
    let &[signal, begins] = question.named().as_slice() else { return None };
    let trace = setup.trace();
    // What never has to wait, and sees nothing.
    if !matches!(trace.op(begins), Op::Release(_) | Op::ReleaseShared(_) | Op::Write(_) | Op::AtomicWrite(_))
    {
        return None;
    }
    let after = setup.threads().of_thread(trace.thread(signal)).get(setup.threads().place(signal) + 1)?;
    let mut ideal = Vec::new();
    syncp.next_together(&[*after, begins], &mut ideal).ok()?;
    Some(Witness::restricted_then(ideal, vec![begins]))
}

/// The last event before a wait that is not a read.
fn begins(setup: &Setup<'_>, wait: EventId) -> Option<EventId> {
    let trace = setup.trace();
    let before = &setup.threads().of_thread(trace.thread(wait))[..setup.threads().place(wait)];
    before.iter().rev().copied().find(|&event| trace.op(event).reads().is_none())
}
