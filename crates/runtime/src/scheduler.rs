//! The token: who has it, who wants it, who waits for what.
//!
//! Every thread is in a [`State`]. Transitions happen under a lock of our own, by the holder of the token, by
//! a thread that comes back from outside, or by the watchdog. What a thread waits for is an address (a lock, a condition
//! variable, a thread to be joined); a release of that address makes its waiters ready, and they try again.

use core::cell::UnsafeCell;
use core::hint;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rawlog::{Kind, MAX_TABLES, Stop, Table, Waker};

use crate::clock::{EVENT, End, Wait};
use crate::interpose::signals;
use crate::policy::{Chooser, GaveUp};
use crate::replay::{Next, replay};
use crate::settings::Settings;
use crate::start;
use crate::sys;
use crate::thread::{self, NEVER, State, Thread, gate};
use crate::writer::{self, writer};

/// The most threads at a time. More are not recorded one by one but run outside our sight.
const MAX_THREADS: usize = 1 << 15;
/// How long a thread that gave the token away looks for its next turn before it sleeps.
const SPINS: u32 = 150;
/// The exit status of a program that was ended because no thread could go on.
pub(crate) const DEADLOCK_STATUS: i32 = 99;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Woken,
    TimedOut,
    /// Signals arrived and were handled.
    Interrupted,
}

/// The scheduler's state.
pub(crate) struct Scheduler {
    lock: AtomicU32,
    pub(crate) settings: Settings,
    chooser: Chooser,
    /// Who has the token; null: nobody.
    pub(crate) running: *mut Thread,
    /// Known threads, in the order of their creation; the ended ones until they are joined.
    threads: *mut *mut Thread,
    known_count: usize,
    /// Scratch as long as `threads`.
    candidates: *mut *mut Thread,
    /// Memory of threads that are gone, for new ones.
    free: *mut *mut Thread,
    free_count: usize,
    next_number: u32,
    next_table: u32,
    /// Threads in [`State::Outside`].
    pub(crate) outside: u32,
    /// How many threads wait for keys with this hash: most releases wake nobody.
    waiting: [u16; 256],
    /// Virtual nanoseconds.
    now: u64,
    /// Schedulable events of all threads.
    events: u64,
    /// Order of beginnings of waits.
    ticket: u64,
    /// The kernel id of a thread that has ended but may not be gone.
    exiting: u32,
    pub(crate) process: u32,
}

struct Cell(UnsafeCell<Scheduler>);

// SAFETY: guarded by `lock` and the token; see the head of this file.
unsafe impl Sync for Cell {}

static SCHEDULER: Cell = Cell(UnsafeCell::new(Scheduler {
    lock: AtomicU32::new(0),
    settings: Settings::NONE,
    chooser: Chooser::NONE,
    running: ptr::null_mut(),
    threads: ptr::null_mut(),
    known_count: 0,
    candidates: ptr::null_mut(),
    free: ptr::null_mut(),
    free_count: 0,
    next_number: 0,
    next_table: 0,
    outside: 0,
    waiting: [0; 256],
    now: 0,
    events: 0,
    ticket: 0,
    exiting: 0,
    process: 0,
}));

/// Whether threads are scheduled at all. Without, the runtime is passive.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Whether threads are scheduled at all.
#[inline(always)]
pub(crate) fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// The scheduler.
///
/// # Safety
/// The caller holds the token or takes the lock before it changes what others see.
pub(crate) unsafe fn scheduler() -> &'static mut Scheduler {
    &mut *SCHEDULER.0.get()
}

/// Starts scheduling: the calling thread is the first and holds the token.
///
/// # Safety
/// The process has one thread, and the log is open.
pub(crate) unsafe fn begin_with(first_stack: (u64, u64)) {
    let this = scheduler();
    this.process = sys::getpid();
    this.chooser = Chooser::new(&this.settings);
    if this.threads.is_null() {
        let bytes = MAX_THREADS * size_of::<*mut Thread>();
        this.threads = sys::map_memory(bytes).cast();
        this.candidates = sys::map_memory(bytes).cast();
        this.free = sys::map_memory(bytes).cast();
        if this.threads.is_null() || this.candidates.is_null() || this.free.is_null() {
            return;
        }
    }
    this.running = ptr::null_mut();
    (this.known_count, this.next_number, this.next_table, this.outside, this.exiting) = (0, 0, 0, 0, 0);
    (this.free_count, this.now, this.events, this.ticket) = (0, 0, 0, 0);
    this.waiting = [0; 256];
    this.lock.store(0, Ordering::Relaxed);
    let Some(first) = this.add() else { return };
    (*first).kernel_id.store(sys::gettid(), Ordering::Relaxed);
    (*first).state = State::Running;
    this.running = first;
    thread::set_current(first);
    replay().begun(first);
    ACTIVE.store(true, Ordering::Relaxed);
    this.give_budget(first);
    begin(first, first_stack);
}

