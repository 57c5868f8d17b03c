//! Who belongs to whom: each read to the write it saw, each acquire to its release, each wait to
//! the signal that woke it, and so on; computed once, in one pass over the events.
//!
//! The same pass checks that the events are a run that can have happened. What is normal life, not
//! an error: recursive acquires (the inner ones have no effect), threads without a fork, sections
//! still open at the end, joins of threads without events, memory freed that was never allocated.
//!
//! [`pass`] is that pass; of what it keeps, `sections` knows the locks and `signals` the conditions.

mod pass;
mod sections;
mod signals;

use crate::fault::ImpossibleEvent;
use crate::ids::{BarrierId, EventId, InstanceId, SemaphoreId, ThreadId};
use crate::trace::{Columns, Symbols};
use pass::Pass;

const NONE: u32 = u32::MAX;

/// How many events are matched before anybody is asked whether to go on.
const AT_ONCE: u32 = 1 << 20;

/// What one event is matched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link(u32);

impl Link {
    /// The event it is matched with, if any.
    #[inline]
    pub fn event(self) -> Option<EventId> {
        (self.0 != NONE).then_some(EventId(self.0))
    }

    /// An acquire or release nested in a section of the same lock is linked with itself.
    #[inline]
    pub fn is_nested_in(self, event: EventId) -> bool {
        self.0 == event.0
    }
}

/// One use of a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierInstance {
    /// The barrier used.
    pub barrier: BarrierId,
    /// The enters that wait for each other, in order.
    pub enters: Vec<EventId>,
}

/// What each event of a trace is matched with:
///
/// | event | its link |
/// |---|---|
/// | read, atomic update | the write it saw; none: the initial value |
/// | acquire / release | its release / acquire; none: open at the end; itself: nested |
/// | request | the acquire it led to |
/// | wait | the signal or broadcast that woke it |
/// | fork | the child's first event |
/// | join | the joined thread's last event |
/// | allocation / free | its free / allocation |
/// | region begin / end | its end / begin |
/// | barrier enter and exit | see [`Matching::barrier_instance`] |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    links: Vec<u32>,
    instances: Vec<BarrierInstance>,
    forks: Vec<u32>,
    initial_permits: Vec<u32>,
}

impl Matching {
    /// The events that cannot have happened where they stand, each left out for those after it; in order.
    pub(crate) fn faults(
        columns: &Columns,
        symbols: &Symbols,
        declared_permits: &[Option<u32>],
    ) -> Vec<ImpossibleEvent> {
        let mut pass = Pass::new(columns.len(), symbols, declared_permits);
        let mut faults = Vec::new();
        for (event, thread, kind, target) in columns.packed() {
            if let Err(fault) = pass.step_or_skip(event, thread, kind, target) {
                faults.push(ImpossibleEvent::new(event, fault, symbols));
            }
        }
        faults
    }

    /// Matches and checks the events. Declared permits bind; others are inferred. Nothing if `go_on`, asked now and then, calls it off.
    pub(crate) fn of(
        columns: &Columns,
        symbols: &Symbols,
        declared_permits: &[Option<u32>],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Matching>, ImpossibleEvent> {
        let mut pass = Pass::new(columns.len(), symbols, declared_permits);
        for (event, thread, kind, target) in columns.packed() {
            if event.0 % AT_ONCE == AT_ONCE - 1 && !go_on() {
                return Ok(None);
            }
            pass.step(event, thread, kind, target)
                .map_err(|fault| ImpossibleEvent::new(event, fault, symbols))?;
        }
        Ok(Some(pass.finish(columns)))
    }

    /// What an event is matched with.
    #[inline]
    pub fn link(&self, event: EventId) -> Link {
        Link(self.links[event.index()])
    }

    /// For a barrier's enter or exit: the instance it belongs to.
    #[inline]
    pub fn barrier_instance(&self, event: EventId) -> InstanceId {
        InstanceId(self.links[event.index()])
    }

    /// All uses of barriers.
    pub fn barrier_instances(&self) -> &[BarrierInstance] {
        &self.instances
    }

    /// The fork that created a thread, if it was recorded.
    pub fn fork_of(&self, thread: ThreadId) -> Option<EventId> {
        Link(self.forks[thread.index()]).event()
    }

    /// How many permits a semaphore started with.
    pub fn initial_permits(&self, semaphore: SemaphoreId) -> u32 {
        self.initial_permits[semaphore.index()]
    }

    pub(crate) fn memory(&self) -> usize {
        let enters = self.instances.iter().map(|i| i.enters.capacity() * 4 + size_of_val(i));
        (self.links.capacity() + self.forks.capacity()) * 4 + enters.sum::<usize>()
    }
}
