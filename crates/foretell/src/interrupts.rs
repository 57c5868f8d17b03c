//! Interrupts: what happens on Ctrl-C or a request to terminate. As a rule the process ends; a command that keeps what it has found may heed
//! them instead, and end by itself. Whoever asks twice is obeyed at once.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pipeline::Cancellation;
use pipeline::files::remove_unfinished;

use crate::exit::Exit;
use crate::progress;

/// Interrupts are heeded.
static HEEDED: AtomicBool = AtomicBool::new(false);
/// The work under way cannot be ended halfway: the process is.
static AT_ONCE: AtomicBool = AtomicBool::new(false);
/// How many findings are kept already.
static FOUND: AtomicUsize = AtomicUsize::new(0);
static CANCELLATION: LazyLock<Cancellation> = LazyLock::new(Cancellation::default);

/// From now on an interrupt ends the process and removes the unfinished file, if there is one.
pub fn handle() {
    let handler = || {
        if HEEDED.load(Ordering::SeqCst) && !CANCELLATION.cancel() {
            if AT_ONCE.load(Ordering::SeqCst) {
                end_with_findings();
            }
            return;
        }
        remove_unfinished();
        // As a shell reports a process that an interrupt ended.
        std::process::exit(130);
    };
    // Without a handler the temporary file stays behind, under a name that says what it is.
    let _ = ctrlc::set_handler(handler);
}

/// From now on an interrupt calls off what is being done; the second one ends the process.
pub fn heed() {
    HEEDED.store(true, Ordering::SeqCst);
}

/// Called off by an interrupt that is heeded.
pub fn cancellation() -> Cancellation {
    CANCELLATION.clone()
}

/// A finding is kept.
pub fn count_finding() {
    FOUND.fetch_add(1, Ordering::SeqCst);
}

/// Whether work begins that cannot be ended halfway: an interrupt ends the process while it lasts.
pub fn end_process_at_once(begins: bool) {
    AT_ONCE.store(begins, Ordering::SeqCst);
    if begins && CANCELLATION.is_cancelled() {
        end_with_findings();
    }
}

fn end_with_findings() -> ! {
    progress::say("interrupted; `foretell report` shows what was found so far");
    remove_unfinished();
    let exit = if FOUND.load(Ordering::SeqCst) > 0 { Exit::Findings } else { Exit::Budget };
    std::process::exit(i32::from(exit.status()))
}
