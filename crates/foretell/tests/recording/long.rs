//! Long runs: their recordings are kept as they are, and translated by whoever reads them first.

use crate::support::{Toolchain, Workshop, succeeded};

const CC: Toolchain = Toolchain { cc: "", cxx: "", optimise: "-O1" };

/// The events of a trace as text, without how it was recorded.
fn text(workshop: &Workshop, trace: &str) -> String {
    succeeded(&mut workshop.foretell(&["convert", "-q", trace, "text.std"]));
    let text = std::fs::read_to_string(workshop.path("text.std")).expect("it is text");
    text.lines().filter(|line| !line.starts_with("#! metadata")).map(|line| format!("{line}\n")).collect()
}

fn recorded_long_run() -> Workshop {
    let workshop = Workshop::new();
    workshop.compile(CC, "long.c", &[]);
    let kept = succeeded(&mut workshop.foretell(&["record", "-o", "kept.ftr", "--", "./program"]));
    let said = String::from_utf8_lossy(&kept.stderr).into_owned();
    assert!(said.contains("its first reader translates it"), "{said}");
    workshop
}

#[test]
fn a_long_run_is_kept_as_it_is_and_read_as_the_same_trace() {
    let workshop = recorded_long_run();
    // What is in it is part of the report, so it is translated at once.
    succeeded(&mut workshop.foretell(&["record", "-o", "now.ftr", "--json", "--", "./program"]));
    let length = |name: &str| std::fs::metadata(workshop.path(name)).expect("it is there").len();
    assert!(length("kept.ftr") * 5 < length("now.ftr"), "{} {}", length("kept.ftr"), length("now.ftr"));
    std::fs::copy(workshop.path("kept.ftr"), workshop.path("piped.ftr")).expect("it can be copied");
    let expected = text(&workshop, "now.ftr");
    assert!(expected.lines().count() > 1_000_000);
    assert!(text(&workshop, "kept.ftr") == expected);
    // It is an ordinary trace now, call stacks and places of threads included.
    let (kept, now) = (workshop.trace("kept.ftr"), workshop.trace("now.ftr"));
    assert!(kept.can_be_replayed());
    let rows = |trace: &trace::Trace| {
        let rows = trace.notes().expect("a recording has notes").rows();
        rows.map(|row| row.expect("they can be read")).collect::<Vec<_>>()
    };
    assert!(rows(&kept) == rows(&now));
    assert!(text(&workshop, "kept.ftr") == expected);
    // Through a pipe there is no file to replace.
    let piped = workshop
        .other("sh", &["-c", "\"$0\" stats -q --json - < piped.ftr", env!("CARGO_BIN_EXE_foretell")])
        .output();
    let piped = String::from_utf8(piped.expect("a shell").stdout).expect("text");
    assert!(piped.contains(&format!("\"events\":{}", now.len())), "{piped}");
}

#[test]
fn a_program_that_has_changed_since_names_nothing() {
    let workshop = recorded_long_run();
    workshop.compile(CC, "long.c", &["-DCHANGED"]);
    let stats = succeeded(&mut workshop.foretell(&["convert", "kept.ftr", "text.std"]));
    let said = String::from_utf8_lossy(&stats.stderr).into_owned();
    assert!(said.contains("program` has changed since it was recorded"), "{said}");
    let text = std::fs::read_to_string(workshop.path("text.std")).expect("it is text");
    assert!(!text.contains("long.c:") && text.contains("program+0x"));
}

#[test]
fn a_damaged_recording_is_refused_and_a_shortened_one_read_as_far_as_it_goes() {
    let workshop = recorded_long_run();
    let whole = std::fs::read(workshop.path("kept.ftr")).expect("it is there");
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(workshop.path("damaged.ftr"), &damaged).expect("it can be written");
    let refused = workshop.foretell(&["stats", "damaged.ftr"]).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("checksum"), "{said}");
    assert_eq!(std::fs::read(workshop.path("damaged.ftr")).expect("it is there"), damaged);
    // Without its end, all of the log is there.
    std::fs::write(workshop.path("short.ftr"), &whole[..whole.len() - 10]).expect("it can be written");
    assert!(text(&workshop, "short.ftr") == text(&workshop, "kept.ftr"));
}

#[test]
fn a_time_limit_holds_for_the_translation() {
    let workshop = recorded_long_run();
    let before = std::fs::read(workshop.path("kept.ftr")).expect("it is there");
    let ended = workshop.foretell(&["predict", "kept.ftr", "--timeout", "0.02"]).output().expect("it runs");
    assert_eq!(ended.status.code(), Some(3), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(std::fs::read(workshop.path("kept.ftr")).expect("it is there") == before);
}
