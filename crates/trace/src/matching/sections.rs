//! Acquires and releases, exclusive and shared, and the requests that led to them.

use crate::fault::Fault;
use crate::ids::{EventId, LockId, ThreadId};

use super::NONE;
use super::pass::Pass;

/// Who holds a lock exclusively.
#[derive(Clone, Copy)]
pub(super) struct Holder {
    thread: u32,
    depth: u32,
    acquire: u32,
}

pub(super) const NOBODY: Holder = Holder { thread: NONE, depth: 0, acquire: NONE };

/// How a thread shares a lock.
#[derive(Clone, Copy)]
pub(super) struct SharedHold {
    depth: u32,
    acquire: EventId,
}

impl Pass {
    pub(super) fn acquire(&mut self, event: EventId, thread: ThreadId, lock: LockId) -> Result<u32, Fault> {
        let holder = &mut self.holders[lock.index()];
        if holder.thread == thread.0 {
            holder.depth += 1;
            self.answer_request(event, thread, lock);
            return Ok(event.0);
        }
        if holder.thread != NONE {
            return Err(Fault::Held {
                lock,
                holder: ThreadId(holder.thread),
                since: EventId(holder.acquire),
            });
        }
        if self.readers[lock.index()] > 0 {
            self.no_other_reader(lock, thread)?;
        }
        self.holders[lock.index()] = Holder { thread: thread.0, depth: 1, acquire: event.0 };
        self.answer_request(event, thread, lock);
        Ok(NONE)
    }

    pub(super) fn release(&mut self, event: EventId, thread: ThreadId, lock: LockId) -> Result<u32, Fault> {
        let holder = &mut self.holders[lock.index()];
        if holder.thread != thread.0 {
            return Err(match holder.thread {
                NONE => Fault::NotHeld { lock, thread },
                other => Fault::HeldByAnother {
                    lock,
                    thread,
                    holder: ThreadId(other),
                    since: EventId(holder.acquire),
                },
            });
        }
        holder.depth -= 1;
        if holder.depth > 0 {
            return Ok(event.0);
        }
        let acquire = holder.acquire;
        *holder = NOBODY;
        Ok(self.back_link(acquire, event))
    }

    /// A thread may hold a lock in both forms at once (it downgrades, say): it never excludes itself.
    fn no_other_reader(&self, lock: LockId, thread: ThreadId) -> Result<(), Fault> {
        let own = u32::from(self.shared.contains_key(&(lock, thread)));
        if self.readers[lock.index()] == own {
            return Ok(());
        }
        let others = self.shared.iter().filter(|((l, t), _)| *l == lock && *t != thread);
        let first = others.min_by_key(|(_, hold)| hold.acquire);
        Err(first.map_or(Fault::NotHeld { lock, thread }, |((_, holder), hold)| Fault::Held {
            lock,
            holder: *holder,
            since: hold.acquire,
        }))
    }

    pub(super) fn acquire_shared(
        &mut self,
        event: EventId,
        thread: ThreadId,
        lock: LockId,
    ) -> Result<u32, Fault> {
        let holder = self.holders[lock.index()];
        if holder.thread != NONE && holder.thread != thread.0 {
            return Err(Fault::Held {
                lock,
                holder: ThreadId(holder.thread),
                since: EventId(holder.acquire),
            });
        }
        if let Some(hold) = self.shared.get_mut(&(lock, thread)) {
            hold.depth += 1;
            self.answer_request(event, thread, lock);
            return Ok(event.0);
        }
        self.shared.insert((lock, thread), SharedHold { depth: 1, acquire: event });
        self.readers[lock.index()] += 1;
        self.answer_request(event, thread, lock);
        Ok(NONE)
    }

    pub(super) fn release_shared(
        &mut self,
        event: EventId,
        thread: ThreadId,
        lock: LockId,
    ) -> Result<u32, Fault> {
        let Some(hold) = self.shared.get_mut(&(lock, thread)) else {
            return Err(Fault::NotHeld { lock, thread });
        };
        hold.depth -= 1;
        if hold.depth > 0 {
            return Ok(event.0);
        }
        let acquire = hold.acquire;
        self.shared.remove(&(lock, thread));
        self.readers[lock.index()] -= 1;
        Ok(self.back_link(acquire.0, event))
    }

    /// A request for another lock was given up (it timed out, say) and stays without its acquire.
    fn answer_request(&mut self, acquire: EventId, thread: ThreadId, lock: LockId) {
        let state = &mut self.threads[thread.index()];
        if state.request != NONE && state.requested == lock {
            self.links[state.request as usize] = acquire.0;
            state.request = NONE;
        }
    }
}
