//! The first pass over a log: what each event does to memory and to objects that order threads.
//!
//! Memory is named by its block and its address, since another run may place another block there: the stack of a new thread and an
//! allocated block are new memory, whatever was at their addresses before.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use trace::ThreadPath;
use wire::{Event, Hold, Op, Stop, Waker};

use crate::doubt::Doubt;
use crate::intervals::IntervalMap;

/// No run with more events is looked at.
pub(crate) const MOST_EVENTS: usize = 400_000;

/// An event, by its thread's number in the run and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EventRef {
    pub(crate) thread: u32,
    pub(crate) place: u64,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Read,
    Write,
    /// A read and a write that nobody can come between.
    Update,
}

impl Effect {
    pub(crate) fn reads(self) -> bool {
        self != Effect::Write
    }

    pub(crate) fn writes(self) -> bool {
        self != Effect::Read
    }
}

/// What an object that orders threads is like after an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectState {
    held: bool,
    readers: u32,
    permits: i64,
}

/// What an operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Nothing,
    /// Nobody holds the lock.
    Free,
    /// Nobody holds the lock alone.
    NoWriter,
    /// The semaphore has a permit.
    Permit,
}

impl Need {
    /// Whether an operation can go on in this state of the object.
    pub(crate) fn is_met(self, state: ObjectState) -> bool {
        match self {
            Need::Nothing => true,
            Need::Free => !state.held && state.readers == 0,
            Need::NoWriter => !state.held,
            Need::Permit => state.permits > 0,
        }
    }
}

/// A range of bytes of a block. Objects that order threads are in a space of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Block(pub(crate) u32);

const OBJECTS: u32 = 1 << 31;

/// An access of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeAccess {
    pub(crate) block: Block,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Where the range starts in what the whole event accesses, for comparing events of different runs.
    pub(crate) offset: u64,
    pub(crate) effect: Effect,
    pub(crate) need: Need,
    pub(crate) after: ObjectState,
    /// A plain read and a plain write.
    pub(crate) is_compound: bool,
}

/// An event that accesses something, or depends on an event of another thread.
#[derive(Clone, Debug)]
pub(crate) struct RawStep {
    pub(crate) event: EventRef,
    pub(crate) pc: u64,
    pub(crate) accesses: Vec<RangeAccess>,
    /// Events that it comes after.
    pub(crate) links: Vec<EventRef>,
    /// With another source it may read only, or write as well: a compare-exchange, or a try.
    pub(crate) may_change: bool,
    /// It did not happen: the thread still waited for it when the run ended.
    pub(crate) is_pending: bool,
}

/// A thread of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawThread {
    pub(crate) path: ThreadPath,
    /// What each of its events is, as far as that is the same in every run.
    pub(crate) kinds: Vec<u64>,
    is_known: bool,
    has_ended: bool,
    children: u32,
    created: Option<EventRef>,
    last: Option<EventRef>,
    /// What comes next gives up by itself.
    is_limited: bool,
    /// The lock that it waits for.
    wanted: Option<WantedLock>,
    /// It waits for something that other events do not tell.
    is_waiting: bool,
}

/// A lock that a thread waits for.
#[derive(Clone, Copy, Debug)]
struct WantedLock {
    lock: u64,
    hold: Hold,
    pc: u64,
}

/// The log, read.
#[derive(Debug, Default)]
pub(crate) struct RawRun {
    pub(crate) threads: Vec<RawThread>,
    pub(crate) steps: Vec<RawStep>,
    pub(crate) doubts: BTreeSet<Doubt>,
    events: usize,
    blocks: IntervalMap<u32>,
    sizes: FxHashMap<u64, u64>,
    next_block: u32,
    locks: FxHashMap<(Block, u64), LockUse>,
    semaphores: FxHashMap<(Block, u64), i64>,
    conditions: FxHashMap<(Block, u64), ConditionUse>,
    barriers: FxHashMap<(Block, u64), BarrierUse>,
    is_over: bool,
}

