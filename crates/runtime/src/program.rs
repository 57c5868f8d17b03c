//! The scheduler of a recorded program: its threads' memory, and the kernel to sleep in.

use core::cell::UnsafeCell;
use core::hint;
use core::num::NonZeroU64;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, compiler_fence};

use wire::{Kind, Losses, MAX_TABLES, Stop, Table};

use crate::asleep;
use crate::clock;
use crate::inside::Inside;
use crate::interpose::{files, signals, timers};
use crate::losses;
use crate::replay;
use crate::schedule::{Chooser, Fixed, UnlockedView, Pace, Report, Room, Schedule, Sleep, Slot, Witness, World};
use crate::scheduler::{Platform, Scheduler};
use crate::start;
use crate::sys;
use crate::thread::{self, Thread};
use crate::token::{Lock, Machine, Plain, Seat, gate};
use crate::writer;

/// The most threads at a time. More are not scheduled but run outside our sight.
const MAX_THREADS: usize = 1 << 15;

/// What a recorded program's scheduler runs on: the processor and the kernel.
pub(crate) struct Program;

static UNLOCKED_VIEW: UnlockedView = UnlockedView::new();

static SCHEDULER: Scheduler<Program> = Scheduler {
    platform: Program,
    lock: Lock(AtomicU32::new(0)),
    schedule: Plain(UnsafeCell::new(Schedule::empty(&UNLOCKED_VIEW))),
    unlocked_view: &UNLOCKED_VIEW,
};

/// The threads by their slots; null where there was none yet.
static THREADS: [AtomicPtr<Thread>; MAX_THREADS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; MAX_THREADS];
/// Whether threads are scheduled at all. Without, the runtime is passive.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// The kernel id of a thread that has ended but may not be gone; 0: none.
static EXITING: AtomicU32 = AtomicU32::new(0);

/// The scheduler.
#[inline(always)]
pub(crate) fn scheduler() -> &'static Scheduler<Program> {
    &SCHEDULER
}

/// Whether threads are scheduled at all.
#[inline(always)]
pub(crate) fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// Whether a replay's instructions are being followed. For the holder of the token.
#[inline]
pub(crate) fn is_following() -> bool {
    UNLOCKED_VIEW.is_following()
}

/// The virtual time, as far as it is counted.
#[inline]
pub(crate) fn virtual_now() -> u64 {
    UNLOCKED_VIEW.now()
}

/// The thread in this slot.
pub(crate) fn thread_in(slot: Slot) -> &'static Thread {
    let thread = THREADS[slot.0 as usize].load(Ordering::Relaxed);
    // SAFETY: a slot is handed out after `prepare` has set its thread, whose memory stays.
    unsafe { &*thread }
}

/// The thread with this pthread handle.
pub(crate) fn find(handle: u64) -> Option<&'static Thread> {
    scheduler().with_lock(|schedule, _| {
        let mut threads = schedule.threads().iter().map(|&slot| thread_in(slot));
        threads.find(|thread| thread.handle.load(Ordering::Relaxed) == handle)
    })
}

/// Starts scheduling: the calling thread is the first and holds the token.
///
/// # Safety
/// The process has one thread, and the log is open.
pub(crate) unsafe fn begin(first_stack: (u64, u64)) {
    // After a fork the watchdog, which is not there any more, may have left it taken.
    SCHEDULER.lock.reset();
    // A new log starts with empty tables, so threads that were here before keep their memory.
    for thread in THREADS.iter().take_while(|thread| !thread.load(Ordering::Relaxed).is_null()) {
        thread.store(ptr::null_mut(), Ordering::Relaxed);
    }
    EXITING.store(0, Ordering::Relaxed);
    let settings = &start::settings().asked;
    clock::start(start::clock());
    let pace = if clock::is_virtual() { Pace::Virtual } else { Pace::Real };
    let first = SCHEDULER.with_lock(|schedule, program| {
        if !schedule.has_room() {
            schedule.set_room(room()?);
        }
        schedule.set_pace(pace);
        let quantum = settings.quantum.map_or(0, NonZeroU64::get);
        let chooser = Chooser::new(settings.policy, settings.seed, quantum).with_new_threads(settings.new_threads);
        schedule.begin(chooser, settings.max_events.map_or(u64::MAX, NonZeroU64::get), program)
    });
    let Some(first) = first.map(thread_in) else { return };
    first.kernel_id.store(sys::gettid(), Ordering::Relaxed);
    // SAFETY: takes nothing, touches nothing.
    first.handle.store(unsafe { libc::pthread_self() }, Ordering::Relaxed);
    thread::set_current(Some(first));
    ACTIVE.store(true, Ordering::Relaxed);
    // SAFETY: the only thread has the token. It is not inside, but there is no program's code to run before it would be.
    unsafe { Inside::borrow(first, |inside| begin_thread(inside, first_stack)) };
}

