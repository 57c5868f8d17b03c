//! Following a replay's instructions: they say which thread runs how far, and the schedule asks here instead of choosing.
//!
//! While instructions are followed exactly one thread may run: the one of the current instruction, with a budget that ends where the
//! instruction does. So only positions matter on the way; whether the events at those positions are what they were in the recording is for
//! the launcher to see, from the log, which a replay writes like any recording.

use wire::{Instruction, MemoryRange, Obstacle, OnDivergence, Origin, OutcomeRecord, WaitsFor};

use super::{Entries, Fixed, Key, NEVER, Slot, State, World};
use crate::replay::Control;

/// The longest stretch a thread runs without the schedule's being asked.
const LONGEST: u64 = 1 << 20;

/// How many events a thread may perform between its attempt to get a futex lock and its wait for it: code that is not optimised keeps the
/// result of the attempt on its stack.
const ON_THE_WAY: u64 = 32;

/// How often others may run while a thread is outside.
const MOST_HELPED: u32 = 1 << 10;

/// The state of a thread of the table.
#[derive(Clone, Copy)]
pub(crate) enum Actor {
    /// It is not created yet.
    NotYet,
    Lives(Slot),
    /// It has ended at this position.
    Ended(u64),
}

/// Whether there are instructions to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Off,
    Following,
    Free,
}

/// What the schedule is to do.
pub(super) enum Next {
    /// This thread runs, and no other.
    Run(Slot),
    /// Nobody runs: the thread whose turn it is is in a call outside.
    Await,
    /// The policy chooses.
    Choose,
    /// The instructions end here: the thread that ran last goes on if it can, else the policy chooses.
    GoOn,
}

/// Something about a replay that its user is to learn. What memory holds is read when it is written.
pub(crate) type Report = OutcomeRecord<MemoryRange>;

/// The replay of this process.
pub(crate) struct Replay {
    phase: Phase,
    control: Control,
    actors: Fixed<Actor>,
    watched: Fixed<MemoryRange>,
    /// The current instruction.
    at: usize,
    /// How often others ran while the thread of the current instruction was outside.
    helped: u32,
}

impl Replay {
    /// No replay.
    pub(crate) const fn off() -> Replay {
        Replay {
            phase: Phase::Off,
            control: Control::NONE,
            actors: Fixed::EMPTY,
            watched: Fixed::EMPTY,
            at: 0,
            helped: 0,
        }
    }

    /// Instructions to follow, and memory for as many threads as their table has.
    pub(crate) fn new(control: Control, mut actors: Fixed<Actor>, mut watched: Fixed<MemoryRange>) -> Replay {
        for _ in control.origins {
            actors.push(Actor::NotYet);
            watched.push(MemoryRange { address: 0, length: 0 });
        }
        Replay { phase: Phase::Following, control, actors, watched, at: 0, helped: 0 }
    }

    pub(super) fn forget(&mut self) {
        self.phase = Phase::Off;
    }

    /// Whether this process is a replay, also after its instructions.
    pub(super) fn is_on(&self) -> bool {
        self.phase != Phase::Off
    }

    /// Whether instructions are being followed.
    pub(crate) fn is_following(&self) -> bool {
        self.phase == Phase::Following
    }

    /// The program's first thread.
    pub(super) fn begin(&mut self, first: Slot, entries: &mut Entries) {
        self.take_part(first, None, 0, entries);
    }

    /// A thread has created another.
    pub(super) fn created(&mut self, parent: Slot, child: Slot, entries: &mut Entries) {
        entries[parent].children += 1;
        if let Some(role) = entries[parent].role {
            self.take_part(child, Some(role), entries[parent].children, entries);
        }
    }

    fn take_part(&mut self, thread: Slot, parent: Option<u32>, nth: u32, entries: &mut Entries) {
        let mut origins = self.control.origins.iter();
        if let Some(role) = origins.position(|&origin| origin == Origin { parent, nth }) {
            entries[thread].role = Some(role as u32);
            self.actors[role] = Actor::Lives(thread);
        }
    }

    /// A thread has performed its last event.
    pub(super) fn ended(&mut self, thread: Slot, entries: &Entries, world: &impl World) {
        if let Some(role) = entries[thread].role
            && let Some(actor) = self.actors.get_mut(role as usize)
        {
            *actor = Actor::Ended(entries.position(thread, world));
        }
    }

    /// How many events the thread may perform now; none if that is not ours to say.
    pub(super) fn budget(&self, thread: Slot, entries: &Entries, world: &impl World) -> Option<i64> {
        if !self.is_following() {
            return None;
        }
        let own = entries[thread].role;
        let until = match self.control.instructions.get(self.at) {
            Some(&Instruction::Run { thread: role, until }) if own == Some(role) => until,
            // If it gets that far it has not been held up.
            Some(&Instruction::Block { thread: role, before }) if own == Some(role) => {
                before.saturating_add(1 + ON_THE_WAY)
            }
            _ => 0,
        };
        Some(until.saturating_sub(entries.position(thread, world)).min(LONGEST) as i64)
    }

