//! The thread that looks at the clock and at the memory.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::memory::resident;
use crate::{Bound, State, micros};

/// How often it looks.
const TICK: Duration = Duration::from_millis(10);

/// Watches until a bound is reached for good.
pub(crate) fn start(state: &'static State) {
    // What is exceeded from the start is known before the work begins, however busy the machine is.
    if let Some(bound) = state.exceeded() {
        state.reach(bound);
        return;
    }
    // Without a thread there is nobody to watch, and the work goes on without bounds: better than no work.
    let _ = thread::Builder::new().name("bounds".into()).spawn(move || {
        while state.reached.load(Ordering::Relaxed) <= Bound::Share.number() {
            match state.exceeded() {
                Some(bound) => state.reach(bound),
                None => state.look_at_share(),
            }
            thread::sleep(TICK);
        }
    });
}

impl State {
    /// The bound that is exceeded now, for good.
    fn exceeded(&self) -> Option<Bound> {
        if self.memory.is_some_and(|most| resident().is_some_and(|resident| resident > most)) {
            return Some(Bound::Memory);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Some(Bound::Time);
        }
        None
    }

    fn look_at_share(&self) {
        let share = self.share.lock().unwrap_or_else(PoisonError::into_inner);
        if micros(self.start.elapsed()) >= share.end {
            self.reach(Bound::Share);
        }
    }
}
