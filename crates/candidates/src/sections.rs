//! Which sections each thread has open, as sets that have a number. Sets of the same locks in the same forms share
//! it, and there are few of them in a trace.

use rustc_hash::FxHashMap;
use trace::{EventId, LockId, Op, ThreadId, Trace};

/// A set of locks held, each in one form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HeldId(u32);

/// A lock held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Hold {
    pub(crate) lock: LockId,
    pub(crate) exclusive: bool,
}

impl Hold {
    /// Whether holders of the two keep each other out.
    pub(crate) fn excludes(self, other: Hold) -> bool {
        self.lock == other.lock && (self.exclusive || other.exclusive)
    }
}

/// All sets of locks that were held by some thread.
#[derive(Debug)]
pub(crate) struct HeldSets {
    sets: Vec<Box<[Hold]>>,
    ids: FxHashMap<Box<[Hold]>, HeldId>,
}

impl Default for HeldSets {
    fn default() -> Self {
        let mut sets = HeldSets { sets: Vec::new(), ids: FxHashMap::default() };
        sets.intern(Vec::new());
        sets
    }
}

impl HeldSets {
    /// The number of a set, whatever order its holds come in.
    pub(crate) fn intern(&mut self, mut holds: Vec<Hold>) -> HeldId {
        if holds.is_empty() && !self.sets.is_empty() {
            return HeldId::default();
        }
        holds.sort_unstable();
        if let Some(&id) = self.ids.get(holds.as_slice()) {
            return id;
        }
        let id = HeldId(self.sets.len() as u32);
        self.sets.push(holds.clone().into());
        self.ids.insert(holds.into(), id);
        id
    }

    /// What is held without a break since an event, by a thread with these sections open.
    pub(crate) fn cover(&mut self, open: &[Open], since: EventId) -> HeldId {
        let sections = open.iter().filter(|section| section.acquire < since);
        self.intern(sections.map(|section| section.hold).collect())
    }

    pub(crate) fn holds(&self, id: HeldId) -> &[Hold] {
        &self.sets[id.0 as usize]
    }

    /// Whether a holder of a lock keeps out holders of a set.
    pub(crate) fn excludes_one(&self, set: HeldId, hold: Hold) -> bool {
        self.holds(set).iter().any(|&other| other.excludes(hold))
    }

    /// Whether holders of the two sets keep each other out.
    pub(crate) fn exclude(&self, a: HeldId, b: HeldId) -> bool {
        self.holds(a).iter().any(|&hold| self.excludes_one(b, hold))
    }
}

/// A section that is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) acquire: EventId,
    pub(crate) hold: Hold,
}

/// The sections each thread has open at the current point of a trace.
#[derive(Debug, Default)]
pub(crate) struct OpenSections {
    threads: Vec<Vec<Open>>,
    held: Vec<HeldId>,
}

impl OpenSections {
    pub(crate) fn new(trace: &Trace) -> Self {
        let threads = trace.symbols().threads.len();
        OpenSections { threads: vec![Vec::new(); threads], held: vec![HeldId::default(); threads] }
    }

    /// The sections of a thread, the oldest first.
    pub(crate) fn of(&self, thread: ThreadId) -> &[Open] {
        &self.threads[thread.index()]
    }

    /// The locks a thread holds.
    pub(crate) fn held(&self, thread: ThreadId) -> HeldId {
        self.held[thread.index()]
    }

    /// Takes in the next event of a trace.
    pub(crate) fn step(&mut self, trace: &Trace, event: EventId, op: Op, sets: &mut HeldSets) {
        let thread = trace.thread(event);
        let open = &mut self.threads[thread.index()];
        let section = |lock, exclusive| Open { acquire: event, hold: Hold { lock, exclusive } };
        match op {
            Op::Acquire(lock) if !trace.is_nested(event) => open.push(section(lock, true)),
            Op::AcquireShared(lock) if !trace.is_nested(event) => open.push(section(lock, false)),
            Op::Release(_) | Op::ReleaseShared(_) if !trace.is_nested(event) => {
                let acquire = trace.section_end(event);
                open.retain(|section| Some(section.acquire) != acquire);
            }
            _ => return,
        }
        self.held[thread.index()] = sets.intern(open.iter().map(|section| section.hold).collect());
    }
}
