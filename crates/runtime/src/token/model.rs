//! The scheduler and the words of the token on a machine made of loom's parts: loom runs every interleaving (up to a number of
//! preemptions) and every value that the memory orders allow a load to return.
//!
//! The log stands for all that the token guards: a cell that loom watches for two threads at a time. A wake-up that is lost is a deadlock,
//! which loom reports, too.
//!
//! With `--cfg real_threads` the machine is made of the system's parts, and each model runs many times: ThreadSanitizer cannot follow
//! loom, which switches stacks by itself.

#[cfg_attr(not(real_threads), path = "model/loom.rs")]
#[cfg_attr(real_threads, path = "model/real.rs")]
mod parts;

use std::sync::atomic::AtomicI64;

use wire::Waker;

use self::parts::{Arc, AtomicU32, Condvar, Mutex, Ordering, UnsafeCell, check, fence, thread};
use super::{Lock, Machine, Presence, Seat, Shared, Turn, Word, gate};
use crate::schedule::{
    Chooser, End, GaveUp, Key, NEVER, Report, Schedule, Sleep, Slot, State, UnlockedView, Witness, World,
    room_for_tests,
};
use crate::scheduler::{Platform, Scheduler};
use wire::Policy;

/// A word that can be slept on, as a futex.
struct ModelWord {
    value: AtomicU32,
    /// The kernel's lock of the queue of sleepers.
    queue: Mutex<()>,
    sleepers: Condvar,
}

impl ModelWord {
    fn new(value: u32) -> ModelWord {
        ModelWord { value: AtomicU32::new(value), queue: Mutex::new(()), sleepers: Condvar::new() }
    }
}

impl Word for ModelWord {
    fn load(&self, order: Ordering) -> u32 {
        self.value.load(order)
    }

    fn store(&self, value: u32, order: Ordering) {
        self.value.store(value, order);
    }

    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.value.swap(value, order)
    }

    fn compare_exchange(&self, old: u32, new: u32, success: Ordering, failure: Ordering) -> Result<u32, u32> {
        self.value.compare_exchange(old, new, success, failure)
    }

    fn fetch_or(&self, bits: u32, order: Ordering) -> u32 {
        self.value.fetch_or(bits, order)
    }

    fn fetch_and(&self, bits: u32, order: Ordering) -> u32 {
        self.value.fetch_and(bits, order)
    }
}

impl<T> Shared<T> for UnsafeCell<T> {
    fn with<R>(&self, act: impl FnOnce(*mut T) -> R) -> R {
        self.with_mut(act)
    }
}

/// The machine, with this number of threads.
struct Model {
    seats: Vec<Seat<Model>>,
    /// Neither loom's nor needed: the schedule reads budgets, and here nobody else does.
    budgets: Vec<AtomicI64>,
    /// What the holder of the token alone may touch.
    log: UnsafeCell<Vec<u32>>,
    /// How many events were made.
    progress: AtomicU32,
}

impl Machine for Model {
    type Word = ModelWord;
    type Cell<T> = UnsafeCell<T>;
    const SPINS: u32 = 1;

    fn sleep_while(word: &ModelWord, value: u32) {
        let guard = word.queue.lock().unwrap();
        if word.value.load(Ordering::Relaxed) == value {
            drop(word.sleepers.wait(guard).unwrap());
        }
    }

    fn wake(word: &ModelWord) {
        let _guard = word.queue.lock().unwrap();
        word.sleepers.notify_all();
    }

    fn pause() {
        thread::yield_now();
    }

    // Loom does not see the end of two threads that spin for one lock, so they sleep.
    fn contend(lock: &ModelWord, _round: u32) {
        Model::sleep_while(lock, 1);
    }

    fn uncontend(lock: &ModelWord) {
        Model::wake(lock);
    }

    // The kernel's barrier makes every thread that runs pass a fence: as if the light side had one of its own.
    fn light_fence() {
        fence(Ordering::SeqCst);
    }

    fn heavy_fence() {
        fence(Ordering::SeqCst);
    }
}

