//! Jobs in memory: workers take the next one until none is left. Hunts make their runs with it, and suites their hunts; a fleet has a queue
//! on a server in its place.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError, mpsc};

/// A job that a worker has taken.
#[derive(Debug)]
pub(crate) struct TakenJob<J> {
    /// Its number, from 0.
    pub(crate) number: usize,
    /// What to do.
    pub(crate) job: J,
    /// How many were waiting, this one included.
    pub(crate) waiting: usize,
}

/// What is reported of a job.
#[derive(Debug)]
pub(crate) enum JobReport<T> {
    /// A worker begins.
    Begins(usize),
    /// It is done, and this came of it.
    Ended(usize, T),
}

/// Does the jobs, a number of them at the same time, for as long as `go_on` says; those that nobody took are dropped. What happens is reported here, in the
/// thread that asked.
pub(crate) fn do_jobs<J: Send, T: Send>(
    jobs: Vec<J>,
    workers: usize,
    go_on: impl Fn() -> bool + Sync,
    work: impl Fn(TakenJob<J>) -> T + Sync,
    mut hear: impl FnMut(JobReport<T>),
) {
    let workers = workers.clamp(1, jobs.len().max(1));
    let queue: Mutex<VecDeque<(usize, J)>> = Mutex::new(jobs.into_iter().enumerate().collect());
    let next = || {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = queue.len();
        let (number, job) = queue.pop_front().filter(|_| go_on())?;
        Some(TakenJob { number, job, waiting })
    };
    std::thread::scope(|scope| {
        let (sender, heard) = mpsc::channel();
        for _ in 0..workers {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some(taken) = next() {
                    let number = taken.number;
                    // Somebody listens for as long as there are workers.
                    let _ = sender.send(JobReport::Begins(number));
                    let _ = sender.send(JobReport::Ended(number, work(taken)));
                }
            });
        }
        drop(sender);
        heard.into_iter().for_each(&mut hear);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn each_job_is_done_once_and_reported() {
        for workers in [0, 1, 3, 50] {
            let (mut begun, mut ended) = (Vec::new(), Vec::new());
            let work = |taken: TakenJob<u64>| {
                assert!((1..=20).contains(&taken.waiting));
                taken.job * 2
            };
            do_jobs(
                (100..120).collect(),
                workers,
                || true,
                work,
                |heard| match heard {
                    JobReport::Begins(number) => begun.push(number),
                    JobReport::Ended(number, result) => ended.push((number, result)),
                },
            );
            begun.sort_unstable();
            ended.sort_unstable();
            assert_eq!(begun, (0..20).collect::<Vec<usize>>());
            assert_eq!(ended, (0..20).map(|number| (number, 200 + 2 * number as u64)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_job_begins_after_the_end() {
        let count = AtomicUsize::new(0);
        let go_on = || count.load(Ordering::SeqCst) < 3;
        let work = |_: TakenJob<()>| count.fetch_add(1, Ordering::SeqCst);
        let mut ended = 0;
        do_jobs(vec![(); 10], 1, go_on, work, |heard| {
            ended += usize::from(matches!(heard, JobReport::Ended(..)))
        });
        assert_eq!(ended, 3);
    }
}
