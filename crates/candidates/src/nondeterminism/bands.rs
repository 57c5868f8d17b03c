//! Which writes of a variable orders alone leave to a read: those of each thread that neither come after it nor are hidden from it in every
//! schedule. They are a stretch of the thread's writes.
//!
//! Along a thread both ends of a stretch only move on, so the reads of a thread are taken in order: each costs a few comparisons for
//! each thread that writes, however many writes there are.

use std::cmp::Reverse;

use order::{Index, MustOrder};
use trace::{EventId, ThreadId, VariableId};

use crate::nearest::leading;

/// Places in a thread, from the first to the one before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) first: u32,
    pub(super) end: u32,
}

/// What each read of a thread might see, one read after the other.
pub(super) struct Bands<'a> {
    index: &'a Index<'a>,
    must: &'a MustOrder,
    writers: Vec<Writer<'a>>,
    /// Scratch: the writes that newly hide others, with the number of their thread.
    hiding: Vec<(EventId, usize)>,
}

/// A thread that writes the variable, and what the latest read has to do with it.
struct Writer<'a> {
    thread: ThreadId,
    /// Of its writes.
    places: &'a [u32],
    /// How many of its writes must come before the read.
    before: usize,
    /// How many of its writes need not come after the read.
    not_after: usize,
    /// Its events before this place are hidden.
    least: u32,
}

impl<'a> Bands<'a> {
    pub(super) fn new(index: &'a Index<'a>, must: &'a MustOrder, variable: VariableId) -> Self {
        let writers = index.thread_writes().of(variable.index());
        let writers =
            writers.map(|(thread, places)| Writer { thread, places, before: 0, not_after: 0, least: 0 });
        Bands { index, must, writers: writers.collect(), hiding: Vec::new() }
    }

    /// The number of a thread that writes the variable.
    pub(super) fn number(&self, thread: ThreadId) -> Option<usize> {
        self.writers.binary_search_by_key(&thread, |writer| writer.thread).ok()
    }

    /// How many reads to look at together: what is known of them is not to take much memory.
    pub(super) fn together(&self) -> usize {
        ((1 << 16) / self.writers.len().max(1)).clamp(1, 256)
    }

    /// Goes on to a read, which is of the same thread as those before and later. None: that would be more comparisons than there may be.
    pub(super) fn go_to(&mut self, read: EventId, steps: &mut u64) -> Option<()> {
        let (index, must) = (self.index, self.must);
        let event = |thread: ThreadId, place: u32| index.threads().of_thread(thread)[place as usize];
        spend(steps, self.writers.len())?;
        let mut hiding = std::mem::take(&mut self.hiding);
        hiding.clear();
        for (number, writer) in self.writers.iter_mut().enumerate() {
            let (thread, places) = (writer.thread, writer.places);
            let not_after = |&place: &u32| !must.precedes(index, read, event(thread, place));
            writer.not_after += leading(&places[writer.not_after..], not_after);
            let happened = must.run_up(index, read, thread);
            let new = leading(&places[writer.before..], |&place| place < happened);
            if new > 0 {
                writer.before += new;
                hiding.push((event(thread, places[writer.before - 1]), number));
            }
        }
        // One that is itself hidden hides nothing that is not: the latest come first.
        hiding.sort_unstable_by_key(|&(event, _)| Reverse(event));
        for &(event, number) in &hiding {
            let place = index.threads().place(event) as u32;
            if self.writers[number].least <= place {
                spend(steps, self.writers.len())?;
                self.hide(event, number, place);
            }
        }
        self.hiding = hiding;
        Some(())
    }

    /// Takes note that a write must come before the read, and hides what must come before it.
    fn hide(&mut self, hiding: EventId, by: usize, place: u32) {
        for (number, writer) in self.writers.iter_mut().enumerate() {
            let hidden = match number == by {
                // It does not hide itself.
                true => place,
                false => self.must.count(self.index, hiding, writer.thread),
            };
            writer.least = writer.least.max(hidden);
        }
    }

    /// Whether no write must come before the read: it might see the initial value.
    pub(super) fn leave_initial(&self) -> bool {
        self.writers.iter().all(|writer| writer.before == 0)
    }

    /// Where the writes of each thread are that the read might see.
    pub(super) fn stretches(&self) -> impl Iterator<Item = Stretch> {
        self.writers.iter().map(|writer| Stretch {
            first: writer.least,
            end: writer.places.get(writer.not_after).copied().unwrap_or(u32::MAX),
        })
    }
}

/// Takes comparisons from those that may be made; none: there are not enough left.
fn spend(steps: &mut u64, comparisons: usize) -> Option<()> {
    *steps = steps.saturating_sub(comparisons as u64);
    (*steps > 0).then_some(())
}

#[cfg(test)]
mod tests {
    use check::Model;
    use decide::must_order;

    use super::*;

    /// What a read might see of a thread, from scratch.
    fn naive(index: &Index<'_>, must: &MustOrder, read: EventId, thread: ThreadId) -> Vec<EventId> {
        let Some(variable) = index.trace().op(read).reads() else { return Vec::new() };
        let hiding = must.hiding_writes(index, read);
        let is_hidden =
            |write| hiding.iter().any(|&other| other != write && must.precedes(index, write, other));
        let writes = index.writes(variable).iter().copied();
        let of_thread = writes.filter(|&write| index.trace().thread(write) == thread);
        of_thread.filter(|&write| !must.precedes(index, read, write) && !is_hidden(write)).collect()
    }

    #[test]
    fn bands_are_what_orders_leave() {
        let mut some = 0;
        for seed in 0..2000 {
            let mut settings = generate::TraceSettings::tiny(seed);
            settings.events *= 1 + seed % 4;
            let Ok(trace) = generate::generate(&settings) else { continue };
            let index = Index::new(&trace);
            for model in [Model::Sync, Model::ReadsFrom] {
                let must = must_order(&index, model);
                for variable in (0..trace.symbols().variables.len()).map(VariableId::new) {
                    for reader in (0..index.threads().threads()).map(ThreadId::new) {
                        let mut bands = Bands::new(&index, must, variable);
                        let reads = index.reads_since(variable, EventId(0)).iter().copied();
                        for read in reads.filter(|&read| trace.thread(read) == reader) {
                            assert!(bands.go_to(read, &mut u64::MAX.clone()).is_some());
                            assert_eq!(bands.leave_initial(), must.hiding_writes(&index, read).is_empty());
                            let stretches: Vec<Stretch> = bands.stretches().collect();
                            for (thread, places) in index.thread_writes().of(variable.index()) {
                                let stretch = stretches[bands.number(thread).unwrap_or(usize::MAX)];
                                let left = places
                                    .iter()
                                    .filter(|&&place| stretch.first <= place && place < stretch.end);
                                let left: Vec<EventId> = left
                                    .map(|&place| index.threads().of_thread(thread)[place as usize])
                                    .collect();
                                assert_eq!(
                                    left,
                                    naive(&index, must, read, thread),
                                    "seed {seed} {model:?} {read}"
                                );
                                some += left.len();
                            }
                        }
                    }
                }
            }
        }
        assert!(some > 1000, "only {some}");
    }
}
