//! A random program run by a random scheduler, one event at a time. Threads make up their program as
//! they go; what one has set out to do it does as soon as it can, however long that takes.
//!
//! Every prefix is a run that can have happened. Memory is bounded by the number of threads and
//! objects, time by a few random numbers an event.

use trace::{BarrierId, BlockId, ConditionId, LocationId, MarkId, Op, RegionId, SemaphoreId, ThreadId};

use crate::rng::{Alias, Chance, Rng};
use crate::settings::{AtStandstill, Choice, Ending, SettingsError, TraceSettings};
use crate::world::{Form, Hold, Intent, Stage, Thread, World};

/// One event of the run. Ids are dense, below the counts of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who acts.
    pub thread: ThreadId,
    /// What it does.
    pub op: Op,
    /// Where in the made-up source.
    pub location: LocationId,
}

/// The events of a random run, in order.
#[derive(Clone, Debug)]
pub struct Generator {
    pub(crate) settings: TraceSettings,
    pub(crate) chances: Chances,
    pub(crate) rng: Rng,
    choices: Option<Alias>,
    pub(crate) accesses: Option<Alias>,
    pub(crate) world: World,
    declared: Vec<Option<u32>>,
    allocated: Vec<bool>,
    /// The threads that run, and whose turn it is.
    alive: Vec<ThreadId>,
    turn: usize,
    next_to_fork: u32,
    emitted: u64,
    winding_down: bool,
    /// The thread in turn has just given up what it could not do.
    gave_up: bool,
}

/// The result of a choice.
pub(crate) enum ChoiceOutcome {
    Did(Op),
    /// The thread has set out to do something it cannot do yet, or is about to end.
    Later,
    /// It makes no sense here.
    Senseless,
}

/// How often a thread chooses again before it makes an access instead.
const CHOICES: usize = 4;

/// The settings' probabilities, ready for use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chances {
    pub(crate) fork: Chance,
    pub(crate) idle: Chance,
    pub(crate) requests: Chance,
    pub(crate) inversions: Chance,
    pub(crate) spurious: Chance,
    pub(crate) disciplined: Chance,
    pub(crate) skew: Chance,
    pub(crate) switch: Chance,
    pub(crate) uninterrupted: Chance,
}

impl Generator {
    /// Ready to run.
    pub fn new(settings: &TraceSettings) -> Result<Generator, SettingsError> {
        settings.validate()?;
        let s = settings;
        let mut rng = Rng::new(s.seed);
        let threads: Vec<Thread> = (0..s.threads).map(|index| new_thread(index, s, &mut rng)).collect();
        let permits: Vec<u32> = (0..s.semaphores).map(|_| rng.below(3)).collect();
        let declared = permits.iter().map(|&count| rng.chance(s.declared.into()).then_some(count)).collect();
        let runs = |index: &u32| threads[*index as usize].stage == Stage::Running;
        let alive: Vec<ThreadId> = (0..s.threads).filter(runs).map(ThreadId).collect();
        let mut world = World::new(threads, s.locks, s.conditions, s.barriers, &permits);
        alive.iter().for_each(|&thread| world.start(thread));
        let w = &s.weights;
        Ok(Generator {
            chances: Chances {
                fork: s.fork.into(),
                idle: s.idle.into(),
                requests: s.requests.into(),
                inversions: s.inversions.into(),
                spurious: s.spurious.into(),
                disciplined: s.disciplined.into(),
                skew: s.skew.into(),
                switch: s.switch.into(),
                uninterrupted: s.uninterrupted.into(),
            },
            choices: Alias::new(&w.in_order()),
            accesses: Alias::new(&[w.read, w.write, w.atomic_read, w.atomic_write, w.atomic_update]),
            world,
            declared,
            // Some memory was allocated before the recording began.
            allocated: (0..s.blocks).map(|_| rng.below(4) == 0).collect(),
            alive,
            turn: 0,
            next_to_fork: 0,
            emitted: 0,
            winding_down: false,
            gave_up: false,
            rng,
            settings: settings.clone(),
        })
    }

