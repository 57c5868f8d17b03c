//! Whether programs that are being replayed are to be ended: the user wants to stop.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Asks to stop; whether somebody did before.
pub fn ask() -> bool {
    ASKED.swap(true, Ordering::SeqCst)
}

/// Whether somebody asked.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