fn room() -> Option<Room> {
    Some(Room {
        entries: Fixed::new(sys::map_array(MAX_THREADS)?),
        order: Fixed::new(sys::map_array(MAX_THREADS)?),
        free: Fixed::new(sys::map_array(MAX_THREADS)?),
        candidates: Fixed::new(sys::map_array(MAX_THREADS)?),
    })
}

/// Stops scheduling for good: every hook returns at once.
pub(crate) fn stop() {
    if ACTIVE.swap(false, Ordering::Relaxed) {
        clock::stop();
    }
    shut_gates(gate::PASSIVE);
}

/// The process is the child of a fork: it has one thread, and no watchdog that could have taken the lock.
///
/// # Safety
/// It is, and has.
pub(crate) unsafe fn stop_in_child() {
    SCHEDULER.lock.reset();
    SCHEDULER.with_lock(|schedule, _| schedule.forget_replay());
    stop();
}

/// Nothing is written any more, but the schedule goes on.
pub(crate) fn quieten() {
    shut_gates(gate::QUIET);
}

fn shut_gates(reason: u32) {
    SCHEDULER.with_lock(|schedule, program| {
        for &thread in schedule.threads() {
            program.seat(thread).presence.add(reason);
        }
    });
}

/// Writes the first event of the calling thread.
pub(crate) fn begin_thread(inside: &Inside, (low, high): (u64, u64)) {
    let thread = inside.thread();
    let kernel_id = u64::from(thread.kernel_id.load(Ordering::Relaxed));
    let rest = [high, u64::from(thread.table_number), kernel_id, thread::thread_pointer()];
    inside.detailed(Kind::Begin, thread.start(), low, &rest, b"");
}

/// The thread with this kernel id ends now. The next one waits until it is gone.
pub(crate) fn set_exiting(kernel_id: u32) {
    EXITING.store(kernel_id, Ordering::Relaxed);
}

/// Waits until the kernel has let go of the last thread that ended: its stack is used again, and which thread
/// gets it should not depend on time.
fn wait_for_exiting() {
    if EXITING.load(Ordering::Relaxed) == 0 {
        return;
    }
    let (exiting, process) = (EXITING.swap(0, Ordering::Relaxed), sys::getpid());
    if exiting == 0 || exiting == process {
        return;
    }
    for round in 0..2000 {
        if sys::is_gone(process, exiting) {
            return;
        }
        if round < 100 {
            sys::yield_now();
        } else {
            sys::sleep(50_000);
        }
    }
}

impl World for Program {
    fn budget(&self, thread: Slot) -> i64 {
        thread_in(thread).budget.load(Ordering::Relaxed)
    }

    fn set_budget(&self, thread: Slot, events: i64) {
        thread_in(thread).budget.store(events, Ordering::Relaxed);
    }

    fn prepare(&self, thread: Slot, number: u32) -> bool {
        let Some(progress) = writer::progress() else { return false };
        let place = &THREADS[thread.0 as usize];
        let mut memory = place.load(Ordering::Relaxed);
        if memory.is_null() {
            memory = make_thread(thread);
            if memory.is_null() {
                return false;
            }
        }
        // SAFETY: fresh, or the memory of a thread that is forgotten: it does not use it any more, and others look under the lock, which is held.
        unsafe { Thread::reset(memory, thread, number, progress) };
        place.store(memory, Ordering::Relaxed);
        if writer::is_closed() {
            thread_in(thread).seat.presence.add(gate::QUIET);
        }
        true
    }

    fn real_time(&self) -> u64 {
        sys::now(libc::CLOCK_MONOTONIC)
    }

    fn hidden_object(&self, thread: Slot) -> Option<u64> {
        thread_in(thread).std_activity.get().hidden_object()
    }