    /// For each semaphore, the permits it is declared with.
    pub fn declared_permits(&self) -> &[Option<u32>] {
        &self.declared
    }

    /// Whose turn it is; `None` if nobody can go on.
    #[inline]
    fn schedule(&mut self) -> Option<ThreadId> {
        if self.turn >= self.alive.len() || self.rng.chance(self.chances.switch) && self.may_interrupt() {
            self.turn = self.rng.below(self.alive.len() as u32) as usize;
        }
        for _ in 0..self.alive.len() {
            if self.can_move(self.alive[self.turn]) {
                return Some(self.alive[self.turn]);
            }
            self.turn = if self.turn + 1 < self.alive.len() { self.turn + 1 } else { 0 };
        }
        let thread = *self.alive.get(self.turn)?;
        match self.settings.stuck {
            AtStandstill::Stop => None,
            AtStandstill::GiveUp => {
                self.give_up(thread);
                self.gave_up = true;
                Some(thread)
            }
        }
    }

    fn may_interrupt(&mut self) -> bool {
        let thread = self.alive[self.turn];
        self.world.thread(thread).holds.is_empty() || !self.rng.chance(self.chances.uninterrupted)
    }

    #[inline]
    fn can_move(&self, thread: ThreadId) -> bool {
        let state = &self.world.threads[thread.index()];
        if self.winding_down {
            // The first thread is the last to go.
            let others = self.alive.len() > 1;
            if thread.0 == 0 && others {
                return false;
            }
            if state.stage == Stage::Running {
                return true;
            }
        }
        state.intent.is_none_or(|intent| self.world.is_possible(thread, intent))
    }

    /// Makes the thread able to move by dropping what it cannot do.
    fn give_up(&mut self, thread: ThreadId) {
        match self.world.thread(thread).intent {
            None => {}
            Some(Intent::Leave(barrier, _)) => self.world.open_barrier(barrier),
            Some(Intent::Wake(condition, _)) => {
                self.world.stop_waiting(thread, condition);
                self.world.thread(thread).intent = None;
            }
            Some(Intent::Acquire(_) | Intent::Take(_) | Intent::Join(_)) => {
                self.world.thread(thread).intent = None;
            }
        }
    }

    /// What the thread does; `None` if it is stuck now, or done.
    #[inline]
    fn act(&mut self, thread: ThreadId) -> Option<Op> {
        let state = &mut self.world.threads[thread.index()];
        if std::mem::take(&mut state.to_begin) {
            self.world.owed -= 1;
            return Some(Op::Begin);
        }
        if self.winding_down && state.stage == Stage::Running {
            state.stage = Stage::Closing;
            self.give_up(thread);
        }
        let state = &mut self.world.threads[thread.index()];
        if let Some(intent) = state.intent.take() {
            return Some(self.perform(thread, intent));
        }
        if state.stage == Stage::Closing {
            return self.close(thread);
        }
        if std::mem::take(&mut self.gave_up) {
            // Not to be stuck again at once.
            return Some(self.access(thread));
        }
        if self.next_to_fork < self.settings.threads
            && let Some(fork) = self.fork(thread)
        {
            return Some(fork);
        }
        for _ in 0..CHOICES {
            let Some(choices) = &self.choices else { break };
            let choice = Choice::ALL[choices.draw(&mut self.rng)];
            match self.choose(thread, choice) {
                ChoiceOutcome::Did(op) => return Some(op),
                ChoiceOutcome::Later => return None,
                ChoiceOutcome::Senseless => {}
            }
        }
        Some(self.access(thread))
    }

    /// Does what was set out to do, now that it is possible.
    pub(crate) fn perform(&mut self, thread: ThreadId, intent: Intent) -> Op {
        match intent {
            Intent::Acquire(hold) => {
                self.world.acquire(thread, hold);
                match hold.form {
                    Form::Exclusive => Op::Acquire(hold.lock),
                    Form::Shared => Op::AcquireShared(hold.lock),
                }
            }
            Intent::Wake(condition, lock) => {
                let hold = lock.map(|lock| Hold { lock, form: Form::Exclusive });
                self.world.thread(thread).intent = hold.map(Intent::Acquire);
                Op::Wait(condition)
            }
            Intent::Leave(barrier, _) => {
                self.world.owed -= 1;
                Op::BarrierExit(barrier)
            }
            Intent::Take(semaphore) => {
                self.world.take(semaphore);
                Op::Take(semaphore)
            }
            Intent::Join(child) => Op::Join(child),
        }
    }