impl World for Model {
    fn budget(&self, thread: Slot) -> i64 {
        self.budgets[thread.0 as usize].load(std::sync::atomic::Ordering::Relaxed)
    }

    fn set_budget(&self, thread: Slot, events: i64) {
        self.budgets[thread.0 as usize].store(events, std::sync::atomic::Ordering::Relaxed);
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
        true
    }

    fn switch_to(&self, number: u32) {
        // As the real one: a record in the log.
        self.write(100 + number);
    }

    fn deadlock(&self, _found_by: Option<Slot>) {
        panic!("the model waits for good");
    }

    fn report(&self, _report: Report) {}

    fn name_thread(&self, _thread: Slot, _name: &[u8]) {}

    fn comes_to(&self, _step: u64) -> bool {
        false
    }

    fn stop_for_debugger(&self) {}

    fn end_program(&self) {}
}

impl Platform for Model {
    fn seat(&self, thread: Slot) -> &Seat<Model> {
        &self.seats[thread.0 as usize]
    }

    // Handlers run on their own thread: see the tests in `token/handler.rs`.
    fn has_signals(&self, _thread: Slot) -> bool {
        false
    }

    fn arrive(&self) {}

    fn sleep(&self, _thread: Slot, _sleep: Sleep) -> Option<u64> {
        None
    }
}

impl Model {
    fn write(&self, what: u32) {
        // SAFETY: loom checks that nobody else is here.
        self.log.with_mut(|log| unsafe { (*log).push(what) });
    }
}

/// A scheduler with this number of threads, which switches after every event. The first has the token.
fn scheduler(threads: u32) -> Arc<Scheduler<Model>> {
    let seat = |_| Seat {
        presence: Presence { inside: ModelWord::new(0), gate: ModelWord::new(0) },
        turn: Turn(ModelWord::new(0)),
    };
    let platform = Model {
        seats: (0..threads).map(seat).collect(),
        budgets: (0..threads).map(|_| AtomicI64::new(0)).collect(),
        log: UnsafeCell::new(Vec::new()),
        progress: AtomicU32::new(0),
    };
    let unlocked_view = Box::leak(Box::new(UnlockedView::new()));
    let mut schedule = Schedule::empty(unlocked_view);
    schedule.set_room(room_for_tests(threads as usize));
    schedule.begin(Chooser::new(Policy::RoundRobin, 0, 1), u64::MAX, &platform).expect("there is room");
    for _ in 1..threads {
        schedule.add(&platform).expect("there is room");
    }
    Arc::new(Scheduler {
        platform,
        lock: Lock(ModelWord::new(0)),
        schedule: UnsafeCell::new(schedule),
        unlocked_view,
    })
}

/// An event of the thread, which is not inside: as a hook makes it.
fn event(scheduler: &Scheduler<Model>, thread: Slot) {
    let presence = &scheduler.platform.seat(thread).presence;
    if presence.enter() & gate::AWAY != 0 {
        scheduler.come_back(thread);
    }
    scheduler.platform.write(thread.0);
    scheduler.platform.progress.fetch_add(1, Ordering::Relaxed);
    presence.leave();
}

/// The thread enters the runtime and does something there with the token.
fn inside(scheduler: &Scheduler<Model>, thread: Slot, act: impl FnOnce()) {
    let presence = &scheduler.platform.seat(thread).presence;
    if presence.enter() & gate::AWAY != 0 {
        scheduler.come_back(thread);
    }
    act();
    presence.leave();
}

fn spawn(
    scheduler: &Arc<Scheduler<Model>>,
    life: impl FnOnce(&Scheduler<Model>) + Send + 'static,
) -> thread::JoinHandle<()> {
    let scheduler = Arc::clone(scheduler);
    thread::spawn(move || life(&scheduler))
}

/// Who made events, in order, without the switches.
fn events(scheduler: &Scheduler<Model>) -> Vec<u32> {
    // SAFETY: loom checks that nobody else is here.
    scheduler.platform.log.with(|log| unsafe { (*log).iter().copied().filter(|&what| what < 100).collect() })
}

const FIRST: Slot = Slot(0);
const SECOND: Slot = Slot(1);

