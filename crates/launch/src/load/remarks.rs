//! What the program said about its own accesses: those of a thread that are not to be seen, and memory whose races are meant.

use rawlog::{Event, Op};
use rustc_hash::FxHashMap;

use super::translate::Access;

/// How deep a thread is in stretches whose accesses are not to be seen.
#[derive(Clone, Copy, Debug, Default)]
struct Ignored {
    reads: u32,
    writes: u32,
    atomics: u32,
}

/// All remarks so far.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    ignored: FxHashMap<u32, Ignored>,
    /// Ranges whose races are meant: start and length.
    benign: Vec<(u64, u64)>,
}

impl Remarks {
    /// Takes a remark in.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        let ignored = self.ignored.entry(event.thread).or_default();
        match event.op {
            Op::IgnoreBegin { reads, writes, atomics } => {
                ignored.reads += u32::from(reads);
                ignored.writes += u32::from(writes);
                ignored.atomics += u32::from(atomics);
            }
            Op::IgnoreEnd { reads, writes, atomics } => {
                ignored.reads = ignored.reads.saturating_sub(u32::from(reads));
                ignored.writes = ignored.writes.saturating_sub(u32::from(writes));
                ignored.atomics = ignored.atomics.saturating_sub(u32::from(atomics));
            }
            Op::Benign { address, length } => self.benign.push((address, length)),
            _ => {}
        }
    }

    /// Whether what the thread frees is to be seen.
    pub(super) fn frees(&self, thread: u32) -> bool {
        self.ignored.get(&thread).is_none_or(|ignored| ignored.writes == 0)
    }

    /// What is to be seen of an access.
    #[inline]
    pub(super) fn wanted(&self, thread: u32, access: Access) -> Option<Access> {
        if self.ignored.is_empty() {
            return Some(access);
        }
        let Ignored { reads, writes, atomics } = self.ignored.get(&thread).copied().unwrap_or_default();
        match (access, reads > 0, writes > 0) {
            (Access::Read, true, _) | (Access::Write, _, true) | (Access::ReadThenWrite, true, true) => None,
            (Access::ReadThenWrite, true, false) => Some(Access::Write),
            (Access::ReadThenWrite, false, true) => Some(Access::Read),
            (Access::Read | Access::Write | Access::ReadThenWrite, ..) => Some(access),
            (atomic, ..) => (atomics == 0).then_some(atomic),
        }
    }

    /// The access as it is meant: where races are, it is atomic.
    #[inline]
    pub(super) fn meant(&self, access: Access, address: u64) -> Access {
        let within = |&(start, length): &(u64, u64)| address.wrapping_sub(start) < length;
        if !self.benign.iter().any(within) {
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

    fn remarks(ops: &[Op<'static>]) -> Remarks {
        let mut remarks = Remarks::default();
        ops.iter().for_each(|&op| remarks.see(&Event { thread: 1, place: None, pc: 0, op }));
        remarks
    }

    #[test]
    fn what_is_ignored_is_nested_and_of_one_thread() {
        let begin = Op::IgnoreBegin { reads: false, writes: true, atomics: false };
        let end = Op::IgnoreEnd { reads: false, writes: true, atomics: false };
        let inside = remarks(&[begin, begin, end]);
        assert_eq!(inside.wanted(1, Access::Write), None);
        assert_eq!(inside.wanted(1, Access::ReadThenWrite), Some(Access::Read));
        assert_eq!(inside.wanted(1, Access::AtomicWrite), Some(Access::AtomicWrite));
        assert_eq!(inside.wanted(2, Access::Write), Some(Access::Write));
        let in_a_lock = remarks(&[Op::IgnoreBegin { reads: true, writes: true, atomics: true }]);
        assert_eq!(in_a_lock.wanted(1, Access::AtomicUpdate), None);
        assert_eq!(remarks(&[begin, end]).wanted(1, Access::Write), Some(Access::Write));
    }

    #[test]
    fn races_that_are_meant_are_between_atomic_accesses() {
        let remarks = remarks(&[Op::Benign { address: 100, length: 4 }]);
        assert_eq!(remarks.meant(Access::Write, 100), Access::AtomicWrite);
        assert_eq!(remarks.meant(Access::ReadThenWrite, 103), Access::AtomicUpdate);
        assert_eq!(
            (remarks.meant(Access::Read, 104), remarks.meant(Access::Read, 99)),
            (Access::Read, Access::Read)
        );
    }
}
