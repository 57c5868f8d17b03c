//! Prefixes: events of a run with all that they depend on, to be found again in another run.

use crate::accesses::EventRef;
use crate::run::{Run, RunStep, ThreadKey, allocated};

/// The first events of some threads, with what their reads saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix(Box<[Entry]>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    thread: ThreadKey,
    length: u64,
    hash: u64,
}

impl Prefix {
    /// About how many bytes it takes, besides its own size.
    pub(crate) fn memory(&self) -> usize {
        allocated(size_of_val(&*self.0))
    }

    /// Whether a run contains it.
    pub(crate) fn is_in(&self, run: &Run) -> bool {
        self.0.iter().all(|entry| {
            run.thread_with(entry.thread)
                .and_then(|thread| thread.hashes.get(entry.length as usize))
                .is_some_and(|&hash| hash == entry.hash)
        })
    }
}

/// A prefix of a run in which one more event sees something else.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    /// How many events of each thread there are, the changed one included.
    pub(crate) lengths: Vec<u64>,
    event: EventRef,
    hash: u64,
}

impl Changed {
    /// What `step` sees is changed to these sources; all that they and the step depend on, and what is in `lengths`, stays.
    pub(crate) fn new(
        run: &Run,
        mut lengths: Vec<u64>,
        step: &RunStep,
        sources: &[Option<EventRef>],
    ) -> Changed {
        let own = step.event.thread as usize;
        let mut include = |thread: usize, length: u64| lengths[thread] = lengths[thread].max(length);
        for thread in 0..run.threads.len() {
            if thread != own {
                include(thread, step.before[thread]);
            }
        }
        for source in sources.iter().flatten().filter(|source| source.thread as usize != own) {
            if let Some(write) = run.step_of(*source) {
                (0..run.threads.len()).for_each(|thread| include(thread, write.clock(thread)));
            }
        }
        include(own, step.event.place + 1);
        Changed { lengths, event: step.event, hash: run.hash_with(step, sources) }
    }

    /// What identifies the first events of a thread; none if it has fewer.
    fn hash_at(&self, run: &Run, thread: usize, length: u64) -> Option<u64> {
        if length > self.lengths[thread] {
            return None;
        }
        let is_changed = thread == self.event.thread as usize && length == self.event.place + 1;
        if is_changed { Some(self.hash) } else { run.threads[thread].hashes.get(length as usize).copied() }
    }

    /// The same, to be found in any run.
    pub(crate) fn prefix(&self, run: &Run) -> Prefix {
        let entries = run.threads.iter().enumerate().filter_map(|(number, thread)| {
            let length = self.lengths[number];
            let hash = self.hash_at(run, number, length).filter(|_| length > 0)?;
            Some(Entry { thread: thread.key, length, hash })
        });
        Prefix(entries.collect())
    }

    /// Whether it contains another prefix.
    pub(crate) fn contains(&self, run: &Run, other: &Prefix) -> bool {
        other.0.iter().all(|entry| {
            let Some(number) = run.threads.iter().position(|thread| thread.key == entry.thread) else {
                return false;
            };
            self.hash_at(run, number, entry.length) == Some(entry.hash)
        })
    }
}