/// Stops scheduling for good: every hook returns at once.
///
/// # Safety
/// Called by the holder of the token, or by the process's only thread.
pub(crate) unsafe fn stop() {
    ACTIVE.store(false, Ordering::Relaxed);
    for thread in scheduler().known() {
        (**thread).gate.fetch_or(gate::PASSIVE, Ordering::Relaxed);
    }
}

/// Writes the first event of the calling thread.
///
/// # Safety
/// The thread holds the token.
pub(crate) unsafe fn begin(thread: *mut Thread, (low, high): (u64, u64)) {
    let table = u64::from((*thread).table_number);
    let kernel_id = u64::from((*thread).kernel_id.load(Ordering::Relaxed));
    (*thread).began = true;
    writer::detailed(thread, Kind::Begin, 0, low, &[high, table, kernel_id], b"");
}

impl Scheduler {
    /// Takes the lock.
    pub(crate) fn lock(&self) {
        let mut spins = 0;
        while self.lock.swap(1, Ordering::Acquire) != 0 {
            spins += 1;
            if spins % 64 == 0 {
                sys::yield_now();
            }
            hint::spin_loop();
        }
    }

    /// Gives the lock back.
    pub(crate) fn unlock(&self) {
        self.lock.store(0, Ordering::Release);
    }

    /// Known threads.
    pub(crate) fn known(&self) -> &[*mut Thread] {
        if self.threads.is_null() {
            return &[];
        }
        // SAFETY: `known_count` entries are set.
        unsafe { core::slice::from_raw_parts(self.threads, self.known_count) }
    }

    /// Makes a new thread, ready to run. None if there are too many.
    ///
    /// # Safety
    /// By the holder of the token, or before there are several threads, or under the lock.
    pub(crate) unsafe fn add(&mut self) -> Option<*mut Thread> {
        if self.known_count == MAX_THREADS {
            return None;
        }
        let thread = if self.free_count > 0 {
            self.free_count -= 1;
            *self.free.add(self.free_count)
        } else {
            self.make()?
        };
        Thread::reset(thread, self.next_number, writer().progress());
        if writer().is_closed() {
            (*thread).gate.store(gate::QUIET, Ordering::Relaxed);
        }
        self.next_number += 1;
        self.ticket += 1;
        (*thread).since = self.ticket;
        self.chooser.welcome(&mut *thread);
        *self.threads.add(self.known_count) = thread;
        self.known_count += 1;
        Some(thread)
    }

    /// The same under the lock.
    pub(crate) unsafe fn add_locked(&mut self) -> Option<*mut Thread> {
        self.lock();
        let thread = self.add();
        self.unlock();
        thread
    }

    /// Takes back the thread that was added last: it could not be created.
    pub(crate) unsafe fn take_back(&mut self, thread: *mut Thread) {
        (*thread).state = State::Finished;
        self.forget(thread);
        self.next_number -= 1;
    }

    /// Memory for a thread and its table. Beyond the most tables, threads share them.
    unsafe fn make(&mut self) -> Option<*mut Thread> {
        let own_table = u64::from(self.next_table) < MAX_TABLES;
        let bytes = size_of::<Thread>() + if own_table { size_of::<Table>() } else { 0 };
        let memory = sys::map_memory(bytes);
        if memory.is_null() {
            return None;
        }
        let thread: *mut Thread = memory.cast();
        if own_table {
            (*thread).table_number = self.next_table;
            (*thread).table = memory.add(size_of::<Thread>()).cast();
        } else {
            let other = *self.threads.add(self.next_table as usize % self.known_count.max(1));
            (*thread).table_number = (*other).table_number;
            (*thread).table = (*other).table;
        }
        self.next_table += 1;
        Some(thread)
    }

