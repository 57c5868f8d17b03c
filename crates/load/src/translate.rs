//! The second pass: each event of the log becomes the events of the trace.

mod misuse;

use std::collections::BTreeSet;
use std::io;
use std::num::NonZeroU64;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use trace::native::{Distance, Note, StackId, Table};
use trace::{Kind, LocationId, MemoryOrder, Metadata, Misuse, Op, ThreadId, VariableId};
use wire::{Event, Hold, Op as Raw, Passage, Stop, Waker};

use super::annotations::Annotations;
use super::chosen::Chosen;
use super::directives::Directives;
use super::heap::{Sample, Site};
use super::modules::Frame;
use super::objects::{FirstUse, Objects, Origin, Output};
use super::repeated::Repetitions;
use super::rust::{Locks, Role};
use super::sink::Sink;
use super::spinning::Spinning;
use super::stacks::{At, Calls, Chain, Stacks};
use super::sync::{Inside, Permits};
use super::threads::{Starts, Threads};
use super::variables::{Slot, Variables};
use super::{Loaded, Options};
use misuse::Wrong;

/// Calls that are looked at to find out who allocates a block.
const MOST_CALLS: usize = 32;
/// Places and sizes of allocations that are told apart; what more there are have no types.
const MOST_SITES: usize = 1 << 16;
/// Allocations whose accesses are looked at to find out what they hold.
const MOST_LOOKS: usize = 256;

/// What the second pass knows of a thread.
#[derive(Debug, Default)]
struct ThreadState {
    name: String,
    calls: Calls,
    /// The place of its last event.
    place: Option<u64>,
    /// Branches since its last event.
    branches: u64,
    acted: bool,
    over: bool,
    /// The number of its last event in the trace.
    last: u32,
    /// How many of its events in the trace are not reads.
    segment: u64,
    /// The condition variable that it waits for, and with which lock.
    waiting: Option<(u64, u64)>,
    /// The event that created it, and where that is in the source.
    creation: Option<(u32, String)>,
    /// It was joined or detached.
    released: bool,
    /// It was over before the program began to end.
    has_ended_in_time: bool,
    /// The calls of fibers that do not run.
    fibers: FxHashMap<u64, Calls>,
    starts: Starts,
    /// Where it starts, and ends.
    start: Option<At>,
}

/// How a raw access acts on each variable it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    ReadThenWrite,
    AtomicRead,
    AtomicWrite,
    AtomicUpdate,
}

impl Access {
    /// What it is in a trace.
    fn kinds(self) -> &'static [Kind] {
        match self {
            Access::Read => &[Kind::Read],
            Access::Write => &[Kind::Write],
            Access::ReadThenWrite => &[Kind::Read, Kind::Write],
            Access::AtomicRead => &[Kind::AtomicRead],
            Access::AtomicWrite => &[Kind::AtomicWrite],
            Access::AtomicUpdate => &[Kind::AtomicUpdate],
        }
    }
}

/// Writes a trace, event by event.
pub(super) struct Translator<S: Sink> {
    output: Output<S>,
    objects: Objects,
    stacks: Stacks,
    threads: Vec<ThreadState>,
    annotations: Annotations,
    in_region: Inside,
    in_barrier: Inside,
    /// How many blocks have each name.
    allocations: FxHashMap<String, u64>,
    /// Where blocks were allocated: by calls, address and size.
    sites: FxHashMap<(Chain, u64, u64), Rc<Site>>,
    /// Where blocks were allocated whose accesses were looked at.
    looked_ahead: FxHashSet<(Chain, u64)>,
    touched: Vec<Slot>,
    /// For leaving them out.
    repetitions: Option<Repetitions>,
    spinning: Spinning,
    /// How many events the trace may have.
    most: u64,
    chosen: Chosen,
    metadata: Metadata,
    /// Where calls are that give up by themselves.
    attempts: BTreeSet<String>,
    directives: Directives,
    rust: Locks,
    /// The memory order of the atomic operation that is translated; `seq_cst` for everything else.
    order: MemoryOrder,
    /// The addresses of locks that are handed over from thread to thread: semaphores in the trace.
    handed: FxHashSet<u64>,
    /// Who has taken each of them.
    takers: FxHashMap<u64, u32>,
    /// Whether the event that is translated is of a lock of Rust's, of which not everything is seen.
    is_of_rust: bool,
    /// What the event that is translated does wrong, until its number is known.
    wrong: Option<Wrong>,
    misuses: Vec<Misuse>,
    /// The addresses of locks and the like that were destroyed, and not initialised again.
    destroyed: BTreeSet<u64>,
    /// Threads and the locks they took while the program did not want orders to be seen.
    unordered: FxHashSet<(u32, u64)>,
    /// The counts of references there are: where an `Arc` is.
    counts: BTreeSet<u64>,
    loaded: Loaded,
}

