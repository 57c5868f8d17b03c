//! No bytes make the text reader panic, and what it accepts reads the same when written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::{Trace, text};

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = text::read_bytes(bytes) else { return };
    let again = written(&trace);
    let back = text::read_bytes(&again).expect("what was written reads");
    // Names are numbered in the order of the lines, and a wait's events may be elsewhere than its line: so the words are compared.
    assert_eq!(String::from_utf8_lossy(&written(&back)), String::from_utf8_lossy(&again));
});

fn written(trace: &Trace) -> Vec<u8> {
    let mut text = Vec::new();
    text::write(trace, &mut text).expect("memory can be written to");
    text
}
