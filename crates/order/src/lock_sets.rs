//! Which locks each thread holds, as interned sets: a trace has few different ones.

use std::num::NonZero;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use trace::{LockId, Op, ThreadId};

use crate::slot;

/// A set of held locks: its number and one, so that an option of it takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockSetId(NonZero<u32>);

impl LockSetId {
    /// The empty set.
    pub const EMPTY: LockSetId = LockSetId(NonZero::<u32>::MIN);

    fn new(index: usize) -> Self {
        LockSetId(LockSetId::EMPTY.0.saturating_add(index as u32))
    }

    #[inline]
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl Default for LockSetId {
    fn default() -> Self {
        LockSetId::EMPTY
    }
}

/// A lock held, and in which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockHold {
    /// The lock.
    pub lock: LockId,
    /// Not together with other readers.
    pub exclusive: bool,
}

impl LockHold {
    /// Whether holders of the two keep each other out.
    pub fn excludes(self, other: LockHold) -> bool {
        self.lock == other.lock && (self.exclusive || other.exclusive)
    }
}

/// A set of holds as bits, a bit standing for every 64th lock: enough to tell most sets apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mask {
    any: u64,
    exclusive: u64,
}

impl Mask {
    /// Whether it may exclude a holder of the other set. No: it certainly does not.
    #[inline]
    fn may_exclude(self, other: Mask) -> bool {
        (self.exclusive & other.any) | (self.any & other.exclusive) != 0
    }

    /// Whether its holds may all be among the other's. No: they certainly are not.
    #[inline]
    fn may_be_within(self, other: Mask) -> bool {
        (self.any & !other.any) | (self.exclusive & !other.exclusive) == 0
    }
}

/// All sets of locks that were held by some thread.
#[derive(Clone, Debug)]
pub struct LockSets {
    /// Shared with `ids` and with copies of all sets: where locks are held in thousands, so are the sets large.
    sets: Vec<Arc<[LockHold]>>,
    masks: Vec<Mask>,
    ids: FxHashMap<Arc<[LockHold]>, LockSetId>,
    /// All locks so far have a bit of their own.
    masks_are_exact: bool,
}

impl Default for LockSets {
    fn default() -> Self {
        let mut sets = LockSets {
            sets: Vec::new(),
            masks: Vec::new(),
            ids: FxHashMap::default(),
            masks_are_exact: true,
        };
        sets.intern(&[]);
        sets
    }
}

impl LockSets {
    fn intern(&mut self, holds: &[LockHold]) -> LockSetId {
        if let Some(&id) = self.ids.get(holds) {
            return id;
        }
        let id = LockSetId::new(self.sets.len());
        let mut mask = Mask::default();
        for hold in holds {
            let bit = 1 << (hold.lock.0 % u64::BITS);
            mask.any |= bit;
            mask.exclusive |= if hold.exclusive { bit } else { 0 };
            self.masks_are_exact &= hold.lock.0 < u64::BITS;
        }
        self.masks.push(mask);
        let holds: Arc<[LockHold]> = holds.into();
        self.sets.push(holds.clone());
        self.ids.insert(holds, id);
        id
    }

    /// The set of these holds, in any order. A lock held in both forms is held exclusively.
    pub fn set_of(&mut self, holds: impl Iterator<Item = LockHold>) -> LockSetId {
        let mut holds: Vec<LockHold> = holds.collect();
        if holds.is_empty() {
            return LockSetId::EMPTY;
        }
        holds.sort_unstable();
        holds.dedup_by(|next, kept| {
            let same = next.lock == kept.lock;
            kept.exclusive |= same && next.exclusive;
            same
        });
        self.intern(&holds)
    }

    /// The locks of a set.
    pub fn holds(&self, set: LockSetId) -> &[LockHold] {
        &self.sets[set.index()]
    }

    /// Whether a holder of a lock keeps out holders of a set.
    pub fn excludes_one(&self, set: LockSetId, hold: LockHold) -> bool {
        self.holds(set).iter().any(|&other| other.excludes(hold))
    }

    #[inline]
    fn mask(&self, set: LockSetId) -> Mask {
        self.masks[set.index()]
    }

    /// Makes a set what is in it and in the other, each lock in the weaker form; of no set, the other.
    #[inline]
    pub fn meet(&mut self, set: &mut Option<LockSetId>, other: LockSetId) {
        match set {
            None => *set = Some(other),
            Some(set) if self.within(*set, other) => {}
            Some(set) => *set = self.intersection(*set, other),
        }
    }

