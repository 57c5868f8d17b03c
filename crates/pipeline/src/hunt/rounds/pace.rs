//! How often what was found so far is kept.
//!
//! The findings of a server with a few seconds of work are a hundred megabytes, because each has its schedule. If they were written after every replay,
//! a hunt would do little else.

use std::time::{Duration, Instant};

/// Of the time since the last saving began, at most this part goes into savings.
const PART: u32 = 10;

/// When something was last kept, and how long that took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    began: Instant,
    took: Duration,
}

impl Pace {
    /// Nothing was kept yet.
    pub(super) fn new() -> Pace {
        Pace { began: Instant::now(), took: Duration::ZERO }
    }

    /// Whether it is time to keep it again.
    pub(super) fn is_due(&self) -> bool {
        self.began.elapsed() >= self.took * PART
    }

    /// Keeps it, and notes how long that takes.
    pub(super) fn time<T>(&mut self, keep: impl FnOnce() -> T) -> T {
        self.began = Instant::now();
        let result = keep();
        self.took = self.began.elapsed();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_to_keep_is_kept_seldom() {
        let mut pace = Pace::new();
        assert!(pace.is_due());
        pace.time(|| std::thread::sleep(Duration::from_secs(2)));
        assert!(!pace.is_due(), "it took two seconds, and was ready a moment ago");
        pace.began = Instant::now().checked_sub(pace.took * PART).unwrap();
        assert!(pace.is_due());
    }
}
