//! The scheduler on the host's own threads, with the processor's atomics and the kernel's futexes: what the models leave out, and what the
//! sanitizers can watch.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex};
use std::thread;

use wire::Waker;

use super::{Platform, Scheduler};
use crate::schedule::{
    Chooser, End, GaveUp, Key, NEVER, Report, Schedule, Sleep, Slot, UnlockedView, Witness, World,
    room_for_tests,
};
use crate::sys;
use crate::token::{Lock, Machine, Plain, Presence, Seat, Turn, gate};
use wire::Policy;

/// This process, with a number of threads under the scheduler.
struct Host {
    seats: Vec<Seat<Host>>,
    budgets: Vec<AtomicI64>,
    /// What the holder of the token alone may touch: without the token, a data race.
    log: Plain<Vec<u32>>,
    progress: AtomicU64,
    /// A lock of the simulated program, for the holder of the token.
    is_taken: Plain<bool>,
    is_over: AtomicBool,
}

// SAFETY: the cells are the holder's of the token; this is what the test is about.
unsafe impl Sync for Host {}

impl Machine for Host {
    type Word = AtomicU32;
    type Cell<T> = Plain<T>;
    const SPINS: u32 = 20;

    fn sleep_while(word: &AtomicU32, value: u32) {
        sys::futex_wait(word, value, None);
    }

    fn wake(word: &AtomicU32) {
        sys::futex_wake(word);
    }

    fn pause() {
        std::hint::spin_loop();
    }

    fn contend(_lock: &AtomicU32, _round: u32) {
        thread::yield_now();
    }

    fn light_fence() {
        fence(Ordering::SeqCst);
    }

    fn heavy_fence() {
        fence(Ordering::SeqCst);
    }
}

impl World for Host {
    fn budget(&self, thread: Slot) -> i64 {
        self.budgets[thread.0 as usize].load(Ordering::Relaxed)
    }

    fn set_budget(&self, thread: Slot, events: i64) {
        self.budgets[thread.0 as usize].store(events, Ordering::Relaxed);
    }

    fn prepare(&self, _thread: Slot, _number: u32) -> bool {
        true
    }

    fn real_time(&self) -> u64 {
        0
    }

    fn witness(&self) -> Witness {
        Witness::Nothing
    }

    fn signals_may_arrive(&self) -> bool {
        false
    }

    fn switch_to(&self, _number: u32) {}

    fn deadlock(&self, _found_by: Option<Slot>) {
        panic!("these threads do not deadlock");
    }

    fn report(&self, _report: Report) {}

    fn name_thread(&self, _thread: Slot, _name: &[u8]) {}

    fn comes_to(&self, _step: u64) -> bool {
        false
    }

    fn stop_for_debugger(&self) {}

    fn end_program(&self) {}
}

impl Platform for Host {
    fn seat(&self, thread: Slot) -> &Seat<Host> {
        &self.seats[thread.0 as usize]
    }

    fn has_signals(&self, _thread: Slot) -> bool {
        false
    }

    fn arrive(&self) {}

    fn sleep(&self, _thread: Slot, _sleep: Sleep) -> Option<u64> {
        None
    }
}

const THREADS: u32 = 4;
const ROUNDS: u32 = 2000;
const KEY: u64 = 0x40;

fn scheduler() -> Scheduler<Host> {
    let seat = |_| Seat {
        presence: Presence { inside: AtomicU32::new(0), gate: AtomicU32::new(0) },
        turn: Turn(AtomicU32::new(0)),
    };
    let platform = Host {
        seats: (0..THREADS).map(seat).collect(),
        budgets: (0..THREADS).map(|_| AtomicI64::new(0)).collect(),
        log: Plain(UnsafeCell::new(Vec::new())),
        progress: AtomicU64::new(0),
        is_taken: Plain(UnsafeCell::new(false)),
        is_over: AtomicBool::new(false),
    };
    let unlocked_view = Box::leak(Box::new(UnlockedView::new()));
    let mut schedule = Schedule::empty(unlocked_view);
    schedule.set_room(room_for_tests(THREADS as usize));
    schedule.begin(Chooser::new(Policy::Random, 5, 3), u64::MAX, &platform).expect("there is room");
    for _ in 1..THREADS {
        schedule.add(&platform).expect("there is room");
    }
    Scheduler {
        platform,
        lock: Lock(AtomicU32::new(0)),
        schedule: Plain(UnsafeCell::new(schedule)),
        unlocked_view,
    }
}

