//! Every seed of the fuzzers goes through its reader, and the native ones pin the format: a file
//! written by an earlier version of this code reads as it did.
//!
//! `FORETELL_BLESS=1 cargo test -p foretell-trace --test seeds` writes the native seeds anew.

use std::fs;
use std::path::{Path, PathBuf};

use trace::native::{self, Completeness, Writer};
use trace::{Metadata, Op, Trace, TraceBuilder, text};

fn seeds(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(of)
}

fn each_seed(of: &str, mut check: impl FnMut(&str, &[u8])) {
    let mut paths: Vec<_> = fs::read_dir(seeds(of)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are seeds");
    for path in paths {
        check(&path.file_name().unwrap().to_string_lossy(), &fs::read(&path).unwrap());
    }
}

/// The run in the text seed with every kind of event.
fn every_kind() -> Trace {
    text::read_bytes(&fs::read(seeds("text").join("every-kind.std")).unwrap()).unwrap()
}

/// Events that compress too well, so that they are padded.
fn padded() -> Trace {
    let mut builder = TraceBuilder::new();
    let thread = builder.thread("t").unwrap();
    let variable = builder.variable("x").unwrap();
    let location = builder.location("here").unwrap();
    for _ in 0..2000 {
        builder.push(thread, Op::Write(variable), location);
    }
    builder.set_metadata(Metadata { command: vec!["./prog".into()], ..Metadata::default() });
    builder.finish().unwrap()
}

/// The native seeds by name: what they hold, and their bytes as they are written today.
fn native_seeds() -> Vec<(&'static str, Trace, Vec<u8>)> {
    let written = |trace: &Trace, chunk_events: usize| {
        let mut writer = Writer::new(Vec::new()).unwrap().chunk_events(chunk_events);
        writer.trace(trace).unwrap();
        writer.finish().unwrap()
    };
    let empty = TraceBuilder::new().finish().unwrap();
    [("empty.ftr", empty, 1), ("every-kind.ftr", every_kind(), 9), ("padded.ftr", padded(), 1500)]
        .map(|(name, trace, chunk_events)| {
            let bytes = written(&trace, chunk_events);
            (name, trace, bytes)
        })
        .into()
}

#[test]
fn native_seeds_read_as_they_did() {
    for (name, trace, bytes) in native_seeds() {
        let path = seeds("native").join(name);
        if std::env::var_os("FORETELL_BLESS").is_some() {
            fs::write(&path, &bytes).unwrap();
        }
        assert_eq!(native::read(&fs::read(&path).unwrap()), Ok((trace, Completeness::Complete)), "{name}");
    }
}

#[test]
fn every_native_seed_and_every_cut_of_it_is_read() {
    each_seed("native", |_, bytes| {
        for cut in 0..=bytes.len() {
            let _ = native::read(&bytes[..cut]);
        }
    });
}

#[test]
fn every_text_seed_is_refused_or_round_trips() {
    each_seed("text", |name, bytes| {
        let Ok(trace) = text::read_bytes(bytes) else { return };
        let written = |trace: &Trace| {
            let mut text = Vec::new();
            text::write(trace, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let again = written(&trace);
        // Names are numbered in the order of the lines, and a wait's events may be elsewhere than its line: so the words are compared.
        assert_eq!(written(&text::read_bytes(again.as_bytes()).unwrap()), again, "{name}");
    });
}
