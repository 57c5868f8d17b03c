//! `foretell convert`: what is written is what was read, in every form.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use crate::support::{RICH, Workplace, example};
use ::generate::{TraceSettings, generate};
use foretell::mode::OutputMode;
use foretell::open::open;
use foretell::output::{Form, OutputTarget};
use trace::{Trace, native, text};

const QUIET: OutputMode = OutputMode { json: false, quiet: true };

fn write(trace: &Trace, path: &OsStr) {
    let target = OutputTarget::named(path).unwrap();
    let written = target.write(|mut out| match target.form() {
        Form::Native => native::write(trace, out),
        Form::Text(_) => text::write(trace, &mut out),
    });
    written.unwrap();
}

fn as_text(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    text::write(trace, &mut bytes).unwrap();
    bytes
}

/// Text to native to text, and through each compression, for random traces of every kind of event.
#[test]
fn round_trips_are_identical() {
    let place = Workplace::new();
    let mut kinds = BTreeSet::new();
    for seed in 0..400 {
        let original = match seed % 8 {
            7 => generate(&TraceSettings { seed, ..TraceSettings::large(3000, 6, 9, 40) }),
            _ => generate(&TraceSettings::tiny(seed)),
        }
        .unwrap();
        kinds.extend(original.events().map(|(_, _, op)| op.kind()));
        let text = as_text(&original);
        let [plain, native, gzip, zstd] = ["a.std", "a.ftr", "a.std.gz", "a.std.zst"].map(|n| place.path(n));

        std::fs::write(&plain, &text).unwrap();
        let mut trace = open(plain.as_os_str(), QUIET).unwrap().trace;
        for path in [&native, &gzip, &zstd] {
            write(&trace, path.as_os_str());
            let back = open(path.as_os_str(), QUIET).unwrap();
            assert!(back.is_complete());
            assert_eq!(back.trace, trace, "seed {seed}, {}", path.display());
            trace = back.trace;
        }
        let back = as_text(&trace);
        assert_eq!(back, text, "seed {seed}: {}", String::from_utf8_lossy(&text));
    }
    let missing: Vec<_> = trace::Kind::ALL.iter().filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "the seeds never show {missing:?}");
}

#[test]
fn the_commands_round_trip_too() {
    let place = Workplace::new();
    for seed in 0..10 {
        let seed = seed.to_string();
        place.run(&["generate", "-q", "--tiny", "--seed", &seed, "-o", "a.std"]).succeeded();
        for (from, to) in
            [("a.std", "b.ftr"), ("b.ftr", "c.std.gz"), ("c.std.gz", "d.std.zst"), ("d.std.zst", "e.txt")]
        {
            let ran = place.run(&["convert", "--quiet", from, to]).succeeded();
            assert_eq!(ran.seen(), "[exit 0]\n");
        }
        let events = |bytes: Vec<u8>| -> Vec<u8> {
            // The generator declares semaphores that no event uses; they have no place in a trace read back.
            let lines = bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"#!"));
            lines.flatten().copied().collect()
        };
        assert_eq!(events(place.read("e.txt")), events(place.read("a.std")), "seed {seed}");
    }
}

#[test]
fn says_what_it_wrote() {
    let place = Workplace::new();
    place.write("t.std", example());
    let ran = place.run(&["convert", "t.std", "t.std.copy"]).succeeded();
    assert_eq!(
        ran.seen(),
        format!("wrote 21 events to t.std.copy ({} bytes)\n[exit 0]\n", place.read("t.std.copy").len())
    );
    let json = place.run(&["convert", "--json", "t.std", "t.ftr"]).succeeded().json();
    let size = place.read("t.ftr").len();
    let expected = serde_json::json!({
        "schema": 1, "from": "t.std", "to": "t.ftr", "events": 21, "bytes": size, "dropped": {}
    });
    assert_eq!(json, expected);
}

#[test]
fn standard_input_to_standard_output() {
    let place = Workplace::new();
    let ran = place.run_with_input(&["convert", "-", "-"], RICH.as_bytes()).succeeded();
    assert_eq!(ran.text(), RICH);
    assert_eq!(ran.stderr, "");
}

#[test]
fn for_rapid_other_kinds_are_left_out_and_counted() {
    let place = Workplace::new();
    let rich = "T1|fork(T2)|a.c:1\nT1|acq(m)|a.c:2\nT1|post(s)|a.c:3\nT1|rel(m)|a.c:4\nT2|take(s)|a.c:5\nT2|signal(c)|a.c:5\n";
    place.write("t.std", rich);
    insta::assert_snapshot!(place.run(&["convert", "--rapid", "t.std", "-"]).seen());
    let json = place.run(&["convert", "--rapid", "--json", "t.std", "r.std"]).succeeded().json();
    assert_eq!(json["events"], 3);
    assert_eq!(json["dropped"], serde_json::json!({"post": 1, "take": 1, "signal": 1}));
}

#[test]
fn a_file_is_replaced_whole_and_its_mode_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Workplace::new();
    place.write("t.std", example()).write("old.ftr", "something else");
    std::fs::set_permissions(place.path("old.ftr"), std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("old.ftr", place.path("link.ftr")).unwrap();
    place.run(&["convert", "-q", "t.std", "link.ftr"]).succeeded();
    assert!(place.path("link.ftr").is_symlink(), "a link stays a link");
    let mode = place.path("old.ftr").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(place.run(&["stats", "--json", "old.ftr"]).succeeded().json()["trace"]["events"], 21);
    // In place works as well: the source is read before the target is replaced.
    place.run(&["convert", "-q", "old.ftr", "old.ftr"]).succeeded();
    assert_eq!(place.files(), ["link.ftr", "old.ftr", "t.std"]);
}

#[test]
fn a_failure_leaves_the_old_file_alone() {
    let place = Workplace::new();
    place.write("bad.std", "T1|rel(m)|1\n").write("out.ftr", "precious");
    assert_eq!(place.run(&["convert", "bad.std", "out.ftr"]).code, Some(2));
    assert_eq!(place.read("out.ftr"), b"precious");
    assert_eq!(place.files(), ["bad.std", "out.ftr"]);
}
