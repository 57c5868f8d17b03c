//! The decisions of the scheduler: who runs next, who waits for what, how long a turn is, when a program is deadlocked, and how a replay's
//! instructions are followed.
//!
//! Nothing here sleeps, makes a system call or touches another thread: what a decision needs from the machine comes through the [`World`], so
//! the same code runs inside a recorded program and in ordinary unit tests. A [`Schedule`] is plain data; [`crate::scheduler`] keeps it
//! behind a lock and does what it decides.
//!
//! # Invariants
//!
//! - At most one thread is [`State::Running`], and it is the one that [`Schedule::running`] names: it holds the token.
//! - A thread waits for a [`Key`] or a deadline exactly while it is [`State::Waiting`]; a wake-up of the key makes it ready.
//! - The same seed and the same calls give the same decisions. Real time decides only under [`Policy::Os`](wire::Policy)
//!   and while threads are outside ([`time`]).

mod fixed;
mod policy;
mod replay;
mod roster;
mod time;
mod turns;
mod waits;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::room_for_tests;

use core::ops::{Index, IndexMut};
use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

use wire::{PendingAccess, Waker};

pub(crate) use fixed::Fixed;
pub(crate) use policy::{Chooser, GaveUp};
pub(crate) use replay::{Replay, Report};
pub(crate) use time::{Pace, Witness};
pub(crate) use turns::Return;
pub(crate) use waits::{Resumed, Sleep};
pub(crate) use wire::ThreadState as State;

/// No deadline.
pub(crate) const NEVER: u64 = u64::MAX;
/// The longest turn without a look at the schedule.
const LONGEST_TURN: i64 = 1 << 20;
/// The shortest turn of one of several threads once nothing is recorded any more.
const UNRECORDED_TURN: i64 = 10_000;

/// A thread's index, for as long as the thread is known. A new thread takes over the slot of one that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u32);

/// What a thread waits for: the address of a lock or the like, or the end of another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u64);

impl Key {
    /// Nothing that anyone could wake it from.
    pub(crate) const NONE: Key = Key(0);
    /// Above every address of a program.
    const ENDS: u64 = 1 << 63;

    /// The object at this address.
    pub(crate) fn address(address: u64) -> Key {
        Key(address)
    }

    /// The end of this thread.
    pub(crate) fn end_of(thread: Slot) -> Key {
        Key(Key::ENDS | u64::from(thread.0))
    }

    /// The thread whose end is waited for, if it is one.
    pub(crate) fn ending(self) -> Option<Slot> {
        (self.0 & Key::ENDS != 0).then_some(Slot(self.0 as u32))
    }

    /// The address; of no meaning for the end of a thread.
    pub(crate) fn to_address(self) -> u64 {
        self.0
    }

    /// Whether it is a futex: their words are aligned, so the lowest bit is free to say so.
    pub(crate) fn is_futex(self) -> bool {
        self.0 & 1 != 0 && self.ending().is_none()
    }

    fn hash(self) -> usize {
        (self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize
    }
}

/// A thread, as far as decisions need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its number in the log.
    pub(crate) number: u32,
    pub(crate) state: State,
    pub(crate) key: Key,
    /// Until when it waits, or is outside, in virtual nanoseconds.
    pub(crate) deadline: u64,
    /// The same in real nanoseconds.
    pub(crate) real_deadline: u64,
    /// When it began to wait for its turn or its key: the first comes first.
    pub(crate) since: u64,
    pub(crate) priority: u64,
    /// How often it has yielded since its priority changed.
    pub(crate) yields: u32,
    /// What ended its last wait.
    pub(crate) woken: Waker,
    pub(crate) timed_out: bool,
    /// It got the token because nobody else could run, and has to sleep until this virtual time.
    pub(crate) sleeps_out: Option<u64>,
    readings: time::Readings,
    /// Its position, in schedulable events, when its budget was granted, and how large that was.
    position_at_grant: u64,
    granted: i64,
    /// Its number in the table of threads of a replay, if it is there.
    pub(crate) role: Option<u32>,
    /// How many threads it has created.
    pub(crate) children: u32,
    /// How many numbers of files it was given that it was given in the recorded run as well.
    pub(crate) opened: u32,
    /// The access that it is about to make, its budget used up, and at which position: of no meaning at another one.
    pub(crate) pending: Option<(u64, PendingAccess)>,
    /// It has nothing left to do but to go into a library, where others wait for it.
    pub(crate) leaves: bool,
}

impl Entry {
    fn new(number: u32, since: u64) -> Entry {
        Entry {
            number,
            state: State::Ready,
            key: Key::NONE,
            deadline: NEVER,
            real_deadline: NEVER,
            since,
            priority: 0,
            yields: 0,
            woken: Waker::Signal,
            timed_out: false,
            sleeps_out: None,
            readings: time::Readings::default(),
            position_at_grant: 0,
            granted: 0,
            role: None,
            children: 0,
            opened: 0,
            pending: None,
            leaves: false,
        }
    }

