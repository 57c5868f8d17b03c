//! Runs scripts under a schedule, as hooks and interposed functions would, and checks each step against what a naive model says.

use std::cell::{Cell, RefCell};

use wire::Waker;

use super::scripts::{self, LOCKS, Op, Random, Scripts};
use crate::schedule::time::EVENT;
use crate::schedule::{
    Chooser, End, Entry, Fixed, GaveUp, Key, NEVER, Report, Return, Room, Schedule, Slot, State,
    UnlockedView, Witness, World,
};
use wire::{Kind, PendingAccess, Policy};

/// A world without a machine.
#[derive(Default)]
pub(super) struct Stage {
    budgets: RefCell<Vec<i64>>,
    pub(super) time: Cell<u64>,
    pub(super) witness: Cell<Witness>,
    pub(super) reports: RefCell<Vec<Report>>,
    pub(super) deadlocks: Cell<u32>,
    pub(super) ended: Cell<bool>,
    pub(super) stops: Cell<u32>,
    /// The first step that a debugger waits for.
    pub(super) awaited: Cell<u64>,
}

impl World for Stage {
    fn budget(&self, thread: Slot) -> i64 {
        self.budgets.borrow()[thread.0 as usize]
    }

    fn set_budget(&self, thread: Slot, events: i64) {
        self.budgets.borrow_mut()[thread.0 as usize] = events;
    }

    fn prepare(&self, thread: Slot, _number: u32) -> bool {
        let mut budgets = self.budgets.borrow_mut();
        let length = budgets.len().max(thread.0 as usize + 1);
        budgets.resize(length, 0);
        budgets[thread.0 as usize] = 0;
        true
    }

    fn real_time(&self) -> u64 {
        self.time.set(self.time.get() + 500_000);
        self.time.get()
    }

    fn witness(&self) -> Witness {
        self.witness.get()
    }

    fn signals_may_arrive(&self) -> bool {
        false
    }

    fn switch_to(&self, _number: u32) {}

    fn deadlock(&self, _found_by: Option<Slot>) {
        self.deadlocks.set(self.deadlocks.get() + 1);
    }

    fn report(&self, report: Report) {
        self.reports.borrow_mut().push(report);
    }

    fn name_thread(&self, _thread: Slot, _name: &[u8]) {}

    fn comes_to(&self, step: u64) -> bool {
        step >= self.awaited.get()
    }

    fn stop_for_debugger(&self) {
        self.stops.set(self.stops.get() + 1);
    }

    fn end_program(&self) {
        self.ended.set(true);
    }
}

/// Room for this number of threads, for as long as the tests run.
pub(crate) fn room_for_tests(threads: usize) -> Room {
    fn memory<T: Copy>(count: usize) -> Fixed<T> {
        Fixed::new(Box::leak(Box::new_uninit_slice(count)))
    }
    Room {
        entries: memory::<Entry>(threads),
        order: memory(threads),
        free: memory(threads),
        candidates: memory(threads),
    }
}

/// What the model knows a thread to be doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    NotYet,
    /// Nothing holds it up.
    Goes,
    WantsLock(usize),
    AwaitsCondition(usize),
    /// Until this virtual time.
    Sleeps(u64),
    Joins(usize),
    Away,
    Done,
}

/// A simulated thread: where it is in its script.
#[derive(Clone, Debug)]
struct Actor {
    slot: Slot,
    at: usize,
    /// Events of the current step that are done.
    done: u32,
    /// The lock it takes again after a wait.
    retakes: Option<usize>,
    doing: Doing,
}

pub(super) struct Simulation {
    pub(super) schedule: Schedule,
    pub(super) stage: Stage,
    scripts: Scripts,
    actors: Vec<Actor>,
    owners: [Option<usize>; LOCKS],
    random: Random,
    /// Which thread performed each event.
    pub(super) events: Vec<usize>,
    /// The latest virtual time.
    latest: u64,
    /// Who gave the token up, and at which position.
    pub(super) turns: Vec<(usize, u64)>,
}

/// What a run came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    AllDone,
    Deadlock,
    /// The replay ended the program.
    Ended,
}

fn lock_key(lock: usize) -> Key {
    Key::address(0x1000 + 16 * lock as u64)
}

fn condition_key(condition: usize) -> Key {
    Key::address(0x2000 + 16 * condition as u64)
}

