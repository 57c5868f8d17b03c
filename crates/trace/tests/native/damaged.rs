//! Files that were cut, never fully written, or changed: what is whole is read, and damage is noticed.

use trace::Trace;
use trace::native::layout::{CHUNK_HEADER_LEN, HEADER_LEN, Tag};
use trace::native::{self, Completeness, Cut};

use crate::{chunks_of, every_kind, fed, written};

/// Asserts that a trace is the first so many events of another.
fn assert_prefix(prefix: &Trace, whole: &Trace) {
    assert!(prefix.len() <= whole.len());
    for (event, thread, op) in prefix.events() {
        assert_eq!((thread, op), (whole.thread(event), whole.op(event)));
        assert_eq!(prefix.location(event), whole.location(event));
        assert_eq!(prefix.symbols().thread(thread), whole.symbols().thread(thread));
    }
}

#[test]
fn a_file_cut_anywhere_is_its_whole_chunks() {
    let trace = every_kind();
    for bytes in [written(&trace, 10), fed(&trace, 3)] {
        for cut in 0..bytes.len() {
            let read = native::read(&bytes[..cut]);
            if cut < HEADER_LEN {
                let message = read.unwrap_err().to_string();
                let expected = match cut {
                    0 => "byte 0: this is not a native trace: it starts with \"\", expected \"FORETELL\""
                        .into(),
                    _ => format!("byte 0: the file ends inside its header, {cut} bytes of 16"),
                };
                assert_eq!(message, expected);
                continue;
            }
            let (prefix, completeness) = read.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
            let whole = chunks_of(&bytes).take_while(|chunk| chunk.end() <= cut);
            let events = whole.filter(|chunk| chunk.header.tag == Tag::Events.bytes());
            assert_eq!(prefix.len(), events.map(|chunk| chunk.header.count as usize).sum::<usize>());
            assert_prefix(&prefix, &trace);

            let torn = chunks_of(&bytes).find(|chunk| chunk.end() > cut).expect("at least the end");
            let present = (cut - torn.offset) as u64;
            let what = if present == 0 {
                Cut::NoEnd
            } else {
                let known = if present < CHUNK_HEADER_LEN as u64 { 0 } else { torn.header.stored_len };
                Cut::InsideChunk { present, expected: CHUNK_HEADER_LEN as u64 + u64::from(known) }
            };
            assert_eq!(completeness, Completeness::Truncated { offset: torn.offset as u64, what });
        }
    }
}

#[test]
fn a_tail_that_was_never_written_is_a_cut() {
    let trace = every_kind();
    let bytes = written(&trace, 10);
    let end = chunks_of(&bytes).last().unwrap().offset;
    // Nothing of the end chunk arrived, the file keeps its size.
    let mut zeroed = bytes.clone();
    zeroed[end..].fill(0);
    let (prefix, completeness) = native::read(&zeroed).unwrap();
    assert_eq!(prefix, trace);
    assert_eq!(
        completeness.to_string(),
        format!("truncated at byte {end}: the last 32 bytes of the file were never written")
    );
    // Of the chunk before only the header arrived.
    let last = chunks_of(&bytes).filter(|chunk| chunk.header.tag == Tag::Events.bytes()).last().unwrap();
    zeroed[last.offset + CHUNK_HEADER_LEN..].fill(0);
    let (prefix, completeness) = native::read(&zeroed).unwrap();
    assert_eq!(prefix.len(), 40);
    assert_prefix(&prefix, &trace);
    let Completeness::Truncated { offset, what: Cut::Checksum { .. } } = completeness else {
        panic!("{completeness}");
    };
    assert_eq!(offset, last.offset as u64);
}

#[test]
fn no_flipped_bit_goes_unnoticed() {
    let trace = every_kind();
    let bytes = written(&trace, 25);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            match native::read(&damaged) {
                Ok((_, Completeness::Complete)) => panic!("bit {bit} of byte {at}"),
                Ok((prefix, Completeness::Truncated { .. })) => assert_prefix(&prefix, &trace),
                Err(error) => assert!(error.offset <= at as u64, "byte {at}: {error}"),
            }
        }
        for value in [0, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            if damaged != bytes {
                assert!(!matches!(native::read(&damaged), Ok((_, Completeness::Complete))), "byte {at}");
            }
        }
    }
}
