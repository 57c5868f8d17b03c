//! What an event needs: the events that any schedule keeping reads-from executes before it, apart from its thread's own and
//! its thread's fork. A take needs the post that supplied it; the oldest post supplies first.

use trace::{EventId, Op, SemaphoreId, Trace};

use crate::Supply;

/// The needs of events, one after the other in the order of the trace.
#[derive(Debug)]
pub struct Needs<'t> {
    trace: &'t Trace,
    /// The permits of each semaphore at the current event.
    supplies: Vec<Supply<EventId>>,
}

impl<'t> Needs<'t> {
    /// Before the first event.
    pub fn new(trace: &'t Trace) -> Self {
        let supply = |index| {
            let mut supply = Supply::default();
            supply.declare(trace.declared_permits(SemaphoreId::new(index)).unwrap_or(0));
            supply
        };
        Needs { trace, supplies: (0..trace.symbols().semaphores.len()).map(supply).collect() }
    }

    /// Calls `need` with each event that the next event of the trace needs.
    pub fn of(&mut self, event: EventId, op: Op, mut need: impl FnMut(EventId)) {
        let Needs { trace, supplies } = self;
        match op {
            Op::Read(_) | Op::AtomicRead(_) | Op::AtomicUpdate(_) => {
                trace.link(event).event().into_iter().for_each(need);
            }
            Op::Post(semaphore) => supplies[semaphore.index()].post(event),
            Op::Take(semaphore) => {
                if let Some(post) = supplies[semaphore.index()].take() {
                    need(post);
                }
            }
            _ => for_each_awaited(trace, event, op, need),
        }
    }
}

/// Calls `await_event` with each event of the recorded run that this one waits for, in whatever schedule: a join for the last event of
/// the thread, a wait for its signal, a barrier exit for all enters.
#[inline]
pub fn for_each_awaited(trace: &Trace, event: EventId, op: Op, mut await_event: impl FnMut(EventId)) {
    match op {
        Op::Join(_) | Op::Wait(_) => trace.link(event).event().into_iter().for_each(await_event),
        Op::BarrierExit(_) => {
            let instance = trace.barrier_instance(event).index();
            let enters = &trace.matching().barrier_instances()[instance].enters;
            enters.iter().for_each(|&enter| await_event(enter));
        }
        Op::Begin
        | Op::End
        | Op::Fence
        | Op::Fork(_)
        | Op::Read(_)
        | Op::Write(_)
        | Op::AtomicRead(_)
        | Op::AtomicWrite(_)
        | Op::AtomicUpdate(_)
        | Op::Request(_)
        | Op::Acquire(_)
        | Op::Release(_)
        | Op::RequestShared(_)
        | Op::AcquireShared(_)
        | Op::ReleaseShared(_)
        | Op::Signal(_)
        | Op::Broadcast(_)
        | Op::BarrierEnter(_)
        | Op::Post(_)
        | Op::Take(_)
        | Op::Allocate(_)
        | Op::Free(_)
        | Op::Branch(_)
        | Op::Mark(_)
        | Op::RegionBegin(_)
        | Op::RegionEnd(_) => {}
    }
}