    /// Forgets a thread that has ended.
    ///
    /// # Safety
    /// By the holder of the token; the thread never runs again.
    pub(crate) unsafe fn forget(&mut self, thread: *mut Thread) {
        if let Some(index) = self.known().iter().position(|&known| known == thread) {
            self.lock();
            let after = self.threads.add(index + 1);
            ptr::copy(after, after.sub(1), self.known_count - index - 1);
            self.known_count -= 1;
            *self.free.add(self.free_count) = thread;
            self.free_count += 1;
            self.unlock();
        }
    }

    /// The thread with this pthread handle.
    pub(crate) fn find(&self, handle: u64) -> Option<*mut Thread> {
        // SAFETY: known threads stay known while their holder of the token looks.
        self.known()
            .iter()
            .copied()
            .find(|&thread| unsafe { (*thread).handle == handle && (*thread).number > 0 })
    }

    /// Whether there is another thread that could ever run.
    pub(crate) fn is_alone(&self) -> bool {
        // SAFETY: as above.
        self.known().iter().filter(|&&thread| unsafe { (*thread).state } != State::Finished).count() <= 1
    }

    /// Lets the thread run for a while before it is asked again.
    ///
    /// # Safety
    /// By the holder of the token.
    pub(crate) unsafe fn give_budget(&mut self, thread: *mut Thread) {
        self.count(thread);
        let left = self.settings.max_events.saturating_sub(self.events).min(1 << 20) as i64;
        let quantum = match replay().budget(thread) {
            Some(events) => events,
            None if self.known_count == 1 => 1 << 20,
            None => self.chooser.quantum(self.events),
        };
        (*thread).grant(quantum.min(left.max(1)));
    }

    /// Counts what the thread has done since it was last counted. No budget is left.
    unsafe fn count(&mut self, thread: *mut Thread) {
        let done = (*thread).used();
        (*thread).grant(0);
        self.events += done;
        self.now += done * EVENT;
    }

    /// Counts, and sees to the log's limits.
    unsafe fn account(&mut self, thread: *mut Thread) {
        self.count(thread);
        start::refresh_modules();
        writer().cut_run();
        if self.events >= self.settings.max_events && !writer().is_closed() {
            writer().stop(thread, Stop::Limit);
            self.quieten();
        }
    }

    /// Nothing is written any more, but the schedule goes on.
    pub(crate) unsafe fn quieten(&mut self) {
        for &thread in self.known() {
            (*thread).gate.fetch_or(gate::QUIET, Ordering::Relaxed);
        }
    }

    /// Whether the thread could run now.
    unsafe fn can_run(&self, thread: *mut Thread) -> bool {
        match (*thread).state {
            State::Ready | State::Running => true,
            State::Waiting => (*thread).deadline <= self.now,
            State::Outside | State::Finished => false,
        }
    }

    /// Who runs next, made running; null if nobody can. The lock is held.
    unsafe fn pick(&mut self, current: *mut Thread, gave_up: GaveUp) -> *mut Thread {
        let next = match replay().next(self) {
            Next::Run(thread) => thread,
            Next::Await => ptr::null_mut(),
            Next::Choose => self.choose(current, gave_up),
        };
        if next.is_null() {
            self.running = ptr::null_mut();
            return next;
        }
        self.run(next);
        next
    }

    /// Who runs next by the policy; null if nobody can.
    unsafe fn choose(&mut self, current: *mut Thread, gave_up: GaveUp) -> *mut Thread {
        let mut found = 0;
        for index in 0..self.known_count {
            let thread = *self.threads.add(index);
            if self.can_run(thread) {
                *self.candidates.add(found) = thread;
                found += 1;
            }
        }
        match found {
            0 => self.earliest_sleeper(),
            1 => *self.candidates,
            _ => {
                let candidates = core::slice::from_raw_parts(self.candidates, found);
                candidates[self.chooser.choose(current, candidates, gave_up)]
            }
        }
    }

