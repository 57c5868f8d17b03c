//! What needed events use: the sections of each lock, the writes and demands of each variable, the posts and takes of
//! each semaphore, by chain.

use order::Node;
use rustc_hash::FxHashMap;
use trace::{EventId, SemaphoreId, ThreadId};

/// A needed section of a lock, in positions of its chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) acquire: u32,
    /// `NONE`: never released.
    pub(crate) release: u32,
    pub(crate) shared: bool,
}

/// The needed sections of a lock in one chain.
#[derive(Clone, Debug)]
pub(crate) struct ChainSections {
    pub(crate) chain: u32,
    pub(crate) all: Sections,
    pub(crate) exclusive: Sections,
}

/// Sections of one chain in the order of their acquires.
#[derive(Clone, Debug)]
pub(crate) struct Sections {
    list: Vec<Held>,
    /// Whether their releases are in order too, as they are unless a shared section outlives an
    /// exclusive one it began in (a downgrade).
    in_order: bool,
}

impl Sections {
    pub(crate) fn new() -> Self {
        Sections { list: Vec::new(), in_order: true }
    }

    pub(crate) fn push(&mut self, held: Held) {
        self.in_order &= self.list.last().is_none_or(|last| last.release <= held.release);
        self.list.push(held);
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn get(&self, index: usize) -> Held {
        self.list[index]
    }

    pub(crate) fn first(&self) -> Option<Held> {
        self.list.first().copied()
    }

    /// The first section that ends at or after a position or never.
    pub(crate) fn first_ending_at_or_after(&self, position: u32) -> Option<Held> {
        if self.in_order {
            return self.list.get(self.list.partition_point(|held| held.release < position)).copied();
        }
        self.list.iter().find(|held| held.release >= position).copied()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct LockUse {
    pub(crate) chains: Vec<ChainSections>,
    /// Sections open where the window begins: thread, release and whether shared.
    pub(crate) open: Vec<(ThreadId, Option<EventId>, bool)>,
}

/// What a needed read must see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) read: Node,
    pub(crate) source: Seen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Initial,
    /// A write before the window.
    Earlier,
    Write(Node),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct VariableUse {
    /// Positions of the needed writes of each chain.
    pub(crate) writes: Vec<(u32, Vec<u32>)>,
    pub(crate) demands: Vec<Demand>,
    /// How many of the demands each write has to satisfy.
    pub(crate) readers: FxHashMap<Node, u32>,
    /// How many of the demands are for the value before any needed write.
    pub(crate) first_readers: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct SemaphoreUse {
    pub(crate) semaphore: SemaphoreId,
    pub(crate) takes: Vec<Node>,
    pub(crate) posts: Vec<Node>,
}
