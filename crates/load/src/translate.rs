//! The second pass: each event of the log becomes the events of the trace.

mod accesses;
mod allocations;
mod misuse;
mod operations;
mod waits;

use std::collections::BTreeSet;
use std::io;
use std::num::NonZeroU64;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use trace::native::{Distance, Note, StackId, Table};
use trace::{LocationId, MemoryOrder, Metadata, Misuse, Op, ThreadId};
use wire::{Event, Op as Raw, Stop};

use super::annotations::Annotations;
use super::chosen::Chosen;
use super::directives::Directives;
use super::heap::Site;
use super::lock_order::{Cycle, LockOrders};
use super::memory::{FirstUse, Output};
use super::modules::{CodeOwner, Frame};
use super::objects::Objects;
use super::pool::PoolAccesses;
use super::repeated::Repetitions;
use super::rust::{Locks, Role};
use super::sink::Sink;
use super::spinning::Spinning;
use super::stacks::{At, Calls, Chain, Stacks};
use super::sync::Inside;
use super::threads::{Starts, Threads};
use super::variables::{Slot, Touched, Variables};
use super::{Loaded, Options};
pub(super) use accesses::Access;
use misuse::Wrong;
use waits::Awaited;

/// What the second pass knows of a thread.
#[derive(Debug, Default)]
struct ThreadState {
    name: String,
    calls: Calls,
    /// The place of its last event.
    place: Option<u64>,
    /// Branches since those that were last written.
    branches: u64,
    /// Whether it has done more than write since then. If it has not, another branch depends on nothing that the last did not depend on.
    may_have_read: bool,
    acted: bool,
    over: bool,
    /// The number of its last event in the trace.
    last: u32,
    /// How many of its events in the trace are not reads; a trace has fewer events than would make it wrap.
    segment: u32,
    /// The condition variable that it waits for, and with which lock.
    waiting: Option<(u64, u64)>,
    /// What it waits for, for as long as it takes.
    awaits: Option<Awaited>,
    /// The event that created it, and where that is in the source.
    creation: Option<(u32, String)>,
    /// It was joined or detached.
    released: bool,
    /// It was over before the program began to end.
    has_ended_in_time: bool,
    /// Since when its accesses are ignored: its last event before that, and where it is in the source.
    ignoring: Option<(u32, String)>,
    /// The calls of fibers that do not run.
    fibers: FxHashMap<u64, Calls>,
    starts: Starts,
    /// Where it starts, and ends.
    start: Option<At>,
    /// Where it was created: its code is there as well, if that is a function without a name which became part of the library's own.
    made_at: Option<u64>,
    /// Where it last allocated memory.
    allocated: Option<(Chain, u64)>,
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
    /// What blocks are called that were allocated full of zeroes, without the numbers of single ones.
    cleared: BTreeSet<String>,
    /// Where `realloc` is called.
    reallocations: BTreeSet<LocationId>,
    /// Where memory was freed last: by which thread, and by which call.
    freed: Option<(u32, u64)>,
    /// By the address of a call about a futex: whether it is in a library that is not instrumented.
    unseen_futexes: FxHashMap<u64, bool>,
    /// Where blocks were allocated whose accesses were looked at.
    looked_ahead: FxHashSet<(Chain, u64)>,
    /// How many pools there were whose accesses were looked at, and those of the one that is allocated next.
    pools: usize,
    next_pool: Option<PoolAccesses>,
    touched: Vec<Slot>,
    /// What each of some accesses touches.
    together: Vec<Touched>,
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
    /// Whether the event that is translated is of a lock of Rust's, whose operations are only partly recorded.
    is_of_rust: bool,
    /// What the event that is translated does wrong, until its number is known.
    wrong: Option<Wrong>,
    lock_orders: LockOrders,
    /// The cycle of locks that the event which is translated closes in its thread, until its number is known.
    closed: Option<Cycle>,
    /// All of them.
    cycles: Vec<(Cycle, Misuse)>,
    misuses: Vec<Misuse>,
    /// The addresses of locks and the like that were destroyed, and not initialised again.
    destroyed: BTreeSet<u64>,
    /// The last of these that was written over: by which thread, by which call, and which one.
    written_over: Option<(u32, u64, u64)>,
    /// Threads and the locks they took while the program did not want orders to be seen.
    unordered: FxHashSet<(u32, u64)>,
    /// Whether anything was left out because the program did not want orders to be seen.
    pub(super) ignores_orders: bool,
    /// Of fibers that are kept apart: the thread of the log that the event which is translated comes from.
    pub(super) carrier: Option<u32>,
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
            cleared: BTreeSet::new(),
            reallocations: BTreeSet::new(),
            freed: None,
            unseen_futexes: FxHashMap::default(),
            looked_ahead: FxHashSet::default(),
            pools: 0,
            next_pool: None,
            touched: Vec::new(),
            together: Vec::new(),
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
            lock_orders: LockOrders::default(),
            closed: None,
            cycles: Vec::new(),
            misuses: Vec::new(),
            destroyed: BTreeSet::new(),
            written_over: None,
            unordered: FxHashSet::default(),
            ignores_orders: false,
            carrier: None,
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
        if let Some(before) = self.rust.before(event) {
            self.understood(&before)?;
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
            Raw::AtomicRead { .. } | Raw::AtomicWrite { .. } | Raw::AtomicUpdate { .. } => {
                Ok(self.located(event)?.role)
            }
            _ => Ok(None),
        }
    }

    /// Translates an event that means what it says.
    #[inline]
    fn understood(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event.op {
            Raw::Read { address, size } => self.access(event, address, size.into(), Access::Read),
            Raw::Write { address, size } => {
                self.forget_destroyed(event, address, size.into());
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
                self.forget_destroyed(event, address, length);
                self.access(event, address, length, Access::Write)
            }
            Raw::FunctionEntry { call } => {
                self.stacks.enter(&mut self.threads[event.thread as usize].calls, event.pc, call);
                self.objects.memory.frames.enter(event.thread, event.pc, call);
                Ok(())
            }
            Raw::FunctionExit => {
                self.threads[event.thread as usize].calls.exit();
                self.objects.memory.frames.exit(event.thread);
                Ok(())
            }
            Raw::Branches { count } => {
                self.threads[event.thread as usize].branches += count;
                Ok(())
            }
            Raw::Zeroed { address, length } => self.access(event, address, length, Access::Write),
            Raw::Cleared { address, .. } => {
                self.note_cleared(address);
                Ok(())
            }
            Raw::Free { address } => {
                self.last_references(event, address)?;
                self.other(event)?;
                self.objects.memory.variables.free(address);
                self.freed = Some((event.thread, event.pc));
                Ok(())
            }
            _ => self.other(event),
        }
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
        let pc = state.starts.addresses().chain(state.made_at).find(|&pc| users(pc)).unwrap_or(event.pc);
        let start = self.stacks.at(Chain::default(), pc, modules, sink)?;
        self.threads[event.thread as usize].start = Some(start);
        Ok(start)
    }

    /// Where a thread is created. A library whose calls are not recorded does it for `std::thread`, and where that was called from is not
    /// known, but the memory for what the thread is to do was allocated there.
    fn creation(&mut self, event: &Event<'_>) -> io::Result<At> {
        let state = &self.threads[event.thread as usize];
        let chain = state.calls.current();
        let frames = self.output.modules.frames(event.pc.saturating_sub(1));
        let is_library = frames.iter().all(|frame| frame.owner == CodeOwner::Unknown);
        let allocated = state.allocated.filter(|&(other, _)| is_library && other == chain);
        let pc = allocated.map_or(event.pc, |(_, pc)| pc);
        if let Raw::Create { child } = event.op
            && let Some(child) = self.threads.get_mut(child as usize)
        {
            child.made_at = Some(pc);
        }
        let Output { modules, sink } = &mut self.output;
        self.stacks.at(chain, pc, modules, sink)
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
        let is_read = matches!(op, Op::Read(_) | Op::AtomicRead(_));
        state.segment = state.segment.wrapping_add(u32::from(!is_read));
        if state.branches > 0 && std::mem::take(&mut state.may_have_read) {
            let branches = std::mem::take(&mut state.branches);
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
        state.may_have_read |= !matches!(op, Op::Write(_) | Op::AtomicWrite(_));
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
            Raw::Create { .. } if self.output.sink.wants_source(event) => self.creation(event)?,
            _ => self.at(event)?,
        };
        if let Raw::Allocate { address, size } = event.op {
            self.forget_destroyed(event, address, size);
            let state = &mut self.threads[event.thread as usize];
            state.allocated = Some((state.calls.current(), event.pc));
        }
        let first_use = FirstUse::by(event);
        self.look_for_destroyed(event, first_use);
        let operation = match self.handed_over(event, first_use)? {
            _ if self.is_unordered(event) || self.is_seen_futex(event) => None,
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
        self.keep_cycle(event, at);
        Ok(())
    }

    /// Ends the trace, and says what was loaded.
    pub(super) fn finish(mut self, loaded: &mut Loaded) -> io::Result<S> {
        if self.is_full() {
            self.loaded.stop = Some(Stop::Limit);
        }
        self.unjoined();
        self.ignoring();
        self.in_both_orders();
        for (semaphore, permits) in self.objects.permits() {
            self.output.sink.permits(semaphore, permits)?;
        }
        let waits = self.last_waits();
        let (attempts, misuses) = (self.attempts.into_iter().collect(), self.misuses);
        let (libraries, ignores_orders) = (self.stacks.libraries(&self.output.modules), self.ignores_orders);
        let cleared = self.cleared.into_iter().collect();
        let places = self.reallocations.iter().filter_map(|&place| self.stacks.location(place));
        let reallocations = places.map(str::to_owned).collect();
        let learned = Metadata {
            attempts,
            misuses,
            waits,
            cleared,
            reallocations,
            libraries,
            ignores_orders,
            ..Metadata::default()
        };
        if !learned.is_empty() {
            let Metadata { attempts, misuses, waits, cleared, reallocations, libraries, .. } = learned;
            let metadata = self.metadata;
            let all = Metadata {
                attempts,
                misuses,
                waits,
                cleared,
                reallocations,
                libraries,
                ignores_orders,
                ..metadata
            };
            self.output.sink.metadata(&all)?;
        }
        self.loaded.variables = self.objects.variable_count() as u64;
        self.loaded.repeated = self.spinning.repeated;
        let Loaded { recorded, damage, losses, changed, .. } = std::mem::take(loaded);
        *loaded = Loaded { recorded, damage, losses, changed, ..self.loaded };
        Ok(self.output.sink)
    }
}

fn narrowed(places: u64) -> u32 {
    u32::try_from(places).unwrap_or(Distance::MOST).min(Distance::MOST)
}