    /// Whether only a wake-up can end its wait.
    fn waits_for_good(&self) -> bool {
        self.state == State::Waiting && self.deadline == NEVER
    }
}

/// When a wait ends: in virtual nanoseconds, and in real ones of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) virtual_time: u64,
    pub(crate) real_time: u64,
}

impl End {
    /// Never.
    pub(crate) const NEVER: End = End { virtual_time: NEVER, real_time: NEVER };

    /// Whether only a wake-up ends the wait.
    pub(crate) fn is_never(self) -> bool {
        self.virtual_time == NEVER
    }
}

/// What decisions need from, and do to, the world outside.
pub(crate) trait World {
    /// How many events the thread may still perform.
    fn budget(&self, thread: Slot) -> i64;
    /// Lets the thread perform this number of events.
    fn set_budget(&self, thread: Slot, events: i64);
    /// Makes room for a new thread with this number; whether there is any.
    fn prepare(&self, thread: Slot, number: u32) -> bool;
    /// The time on the monotonic clock, in nanoseconds.
    fn real_time(&self) -> u64;
    /// What is outside that can tell whether time passes.
    fn witness(&self) -> Witness;
    /// Whether a signal may still change what threads wait for.
    fn signals_may_arrive(&self) -> bool;
    /// The events that follow are of the thread with this number.
    fn switch_to(&self, number: u32);
    /// No thread can go on, as this thread found, or the watchdog.
    fn deadlock(&self, found_by: Option<Slot>);
    /// Something about a replay that its user is to learn.
    fn report(&self, report: Report);
    /// Names a thread for debuggers.
    fn name_thread(&self, thread: Slot, name: &[u8]);
    /// The replay has performed this number of steps; whether a debugger waits for that.
    fn comes_to(&self, step: u64) -> bool;
    /// A debugger that is there may look at the threads now.
    fn stop_for_debugger(&self);
    /// The lock of a crate, or the like, that the thread is inside of: what it waits for there is the lock's own affair.
    fn hidden_object(&self, _thread: Slot) -> Option<u64> {
        None
    }
    /// Ends the program: the replay is over.
    fn end_program(&self);
}

/// The threads, by their slots.
pub(crate) struct Entries(Fixed<Entry>);

impl Index<Slot> for Entries {
    type Output = Entry;

    fn index(&self, slot: Slot) -> &Entry {
        &self.0[slot.0 as usize]
    }
}

impl IndexMut<Slot> for Entries {
    fn index_mut(&mut self, slot: Slot) -> &mut Entry {
        &mut self.0[slot.0 as usize]
    }
}

impl Entries {
    /// The thread's position: how many schedulable events it has performed.
    pub(crate) fn position(&self, thread: Slot, world: &impl World) -> u64 {
        self[thread].position_at_grant + self.used(thread, world)
    }

    fn used(&self, thread: Slot, world: &impl World) -> u64 {
        (self[thread].granted - world.budget(thread)) as u64
    }

    fn grant(&mut self, thread: Slot, events: i64, world: &impl World) {
        self[thread].position_at_grant = self.position(thread, world);
        self[thread].granted = events;
        world.set_budget(thread, events);
    }

    /// What the thread is about to do, if that is known.
    fn pending(&self, thread: Slot, world: &impl World) -> Option<PendingAccess> {
        let (position, pending) = self[thread].pending?;
        (position == self.position(thread, world)).then_some(pending)
    }
}

/// What the holder of the token reads without the lock. It never misses what happened before it got the token.
pub(crate) struct UnlockedView {
    /// How many threads wait for keys with this hash: most releases wake nobody.
    waiting: [AtomicU16; 256],
    /// Whether a replay's instructions are being followed.
    following: AtomicBool,
    /// The virtual time, as far as it is counted.
    now: AtomicU64,
}

impl UnlockedView {
    pub(crate) const fn new() -> UnlockedView {
        UnlockedView {
            waiting: [const { AtomicU16::new(0) }; 256],
            following: AtomicBool::new(false),
            now: AtomicU64::new(0),
        }
    }

    /// Whether anyone may be waiting for this key.
    #[inline]
    pub(crate) fn may_wait(&self, key: Key) -> bool {
        self.waiting[key.hash()].load(Ordering::Relaxed) != 0
    }

    /// Whether a replay's instructions are being followed.
    #[inline]
    pub(crate) fn is_following(&self) -> bool {
        self.following.load(Ordering::Relaxed)
    }

