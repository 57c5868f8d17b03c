//! Every style of error, as the user sees it. None of them is ever silent or exits with 0.

use crate::support::{RICH, Workplace, example};

/// What a command says when it fails.
#[track_caller]
fn failure(place: &Workplace, arguments: &[&str]) -> String {
    let ran = place.run(arguments);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stdout.is_empty(), "a failure prints no result: {}", ran.text());
    ran.stderr
}

#[test]
fn a_line_outside_the_grammar() {
    let place = Workplace::new();
    place.write("t.std", "T1|r(x)|1\nT1|lock(m)|12\n");
    insta::assert_snapshot!(failure(&place, &["stats", "t.std"]));
}

#[test]
fn a_line_with_too_few_fields() {
    let place = Workplace::new();
    place.write("t.std", "T1|r(x)|1\nT1\n");
    insta::assert_snapshot!(failure(&place, &["stats", "t.std"]));
}

#[test]
fn a_first_line_that_is_no_event() {
    let place = Workplace::new();
    place.write("t.std", "int main(void) {\n");
    insta::assert_snapshot!(failure(&place, &["stats", "t.std"]));
}

#[test]
fn a_run_that_cannot_have_happened() {
    let place = Workplace::new();
    place.write("t.std", "T1|acq(m)|1\nT2|acq(m)|2\n");
    insta::assert_snapshot!(failure(&place, &["stats", "t.std"]));
}

#[test]
fn an_impossible_run_in_a_compressed_file() {
    let place = Workplace::new();
    place.write("ok.std", "T1|acq(m)|1\n");
    place.run(&["convert", "ok.std", "t.std.zst"]).succeeded();
    let mut two_frames = place.read("t.std.zst");
    place.write("more.std", "T2|r(x)|1\n").run(&["convert", "more.std", "more.std.zst"]).succeeded();
    two_frames.extend(place.read("more.std.zst"));
    place.write("more.std", "T1|rel(m)|1\nT1|rel(m)|7\n");
    let whole = [b"T1|acq(m)|1\n".to_vec(), place.read("more.std")].concat();
    let gz = gzip(&whole);
    place.write("t.std.gz", gz);
    insta::assert_snapshot!(failure(&place, &["stats", "t.std.gz"]));
    // Frames one after the other are one text.
    place.write("two.std.zst", two_frames);
    assert_eq!(place.run(&["stats", "two.std.zst", "--json"]).succeeded().json()["trace"]["events"], 2);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn an_impossible_run_on_standard_input() {
    let ran = Workplace::new().run_with_input(&["stats", "-"], b"T1|acq(m)|1\nT2|acq(m)|2\n");
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.stderr);
}

#[test]
fn names_cannot_play_tricks_on_the_terminal() {
    let place = Workplace::new();
    place.write("t.std", "T\u{1b}[31m|acq(m)|1\nT2|acq(m)|2\n");
    let said = failure(&place, &["stats", "t.std"]);
    assert!(!said.contains('\u{1b}'), "{said:?}");
    place.write("t.std", "T\u{1b}[31m|acq(m\u{7}\u{9b}2J)|1\n");
    let shown = place.run(&["stats", "t.std"]).succeeded().text();
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{shown:?}");
}

#[test]
fn a_missing_file() {
    insta::assert_snapshot!(failure(&Workplace::new(), &["stats", "no-such.ftr"]));
}