impl Simulation {
    pub(super) fn new(scripts: Scripts, chooser: Chooser, prepare: impl FnOnce(&mut Schedule)) -> Simulation {
        let unlocked_view = Box::leak(Box::new(UnlockedView::new()));
        let mut schedule = Schedule::empty(unlocked_view);
        schedule.set_room(room_for_tests(16));
        prepare(&mut schedule);
        let stage = Stage::default();
        let first = schedule.begin(chooser, u64::MAX, &stage).expect("there is room");
        let actors = scripts
            .iter()
            .map(|_| Actor { slot: Slot(u32::MAX), at: 0, done: 0, retakes: None, doing: Doing::NotYet })
            .collect();
        let mut simulation = Simulation {
            schedule,
            stage,
            scripts,
            actors,
            owners: [None; LOCKS],
            random: Random::new(7),
            events: Vec::new(),
            latest: 0,
            turns: Vec::new(),
        };
        simulation.actors[0].slot = first;
        simulation.actors[0].doing = Doing::Goes;
        simulation
    }

    /// Runs to the end, checking all the way.
    pub(super) fn run(&mut self) -> Outcome {
        for _ in 0..200_000 {
            self.check();
            if self.stage.ended.get() {
                return Outcome::Ended;
            }
            match self.schedule.running() {
                Some(slot) => {
                    let actor = self.actor_in(slot);
                    self.step(actor);
                }
                None if self.schedule.outside() > 0 => self.bring_one_back(),
                None => return self.conclude(),
            }
            if self.stage.deadlocks.get() > 0 && !self.stage.ended.get() {
                return self.conclude();
            }
        }
        panic!("the scripts do not come to an end");
    }

    /// The virtual time that counts.
    fn now(&self) -> u64 {
        self.schedule.unlocked_view.now()
    }

    fn actor_in(&self, slot: Slot) -> usize {
        let live = |actor: &Actor| actor.slot == slot && !matches!(actor.doing, Doing::NotYet | Doing::Done);
        self.actors.iter().position(live).expect("a thread that runs is alive")
    }

    /// Whether the thread could go on, as far as the model knows.
    fn can_go_on(&self, actor: usize) -> bool {
        match self.actors[actor].doing {
            Doing::Goes | Doing::Sleeps(_) | Doing::Away => true,
            Doing::WantsLock(lock) => self.owners[lock].is_none(),
            Doing::Joins(other) => self.actors[other].doing == Doing::Done,
            Doing::AwaitsCondition(_) | Doing::NotYet | Doing::Done => false,
        }
    }

    /// The most that time can have passed: by all events, and by all sleeps one after the other, and while nobody could run.
    fn longest_time(&self) -> u64 {
        let sleeps =
            self.scripts.iter().flatten().map(|op| if let Op::Sleep(length) = op { *length } else { 0 });
        self.events.len() as u64 * EVENT + sleeps.sum::<u64>() + self.stage.time.get()
    }

    /// Nobody runs, or the schedule found a deadlock: the model must agree.
    fn conclude(&self) -> Outcome {
        let alive = |actor: &usize| !matches!(self.actors[*actor].doing, Doing::NotYet | Doing::Done);
        let stuck: Vec<usize> = (0..self.actors.len()).filter(alive).collect();
        let movable: Vec<usize> = stuck.iter().copied().filter(|&actor| self.can_go_on(actor)).collect();
        assert_eq!(movable, [0; 0], "the run is over although threads can go on: {:?}", self.actors);
        assert_eq!(self.stage.deadlocks.get(), u32::from(!stuck.is_empty()), "{:?}", self.actors);
        if stuck.is_empty() { Outcome::AllDone } else { Outcome::Deadlock }
    }

    /// What holds after every step.
    fn check(&mut self) {
        assert!(self.now() >= self.latest, "time goes back");
        self.latest = self.now();
        assert!(self.latest <= self.longest_time(), "time passes for no reason: {:?}", self.actors);
        let running: Vec<Slot> = self
            .schedule
            .threads()
            .iter()
            .copied()
            .filter(|&slot| self.schedule.state(slot) == State::Running)
            .collect();
        assert_eq!(running, Vec::from_iter(self.schedule.running()), "one holder, or none");
        for (index, actor) in self.actors.iter().enumerate() {
            let state = match actor.doing {
                Doing::NotYet | Doing::Done => continue,
                _ => self.schedule.state(actor.slot),
            };
            match actor.doing {
                // No wake-up is lost: who waits for a lock does so while somebody has it.
                Doing::WantsLock(_) | Doing::Joins(_) if state == State::Waiting => {
                    assert!(
                        !self.can_go_on(index),
                        "thread {index} sleeps over a wake-up: {:?}",
                        self.actors
                    );
                }
                Doing::AwaitsCondition(_) => assert_eq!(state, State::Waiting),
                Doing::Away => assert_eq!(state, State::Outside),
                Doing::Goes => assert!(matches!(state, State::Ready | State::Running), "{state:?}"),
                _ => {}
            }
        }
    }

