//! Rust programs: what std does for threads is seen as what it is, correct programs are left alone, and bugs are seen happening.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{foretell, json};

pub(crate) fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hunting/programs").join(name)
}

/// Hunts in one of the programs, in a directory of its own.
struct Hunted {
    directory: tempfile::TempDir,
    findings: Vec<Value>,
}

impl Hunted {
    fn new(name: &str, options: &[&str]) -> Hunted {
        let directory = tempfile::tempdir().unwrap();
        std::fs::copy(program(name), directory.path().join(name)).unwrap();
        let arguments = [&["hunt", name, "--json", "--quiet", "--timeout", "10"], options].concat();
        let output = foretell(directory.path(), &arguments);
        let findings = json(&output)["findings"].as_array().unwrap().clone();
        Hunted { directory, findings }
    }

    /// The events of its trace, `thread|op(object)|location` a line.
    fn events(&self) -> String {
        let converted =
            foretell(self.directory.path(), &["convert", ".foretell/latest/trace.ftr", "trace.std"]);
        assert!(converted.status.success(), "{converted:?}");
        std::fs::read_to_string(self.directory.path().join("trace.std")).unwrap()
    }
}

/// Programs that are correct, whatever std does behind their backs.
const CORRECT: [&str; 13] = [
    "arc.rs",
    "barrier.rs",
    "channels.rs",
    "condvar.rs",
    "deadlock_fixed.rs",
    "deadlock_rwlock_fixed.rs",
    "lost_wake_up_fixed.rs",
    "mutex.rs",
    "once.rs",
    "park.rs",
    "race_fixed.rs",
    "rwlock.rs",
    "scoped.rs",
];

/// Those whose threads look at the same data in section after section.
const TWO_SECTIONS: [&str; 3] = ["condvar.rs", "mutex.rs", "rwlock.rs"];

#[test]
fn correct_programs_are_left_alone() {
    if !testing::has("rustc") {
        return;
    }
    for name in CORRECT {
        let mut findings = Hunted::new(name, &["--times", "0"]).findings;
        // What a thread does in one section of a lock after another can be interleaved, and is reported on purpose.
        findings.retain(|finding| !TWO_SECTIONS.contains(&name) || finding["kind"] != "atomicity");
        assert!(findings.is_empty(), "{name}: {findings:#?}");
    }
}

#[test]
fn correct_programs_have_no_races_and_no_deadlocks_without_optimisation() {
    if !testing::has("rustc") {
        return;
    }
    let options = ["--times", "0", "--seed", "1", "--flags=-Copt-level=0", "--only", "race,deadlock,order"];
    for name in CORRECT {
        let hunted = Hunted::new(name, &options);
        assert!(hunted.findings.is_empty(), "{name}: {:#?}", hunted.findings);
    }
}

/// How often a bug must be seen happening.
const TIMES: u64 = 20;

#[track_caller]
fn assert_confirmed(name: &str, id: &str) {
    if !testing::has("rustc") {
        return;
    }
    let hunted = Hunted::new(name, &[]);
    let finding = hunted.findings.iter().find(|finding| finding["id"] == id);
    let finding = finding.unwrap_or_else(|| panic!("{name}: {:#?}", hunted.findings));
    assert_eq!(finding["rung"], "confirmed", "{name}: {finding:#}");
    assert_eq!(hunted.findings.len(), 1, "{name}: {:#?}", hunted.findings);
    let times = TIMES.to_string();
    let arguments = ["replay", ".foretell/latest", id, "--times", &times, "--json"];
    let replayed = foretell(hunted.directory.path(), &arguments);
    assert_eq!(json(&replayed)["confirmed"], TIMES, "{name}: {replayed:?}");
}

#[test]
fn a_race_is_seen_happening_every_time() {
    assert_confirmed("race.rs", "race-1");
}

#[test]
fn a_deadlock_of_mutexes_is_seen_happening_every_time() {
    assert_confirmed("deadlock.rs", "deadlock-1");
}

#[test]
fn a_deadlock_after_a_thread_was_joined_is_seen_happening_every_time() {
    assert_confirmed("deadlock_later.rs", "deadlock-1");
}

#[test]
fn a_deadlock_of_read_write_locks_is_seen_happening_every_time() {
    assert_confirmed("deadlock_rwlock.rs", "deadlock-1");
}

#[test]
fn a_lost_wake_up_is_seen_happening() {
    if !testing::has("rustc") {
        return;
    }
    // Each replay waits for seconds whether somebody signals after all.
    let hunted = Hunted::new("lost_wake_up.rs", &["--times", "2"]);
    let [finding] = &hunted.findings[..] else { panic!("{:#?}", hunted.findings) };
    assert_eq!(
        (&finding["id"], &finding["rung"]),
        (&"deadlock-1".into(), &"confirmed".into()),
        "{finding:#}"
    );
}

#[test]
fn what_std_does_is_seen_as_what_it_is() {
    if !testing::has("rustc") {
        return;
    }
    let condvar = Hunted::new("condvar.rs", &["--times", "0"]).events();
    for event in ["|acq(", "|rel(", "|signal("] {
        assert!(condvar.contains(event), "{event}: {condvar}");
    }
    let barrier = Hunted::new("barrier.rs", &["--times", "0"]).events();
    assert_eq!(barrier.matches("|benter(").count(), 4, "{barrier}");
    assert_eq!(barrier.matches("|bexit(").count(), 4, "{barrier}");
    let rwlock = Hunted::new("rwlock.rs", &["--times", "0"]).events();
    assert_eq!(rwlock.matches("|racq(").count(), 6, "{rwlock}");
    assert_eq!(rwlock.matches("|acq(").count(), 6, "{rwlock}");
}

#[test]
fn a_compiler_that_is_not_there_is_named() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("empty.rs"), "fn main() {}").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.current_dir(directory.path()).args(["hunt", "empty.rs"]).env("RUSTC", "/nowhere/rustc");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("`/nowhere/rustc` cannot be run"), "{said}");
}

#[test]
fn locals_and_shared_blocks_have_their_names() {
    if !testing::has("rustc") {
        return;
    }
    let hunted = Hunted::new("names.rs", &[]);
    let objects: Vec<&str> =
        hunted.findings.iter().filter_map(|finding| finding["object"].as_str()).collect();
    assert!(objects.contains(&"names::main::local"), "{objects:?}");
    assert!(
        objects.contains(&"Arc<Mutex<Account>> (names.rs:6), Arc<Mutex<i32>> (names.rs:7)"),
        "{objects:?}"
    );
}