#[test]
fn a_directory() {
    let place = Workplace::new();
    std::fs::create_dir(place.path("traces")).unwrap();
    insta::assert_snapshot!(failure(&place, &["stats", "traces"]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_fails_while_it_is_read() {
    insta::assert_snapshot!(failure(&Workplace::new(), &["stats", "/proc/self/mem"]));
}

#[test]
fn a_file_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let place = Workplace::new();
    place.write("t.std", "T1|r(x)|1\n");
    std::fs::set_permissions(place.path("t.std"), std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything, except without these two capabilities.
    let root = std::fs::File::open(place.path("t.std")).is_ok();
    let without = ["--bounding-set", "--inh-caps"].map(|set| format!("{set}=-dac_override,-dac_read_search"));
    let mut command = match root {
        true => place.command_of(
            "setpriv",
            &[without[0].as_str(), without[1].as_str(), env!("CARGO_BIN_EXE_foretell"), "stats", "t.std"],
        ),
        false => place.command(&["stats", "t.std"]),
    };
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: cannot read `t.std`: permission denied\n");
}

#[test]
fn an_empty_file_is_a_trace_without_events() {
    let place = Workplace::new();
    insta::assert_snapshot!(place.write("t.std", "").run(&["stats", "t.std"]).seen());
}

#[test]
fn truncated_gzip() {
    let place = Workplace::new();
    let whole = gzip(&example());
    place.write("t.std.gz", &whole[..whole.len() / 2]);
    insta::assert_snapshot!(failure(&place, &["stats", "t.std.gz"]));
}

#[test]
fn a_native_trace_that_ends_early_is_read_up_to_there() {
    let place = Workplace::new();
    place.write("t.std", RICH).run(&["convert", "t.std", "t.ftr"]).succeeded();
    let whole = place.read("t.ftr");
    place.write("cut.ftr", &whole[..whole.len() - 20]);
    let ran = place.run(&["stats", "cut.ftr", "--json"]).succeeded();
    insta::assert_snapshot!(ran.stderr);
    let json = ran.json();
    assert_eq!(json["file"]["complete"], false);
    assert_eq!(json["trace"]["events"], 16);
}

#[test]
fn a_damaged_native_trace() {
    let place = Workplace::new();
    place.write("t.std", example()).run(&["convert", "t.std", "t.ftr"]).succeeded();
    let mut damaged = place.read("t.ftr");
    damaged[60] ^= 0xff;
    place.write("t.ftr", damaged);
    let said = failure(&place, &["stats", "t.ftr"]);
    assert!(said.starts_with("error: the chunk is damaged"), "{said}");
    assert!(said.contains("--> t.ftr") && said.contains("note: at byte"), "{said}");
}

#[test]
fn a_target_that_cannot_be_written() {
    let place = Workplace::new();
    place.write("t.std", example());
    insta::assert_snapshot!(failure(&place, &["convert", "t.std", "no/such/place.ftr"]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let place = Workplace::new();
    place.write("t.std", example());
    insta::assert_snapshot!(failure(&place, &["convert", "t.std", "/dev/full"]));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ran = place.command(&["stats", "t.std"]).stdout(full).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    insta::assert_snapshot!("a_full_standard_output", String::from_utf8(ran.stderr).unwrap());
}

#[test]
fn contradictions() {
    let place = Workplace::new();
    place.write("t.std", example());
    insta::assert_snapshot!("rapid_in_native", failure(&place, &["convert", "--rapid", "t.std", "t.ftr"]));
    insta::assert_snapshot!("json_and_trace", failure(&place, &["convert", "--json", "t.std", "-"]));
    insta::assert_snapshot!("native_in_gzip", failure(&place, &["convert", "t.std", "t.ftr.gz"]));
    assert_eq!(place.files(), ["t.std"]);
}

#[test]
fn usage() {
    let place = Workplace::new();
    insta::assert_snapshot!("usage_no_argument", failure(&place, &["stats"]));
    insta::assert_snapshot!("usage_no_such_command", failure(&place, &["frobnicate"]));
    insta::assert_snapshot!("usage_no_number", failure(&place, &["generate", "--events", "many", "-o", "t"]));
    insta::assert_snapshot!(
        "usage_no_thread",
        failure(&place, &["generate", "--events", "9", "--threads", "0", "-o", "t"])
    );
    insta::assert_snapshot!("usage_too_many", failure(&place, &["generate", "--events", "5G", "-o", "t"]));
    assert!(failure(&place, &[]).contains("Usage: foretell <COMMAND>"));
    assert!(place.files().is_empty());
}

#[test]
fn colours_are_for_terminals() {
    let place = Workplace::new();
    place.write("t.std", "T1|lock(m)|12\n");
    for (variable, value, coloured) in [("NO_COLOR", "1", false), ("CLICOLOR_FORCE", "1", true)] {
        let ran = place.command(&["stats", "t.std"]).env(variable, value).output().unwrap();
        assert_eq!(ran.stderr.contains(&0x1b), coloured, "{variable}");
    }
}
