//! The same work on many items, on all cores.

use crate::error::Error;

/// Maps each item, so many at the same time. The results are in the order of the items.
pub(crate) fn map_in_parallel<I: Send, T: Send>(
    items: Vec<I>,
    at_once: usize,
    work: impl Fn(I) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    if items.len() < 2 || at_once < 2 {
        return items.into_iter().map(work).collect();
    }
    let (work, mut items, mut done) = (&work, items.into_iter().peekable(), Vec::new());
    while items.peek().is_some() {
        std::thread::scope(|scope| {
            let start = |item| {
                let worker = std::thread::Builder::new().spawn_scoped(scope, move || work(item));
                worker.map_err(|error| Error::io("start", "a thread to work in", error))
            };
            let workers = items.by_ref().take(at_once).map(start).collect::<Result<Vec<_>, Error>>()?;
            for worker in workers {
                done.push(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok::<(), Error>(())
        })?;
    }
    Ok(done)
}

/// How much can be done at the same time.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
