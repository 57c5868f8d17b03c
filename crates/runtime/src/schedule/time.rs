//! Virtual time: what makes it pass.
//!
//! - Each event takes a little, and so does each reading of a clock. A thread that reads a clock again and again waits for a time: its readings take
//!   more and more, so that it need not read millions of times.
//! - When all threads wait, it is at once the time at which the first of them goes on, a few thousand times.
//! - While nobody can run because threads are outside, it passes as real time does. Short pauses count as none: how long they are depends
//!   on the machine.
//! - Once the program has set a timer of the kernel's, and while it has children, it does not fall behind real time: what a timer says is over is over.
//!
//! Its machine's clock is not read for anything else, so where no thread is outside and no timer is set, the same seed passes the same times.

use super::{NEVER, Schedule, Sleep, Slot, State, World};

/// Virtual nanoseconds an event takes.
pub(super) const EVENT: u64 = 50;
/// Virtual nanoseconds a reading of a clock takes.
const READING: u64 = 1_000;
/// The most that one takes.
const LONGEST_READING: u64 = 100_000;
/// Readings in a row that take no longer than others.
const PLAIN_READINGS: u32 = 128;
/// Readings in a row after which others get a turn.
const PATIENCE: u32 = 64;
/// The number of events of a thread between two readings that are not in a row.
const BETWEEN: u64 = 64;
/// A reading in a row takes this share of the time that they have taken so far.
const SHARE: u64 = 64;
/// How often it may be the time at once that all threads wait for. A program that waits more often may never end, and sleeps from then on: what it
/// did until then is enough to search.
const MOST_JUMPS: u32 = 4096;
/// A pause that counts, in real nanoseconds. The watchdog must look more often.
const PAUSE: u64 = 8_000_000;

/// Whose time the program's clocks show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Virtual time.
    Virtual,
    /// The machine's.
    Real,
}

/// What is outside that can tell whether time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Witness {
    /// Nothing: when all threads wait for a time, it may be that time at once.
    #[default]
    Nothing,
    /// Somebody may be at the other end of a connection: sleeps are real.
    Peers,
    /// The kernel's timers, or children: besides, what they say is over is over.
    OwnTimers,
}

/// Readings of the clock that a thread makes in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readings {
    count: u32,
    /// When they began.
    since: u64,
    /// The thread's position at the last one.
    position: u64,
}

/// What a reading of the clock came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The virtual time.
    pub(crate) now: u64,
    /// The thread seems to wait for a time, and others should have a turn.
    pub(crate) is_waiting: bool,
}

/// Nobody runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    /// Since when, in real time.
    since: u64,
    /// It is long enough to count.
    counts: bool,
}

/// Virtual time keeps up with real time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    now: u64,
    real: u64,
}

impl Schedule {
    /// The clocks show this time from the next beginning on.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// No time has passed.
    pub(super) fn begin_time(&mut self) {
        (self.pause, self.anchor, self.jumps) = (None, None, 0);
        self.set_now(0);
    }

    fn set_now(&mut self, now: u64) {
        self.now = now;
        self.unlocked_view.set_now(now);
    }

    /// It is at least this time.
    pub(crate) fn pass_until(&mut self, time: u64) {
        if time > self.now {
            self.set_now(time);
        }
    }

    /// This number of nanoseconds passes.
    pub(crate) fn pass(&mut self, nanoseconds: u64) {
        self.set_now(self.now.saturating_add(nanoseconds));
    }

    /// The time for the thread, which has the token: with what it has done since it was last counted.
    pub(crate) fn now(&mut self, thread: Slot, world: &impl World) -> u64 {
        let uncounted = self.entries.used(thread, world) * EVENT;
        if let Some(Anchor { now, real }) = self.anchor {
            if world.witness() == Witness::Nothing {
                self.anchor = None;
                return self.now.saturating_add(uncounted);
            }
            let passed = world.real_time().saturating_sub(real);
            self.pass_until(now.saturating_add(passed).saturating_sub(uncounted));
        }
        self.now.saturating_add(uncounted)
    }

    /// The thread, which has the token, reads a clock.
    pub(crate) fn read_clock(&mut self, thread: Slot, world: &impl World) -> Reading {
        let before = self.now(thread, world);
        let position = self.entries.position(thread, world);
        let readings = &mut self.entries[thread].readings;
        if readings.count == 0 || position - readings.position > BETWEEN {
            *readings = Readings { since: before, ..Readings::default() };
        }
        readings.count = readings.count.saturating_add(1);
        readings.position = position;
        let Readings { count, since, .. } = *readings;
        let is_in_a_row = count > PLAIN_READINGS;
        let step = match is_in_a_row && self.outside == 0 && world.witness() == Witness::Nothing {
            true => (before.saturating_sub(since) / SHARE).clamp(READING, LONGEST_READING),
            false => READING,
        };
        self.pass(step);
        Reading {
            now: before.saturating_add(step),
            is_waiting: is_in_a_row && count.is_multiple_of(PATIENCE),
        }
    }

