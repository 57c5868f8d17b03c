//! Who waits for what: a key, until a wake-up, a deadline or a signal.

use wire::Waker;

use super::time::Readings;
use super::{End, Key, NEVER, Schedule, Slot, State, World};

/// How a wait went, for the thread that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resumed {
    pub(crate) timed_out: bool,
    pub(crate) woken: Waker,
    /// How the thread is to sleep before it goes on.
    pub(crate) sleep: Option<Sleep>,
}

/// A sleep while nobody can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sleep {
    /// How long it is in virtual time.
    pub(crate) length: u64,
    /// When it ends in virtual time.
    pub(crate) end: u64,
    /// When it ends in real time.
    pub(crate) real_end: u64,
}

impl Schedule {
    /// The thread, which has the token, begins to wait.
    pub(crate) fn wait(&mut self, thread: Slot, key: Key, end: End) {
        let entry = &mut self.entries[thread];
        entry.state = State::Waiting;
        entry.timed_out = false;
        entry.readings = Readings::default();
        entry.key = key;
        entry.deadline = end.virtual_time;
        entry.real_deadline = end.real_time;
        if key != Key::NONE {
            self.unlocked_view.add(key);
        }
    }

    /// How the wait of a thread that has the token again went.
    pub(crate) fn resume(&mut self, thread: Slot) -> Resumed {
        let entry = &mut self.entries[thread];
        let sleep = entry.sleeps_out.take().map(|end| {
            let length = end.saturating_sub(self.now);
            Sleep { length, end, real_end: entry.real_deadline }
        });
        Resumed { timed_out: entry.timed_out, woken: entry.woken, sleep }
    }

    pub(super) fn end_wait(&mut self, thread: Slot) {
        let entry = &mut self.entries[thread];
        if entry.key != Key::NONE {
            self.unlocked_view.remove(entry.key);
        }
        entry.key = Key::NONE;
        entry.deadline = NEVER;
    }

    fn wake(&mut self, thread: Slot, by: Waker) {
        self.end_wait(thread);
        self.entries[thread].woken = by;
        self.make_ready(thread);
    }

    pub(super) fn make_ready(&mut self, thread: Slot) {
        self.ticket += 1;
        let entry = &mut self.entries[thread];
        entry.state = State::Ready;
        entry.since = self.ticket;
    }

    /// Collects who waits for this key; how many.
    fn gather_waiters(&mut self, key: Key) -> usize {
        self.candidates.clear();
        for &thread in self.order.iter() {
            let entry = &self.entries[thread];
            if entry.state == State::Waiting && entry.key == key {
                self.candidates.push(thread);
            }
        }
        self.candidates.len()
    }

    /// How many threads wait for this key.
    pub(crate) fn waiters(&mut self, key: Key) -> usize {
        self.gather_waiters(key)
    }

    /// Makes everyone who waits for this key ready.
    pub(crate) fn wake_all(&mut self, key: Key, by: Waker) {
        for index in 0..self.gather_waiters(key) {
            self.wake(self.candidates[index], by);
        }
    }

    /// Makes one of those who wait for this key ready: the one that a replay wants first, or one that the policy chooses.
    pub(crate) fn wake_one(&mut self, key: Key, by: Waker) {
        if self.gather_waiters(key) == 0 {
            return;
        }
        let waiters = &self.candidates[..];
        let index = match self.replay.choose_waiter(waiters, &self.entries) {
            Some(index) => index,
            None => self.chooser.choose_waiter(waiters, &self.entries),
        };
        self.wake(self.candidates[index], by);
    }

    /// Makes a waiting thread ready, for no reason of its own.
    pub(crate) fn rouse(&mut self, thread: Slot) {
        if self.entries[thread].state == State::Waiting {
            self.wake(thread, Waker::Spurious);
        }
    }

    /// A signal has come for a thread that waits in the scheduler: it is made ready, and gets the token if nobody has it. Whether
    /// it got it.
    pub(crate) fn interrupt(&mut self, thread: Slot, world: &impl World) -> bool {
        if self.entries[thread].state != State::Waiting {
            return false;
        }
        self.wake(thread, Waker::Spurious);
        let takes = self.running.is_none() && !self.replay.is_following();
        if takes {
            self.run(thread, world);
        }
        takes
    }

    /// Whether any thread waits.
    pub(crate) fn someone_waits(&self) -> bool {
        self.order.iter().any(|&thread| self.entries[thread].state == State::Waiting)
    }
}
