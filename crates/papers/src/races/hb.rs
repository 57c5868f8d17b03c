//! Happens-before races with epochs, after Flanagan and Freund, *FastTrack: Efficient and Precise Dynamic Race
//! Detection* (PLDI 2009).
//!
//! One event happens before another if program order and synchronisation lead from one to the other: fork and join,
//! release to every later acquire of the lock that it excludes, a signal to the wait it woke, barrier enters to
//! exits, a post to the take it supplied (the oldest post first), an atomic write to the atomic reads that see it.
//!
//! *Promise.* An event is reported if it conflicts with an earlier one that does not happen before it: exactly those
//! events, each with one such partner. The first reported is real (feasible under `rf`), with any partner: before it,
//! whatever conflicts is ordered, so what happens before the pair is a schedule, in the order of the trace. Later
//! ones need not be. Not complete: another order of the same sections is not considered.
//!
//! *Deviation.* FastTrack forgets what it needs no longer until the first race on a variable. To report every racy
//! event, a variable here keeps all accesses not happening before its last write: one epoch unless there
//! was a race.
//!
//! *Cost.* Linear in the events times the threads, and constant for most events. Memory depends on the numbers of
//! threads and objects only: at most [`MOST_WAITING`] signals and posts of an object are distinguished; a wait or
//! take that was overtaken by more is ordered after all older ones, which hides races but invents none.

use std::collections::VecDeque;

use bounds::Bounds;
use candidates::races::RacePair;
use order::{Supply, slot};
use rustc_hash::FxHashMap;
use trace::{
    BarrierId, BlockNames, ConditionId, EventId, LockId, MemoryOrder, Op, SemaphoreId, ThreadId, Trace,
    VariableId,
};

use super::clock::Clock;

/// How many signals of a condition and posts of a semaphore are distinguished.
pub const MOST_WAITING: usize = 256;

/// Every racy event of a trace, with an earlier partner, in order.
pub fn races(trace: &Trace) -> impl Iterator<Item = RacePair> + '_ {
    races_within(trace, Bounds::NONE)
}

/// The same, up to where the bounds are reached.
pub fn races_within(trace: &Trace, bounds: Bounds) -> impl Iterator<Item = RacePair> + '_ {
    let mut hb = Hb::for_trace(trace);
    trace.events().take_while(move |_| !bounds.are_reached()).filter_map(move |(event, thread, op)| {
        let first = hb.step(event, thread, op, trace.memory_order(event))?;
        Some(RacePair { first, second: event })
    })
}

/// Every allocation, free and use of memory that races with an earlier one of the other sort, in order: allocating and freeing a
/// block is as a write of all that it holds. At most one pair for each event and variable.
pub fn races_of_memory(trace: &Trace) -> Vec<RacePair> {
    let held = BlockNames::of(trace.symbols()).variables(trace.symbols());
    let is_of_block = |event: EventId| matches!(trace.op(event), Op::Allocate(_) | Op::Free(_));
    let mut hb = Hb::for_trace(trace);
    let mut races = Vec::new();
    for (event, thread, op) in trace.events() {
        let mut partners: Vec<EventId> =
            hb.step(event, thread, op, trace.memory_order(event)).into_iter().collect();
        if let Op::Allocate(block) | Op::Free(block) = op {
            let variables = held.get(&block).map(Vec::as_slice).unwrap_or_default();
            partners.extend(variables.iter().filter_map(|&variable| hb.write(event, thread, variable)));
        }
        let of_memory = partners.into_iter().filter(|&first| is_of_block(first) != is_of_block(event));
        races.extend(of_memory.map(|first| RacePair { first, second: event }));
    }
    races
}

/// An access as its thread's time.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// A thread, or [`NOBODY`], or [`CROWD`]: then `time` is the number of a crowd.
    thread: u32,
    time: u32,
    event: EventId,
}

const NOBODY: u32 = u32::MAX;
const CROWD: u32 = u32::MAX - 1;
const NEVER: Epoch = Epoch { thread: NOBODY, time: 0, event: EventId(0) };

impl Default for Epoch {
    fn default() -> Self {
        NEVER
    }
}

impl Epoch {
    #[inline]
    fn happened_before(self, clock: &Clock) -> bool {
        self.time <= clock.get(self.thread as usize)
    }
}

