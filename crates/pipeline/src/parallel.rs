//! The same work on many items, on all cores.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::jobs::{JobReport, TakenJob, do_jobs};

/// Maps each item, a number of them at the same time. The results are in the order of the items; after an error no more are begun.
pub(crate) fn map_in_parallel<I: Send, T: Send>(
    items: Vec<I>,
    at_once: usize,
    work: impl Fn(I) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    if items.len() < 2 || at_once < 2 {
        return items.into_iter().map(work).collect();
    }
    let mut results: Vec<Option<Result<T, Error>>> = items.iter().map(|_| None).collect();
    let failed = AtomicBool::new(false);
    let go_on = || !failed.load(Ordering::Relaxed);
    let work = |taken: TakenJob<I>| {
        let result = work(taken.job);
        failed.fetch_or(result.is_err(), Ordering::Relaxed);
        result
    };
    do_jobs(items, at_once, go_on, work, |heard| {
        if let JobReport::Ended(number, result) = heard {
            results[number] = Some(result);
        }
    });
    // Jobs are taken in order, so whatever was not begun comes after an error.
    results.into_iter().flatten().collect()
}

/// How much can be done at the same time. It is asked for once: the answer takes files of the kernel, and a hunt wants to know before every run.
pub(crate) fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *CORES
}
