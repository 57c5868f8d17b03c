//! Locks: which one, now or later, and the waits that give one up.

use trace::{ConditionId, LockId, Op, ThreadId};

use crate::generator::{ChoiceOutcome, Generator};
use crate::settings::AtStandstill;
use crate::world::{Form, Hold, Intent};

impl Generator {
    pub(crate) fn acquire(&mut self, thread: ThreadId, form: Form) -> ChoiceOutcome {
        match self.pick_lock(thread) {
            Some(lock) => self.ask_for(thread, Hold { lock, form }),
            None => ChoiceOutcome::Senseless,
        }
    }

    /// A lock the thread does not hold.
    fn pick_lock(&mut self, thread: ThreadId) -> Option<LockId> {
        let locks = self.settings.locks;
        let state = &self.world.threads[thread.index()];
        if locks == 0 || state.holds.len() >= self.settings.nesting as usize {
            return None;
        }
        let highest = state.holds.iter().map(|hold| hold.lock.0).max();
        let lock = match highest {
            Some(highest) if !self.rng.chance(self.chances.inversions) => {
                let above = locks - highest - 1;
                if above == 0 {
                    return None;
                }
                highest + 1 + self.skewed(above)
            }
            _ => self.skewed(locks),
        };
        Some(LockId(lock)).filter(|&lock| !self.world.threads[thread.index()].holds_lock(lock))
    }

    pub(crate) fn reacquire(&mut self, thread: ThreadId) -> ChoiceOutcome {
        let state = &self.world.threads[thread.index()];
        if state.holds.is_empty() || state.holds.len() > self.settings.nesting as usize {
            return ChoiceOutcome::Senseless;
        }
        let held = self.rng.pick(&state.holds);
        let form = match (self.rng.below(4), held.form) {
            (0, Form::Exclusive) => Form::Shared,
            (0, Form::Shared) => Form::Exclusive,
            (_, form) => form,
        };
        self.ask_for(thread, Hold { lock: held.lock, form })
    }

    /// Takes a lock, perhaps with a request first, now or later.
    fn ask_for(&mut self, thread: ThreadId, hold: Hold) -> ChoiceOutcome {
        let state = &self.world.threads[thread.index()];
        let is_ordered = state.holds.iter().all(|held| held.lock < hold.lock);
        let intent = Intent::Acquire(hold);
        if self.settings.stuck == AtStandstill::GiveUp && !is_ordered {
            // To wait out of order could be to wait for good.
            return if self.world.is_possible(thread, intent) {
                ChoiceOutcome::Did(self.perform(thread, intent))
            } else {
                ChoiceOutcome::Senseless
            };
        }
        if self.rng.chance(self.chances.requests) {
            self.world.thread(thread).intent = Some(intent);
            return ChoiceOutcome::Did(match hold.form {
                Form::Exclusive => Op::Request(hold.lock),
                Form::Shared => Op::RequestShared(hold.lock),
            });
        }
        self.set_out(thread, intent)
    }

    pub(crate) fn release_any(&mut self, thread: ThreadId) -> Option<Op> {
        let open = self.world.threads[thread.index()].holds.len();
        let last = open.checked_sub(1)?;
        // Mostly the innermost, sometimes hand over hand.
        let place = if self.rng.below(8) == 0 { self.rng.below(open as u32) as usize } else { last };
        Some(self.release(thread, place))
    }

    pub(crate) fn release(&mut self, thread: ThreadId, place: usize) -> Op {
        let hold = self.world.release(thread, place);
        match hold.form {
            Form::Exclusive => Op::Release(hold.lock),
            Form::Shared => Op::ReleaseShared(hold.lock),
        }
    }

    /// Waits for a condition, giving up for it the lock taken last if that sets it free.
    pub(crate) fn wait(&mut self, thread: ThreadId) -> ChoiceOutcome {
        let state = &self.world.threads[thread.index()];
        let open = state.holds.len();
        if open > 1 && self.settings.stuck == AtStandstill::GiveUp {
            return ChoiceOutcome::Senseless;
        }
        let frees = |hold: &Hold| hold.form == Form::Exclusive && state.depth(*hold) == 1;
        let lock = state.holds.last().copied().filter(frees).map(|hold| hold.lock);
        let condition = ConditionId(self.rng.below(self.settings.conditions));
        self.world.start_waiting(thread, condition);
        if self.rng.chance(self.chances.spurious) {
            self.world.stop_waiting(thread, condition);
            self.world.thread(thread).woken = true;
        }
        let intent = Intent::Wake(condition, lock);
        match lock {
            Some(_) => {
                let release = self.release(thread, open - 1);
                self.world.thread(thread).intent = Some(intent);
                ChoiceOutcome::Did(release)
            }
            None => self.set_out(thread, intent),
        }
    }
}
