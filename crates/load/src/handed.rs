//! Locks that are handed over: taken by one thread and given back by another. POSIX does not allow that, but programs do it. Such a lock
//! works as a semaphore with one permit, and is one in the trace: then what it orders is what the program relies on.

use rustc_hash::{FxHashMap, FxHashSet};
use wire::{Event, Op};

use super::sync::Holders;

/// Finds the locks that are handed over, in a first pass.
#[derive(Debug, Default)]
pub(super) struct HandOvers {
    holders: FxHashMap<u64, Holders>,
    handed: FxHashSet<u64>,
}

impl HandOvers {
    /// Takes an event in.
    #[inline]
    pub(super) fn see(&mut self, event: &Event<'_>) {
        match event.op {
            Op::Acquire { lock, hold } => {
                let holders = self.holders.entry(lock).or_default();
                if !holders.admit(event.thread, hold) {
                    // Another lock at the same address.
                    *holders = Holders::default();
                }
                holders.take(event.thread, hold);
            }
            Op::Release { lock, hold } => {
                let holders = self.holders.entry(lock).or_default();
                if holders.give_back(event.thread, hold).is_none() && *holders != Holders::default() {
                    *holders = Holders::default();
                    self.handed.insert(lock);
                }
            }
            Op::Wait { lock, .. } => {
                let holders = self.holders.entry(lock).or_default();
                let _ = holders.give_back(event.thread, wire::Hold::Exclusive);
            }
            _ => {}
        }
    }

    /// The addresses of the locks.
    pub(super) fn finish(self) -> FxHashSet<u64> {
        self.handed
    }
}
