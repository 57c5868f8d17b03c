//! A replay's files: the [`control`] file holds the instructions to follow, and the [`outcome`] file gets the result. The following itself
//! is in [`crate::schedule`].

mod control;
mod outcome;

use core::sync::atomic::{AtomicU64, Ordering};

pub(crate) use control::Control;
use wire::{Obstacle, OutcomeRecord, WaitsFor};

use crate::schedule::{Fixed, Replay, Report};
use crate::settings::{Settings, decimal};
use crate::sys;

/// The first step of the schedule after which a debugger wants the program stopped. Set by the debugger.
#[unsafe(export_name = "foretell_stop_at")]
static STOP_AT: AtomicU64 = AtomicU64::new(0);
/// How many steps of the schedule were performed. Read by the debugger.
#[unsafe(export_name = "foretell_step")]
static STEP: AtomicU64 = AtomicU64::new(0);

/// Called after a step of the schedule that a debugger waits for, which has a breakpoint here.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn foretell_stopped() {
    core::hint::black_box(&STEP);
}

/// Called when no thread can go on, before the program is ended for it: a debugger has a breakpoint here, too. The two do
/// different things, or they would become one function.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn foretell_deadlocked() {
    core::hint::black_box(&STOP_AT);
}

/// This number of steps was performed; whether a debugger waits for that.
pub(crate) fn comes_to(step: u64) -> bool {
    STEP.store(step, Ordering::Relaxed);
    step >= STOP_AT.load(Ordering::Relaxed)
}

/// Reads what is to be done. Without a control file that makes sense the program runs freely, and the outcome says so.
pub(crate) fn load(settings: &Settings) -> Option<Replay> {
    let Some(control) = Control::load(settings) else {
        let unreadable = OutcomeRecord::Diverged {
            instruction: 0,
            thread: 0,
            obstacle: Obstacle::NoControl,
            place: 0,
            waits_for: WaitsFor::Nothing,
        };
        outcome::append(&unreadable, settings);
        return None;
    };
    let threads = control.origins.len();
    Some(Replay::new(control, Fixed::new(sys::map_array(threads)?), Fixed::new(sys::map_array(threads)?)))
}

/// Adds a report to the outcome, with what memory holds now; whether that worked.
pub(crate) fn write(report: Report, settings: &Settings) -> bool {
    let record = report.map_memory(|range| outcome::memory(range.address, range.length));
    outcome::append(&record, settings)
}

/// Tells the kernel what a thread is called; debuggers ask it.
pub(crate) fn name_thread(kernel_id: u32, name: &[u8]) {
    let mut digits = [0; 20];
    let kernel_id = decimal(kernel_id.into(), &mut digits);
    let mut path = [0; 64];
    let mut used = 0;
    for part in [b"/proc/self/task/", kernel_id, b"/comm\0"] {
        path[used..used + part.len()].copy_from_slice(part);
        used += part.len();
    }
    let file = sys::open(&path[..used], libc::O_WRONLY);
    if file >= 0 {
        sys::write_all(file, name);
        sys::close(file);
    }
}
