//! What work may cost. It comes in as a value: nothing here knows of arguments.

use std::time::{Duration, Instant};

pub use run::Cancellation;

/// What work may cost. Time and memory are looked at between steps of the work, not within a question to the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// When to stop.
    pub deadline: Option<Instant>,
    /// How many bytes this process may have in memory.
    pub memory: Option<u64>,
    /// How many steps each question to the engine may take.
    pub steps: u64,
}

impl Budget {
    /// Steps of a question, unless something else is asked for.
    pub const STEPS: u64 = 20_000_000;

    /// Whether time or memory has run out.
    pub fn is_exhausted(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.memory.is_some_and(|most| resident().is_some_and(|resident| resident > most))
    }

    /// The time that is left; none: without end.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget { deadline: None, memory: None, steps: Budget::STEPS }
    }
}

/// The memory that this process has now, in bytes.
fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    // Linux reports pages; x86-64, the only platform recorded, has pages of 4 KiB.
    Some(pages * 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_run_out_by_time_and_by_memory() {
        assert!(!Budget::default().is_exhausted());
        let past = Budget { deadline: Some(Instant::now()), ..Budget::default() };
        assert!(past.is_exhausted() && past.time_left() == Some(Duration::ZERO));
        assert!(Budget { memory: Some(4096), ..Budget::default() }.is_exhausted());
        assert!(!Budget { memory: Some(1 << 44), ..Budget::default() }.is_exhausted());
    }
}
