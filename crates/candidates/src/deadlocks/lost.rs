//! LostWakeUp wake-ups: a signal that can come before its wait begins wakes nobody, and the wait never ends.
//!
//! A trace records where a wait ended, right after what its thread did before it began: for `pthread_cond_wait`, the release
//! of the lock. So the question is whether the signal can come before that event. If it is a read, it is not named, because a named read may see
//! another value and a thread that tests before it waits would not wait then; the event before it is named instead. That
//! asks for a little more than is needed: what is found is real, and a signal that fits only between the two is missed.
//!
//! Signals that came before the wait began in the trace already (text traces do not say which signal woke whom)
//! are no evidence of anything and are not asked about. Nor is a wait lost if a signal is still to come that woke nobody in the trace.

use check::Question;
use decide::{Index, Witness};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{ConditionId, EventId, LocationId, Op, Trace};

use super::blocked::Attempts;
use crate::races::syncp::Syncp;
use crate::{Object, Resource};

/// A wait that may miss its signal.
#[derive(Clone, Debug)]
pub(super) struct LostWakeUp {
    pub(super) wait: EventId,
    pub(super) question: Question,
    pub(super) object: Object,
    /// Where the wait and the signal are in the source.
    pub(super) sites: [LocationId; 2],
}

/// Every wait that may miss its signal.
pub(super) fn candidates<'a>(index: &'a Index<'_>) -> impl Iterator<Item = LostWakeUp> + 'a {
    let trace = index.trace();
    let attempts = Attempts::of(trace);
    let spare = last_spare_signals(trace);
    trace.events().filter_map(move |(wait, _, op)| {
        let Op::Wait(condition) = op else { return None };
        // It would have ended by itself.
        if attempts.has(trace, wait) {
            return None;
        }
        let signal = trace.link(wait).event()?;
        if spare.get(&condition).is_some_and(|&spare| spare > signal) {
            return None;
        }
        let begins = begins(index, wait).filter(|&begins| begins < signal)?;
        let name = trace.symbols().condition(condition).to_owned();
        Some(LostWakeUp {
            wait,
            question: Question::Order(vec![signal, begins]),
            object: Object::Cycle(vec![Resource::Named(name)]),
            sites: [trace.location(wait), trace.location(signal)],
        })
    })
}

/// A schedule in which the signal comes first, with all sections in the order of the trace, if there is one.
pub(super) fn preserving(index: &Index<'_>, syncp: &Syncp<'_>, question: &Question) -> Option<Witness> {
    let &[signal, begins] = question.named().as_slice() else { return None };
    let trace = index.trace();
    // What never has to wait, and sees nothing.
    if !matches!(trace.op(begins), Op::Release(_) | Op::ReleaseShared(_) | Op::Write(_) | Op::AtomicWrite(_))
    {
        return None;
    }
    let after = index.threads().of_thread(trace.thread(signal)).get(index.threads().place(signal) + 1)?;
    let mut ideal = Vec::new();
    syncp.next_together(&[*after, begins], &mut ideal).ok()?;
    Some(Witness::restricted_then(ideal, vec![begins]))
}

/// Of each condition variable, the last signal that one more waiter could have had: it woke nobody, or it wakes everyone.
fn last_spare_signals(trace: &Trace) -> FxHashMap<ConditionId, EventId> {
    let waits = trace.events().filter(|(_, _, op)| matches!(op, Op::Wait(_)));
    let used: FxHashSet<EventId> = waits.filter_map(|(wait, _, _)| trace.link(wait).event()).collect();
    let spare = trace.events().filter_map(|(event, _, op)| match op {
        Op::Signal(condition) if !used.contains(&event) => Some((condition, event)),
        Op::Broadcast(condition) => Some((condition, event)),
        _ => None,
    });
    spare.collect()
}

/// The last event before a wait that is not a read.
fn begins(index: &Index<'_>, wait: EventId) -> Option<EventId> {
    let trace = index.trace();
    let before = &index.threads().of_thread(trace.thread(wait))[..index.threads().place(wait)];
    before.iter().rev().copied().find(|&event| trace.op(event).reads().is_none())
}