impl<S: Sink> Translator<S> {
    pub(super) fn new(
        mut output: Output<S>,
        variables: Variables,
        threads: Threads,
        metadata: Metadata,
        options: &Options,
        chosen: Chosen,
    ) -> io::Result<Self> {
        let names = threads.names();
        for name in &names {
            output.sink.name(Table::Threads, name)?;
        }
        for (thread, origin) in threads.origins() {
            output.sink.origin(thread, origin)?;
        }
        let state =
            |(index, name)| ThreadState { name, starts: threads.starts(index), ..ThreadState::default() };
        Ok(Translator {
            output,
            objects: Objects::new(variables),
            stacks: Stacks::new(Vec::new(), Vec::new()),
            threads: names.into_iter().enumerate().map(state).collect(),
            annotations: Annotations::new(),
            in_region: Inside::default(),
            in_barrier: Inside::default(),
            allocations: FxHashMap::default(),
            sites: FxHashMap::default(),
            looked_ahead: FxHashSet::default(),
            touched: Vec::new(),
            repetitions: options.drop_repeated.then(Repetitions::default),
            spinning: Spinning::default(),
            most: options.max_events.map_or(u64::MAX, NonZeroU64::get),
            chosen,
            metadata,
            attempts: BTreeSet::new(),
            directives: Directives::default(),
            rust: Locks::default(),
            order: MemoryOrder::SeqCst,
            handed: FxHashSet::default(),
            takers: FxHashMap::default(),
            is_of_rust: false,
            wrong: None,
            misuses: Vec::new(),
            destroyed: BTreeSet::new(),
            unordered: FxHashSet::default(),
            counts: BTreeSet::new(),
            loaded: Loaded { threads: threads.len() as u64, ..Loaded::default() },
        })
    }

    /// These locks are handed over from thread to thread.
    pub(super) fn hand_over(&mut self, handed: FxHashSet<u64>) {
        self.handed = handed;
    }

