//! Normalisation (paper 2, algorithm 1) of the part of a loset up to a state, with the dynamic locking order
//! of that state (definition 15).
//!
//! If a section must start before another one of its lock that it excludes has ended (definition 9), it must
//! end before that one starts (definition 10). Such orders are added to happened-before, kept closed as vector
//! clocks, until there are no more or one closes a cycle: then no run reaches the state.
//!
//! A section still open in the state ends where the state does: what it must precede can only be refuted.

use order::{Chains, Node, Section};

use crate::loset::{Loset, SectionId};

/// The section `first` must end before the section `then` starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockingOrder {
    /// The one that ends.
    pub first: SectionId,
    /// The one that starts.
    pub then: SectionId,
}

/// The orders that locks and happened-before imply contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unorderable;

impl Loset {
    /// The locking orders that hold in every run that reaches this feasible state, as far as algorithm 1 finds
    /// them; those implied by the others are left out. Where the bounds of the loset are reached, some are missing.
    pub fn normalise(&self, state: &[u32]) -> Result<Vec<LockingOrder>, Unorderable> {
        self.normalise_between(&vec![0; state.len()], state)
    }

    /// The dynamic locking orders of a feasible state: who holds a lock in it comes after all who held it.
    pub fn dynamic_orders(&self, state: &[u32]) -> Vec<LockingOrder> {
        Part { loset: self, start: &vec![0; state.len()], end: state }.dynamic_orders()
    }

    /// The same, only of what happens after `start`, a state in which no lock is held that another thread wants.
    pub(crate) fn normalise_between(
        &self,
        start: &[u32],
        end: &[u32],
    ) -> Result<Vec<LockingOrder>, Unorderable> {
        let part = Part { loset: self, start, end };
        let mut order = part.happened_before();
        let mut found = Vec::new();
        for locking in part.dynamic_orders() {
            part.insert(&mut order, locking, &mut found)?;
        }
        while part.add_implied(&mut order, &mut found)? {}
        Ok(found)
    }
}

/// The events from one state to another.
struct Part<'a> {
    loset: &'a Loset,
    start: &'a [u32],
    end: &'a [u32],
}

impl Part<'_> {
    fn happened_before(&self) -> Chains {
        let mut order = Chains::new();
        for (&start, &end) in self.start.iter().zip(self.end) {
            let chain = order.add_chain();
            (start..end).for_each(|_| {
                order.push(chain);
            });
        }
        for thread in 0..self.end.len() {
            for place in (self.start[thread]..self.end[thread]).take_while(|_| !self.loset.is_out_of_time()) {
                let before = self.loset.needs(thread, place);
                let after = self.loset.needs(thread, place + 1);
                for other in (0..self.end.len()).filter(|&other| other != thread) {
                    if after[other] > before[other].max(self.start[other]) {
                        let (from, to) = (self.node(other, after[other] - 1), self.node(thread, place));
                        order.insert(from, to).expect("happened-before has no cycles");
                    }
                }
            }
        }
        order
    }

    fn node(&self, thread: usize, place: u32) -> Node {
        Node { chain: thread as u32, position: place - self.start[thread] }
    }

    fn acquire(&self, section: &Section<u32>) -> Node {
        self.node(section.thread.index(), section.acquire)
    }

    /// Where it ends in this part; its last event if it is still open.
    fn last(&self, section: &Section<u32>) -> Node {
        let thread = section.thread.index();
        self.node(thread, section.release.map_or(self.end[thread] - 1, |r| r.min(self.end[thread] - 1)))
    }

    fn is_open(&self, section: &Section<u32>) -> bool {
        section.is_open_at(self.end[section.thread.index()])
    }

    /// Sections of each lock that start in this part.
    fn rivals(&self) -> impl Iterator<Item = Vec<SectionId>> + '_ {
        let here = |id: &&SectionId| {
            let section = self.loset.section(**id);
            let thread = section.thread.index();
            (self.start[thread]..self.end[thread]).contains(&section.acquire)
        };
        self.loset.rivals.iter().map(move |sections| sections.iter().filter(here).copied().collect())
    }

    fn dynamic_orders(&self) -> Vec<LockingOrder> {
        let mut orders = Vec::new();
        for sections in self.rivals() {
            for &then in sections.iter().filter(|&&id| self.is_open(self.loset.section(id))) {
                let holder = self.loset.section(then);
                let others = sections.iter().filter(|&&id| self.loset.section(id).excludes(holder));
                orders.extend(others.map(|&first| LockingOrder { first, then }));
            }
        }
        orders
    }

    /// Adds what definition 10 implies by now; whether there was anything new.
    fn add_implied(&self, order: &mut Chains, found: &mut Vec<LockingOrder>) -> Result<bool, Unorderable> {
        let known = found.len();
        for sections in self.rivals() {
            for &first in &sections {
                if self.loset.is_out_of_time() {
                    return Ok(false);
                }
                for &then in &sections {
                    let (a, b) = (self.loset.section(first), self.loset.section(then));
                    if a.excludes(b) && order.precedes(self.acquire(a), self.last(b)) {
                        self.insert(order, LockingOrder { first, then }, found)?;
                    }
                }
            }
        }
        Ok(found.len() > known)
    }

    fn insert(
        &self,
        order: &mut Chains,
        locking: LockingOrder,
        found: &mut Vec<LockingOrder>,
    ) -> Result<(), Unorderable> {
        let (first, then) = (self.loset.section(locking.first), self.loset.section(locking.then));
        if self.is_open(first) {
            return Err(Unorderable);
        }
        if order.insert(self.last(first), self.acquire(then)).map_err(|_| Unorderable)? {
            found.push(locking);
        }
        Ok(())
    }
}
