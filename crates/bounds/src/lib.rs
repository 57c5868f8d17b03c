//! The time and the memory that a command may take. [`Bounds`] is a value that is passed to whatever may take long, and every long loop
//! asks it whether to go on.
//!
//! Asking is one load: a thread of its own looks at the clock and at the memory of the process, a hundred times a second, and
//! notes what it sees. So no loop need count its turns, however long one of them takes.
//!
//! Bounds can be divided: [`Bounds::begin_share`] gives the next part of the work a share of the time that is left. When the share is used up,
//! [`Bounds::are_reached`] holds until the next part begins. When the time as a whole or the memory is used up, or the user interrupts, it holds for ever
//! ([`Bounds::are_final`]). What is computed after that may be incomplete, so nothing that follows from it counts.
//!
#![doc = include_str!("../README.md")]

mod memory;
mod watch;

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use memory::{installed, resident};

/// What ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The share of the time that a part of the work has.
    Share,
    /// The time.
    Time,
    /// The memory.
    Memory,
    /// The user's patience.
    Interrupt,
}

impl Bound {
    const ALL: [Bound; 4] = [Bound::Share, Bound::Time, Bound::Memory, Bound::Interrupt];

    /// A number that is not 0, in the order in which one outweighs another.
    fn number(self) -> u8 {
        self as u8 + 1
    }

    fn numbered(number: u8) -> Option<Bound> {
        Bound::ALL.into_iter().find(|bound| bound.number() == number)
    }
}

/// What a command may take. Copies share one state. The default has no bounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds(Option<&'static State>);

/// The bounds, and which of them is reached.
#[derive(Debug)]
struct State {
    start: Instant,
    deadline: Option<Instant>,
    /// In bytes.
    memory: Option<u64>,
    /// The share of the part under way.
    share: Mutex<Share>,
    /// When a bound was finally reached, in the same way.
    reached_at: AtomicU64,
    /// The number of the bound that is reached; 0: none.
    reached: AtomicU8,
}

const NEVER: u64 = u64::MAX;

/// The share of a part, in microseconds from the start.
#[derive(Clone, Copy, Debug)]
struct Share {
    begin: u64,
    /// [`NEVER`]: it has as much as there is.
    end: u64,
}

impl Share {
    const ALL: Share = Share { begin: 0, end: NEVER };

    /// When what was found in it need no longer be presented: it may take half as long again.
    fn end_of_grace(self) -> u64 {
        self.end.saturating_add((self.end - self.begin) / 2)
    }
}

impl PartialEq for Bounds {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => std::ptr::eq(one, other),
            _ => false,
        }
    }
}

impl Eq for Bounds {}

impl Bounds {
    /// Without bounds.
    pub const NONE: Bounds = Bounds(None);

    /// Bounds on the time from now on and on the memory in bytes, which can also be reached by [`Bounds::interrupt`]. They are watched
    /// as long as the process lives.
    pub fn start(time: Option<Duration>, memory: Option<u64>) -> Bounds {
        let start = Instant::now();
        let deadline = time.and_then(|time| start.checked_add(time));
        let state = State {
            start,
            deadline,
            memory,
            share: Mutex::new(Share::ALL),
            reached_at: AtomicU64::new(NEVER),
            reached: AtomicU8::new(0),
        };
        // There is one for each command, that is, one for each process.
        let state: &'static State = Box::leak(Box::new(state));
        if deadline.is_some() || memory.is_some() {
            watch::start(state);
        }
        Bounds(Some(state))
    }

    /// Whether the part of the work under way is to end.
    #[inline]
    pub fn are_reached(self) -> bool {
        self.0.is_some_and(|state| state.reached.load(Ordering::Relaxed) != 0)
    }

    /// Whether all work is to end: there will be no further part.
    #[inline]
    pub fn are_final(self) -> bool {
        self.0.is_some_and(|state| state.reached.load(Ordering::Relaxed) > Bound::Share.number())
    }

    /// Which bound is reached.
    pub fn reached(self) -> Option<Bound> {
        Bound::numbered(self.0?.reached.load(Ordering::Relaxed))
    }

    /// The user wants no more.
    pub fn interrupt(self) {
        if let Some(state) = self.0 {
            state.reach(Bound::Interrupt);
        }
    }

    /// When the time is up.
    pub fn deadline(self) -> Option<Instant> {
        self.0?.deadline
    }

