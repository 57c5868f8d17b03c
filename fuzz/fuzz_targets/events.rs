//! See `events` in judges.rs.
#![no_main]
#![allow(dead_code, reason = "the other judges are for other targets")]

#[path = "../judges.rs"]
mod judges;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| judges::events(bytes));
