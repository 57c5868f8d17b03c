//! What an event needs: the events that any schedule keeping reads-from has before it, apart from its thread's own and its
//! thread's fork. Takes are held to the post that supplied them, the oldest first.

use trace::{EventId, Op, SemaphoreId, Trace};

use super::supply::Supply;

/// Tells what events need; they are asked about in the order of the trace.
pub(super) struct Needs<'a> {
    pub(super) trace: &'a Trace,
    pub(super) supplies: &'a mut [Supply<EventId>],
}

impl Needs<'_> {
    /// Calls `need` with each event this one needs.
    pub(super) fn of(&mut self, event: EventId, op: Op, mut need: impl FnMut(EventId)) {
        let Needs { trace, supplies } = self;
        match op {
            Op::Read(_) | Op::AtomicRead(_) | Op::AtomicUpdate(_) | Op::Join(_) | Op::Wait(_) => {
                trace.link(event).event().into_iter().for_each(need);
            }
            Op::BarrierExit(_) => {
                let instance = trace.barrier_instance(event).index();
                trace.matching().barrier_instances()[instance].enters.iter().for_each(|&enter| need(enter));
            }
            Op::Post(semaphore) => supplies[semaphore.index()].post(event),
            Op::Take(semaphore) => {
                if let Some(post) = supplies[semaphore.index()].take() {
                    need(post);
                }
            }
            Op::Begin
            | Op::End
            | Op::Fence
            | Op::Fork(_)
            | Op::Write(_)
            | Op::AtomicWrite(_)
            | Op::Request(_)
            | Op::Acquire(_)
            | Op::Release(_)
            | Op::RequestShared(_)
            | Op::AcquireShared(_)
            | Op::ReleaseShared(_)
            | Op::Signal(_)
            | Op::Broadcast(_)
            | Op::BarrierEnter(_)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::Branch(_)
            | Op::Mark(_)
            | Op::RegionBegin(_)
            | Op::RegionEnd(_) => {}
        }
    }
}

/// The permits of all semaphores before the first event.
pub(super) fn supplies(trace: &Trace) -> Vec<Supply<EventId>> {
    let supply = |index| {
        let mut supply = Supply::default();
        supply.declare(trace.declared_permits(SemaphoreId::new(index)).unwrap_or(0));
        supply
    };
    (0..trace.symbols().semaphores.len()).map(supply).collect()
}