    /// The thread that will wake first, if nobody else can run and none may come back from outside meanwhile.
    unsafe fn earliest_sleeper(&mut self) -> *mut Thread {
        if self.outside > 0 {
            return ptr::null_mut();
        }
        let mut earliest: *mut Thread = ptr::null_mut();
        for &thread in self.known() {
            if (*thread).state == State::Waiting
                && (*thread).deadline != NEVER
                && (earliest.is_null() || (*thread).deadline < (*earliest).deadline)
            {
                earliest = thread;
            }
        }
        if !earliest.is_null() {
            self.now = self.now.max((*earliest).deadline);
            (*earliest).sleeps_out = true;
        }
        earliest
    }

    /// Gives the token to this thread. The lock is held.
    pub(crate) unsafe fn run(&mut self, thread: *mut Thread) {
        if (*thread).state == State::Waiting {
            (*thread).timed_out = true;
            self.no_longer_waits(thread);
        }
        (*thread).state = State::Running;
        self.running = thread;
        self.give_budget(thread);
        writer().switch((*thread).number);
    }

    unsafe fn no_longer_waits(&mut self, thread: *mut Thread) {
        if (*thread).key != 0 {
            self.waiting[slot((*thread).key)] -= 1;
        }
        (*thread).key = 0;
        (*thread).deadline = NEVER;
    }

    unsafe fn make_ready(&mut self, thread: *mut Thread) {
        self.no_longer_waits(thread);
        (*thread).state = State::Ready;
        self.ticket += 1;
        (*thread).since = self.ticket;
    }

    /// Gives the token away and, if the thread may go on later, waits until it is back. The lock is held on
    /// entry and given back.
    unsafe fn hand_over(&mut self, thread: *mut Thread, gave_up: GaveUp) {
        self.ticket += 1;
        (*thread).since = self.ticket;
        let next = self.pick(thread, gave_up);
        if next == thread {
            self.unlock();
        } else {
            let comes_back = matches!((*thread).state, State::Ready | State::Running | State::Waiting);
            if comes_back && (*thread).state == State::Running {
                (*thread).state = State::Ready;
            }
            if next.is_null() && self.outside == 0 {
                self.nobody_can_run(thread);
            }
            self.unlock();
            pass_turn(next);
            if !comes_back {
                return;
            }
            await_turn(thread);
        }
        if (*thread).sleeps_out {
            let end = (*thread).real_deadline;
            sys::sleep(end.saturating_sub(sys::now(libc::CLOCK_MONOTONIC)));
            (*thread).sleeps_out = false;
        }
    }

    /// No thread can go on. A handler of a signal may still change that; otherwise it is a deadlock.
    unsafe fn nobody_can_run(&mut self, thread: *mut Thread) {
        if self.someone_waits() && !signals::may_arrive() {
            self.deadlock(thread);
        }
    }

    /// Whether any thread waits.
    pub(crate) unsafe fn someone_waits(&self) -> bool {
        self.known().iter().any(|&known| (*known).state == State::Waiting)
    }

    /// Ends the log, and the program if that is wanted.
    pub(crate) unsafe fn deadlock(&mut self, thread: *mut Thread) {
        writer().stop(thread, Stop::Deadlock);
        if self.settings.stop_at_deadlock {
            sys::exit_group(DEADLOCK_STATUS);
        }
    }

    /// The thread's budget is used up: someone else's turn, perhaps.
    ///
    /// # Safety
    /// The thread is the caller's and holds the token.
    #[cold]
    pub(crate) unsafe fn preempt(&mut self, thread: *mut Thread, gave_up: GaveUp) {
        self.account(thread);
        if self.known_count == 1 && !replay().is_following() {
            return self.give_budget(thread);
        }
        self.lock();
        self.hand_over(thread, gave_up);
    }

    /// Waits for a wake-up on the key, not longer than asked for. Signals that arrive meanwhile are handled before
    /// this returns.
    ///
    /// # Safety
    /// The thread is the caller's and holds the token.
    pub(crate) unsafe fn block(&mut self, thread: *mut Thread, key: u64, end: End) -> Ended {
        self.account(thread);
        self.lock();
        (*thread).state = State::Waiting;
        (*thread).timed_out = false;
        (*thread).key = key;
        if key != 0 {
            self.waiting[slot(key)] += 1;
        }
        (*thread).deadline = end.virtual_time;
        (*thread).real_deadline = end.real_time;
        self.hand_over(thread, GaveUp::Willingly);
        if (*thread).timed_out {
            Ended::TimedOut
        } else if signals::deliver(thread) {
            Ended::Interrupted
        } else {
            Ended::Woken
        }
    }

