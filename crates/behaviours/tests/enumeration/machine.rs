//! A machine for tiny programs that writes the log a recorded run would, and the enumeration of all their interleavings.

use std::collections::BTreeSet;

use behaviours::Route;
use wire::{Event, Hold, Op, Stop};

/// One instruction of a thread. Registers, variables and objects are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instruction {
    Load {
        variable: usize,
        register: usize,
    },
    Store {
        variable: usize,
        value: i64,
    },
    /// Stores a register plus a number.
    StoreFrom {
        variable: usize,
        register: usize,
        plus: i64,
    },
    Add {
        variable: usize,
        register: usize,
    },
    CompareExchange {
        variable: usize,
        expected: i64,
        new: i64,
        register: usize,
    },
    Lock(usize),
    Unlock(usize),
    /// The register is 1 if the lock was taken.
    TryLock {
        lock: usize,
        register: usize,
    },
    LockShared(usize),
    UnlockShared(usize),
    Post(usize),
    Take(usize),
    /// Goes on this many instructions later if the register is not this value.
    SkipUnless {
        register: usize,
        value: i64,
        skipped: usize,
    },
}

/// What each thread does. The first thread creates the others, does its part, and joins them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) threads: Vec<Vec<Instruction>>,
}

impl Program {
    /// Whether each instruction reads and writes the same, whatever it sees.
    pub(crate) fn is_fixed(&self) -> bool {
        let varies = |instruction: &Instruction| {
            matches!(
                instruction,
                Instruction::CompareExchange { .. } | Instruction::TryLock { .. } | Instruction::Add { .. }
            )
        };
        !self.threads.iter().flatten().any(varies)
    }
}

