//! How long work that is to end may still take before the process ends without it.
//!
//! On a busy machine a process waits most of the time, so what it had of a processor counts; but it may also wait for something that never
//! comes.

use std::fs::read_to_string;
use std::time::{Duration, Instant};

/// A time that is given to work.
#[derive(Debug)]
pub struct Patience {
    length: Duration,
    started: Instant,
    used_before: Option<Duration>,
}

impl Patience {
    /// A process that is held up by others has this many times the time.
    const BUSY: u32 = 10;

    /// This long from now on, if the machine has nothing else to do.
    pub fn new(length: Duration) -> Patience {
        Patience { length, started: Instant::now(), used_before: processor_time() }
    }

    /// Whether it has taken too long.
    pub fn is_over(&self) -> bool {
        let used = processor_time().zip(self.used_before);
        let used = used.map(|(now, before)| now.saturating_sub(before));
        self.is_over_after(self.started.elapsed(), used)
    }

    fn is_over_after(&self, elapsed: Duration, used: Option<Duration>) -> bool {
        let has_worked = used.is_none_or(|used| used >= self.length);
        elapsed >= self.length && (has_worked || elapsed >= Self::BUSY * self.length)
    }
}

/// The time that this process has had on a processor, in all its threads. On a system that does not tell, none.
fn processor_time() -> Option<Duration> {
    let stat = read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may have spaces.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    // Linux reports hundredths of a second, whatever its own ticks are.
    Some(Duration::from_millis(10 * (ticks()? + ticks()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_others_hold_up_is_given_time() {
        let patience = Patience::new(Duration::from_secs(2));
        let seconds = Duration::from_secs;
        assert!(!patience.is_over_after(seconds(1), Some(seconds(2))));
        assert!(patience.is_over_after(seconds(2), Some(seconds(2))));
        assert!(!patience.is_over_after(seconds(19), Some(seconds(1))));
        assert!(patience.is_over_after(seconds(20), Some(seconds(0))));
        assert!(patience.is_over_after(seconds(2), None));
    }

    #[test]
    fn time_on_a_processor_grows_with_work() {
        let Some(before) = processor_time() else { return };
        let started = Instant::now();
        while processor_time().unwrap() < before + Duration::from_millis(50) {
            assert!(started.elapsed() < Duration::from_secs(60), "it does not grow");
        }
    }
}