fn enter(scheduler: &Scheduler<Host>, thread: Slot) {
    if scheduler.platform.seat(thread).presence.enter() & gate::AWAY != 0 {
        scheduler.come_back(thread);
    }
}

fn leave(scheduler: &Scheduler<Host>, thread: Slot) {
    scheduler.platform.seat(thread).presence.leave();
}

/// An event: what only the holder of the token may do.
fn event(scheduler: &Scheduler<Host>, thread: Slot) {
    let host = &scheduler.platform;
    if host.budget(thread) <= 0 {
        scheduler.preempt(thread, GaveUp::Quantum, None);
    }
    host.set_budget(thread, host.budget(thread) - 1);
    // SAFETY: the thread has the token.
    unsafe { (*host.log.0.get()).push(thread.0) };
    host.progress.fetch_add(1, Ordering::Relaxed);
}

/// A thread that makes events, takes and gives back a lock, goes outside now and then, and ends.
fn live(scheduler: &Scheduler<Host>, thread: Slot) {
    scheduler.platform.seat(thread).presence.enter();
    if thread != Slot(0) {
        scheduler.await_turn(thread);
    }
    leave(scheduler, thread);
    for round in 0..ROUNDS {
        enter(scheduler, thread);
        event(scheduler, thread);
        if round % 5 == 0 {
            lock_and_unlock(scheduler, thread);
        }
        if round % 17 == thread.0 {
            scheduler.leave(thread, NEVER);
        }
        leave(scheduler, thread);
    }
    enter(scheduler, thread);
    scheduler.finish(thread, false);
    leave(scheduler, thread);
}

fn lock_and_unlock(scheduler: &Scheduler<Host>, thread: Slot) {
    let is_taken = scheduler.platform.is_taken.0.get();
    // SAFETY: the thread has the token whenever it looks.
    while unsafe { is_taken.read() } {
        assert!(!scheduler.wait(thread, Key::address(KEY), End::NEVER).timed_out);
    }
    // SAFETY: as above.
    unsafe { *is_taken = true };
    event(scheduler, thread);
    event(scheduler, thread);
    // SAFETY: as above.
    unsafe { *is_taken = false };
    scheduler.wake_all(Key::address(KEY), Waker::Signal);
}

/// Takes the token from its holder, again and again, without the patience of the real watchdog.
fn watch(scheduler: &Scheduler<Host>) {
    let host = &scheduler.platform;
    while !host.is_over.load(Ordering::Relaxed) {
        let progress = host.progress.load(Ordering::SeqCst);
        if let Some(holder) = scheduler.with_lock(|schedule, _| schedule.running()) {
            scheduler.take_away(holder, 0, || host.progress.load(Ordering::SeqCst) != progress);
        } else {
            let next = scheduler.with_lock(|schedule, host| {
                if schedule.running().is_none() { schedule.pick_for_nobody(host) } else { None }
            });
            scheduler.pass(next);
        }
        thread::yield_now();
    }
}

#[test]
fn threads_and_watchdog_on_the_host() {
    let scheduler = Arc::new(scheduler());
    let done = Arc::new(Mutex::new(0));
    let watchdog = {
        let scheduler = Arc::clone(&scheduler);
        thread::spawn(move || watch(&scheduler))
    };
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let (scheduler, done) = (Arc::clone(&scheduler), Arc::clone(&done));
            thread::spawn(move || {
                live(&scheduler, Slot(number));
                *done.lock().unwrap() += 1;
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("a thread ends well");
    }
    scheduler.platform.is_over.store(true, Ordering::Relaxed);
    watchdog.join().expect("the watchdog ends well");
    assert_eq!(*done.lock().unwrap(), THREADS);
    // SAFETY: all threads have ended.
    let log = unsafe { &*scheduler.platform.log.0.get() };
    assert_eq!(log.len() as u32, THREADS * (ROUNDS + 2 * ROUNDS.div_ceil(5)));
}
