//! What the program declares about its own accesses: which of a thread's accesses to ignore, and which memory
//! has intended races.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use wire::{Event, Op};

use super::translate::Access;

/// How deep a thread is in stretches whose accesses are not to be seen.
#[derive(Clone, Copy, Debug, Default)]
struct Ignored {
    reads: u32,
    writes: u32,
    atomics: u32,
    orders: u32,
    /// Those of [`Ignored::orders`] that come with a lock's signal.
    signals: u32,
}

/// Whether a stretch is the inside of a lock's signal.
pub(super) fn is_signal(ignored: wire::Ignored) -> bool {
    ignored.atomics && ignored.orders
}

/// All directives so far.
#[derive(Debug, Default)]
pub(super) struct Directives {
    ignored: FxHashMap<u32, Ignored>,
    /// Where races are meant: the ranges by their starts, with their ends. None touches another.
    benign: BTreeMap<u64, u64>,
}

impl Directives {
    /// Takes a directive in.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        let ignored = self.ignored.entry(event.thread).or_default();
        match event.op {
            Op::IgnoreBegin(more) => {
                ignored.reads += u32::from(more.reads);
                ignored.writes += u32::from(more.writes);
                ignored.atomics += u32::from(more.atomics);
                ignored.orders += u32::from(more.orders);
                ignored.signals += u32::from(is_signal(more));
            }
            Op::IgnoreEnd(less) => {
                ignored.reads = ignored.reads.saturating_sub(u32::from(less.reads));
                ignored.writes = ignored.writes.saturating_sub(u32::from(less.writes));
                ignored.atomics = ignored.atomics.saturating_sub(u32::from(less.atomics));
                ignored.orders = ignored.orders.saturating_sub(u32::from(less.orders));
                ignored.signals = ignored.signals.saturating_sub(u32::from(is_signal(less)));
            }
            Op::Benign { address, length } => self.mean_races(address, address.saturating_add(length)),
            _ => {}
        }
    }

    /// Whether what the thread does orders it with others.
    pub(super) fn orders(&self, thread: u32) -> bool {
        self.ignored.get(&thread).is_none_or(|ignored| ignored.orders == 0)
    }

    /// Whether the thread is in a stretch that it has opened itself. Those of locks come with the lock.
    pub(super) fn is_ignoring(&self, thread: u32) -> bool {
        self.ignored.get(&thread).is_some_and(|ignored| {
            ignored.reads > ignored.atomics
                || ignored.writes > ignored.atomics
                || ignored.orders > ignored.signals
        })
    }

    /// Whether what the thread allocates and frees is to be seen.
    pub(super) fn frees(&self, thread: u32) -> bool {
        self.ignored.get(&thread).is_none_or(|ignored| ignored.writes == 0)
    }

    /// What is to be seen of an access.
    #[inline]
    pub(super) fn wanted(&self, thread: u32, access: Access) -> Option<Access> {
        if self.ignored.is_empty() {
            return Some(access);
        }
        let Ignored { reads, writes, atomics, .. } = self.ignored.get(&thread).copied().unwrap_or_default();
        match (access, reads > 0, writes > 0) {
            (Access::Read, true, _) | (Access::Write, _, true) | (Access::ReadThenWrite, true, true) => None,
            (Access::ReadThenWrite, true, false) => Some(Access::Write),
            (Access::ReadThenWrite, false, true) => Some(Access::Read),
            (Access::Read | Access::Write | Access::ReadThenWrite, ..) => Some(access),
            (atomic, ..) => (atomics == 0).then_some(atomic),
        }
    }

    /// Races in this range are meant. Ranges that touch become one.
    fn mean_races(&mut self, mut start: u64, mut end: u64) {
        while let Some((&other, &other_end)) = self.benign.range(..=end).next_back()
            && other_end >= start
        {
            self.benign.remove(&other);
            (start, end) = (start.min(other), end.max(other_end));
        }
        self.benign.insert(start, end);
    }

    fn is_benign(&self, address: u64) -> bool {
        self.benign_until(address).is_some()
    }

    /// Where the range ends in which the races of this address are meant; none if they are not.
    fn benign_until(&self, address: u64) -> Option<u64> {
        self.benign.range(..=address).next_back().map(|(_, &end)| end).filter(|&end| address < end)
    }

    /// The access as it is meant in another part of the bytes it covers than their start, if it is meant otherwise there.
    pub(super) fn meant_within(&self, access: Access, address: u64, length: u64) -> Option<Access> {
        let end = address.saturating_add(length);
        match self.benign_until(address) {
            Some(until) => (until < end).then_some(access),
            None if self.benign.is_empty() => None,
            None => self
                .benign
                .range(address..end.max(address))
                .next()
                .map(|(&start, _)| self.as_annotated(access, start)),
        }
    }

    /// The access as it is meant: where races are, it is atomic.
    #[inline]
    pub(super) fn as_annotated(&self, access: Access, address: u64) -> Access {
        if self.benign.is_empty() || !self.is_benign(address) {
            return access;
        }
        match access {
            Access::Read => Access::AtomicRead,
            Access::Write => Access::AtomicWrite,
            Access::ReadThenWrite => Access::AtomicUpdate,
            atomic => atomic,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directives(ops: &[Op<'static>]) -> Directives {
        let mut directives = Directives::default();
        ops.iter().for_each(|&op| directives.see(&Event { thread: 1, place: None, pc: 0, op }));
        directives
    }

    #[test]
    fn what_is_ignored_is_nested_and_of_one_thread() {
        let begin =
            Op::IgnoreBegin(wire::Ignored { reads: false, writes: true, atomics: false, orders: false });
        let end = Op::IgnoreEnd(wire::Ignored { reads: false, writes: true, atomics: false, orders: false });
        let inside = directives(&[begin, begin, end]);
        assert_eq!(inside.wanted(1, Access::Write), None);
        assert_eq!(inside.wanted(1, Access::ReadThenWrite), Some(Access::Read));
        assert_eq!(inside.wanted(1, Access::AtomicWrite), Some(Access::AtomicWrite));
        assert_eq!(inside.wanted(2, Access::Write), Some(Access::Write));
        let in_a_lock = directives(&[Op::IgnoreBegin(wire::Ignored {
            reads: true,
            writes: true,
            atomics: true,
            orders: false,
        })]);
        assert_eq!(in_a_lock.wanted(1, Access::AtomicUpdate), None);
        assert_eq!(directives(&[begin, end]).wanted(1, Access::Write), Some(Access::Write));
    }

    #[test]
    fn ranges_of_meant_races_are_found_among_many_as_one_by_one() {
        let mut dice = 7u64;
        let mut roll = |below: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (dice >> 33) % below
        };
        let ranges: Vec<(u64, u64)> = (0..400).map(|_| (roll(10_000), roll(12))).collect();
        let ops: Vec<Op<'_>> =
            ranges.iter().map(|&(address, length)| Op::Benign { address, length }).collect();
        let directives = directives(&ops);
        for address in 0..10_100 {
            let naive = ranges.iter().any(|&(start, length)| (start..start + length).contains(&address));
            assert_eq!(
                directives.as_annotated(Access::Write, address) == Access::AtomicWrite,
                naive,
                "{address}"
            );
        }
    }

    #[test]
    fn races_that_are_meant_are_between_atomic_accesses() {
        let directives = directives(&[Op::Benign { address: 100, length: 4 }]);
        assert_eq!(directives.as_annotated(Access::Write, 100), Access::AtomicWrite);
        assert_eq!(directives.as_annotated(Access::ReadThenWrite, 103), Access::AtomicUpdate);
        assert_eq!(
            (directives.as_annotated(Access::Read, 104), directives.as_annotated(Access::Read, 99)),
            (Access::Read, Access::Read)
        );
    }
}
