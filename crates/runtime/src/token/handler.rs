//! A signal comes for a thread that waits for its turn: at any of its steps, since the handler runs on the thread itself.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

use super::{Machine, Plain, Turn, Word};

thread_local! {
    /// How many steps the thread makes before the signal comes; none: it came.
    static STEPS_LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    /// Whether the signal waits to be handled.
    static IS_PENDING: Cell<bool> = const { Cell::new(false) };
    /// The word of the thread.
    static TURN: &'static Turn<Interrupted> = Box::leak(Box::new(Turn(SteppedWord(AtomicU32::new(0)))));
}

/// What the runtime's own handler does.
fn handle() {
    STEPS_LEFT.set(None);
    IS_PENDING.set(true);
    TURN.with(|turn| turn.rouse());
}

/// Comes between any two steps.
fn step() {
    match STEPS_LEFT.get() {
        Some(0) => handle(),
        Some(left) => STEPS_LEFT.set(Some(left - 1)),
        None => {}
    }
}

/// A word whose every use is a step.
struct SteppedWord(AtomicU32);

impl Word for SteppedWord {
    fn load(&self, order: Ordering) -> u32 {
        step();
        self.0.load(order)
    }

    fn store(&self, value: u32, order: Ordering) {
        step();
        self.0.store(value, order);
    }

    fn swap(&self, value: u32, order: Ordering) -> u32 {
        step();
        self.0.swap(value, order)
    }

    fn compare_exchange(&self, old: u32, new: u32, success: Ordering, failure: Ordering) -> Result<u32, u32> {
        step();
        self.0.compare_exchange(old, new, success, failure)
    }

    fn fetch_or(&self, bits: u32, order: Ordering) -> u32 {
        self.0.fetch_or(bits, order)
    }

    fn fetch_and(&self, bits: u32, order: Ordering) -> u32 {
        self.0.fetch_and(bits, order)
    }
}

struct Interrupted;

impl Machine for Interrupted {
    type Word = SteppedWord;
    type Cell<T> = Plain<T>;
    const SPINS: u32 = 3;

    fn sleep_while(word: &SteppedWord, value: u32) {
        if word.load(Ordering::Relaxed) == value {
            // It sleeps. If the signal is still to come, it ends the sleep; if it has come, nothing ever does.
            assert!(STEPS_LEFT.get().is_some(), "the thread sleeps over a signal");
            handle();
        }
    }

    fn wake(_word: &SteppedWord) {}

    fn pause() {
        step();
    }

    fn contend(_lock: &SteppedWord, _round: u32) {}

    fn light_fence() {}

    fn heavy_fence() {}
}

#[test]
fn no_signal_is_slept_over() {
    for steps in 0..40 {
        STEPS_LEFT.set(Some(steps));
        IS_PENDING.set(false);
        let mut looks = 0;
        TURN.with(|turn| {
            turn.wait(|| {
                step();
                looks += 1;
                // As the scheduler does it: the thread is made ready, and takes the token that nobody has.
                if IS_PENDING.take() {
                    turn.take_over();
                }
            });
        });
        assert!((1..=2).contains(&looks), "{looks} looks for a signal after {steps} steps");
    }
}
