//! Returns to an earlier state of the search, in time proportional to the changes since then.
//!
//! Only what a decision can change is logged, and only while there is a decision to undo: most questions need
//! none. The agenda is not restored, because it is empty whenever a decision is made.

use trace::SemaphoreId;

use crate::state::{NONE, State};

/// A change of a [`State`], other than to its order, its log and its deferred orders.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Undo {
    /// A chain was added.
    Chain,
    /// Events of this chain became needed.
    Extend {
        chain: u32,
    },
    Ceiling {
        chain: u32,
        was: u32,
        level: u32,
    },
    Covered {
        chain: u32,
        other: u32,
        was: u32,
    },
    Semaphore(SemaphoreId),
    Take {
        semaphore: u32,
    },
    Post {
        semaphore: u32,
    },
}

/// How to go back.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    is_on: bool,
    undo: Vec<Undo>,
}

/// A state to go back to. Marks nest: going back to one forgets those made after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    is_on: bool,
    undo: usize,
    log: usize,
    deferred: usize,
    order: order::Mark,
}

impl Trail {
    #[inline]
    pub(crate) fn note(&mut self, undo: Undo) {
        if self.is_on {
            self.undo.push(undo);
        }
    }
}

impl State<'_> {
    /// The state as it is now.
    pub(crate) fn mark(&mut self) -> Mark {
        let mark = Mark {
            is_on: self.trail.is_on,
            undo: self.trail.undo.len(),
            log: self.log.len(),
            deferred: self.deferred.len(),
            order: self.order.mark(),
        };
        self.trail.is_on = true;
        mark
    }

    /// Goes back. The work done, and what is yet to be looked at, stay as they are.
    pub(crate) fn undo_to(&mut self, mark: Mark) {
        while self.trail.undo.len() > mark.undo {
            match self.trail.undo.pop() {
                Some(Undo::Chain) => {
                    if let Some(chain) = self.chains.pop() {
                        self.chain_of[chain.thread.index()] = NONE;
                    }
                }
                Some(Undo::Extend { chain }) => {
                    self.chains[chain as usize].causes.pop();
                }
                Some(Undo::Ceiling { chain, was, level }) => {
                    let chain = &mut self.chains[chain as usize];
                    (chain.ceiling, chain.ceiling_level) = (was, level);
                }
                Some(Undo::Covered { chain, other, was }) => {
                    self.chains[chain as usize].covered[other as usize] = was;
                }
                Some(Undo::Semaphore(semaphore)) => {
                    self.semaphores.pop();
                    self.semaphore_index.remove(&semaphore);
                }
                Some(Undo::Take { semaphore }) => {
                    self.semaphores[semaphore as usize].takes.pop();
                }
                Some(Undo::Post { semaphore }) => {
                    self.semaphores[semaphore as usize].posts.pop();
                }
                None => break,
            }
        }
        self.log.truncate(mark.log);
        self.deferred.truncate(mark.deferred);
        self.order.undo_to(mark.order);
        self.trail.is_on = mark.is_on;
    }

    /// Forgets what is yet to be looked at: a contradiction has settled it.
    pub(crate) fn forget_work(&mut self) {
        self.unread.clear();
        self.arrivals.clear();
        self.agenda.clear();
    }
}
