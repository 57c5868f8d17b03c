//! What the clocks of the program show that is run: virtual time, or the machine's.

use clap::Args;
use wire::Clock;

/// The choice between them.
#[derive(Debug, Args)]
pub(super) struct Clocks {
    /// Let the program read the machine's clocks, and sleep as long as it says. By default its clocks show virtual time: it
    /// passes with events, and at once when all threads wait.
    #[arg(long)]
    real_time: bool,
}

impl Clocks {
    /// What the clocks show in this run, and in those that are compared with it.
    pub(super) fn clock(&self) -> Clock {
        if self.real_time { Clock::Real } else { run::clock::starting_now() }
    }

    /// The same of a replay, if it is not to be as in the recorded run.
    pub(super) fn clock_of_replay(&self) -> Option<Clock> {
        self.real_time.then_some(Clock::Real)
    }
}
