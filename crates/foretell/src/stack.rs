//! Room for recursion. Refutations are trees as deep as the search that found them, and a file can hold one that
//! is as deep as its reader allows; the stack of a main thread is too small for that.

use crate::diagnostics::Diagnostic;

/// Enough for what [`report::DEEPEST`] allows, with room to spare. Only what is used is ever taken.
const STACK: usize = 256 << 20;

/// Does the work on a thread with a large stack.
pub fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Diagnostic> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let worker = worker.map_err(|error| Diagnostic::from_io("start", "a thread to work in", &error))?;
        worker.join().map_err(|panic| std::panic::resume_unwind(panic))
    })
}
