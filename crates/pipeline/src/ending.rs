//! How programs end, in words.

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
