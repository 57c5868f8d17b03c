//! What programs do less often: other ways to wait, files that carry data between threads, what they say of themselves.

use crate::support::{Recorded, Workshop, assert_in_order, count, each};

/// What `predict` finds: each race as its two lines.
fn races(workshop: &Workshop) -> Vec<String> {
    let output = workshop.foretell(&["predict", "--only", "race", "--json", "foretell.ftr"]).output();
    let output = output.expect("it runs");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let findings = said["findings"].as_array().expect("it has findings");
    findings.iter().map(|finding| finding["object"].as_str().unwrap_or_default().to_owned()).collect()
}

#[track_caller]
fn says(recorded: &Recorded, expected: &str) {
    assert_eq!(recorded.stdout(), expected);
}

#[test]
fn what_a_program_says_of_its_synchronisation_is_believed() {
    each("annotations.c", |workshop, recorded| {
        says(recorded, "1\n");
        assert_eq!(races(workshop), ["counted"]);
        assert_eq!(
            (count(&recorded.trace, "acq(own_lock)"), count(&recorded.trace, "rel(own_lock)")),
            (2, 2)
        );
        // What the lock does inside is not seen, nor is a write that is not to be seen.
        assert_eq!((count(&recorded.trace, "rmw(own_lock)"), count(&recorded.trace, "w(ignored)")), (0, 0));
        assert_in_order(
            &recorded.trace,
            &["T1|w(published)", "T1|aw(order at token)", "main|ar(order at token)"],
        );
    });
}

#[test]
fn data_that_comes_through_a_file_comes_after_what_was_done_before() {
    each("files.c", |workshop, recorded| {
        says(recorded, "4 1 bc\n");
        let mut races = races(workshop);
        races.sort();
        // What is given to the kernel is read.
        assert_eq!(races, ["racy", "sent[0]"]);
        assert_in_order(
            &recorded.trace,
            &["T1|w(through_pipe)", "T1|aw(pipe)", "main|ar(pipe)", "main|r(through_pipe)"],
        );
    });
}

#[test]
fn every_way_to_wait() {
    each("waiting.c", |workshop, recorded| {
        says(recorded, "12 2\n");
        assert_eq!(races(workshop), [""; 0]);
        assert_eq!((count(&recorded.trace, "T1|post("), count(&recorded.trace, "main|take(")), (2, 2));
        assert_eq!((count(&recorded.trace, "acq(spin)"), count(&recorded.trace, "rel(spin)")), (3, 3));
        assert_eq!(count(&recorded.trace, "join("), 2);
    });
}

#[test]
fn c11_threads() {
    each("c11.c", |workshop, recorded| {
        says(recorded, "2 1 42 1 1\n");
        assert_eq!(races(workshop), [""; 0]);
        assert_in_order(&recorded.trace, &["main|fork(T1)", "T1|acq(lock)", "T1|rel(lock)", "main|join(T1)"]);
    });
}

#[test]
fn initialisation_that_throws_is_tried_again() {
    each("once.cc", |workshop, recorded| {
        says(recorded, "2 42 14\n");
        assert_eq!(races(workshop), [""; 0]);
    });
}

#[test]
fn processes_that_are_started() {
    each("spawn.c", |_, recorded| says(recorded, "2 3 said\n"));
}

#[test]
fn memory_that_is_mapped_again_is_another_and_freed_memory_is_the_same() {
    each("mappings.c", |workshop, recorded| {
        says(recorded, "1\n");
        assert_eq!(races(workshop), [""; 0]);
        let predict = workshop.foretell(&["predict", "--only", "order", "--json", "foretell.ftr"]).output();
        let said = String::from_utf8_lossy(&predict.expect("it runs").stdout).into_owned();
        assert!(said.contains("mappings.c:37") && said.contains("mappings.c:22"), "{said}");
    });
}

#[test]
fn a_race_on_a_part_of_what_is_accessed_at_once_is_confirmed() {
    each("halves.c", |workshop, _| {
        let replay = workshop.foretell(&["replay", "foretell.ftr", "race-1", "--times", "2"]).output();
        let said = String::from_utf8_lossy(&replay.expect("it runs").stdout).into_owned();
        assert!(said.contains("confirmed"), "{said}");
    });
}