    /// The virtual time, as far as it is counted.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    fn set_now(&self, now: u64) {
        self.now.store(now, Ordering::Relaxed);
    }

    /// Counts one waiter more. The schedule's owner alone changes the counts.
    fn add(&self, key: Key) {
        let count = &self.waiting[key.hash()];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn remove(&self, key: Key) {
        let count = &self.waiting[key.hash()];
        count.store(count.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }
}

/// Everything that is decided on.
pub(crate) struct Schedule {
    unlocked_view: &'static UnlockedView,
    chooser: Chooser,
    pub(crate) replay: Replay,
    entries: Entries,
    /// Known threads, in the order of their creation; the ended ones until they are joined.
    order: Fixed<Slot>,
    /// Slots of threads that are gone, for new ones.
    free: Fixed<Slot>,
    /// Scratch, as long as `order`.
    candidates: Fixed<Slot>,
    running: Option<Slot>,
    next_number: u32,
    /// Threads in [`State::Outside`].
    outside: u32,
    /// Virtual nanoseconds. Changed by [`time`] alone.
    now: u64,
    pace: Pace,
    pause: Option<time::Pause>,
    anchor: Option<time::Anchor>,
    /// How often it was the time at once that all threads waited for.
    jumps: u32,
    /// Schedulable events of all threads.
    events: u64,
    max_events: u64,
    /// Order of beginnings of waits.
    ticket: u64,
}

/// Memory for a schedule.
pub(crate) struct Room {
    pub(crate) entries: Fixed<Entry>,
    pub(crate) order: Fixed<Slot>,
    pub(crate) free: Fixed<Slot>,
    pub(crate) candidates: Fixed<Slot>,
}

impl Schedule {
    /// A schedule without room for any thread.
    pub(crate) const fn empty(unlocked_view: &'static UnlockedView) -> Schedule {
        Schedule {
            unlocked_view,
            chooser: Chooser::NONE,
            replay: Replay::off(),
            entries: Entries(Fixed::EMPTY),
            order: Fixed::EMPTY,
            free: Fixed::EMPTY,
            candidates: Fixed::EMPTY,
            running: None,
            next_number: 0,
            outside: 0,
            now: 0,
            pace: Pace::Virtual,
            pause: None,
            anchor: None,
            jumps: 0,
            events: 0,
            max_events: u64::MAX,
            ticket: 0,
        }
    }

    /// Uses this memory from here on.
    pub(crate) fn set_room(&mut self, room: Room) {
        self.entries = Entries(room.entries);
        (self.order, self.free, self.candidates) = (room.order, room.free, room.candidates);
    }

    /// Whether there is memory.
    pub(crate) fn has_room(&self) -> bool {
        self.order.capacity() > 0
    }

    /// Starts over: the calling thread is the first, and holds the token.
    pub(crate) fn begin(&mut self, chooser: Chooser, max_events: u64, world: &impl World) -> Option<Slot> {
        self.chooser = chooser;
        self.max_events = max_events;
        self.entries.0.clear();
        self.order.clear();
        self.free.clear();
        self.candidates.clear();
        self.running = None;
        (self.next_number, self.outside, self.events, self.ticket) = (0, 0, 0, 0);
        self.begin_time();
        for count in &self.unlocked_view.waiting {
            count.store(0, Ordering::Relaxed);
        }
        let first = self.add(world)?;
        self.entries[first].state = State::Running;
        self.running = Some(first);
        self.replay.begin(first, &mut self.entries);
        self.publish_phase();
        self.give_budget(first, world);
        Some(first)
    }

    /// Who has the token.
    pub(crate) fn running(&self) -> Option<Slot> {
        self.running
    }

    /// How many threads run without the token.
    pub(crate) fn outside(&self) -> u32 {
        self.outside
    }

    /// What the thread is doing.
    pub(crate) fn state(&self, thread: Slot) -> State {
        self.entries[thread].state
    }

    /// Schedulable events of all threads, as far as they are counted.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Whether as many events are counted as were asked for.
    pub(crate) fn is_over_limit(&self) -> bool {
        self.events >= self.max_events
    }

    /// Lets the thread run for a while before the schedule is asked again.
    pub(crate) fn give_budget(&mut self, thread: Slot, world: &impl World) {
        self.count(thread, world);
        // A turn ends where the log does. After that nobody records, so turns need not be short.
        let (shortest, longest) = match self.max_events.saturating_sub(self.events) {
            0 => (UNRECORDED_TURN, LONGEST_TURN),
            left => (1, left.min(LONGEST_TURN as u64) as i64),
        };
        let quantum = match self.replay.budget(thread, &self.entries, world) {
            Some(events) => events.min(longest),
            None if self.order.len() == 1 => longest,
            None => self.chooser.quantum(self.events).clamp(shortest, longest),
        };
        self.entries.grant(thread, quantum, world);
    }

    /// Counts what the thread has done since it was last counted. No budget is left.
    pub(crate) fn count(&mut self, thread: Slot, world: &impl World) {
        let done = self.entries.used(thread, world);
        self.entries.grant(thread, 0, world);
        self.events += done;
        self.pass(done * time::EVENT);
        self.is_not_stuck();
    }

    /// The thread, which has no budget left, is about to make this access.
    pub(crate) fn stop_before(&mut self, thread: Slot, pending: PendingAccess, world: &impl World) {
        let position = self.entries.position(thread, world);
        self.entries[thread].pending = Some((position, pending));
    }

    /// Makes the replay's phase visible without the lock.
    fn publish_phase(&self) {
        self.unlocked_view.following.store(self.replay.is_following(), Ordering::Relaxed);
    }
}
