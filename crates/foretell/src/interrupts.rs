//! Interrupts: what happens on Ctrl-C or a request to terminate. As a rule the process ends; a command that keeps what it has found may heed
//! them instead, and end by itself. Whoever asks twice is obeyed at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::exit::Exit;
use crate::output;
use crate::progress;

/// Interrupts are heeded.
static HEEDED: AtomicBool = AtomicBool::new(false);

/// From now on an interrupt ends the process and removes the unfinished file, if there is one.
pub fn handle() {
    let handler = || {
        if HEEDED.load(Ordering::SeqCst) && !run::stopping::ask() {
            return;
        }
        output::remove_unfinished();
        // As a shell reports a process that an interrupt ended.
        std::process::exit(130);
    };
    // Without a handler the temporary file stays behind, under a name that says what it is.
    let _ = ctrlc::set_handler(handler);
}

/// From now on an interrupt is noted, and ends what is being replayed; the second one ends the process.
pub fn heed() {
    HEEDED.store(true, Ordering::SeqCst);
}

/// Whether one came.
pub fn came() -> bool {
    run::stopping::is_asked()
}

/// Does work that cannot be ended halfway: an interrupt ends the process while it lasts. So many findings are kept already.
pub fn ending_at_once<T>(found: &AtomicUsize, work: impl FnOnce() -> T) -> T {
    const PAUSE: Duration = Duration::from_millis(20);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                if came() {
                    let found = found.load(Ordering::SeqCst);
                    progress::say("interrupted; `foretell report` shows what was found so far");
                    output::remove_unfinished();
                    let exit = if found > 0 { Exit::Findings } else { Exit::Budget };
                    std::process::exit(i32::from(exit.status()));
                }
                std::thread::park_timeout(PAUSE);
            }
        });
        let result = work();
        done.store(true, Ordering::SeqCst);
        result
    })
}