    /// When a wait that starts now ends.
    pub(crate) unsafe fn end_of(&mut self, thread: *mut Thread, wait: Wait) -> End {
        self.account(thread);
        self.give_budget(thread);
        End { virtual_time: self.now.saturating_add(wait.length), real_time: wait.real_end }
    }

    /// Makes everyone who waits for this key ready.
    ///
    /// # Safety
    /// By the holder of the token.
    pub(crate) unsafe fn wake_all(&mut self, key: u64, by: Waker) {
        if self.waiting[slot(key)] == 0 {
            return;
        }
        self.lock();
        for index in 0..self.known_count {
            let thread = *self.threads.add(index);
            if (*thread).state == State::Waiting && (*thread).key == key {
                (*thread).woken = by;
                self.make_ready(thread);
            }
        }
        self.unlock();
    }

    /// Makes one of those who wait for this key ready.
    ///
    /// # Safety
    /// By the holder of the token.
    pub(crate) unsafe fn wake_one(&mut self, key: u64, by: Waker) {
        if self.waiting[slot(key)] == 0 {
            return;
        }
        self.lock();
        let found = self.gather_waiters(key);
        if found > 0 {
            let waiters = core::slice::from_raw_parts(self.candidates, found);
            let wanted = replay().waiter(waiters);
            let thread = waiters[wanted.unwrap_or_else(|| self.chooser.choose_waiter(waiters))];
            (*thread).woken = by;
            self.make_ready(thread);
        }
        self.unlock();
    }

    unsafe fn gather_waiters(&mut self, key: u64) -> usize {
        let mut found = 0;
        for index in 0..self.known_count {
            let thread = *self.threads.add(index);
            if (*thread).state == State::Waiting && (*thread).key == key {
                *self.candidates.add(found) = thread;
                found += 1;
            }
        }
        found
    }

    /// How many threads wait for this key.
    ///
    /// # Safety
    /// By the holder of the token.
    pub(crate) unsafe fn waiters(&mut self, key: u64) -> usize {
        if self.waiting[slot(key)] == 0 {
            return 0;
        }
        self.lock();
        let found = self.gather_waiters(key);
        self.unlock();
        found
    }

    /// Lets others run while the thread is in a call that may block.
    ///
    /// # Safety
    /// The thread is the caller's and holds the token.
    pub(crate) unsafe fn leave(&mut self, thread: *mut Thread) {
        self.account(thread);
        self.lock();
        (*thread).gate.fetch_or(gate::STOLEN, Ordering::Relaxed);
        (*thread).state = State::Outside;
        self.outside += 1;
        self.hand_over(thread, GaveUp::Willingly);
    }

    /// Takes the token back after [`Scheduler::leave`], or after the watchdog took it away.
    ///
    /// # Safety
    /// The thread is the caller's.
    #[cold]
    pub(crate) unsafe fn come_back(&mut self, thread: *mut Thread) {
        self.lock();
        (*thread).gate.fetch_and(!gate::STOLEN, Ordering::Relaxed);
        if (*thread).state != State::Outside {
            return self.unlock();
        }
        self.outside -= 1;
        (*thread).state = State::Ready;
        self.ticket += 1;
        (*thread).since = self.ticket;
        if !self.running.is_null() {
            self.unlock();
            return await_turn(thread);
        }
        let next = if replay().is_following() {
            self.pick(thread, GaveUp::Willingly)
        } else {
            self.run(thread);
            thread
        };
        self.unlock();
        if next == thread {
            return self.wait_for_the_gone();
        }
        pass_turn(next);
        await_turn(thread);
    }

    /// Gives the token to anyone who can run, as long as nobody has it: by the watchdog. The lock is held; returns
    /// who must be told.
    pub(crate) unsafe fn pick_for_nobody(&mut self) -> *mut Thread {
        let real = sys::now(libc::CLOCK_MONOTONIC);
        for index in 0..self.known_count {
            let thread = *self.threads.add(index);
            if (*thread).state == State::Waiting && (*thread).real_deadline <= real {
                self.now = self.now.max((*thread).deadline);
            }
        }
        if replay().is_following() || self.known().iter().any(|&thread| self.can_run(thread)) {
            self.pick(ptr::null_mut(), GaveUp::Willingly)
        } else {
            ptr::null_mut()
        }
    }