    /// From here on virtual time does not fall behind real time, as long as there is a witness.
    pub(crate) fn keep_up(&mut self, world: &impl World) {
        let now = self.now;
        self.anchor.get_or_insert_with(|| Anchor { now, real: world.real_time() });
    }

    /// The only thread was outside, with the token, for this real time.
    pub(crate) fn pass_alone(&mut self, passed: u64) {
        if self.pace == Pace::Virtual && passed >= PAUSE {
            self.pass(passed);
        }
    }

    /// Real time passes while threads are outside: not beyond the time at which the call of one of them ends.
    fn pass_outside(&mut self, passed: u64) {
        let outside = self.order.iter().filter(|&&thread| self.entries[thread].state == State::Outside);
        let first_end = outside.map(|&thread| self.entries[thread].deadline).min().unwrap_or(NEVER);
        self.pass_until(self.now.saturating_add(passed).min(first_end));
    }

    /// Nobody has the token from here on. If nobody is outside, no time passes.
    pub(super) fn begin_pause(&mut self, world: &impl World) {
        if self.outside > 0 && self.pace == Pace::Virtual && self.pause.is_none() {
            self.pause = Some(Pause { since: world.real_time(), counts: false });
        }
    }

    /// Somebody has the token again.
    pub(super) fn end_pause(&mut self, world: &impl World) {
        if let Some(Pause { since, counts }) = self.pause.take() {
            let passed = world.real_time().saturating_sub(since);
            if counts || passed >= PAUSE {
                self.pass_outside(passed);
            }
        }
    }

    /// The holder of the token makes progress.
    pub(super) fn is_not_stuck(&mut self) {
        self.pause = None;
    }

    /// The holder of the token is stuck outside our sight since this real time: time passes as in a pause.
    pub(crate) fn pass_while_stuck(&mut self, since: u64, world: &impl World) {
        if self.pace == Pace::Virtual {
            let pause = self.pause.get_or_insert(Pause { since, counts: true });
            pause.since = pause.since.max(since);
        }
        self.catch_up(world);
    }

    /// Lets virtual time pass as real time has for those who sleep: no events make it pass.
    pub(crate) fn catch_up(&mut self, world: &impl World) {
        let real = world.real_time();
        if self.pace == Pace::Virtual {
            let Some(Pause { since, counts }) = self.pause else { return };
            let passed = real.saturating_sub(since);
            if counts || passed >= PAUSE {
                self.pass_outside(passed);
                self.pause = Some(Pause { since: real, counts: true });
            }
            return;
        }
        for index in 0..self.order.len() {
            let entry = &self.entries[self.order[index]];
            if entry.state == State::Waiting && entry.real_deadline <= real {
                let deadline = entry.deadline;
                self.pass_until(deadline);
            }
        }
    }

    /// The thread that will wake first, if nobody else can run and none may come back from outside meanwhile. It is its time, or the thread has to
    /// sleep.
    pub(super) fn earliest_sleeper(&mut self, world: &impl World) -> Option<Slot> {
        if self.outside > 0 {
            return None;
        }
        let sleepers = self.order.iter().copied().filter(|&thread| {
            self.entries[thread].state == State::Waiting && self.entries[thread].deadline != NEVER
        });
        let earliest = sleepers.min_by_key(|&thread| self.entries[thread].deadline)?;
        let deadline = self.entries[earliest].deadline;
        let witness = if self.pace == Pace::Virtual { world.witness() } else { Witness::Peers };
        if witness == Witness::OwnTimers {
            self.keep_up(world);
        }
        if witness == Witness::Nothing && self.jumps < MOST_JUMPS {
            self.jumps += 1;
            self.pass_until(deadline);
        } else {
            self.entries[earliest].sleeps_out = Some(deadline);
        }
        Some(earliest)
    }

    /// The thread, which has the token, has slept until its time, or was interrupted after this number of nanoseconds.
    pub(crate) fn has_slept(&mut self, sleep: Sleep, interrupted_after: Option<u64>) {
        let until =
            interrupted_after.map_or(sleep.end, |passed| self.now.saturating_add(passed).min(sleep.end));
        self.pass_until(until);
    }
}
