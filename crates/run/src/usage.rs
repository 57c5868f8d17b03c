//! What processes have used.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

/// The CPU time of this process and of all that it started and waited for.
pub fn processor_time() -> Duration {
    own_processor_time() + of(UsageWho::RUSAGE_CHILDREN)
}

/// The CPU time of this process alone.
pub fn own_processor_time() -> Duration {
    of(UsageWho::RUSAGE_SELF)
}

fn of(who: UsageWho) -> Duration {
    let Ok(usage) = getrusage(who) else { return Duration::ZERO };
    let times = [usage.user_time(), usage.system_time()];
    let micros = times.map(|time| time.tv_sec() * 1_000_000 + time.tv_usec());
    Duration::from_micros(micros.iter().sum::<i64>().max(0) as u64)
}