    /// A call outside has returned.
    fn bring_one_back(&mut self) {
        let away: Vec<usize> =
            (0..self.actors.len()).filter(|&actor| self.actors[actor].doing == Doing::Away).collect();
        let actor = away[self.random.below(away.len() as u64) as usize];
        self.actors[actor].doing = Doing::Goes;
        let found = self.schedule.come_back(self.actors[actor].slot, &self.stage);
        assert_ne!(found, Return::WasHere);
    }

    /// One event, unless the thread's time is over.
    fn event(&mut self, actor: usize) {
        let slot = self.actors[actor].slot;
        self.stage.set_budget(slot, self.stage.budget(slot) - 1);
        self.events.push(actor);
    }

    fn give_up(&mut self, actor: usize, gave_up: GaveUp) {
        let slot = self.actors[actor].slot;
        self.turns.push((actor, self.schedule.entries.position(slot, &self.stage)));
        self.schedule.give_up(slot, gave_up, &self.stage);
    }

    fn wait(&mut self, actor: usize, key: Key, end: End) {
        let slot = self.actors[actor].slot;
        self.schedule.count(slot, &self.stage);
        self.schedule.wait(slot, key, end);
        self.give_up(actor, GaveUp::Willingly);
    }

    fn unlock(&mut self, lock: usize) {
        self.owners[lock] = None;
        self.schedule.wake_all(lock_key(lock), Waker::Signal);
    }

    /// The holder of the token does a step of its script.
    fn step(&mut self, actor: usize) {
        let slot = self.actors[actor].slot;
        // Who got the token in a wait for time has slept.
        self.schedule.resume(slot);
        if let Doing::Sleeps(end) = self.actors[actor].doing {
            assert!(self.now() >= end, "thread {actor} goes on before its time: {:?}", self.actors);
            self.actors[actor].doing = Doing::Goes;
            self.actors[actor].at += 1;
        }
        if self.stage.budget(slot) <= 0 {
            self.schedule.count(slot, &self.stage);
            let pending = PendingAccess { kind: Kind::ALL[0], address: actor as u64, length: 1, pc: 1 };
            self.schedule.stop_before(slot, pending, &self.stage);
            if !self.schedule.goes_on(slot, &self.stage) {
                self.give_up(actor, GaveUp::Quantum);
                if self.schedule.running() != Some(slot) {
                    return;
                }
            }
            if self.stage.budget(slot) <= 0 {
                return;
            }
        }
        self.actors[actor].doing = Doing::Goes;
        let Some(&op) = self.scripts[actor].get(self.actors[actor].at) else { return self.finish(actor) };
        if self.perform(actor, op) {
            self.actors[actor].at += 1;
            self.actors[actor].done = 0;
        }
    }

    /// Performs a step, or a part of it; whether it is done.
    fn perform(&mut self, actor: usize, op: Op) -> bool {
        match op {
            Op::Work(events) => {
                self.event(actor);
                self.actors[actor].done += 1;
                return self.actors[actor].done == events;
            }
            Op::Lock(lock) => return self.lock(actor, lock),
            Op::Unlock(lock) => {
                self.event(actor);
                self.unlock(lock);
            }
            Op::Wait { condition, lock } => return self.wait_for(actor, condition, lock),
            Op::NotifyOne(condition) => {
                self.event(actor);
                self.schedule.wake_one(condition_key(condition), Waker::Signal);
                self.learn_who_was_woken();
            }
            Op::NotifyAll(condition) => {
                self.event(actor);
                self.schedule.wake_all(condition_key(condition), Waker::Broadcast);
                self.learn_who_was_woken();
            }
            Op::Sleep(length) => {
                let end = self.schedule.now(self.actors[actor].slot, &self.stage) + length;
                self.actors[actor].doing = Doing::Sleeps(end);
                self.wait(actor, Key::NONE, End { virtual_time: end, real_time: end });
                // Its step is done when it has the token again.
                return false;
            }
            Op::CallOut => {
                self.actors[actor].doing = Doing::Away;
                let slot = self.actors[actor].slot;
                self.schedule.count(slot, &self.stage);
                self.schedule.leave(slot, NEVER);
                self.give_up(actor, GaveUp::Willingly);
            }
            Op::Yield => {
                self.schedule.count(self.actors[actor].slot, &self.stage);
                self.give_up(actor, GaveUp::Yielding);
            }
            Op::Spawn(child) => {
                self.event(actor);
                let slot = self.schedule.add(&self.stage).expect("there is room");
                self.actors[child].slot = slot;
                self.actors[child].doing = Doing::Goes;
                self.schedule.created(self.actors[actor].slot, slot);
                self.schedule.give_budget(self.actors[actor].slot, &self.stage);
                if self.schedule.begins_at_once(slot, self.actors[actor].slot) {
                    self.schedule.count(self.actors[actor].slot, &self.stage);
                    self.give_up(actor, GaveUp::ToANewThread);
                }
            }
            Op::Join(other) => {
                if self.actors[other].doing != Doing::Done {
                    self.actors[actor].doing = Doing::Joins(other);
                    self.wait(actor, Key::end_of(self.actors[other].slot), End::NEVER);
                    return false;
                }
                self.event(actor);
                self.schedule.forget(self.actors[other].slot);
            }
        }
        true
    }