    /// Whether another thread than this one could run.
    pub(crate) unsafe fn others_can_run(&self, thread: *mut Thread) -> bool {
        self.known().iter().any(|&other| other != thread && self.can_run(other))
    }

    /// Takes the token from a thread that is stuck outside our sight. The lock is held; returns who must be told.
    pub(crate) unsafe fn take_away(&mut self, thread: *mut Thread) -> *mut Thread {
        (*thread).state = State::Outside;
        self.outside += 1;
        self.pick(thread, GaveUp::Willingly)
    }

    /// The calling thread has ended.
    ///
    /// # Safety
    /// The thread is the caller's, holds the token, and makes no event any more.
    pub(crate) unsafe fn finish(&mut self, thread: *mut Thread) {
        writer::simple(thread, Kind::End, 0, 0);
        self.account(thread);
        let detached = (*thread).detached;
        let kernel_id = (*thread).kernel_id.load(Ordering::Relaxed);
        self.wake_all(thread as u64, Waker::Signal);
        replay().ended(thread);
        (*thread).state = State::Finished;
        if detached {
            self.forget(thread);
        }
        self.exiting = kernel_id;
        self.lock();
        let next = self.pick(thread, GaveUp::Willingly);
        if next.is_null() && self.outside == 0 {
            self.nobody_can_run(ptr::null_mut());
        }
        self.unlock();
        pass_turn(next);
    }

    /// Waits until the kernel has let go of the last thread that ended: its stack is used again, and which thread
    /// gets it should not depend on time.
    unsafe fn wait_for_the_gone(&mut self) {
        let exiting = core::mem::take(&mut self.exiting);
        if exiting == 0 || exiting == self.process {
            return;
        }
        for round in 0..2000 {
            if sys::is_gone(self.process, exiting) {
                return;
            }
            if round < 100 {
                sys::yield_now();
            } else {
                sys::sleep(50_000);
            }
        }
    }

    /// Makes a waiting thread ready, for no reason of its own.
    ///
    /// # Safety
    /// By the holder of the token.
    pub(crate) unsafe fn rouse(&mut self, thread: *mut Thread) {
        self.lock();
        if (*thread).state == State::Waiting {
            self.make_ready(thread);
            (*thread).woken = Waker::Spurious;
        }
        self.unlock();
    }

    /// Another thread asked a waiting thread to look at its signals.
    ///
    /// # Safety
    /// The thread is the caller's, and waits for its turn.
    unsafe fn interrupt(&mut self, thread: *mut Thread) {
        self.lock();
        if (*thread).state == State::Waiting {
            self.make_ready(thread);
            (*thread).woken = Waker::Spurious;
            if self.running.is_null() && !replay().is_following() {
                self.run(thread);
                (*thread).turn.store(1, Ordering::Relaxed);
            }
        }
        self.unlock();
    }
}

fn slot(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize
}

/// Tells a thread that it is its turn.
///
/// # Safety
/// The thread was picked; null is nobody.
pub(crate) unsafe fn pass_turn(thread: *mut Thread) {
    if !thread.is_null() && (*thread).turn.swap(1, Ordering::Release) == 2 {
        sys::futex_wake(&(*thread).turn);
    }
}

/// Waits until it is the thread's turn: a moment awake, then asleep.
///
/// # Safety
/// The thread is the caller's.
pub(crate) unsafe fn await_turn(thread: *mut Thread) {
    let turn = &(*thread).turn;
    for _ in 0..SPINS {
        if turn.load(Ordering::Acquire) == 1 {
            break;
        }
        hint::spin_loop();
    }
    while turn.load(Ordering::Acquire) != 1 {
        let asleep = turn.compare_exchange(0, 2, Ordering::AcqRel, Ordering::Acquire) != Err(1);
        // A signal that is put off from here on makes the word 0 again, so that we do not sleep over it.
        if (*thread).pending_count.load(Ordering::Relaxed) > 0 {
            scheduler().interrupt(thread);
        }
        if asleep {
            sys::futex_wait(turn, 2, None);
        }
    }
    turn.store(0, Ordering::Relaxed);
    scheduler().wait_for_the_gone();
}
