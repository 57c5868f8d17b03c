//! Deadlocks of takes that cannot be, because a permit must still come.

use decide::Index;
use order::MustOrder;
use trace::{EventId, Op, ThreadId, Trace};

use super::blocked::Blocked;

/// Whether a permit must still come, whatever happens: a thread outside the cycle cannot get to its last post, without which there
/// is no deadlock ([`check::Question::spent_posts`]), before an event of the cycle, which is blocked.
pub(super) fn must_come(index: &Index<'_>, must: &MustOrder, blocked: &Blocked, cycle: &[EventId]) -> bool {
    let trace = index.trace();
    let stands = |thread: ThreadId| cycle.iter().copied().find(|&event| trace.thread(event) == thread);
    let cannot_get_to = |post: EventId| {
        let needs_blocked = || cycle.iter().any(|&event| must.precedes(index, event, post));
        stands(trace.thread(post)).is_none() && needs_blocked() && !is_out_of_reach(trace, post, &stands)
    };
    cycle.iter().any(|&event| match trace.op(event) {
        Op::Take(semaphore) => {
            let threads = (0..index.threads().threads()).map(ThreadId::new);
            threads.filter_map(|thread| blocked.last_post(semaphore, thread)).any(cannot_get_to)
        }
        _ => false,
    })
}

/// Whether an event's thread, or one it is created by, is created only where a thread is blocked.
fn is_out_of_reach(trace: &Trace, event: EventId, stands: &impl Fn(ThreadId) -> Option<EventId>) -> bool {
    let fork = |&event: &EventId| trace.fork_of(trace.thread(event)).filter(|&fork| fork < event);
    std::iter::successors(Some(event), fork)
        .any(|event| stands(trace.thread(event)).is_some_and(|next| next <= event))
}
