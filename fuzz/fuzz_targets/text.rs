//! No bytes make the text reader panic, and what it accepts reads the same when written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::text;

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = text::read_bytes(bytes) else { return };
    let mut again = Vec::new();
    text::write(&trace, &mut again).expect("memory can be written to");
    let back = text::read_bytes(&again).expect("what was written reads");
    assert_eq!(back, trace);
});
