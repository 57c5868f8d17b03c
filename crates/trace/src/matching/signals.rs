//! Which signal woke a wait.
//!
//! That is not recorded in text traces. A thread starts to wait after its
//! previous event, so the waker is taken to be the first signal after that event which woke nobody
//! else, or a broadcast if one comes sooner. This matches as many waits as any choice would
//! (waits are met in the order of their ends, and each takes the earliest signal it can). A wait
//! with no signal in that span is matched with the last signal before it, so that traces which
//! do not record where a wait starts keep their order; one with no signal at all woke by itself.

use crate::ids::EventId;

use super::NONE;

/// The signals of a condition so far and who is still free to be a waker.
#[derive(Clone, Default)]
pub(super) struct Signals {
    events: Vec<EventId>,
    /// For each signal, the nearest at or after it that can still wake someone (path-compressed).
    next_free: Vec<u32>,
    broadcast: Vec<bool>,
}

impl Signals {
    pub(super) fn push(&mut self, event: EventId, broadcast: bool) {
        self.next_free.push(self.events.len() as u32);
        self.events.push(event);
        self.broadcast.push(broadcast);
    }

    /// The waker of a wait that began after event `since` (`NONE`: at the start).
    pub(super) fn wake(&mut self, since: u32) -> u32 {
        let start = match since {
            NONE => 0,
            since => self.events.partition_point(|signal| signal.0 <= since),
        };
        let free = self.first_free(start as u32);
        let Some(&event) = self.events.get(free as usize) else {
            return self.events.last().map_or(NONE, |last| last.0);
        };
        if !self.broadcast[free as usize] {
            self.next_free[free as usize] = free + 1;
        }
        event.0
    }

    fn first_free(&mut self, start: u32) -> u32 {
        let mut root = start;
        while let Some(&next) = self.next_free.get(root as usize) {
            if next == root {
                break;
            }
            root = next;
        }
        let mut at = start;
        while at != root {
            at = std::mem::replace(&mut self.next_free[at as usize], root);
        }
        root
    }
}