    /// The time that is left; none: without end.
    pub fn time_left(self) -> Option<Duration> {
        self.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// The whole time.
    pub fn time(self) -> Option<Duration> {
        self.0.and_then(|state| state.deadline.map(|deadline| deadline - state.start))
    }

    /// The memory in bytes.
    pub fn memory(self) -> Option<u64> {
        self.0?.memory
    }

    /// Begins the next part of the work. With the number of parts to come, this one included, it may take its share of the time that is left. What a part
    /// leaves is for the others.
    pub fn begin_share(self, parts: u32) {
        let Some(state) = self.0 else { return };
        let now = state.start.elapsed();
        let share = match self.time_left() {
            Some(left) if parts > 1 => Share { begin: micros(now), end: micros(now + left / parts) },
            _ => Share::ALL,
        };
        // Held until the end: nobody may take the share of the part before for that of this one.
        let mut current = state.share.lock().unwrap_or_else(PoisonError::into_inner);
        *current = share;
        let _ =
            state.reached.compare_exchange(Bound::Share.number(), 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether so much time has passed since the end that what was found so far need no longer be presented in full: a tenth of the time, at
    /// least a second. After the end of a share it is half of the share.
    pub fn is_grace_over(self) -> bool {
        let Some(state) = self.0 else { return false };
        let now = micros(state.start.elapsed());
        match state.reached_at.load(Ordering::Relaxed) {
            NEVER => now > state.share.lock().unwrap_or_else(PoisonError::into_inner).end_of_grace(),
            reached_at => now > reached_at.saturating_add(micros(self.grace())),
        }
    }

    /// How long what was found may be presented after the end.
    pub fn grace(self) -> Duration {
        let tenth = self.time().unwrap_or_default() / 10;
        tenth.clamp(Duration::from_secs(1), Duration::from_secs(20))
    }
}

impl State {
    /// Notes that a bound is reached, unless one that outweighs it was.
    fn reach(&self, bound: Bound) {
        if bound != Bound::Share {
            let now = micros(self.start.elapsed());
            let _ = self.reached_at.compare_exchange(NEVER, now, Ordering::Relaxed, Ordering::Relaxed);
        }
        let raise = |reached| (reached <= Bound::Share.number()).then_some(bound.number());
        let _ = self.reached.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raise);
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(NEVER - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for a bound, but not for ever.
    fn reached(bounds: Bounds) -> Option<Bound> {
        let patience = Instant::now() + Duration::from_secs(20);
        while !bounds.are_reached() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        bounds.reached()
    }

    #[test]
    fn without_bounds_nothing_is_reached() {
        Bounds::NONE.interrupt();
        Bounds::NONE.begin_share(2);
        assert!(!Bounds::NONE.are_reached() && !Bounds::NONE.are_final() && !Bounds::NONE.is_grace_over());
        assert_eq!((Bounds::NONE.time_left(), Bounds::NONE.memory()), (None, None));
    }

    #[test]
    fn time_runs_out() {
        let bounds = Bounds::start(Some(Duration::from_millis(50)), None);
        assert!(!bounds.are_reached());
        assert_eq!(reached(bounds), Some(Bound::Time));
        assert!(bounds.are_final() && bounds.time_left() == Some(Duration::ZERO));
        assert!(!bounds.is_grace_over(), "a second at least");
    }

    #[test]
    fn memory_runs_out() {
        let bounds = Bounds::start(None, Some(4096));
        assert_eq!(bounds.reached(), Some(Bound::Memory), "from the start");
        assert!(bounds.are_final());
        let enough = Bounds::start(Some(Duration::from_millis(100)), Some(1 << 44));
        assert_eq!(reached(enough), Some(Bound::Time));
    }

    #[test]
    fn a_share_ends_a_part_and_no_other() {
        let bounds = Bounds::start(Some(Duration::from_secs(3600)), None);
        bounds.begin_share(36_000_000);
        assert_eq!(reached(bounds), Some(Bound::Share));
        assert!(!bounds.are_final() && bounds.is_grace_over());
        bounds.begin_share(1);
        assert_eq!((bounds.reached(), bounds.is_grace_over()), (None, false));
        bounds.begin_share(2);
        assert!(!bounds.is_grace_over(), "half an hour, and half of that");
    }

    #[test]
    fn an_interrupt_is_for_good() {
        let bounds = Bounds::start(None, None);
        bounds.interrupt();
        bounds.begin_share(1);
        assert_eq!(bounds.reached(), Some(Bound::Interrupt));
        assert!(bounds.are_final());
    }
}
