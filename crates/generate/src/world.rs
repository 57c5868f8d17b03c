//! The world the threads of a random program live in: who holds what, who waits for what, and what
//! is therefore possible. Everything here is bounded by the number of objects and threads.

use trace::{BarrierId, ConditionId, LockId, RegionId, SemaphoreId, ThreadId};

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Exclusive,
    Shared,
}

/// One acquire that was not yet released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) lock: LockId,
    pub(crate) form: Form,
}

/// What a thread has set out to do and will do as soon as it is possible.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Intent {
    Acquire(Hold),
    /// Be woken, and take the lock again that was given up for it.
    Wake(ConditionId, Option<LockId>),
    /// Leave a barrier once its generation is over.
    Leave(BarrierId, u64),
    Take(SemaphoreId),
    Join(ThreadId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its fork is yet to come.
    Unforked,
    Running,
    /// It closes what it has open.
    Closing,
    Done,
}

#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) stage: Stage,
    pub(crate) intent: Option<Intent>,
    pub(crate) holds: Vec<Hold>,
    pub(crate) regions: Vec<RegionId>,
    /// It has been woken from the condition it waits for.
    pub(crate) woken: bool,
    /// Its begin is its next event.
    pub(crate) to_begin: bool,
    /// An end will be its last event.
    pub(crate) to_end: bool,
    /// It ends without closing its sections.
    pub(crate) abandons: bool,
    /// The threads it forked and did not yet join, as a list: the last, and the one before each.
    pub(crate) last_child: Option<ThreadId>,
    pub(crate) previous_sibling: Option<ThreadId>,
}

impl Thread {
    pub(crate) fn holds_lock(&self, lock: LockId) -> bool {
        self.holds.iter().any(|hold| hold.lock == lock)
    }

    pub(crate) fn depth(&self, hold: Hold) -> usize {
        self.holds.iter().filter(|&&other| other == hold).count()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Lock {
    owner: Option<ThreadId>,
    readers: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    generation: u64,
    arrived: u32,
    parties: u32,
}

/// All threads and objects.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) threads: Vec<Thread>,
    locks: Vec<Lock>,
    waiting: Vec<Vec<ThreadId>>,
    barriers: Vec<Barrier>,
    permits: Vec<u64>,
    /// How many events it takes at most to close all sections and regions, leave all barriers, and
    /// begin, end and join all threads.
    pub(crate) owed: u64,
}

impl World {
    pub(crate) fn new(
        threads: Vec<Thread>,
        locks: u32,
        conditions: u32,
        barriers: u32,
        permits: &[u32],
    ) -> World {
        World {
            threads,
            locks: vec![Lock::default(); locks as usize],
            waiting: vec![Vec::new(); conditions as usize],
            barriers: vec![Barrier::default(); barriers as usize],
            permits: permits.iter().copied().map(u64::from).collect(),
            owed: 0,
        }
    }

    /// The thread runs from now on.
    pub(crate) fn start(&mut self, thread: ThreadId) {
        let state = self.thread(thread);
        state.stage = Stage::Running;
        self.owed += u64::from(state.to_begin) + u64::from(state.to_end);
    }

    #[inline]
    pub(crate) fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        &mut self.threads[thread.index()]
    }

    /// Whether the thread could do this now.
    pub(crate) fn is_possible(&self, thread: ThreadId, intent: Intent) -> bool {
        match intent {
            Intent::Acquire(hold) => self.is_free(thread, hold),
            Intent::Wake(..) => self.threads[thread.index()].woken,
            Intent::Leave(barrier, generation) => self.barriers[barrier.index()].generation > generation,
            Intent::Take(semaphore) => self.permits[semaphore.index()] > 0,
            Intent::Join(child) => self.threads[child.index()].stage == Stage::Done,
        }
    }

    fn is_free(&self, thread: ThreadId, hold: Hold) -> bool {
        let lock = self.locks[hold.lock.index()];
        if lock.owner.is_some_and(|owner| owner != thread) {
            return false;
        }
        let shared = Hold { lock: hold.lock, form: Form::Shared };
        hold.form == Form::Shared
            || lock.readers == 0
            || lock.readers == u32::from(self.threads[thread.index()].depth(shared) > 0)
    }

    pub(crate) fn acquire(&mut self, thread: ThreadId, hold: Hold) {
        let outermost = self.threads[thread.index()].depth(hold) == 0;
        let lock = &mut self.locks[hold.lock.index()];
        match hold.form {
            Form::Exclusive => lock.owner = Some(thread),
            Form::Shared => lock.readers += u32::from(outermost),
        }
        self.thread(thread).holds.push(hold);
        self.owed += 1;
    }

    /// Releases the hold at this place.
    pub(crate) fn release(&mut self, thread: ThreadId, place: usize) -> Hold {
        let hold = self.thread(thread).holds.remove(place);
        if self.threads[thread.index()].depth(hold) == 0 {
            let lock = &mut self.locks[hold.lock.index()];
            match hold.form {
                Form::Exclusive => lock.owner = None,
                Form::Shared => lock.readers -= 1,
            }
        }
        self.owed -= 1;
        hold
    }

    pub(crate) fn start_waiting(&mut self, thread: ThreadId, condition: ConditionId) {
        self.thread(thread).woken = false;
        self.waiting[condition.index()].push(thread);
    }

    pub(crate) fn stop_waiting(&mut self, thread: ThreadId, condition: ConditionId) {
        self.waiting[condition.index()].retain(|&other| other != thread);
    }

    /// Wakes one; which one is for `pick` to say, given how many there are.
    pub(crate) fn signal(&mut self, condition: ConditionId, pick: impl FnOnce(u32) -> u32) {
        let waiting = &mut self.waiting[condition.index()];
        if !waiting.is_empty() {
            let woken = waiting.swap_remove(pick(waiting.len() as u32) as usize);
            self.thread(woken).woken = true;
        }
    }

    pub(crate) fn broadcast(&mut self, condition: ConditionId) {
        for woken in std::mem::take(&mut self.waiting[condition.index()]) {
            self.thread(woken).woken = true;
        }
    }

    /// Enters a barrier, for as many as `parties` says if it is the first; returns the generation.
    pub(crate) fn enter(&mut self, barrier: BarrierId, parties: impl FnOnce() -> u32) -> u64 {
        let b = &mut self.barriers[barrier.index()];
        if b.arrived == 0 {
            b.parties = parties();
        }
        b.arrived += 1;
        let generation = b.generation;
        if b.arrived >= b.parties {
            self.open_barrier(barrier);
        }
        generation
    }

    /// Lets go all who entered.
    pub(crate) fn open_barrier(&mut self, barrier: BarrierId) {
        let b = &mut self.barriers[barrier.index()];
        b.generation += 1;
        b.arrived = 0;
    }

    pub(crate) fn post(&mut self, semaphore: SemaphoreId) {
        self.permits[semaphore.index()] += 1;
    }

    pub(crate) fn take(&mut self, semaphore: SemaphoreId) {
        self.permits[semaphore.index()] -= 1;
    }
}