/// The token goes back and forth: each thread finds it, asleep or awake, and nobody writes at the same time.
#[test]
fn the_token_is_handed_over() {
    check(6, || {
        let scheduler = scheduler(2);
        let other = spawn(&scheduler, |scheduler| {
            scheduler.platform.seat(SECOND).presence.enter();
            scheduler.await_turn(SECOND);
            scheduler.platform.seat(SECOND).presence.leave();
            event(scheduler, SECOND);
            inside(scheduler, SECOND, || scheduler.finish(SECOND, false));
        });
        event(&scheduler, FIRST);
        inside(&scheduler, FIRST, || scheduler.preempt(FIRST, GaveUp::Willingly, None));
        event(&scheduler, FIRST);
        other.join().unwrap();
        assert_eq!(events(&scheduler), [0, 1, 0]);
    });
}

/// Who waits for a key is woken, before or after it falls asleep.
#[test]
fn no_wake_up_is_lost() {
    check(6, || {
        let scheduler = scheduler(2);
        let key = Key::address(64);
        let other = spawn(&scheduler, move |scheduler| {
            scheduler.platform.seat(SECOND).presence.enter();
            scheduler.await_turn(SECOND);
            scheduler.platform.seat(SECOND).presence.leave();
            event(scheduler, SECOND);
            inside(scheduler, SECOND, || {
                scheduler.wake_all(key, Waker::Signal);
                scheduler.finish(SECOND, false);
            });
        });
        inside(&scheduler, FIRST, || {
            assert_eq!(scheduler.wait(FIRST, key, End::NEVER).woken, Waker::Signal);
        });
        event(&scheduler, FIRST);
        other.join().unwrap();
        assert_eq!(events(&scheduler), [1, 0]);
    });
}

/// The watchdog takes the token from a thread that may be about to make an event. Either it makes the event first, or it finds itself shut
/// out and waits for its turn: never do two threads write, and never does one lose the token in an event.
#[test]
fn the_watchdog_takes_the_token() {
    check(3, || {
        let scheduler = scheduler(2);
        let watchdog = spawn(&scheduler, |scheduler| {
            let before = scheduler.platform.progress.load(Ordering::Relaxed);
            scheduler.take_away(FIRST, 0, || scheduler.platform.progress.load(Ordering::SeqCst) != before);
        });
        let other = spawn(&scheduler, |scheduler| {
            scheduler.platform.seat(SECOND).presence.enter();
            scheduler.await_turn(SECOND);
            scheduler.platform.seat(SECOND).presence.leave();
            event(scheduler, SECOND);
            inside(scheduler, SECOND, || scheduler.finish(SECOND, false));
        });
        event(&scheduler, FIRST);
        inside(&scheduler, FIRST, || scheduler.finish(FIRST, false));
        watchdog.join().unwrap();
        other.join().unwrap();
        let mut found = events(&scheduler);
        found.sort_unstable();
        assert_eq!(found, [0, 1]);
        let states = scheduler.with_lock(|schedule, _| [schedule.state(FIRST), schedule.state(SECOND)]);
        assert_eq!(states, [State::Finished; 2]);
    });
}

/// A thread goes outside and comes back while the other runs: it gets the token when the other is done, or at once if nobody has it.
#[test]
fn a_thread_comes_back_from_outside() {
    check(5, || {
        let scheduler = scheduler(2);
        let other = spawn(&scheduler, |scheduler| {
            scheduler.platform.seat(SECOND).presence.enter();
            scheduler.await_turn(SECOND);
            scheduler.platform.seat(SECOND).presence.leave();
            event(scheduler, SECOND);
            inside(scheduler, SECOND, || scheduler.leave(SECOND, NEVER));
            event(scheduler, SECOND);
            inside(scheduler, SECOND, || scheduler.finish(SECOND, false));
        });
        inside(&scheduler, FIRST, || scheduler.leave(FIRST, NEVER));
        event(&scheduler, FIRST);
        inside(&scheduler, FIRST, || scheduler.finish(FIRST, false));
        other.join().unwrap();
        assert_eq!(events(&scheduler).len(), 3);
    });
}
