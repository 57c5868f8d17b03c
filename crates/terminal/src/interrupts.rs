//! Interrupts: what happens on Ctrl-C or a request to terminate. As a rule the process ends; a command that reports what it has found so far stops its
//! work instead, and ends. A second request ends it at once.

use std::sync::LazyLock;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use pipeline::budget::{Bound, stopped_by};
use pipeline::files::remove_unfinished;
use pipeline::{Bounds, Cancellation};
use report::Stopped;

use crate::exit::Exit;
use crate::patience::Patience;
use crate::progress;

/// Interrupts are for another program.
static IGNORED: AtomicBool = AtomicBool::new(false);
/// Interrupts are heeded.
static HEEDED: AtomicBool = AtomicBool::new(false);
/// How many findings are kept already.
static FOUND: AtomicUsize = AtomicUsize::new(0);
static CANCELLATION: LazyLock<Cancellation> = LazyLock::new(Cancellation::default);
/// What a command says that does not come to its end by itself.
static LAST_WORDS: Mutex<Option<LastWords>> = Mutex::new(None);
/// What was found is being reported.
static REPORTING: AtomicBool = AtomicBool::new(false);
/// The last resort ends the process.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// The bounds of the command.
static BOUNDS: Mutex<Bounds> = Mutex::new(Bounds::NONE);

/// From now on an interrupt ends the process and removes the unfinished file, if there is one.
pub fn handle() {
    let handler = || {
        if IGNORED.load(Ordering::SeqCst) {
            return;
        }
        if HEEDED.load(Ordering::SeqCst) && !CANCELLATION.cancel() {
            let bounds = *BOUNDS.lock().unwrap_or_else(PoisonError::into_inner);
            bounds.interrupt();
            // Another thread: the second interrupt is to be heard.
            let _ = thread::Builder::new().spawn(move || end_at_last(bounds));
            return;
        }
        remove_unfinished();
        // As a shell reports a process that an interrupt ended.
        std::process::exit(130);
    };
    // Without it a file that gets too large ends the process, which is no worse than before.
    let _ = run::survive_file_limit();
    // Without a handler the temporary file stays behind, under a name that says what it is.
    let _ = ctrlc::set_handler(handler);
}

/// From now on interrupts are left to the debugger that runs in the same terminal.
pub fn ignore() {
    IGNORED.store(true, Ordering::SeqCst);
}

/// From now on an interrupt calls off what is being done; the second one ends the process.
pub fn heed() {
    HEEDED.store(true, Ordering::SeqCst);
}

/// The same by reaching these bounds. If they are reached and the work does not end, the process does.
pub fn stop_at(bounds: Bounds) {
    *BOUNDS.lock().unwrap_or_else(PoisonError::into_inner) = bounds;
    heed();
    // Without this thread the work ends by itself, perhaps later.
    let _ = thread::Builder::new().name("last resort".into()).spawn(move || {
        while !bounds.are_final() {
            thread::sleep(TICK);
        }
        end_at_last(bounds);
    });
}

/// How often the last resort looks.
const TICK: Duration = Duration::from_millis(50);

/// Called off by an interrupt that is heeded.
pub fn cancellation() -> Cancellation {
    CANCELLATION.clone()
}

/// Says what was found so far, given what ended the work, and the status that follows from it.
pub type LastWords = Box<dyn FnOnce(Stopped) -> Exit + Send>;

/// From now on this is said if the work does not come to its end by itself.
pub fn set_last_words(words: LastWords) {
    *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
}

/// The command reports what it has found. If the last resort does so already, the process is about to end.
pub fn begin_report() {
    while REPORTING.swap(true, Ordering::SeqCst) && IS_ENDING.load(Ordering::SeqCst) {
        thread::sleep(TICK);
    }
}

/// A finding is kept.
pub fn count_finding() {
    FOUND.fetch_add(1, Ordering::SeqCst);
}

/// Ends the process if the work did not end in time by itself: it has twice the time to present what was found.
fn end_at_last(bounds: Bounds) -> ! {
    let patience = Patience::new(2 * bounds.grace() + Duration::from_secs(2));
    while !patience.is_over() && !is_far_over(bounds) {
        thread::sleep(TICK);
    }
    while IS_ENDING.swap(true, Ordering::SeqCst) {
        // Another thread does it.
        thread::sleep(TICK);
    }
    let stopped = what_ended(bounds);
    progress::say(&format!(
        "stopped in the middle of a step: {}; what was found before is printed or, after a hunt, in `foretell report`",
        stopped.reason
    ));
    remove_unfinished();
    // What was found may be as large as what it was found in: presenting it ends as well.
    let _ = thread::Builder::new().spawn(move || {
        let patience = Patience::new(2 * bounds.grace() + Duration::from_secs(2));
        while !patience.is_over() {
            thread::sleep(TICK);
        }
        progress::say("what was found before could not be presented in time");
        remove_unfinished();
        std::process::exit(i32::from(Exit::Budget.status()))
    });
    let words = LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(words) = words.filter(|_| !REPORTING.swap(true, Ordering::SeqCst)) {
        std::process::exit(i32::from(words(stopped).status()));
    }
    let found = FOUND.load(Ordering::SeqCst) > 0 && bounds.reached() == Some(Bound::Interrupt);
    std::process::exit(i32::from(if found { Exit::Findings } else { Exit::Budget }.status()))
}

/// What the work did not end for: time, memory, or the user's patience.
fn what_ended(bounds: Bounds) -> Stopped {
    stopped_by(bounds, bounds.reached().unwrap_or(Bound::Interrupt))
}

/// Whether the memory is so far over its bound that the machine is in danger.
fn is_far_over(bounds: Bounds) -> bool {
    let most = bounds.memory().map(|memory| memory + memory / 2 + (256 << 20));
    most.is_some_and(|most| bounds::resident().is_some_and(|resident| resident > most))
}

#[cfg(test)]
mod tests {
    use report::StoppedBy;

    use super::*;

    #[test]
    fn last_words_name_what_ran_out() {
        let bounds = Bounds::start(Some(Duration::from_secs(3600)), Some(1));
        while !bounds.are_final() {
            thread::sleep(TICK);
        }
        let stopped = what_ended(bounds);
        assert_eq!((stopped.by, &*stopped.reason), (StoppedBy::Memory, "the memory of 0 MB was used up"));
        let bounds = Bounds::start(Some(Duration::from_millis(1)), None);
        while !bounds.are_final() {
            thread::sleep(TICK);
        }
        assert_eq!(what_ended(bounds).by, StoppedBy::Time);
    }
}
