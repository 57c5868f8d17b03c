//! What work may cost. It comes in as a value: nothing here knows of arguments.

use std::io::{self, Write};
use std::time::Duration;

pub use bounds::{Bound, Bounds};
use report::{Stopped, StoppedBy};
pub use run::Cancellation;

use crate::error::{Error, ErrorKind};

/// What work may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The time and the memory that all of it may take. Every long loop looks at them.
    pub bounds: Bounds,
    /// How many steps each question to the engine may take.
    pub steps: u64,
}

impl Budget {
    /// Steps of a question, unless something else is asked for.
    pub const STEPS: u64 = 20_000_000;

    /// A budget of steps, without other bounds.
    pub fn of_steps(steps: u64) -> Budget {
        Budget { steps, ..Budget::default() }
    }

    /// Whether time or memory has run out.
    pub fn is_exhausted(&self) -> bool {
        self.bounds.are_final()
    }

    /// The time that is left; none: without end.
    pub fn time_left(&self) -> Option<Duration> {
        self.bounds.time_left()
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget { bounds: Bounds::NONE, steps: Budget::STEPS }
    }
}

/// The same bound as findings have it. The share of a part is time.
pub fn bound_of_findings(bound: Bound) -> StoppedBy {
    match bound {
        Bound::Share | Bound::Time => StoppedBy::Time,
        Bound::Memory => StoppedBy::Memory,
        Bound::Interrupt => StoppedBy::Interrupt,
    }
}

/// What ran out, in half a sentence.
pub fn in_words(bounds: Bounds, bound: Bound) -> String {
    match bound {
        Bound::Share | Bound::Time => {
            format!("the time of {} was up", seconds_in_words(bounds.time().unwrap_or_default()))
        }
        Bound::Memory => {
            format!("the memory of {} MB was used up", bounds.memory().unwrap_or_default() / 1_000_000)
        }
        Bound::Interrupt => "interrupted".to_owned(),
    }
}

/// That the time or the memory ran out for good, if it did.
pub fn ensure_within(bounds: Bounds) -> Result<(), Error> {
    match bounds.reached().filter(|_| bounds.are_final()) {
        Some(bound) => Err(ErrorKind::OutOfBounds(in_words(bounds, bound)).into()),
        None => Ok(()),
    }
}

/// A writer that ends when there is no time or memory left. Then [`ensure_within`] says why.
#[derive(Debug)]
pub struct BoundedWriter<W> {
    /// What is written to.
    pub inner: W,
    /// What ends it.
    pub bounds: Bounds,
}

impl<W: Write> Write for BoundedWriter<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self.bounds.are_final() {
            true => Err(io::Error::other("there is no time or memory left")),
            false => self.inner.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A time: `60 s`, `0.5 s`.
pub fn seconds_in_words(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{} s", time.as_secs()),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

/// That work was stopped by a bound, with nothing said yet of what it left.
pub fn stopped_by(bounds: Bounds, bound: Bound) -> Stopped {
    Stopped {
        by: bound_of_findings(bound),
        reason: in_words(bounds, bound),
        unfinished: Vec::new(),
        left_out: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_run_out_with_their_bounds() {
        assert!(!Budget::default().is_exhausted());
        let bounds = Bounds::start(Some(Duration::from_millis(1500)), Some(2_000_000_000));
        let budget = Budget { bounds, ..Budget::default() };
        assert!(budget.time_left() > Some(Duration::ZERO) && !budget.is_exhausted());
        bounds.interrupt();
        assert!(budget.is_exhausted());
        assert_eq!(in_words(bounds, Bound::Time), "the time of 1.5 s was up");
        assert_eq!(in_words(bounds, Bound::Memory), "the memory of 2000 MB was used up");
    }
}
