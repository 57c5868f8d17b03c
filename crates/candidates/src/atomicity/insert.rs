//! Violations that need no search: everything up to the sections of `c` and of `b` in the order of the trace, then the
//! section of `c`, then that of `b` up to it.
//!
//! What comes before the two sections is a sync-preserving run-up ([`Syncp`]). What comes after it is a few events, which are
//! gone through one by one: locks must be free, and reads that the model binds must see what they saw. A *section* here is all from the
//! first acquire on that is still open at the access and, for `b`, comes after `a`; without one it is the access alone.
//!
//! Promise: a schedule, under the model. It is none of its concern that there may be others.

use check::Model;
use decide::{Index, Witness};
use trace::{EventId, LockId, Op, ThreadId};

use super::Triple;
use crate::races::syncp::{Exclusive, Latest, Syncp};

/// How many events of a thread are looked through for the beginning or the end of a section.
const REACH: usize = 256;

/// Looks for such schedules.
pub(super) struct Insert<'a> {
    pub(super) index: &'a Index<'a>,
    pub(super) syncp: &'a Syncp<'a>,
    pub(super) model: Model,
}

impl Insert<'_> {
    pub(super) fn witness(&self, triple: Triple) -> Option<Witness> {
        let Triple { first, between, second } = triple;
        let inner = self.section(between, None);
        let last = self.end(inner, between)?;
        let outer = self.section(second, Some(first));
        let mut ideal = Vec::new();
        self.syncp.next_together(&[inner, outer], &mut ideal).ok()?;
        let mut tail = self.stretch(inner, last).to_vec();
        tail.extend_from_slice(self.stretch(outer, second));
        Tail { insert: self, ideal: &ideal, ends: [last, second], done: Vec::new() }
            .goes_on(&tail)
            .then(|| Witness::restricted_then(ideal, tail))
    }

    /// Where the outermost section begins that an access is in, after an event if one is given.
    fn section(&self, access: EventId, after: Option<EventId>) -> EventId {
        let (trace, threads) = (self.index.trace(), self.index.threads());
        let place = threads.place(access);
        let start = after.map_or(0, |event| threads.place(event) + 1).max(place.saturating_sub(REACH));
        let opens = |event: &&EventId| {
            matches!(trace.op(**event), Op::Acquire(_) | Op::AcquireShared(_))
                && !trace.is_nested(**event)
                && trace.section_end(**event).is_none_or(|release| release > access)
        };
        let own = &threads.of_thread(trace.thread(access))[start..place];
        own.iter().find(opens).copied().unwrap_or(access)
    }

    /// The last event that has to happen for all sections to end that begin from `inner` on, up to the access or on the way.
    fn end(&self, inner: EventId, access: EventId) -> Option<EventId> {
        let (trace, threads) = (self.index.trace(), self.index.threads());
        let mut end = access;
        for &event in &threads.of_thread(trace.thread(access))[threads.place(inner)..] {
            if event > end {
                break;
            }
            if matches!(trace.op(event), Op::Acquire(_) | Op::AcquireShared(_)) && !trace.is_nested(event) {
                end = end.max(trace.section_end(event)?);
            }
            if threads.place(end) - threads.place(access) >= REACH {
                return None;
            }
        }
        Some(end)
    }

    /// The events of a thread from one to another, both included.
    fn stretch(&self, from: EventId, to: EventId) -> &[EventId] {
        let (trace, threads) = (self.index.trace(), self.index.threads());
        &threads.of_thread(trace.thread(from))[threads.place(from)..=threads.place(to)]
    }
}

/// Goes through what comes after the run-up.
struct Tail<'i> {
    insert: &'i Insert<'i>,
    ideal: &'i [u32],
    /// The last events of the two threads. If they are reads, the question names them and what they see is free. A read that its
    /// thread goes on after keeps what it saw even if it is named, so that the program is certain to follow.
    ends: [EventId; 2],
    done: Vec<EventId>,
}

impl Tail<'_> {
    /// Whether these events can come one after the other.
    fn goes_on(mut self, tail: &[EventId]) -> bool {
        tail.iter().all(|&event| {
            let can = self.can(event);
            self.done.push(event);
            can
        })
    }

    fn can(&self, event: EventId) -> bool {
        let trace = self.insert.index.trace();
        match trace.op(event) {
            Op::Acquire(_) | Op::AcquireShared(_) if trace.is_nested(event) => true,
            Op::Acquire(lock) => self.is_free(lock, trace.thread(event), Exclusive(true)),
            Op::AcquireShared(lock) => self.is_free(lock, trace.thread(event), Exclusive(false)),
            Op::Read(_) | Op::AtomicRead(_) | Op::AtomicUpdate(_) => self.sees(event),
            Op::Write(_)
            | Op::AtomicWrite(_)
            | Op::Release(_)
            | Op::ReleaseShared(_)
            | Op::Request(_)
            | Op::RequestShared(_)
            | Op::Fence
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::Branch(_)
            | Op::Mark(_)
            | Op::RegionBegin(_)
            | Op::RegionEnd(_) => true,
            // Others may have to be waited for, or be waiting.
            Op::Begin
            | Op::End
            | Op::Fork(_)
            | Op::Join(_)
            | Op::Wait(_)
            | Op::Signal(_)
            | Op::Broadcast(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_)
            | Op::Post(_)
            | Op::Take(_) => false,
        }
    }

    /// Whether nobody else holds a lock. The sections of the tail itself end before the next thread's begin.
    fn is_free(&self, lock: LockId, own: ThreadId, wanted: Exclusive) -> bool {
        let holds = |(thread, &count): (usize, &u32)| {
            let thread = ThreadId::new(thread);
            let held = self.insert.syncp.holds(thread, count, lock).filter(|_| thread != own);
            held.is_some_and(|held| held.0 || wanted.0)
        };
        !self.ideal.iter().enumerate().any(holds)
    }

    /// Whether a read sees what it saw, if it has to.
    fn sees(&self, read: EventId) -> bool {
        let index = self.insert.index;
        let trace = index.trace();
        if self.insert.model == Model::Sync || self.ends.contains(&read) {
            return true;
        }
        let Some(variable) = trace.op(read).reads() else { return true };
        let writes = |event: &&EventId| trace.op(**event).writes() == Some(variable);
        if let Some(&write) = self.done.iter().rev().find(writes) {
            return trace.reads_from(read) == Some(write);
        }
        match self.insert.syncp.latest_write(self.ideal, variable) {
            Latest::Write(write) => trace.reads_from(read) == Some(write),
            Latest::None => trace.reads_from(read).is_none(),
            Latest::TooFar => false,
        }
    }
}
