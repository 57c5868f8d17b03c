//! `--timeout` and `--memory`: what a whole command may take.

use std::time::Duration;

use clap::Args;
use pipeline::{Bounds, Budget};

use crate::interrupts;
use crate::quantity::{bytes, seconds};

/// What a whole command may take: the same options for all that may take long.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub struct TimeAndMemory {
    /// Stop after this many seconds and report what was found by then.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    #[command(flatten)]
    memory: MemoryLimit,
}

/// What a whole command may have in memory.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub struct MemoryLimit {
    /// Stop when foretell has this much in memory, such as `500M` or `4G`, and report what was found by then [default: half of
    /// the machine's].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    memory: Option<u64>,
}

impl TimeAndMemory {
    /// Starts the clock.
    pub fn start(self) -> Bounds {
        self.memory.start(self.timeout)
    }
}

impl MemoryLimit {
    /// Starts the clock. From now on an interrupt ends the work as the end of the time does.
    pub fn start(self, timeout: Option<Duration>) -> Bounds {
        let bounds = Bounds::start(timeout, self.memory.or_else(half_of_the_machine));
        interrupts::stop_at(bounds);
        bounds
    }
}

/// What presenting what was found may take: a tenth of the time that finding it took, at least ten seconds. What is not ready by then is
/// not presented; nothing ends the process.
pub fn presenting(found_in: Duration) -> Bounds {
    const LEAST: Duration = Duration::from_secs(10);
    Bounds::start(Some(LEAST.max(found_in / 10)), half_of_the_machine())
}

fn half_of_the_machine() -> Option<u64> {
    bounds::installed().map(|installed| installed / 2)
}

/// A budget of steps for each question.
pub fn budget(bounds: Bounds, steps: u64) -> Budget {
    Budget { bounds, steps }
}