    fn intersection(&mut self, a: LockSetId, b: LockSetId) -> LockSetId {
        let other = &self.sets[b.index()];
        let in_both = |x: &LockHold| {
            let y = other.iter().find(|y| y.lock == x.lock)?;
            Some(LockHold { lock: x.lock, exclusive: x.exclusive && y.exclusive })
        };
        let holds: Vec<LockHold> = self.sets[a.index()].iter().filter_map(in_both).collect();
        self.intern(&holds)
    }

    /// Whether holders of these two sets keep each other out: some lock is in both, not shared in both.
    #[inline]
    pub fn exclude(&self, a: LockSetId, b: LockSetId) -> bool {
        self.mask(a).may_exclude(self.mask(b)) && (self.masks_are_exact || self.surely_exclude(a, b))
    }

    fn surely_exclude(&self, a: LockSetId, b: LockSetId) -> bool {
        let other = &self.sets[b.index()];
        self.sets[a.index()].iter().any(|x| other.iter().any(|&y| x.excludes(y)))
    }

    /// Whether every thread that the first set excludes is excluded by the second.
    #[inline]
    pub fn within(&self, a: LockSetId, b: LockSetId) -> bool {
        self.mask(a).may_be_within(self.mask(b)) && (self.masks_are_exact || self.surely_within(a, b))
    }

    fn surely_within(&self, a: LockSetId, b: LockSetId) -> bool {
        let other = &self.sets[b.index()];
        let held = |x: &LockHold| other.iter().any(|y| x.lock == y.lock && y.exclusive >= x.exclusive);
        self.sets[a.index()].iter().all(held)
    }
}

/// How often a thread has acquired a lock without releasing it.
#[derive(Clone, Copy, Debug)]
struct Depth {
    lock: LockId,
    exclusive: u32,
    shared: u32,
}

/// What a thread holds.
#[derive(Clone, Debug, Default)]
struct ThreadHolds {
    depths: Vec<Depth>,
    set: LockSetId,
}

/// What each thread holds at the current point of a trace.
#[derive(Clone, Debug, Default)]
pub struct HeldLocks {
    threads: Vec<ThreadHolds>,
    sets: LockSets,
    scratch: Vec<LockHold>,
}

impl HeldLocks {
    /// The locks a thread holds.
    #[inline]
    pub fn by(&self, thread: ThreadId) -> LockSetId {
        self.threads.get(thread.index()).map_or(LockSetId::default(), |holds| holds.set)
    }

    /// All sets so far.
    #[inline]
    pub fn sets(&self) -> &LockSets {
        &self.sets
    }

    /// All sets so far, to add others.
    #[inline]
    pub fn sets_mut(&mut self) -> &mut LockSets {
        &mut self.sets
    }

    /// All sets there were.
    pub fn into_sets(self) -> LockSets {
        self.sets
    }

    /// Takes in the next event of a trace.
    #[inline]
    pub fn step(&mut self, thread: ThreadId, op: Op) {
        match op {
            Op::Acquire(lock) => self.change(thread, lock, |depth| depth.exclusive += 1),
            Op::AcquireShared(lock) => self.change(thread, lock, |depth| depth.shared += 1),
            Op::Release(lock) => {
                self.change(thread, lock, |depth| depth.exclusive = depth.exclusive.saturating_sub(1))
            }
            Op::ReleaseShared(lock) => {
                self.change(thread, lock, |depth| depth.shared = depth.shared.saturating_sub(1))
            }
            _ => {}
        }
    }

    fn change(&mut self, thread: ThreadId, lock: LockId, change: impl Fn(&mut Depth)) {
        let holds = slot(&mut self.threads, thread.index());
        let index = match holds.depths.iter().position(|depth| depth.lock == lock) {
            Some(index) => index,
            None => {
                holds.depths.push(Depth { lock, exclusive: 0, shared: 0 });
                holds.depths.len() - 1
            }
        };
        let depth = &mut holds.depths[index];
        change(depth);
        if depth.exclusive + depth.shared == 0 {
            holds.depths.swap_remove(index);
        }
        self.scratch.clear();
        let held = holds.depths.iter().map(|d| LockHold { lock: d.lock, exclusive: d.exclusive > 0 });
        self.scratch.extend(held);
        self.scratch.sort_unstable();
        holds.set = self.sets.intern(&self.scratch);
    }
}