    /// Does it now or, if that is not possible, later.
    pub(crate) fn set_out(&mut self, thread: ThreadId, intent: Intent) -> ChoiceOutcome {
        if self.world.is_possible(thread, intent) {
            return ChoiceOutcome::Did(self.perform(thread, intent));
        }
        self.world.thread(thread).intent = Some(intent);
        ChoiceOutcome::Later
    }

    /// One step of a thread towards its end.
    fn close(&mut self, thread: ThreadId) -> Option<Op> {
        let is_last = self.winding_down && thread.0 == 0;
        let state = self.world.thread(thread);
        let Thread { to_end, abandons, .. } = *state;
        if !abandons {
            if let Some(region) = state.regions.pop() {
                self.world.owed -= 1;
                return Some(Op::RegionEnd(region));
            }
            if let Some(last) = state.holds.len().checked_sub(1) {
                return Some(self.release(thread, last));
            }
            if self.settings.ending == Ending::WindDown
                && let Some(child) = state.last_child
            {
                let previous = self.world.threads[child.index()].previous_sibling;
                self.world.thread(thread).last_child = previous;
                self.world.owed -= 1;
                return match self.set_out(thread, Intent::Join(child)) {
                    ChoiceOutcome::Did(join) => Some(join),
                    ChoiceOutcome::Later | ChoiceOutcome::Senseless => None,
                };
            }
        }
        if is_last && !abandons && self.emitted + u64::from(to_end) < self.settings.events {
            return Some(self.access(thread));
        }
        self.world.thread(thread).stage = Stage::Done;
        self.world.owed -= u64::from(to_end);
        // A thread acts only in its turn.
        self.alive.swap_remove(self.turn);
        to_end.then_some(Op::End)
    }

    #[cold]
    fn fork(&mut self, parent: ThreadId) -> Option<Op> {
        while self.world.threads.get(self.next_to_fork as usize)?.stage != Stage::Unforked {
            self.next_to_fork += 1;
        }
        if !self.rng.chance(self.chances.fork) {
            return None;
        }
        let child = ThreadId(self.next_to_fork);
        self.next_to_fork += 1;
        let previous = self.world.thread(parent).last_child.replace(child);
        self.world.thread(child).previous_sibling = previous;
        self.world.owed += 1;
        if self.rng.chance(self.chances.idle) {
            self.world.thread(child).stage = Stage::Done;
        } else {
            self.world.start(child);
            self.alive.push(child);
        }
        Some(Op::Fork(child))
    }

    /// Follows a choice.
    #[inline]
    fn choose(&mut self, thread: ThreadId, choice: Choice) -> ChoiceOutcome {
        let s = &self.settings;
        let op = match choice {
            Choice::Read
            | Choice::Write
            | Choice::AtomicRead
            | Choice::AtomicWrite
            | Choice::AtomicUpdate => Some(self.access_as(thread, choice)),
            Choice::Release => self.release_any(thread),
            Choice::Acquire => return self.acquire(thread, Form::Exclusive),
            Choice::AcquireShared => return self.acquire(thread, Form::Shared),
            Choice::Reacquire => return self.reacquire(thread),
            Choice::Wait if s.conditions > 0 => return self.wait(thread),
            Choice::Take if s.semaphores > 0 => {
                let semaphore = SemaphoreId(self.rng.below(s.semaphores));
                return self.set_out(thread, Intent::Take(semaphore));
            }
            Choice::Join => return self.join(thread),
            Choice::End => {
                self.world.thread(thread).stage = Stage::Closing;
                return ChoiceOutcome::Later;
            }
            _ => self.choose_rare(thread, choice),
        };
        op.map_or(ChoiceOutcome::Senseless, ChoiceOutcome::Did)
    }