    fn witness(&self) -> Witness {
        if timers::is_any_set() || !asleep::has_no_child() {
            Witness::OwnTimers
        } else if files::may_reach_out() {
            Witness::Peers
        } else {
            Witness::Nothing
        }
    }

    fn signals_may_arrive(&self) -> bool {
        signals::may_arrive()
    }

    fn switch_to(&self, number: u32) {
        // SAFETY: the scheduler's lock is held and the token is on its way, so nobody else writes.
        unsafe { writer::with(|writer| writer.switch(number)) };
    }

    fn deadlock(&self, found_by: Option<Slot>) {
        // SAFETY: the scheduler's lock is held and nobody has the token.
        unsafe { writer::stop(found_by.map(thread_in), Stop::Deadlock) };
        if start::settings().asked.at_deadlock == wire::AtDeadlock::Stop {
            replay::foretell_deadlocked();
            sys::exit_group(wire::DEADLOCK_STATUS);
        }
    }

    fn report(&self, report: Report) {
        if !replay::write(report, start::settings()) {
            losses::note(Losses::OTHER_FILE);
        }
    }

    fn name_thread(&self, thread: Slot, name: &[u8]) {
        replay::name_thread(thread_in(thread).kernel_id.load(Ordering::Relaxed), name);
    }

    fn comes_to(&self, step: u64) -> bool {
        replay::comes_to(step)
    }

    fn stop_for_debugger(&self) {
        replay::foretell_stopped();
    }

    fn end_program(&self) {
        sys::exit_group(wire::REPLAY_OVER_STATUS);
    }
}

/// Memory for the thread in this slot and its table, set; null if there is none. Beyond the most tables, threads share them.
fn make_thread(slot: Slot) -> *mut Thread {
    let owns_table = u64::from(slot.0) < MAX_TABLES;
    let bytes = size_of::<Thread>() + if owns_table { size_of::<Table>() } else { 0 };
    let memory = sys::map_memory(bytes);
    let thread: *mut Thread = memory.cast();
    if thread.is_null() {
        return thread;
    }
    // SAFETY: fresh memory, long enough for both; zero bytes are a table. A shared table is used by holders of the token, too.
    unsafe {
        if owns_table {
            Thread::set_table(thread, memory.add(size_of::<Thread>()).cast(), slot.0);
        } else {
            let other = thread_in(Slot(slot.0 % MAX_TABLES as u32));
            Thread::set_table(thread, other.table(), other.table_number);
        }
    }
    thread
}

impl Platform for Program {
    fn seat(&self, thread: Slot) -> &Seat<Program> {
        &thread_in(thread).seat
    }

    fn has_signals(&self, thread: Slot) -> bool {
        thread_in(thread).pending_count.load(Ordering::Relaxed) > 0
    }

    fn arrive(&self) {
        wait_for_exiting();
    }

    fn sleep(&self, thread: Slot, sleep: Sleep) -> Option<u64> {
        let begin = self.real_time();
        let end = if clock::is_virtual() { begin.saturating_add(sleep.length) } else { sleep.real_end };
        loop {
            let now = self.real_time();
            if now >= end {
                return None;
            }
            if self.has_signals(thread) {
                return Some(now - begin);
            }
            sys::sleep(end - now);
        }
    }
}

impl Machine for Program {
    type Word = AtomicU32;
    type Cell<T> = Plain<T>;
    const SPINS: u32 = 150;

    fn sleep_while(word: &AtomicU32, value: u32) {
        sys::futex_wait(word, value, None);
    }

    fn wake(word: &AtomicU32) {
        sys::futex_wake(word);
    }

    fn pause() {
        hint::spin_loop();
    }

    fn contend(_lock: &AtomicU32, round: u32) {
        if round.is_multiple_of(64) {
            sys::yield_now();
        }
        hint::spin_loop();
    }

    #[inline(always)]
    fn light_fence() {
        compiler_fence(Ordering::SeqCst);
    }

    fn heavy_fence() {
        const PRIVATE_EXPEDITED: usize = 1 << 3;
        // SAFETY: takes numbers, and makes other threads' processors no more than wait.
        unsafe { sys::call(libc::SYS_membarrier, [PRIVATE_EXPEDITED, 0, 0, 0, 0, 0]) };
    }
}