    /// Translates an event.
    #[inline]
    pub(super) fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if self.threads[event.thread as usize].over {
            return Ok(());
        }
        if !self.rust.concerns(event) {
            return self.understood(event);
        }
        let role = self.role(event)?;
        if role.is_some() {
            // Half of what std does with its own words is out of sight, so their orders say too little.
            self.order = MemoryOrder::SeqCst;
        }
        self.is_of_rust = role.is_some();
        for event in self.rust.understand(event, role).into_iter().flatten() {
            self.understood(&event)?;
        }
        self.is_of_rust = false;
        self.order = MemoryOrder::SeqCst;
        Ok(())
    }

    /// What an atomic operation means to Rust's std.
    fn role(&mut self, event: &Event<'_>) -> io::Result<Option<Role>> {
        match event.op {
            Raw::AtomicRead { .. } | Raw::AtomicUpdate { .. } => Ok(self.located(event)?.role),
            _ => Ok(None),
        }
    }

    /// Translates an event that means what it says.
    #[inline]
    fn understood(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event.op {
            Raw::Read { address, size } => self.access(event, address, size.into(), Access::Read),
            Raw::Write { address, size } => {
                self.forget_destroyed(address, size.into());
                self.access(event, address, size.into(), Access::Write)
            }
            Raw::ReadWrite { address, size } => {
                self.access(event, address, size.into(), Access::ReadThenWrite)
            }
            Raw::AtomicRead { address, size } => self.atomic(event, address, size, Access::AtomicRead),
            Raw::AtomicWrite { address, size } => self.atomic(event, address, size, Access::AtomicWrite),
            Raw::AtomicUpdate { address, size } => self.atomic(event, address, size, Access::AtomicUpdate),
            Raw::Order { order } => {
                // The operation follows at once: nothing of another thread comes between.
                self.order = MemoryOrder::from_c(order).unwrap_or_default();
                Ok(())
            }
            Raw::ReadRange { address, length } => self.access(event, address, length, Access::Read),
            Raw::WriteRange { address, length } => {
                self.forget_destroyed(address, length);
                self.access(event, address, length, Access::Write)
            }
            Raw::FunctionEntry { call } => {
                self.stacks.enter(&mut self.threads[event.thread as usize].calls, event.pc, call);
                self.objects.frames.enter(event.thread, event.pc, call);
                Ok(())
            }
            Raw::FunctionExit => {
                self.threads[event.thread as usize].calls.exit();
                self.objects.frames.exit(event.thread);
                Ok(())
            }
            Raw::Branches { count } => {
                self.threads[event.thread as usize].branches += count;
                Ok(())
            }
            Raw::Zeroed { address, length } => self.access(event, address, length, Access::Write),
            Raw::Free { address } => {
                self.last_references(event, address)?;
                self.other(event)
            }
            _ => self.other(event),
        }
    }

    /// An atomic access, with the memory order that was said just before.
    fn atomic(&mut self, event: &Event<'_>, address: u64, size: u8, access: Access) -> io::Result<()> {
        if !self.directives.orders(event.thread) {
            self.order = MemoryOrder::Relaxed;
        }
        let result = self.access(event, address, size.into(), access);
        self.order = MemoryOrder::SeqCst;
        result
    }

    /// Who frees what references were counted to has given back the last, though std may have done that out of sight. It has the place
    /// of the free.
    fn last_references(&mut self, event: &Event<'_>, address: u64) -> io::Result<()> {
        if self.counts.is_empty() {
            return Ok(());
        }
        let Some(block) = self.objects.variables.block_at(address) else { return Ok(()) };
        let counts: Vec<u64> = self.counts.range(block.start..block.start + block.length).copied().collect();
        for count in counts {
            self.counts.remove(&count);
            self.access(event, count, 8, Access::AtomicUpdate)?;
        }
        Ok(())
    }

    #[inline]
    fn access(&mut self, event: &Event<'_>, address: u64, length: u64, access: Access) -> io::Result<()> {
        if S::WANTS_ALL_ACCESSES {
            return self.any_access(event, address, length, access);
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        let chosen = &self.chosen;
        self.objects.variables.touched(address, length, |slot| {
            if chosen.keeps(slot) {
                touched.push(slot);
            }
        });
        let result = if touched.is_empty() { Ok(()) } else { self.accesses(event, &touched, access) };
        self.touched = touched;
        result
    }

    fn accesses(&mut self, event: &Event<'_>, touched: &[Slot], access: Access) -> io::Result<()> {
        let at = self.at(event)?;
        let Some(access) = self.directives.wanted(event.thread, access) else { return Ok(()) };
        let stated = self.order;
        for &slot in touched {
            let meant = self.directives.meant(access, self.objects.variables.whereabouts(slot).address);
            // A race that is meant orders nothing.
            self.order = if meant == access { stated } else { MemoryOrder::Relaxed };
            let access = meant;
            let variable = self.variable(event, slot)?;
            let left = match &mut self.repetitions {
                Some(repetitions) => repetitions.left_of(event.thread, variable, access),
                None => Some(access),
            };
            let Some(access) = left else { continue };
            if matches!(access, Access::Read | Access::AtomicRead) {
                let segment = self.threads[event.thread as usize].segment;
                if self.spinning.repeats(event.thread, segment, variable, at.location) {
                    continue;
                }
            } else {
                self.spinning.write(variable);
            }
            if let (Some(Role::Count), Access::AtomicUpdate) = (at.role, access) {
                self.counts.insert(self.objects.variables.whereabouts(slot).address);
            }
            let op = match access {
                Access::Read => Op::Read(variable),
                Access::Write => Op::Write(variable),
                Access::AtomicRead => Op::AtomicRead(variable),
                Access::AtomicWrite => Op::AtomicWrite(variable),
                Access::AtomicUpdate => Op::AtomicUpdate(variable),
                Access::ReadThenWrite => {
                    self.write(event, Op::Read(variable), at)?;
                    Op::Write(variable)
                }
            };
            self.write(event, op, at)?;
        }
        self.order = stated;
        Ok(())
    }

    /// An access, whether or not its memory is a variable of the trace: for a sink that is not interested in variables.
    fn any_access(&mut self, event: &Event<'_>, address: u64, length: u64, access: Access) -> io::Result<()> {
        let Some(access) = self.directives.wanted(event.thread, access) else { return Ok(()) };
        let counts = access == Access::AtomicUpdate && matches!(event.op, Raw::AtomicUpdate { .. });
        if counts && self.located(event)?.role == Some(Role::Count) {
            self.counts.insert(address);
        }
        if !self.output.sink.wants_source(event) {
            return Ok(());
        }
        let at = self.located(event)?;
        let kinds = [
            Some(self.directives.meant(access, address)),
            self.directives.meant_within(access, address, length),
        ];
        for access in kinds.into_iter().flatten() {
            for &kind in access.kinds() {
                self.output.sink.translated(event, kind, Some(at.location), at.stack);
            }
        }
        Ok(())
    }

    fn variable(&mut self, event: &Event<'_>, slot: Slot) -> io::Result<VariableId> {
        if let Some(known) = self.objects.known_variable(slot) {
            return Ok(known);
        }
        let first_use = FirstUse { thread: event.thread, pc: event.pc };
        self.objects.new_variable(slot, first_use, &mut self.output)
    }

    /// Where an event is, as far as that matters to the sink.
    #[inline]
    fn at(&mut self, event: &Event<'_>) -> io::Result<At> {
        if self.output.sink.wants_source(event) { self.located(event) } else { Ok(At::UNKNOWN) }
    }

    /// Where an event is.
    #[inline]
    fn located(&mut self, event: &Event<'_>) -> io::Result<At> {
        let chain = self.threads[event.thread as usize].calls.current();
        let Output { modules, sink } = &mut self.output;
        self.stacks.at(chain, event.pc, modules, sink)
    }

    /// Where a thread starts, which is also where it is said to end.
    fn start(&mut self, event: &Event<'_>) -> io::Result<At> {
        let state = &self.threads[event.thread as usize];
        if let Some(start) = state.start {
            return Ok(start);
        }
        let Output { modules, sink } = &mut self.output;
        let mut users = |pc: u64| modules.frames(pc.saturating_sub(1)).iter().any(Frame::is_users);
        let pc = state.starts.addresses().find(|&pc| users(pc)).unwrap_or(event.pc);
        let start = self.stacks.at(Chain::default(), pc, modules, sink)?;
        self.threads[event.thread as usize].start = Some(start);
        Ok(start)
    }

    /// The call stack of a thread at an address of the code.
    pub(super) fn stack(&mut self, thread: u32, pc: u64) -> io::Result<Option<StackId>> {
        // A program that is ended before its first event has no thread that began.
        let Some(state) = self.threads.get(thread as usize) else { return Ok(None) };
        let chain = state.calls.current();
        let Output { modules, sink } = &mut self.output;
        Ok(self.stacks.at(chain, pc, modules, sink)?.stack)
    }

    /// The location and the call stack of an event.
    pub(super) fn locate(&mut self, event: &Event<'_>) -> io::Result<(LocationId, Option<StackId>)> {
        let at = self.located(event)?;
        Ok((at.location, at.stack))
    }

    /// Whether what this event stands for is yet to come: a lock that its thread waits for.
    pub(super) fn is_pending(&self, event: &Event<'_>) -> bool {
        self.rust.is_open_attempt(event)
    }

    /// The sink.
    pub(super) fn sink(&mut self) -> &mut S {
        &mut self.output.sink
    }

    /// Makes room for a thread that no first pass has found.
    pub(super) fn add_thread(&mut self, thread: u32) {
        if self.threads.len() <= thread as usize {
            self.threads.resize_with(thread as usize + 1, ThreadState::default);
        }
    }

    /// Whether the trace has as many events as it may have.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.loaded.events >= self.most
    }

    /// Writes an event of the trace, and the branches before it. A trace that is full stays as it is.
    fn write(&mut self, event: &Event<'_>, op: Op, at: At) -> io::Result<()> {
        self.output.sink.translated(event, op.kind(), Some(at.location), at.stack);
        if self.is_full() {
            return Ok(());
        }
        let thread = ThreadId(event.thread);
        let state = &mut self.threads[event.thread as usize];
        state.acted = true;
        state.segment += u64::from(!matches!(op, Op::Read(_) | Op::AtomicRead(_)));
        let branches = std::mem::take(&mut state.branches);
        if branches > 0 {
            let count = u32::try_from(branches).unwrap_or(u32::MAX);
            let note = Note { stack: at.stack, step: Distance::Same };
            state.place.get_or_insert(0);
            self.output.sink.event(thread, Op::Branch(count), at.location, note)?;
            self.loaded.events += 1;
            self.loaded.branches += 1;
            if self.is_full() {
                return Ok(());
            }
        }
        let state = &mut self.threads[event.thread as usize];
        let step = match (event.place, state.place) {
            (Some(place), None) => Distance::Over(narrowed(place)),
            (Some(place), Some(last)) if place > last => Distance::Over(narrowed(place - last - 1)),
            _ => Distance::Same,
        };
        state.place = event.place.or(state.place).or(Some(0));
        state.last = self.loaded.events as u32;
        self.loaded.events += 1;
        if self.order != MemoryOrder::SeqCst && op.kind().has_memory_order() {
            self.output.sink.order(self.order);
        }
        self.output.sink.event(thread, op, at.location, Note { stack: at.stack, step })
    }

    /// Everything but accesses: rare, and not worth a fast path.
    fn other(&mut self, event: &Event<'_>) -> io::Result<()> {
        if let Some(repetitions) = &mut self.repetitions {
            repetitions.orders(event.thread);
        }
        let at = match event.op {
            Raw::Begin { .. } | Raw::End if self.output.sink.wants_source(event) => self.start(event)?,
            _ => self.at(event)?,
        };
        let first_use = FirstUse { thread: event.thread, pc: event.pc };
        self.look_for_destroyed(event, first_use);
        let operation = match self.handed_over(event, first_use)? {
            _ if self.is_unordered(event) => None,
            Some(operation) => operation,
            None => self.operation(event, first_use, at)?,
        };
        if let Some(op) = operation {
            self.write(event, op, at)?;
            match op {
                Op::End => self.threads[event.thread as usize].over = true,
                Op::Fork(child) => self.note_creation(event, child.0, at),
                Op::Join(child) => self.release_thread(child),
                _ => {}
            }
        }
        self.order = MemoryOrder::SeqCst;
        self.keep_misuse(event, at);
        Ok(())
    }

    /// Whether an event would order threads where the program does not want that.
    fn is_unordered(&mut self, event: &Event<'_>) -> bool {
        if self.directives.orders(event.thread) {
            return false;
        }
        match event.op {
            // Whoever gives it back later gives nothing back.
            Raw::Acquire { lock, .. } => {
                self.unordered.insert((event.thread, lock));
                true
            }
            Raw::Woken { .. } => {
                self.threads[event.thread as usize].waiting = None;
                true
            }
            Raw::Request { .. }
            | Raw::HappensBefore { .. }
            | Raw::HappensAfter { .. }
            | Raw::Signal { .. }
            | Raw::Broadcast { .. }
            | Raw::Fence { .. } => true,
            _ => false,
        }
    }

    /// What an event that is no access becomes, if anything.
    fn operation(&mut self, event: &Event<'_>, first_use: FirstUse, at: At) -> io::Result<Option<Op>> {
        let (objects, output) = (&mut self.objects, &mut self.output);
        Ok(match event.op {
            Raw::Fence { order } => {
                self.order = MemoryOrder::from_c(order).unwrap_or_default();
                Some(Op::Fence)
            }
            Raw::Begin { .. } => self.begin(event),
            Raw::End => Some(Op::End),
            Raw::Create { child } => {
                let new = child != event.thread && !self.threads[child as usize].acted;
                new.then_some(Op::Fork(ThreadId(child)))
            }
            Raw::Join { child } => {
                let over = child != event.thread && self.threads.get(child as usize).is_some();
                if over {
                    self.threads[child as usize].over = true;
                }
                over.then_some(Op::Join(ThreadId(child)))
            }
            Raw::Request { lock, hold } => {
                let (lock, _) = objects.lock(lock, first_use, output)?;
                Some(match hold {
                    Hold::Exclusive => Op::Request(lock),
                    Hold::Shared => Op::RequestShared(lock),
                })
            }
            Raw::Acquire { lock, hold } => {
                let lock = objects.lock_taken(lock, hold, first_use, output)?;
                Some(match hold {
                    Hold::Exclusive => Op::Acquire(lock),
                    Hold::Shared => Op::AcquireShared(lock),
                })
            }
            Raw::Limited => {
                self.attempts.extend(self.stacks.location(at.location).map(str::to_owned));
                None
            }
            Raw::Release { lock, hold } => self.release(lock, hold, first_use)?,
            // The wait itself is translated when it is over.
            Raw::Wait { condition, lock } => {
                self.start_waiting(event.thread, condition, lock, first_use);
                self.release(lock, Hold::Exclusive, first_use)?
            }
            Raw::Woken { condition, by: Waker::Signal | Waker::Broadcast } => {
                self.threads[event.thread as usize].waiting = None;
                Some(Op::Wait(objects.condition(condition, first_use, output)?))
            }
            Raw::Signal { condition } => Some(Op::Signal(objects.condition(condition, first_use, output)?)),
            Raw::Broadcast { condition } => {
                Some(Op::Broadcast(objects.condition(condition, first_use, output)?))
            }
            Raw::BarrierInit { barrier, .. } => {
                objects.new_barrier(barrier, first_use, output)?;
                None
            }
            Raw::BarrierEnter { barrier } => {
                let barrier = objects.barrier(barrier, first_use, output)?;
                self.in_barrier.enter(event.thread, barrier.0);
                Some(Op::BarrierEnter(barrier))
            }
            Raw::BarrierExit { barrier } => {
                let barrier = objects.barrier(barrier, first_use, output)?;
                self.in_barrier.leave(event.thread, barrier.0).then_some(Op::BarrierExit(barrier))
            }
            Raw::SemaphoreInit { semaphore, value } => {
                objects.new_semaphore(semaphore, Permits::declared(value), first_use, output)?;
                None
            }
            Raw::Post { semaphore } => {
                let (semaphore, permits) = objects.semaphore(semaphore, first_use, output)?;
                permits.post();
                Some(Op::Post(semaphore))
            }
            Raw::Take { semaphore } => {
                let (semaphore, permits) = objects.semaphore(semaphore, first_use, output)?;
                permits.take();
                Some(Op::Take(semaphore))
            }
            Raw::Allocate { .. } => self.allocate(event, at)?,
            Raw::Free { address } if self.directives.frees(event.thread) => {
                let block = objects.variables.block_at(address).filter(|block| block.start == address);
                match block {
                    Some(block) => objects.block_id(block.number, &mut output.sink)?.map(Op::Free),
                    None => None,
                }
            }
            Raw::HappensBefore { object } | Raw::HappensAfter { object }
                if Passage::of(object) == Some(Passage::None) =>
            {
                None
            }
            Raw::HappensBefore { object } => {
                let published = objects.publish(object, first_use, output)?;
                if let Some(seen) = published.seen {
                    self.write(event, Op::AtomicRead(seen), at)?;
                }
                Some(Op::AtomicWrite(published.new))
            }
            Raw::HappensAfter { object } => objects.observe(object, first_use.thread).map(Op::AtomicRead),
            Raw::Signalled { signal } => {
                for object in signal.objects(event.thread) {
                    if let Some(seen) = self.objects.observe(object, event.thread) {
                        self.write(event, Op::AtomicRead(seen), at)?;
                    }
                }
                None
            }
            Raw::IgnoreBegin { .. } | Raw::IgnoreEnd { .. } | Raw::Benign { .. } => {
                self.directives.see(event);
                None
            }
            Raw::Mark { name, value } => {
                Some(Op::Mark(self.annotations.mark(name, value, &mut output.sink)?))
            }
            Raw::RegionBegin { name } => {
                let region = self.annotations.region(name, &mut output.sink)?;
                self.in_region.enter(event.thread, region.0);
                Some(Op::RegionBegin(region))
            }
            Raw::RegionEnd { name } => {
                let region = self.annotations.region(name, &mut output.sink)?;
                self.in_region.leave(event.thread, region.0).then_some(Op::RegionEnd(region))
            }
            Raw::Stop(stop) => {
                self.loaded.stop = Some(stop);
                None
            }
            // A wait that ended by itself orders nothing; a try that failed took nothing.
            Raw::Woken { .. } => {
                self.threads[event.thread as usize].waiting = None;
                None
            }
            Raw::TryFailed { .. } | Raw::TakeFailed { .. } => None,
            // What it means is translated in its place.
            Raw::Obtained { .. } => None,
            Raw::Detach { child } => {
                self.release_thread(ThreadId(child));
                None
            }
            Raw::ThreadName { .. } | Raw::Failing { .. } => None,
            Raw::Exiting => {
                self.begin_to_end();
                None
            }
            Raw::Destroyed { .. }
            | Raw::NoLock
            | Raw::Refused { .. }
            | Raw::JoinedAgain { .. }
            | Raw::Unsafe(_) => {
                self.remark(event, first_use)?;
                None
            }
            Raw::Fiber { from, to } => {
                let state = &mut self.threads[event.thread as usize];
                let calls = state.fibers.remove(&to).unwrap_or_default();
                let left = std::mem::replace(&mut state.calls, calls);
                state.fibers.insert(from, left);
                None
            }
            // Accesses and calls do not come here.
            Raw::Read { .. }
            | Raw::Write { .. }
            | Raw::ReadWrite { .. }
            | Raw::AtomicRead { .. }
            | Raw::AtomicWrite { .. }
            | Raw::AtomicUpdate { .. }
            | Raw::ReadRange { .. }
            | Raw::WriteRange { .. }
            | Raw::Zeroed { .. }
            | Raw::Order { .. }
            | Raw::FunctionEntry { .. }
            | Raw::FunctionExit
            | Raw::Free { .. }
            | Raw::Branches { .. } => None,
        })
    }

    fn begin(&mut self, event: &Event<'_>) -> Option<Op> {
        if let Some((placed, gone)) = self.objects.variables.follow(&event.op) {
            let name = self.threads[event.thread as usize].name.clone();
            self.objects.block(placed, &gone, Origin::Stack(event.thread, name));
        }
        (!self.threads[event.thread as usize].acted).then_some(Op::Begin)
    }

    fn allocate(&mut self, event: &Event<'_>, at: At) -> io::Result<Option<Op>> {
        let Some((placed, gone)) = self.objects.variables.follow(&event.op) else { return Ok(None) };
        let site = self.site(event, at);
        let name = if S::WANTS_NAMES { site.name() } else { String::new() };
        let count = self.allocations.entry(name.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { name } else { format!("{name}#{count}") };
        self.objects.block(placed, &gone, Origin::Heap(name, site));
        let block = self.objects.block_id(placed.number, &mut self.output.sink)?;
        Ok(block.map(Op::Allocate))
    }

    /// Where a block is allocated, and what it holds if that is known.
    fn site(&mut self, event: &Event<'_>, at: At) -> Rc<Site> {
        let Raw::Allocate { size, .. } = event.op else { return Rc::default() };
        if !S::WANTS_NAMES {
            return Rc::default();
        }
        let chain = self.threads[event.thread as usize].calls.current();
        let key = (chain, event.pc, size);
        if let Some(known) = self.sites.get(&key) {
            return known.clone();
        }
        let calls: Vec<u64> =
            std::iter::once(event.pc).chain(self.stacks.calls(chain)).take(MOST_CALLS).collect();
        let location = self.stacks.location(at.location).unwrap_or("?");
        if self.sites.len() == MOST_SITES {
            return Rc::new(Site { location: location.to_owned(), holds: None });
        }
        let site = Rc::new(Site::find(&mut self.output.modules, &calls, size, location));
        self.sites.insert(key, site.clone());
        site
    }

    /// Whether the accesses to the block that this event allocates would say what it holds: nothing else does.
    pub(super) fn wants_accesses(&mut self, event: &Event<'_>) -> io::Result<bool> {
        let is_kept = matches!(event.op, Raw::Allocate { .. }) && self.objects.variables.keeps_some_of_next();
        if !is_kept || !S::WANTS_NAMES || self.looked_ahead.len() == MOST_LOOKS {
            return Ok(false);
        }
        let at = self.at(event)?;
        let chain = self.threads[event.thread as usize].calls.current();
        Ok(self.site(event, at).holds.is_none() && self.looked_ahead.insert((chain, event.pc)))
    }

    /// Learns what a block holds from accesses to it.
    pub(super) fn learn(&mut self, event: &Event<'_>, samples: &[Sample]) -> io::Result<()> {
        let Raw::Allocate { size, .. } = event.op else { return Ok(()) };
        let at = self.at(event)?;
        let mut site = Rc::unwrap_or_clone(self.site(event, at));
        site.learn(&mut self.output.modules, size, samples);
        let chain = self.threads[event.thread as usize].calls.current();
        self.sites.insert((chain, event.pc, size), Rc::new(site));
        Ok(())
    }

    /// Ends the trace, and says what was loaded.
    pub(super) fn finish(mut self, loaded: &mut Loaded) -> io::Result<S> {
        if self.is_full() {
            self.loaded.stop = Some(Stop::Limit);
        }
        self.unjoined();
        for (semaphore, permits) in self.objects.permits() {
            self.output.sink.permits(semaphore, permits)?;
        }
        if !self.attempts.is_empty() || !self.misuses.is_empty() {
            let (attempts, misuses) = (self.attempts.into_iter().collect(), self.misuses);
            self.output.sink.metadata(&Metadata { attempts, misuses, ..self.metadata })?;
        }
        self.loaded.variables = self.objects.variable_count() as u64;
        self.loaded.repeated = self.spinning.repeated;
        let &mut Loaded { recorded, damage, losses, .. } = loaded;
        *loaded = Loaded { recorded, damage, losses, ..self.loaded };
        Ok(self.output.sink)
    }
}

fn narrowed(places: u64) -> u32 {
    u32::try_from(places).unwrap_or(Distance::MOST).min(Distance::MOST)
}
