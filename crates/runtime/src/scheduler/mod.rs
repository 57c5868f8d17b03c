//! The token: who has it, who wants it, who waits for what.
//!
//! Every thread is in a [`State`]. Transitions happen under a lock of our own, by the holder of the token, by
//! a thread that comes back from outside, or by the watchdog. What a thread waits for is an address (a lock, a condition
//! variable, a thread to be joined); a release of that address makes its waiters ready, and they try again.
//!
//! Here is the state, its lock, its beginning and end, and the count of events. The [`roster`] knows the threads, [`turns`] passes the
//! token on, [`waits`] puts threads to wait and wakes them, [`outside`] has those that run without it.

mod outside;
mod roster;
mod turns;
mod waits;

use core::cell::UnsafeCell;
use core::hint;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use wire::{Kind, Stop};

pub(crate) use turns::{await_turn, pass_turn};
pub(crate) use waits::Ended;

use crate::clock::EVENT;
use crate::policy::Chooser;
use crate::replay::replay;
use crate::settings::Settings;
use crate::start;
use crate::sys;
use crate::thread::{self, State, Thread, gate};
use crate::writer::{self, writer};

/// The most threads at a time. More are not recorded one by one but run outside our sight.
const MAX_THREADS: usize = 1 << 15;

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
    pub(crate) events: u64,
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
    writer::detailed(thread, Kind::Begin, (*thread).start(), low, &[high, table, kernel_id], b"");
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
}
