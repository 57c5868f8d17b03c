//! How programs end, in words.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// What a signal means, to be written behind it.
pub fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (illegal instruction)",
        6 => " (abort)",
        7 => " (bus error)",
        8 => " (arithmetic error)",
        9 => " (kill)",
        11 => " (segmentation fault)",
        15 => " (termination)",
        _ => "",
    }
}

/// If a program ended by a fault of its own: which, to be written behind that it did.
pub fn crash(status: ExitStatus) -> Option<&'static str> {
    status.signal().filter(|signal| matches!(signal, 4 | 6 | 7 | 8 | 11)).map(signal_name)
}
