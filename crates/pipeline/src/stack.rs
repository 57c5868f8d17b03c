//! Room for recursion. Refutations are trees as deep as the search that found them, and a file can hold one that
//! is as deep as its reader allows; the stack of a main thread is too small for that.

use crate::error::Error;

/// Enough for what [`report::DEEPEST`] allows, with room to spare. Only what is used is ever taken.
const STACK: usize = 256 << 20;

/// Does the same with each of these, as many at the same time as there are cores, on threads with a large stack; what came of them, in their order.
pub fn side_by_side<I: Send, T: Send>(
    items: Vec<I>,
    work: impl Fn(I) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    if items.len() < 2 {
        return items.into_iter().map(work).collect();
    }
    let (work, mut items, mut done) = (&work, items.into_iter().peekable(), Vec::new());
    while items.peek().is_some() {
        std::thread::scope(|scope| {
            let start = |item| {
                let worker =
                    std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || work(item));
                worker.map_err(|error| Error::io("start", "a thread to work in", error))
            };
            let workers = items.by_ref().take(cores()).map(start).collect::<Result<Vec<_>, Error>>()?;
            for worker in workers {
                done.push(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok::<(), Error>(())
        })?;
    }
    Ok(done)
}

/// How much can be done at the same time.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does the work on a thread with a large stack.
pub fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let worker = worker.map_err(|error| Error::io("start", "a thread to work in", error))?;
        worker.join().map_err(|panic| std::panic::resume_unwind(panic))
    })
}
