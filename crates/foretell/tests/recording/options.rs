//! What makes traces smaller: each option leaves out what it says, never what orders threads, and what it leaves can be replayed.

use trace::Trace;

use crate::support::{Recorded, Toolchain, Workshop, count};

const CC: Toolchain = Toolchain { cc: "", cxx: "", optimise: "-O0" };

fn filtered(options: &[&str]) -> (Workshop, Recorded) {
    let workshop = Workshop::new();
    workshop.compile(CC, "filtered.c", &[]);
    let recorded = workshop.record(options);
    assert_eq!(recorded.stdout(), "12 7\n");
    (workshop, recorded)
}

/// How many events order the threads.
fn ordering(trace: &Trace) -> [usize; 5] {
    ["acq(lock)", "rel(lock)", "aw(ready)", "fork(", "join("].map(|part| count(trace, part))
}

/// The one race there is, found and seen happening.
#[track_caller]
fn assert_confirmed(workshop: &Workshop) {
    let predict = workshop.foretell(&["predict", "--json", "--only", "race", "foretell.ftr"]).output();
    let said: serde_json::Value = serde_json::from_slice(&predict.expect("it runs").stdout).expect("JSON");
    let findings = said["findings"].as_array().expect("it has findings");
    assert!(!findings.is_empty());
    assert!(findings.iter().all(|finding| finding["object"] == "racy"), "{said:#}");
    let replay = workshop.foretell(&["replay", "foretell.ftr", "race-1", "--times", "2", "--json"]).output();
    let said: serde_json::Value = serde_json::from_slice(&replay.expect("it runs").stdout).expect("JSON");
    assert_eq!(said["confirmed"], 2, "{said:#}");
}

const EVERYTHING: [usize; 5] = [8, 8, 1, 1, 1];

#[test]
fn functions_and_files_are_chosen() {
    let (workshop, whole) = filtered(&[]);
    assert_eq!(ordering(&whole.trace), EVERYTHING);
    assert_eq!(count(&whole.trace, "w(table"), 64 * 8);
    let races = count(&whole.trace, "(racy)");
    assert_confirmed(&workshop);

    for options in [["--exclude", "fill"], ["--include", "touch"]] {
        let (workshop, less) = filtered(&options);
        assert_eq!(ordering(&less.trace), EVERYTHING, "{options:?}");
        // Main looks at one element in a function that is not left out: then it is kept with all that was done to it.
        let tables = if options[0] == "--exclude" { 8 } else { 0 };
        assert_eq!(count(&less.trace, "w(table"), tables, "{options:?}");
        assert_eq!(count(&less.trace, "(racy)"), races, "{options:?}");
        assert_confirmed(&workshop);
    }
    let (_, none) = filtered(&["--exclude", "filtered.c"]);
    assert_eq!(ordering(&none.trace), EVERYTHING);
    assert_eq!(count(&none.trace, "(table") + count(&none.trace, "(racy)"), 0);
}

#[test]
fn a_sample_is_a_share_of_the_variables() {
    let (_, none) = filtered(&["--sample", "0"]);
    assert_eq!(ordering(&none.trace), EVERYTHING);
    assert_eq!(count(&none.trace, "(table") + count(&none.trace, "(racy)"), 0);
    let (_, half) = filtered(&["--sample", "0.5"]);
    assert_eq!(ordering(&half.trace), EVERYTHING);
    let kept = count(&half.trace, "w(table");
    assert!(kept.is_multiple_of(8) && (15..50).contains(&(kept / 8)), "{kept}");
    let (workshop, all) = filtered(&["--sample", "1"]);
    assert_eq!(count(&all.trace, "w(table"), 64 * 8);
    assert_confirmed(&workshop);
}

#[test]
fn what_is_repeated_is_dropped() {
    let (_, whole) = filtered(&["--quantum", "100000"]);
    let (workshop, less) = filtered(&["--quantum", "100000", "--drop-repeated"]);
    assert_eq!(ordering(&less.trace), EVERYTHING);
    let of = |trace: &Trace| (count(trace, "r(racy)"), count(trace, "w(racy)"));
    assert_eq!((of(&whole.trace), of(&less.trace)), ((4, 4), (2, 2)));
    assert_confirmed(&workshop);
}
