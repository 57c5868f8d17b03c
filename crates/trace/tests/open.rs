//! Compressed traces: what is in them, and in which words broken ones are refused.

use std::io::{Read, Write};

use trace::open::{FileContent, decode, sniff};

const TEXT: &[u8] = b"T1|fork(T2)|1\nT2|w(x)|2\nT1|join(T2)|3\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn decoded(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let mut reader = decode(bytes).map_err(|error| error.to_string())?;
    reader.read_to_end(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

#[test]
fn the_content_tells_the_form() {
    assert_eq!(sniff(&gzip(TEXT)), FileContent::Gzip);
    assert_eq!(sniff(&zstd(TEXT)), FileContent::Zstd);
    assert_eq!(sniff(&[0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]), FileContent::Zstd);
    assert_eq!(sniff(b"FORETELL and more"), FileContent::Native);
    for text in [TEXT, b"", b"\x1f", b"FORETEL", b"FORETELl"] {
        assert_eq!(sniff(text), FileContent::Text);
    }
}

#[test]
fn every_member_and_frame_is_read_one_level_deep() {
    let (first, second) = TEXT.split_at(20);
    assert_eq!(decoded(TEXT).unwrap(), TEXT);
    assert_eq!(decoded(b"").unwrap(), b"");
    assert_eq!(decoded(&[gzip(first), gzip(second)].concat()).unwrap(), TEXT);
    assert_eq!(decoded(&[zstd(first), zstd(second)].concat()).unwrap(), TEXT);
    assert_eq!(decoded(&gzip(&zstd(TEXT))).unwrap(), zstd(TEXT));
    assert_eq!(decode(&gzip(TEXT)[..]).unwrap().form(), FileContent::Gzip);
    let trace = trace::text::read(decode(&zstd(TEXT)[..]).unwrap()).unwrap();
    assert_eq!(trace.len(), 3);
}

#[test]
fn a_truncated_stream_says_so_wherever_it_is_cut() {
    for (whole, compression) in [(gzip(TEXT), "gzip"), (zstd(TEXT), "zstd")] {
        for length in 4..whole.len() {
            let expected = format!("the {compression} data are truncated: they end in the middle");
            assert_eq!(decoded(&whole[..length]), Err(expected), "{compression} cut at {length}");
        }
    }
    let message = trace::text::read(decode(&gzip(TEXT)[..30]).unwrap()).unwrap_err().to_string();
    assert_eq!(message, "cannot read the trace: the gzip data are truncated: they end in the middle");
}

#[test]
fn a_damaged_stream_says_so() {
    for (mut whole, compression) in [(gzip(TEXT), "gzip"), (zstd(TEXT), "zstd")] {
        let last = whole.len() - 1;
        whole[last] ^= 0xff;
        let message = match compression {
            "gzip" => decoded(&whole).unwrap_err(),
            // Without a checksum only the structure can be wrong.
            _ => {
                whole[4] ^= 0xff;
                decoded(&whole).unwrap_err()
            }
        };
        assert!(message.starts_with(&format!("the {compression} data are ")), "{message}");
    }
    assert!(
        decoded(&[gzip(TEXT), b"rubbish".to_vec()].concat()).unwrap_err().starts_with("the gzip data are")
    );
}