    fn lock(&mut self, actor: usize, lock: usize) -> bool {
        if self.owners[lock].is_some() {
            self.actors[actor].doing = Doing::WantsLock(lock);
            self.wait(actor, lock_key(lock), End::NEVER);
            return false;
        }
        self.event(actor);
        self.owners[lock] = Some(actor);
        true
    }

    fn wait_for(&mut self, actor: usize, condition: usize, lock: usize) -> bool {
        if self.actors[actor].retakes.is_some() {
            let taken = self.lock(actor, lock);
            if taken {
                self.actors[actor].retakes = None;
            }
            return taken;
        }
        self.event(actor);
        self.unlock(lock);
        self.actors[actor].retakes = Some(lock);
        self.actors[actor].doing = Doing::AwaitsCondition(condition);
        self.wait(actor, condition_key(condition), End::NEVER);
        false
    }

    /// Which waiters of conditions a wake-up reached is the schedule's choice.
    fn learn_who_was_woken(&mut self) {
        for actor in &mut self.actors {
            if let Doing::AwaitsCondition(_) = actor.doing
                && self.schedule.state(actor.slot) == State::Ready
            {
                actor.doing = Doing::Goes;
            }
        }
    }

    fn finish(&mut self, actor: usize) {
        let slot = self.actors[actor].slot;
        self.event(actor);
        self.turns.push((actor, self.schedule.entries.position(slot, &self.stage)));
        self.actors[actor].doing = Doing::Done;
        self.schedule.count(slot, &self.stage);
        self.schedule.wake_all(Key::end_of(slot), Waker::Signal);
        self.schedule.finish(slot, false, &self.stage);
    }
}

const POLICIES: [Policy; 4] = [Policy::Random, Policy::Pct, Policy::RoundRobin, Policy::Os];

fn simulate(scripts: u64, policy: Policy, seed: u64) -> (Outcome, Vec<usize>) {
    let chooser = Chooser::new(policy, seed, 1 + seed % 7);
    let mut simulation = Simulation::new(scripts::random(scripts), chooser, |_| ());
    let outcome = simulation.run();
    assert_eq!(simulation.schedule.events(), simulation.events.len() as u64, "every event is counted");
    (outcome, simulation.events)
}

#[test]
fn random_scripts_agree_with_the_model() {
    let (mut done, mut dead) = (0, 0);
    for scripts in 0..1500 {
        for policy in POLICIES {
            match simulate(scripts, policy, scripts % 5).0 {
                Outcome::AllDone => done += 1,
                Outcome::Deadlock => dead += 1,
                Outcome::Ended => unreachable!("no replay"),
            }
        }
    }
    assert!(done > 500 && dead > 500, "both kinds of runs are met: {done} {dead}");
}

#[test]
fn the_same_seed_decides_the_same() {
    for scripts in 0..300 {
        for policy in [Policy::Random, Policy::Pct, Policy::RoundRobin] {
            assert_eq!(simulate(scripts, policy, 3), simulate(scripts, policy, 3));
        }
    }
}

#[test]
fn seeds_differ() {
    let scripts = vec![
        [Op::Spawn(1), Op::Spawn(2)].into_iter().chain([Op::Work(200)]).collect(),
        vec![Op::Work(200)],
        vec![Op::Work(200)],
    ];
    let events = |seed| {
        let chooser = Chooser::new(Policy::Random, seed, 5);
        let mut simulation = Simulation::new(scripts.clone(), chooser, |_| ());
        assert_eq!(simulation.run(), Outcome::AllDone);
        simulation.events
    };
    let runs: Vec<Vec<usize>> = (0..20).map(events).collect();
    for (index, run) in runs.iter().enumerate() {
        assert!(!runs[..index].contains(run), "seed {index} repeats another's run");
    }
}

#[test]
fn a_lock_cycle_is_a_deadlock_exactly_if_it_closes() {
    let cross =
        |first, second| vec![Op::Lock(first), Op::Lock(second), Op::Unlock(second), Op::Unlock(first)];
    let mut scripts = vec![vec![Op::Spawn(1)], cross(1, 0)];
    scripts[0].extend(cross(0, 1));
    let mut outcomes = Vec::new();
    for seed in 0..50 {
        let chooser = Chooser::new(Policy::Random, seed, 1);
        outcomes.push(Simulation::new(scripts.clone(), chooser, |_| ()).run());
    }
    assert!(outcomes.contains(&Outcome::AllDone) && outcomes.contains(&Outcome::Deadlock));
}