/// What each event is, and what it saw: the event of another thread or its own, or nothing.
pub(crate) type Behaviour = Vec<Vec<(&'static str, Option<(usize, usize)>)>>;

/// An event of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Done {
    thread: usize,
    name: &'static str,
    object: usize,
    seen: Option<(usize, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ThreadState {
    at: usize,
    registers: [i64; 3],
    events: Vec<(&'static str, Option<(usize, usize)>)>,
    is_created: bool,
    has_ended: bool,
}

/// What can be told of the machine, except the order in which things happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    threads: Vec<ThreadState>,
    values: [i64; 4],
    holders: [Option<usize>; 3],
    readers: [Vec<usize>; 3],
    permits: [i64; 2],
    /// The last event that changed each variable, lock and semaphore.
    last: [Option<(usize, usize)>; 9],
}

#[derive(Clone, Debug)]
pub(crate) struct Machine<'p> {
    program: &'p Program,
    state: State,
    log: Vec<Done>,
}

const LOCK: usize = 4;
const SEMAPHORE: usize = 7;

impl<'p> Machine<'p> {
    pub(crate) fn new(program: &'p Program) -> Machine<'p> {
        let thread =
            ThreadState { at: 0, registers: [0; 3], events: Vec::new(), is_created: false, has_ended: false };
        let mut threads = vec![thread; program.threads.len()];
        threads[0].is_created = true;
        let state = State {
            threads,
            values: [0; 4],
            holders: [None; 3],
            readers: Default::default(),
            permits: [0; 2],
            last: [None; 9],
        };
        Machine { program, state, log: Vec::new() }
    }

    pub(crate) fn behaviour(&self) -> Behaviour {
        self.state.threads.iter().map(|thread| thread.events.clone()).collect()
    }

    /// Runs threads along a route, as far as it can be followed.
    pub(crate) fn follow(&mut self, route: &Route) {
        for leg in &route.legs {
            let path = leg.thread.to_string();
            let thread = if path == "0" { 0 } else { path[2..].parse::<usize>().unwrap() };
            while (self.state.threads[thread].events.len() as u64) < leg.until {
                if !self.can_step(thread) {
                    return;
                }
                self.step(thread);
            }
        }
    }

    /// Runs on with random choices until nobody can.
    pub(crate) fn finish(&mut self, seed: u64) {
        let mut seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        loop {
            let able: Vec<usize> =
                (0..self.state.threads.len()).filter(|&thread| self.can_step(thread)).collect();
            if able.is_empty() {
                return;
            }
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            self.step(able[(seed >> 20) as usize % able.len()]);
        }
    }

    /// Where the first thread is: it creates, works, joins, ends.
    fn phase(&self, thread: usize) -> Phase {
        let state = &self.state.threads[thread];
        let others = self.program.threads.len() - 1;
        let script = self.program.threads[thread].len();
        match (thread, state.events.len(), state.at) {
            (_, 0, _) => Phase::Begin,
            (0, ..) if self.state.threads[1..].iter().any(|other| !other.is_created) => {
                Phase::Create(1 + self.state.threads[1..].iter().filter(|other| other.is_created).count())
            }
            (_, _, at) if at < script => Phase::Work,
            (0, ..) => {
                let joined = state.events.iter().filter(|(name, _)| *name == "join").count();
                if joined < others { Phase::Join(joined + 1) } else { Phase::End }
            }
            _ => Phase::End,
        }
    }

    fn can_step(&self, thread: usize) -> bool {
        let state = &self.state.threads[thread];
        if !state.is_created || state.has_ended {
            return false;
        }
        match self.phase(thread) {
            Phase::Join(other) => self.state.threads[other].has_ended,
            Phase::Work => match self.program.threads[thread][state.at] {
                Instruction::Lock(lock) => {
                    self.state.holders[lock].is_none() && self.state.readers[lock].is_empty()
                }
                Instruction::LockShared(lock) => self.state.holders[lock].is_none(),
                Instruction::Take(semaphore) => self.state.permits[semaphore] > 0,
                _ => true,
            },
            _ => true,
        }
    }

    fn event(&mut self, thread: usize, name: &'static str, object: usize, seen: Option<(usize, usize)>) {
        self.state.threads[thread].events.push((name, seen));
        self.log.push(Done { thread, name, object, seen });
    }

    /// An event that sees the last change of an object, and changes it.
    fn access(&mut self, thread: usize, name: &'static str, object: usize, sees: bool, changes: bool) {
        let seen = if sees { self.state.last[object] } else { None };
        let own = (thread, self.state.threads[thread].events.len());
        self.event(thread, name, object, seen);
        if changes {
            self.state.last[object] = Some(own);
        }
    }

    fn step(&mut self, thread: usize) {
        match self.phase(thread) {
            Phase::Begin => self.event(thread, "begin", 0, None),
            Phase::Create(other) => {
                self.event(thread, "create", other, None);
                self.state.threads[other].is_created = true;
            }
            Phase::Join(other) => self.event(thread, "join", other, None),
            Phase::End => {
                self.event(thread, "end", 0, None);
                self.state.threads[thread].has_ended = true;
            }
            Phase::Work => self.work(thread),
        }
        self.skip(thread);
    }

    /// Branches are no events: they go with the event before.
    fn skip(&mut self, thread: usize) {
        let state = &mut self.state.threads[thread];
        while let Some(&Instruction::SkipUnless { register, value, skipped }) =
            self.program.threads[thread].get(state.at)
        {
            state.at += if state.registers[register] == value { 1 } else { 1 + skipped };
        }
        state.at = state.at.min(self.program.threads[thread].len());
    }

    fn work(&mut self, thread: usize) {
        let at = self.state.threads[thread].at;
        self.state.threads[thread].at += 1;
        match self.program.threads[thread][at] {
            Instruction::Load { variable, register } => {
                self.access(thread, "read", variable, true, false);
                self.state.threads[thread].registers[register] = self.state.values[variable];
            }
            Instruction::Store { variable, value } => {
                self.access(thread, "write", variable, false, true);
                self.state.values[variable] = value;
            }
            Instruction::StoreFrom { variable, register, plus } => {
                self.access(thread, "write", variable, false, true);
                self.state.values[variable] = self.state.threads[thread].registers[register] + plus;
            }
            Instruction::Add { variable, register } => {
                self.access(thread, "update", variable, true, true);
                self.state.threads[thread].registers[register] = self.state.values[variable];
                self.state.values[variable] += 1;
            }
            Instruction::CompareExchange { variable, expected, new, register } => {
                let succeeds = self.state.values[variable] == expected;
                let name = if succeeds { "update" } else { "atomic read" };
                self.access(thread, name, variable, true, succeeds);
                self.state.threads[thread].registers[register] = i64::from(succeeds);
                if succeeds {
                    self.state.values[variable] = new;
                }
            }
            Instruction::Lock(lock) => {
                self.access(thread, "acquire", LOCK + lock, true, true);
                self.state.holders[lock] = Some(thread);
            }
            Instruction::Unlock(lock) if self.state.holders[lock] == Some(thread) => {
                self.access(thread, "release", LOCK + lock, true, true);
                self.state.holders[lock] = None;
            }
            Instruction::TryLock { lock, register } => {
                let succeeds = self.state.holders[lock].is_none() && self.state.readers[lock].is_empty();
                let name = if succeeds { "try acquire" } else { "try failed" };
                self.access(thread, name, LOCK + lock, true, succeeds);
                self.state.threads[thread].registers[register] = i64::from(succeeds);
                if succeeds {
                    self.state.holders[lock] = Some(thread);
                }
            }
            Instruction::LockShared(lock) => {
                self.access(thread, "acquire shared", LOCK + lock, true, true);
                self.state.readers[lock].push(thread);
                self.state.readers[lock].sort_unstable();
            }
            Instruction::UnlockShared(lock) => {
                self.access(thread, "release shared", LOCK + lock, true, true);
                self.state.readers[lock].retain(|&reader| reader != thread);
            }
            Instruction::Post(semaphore) => {
                self.access(thread, "post", SEMAPHORE + semaphore, true, true);
                self.state.permits[semaphore] += 1;
            }
            Instruction::Take(semaphore) => {
                self.access(thread, "take", SEMAPHORE + semaphore, true, true);
                self.state.permits[semaphore] -= 1;
            }
            // Nothing happens where the lock is not held.
            Instruction::Unlock(_) => self.event(thread, "nothing", 0, None),
            Instruction::SkipUnless { .. } => unreachable!("it goes with the event before"),
        }
    }

    /// The log that the runtime would write.
    pub(crate) fn log(&self) -> Vec<Event<'static>> {
        let mut places = vec![0; self.program.threads.len()];
        let mut log = Vec::new();
        for done in &self.log {
            let op = op_of(done);
            let thread = done.thread as u32;
            if done.name.starts_with("try") {
                log.push(Event { thread, place: None, pc: 0, op: Op::Limited });
            }
            let place = places[done.thread];
            places[done.thread] += 1;
            let pc = 0x1000 * (1 + done.thread as u64) + place;
            log.push(Event { thread, place: Some(place), pc, op });
        }
        for (number, thread) in self.state.threads.iter().enumerate() {
            let request = match self.program.threads[number].get(thread.at) {
                Some(Instruction::Lock(lock)) => (LOCK + lock, Hold::Exclusive),
                Some(Instruction::LockShared(lock)) => (LOCK + lock, Hold::Shared),
                _ => continue,
            };
            let op = Op::Request { lock: address(request.0), hold: request.1 };
            log.push(Event { thread: number as u32, place: None, pc: 1, op });
        }
        let all_ended = self.state.threads.iter().all(|thread| thread.has_ended);
        let stop = if all_ended { Stop::Exit(0) } else { Stop::Deadlock };
        log.push(Event { thread: 0, place: None, pc: 0, op: Op::Stop(stop) });
        log
    }
}

enum Phase {
    Begin,
    Create(usize),
    Work,
    Join(usize),
    End,
}

fn address(object: usize) -> u64 {
    0x10_0000 + 0x40 * object as u64
}

fn op_of(done: &Done) -> Op<'static> {
    let address = address(done.object);
    let (size, exclusive, shared) = (4, Hold::Exclusive, Hold::Shared);
    match done.name {
        "begin" => Op::Begin { stack_low: 0, stack_high: 0, kernel_id: 1, thread_pointer: 0 },
        "create" => Op::Create { child: done.object as u32 },
        "join" => Op::Join { child: done.object as u32 },
        "end" => Op::End,
        "read" => Op::Read { address, size },
        "write" => Op::Write { address, size },
        "update" => Op::AtomicUpdate { address, size },
        "atomic read" => Op::AtomicRead { address, size },
        "acquire" | "try acquire" => Op::Acquire { lock: address, hold: exclusive },
        "release" => Op::Release { lock: address, hold: exclusive },
        "try failed" => Op::TryFailed { lock: address, hold: exclusive },
        "acquire shared" => Op::Acquire { lock: address, hold: shared },
        "release shared" => Op::Release { lock: address, hold: shared },
        "post" => Op::Post { semaphore: address },
        "take" => Op::Take { semaphore: address },
        _ => Op::Fence { order: 5 },
    }
}

/// The behaviours of all interleavings.
pub(crate) fn all_behaviours(program: &Program) -> BTreeSet<Behaviour> {
    let (mut all, mut visited) = (BTreeSet::new(), BTreeSet::new());
    let mut left = vec![Machine::new(program)];
    while let Some(machine) = left.pop() {
        let able: Vec<usize> =
            (0..program.threads.len()).filter(|&thread| machine.can_step(thread)).collect();
        if able.is_empty() {
            all.insert(machine.behaviour());
        }
        for thread in able {
            let mut next = Machine { log: Vec::new(), ..machine.clone() };
            next.step(thread);
            if visited.insert(next.state.clone()) {
                left.push(next);
            }
        }
    }
    all
}

/// Whether threads may wait for a semaphore for ever.
pub(crate) fn can_get_stuck(program: &Program) -> bool {
    let takes = |instruction: &Instruction| matches!(instruction, Instruction::Take(_));
    program.threads.iter().flatten().any(takes)
}
