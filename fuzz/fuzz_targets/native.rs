//! No bytes make the native reader panic, and what it accepts reads the same when written again.
//!
//! Random bytes seldom have the right checksum, so each input is also tried with its checksums put right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::native::layout::{CHUNK_HEADER_LEN, ChunkHeader, HEADER_LEN};
use trace::native::{self, Completeness};

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    check(&with_right_checksums(bytes));
});

fn check(bytes: &[u8]) {
    let Ok((trace, _)) = native::read(bytes) else { return };
    let mut again = Vec::new();
    native::write(&trace, &mut again).expect("memory can be written to");
    assert_eq!(native::read(&again), Ok((trace, Completeness::Complete)));
}

fn with_right_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut offset = HEADER_LEN;
    while let Some((header, rest)) = bytes.get_mut(offset..).and_then(|rest| rest.split_first_chunk_mut()) {
        let mut fields = ChunkHeader::from_bytes(header);
        let Some(stored) = rest.get(..fields.stored_len as usize) else { break };
        fields.checksum = fields.checksum_with(stored);
        *header = fields.to_bytes();
        offset += CHUNK_HEADER_LEN + fields.stored_len as usize;
    }
    bytes
}
