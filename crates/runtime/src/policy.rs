//! Which thread runs next, and for how long: the seam at which a schedule is chosen.
//!
//! A policy sees the threads that could run, in the order of their creation, and nothing of the real time (but for
//! [`Os`], which is made of it). So the same seed chooses the same.

use crate::settings::{PolicyName, Settings};
use crate::sys;
use crate::thread::Thread;

/// Random numbers from a seed: splitmix64.
pub(crate) struct Dice(u64);

impl Dice {
    /// The next number.
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number below this one.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.roll()) * u128::from(bound)) >> 64) as u64
    }
}

/// A way to choose. Replaying a schedule is another one.
pub(crate) enum Policy {
    /// Any thread, for any time around the quantum.
    Random,
    /// The thread of the highest priority, which falls to the lowest at rare random moments (probabilistic
    /// concurrency testing).
    Pct { lowest: u64 },
    /// Each in turn, for the quantum.
    RoundRobin,
    /// The one that waits longest, for a slice of real time.
    Os { slice_end: u64 },
}

/// A policy with its dice and its quantum.
pub(crate) struct Chooser {
    policy: Policy,
    dice: Dice,
    quantum: u64,
}

/// Priorities of new threads lie above this, lowered ones below.
const HIGH: u64 = 1 << 40;
const SLICE: u64 = 4_000_000;

impl Chooser {
    /// Chooses nothing yet.
    pub(crate) const NONE: Chooser = Chooser { policy: Policy::RoundRobin, dice: Dice(0), quantum: 0 };

    /// What the settings ask for.
    pub(crate) fn new(settings: &Settings) -> Chooser {
        let policy = match settings.policy {
            PolicyName::Random => Policy::Random,
            PolicyName::Pct => Policy::Pct { lowest: HIGH },
            PolicyName::RoundRobin => Policy::RoundRobin,
            PolicyName::Os => Policy::Os { slice_end: 0 },
        };
        Chooser { policy, dice: Dice(settings.seed), quantum: settings.quantum }
    }

    /// A thread is new.
    pub(crate) fn welcome(&mut self, thread: &mut Thread) {
        thread.priority = HIGH + self.dice.roll() % HIGH;
    }

    /// How many events the chosen thread may perform, after so many in the whole program. A short program is
    /// switched often, so that its threads meet at all; a long one seldom, since switching costs.
    pub(crate) fn quantum(&mut self, events: u64) -> i64 {
        let own = |divisor: u64, most: u64| (events / divisor).clamp(50, most);
        let mean = match (self.quantum, &self.policy) {
            (0, Policy::Pct { .. }) => own(8, 1_000_000),
            (0, _) => own(64, 20_000),
            (asked, _) => asked.min(1 << 20),
        };
        match self.policy {
            Policy::Random | Policy::Pct { .. } => 1 + self.dice.below(2 * mean - 1) as i64,
            Policy::RoundRobin => mean as i64,
            Policy::Os { .. } => 1000,
        }
    }

    /// Whether a new thread runs before the one that made it goes on.
    pub(crate) fn begins_at_once(&self, new: &Thread, maker: &Thread) -> bool {
        matches!(self.policy, Policy::Pct { .. }) && new.priority > maker.priority
    }

    /// The index of the thread that runs next; `current` had the token and may or may not be among them.
    pub(crate) fn choose(
        &mut self,
        current: *mut Thread,
        candidates: &[*mut Thread],
        gave_up: GaveUp,
    ) -> usize {
        let here = candidates.iter().position(|&thread| thread == current);
        match &mut self.policy {
            Policy::Random => match (gave_up, here) {
                (GaveUp::Willingly, Some(here)) if candidates.len() > 1 => {
                    let other = self.dice.below(candidates.len() as u64 - 1) as usize;
                    other + usize::from(other >= here)
                }
                _ => self.dice.below(candidates.len() as u64) as usize,
            },
            Policy::Pct { lowest } => {
                if here.is_some() && gave_up != GaveUp::ToANewThread {
                    *lowest -= 1;
                    // SAFETY: candidates are threads, and we have the scheduler's lock.
                    unsafe { (*current).priority = *lowest };
                }
                // SAFETY: as above.
                best(candidates, |thread| unsafe { (**thread).priority })
            }
            Policy::RoundRobin => {
                // SAFETY: a thread's number never changes while the thread is known.
                let number = |thread: &*mut Thread| unsafe { (**thread).number };
                let mine = if current.is_null() { u32::MAX } else { number(&current) };
                candidates.iter().position(|thread| number(thread) > mine).unwrap_or(0)
            }
            Policy::Os { slice_end } => {
                let now = sys::now(libc::CLOCK_MONOTONIC);
                match here {
                    Some(here) if now < *slice_end && gave_up == GaveUp::Quantum => here,
                    _ => {
                        *slice_end = now + SLICE;
                        // SAFETY: candidates are threads, and we have the scheduler's lock.
                        best(candidates, |thread| unsafe { u64::MAX - (**thread).since })
                    }
                }
            }
        }
    }

    /// Which of the waiters of a condition variable a signal wakes.
    pub(crate) fn choose_waiter(&mut self, waiters: &[*mut Thread]) -> usize {
        match self.policy {
            Policy::Random | Policy::Pct { .. } => self.dice.below(waiters.len() as u64) as usize,
            // SAFETY: waiters are threads, and we have the scheduler's lock.
            _ => best(waiters, |thread| unsafe { u64::MAX - (**thread).since }),
        }
    }
}

/// Why the token is up for a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GaveUp {
    /// The thread's budget is used up.
    Quantum,
    /// The thread cannot go on, or asks for others to run.
    Willingly,
    /// The thread made another that comes first.
    ToANewThread,
}

fn best<K: Ord>(threads: &[*mut Thread], key: impl Fn(&*mut Thread) -> K) -> usize {
    let mut best = 0;
    for index in 1..threads.len() {
        if key(&threads[index]) > key(&threads[best]) {
            best = index;
        }
    }
    best
}