    /// Who runs next. Performs all instructions that need nobody to run.
    pub(super) fn next(&mut self, entries: &Entries, world: &impl World) -> Next {
        while self.is_following() {
            let Some(&instruction) = self.control.instructions.get(self.at) else {
                world.report(Report::Freed);
                self.phase = Phase::Free;
                return Next::GoOn;
            };
            let next = match instruction {
                Instruction::Run { thread, until } => self.run(thread, until, entries, world),
                Instruction::Block { thread, before } => self.block(thread, before, entries, world),
                Instruction::ReportAccess { thread, place } => self.see(thread, place, entries, world),
                Instruction::ReportMemory { thread } => {
                    if let Some(&memory) = self.watched.get(thread as usize) {
                        world.report(Report::MemoryContent { thread, memory });
                    }
                    None
                }
                Instruction::ReportThreads => {
                    self.report_threads(entries, world);
                    world.report(Report::AllReported);
                    None
                }
                Instruction::Stop { step } => {
                    if world.comes_to(step) {
                        self.name_threads(world);
                        world.stop_for_debugger();
                    }
                    None
                }
                Instruction::End => {
                    world.end_program();
                    self.phase = Phase::Free;
                    None
                }
            };
            match next {
                Some(Next::Await) => return self.leaving(entries).map_or(Next::Await, Next::Run),
                Some(next) => return next,
                None => {
                    self.at += 1;
                    self.helped = 0;
                }
            }
        }
        Next::Choose
    }

    /// A thread that the awaited one may wait for in a library: it gets there without an event. If it does not, it stops before the event, and the
    /// next one is tried.
    fn leaving(&mut self, entries: &Entries) -> Option<Slot> {
        if self.helped == MOST_HELPED {
            return None;
        }
        self.helped += 1;
        let leaves = |actor: &Actor| match *actor {
            Actor::Lives(thread) if entries[thread].leaves && entries[thread].state == State::Ready => {
                Some(thread)
            }
            _ => None,
        };
        self.actors.iter().filter_map(leaves).min_by_key(|&thread| entries[thread].since)
    }

    /// Lets the thread run up to there; none if it has come so far.
    fn run(&mut self, role: u32, until: u64, entries: &Entries, world: &impl World) -> Option<Next> {
        let thread = match self.actor(role) {
            Actor::Lives(thread) => thread,
            Actor::Ended(position) if position >= until => return None,
            Actor::Ended(position) => {
                return Some(self.diverge(role, Obstacle::Ended, position, entries, world));
            }
            Actor::NotYet => return Some(self.diverge(role, Obstacle::Absent, 0, entries, world)),
        };
        let position = entries.position(thread, world);
        if position >= until {
            return None;
        }
        Some(match entries[thread].state {
            State::Ready | State::Running => Next::Run(thread),
            // Time passes as the instructions need it.
            State::Waiting if entries[thread].deadline != NEVER => Next::Run(thread),
            State::Waiting => self.diverge(role, Obstacle::Waits, position, entries, world),
            State::Outside => Next::Await,
            State::Finished => self.diverge(role, Obstacle::Ended, position, entries, world),
        })
    }

    /// Lets the thread run until it waits for good; none if it does.
    fn block(&mut self, role: u32, before: u64, entries: &Entries, world: &impl World) -> Option<Next> {
        let furthest = before.saturating_add(1 + ON_THE_WAY);
        match self.actor(role) {
            Actor::Lives(thread) => {
                let entry = &entries[thread];
                let position = entries.position(thread, world);
                // What waits for a futex has tried before.
                if entry.waits_for_good() && (position <= before || entry.key.is_futex()) {
                    return None;
                }
                if position >= furthest || position > before && entry.waits_for_good() {
                    return Some(self.diverge(role, Obstacle::GoesOn, position, entries, world));
                }
            }
            Actor::Ended(position) if position > before => {
                return Some(self.diverge(role, Obstacle::GoesOn, position, entries, world));
            }
            Actor::Ended(_) | Actor::NotYet => {}
        }
        self.run(role, furthest, entries, world)
    }

