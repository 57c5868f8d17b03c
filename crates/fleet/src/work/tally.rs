//! What a worker has spent its time on.

use std::cell::Cell;
use std::time::Duration;

use foretell::table::counted;

/// The time of all jobs that a worker has done.
#[derive(Debug, Default)]
pub(super) struct Tally {
    jobs: Cell<u64>,
    /// In processes that hunted.
    hunting: Cell<Duration>,
    /// From when jobs arrived until they were acknowledged.
    doing: Cell<Duration>,
    /// For jobs to arrive.
    waiting: Cell<Duration>,
}

impl Tally {
    /// A job has arrived, after this time.
    pub(super) fn arrived(&self, waited: Duration) {
        self.waiting.set(self.waiting.get() + waited);
    }

    /// A job is done with, so long after it arrived, and its hunt took this part of the time.
    pub(super) fn done(&self, time: Duration, hunting: Duration) {
        self.jobs.set(self.jobs.get() + 1);
        self.doing.set(self.doing.get() + time);
        self.hunting.set(self.hunting.get() + hunting);
    }

    /// What a job has cost besides the hunt: fetching, preparing, storing, acknowledging.
    fn besides_each(&self) -> Duration {
        let jobs = self.jobs.get().clamp(1, u64::from(u32::MAX)) as u32;
        self.doing.get().saturating_sub(self.hunting.get()) / jobs
    }

    /// One sentence.
    pub(super) fn sentence(&self) -> String {
        format!(
            "{}: {:.1} s of hunting, {:.1} ms per job otherwise",
            counted(self.jobs.get(), "job"),
            self.hunting.get().as_secs_f64(),
            self.besides_each().as_secs_f64() * 1000.0
        )
    }

    /// The same for programs.
    pub(super) fn figures(&self) -> serde_json::Value {
        serde_json::json!({
            "jobs": self.jobs.get(),
            "hunting_seconds": self.hunting.get().as_secs_f64(),
            "doing_seconds": self.doing.get().as_secs_f64(),
            "waiting_seconds": self.waiting.get().as_secs_f64(),
            "own_cpu_seconds": run::own_processor_time().as_secs_f64(),
            "all_cpu_seconds": run::processor_time().as_secs_f64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_besides_the_hunts_is_that_of_a_job() {
        let tally = Tally::default();
        assert_eq!(tally.sentence(), "0 jobs: 0.0 s of hunting, 0.0 ms per job otherwise");
        for _ in 0..4 {
            tally.arrived(Duration::from_millis(1));
            tally.done(Duration::from_millis(503), Duration::from_millis(500));
        }
        assert_eq!(tally.sentence(), "4 jobs: 2.0 s of hunting, 3.0 ms per job otherwise");
        assert_eq!(tally.figures()["waiting_seconds"], 0.004);
    }
}
