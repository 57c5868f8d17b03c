//! What threads hold and have done, so that every trace that is written is a run that can have happened.
//!
//! The runtime does not see everything: a signal handler or another process may release a lock, memory may be
//! reused for another lock, a thread may end unnoticed. An event that does not fit is left out or starts a new
//! object. No event is invented.

use rustc_hash::FxHashMap;
use wire::Hold;

/// Who holds a lock, with how many acquires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Holders {
    alone: Option<(u32, u32)>,
    together: Vec<(u32, u32)>,
}

impl Holders {
    /// Whether the thread can have taken the lock: nobody else has it in a form that keeps it out.
    pub(super) fn admit(&self, thread: u32, hold: Hold) -> bool {
        let alone = self.alone.is_none_or(|(holder, _)| holder == thread);
        let together = hold == Hold::Shared || self.together.iter().all(|&(holder, _)| holder == thread);
        alone && together
    }

    /// Whether the thread holds the lock.
    pub(super) fn have(&self, thread: u32) -> bool {
        self.alone.iter().chain(&self.together).any(|&(holder, _)| holder == thread)
    }

    /// One who holds the lock, if anyone does.
    pub(super) fn anyone(&self) -> Option<u32> {
        self.alone.or_else(|| self.together.first().copied()).map(|(holder, _)| holder)
    }

    /// The thread takes the lock.
    pub(super) fn take(&mut self, thread: u32, hold: Hold) {
        match hold {
            Hold::Exclusive => self.alone = Some((thread, self.alone.map_or(0, |(_, depth)| depth) + 1)),
            Hold::Shared => match self.together.iter_mut().find(|(holder, _)| *holder == thread) {
                Some((_, depth)) => *depth += 1,
                None => self.together.push((thread, 1)),
            },
        }
    }

    /// The thread gives the lock back. Returns the form it held it in, if it held it.
    pub(super) fn give_back(&mut self, thread: u32, hold: Hold) -> Option<Hold> {
        let alone = self.alone.is_some_and(|(holder, _)| holder == thread);
        let together = self.together.iter().position(|&(holder, _)| holder == thread);
        match (hold, alone, together) {
            (Hold::Exclusive, true, _) | (Hold::Shared, true, None) => {
                self.alone =
                    self.alone.filter(|&(_, depth)| depth > 1).map(|(holder, depth)| (holder, depth - 1));
                Some(Hold::Exclusive)
            }
            (_, _, Some(index)) => {
                self.together[index].1 -= 1;
                if self.together[index].1 == 0 {
                    self.together.swap_remove(index);
                }
                Some(Hold::Shared)
            }
            (_, false, None) => None,
        }
    }
}

/// The permits of a semaphore.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Permits {
    /// What it was made with, if that was seen.
    pub(super) declared: Option<u64>,
    now: u64,
    /// Permits whose posts were not seen.
    unseen: u64,
}

impl Permits {
    /// Made with this value.
    pub(super) fn declared(value: u64) -> Permits {
        Permits { declared: Some(value), now: value, unseen: 0 }
    }

    pub(super) fn post(&mut self) {
        self.now += 1;
    }

    pub(super) fn take(&mut self) {
        match self.now.checked_sub(1) {
            Some(now) => self.now = now,
            None => self.unseen += 1,
        }
    }

    /// The permits it must have started with for its takes to be possible.
    pub(super) fn at_start(&self) -> Option<u32> {
        self.declared.map(|declared| u32::try_from(declared + self.unseen).unwrap_or(u32::MAX))
    }
}

/// How often each thread is inside of something that it enters and leaves.
#[derive(Clone, Debug, Default)]
pub(super) struct Inside(FxHashMap<(u32, u32), u32>);

impl Inside {
    pub(super) fn enter(&mut self, thread: u32, what: u32) {
        *self.0.entry((thread, what)).or_default() += 1;
    }

    /// Whether the thread was inside.
    pub(super) fn leave(&mut self, thread: u32, what: u32) -> bool {
        match self.0.get_mut(&(thread, what)) {
            Some(times) if *times > 0 => {
                *times -= 1;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_by_one_or_by_readers() {
        let mut lock = Holders::default();
        lock.take(0, Hold::Exclusive);
        lock.take(0, Hold::Exclusive);
        assert!(!lock.admit(1, Hold::Exclusive) && !lock.admit(1, Hold::Shared));
        assert_eq!(lock.give_back(1, Hold::Exclusive), None);
        assert_eq!(lock.give_back(0, Hold::Exclusive), Some(Hold::Exclusive));
        assert!(!lock.admit(1, Hold::Exclusive));
        // A read-write lock is given back without saying in which form.
        assert_eq!(lock.give_back(0, Hold::Shared), Some(Hold::Exclusive));
        lock.take(1, Hold::Shared);
        lock.take(2, Hold::Shared);
        assert!(lock.admit(3, Hold::Shared) && !lock.admit(1, Hold::Exclusive));
        assert_eq!(lock.give_back(2, Hold::Exclusive), Some(Hold::Shared));
        assert!(lock.admit(1, Hold::Exclusive));
        assert_eq!(lock.give_back(1, Hold::Shared), Some(Hold::Shared));
        assert_eq!(lock, Holders::default());
    }

    #[test]
    fn permits_nobody_saw_are_added_to_the_start() {
        let mut permits = Permits::declared(1);
        permits.take();
        permits.take();
        permits.post();
        permits.take();
        assert_eq!(permits.at_start(), Some(2));
        assert_eq!(Permits::default().at_start(), None);
    }
}