    /// Reports what the thread is about to do. A thread that is somewhere else at this position goes on, and past it.
    fn see(&mut self, role: u32, position: u64, entries: &Entries, world: &impl World) -> Option<Next> {
        if let Actor::Lives(thread) = self.actor(role) {
            if entries[thread].state == State::Outside {
                return Some(Next::Await);
            }
            let is_there = entries.position(thread, world) == position;
            if is_there && let Some(access) = entries.pending(thread, world) {
                let memory = access.range();
                self.watched[role as usize] = memory;
                world.report(Report::PendingAccess { thread: role, place: position, access, memory });
                return None;
            }
            // It has come so far, but not yet to the access: it may sleep on the way.
            if is_there && !entries[thread].waits_for_good() {
                return Some(Next::Run(thread));
            }
        }
        world.report(Report::Nothing { thread: role, place: position });
        None
    }

    /// The number of the file that the thread opens now in the recorded run: the next of those it was given.
    pub(super) fn next_descriptor(&self, thread: Slot, entries: &mut Entries) -> Option<u32> {
        if !self.is_on() {
            return None;
        }
        let entry = &mut entries[thread];
        let (role, given) = (entry.role?, self.control.descriptors);
        let nth = given.partition_point(|given| given.thread < role) + entry.opened as usize;
        let given = given.get(nth).filter(|given| given.thread == role)?;
        entry.opened += 1;
        Some(given.number)
    }

    fn actor(&self, role: u32) -> Actor {
        self.actors.get(role as usize).copied().unwrap_or(Actor::NotYet)
    }

    fn report_threads(&self, entries: &Entries, world: &impl World) {
        for (role, &actor) in self.actors.iter().enumerate() {
            if let Actor::Lives(thread) = actor {
                world.report(Report::Thread {
                    thread: role as u32,
                    state: entries[thread].state,
                    place: entries.position(thread, world),
                    waits_for: self.waits_for(thread, entries, world),
                    pc: entries.pending(thread, world).map_or(0, |pending| pending.pc),
                });
            }
        }
    }

    fn name_threads(&self, world: &impl World) {
        for name in self.control.names {
            if let Actor::Lives(thread) = self.actor(name.thread) {
                world.name_thread(thread, name.as_bytes());
            }
        }
    }

    fn waits_for(&self, thread: Slot, entries: &Entries, world: &impl World) -> WaitsFor {
        let entry = &entries[thread];
        if entry.state != State::Waiting || entry.key == Key::NONE {
            return WaitsFor::Nothing;
        }
        match entry.key.ending() {
            None => WaitsFor::Address(world.hidden_object(thread).unwrap_or(entry.key.to_address())),
            Some(joined) => entries[joined].role.map_or(WaitsFor::Nothing, WaitsFor::EndOf),
        }
    }

    /// The current instruction cannot be performed.
    fn diverge(
        &mut self,
        role: u32,
        obstacle: Obstacle,
        position: u64,
        entries: &Entries,
        world: &impl World,
    ) -> Next {
        self.phase = Phase::Free;
        self.report_threads(entries, world);
        let waits_for = match self.actor(role) {
            Actor::Lives(thread) => self.waits_for(thread, entries, world),
            _ => WaitsFor::Nothing,
        };
        let (instruction, thread, place) = (self.at as u64, role, position);
        world.report(Report::Diverged { instruction, thread, obstacle, place, waits_for });
        if self.control.on_divergence == OnDivergence::Stop {
            world.end_program();
        }
        Next::Choose
    }

    /// The thread whose turn it is by the instructions.
    pub(super) fn awaited(&self) -> Option<Slot> {
        let instruction = self.control.instructions.get(self.at).filter(|_| self.is_following())?;
        let role = match *instruction {
            Instruction::ReportAccess { thread, .. } => thread,
            instruction => instruction.runs()?,
        };
        match self.actor(role) {
            Actor::Lives(thread) => Some(thread),
            Actor::NotYet | Actor::Ended(_) => None,
        }
    }

    /// The thread whose turn it is has been outside for so long that it will not come back.
    pub(super) fn abandon(&mut self, entries: &Entries, world: &impl World) {
        let instruction = self.control.instructions.get(self.at);
        if let (true, Some(instruction)) = (self.is_following(), instruction) {
            let role = match *instruction {
                Instruction::ReportAccess { thread, .. } => thread,
                instruction => instruction.runs().unwrap_or(0),
            };
            let position = match self.actor(role) {
                Actor::Lives(thread) => entries.position(thread, world),
                Actor::Ended(position) => position,
                Actor::NotYet => 0,
            };
            self.diverge(role, Obstacle::Outside, position, entries, world);
        }
    }

    /// Which of these waiters a signal wakes: the one the instructions want first. None: the policy chooses.
    pub(super) fn choose_waiter(&self, waiters: &[Slot], entries: &Entries) -> Option<usize> {
        if !self.is_following() {
            return None;
        }
        let rest = self.control.instructions.get(self.at..)?;
        rest.iter()
            .filter_map(|instruction| instruction.runs())
            .find_map(|role| waiters.iter().position(|&waiter| entries[waiter].role == Some(role)))
    }
}
