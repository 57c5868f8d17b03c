//! The numbers of files that threads were given, in the order in which each was given them. Which one is free depends on what other threads do, so a
//! replay needs to know them: a program may use them as data.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use trace::native::ThreadOrigin;
use trace::{ThreadId, ThreadPath};
use wire::{Event, Op, Passage};

/// How many are kept: a program that opens more files is given what is free.
const MOST: usize = 1 << 16;

/// Collects the numbers, in a first pass.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    given: BTreeMap<u32, Vec<u32>>,
    count: usize,
}

impl Descriptors {
    /// Takes an event in.
    #[inline]
    pub(super) fn see(&mut self, event: &Event<'_>) {
        if let Op::HappensAfter { object } = event.op
            && let Some(Passage::Descriptor(number)) = Passage::of(object)
            && self.count < MOST
        {
            self.given.entry(event.thread).or_default().push(number);
            self.count += 1;
        }
    }

    /// The numbers by the paths of the threads: those of threads whose paths are not known are left out.
    pub(super) fn finish(
        self,
        origins: impl Iterator<Item = (ThreadId, ThreadOrigin)>,
    ) -> BTreeMap<String, Vec<u32>> {
        let mut paths: FxHashMap<u32, ThreadPath> = FxHashMap::default();
        // Parents come before their children.
        for (thread, origin) in origins {
            let path = match origin.parent {
                None => Some(ThreadPath::FIRST),
                Some(parent) => paths.get(&parent.0).map(|parent| parent.child(origin.nth)),
            };
            paths.extend(path.map(|path| (thread.0, path)));
        }
        let named = |(thread, numbers)| Some((paths.get(&thread)?.to_string(), numbers));
        self.given.into_iter().filter_map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_by_thread_in_their_order() {
        let mut descriptors = Descriptors::default();
        let mut see = |thread, passage: Passage| {
            let op = Op::HappensAfter { object: passage.object() };
            descriptors.see(&Event { thread, place: None, pc: 0, op });
        };
        for (thread, number) in [(0, 3), (2, 5), (0, 4), (2, 3), (7, 9)] {
            see(thread, Passage::Descriptor(number));
        }
        see(1, Passage::Pipe(8));
        let origin = |parent: Option<u32>, nth| ThreadOrigin { parent: parent.map(ThreadId), nth };
        let origins = [origin(None, 0), origin(Some(0), 1), origin(Some(1), 2)];
        let given = descriptors.finish((0..).map(ThreadId).zip(origins));
        let expected = [("0".to_owned(), vec![3, 4]), ("0.1.2".to_owned(), vec![5, 3])];
        assert_eq!(given, expected.into(), "thread 7 has no path");
    }
}