/// Accesses of one kind: at most one of each thread.
type Crowd = Vec<Epoch>;

/// The accesses of a variable that do not happen before its last write, and that.
#[derive(Clone, Copy, Debug)]
struct Variable {
    /// Plain writes.
    written: Epoch,
    /// Plain reads.
    read: Epoch,
    /// The number of its [`Atomics`], or [`NOBODY`].
    atomics: u32,
}

impl Default for Variable {
    fn default() -> Self {
        Variable { written: NEVER, read: NEVER, atomics: NOBODY }
    }
}

/// The atomic accesses of a variable.
#[derive(Clone, Debug, Default)]
struct Atomics {
    /// What happened before the heads of the release sequences that the last write belongs to, if that is atomic: one of each thread.
    released: Vec<(ThreadId, Clock)>,
    writes: Crowd,
    reads: Crowd,
}

impl Atomics {
    /// A write of a thread goes on with release sequences, or begins one if there is a head. A store ends those of other threads, and an
    /// update that has acquired them all and releases stands for them.
    fn go_on(&mut self, thread: ThreadId, ends_others: bool, head: Option<&Clock>) {
        if ends_others {
            self.released.retain(|(other, _)| *other == thread);
        }
        let Some(head) = head else { return };
        match self.released.iter_mut().find(|(other, _)| *other == thread) {
            Some((_, released)) => released.join(head),
            None => {
                let mut released = Clock::default();
                released.copy(head);
                self.released.push((thread, released));
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Lock {
    released: Clock,
    released_shared: Clock,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    clock: Clock,
    last: Option<EventId>,
    /// What an acquire fence would take over: what relaxed reads have seen released.
    promised: Clock,
    /// What happened before the last release fence.
    release_fence: Option<Clock>,
}

/// The signals of a condition, and who is still free to be a waker.
#[derive(Clone, Debug, Default)]
struct Signals {
    recent: VecDeque<Signal>,
    /// What happened before those no longer distinguished, and the last of them.
    older: Clock,
    last_older: Option<EventId>,
}

#[derive(Clone, Debug)]
struct Signal {
    event: EventId,
    clock: Clock,
    broadcast: bool,
    free: bool,
}

/// One use of a barrier.
#[derive(Clone, Debug, Default)]
struct Instance {
    clock: Clock,
    /// Threads that entered and have not left.
    inside: u32,
}

/// What happened before what, up to the current event of a trace.
#[derive(Clone, Debug, Default)]
pub struct Hb {
    threads: Vec<Thread>,
    variables: Vec<Variable>,
    locks: Vec<Lock>,
    atomics: Vec<Atomics>,
    crowds: Vec<Crowd>,
    /// Crowds in no use.
    spare: Vec<u32>,
    signals: Vec<Signals>,
    /// For each barrier, the instance still collecting enters.
    collecting: Vec<Option<u32>>,
    instances: FxHashMap<u32, Instance>,
    next_instance: u32,
    entered: FxHashMap<(BarrierId, ThreadId), u32>,
    semaphores: Vec<Supply<Clock>>,
}

impl Hb {
    /// Before the first event of any trace.
    pub fn new() -> Self {
        Hb::default()
    }

    /// Before the first event of this trace: it knows the declared permits.
    pub fn for_trace(trace: &Trace) -> Self {
        let mut hb = Hb::new();
        for index in 0..trace.symbols().semaphores.len() {
            let semaphore = SemaphoreId::new(index);
            if let Some(permits) = trace.declared_permits(semaphore) {
                hb.declare_permits(semaphore, permits);
            }
        }
        hb
    }

    /// States how many permits a semaphore starts with, before its first event.
    pub fn declare_permits(&mut self, semaphore: SemaphoreId, permits: u32) {
        slot(&mut self.semaphores, semaphore.index()).declare(permits);
    }

    /// Takes in the next event. If it is racy: an earlier event it races with.
    #[inline]
    pub fn step(&mut self, event: EventId, thread: ThreadId, op: Op, order: MemoryOrder) -> Option<EventId> {
        self.step_as(event, event, thread, op, order)
    }

    /// The same, where accesses go by another number than that of the event: whatever is to be known of a partner.
    #[inline]
    pub fn step_as(
        &mut self,
        event: EventId,
        known_as: EventId,
        thread: ThreadId,
        op: Op,
        order: MemoryOrder,
    ) -> Option<EventId> {
        if thread.index() >= self.threads.len() || self.threads[thread.index()].last.is_none() {
            self.start(thread);
        }
        let previous = self.threads[thread.index()].last.replace(event);
        match op {
            Op::Read(variable) => self.read(known_as, thread, variable),
            Op::Write(variable) => self.write(known_as, thread, variable),
            Op::AtomicRead(_) | Op::AtomicWrite(_) | Op::AtomicUpdate(_) => {
                self.atomic(known_as, thread, op, order)
            }
            Op::Fence => {
                self.fence(thread, order);
                None
            }
            _ => {
                self.synchronise(event, thread, op, previous);
                None
            }
        }
    }

    /// A thread's own time starts at 1, so that 0 is before all it does.
    fn start(&mut self, thread: ThreadId) {
        let clock = &mut slot(&mut self.threads, thread.index()).clock;
        if clock.get(thread.index()) == 0 {
            clock.set(thread.index(), 1);
        }
    }

    #[inline]
    fn now(&self, event: EventId, thread: ThreadId) -> Epoch {
        let time = self.threads[thread.index()].clock.get(thread.index());
        Epoch { thread: thread.0, time, event }
    }

    #[inline]
    fn read(&mut self, event: EventId, thread: ThreadId, variable: VariableId) -> Option<EventId> {
        let now = self.now(event, thread);
        let clock = &self.threads[thread.index()].clock;
        let state = slot(&mut self.variables, variable.index());
        let mut partner = unordered(state.written, &self.crowds, clock);
        if state.atomics != NOBODY && partner.is_none() {
            partner = first_unordered(&self.atomics[state.atomics as usize].writes, clock);
        }
        match state.read.thread {
            CROWD => join_crowd(&mut self.crowds[state.read.time as usize], now),
            NOBODY => state.read = now,
            reader if reader == now.thread || state.read.happened_before(clock) => state.read = now,
            _ => state.read = gather(&mut self.crowds, &mut self.spare, &[state.read, now]),
        }
        partner
    }

    #[inline]
    fn write(&mut self, event: EventId, thread: ThreadId, variable: VariableId) -> Option<EventId> {
        let now = self.now(event, thread);
        let clock = &self.threads[thread.index()].clock;
        let state = slot(&mut self.variables, variable.index());
        let by_write = unordered(state.written, &self.crowds, clock);
        let by_read = unordered(state.read, &self.crowds, clock);
        // Of what happened before this write nothing needs to be known: who races with it races with this.
        match (by_write, state.written.thread) {
            (None, CROWD) => {
                self.spare.push(state.written.time);
                state.written = now;
            }
            (None, _) => state.written = now,
            (Some(_), CROWD) => {
                let crowd = &mut self.crowds[state.written.time as usize];
                crowd.retain(|epoch| !epoch.happened_before(clock));
                crowd.push(now);
            }
            (Some(_), _) => {
                state.written = gather(&mut self.crowds, &mut self.spare, &[state.written, now]);
            }
        }
        match (by_read, state.read.thread) {
            (None, CROWD) => {
                self.spare.push(state.read.time);
                state.read = NEVER;
            }
            (None, _) => state.read = NEVER,
            (Some(_), CROWD) => {
                self.crowds[state.read.time as usize].retain(|epoch| !epoch.happened_before(clock));
            }
            (Some(_), _) => {}
        }
        let mut partner = by_write.or(by_read);
        if state.atomics != NOBODY {
            let atomics = &mut self.atomics[state.atomics as usize];
            atomics.released.clear();
            atomics.writes.retain(|epoch| !epoch.happened_before(clock));
            atomics.reads.retain(|epoch| !epoch.happened_before(clock));
            let by_atomic = atomics.writes.first().or(atomics.reads.first());
            partner = partner.or(by_atomic.map(|epoch| epoch.event));
        }
        partner
    }

    /// Atomic accesses synchronise as their memory orders say, and never race with each other.
    fn atomic(&mut self, event: EventId, thread: ThreadId, op: Op, order: MemoryOrder) -> Option<EventId> {
        let access = op.access()?;
        let state = slot(&mut self.variables, access.variable.index());
        if state.atomics == NOBODY {
            state.atomics = self.atomics.len() as u32;
            self.atomics.push(Atomics::default());
        }
        let state = *state;
        let Thread { clock, promised, release_fence, .. } = &mut self.threads[thread.index()];
        let atomics = &mut self.atomics[state.atomics as usize];
        if access.reads {
            let received = if order.acquires() { &mut *clock } else { promised };
            atomics.released.iter().for_each(|(_, released)| received.join(released));
        }
        let mut partner = unordered(state.written, &self.crowds, clock);
        let now = Epoch { thread: thread.0, time: clock.get(thread.index()), event };
        if access.writes {
            partner = partner.or(unordered(state.read, &self.crowds, clock));
            join_crowd(&mut atomics.writes, now);
            let head = if order.releases() { Some(&*clock) } else { release_fence.as_ref() };
            let ends_others = !access.reads || order.acquires() && order.releases();
            atomics.go_on(thread, ends_others, head);
            if order.releases() {
                self.tick(thread);
            }
        } else {
            join_crowd(&mut atomics.reads, now);
        }
        partner
    }

    fn fence(&mut self, thread: ThreadId, order: MemoryOrder) {
        let Thread { clock, promised, release_fence, .. } = &mut self.threads[thread.index()];
        if order.acquires() {
            clock.join(promised);
        }
        if order.releases() {
            release_fence.get_or_insert_default().copy(clock);
            self.tick(thread);
        }
    }

    fn synchronise(&mut self, event: EventId, thread: ThreadId, op: Op, previous: Option<EventId>) {
        match op {
            Op::Acquire(lock) => self.acquire(thread, lock),
            Op::Release(lock) => {
                slot(&mut self.locks, lock.index()).released.copy(&self.threads[thread.index()].clock);
                self.tick(thread);
            }
            Op::AcquireShared(lock) => {
                let released = &slot(&mut self.locks, lock.index()).released;
                self.threads[thread.index()].clock.join(released);
            }
            Op::ReleaseShared(lock) => {
                slot(&mut self.locks, lock.index()).released_shared.join(&self.threads[thread.index()].clock);
                self.tick(thread);
            }
            Op::Fork(child) => {
                let clock = self.threads[thread.index()].clock.clone();
                slot(&mut self.threads, child.index()).clock.join(&clock);
                self.tick(thread);
            }
            Op::Join(child) => {
                let clock = slot(&mut self.threads, child.index()).clock.clone();
                self.threads[thread.index()].clock.join(&clock);
            }
            Op::Signal(condition) => self.signal(event, thread, condition, false),
            Op::Broadcast(condition) => self.signal(event, thread, condition, true),
            Op::Wait(condition) => self.wait(thread, condition, previous),
            Op::BarrierEnter(barrier) => self.enter(thread, barrier),
            Op::BarrierExit(barrier) => self.exit(thread, barrier),
            Op::Post(semaphore) => self.post(thread, semaphore),
            Op::Take(semaphore) => {
                if let Some(clock) = slot(&mut self.semaphores, semaphore.index()).take() {
                    self.threads[thread.index()].clock.join(&clock);
                }
            }
            // What they order, the locks around them order as well.
            Op::Request(_) | Op::RequestShared(_) => {}
            Op::Begin
            | Op::End
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::Branch(_)
            | Op::Mark(_)
            | Op::RegionBegin(_)
            | Op::RegionEnd(_) => {}
            Op::Fence
            | Op::Read(_)
            | Op::Write(_)
            | Op::AtomicRead(_)
            | Op::AtomicWrite(_)
            | Op::AtomicUpdate(_) => unreachable!("accesses and fences are taken in elsewhere"),
        }
    }

    /// A thread that has released must not seem to release what it does from now on.
    #[inline]
    fn tick(&mut self, thread: ThreadId) {
        let clock = &mut self.threads[thread.index()].clock;
        clock.set(thread.index(), clock.get(thread.index()) + 1);
    }

    fn acquire(&mut self, thread: ThreadId, lock: LockId) {
        let lock = slot(&mut self.locks, lock.index());
        let clock = &mut self.threads[thread.index()].clock;
        clock.join(&lock.released);
        clock.join(&lock.released_shared);
        // From now on it is part of whatever this thread will release.
        lock.released_shared.clear();
    }

    fn signal(&mut self, event: EventId, thread: ThreadId, condition: ConditionId, broadcast: bool) {
        let clock = self.threads[thread.index()].clock.clone();
        let signals = slot(&mut self.signals, condition.index());
        signals.recent.push_back(Signal { event, clock, broadcast, free: true });
        if signals.recent.len() > MOST_WAITING
            && let Some(oldest) = signals.recent.pop_front()
        {
            signals.older.join(&oldest.clock);
            signals.last_older = Some(oldest.event);
        }
        self.tick(thread);
    }

    /// Chooses the waker as [`trace::Matching`] does: the first free signal since the thread began to wait, or
    /// else the last of all.
    fn wait(&mut self, thread: ThreadId, condition: ConditionId, since: Option<EventId>) {
        let clock = &mut self.threads[thread.index()].clock;
        let signals = slot(&mut self.signals, condition.index());
        if signals.last_older.is_some_and(|older| Some(older) > since) {
            clock.join(&signals.older);
        }
        let start = signals.recent.partition_point(|signal| Some(signal.event) <= since);
        if let Some(waker) = signals.recent.range_mut(start..).find(|signal| signal.free) {
            waker.free = waker.broadcast;
            clock.join(&waker.clock);
        } else if let Some(last) = signals.recent.back() {
            clock.join(&last.clock);
        }
    }

    fn enter(&mut self, thread: ThreadId, barrier: BarrierId) {
        let collecting = slot(&mut self.collecting, barrier.index());
        let number = *collecting.get_or_insert_with(|| {
            self.next_instance += 1;
            self.next_instance
        });
        let instance = self.instances.entry(number).or_default();
        instance.clock.join(&self.threads[thread.index()].clock);
        instance.inside += 1;
        if let Some(abandoned) = self.entered.insert((barrier, thread), number) {
            self.leave(barrier, abandoned);
        }
        self.tick(thread);
    }

    fn exit(&mut self, thread: ThreadId, barrier: BarrierId) {
        let Some(number) = self.entered.remove(&(barrier, thread)) else { return };
        // The first exit shows that the party was complete.
        self.collecting[barrier.index()].take_if(|collecting| *collecting == number);
        if let Some(instance) = self.instances.get(&number) {
            self.threads[thread.index()].clock.join(&instance.clock);
        }
        self.leave(barrier, number);
    }

    fn leave(&mut self, barrier: BarrierId, number: u32) {
        let Some(instance) = self.instances.get_mut(&number) else { return };
        instance.inside -= 1;
        if instance.inside == 0 && self.collecting[barrier.index()] != Some(number) {
            self.instances.remove(&number);
        }
    }

    fn post(&mut self, thread: ThreadId, semaphore: SemaphoreId) {
        let clock = &self.threads[thread.index()].clock;
        let supply = slot(&mut self.semaphores, semaphore.index());
        if supply.distinct_posts() < MOST_WAITING {
            supply.post(clock.clone());
        } else {
            supply.post_with_last(|last| last.join(clock));
        }
        self.tick(thread);
    }
}

/// One of the accesses that does not happen before the current event.
#[inline]
fn unordered(last: Epoch, crowds: &[Crowd], clock: &Clock) -> Option<EventId> {
    match last.thread {
        NOBODY => None,
        CROWD => first_unordered(&crowds[last.time as usize], clock),
        _ => (!last.happened_before(clock)).then_some(last.event),
    }
}

fn first_unordered(crowd: &[Epoch], clock: &Clock) -> Option<EventId> {
    crowd.iter().find(|epoch| !epoch.happened_before(clock)).map(|epoch| epoch.event)
}

/// Puts an access in the place of its thread's last one.
fn join_crowd(crowd: &mut Crowd, now: Epoch) {
    match crowd.iter_mut().find(|epoch| epoch.thread == now.thread) {
        Some(epoch) => *epoch = now,
        None => crowd.push(now),
    }
}

/// A new crowd of these, as an epoch that stands for it.
fn gather(crowds: &mut Vec<Crowd>, spare: &mut Vec<u32>, epochs: &[Epoch]) -> Epoch {
    let number = spare.pop().unwrap_or_else(|| {
        crowds.push(Crowd::new());
        crowds.len() as u32 - 1
    });
    let crowd = &mut crowds[number as usize];
    crowd.clear();
    crowd.extend_from_slice(epochs);
    Epoch { thread: CROWD, time: number, event: EventId(0) }
}
