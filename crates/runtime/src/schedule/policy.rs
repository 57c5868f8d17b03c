//! Which thread runs next, and for how long: the seam at which a schedule is chosen.
//!
//! A policy sees the threads that could run, in the order of their creation, and nothing of the real time (except
//! [`Policy::Os`], which is made of it). So the same seed chooses the same.

use wire::NewThreads;

use super::{Entries, Entry, Slot, World};

/// Random numbers from a seed: splitmix64.
struct Dice(u64);

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

    fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }
}

/// A way to choose. Following a replay is another one.
enum Policy {
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
    new_threads: NewThreads,
}

/// Priorities of new threads lie above this, lowered ones below.
const HIGH: u64 = 1 << 40;
/// How long a slice of real time is, in nanoseconds.
const SLICE: u64 = 4_000_000;

/// How many times a thread of high priority yields without effect: a loop that spins for a while and then blocks comes to the blocking.
const PATIENCE: u32 = 32;

/// Why the token is up for a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GaveUp {
    /// The thread's budget is used up.
    Quantum,
    /// The thread cannot go on.
    Willingly,
    /// The thread asks for others to run.
    Yielding,
    /// The thread made another that comes first.
    ToANewThread,
}

impl Chooser {
    /// Chooses nothing yet.
    pub(crate) const NONE: Chooser =
        Chooser { policy: Policy::RoundRobin, dice: Dice(0), quantum: 0, new_threads: NewThreads::Either };

    /// This policy, with this seed. A quantum of 0 leaves it to the policy.
    pub(crate) fn new(name: wire::Policy, seed: u64, quantum: u64) -> Chooser {
        let policy = match name {
            wire::Policy::Random => Policy::Random,
            wire::Policy::Pct => Policy::Pct { lowest: HIGH },
            wire::Policy::RoundRobin => Policy::RoundRobin,
            wire::Policy::Os => Policy::Os { slice_end: 0 },
        };
        Chooser { policy, dice: Dice(seed), quantum, new_threads: NewThreads::Either }
    }

    /// The same, but whether new threads come first may be fixed.
    pub(crate) fn with_new_threads(self, new_threads: NewThreads) -> Chooser {
        Chooser { new_threads, ..self }
    }

    /// The priority of a new thread.
    pub(super) fn first_priority(&mut self) -> u64 {
        HIGH + self.dice.roll() % HIGH
    }

    /// How many events the chosen thread may perform, given how many the whole program has performed. A short program is
    /// switched often, so that its threads meet at all; a long one seldom, since switching costs.
    pub(super) fn quantum(&mut self, events: u64) -> i64 {
        let own = |divisor: u64, most: u64| (events / divisor).clamp(50, most);
        let mean = match (self.quantum, &self.policy) {
            (0, Policy::Pct { .. }) => own(8, 1_000_000),
            (0, _) => own(64, 100_000),
            (asked, _) => asked.min(1 << 20),
        };
        match self.policy {
            Policy::Random | Policy::Pct { .. } => 1 + self.dice.below(2 * mean - 1) as i64,
            Policy::RoundRobin => mean as i64,
            Policy::Os { .. } => 1000,
        }
    }

    /// Whether a new thread runs before the one that made it goes on. Policies that choose at random let it as often as not.
    pub(super) fn begins_at_once(&mut self, new: &Entry, maker: &Entry) -> bool {
        match (self.new_threads, &self.policy) {
            (NewThreads::First, _) => true,
            (NewThreads::Last, _) => false,
            (NewThreads::Either, Policy::Random) => self.dice.below(2) == 0,
            (NewThreads::Either, Policy::Pct { .. }) => new.priority > maker.priority,
            (NewThreads::Either, Policy::RoundRobin | Policy::Os { .. }) => false,
        }
    }

    /// The index of the thread that runs next; `current` had the token and may or may not be among them.
    pub(super) fn choose(
        &mut self,
        current: Option<Slot>,
        candidates: &[Slot],
        entries: &mut Entries,
        gave_up: GaveUp,
        world: &impl World,
    ) -> usize {
        let own = candidates.iter().position(|&thread| Some(thread) == current);
        if gave_up == GaveUp::ToANewThread {
            return first_max(candidates, |thread| u64::from(entries[thread].number));
        }
        match &mut self.policy {
            Policy::Random => match (gave_up, own) {
                (GaveUp::Willingly | GaveUp::Yielding, Some(own)) if candidates.len() > 1 => {
                    let other = self.dice.index(candidates.len() - 1);
                    other + usize::from(other >= own)
                }
                _ => self.dice.index(candidates.len()),
            },
            Policy::Pct { lowest } => {
                if let Some(own) = own {
                    let entry = &mut entries[candidates[own]];
                    entry.yields = if gave_up == GaveUp::Yielding { entry.yields + 1 } else { PATIENCE };
                    if entry.yields >= PATIENCE {
                        entry.yields = 0;
                        *lowest -= 1;
                        entry.priority = *lowest;
                    }
                }
                first_max(candidates, |thread| entries[thread].priority)
            }
            Policy::RoundRobin => {
                let own = current.map_or(u32::MAX, |current| entries[current].number);
                candidates.iter().position(|&thread| entries[thread].number > own).unwrap_or(0)
            }
            Policy::Os { slice_end } => {
                let now = world.real_time();
                match own {
                    Some(own) if now < *slice_end && gave_up == GaveUp::Quantum => own,
                    _ => {
                        *slice_end = now + SLICE;
                        longest_waiting(candidates, entries)
                    }
                }
            }
        }
    }

    /// Which of the waiters of a condition variable a signal wakes.
    pub(super) fn choose_waiter(&mut self, waiters: &[Slot], entries: &Entries) -> usize {
        match self.policy {
            Policy::Random | Policy::Pct { .. } => self.dice.index(waiters.len()),
            Policy::RoundRobin | Policy::Os { .. } => longest_waiting(waiters, entries),
        }
    }
}

fn longest_waiting(threads: &[Slot], entries: &Entries) -> usize {
    first_max(threads, |thread| u64::MAX - entries[thread].since)
}

/// The index of the thread with the largest key, the first of them if there are several.
fn first_max(threads: &[Slot], key: impl Fn(Slot) -> u64) -> usize {
    let mut best = 0;
    for index in 1..threads.len() {
        if key(threads[index]) > key(threads[best]) {
            best = index;
        }
    }
    best
}