    /// The choices that never block and are rare in most runs.
    fn choose_rare(&mut self, thread: ThreadId, choice: Choice) -> Option<Op> {
        let s = &self.settings;
        let below = |rng: &mut Rng, count: u32| (count > 0).then(|| rng.below(count));
        let rng = &mut self.rng;
        Some(match choice {
            Choice::Signal => {
                let condition = ConditionId(below(rng, s.conditions)?);
                self.world.signal(condition, |waiting| rng.below(waiting));
                Op::Signal(condition)
            }
            Choice::Broadcast => {
                let condition = ConditionId(below(rng, s.conditions)?);
                self.world.broadcast(condition);
                Op::Broadcast(condition)
            }
            Choice::Barrier => {
                let barrier = BarrierId(below(rng, s.barriers)?);
                let most = self.alive.len().clamp(2, 8) as u32;
                let generation = self.world.enter(barrier, || rng.between(2, most));
                self.world.thread(thread).intent = Some(Intent::Leave(barrier, generation));
                self.world.owed += 1;
                Op::BarrierEnter(barrier)
            }
            Choice::Post => {
                let semaphore = SemaphoreId(below(rng, s.semaphores)?);
                self.world.post(semaphore);
                Op::Post(semaphore)
            }
            Choice::Allocate => Op::Allocate(self.block(false)?),
            Choice::Free => Op::Free(self.block(true)?),
            Choice::Branch => Op::Branch(rng.below(4)),
            Choice::Mark => Op::Mark(MarkId(below(rng, s.marks)?)),
            Choice::RegionBegin => {
                let region = RegionId(below(rng, s.regions)?);
                let open = &mut self.world.threads[thread.index()].regions;
                if open.len() >= s.nesting as usize {
                    return None;
                }
                open.push(region);
                self.world.owed += 1;
                Op::RegionBegin(region)
            }
            Choice::RegionEnd => {
                let region = self.world.thread(thread).regions.pop()?;
                self.world.owed -= 1;
                Op::RegionEnd(region)
            }
            Choice::Fence => Op::Fence,
            // Without an object of its kind.
            _ => return None,
        })
    }

    /// Turns a block that is allocated, or one that is not, into the other.
    fn block(&mut self, is_allocated: bool) -> Option<BlockId> {
        let block = self.rng.below(self.settings.blocks) as usize;
        let state = self.allocated.get_mut(block).filter(|state| **state == is_allocated)?;
        *state = !is_allocated;
        Some(BlockId::new(block))
    }

    fn join(&mut self, thread: ThreadId) -> ChoiceOutcome {
        let child = ThreadId(self.rng.below(self.settings.threads));
        let may_join = match self.world.threads[child.index()].stage {
            Stage::Done => child != thread,
            Stage::Running | Stage::Closing => child != thread && self.settings.stuck == AtStandstill::Stop,
            Stage::Unforked => false,
        };
        if may_join { self.set_out(thread, Intent::Join(child)) } else { ChoiceOutcome::Senseless }
    }
}

impl Iterator for Generator {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        while self.emitted < self.settings.events {
            // An event owes three more at most: a fork, that its child begins, ends and is joined.
            let soon = self.emitted + self.world.owed + 4;
            if soon >= self.settings.events && self.settings.ending == Ending::WindDown {
                self.winding_down = true;
            }
            let thread = self.schedule()?;
            if let Some(op) = self.act(thread) {
                self.emitted += 1;
                return Some(Event { thread, op, location: self.location(op) });
            }
        }
        None
    }
}

fn new_thread(index: u32, settings: &TraceSettings, rng: &mut Rng) -> Thread {
    let is_forked = index > 0 && rng.chance(settings.forked.into());
    let is_begun = rng.chance(settings.begun.into());
    let abandons = rng.chance(settings.abandoned.into());
    Thread {
        stage: if is_forked { Stage::Unforked } else { Stage::Running },
        intent: None,
        holds: Vec::new(),
        regions: Vec::new(),
        woken: false,
        to_begin: is_begun,
        to_end: is_begun && !abandons,
        abandons,
        last_child: None,
        previous_sibling: None,
    }
}