#[derive(Debug, Default)]
struct LockUse {
    holder: Option<u32>,
    depth: u32,
    readers: u32,
}

#[derive(Debug, Default)]
struct ConditionUse {
    waiters: Vec<u32>,
    /// Threads that were woken, and by what, and have not gone on.
    woken: Vec<(u32, EventRef)>,
    /// Signals that woke one of the waiters.
    signals: Vec<EventRef>,
}

#[derive(Debug, Default)]
struct BarrierUse {
    parties: u64,
    entered: Vec<EventRef>,
    /// Those of the last round that was complete.
    complete: Vec<EventRef>,
}

/// One event on its way into the run.
struct Current<'a> {
    event: EventRef,
    pc: u64,
    step: RawStep,
    op: &'a Op<'a>,
}

impl RawRun {
    /// Reads a log; none if it is too long.
    pub(crate) fn read<'a>(events: impl Iterator<Item = Event<'a>>) -> Option<RawRun> {
        let mut run = RawRun { next_block: 1, ..RawRun::default() };
        run.meet(0);
        run.threads[0].is_known = true;
        for event in events {
            run.events += 1;
            if run.events > MOST_EVENTS {
                return None;
            }
            run.add(&event);
        }
        run.end();
        Some(run)
    }

    fn meet(&mut self, thread: u32) {
        let count = self.threads.len().max(thread as usize + 1);
        self.threads.resize_with(count, RawThread::default);
    }

    fn end(&mut self) {
        if !self.is_over {
            self.doubts.insert(Doubt::CutOff);
        }
        if self.threads.iter().any(|thread| !thread.is_known && !thread.kinds.is_empty()) {
            self.doubts.insert(Doubt::UnknownThread);
        }
        for thread in 0..self.threads.len() as u32 {
            self.add_pending(thread);
        }
    }

    /// Adds what a thread waited for when the run ended: it can happen in another run.
    fn add_pending(&mut self, number: u32) {
        let thread = &self.threads[number as usize];
        let event = EventRef { thread: number, place: thread.kinds.len() as u64 };
        if thread.has_ended || thread.kinds.is_empty() {
            return;
        }
        let Some(WantedLock { lock, hold, pc }) = thread.wanted else { return };
        let step = RawStep {
            event,
            pc,
            accesses: Vec::new(),
            links: Vec::new(),
            may_change: false,
            is_pending: true,
        };
        let mut current = Current { event, pc, step, op: &Op::End };
        let need = if hold == Hold::Exclusive { Need::Free } else { Need::NoWriter };
        current.operate(0, self.object(lock), Effect::Update, need, ObjectState::default());
        self.steps.push(current.step);
    }

    fn add(&mut self, event: &Event<'_>) {
        self.meet(event.thread);
        let Some(place) = event.place else { return self.note(event) };
        let thread = &mut self.threads[event.thread as usize];
        thread.kinds.push(kind(&event.op));
        let reference = EventRef { thread: event.thread, place };
        thread.last = Some(reference);
        let step = RawStep {
            event: reference,
            pc: event.pc,
            accesses: Vec::new(),
            links: Vec::new(),
            may_change: matches!(
                event.op,
                Op::AtomicRead { .. }
                    | Op::AtomicUpdate { .. }
                    | Op::TryFailed { .. }
                    | Op::TakeFailed { .. }
            ) || thread.is_limited,
            is_pending: false,
        };
        thread.wanted = None;
        thread.is_waiting = matches!(event.op, Op::Wait { .. });
        let is_anchor = matches!(event.op, Op::Create { .. } | Op::End | Op::BarrierEnter { .. });
        let mut current = Current { event: reference, pc: event.pc, step, op: &event.op };
        self.access_memory(&mut current);
        self.use_objects(&mut current);
        self.order_threads(&mut current);
        let step = current.step;
        if is_anchor || !step.accesses.is_empty() || !step.links.is_empty() {
            self.steps.push(step);
        }
    }

    /// What is no event of its own.
    fn note(&mut self, event: &Event<'_>) {
        match event.op {
            Op::Limited => self.threads[event.thread as usize].is_limited = true,
            Op::Request { lock, hold } => {
                self.threads[event.thread as usize].wanted = Some(WantedLock { lock, hold, pc: event.pc });
            }
            Op::Allocate { address, size } => self.allocate(address, size),
            Op::Obtained { .. } | Op::GaveBack { .. } => {
                self.doubts.insert(Doubt::HiddenWait);
            }
            Op::Signalled { .. } => {
                self.doubts.insert(Doubt::Signal);
            }
            Op::IgnoreBegin { .. } => {
                self.doubts.insert(Doubt::Annotation);
            }
            Op::Stop(stop) => self.stop(event.thread, stop),
            _ => {}
        }
    }

    fn stop(&mut self, thread: u32, stop: Stop) {
        self.is_over = true;
        match stop {
            Stop::Exit(_) => {
                let others = self.threads.iter().enumerate().filter(|&(number, _)| number != thread as usize);
                if others.into_iter().any(|(_, other)| !other.has_ended) {
                    self.doubts.insert(Doubt::UnfinishedThreads);
                }
            }
            Stop::Deadlock => {
                // Threads that wait for others to end, for locks and for wake-ups are understood.
                let others = self.threads.iter().filter(|thread| !thread.has_ended);
                let waits = |thread: &RawThread| thread.wanted.is_some() || thread.is_waiting;
                if others.filter(|thread| !waits(thread)).count() > 1 {
                    self.doubts.insert(Doubt::Deadlock);
                }
            }
            Stop::Killed(_) | Stop::Exec | Stop::Limit | Stop::Sandbox => {
                self.doubts.insert(Doubt::CutOff);
            }
        }
    }

    fn allocate(&mut self, address: u64, size: u64) {
        let end = address.saturating_add(size.max(1));
        self.blocks.set(address, end, self.next_block);
        self.sizes.insert(address, size);
        self.next_block += 1;
    }

    fn block_of(&self, address: u64) -> Block {
        let parts = self.blocks.parts(address, address.saturating_add(1));
        Block(parts.first().and_then(|&(.., block)| block).unwrap_or(0))
    }

    fn object(&self, address: u64) -> (Block, u64) {
        (Block(self.block_of(address).0 | OBJECTS), address)
    }

    fn access_memory(&mut self, current: &mut Current<'_>) {
        let (address, length, effect, is_compound) = match *current.op {
            Op::Read { address, size } | Op::AtomicRead { address, size } => {
                (address, u64::from(size), Effect::Read, false)
            }
            Op::Write { address, size } | Op::AtomicWrite { address, size } => {
                (address, u64::from(size), Effect::Write, false)
            }
            Op::AtomicUpdate { address, size } => (address, u64::from(size), Effect::Update, false),
            Op::ReadWrite { address, size } => (address, u64::from(size), Effect::Update, true),
            Op::ReadRange { address, length } => (address, length, Effect::Read, false),
            Op::WriteRange { address, length } => (address, length, Effect::Write, false),
            Op::Free { address } => {
                (address, self.sizes.get(&address).copied().unwrap_or(1), Effect::Write, false)
            }
            Op::Allocate { address, size } => return self.allocate(address, size),
            _ => return,
        };
        let end = address.saturating_add(length);
        for (start, end, block) in self.blocks.parts(address, end) {
            current.step.accesses.push(RangeAccess {
                block: Block(block.unwrap_or(0)),
                start,
                end,
                offset: start - address,
                effect,
                need: Need::Nothing,
                after: ObjectState::default(),
                is_compound,
            });
        }
    }

    fn use_objects(&mut self, current: &mut Current<'_>) {
        let thread = current.event.thread;
        let is_limited = std::mem::take(&mut self.threads[thread as usize].is_limited);
        match *current.op {
            Op::Acquire { lock, hold } => self.acquire(current, lock, hold, is_limited),
            Op::Release { lock, hold } => self.release(current, lock, hold),
            Op::TryFailed { lock, .. } => {
                let object = self.object(lock);
                current.operate(0, object, Effect::Read, Need::Nothing, ObjectState::default());
            }
            Op::Wait { condition, lock } => {
                if is_limited {
                    self.doubts.insert(Doubt::TimedWait);
                }
                self.release(current, lock, Hold::Exclusive);
                let object = self.object(condition);
                current.operate(1, object, Effect::Update, Need::Nothing, ObjectState::default());
                self.conditions.entry(object).or_default().waiters.push(thread);
            }
            Op::Woken { condition, by } => self.wake(current, condition, by),
            Op::Signal { condition } => self.signal(current, condition),
            Op::Broadcast { condition } => {
                let object = self.object(condition);
                current.operate(1, object, Effect::Update, Need::Nothing, ObjectState::default());
                let known = self.conditions.entry(object).or_default();
                let by = current.event;
                known.woken.extend(known.waiters.drain(..).map(|waiter| (waiter, by)));
            }
            Op::SemaphoreInit { semaphore, value } => {
                self.use_semaphore(current, semaphore, |_| value as i64)
            }
            Op::Post { semaphore } => self.use_semaphore(current, semaphore, |permits| permits + 1),
            Op::Take { semaphore } => {
                self.use_semaphore(current, semaphore, |permits| permits - 1);
                if let (Some(access), false) = (current.step.accesses.last_mut(), is_limited) {
                    access.need = Need::Permit;
                }
            }
            Op::TakeFailed { semaphore } => {
                let object = self.object(semaphore);
                current.operate(0, object, Effect::Read, Need::Nothing, ObjectState::default());
            }
            _ => self.use_barrier(current),
        }
    }

    fn acquire(&mut self, current: &mut Current<'_>, lock: u64, hold: Hold, is_limited: bool) {
        let object = self.object(lock);
        let thread = current.event.thread;
        let usage = self.locks.entry(object).or_default();
        if hold == Hold::Exclusive && usage.holder == Some(thread) {
            usage.depth += 1;
            return;
        }
        let need = match hold {
            Hold::Exclusive => {
                (usage.holder, usage.depth) = (Some(thread), 1);
                Need::Free
            }
            Hold::Shared => {
                usage.readers += 1;
                Need::NoWriter
            }
        };
        let after = ObjectState { held: usage.holder.is_some(), readers: usage.readers, permits: 0 };
        let need = if is_limited { Need::Nothing } else { need };
        current.operate(0, object, Effect::Update, need, after);
    }

    fn release(&mut self, current: &mut Current<'_>, lock: u64, hold: Hold) {
        let object = self.object(lock);
        let usage = self.locks.entry(object).or_default();
        match hold {
            Hold::Exclusive if usage.depth > 1 => {
                usage.depth -= 1;
                return;
            }
            Hold::Exclusive => (usage.holder, usage.depth) = (None, 0),
            Hold::Shared => usage.readers = usage.readers.saturating_sub(1),
        }
        let after = ObjectState { held: usage.holder.is_some(), readers: usage.readers, permits: 0 };
        current.operate(0, object, Effect::Update, Need::Nothing, after);
    }

    fn signal(&mut self, current: &mut Current<'_>, condition: u64) {
        let object = self.object(condition);
        current.operate(1, object, Effect::Update, Need::Nothing, ObjectState::default());
        let known = self.conditions.entry(object).or_default();
        match known.waiters.len() - known.signals.len().min(known.waiters.len()) {
            0 => {}
            waiting => {
                known.signals.push(current.event);
                if waiting > 1 {
                    self.doubts.insert(Doubt::SeveralWaiters);
                }
            }
        }
    }

    fn wake(&mut self, current: &mut Current<'_>, condition: u64, by: Waker) {
        let object = self.object(condition);
        let thread = current.event.thread;
        let known = self.conditions.entry(object).or_default();
        if let Some(index) = known.woken.iter().position(|&(waiter, _)| waiter == thread) {
            let (_, by) = known.woken.remove(index);
            current.step.links.push(by);
            return;
        }
        known.waiters.retain(|&waiter| waiter != thread);
        if by == Waker::Signal && !known.signals.is_empty() {
            let by = known.signals.remove(0);
            current.step.links.push(by);
        } else {
            let doubt = if by == Waker::Timeout { Doubt::TimedWait } else { Doubt::UnprovokedWakeUp };
            self.doubts.insert(doubt);
        }
    }

    fn use_semaphore(&mut self, current: &mut Current<'_>, semaphore: u64, change: impl FnOnce(i64) -> i64) {
        let object = self.object(semaphore);
        let permits = self.semaphores.entry(object).or_default();
        *permits = change(*permits);
        let after = ObjectState { permits: *permits, ..ObjectState::default() };
        current.operate(0, object, Effect::Update, Need::Nothing, after);
    }

    fn use_barrier(&mut self, current: &mut Current<'_>) {
        match *current.op {
            Op::BarrierInit { barrier, count } => {
                let object = self.object(barrier);
                self.barriers.entry(object).or_default().parties = count;
            }
            Op::BarrierEnter { barrier } => {
                self.doubts.insert(Doubt::Barrier);
                let object = self.object(barrier);
                let usage = self.barriers.entry(object).or_default();
                usage.entered.push(current.event);
                if usage.entered.len() as u64 == usage.parties {
                    usage.complete = std::mem::take(&mut usage.entered);
                }
            }
            Op::BarrierExit { barrier } => {
                let object = self.object(barrier);
                current.step.links.extend(&self.barriers.entry(object).or_default().complete);
            }
            _ => {}
        }
    }

    fn order_threads(&mut self, current: &mut Current<'_>) {
        let own = current.event.thread;
        match *current.op {
            Op::Create { child } => {
                self.meet(child);
                let parent = &mut self.threads[own as usize];
                parent.children += 1;
                let path = parent.path.child(parent.children);
                let is_known = parent.is_known;
                let thread = &mut self.threads[child as usize];
                (thread.path, thread.is_known, thread.created) = (path, is_known, Some(current.event));
            }
            Op::Begin { stack_low, stack_high, .. } => {
                let created = self.threads[own as usize].created;
                current.step.links.extend(created);
                if created.is_some() {
                    self.blocks.set(stack_low, stack_high, self.next_block);
                    self.next_block += 1;
                }
            }
            Op::End => self.threads[own as usize].has_ended = true,
            Op::Join { child } => {
                self.meet(child);
                let joined = &self.threads[child as usize];
                current.step.links.extend(joined.last.filter(|_| joined.has_ended));
            }
            Op::HappensBefore { .. } | Op::HappensAfter { .. } => {
                self.doubts.insert(Doubt::Annotation);
            }
            _ => {}
        }
    }
}

impl Current<'_> {
    /// Operates on an object that orders threads; `part` tells apart what one event does.
    fn operate(
        &mut self,
        part: u64,
        (block, address): (Block, u64),
        effect: Effect,
        need: Need,
        after: ObjectState,
    ) {
        let (start, end, offset) = (address, address.saturating_add(1), part);
        self.step.pc = self.pc;
        self.step.accesses.push(RangeAccess {
            block,
            start,
            end,
            offset,
            effect,
            need,
            after,
            is_compound: false,
        });
    }
}

/// What an event is, without addresses.
fn kind(op: &Op<'_>) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    std::mem::discriminant(op).hash(&mut hasher);
    match *op {
        Op::Read { size, .. }
        | Op::Write { size, .. }
        | Op::ReadWrite { size, .. }
        | Op::AtomicRead { size, .. }
        | Op::AtomicWrite { size, .. }
        | Op::AtomicUpdate { size, .. } => size.hash(&mut hasher),
        Op::ReadRange { length, .. } | Op::WriteRange { length, .. } => length.hash(&mut hasher),
        Op::Mark { name, value } => (name, value).hash(&mut hasher),
        _ => {}
    }
    hasher.finish()
}
