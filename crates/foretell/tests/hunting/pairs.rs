//! Correct programs and their buggy twins, from corpus/pairs: the correct ones are silent, and the mistakes of the others are found. This
//! is a part of them; `cargo xtask corpus` hunts in all.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{foretell, json};

#[derive(Deserialize)]
struct Expected {
    program: Vec<Pair>,
}

#[derive(Deserialize)]
struct Pair {
    file: String,
    #[serde(default)]
    silent: bool,
    #[serde(default)]
    finding: Vec<Bug>,
}

#[derive(Deserialize)]
struct Bug {
    kind: String,
}

/// Correct programs in which accesses of other threads come between two of one, as they are meant to.
const SILENT: [&str; 12] = [
    "arc_mutex.rs",
    "atomic_maximum.cc",
    "bakery.c",
    "c11_flag_lock.c",
    "dekker.c",
    "mutex_counter.c",
    "peterson.c",
    "promise_value.cc",
    "seqlock.cc",
    "spin_lock.rs",
    "stop_token.cc",
    "ticket_lock.c",
];

/// Programs whose mistake is found.
const BUGGY: [&str; 12] = [
    "arc_mutex_bug.rs",
    "barrier_phases_bug.c",
    "c11_refcount_bug.c",
    "c11_threads_bug.c",
    "condvar_gate_bug.rs",
    "double_checked_bug.cc",
    "latch_results_bug.cc",
    "lock_order_bug.c",
    "mutex_counter_bug.c",
    "rwlock_table_bug.c",
    "scoped_lock_bug.cc",
    "thread_argument_bug.c",
];

fn pairs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/pairs")
}

fn expected(file: &str) -> Pair {
    let text = std::fs::read_to_string(pairs().join("expected.toml")).unwrap();
    let expected: Expected = toml::from_str(&text).unwrap();
    expected.program.into_iter().find(|pair| pair.file == file).unwrap_or_else(|| panic!("{file}"))
}

fn hunt(file: &str) -> (Option<i32>, serde_json::Value) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(pairs().join(file), directory.path().join(file)).unwrap();
    let mut arguments = vec!["hunt", file, "--json", "--quiet", "--timeout", "8"];
    if file.ends_with(".cc") {
        arguments.push("--flags=-std=c++20");
    }
    let hunted = foretell(directory.path(), &arguments);
    (hunted.status.code(), json(&hunted))
}

#[test]
fn correct_programs_are_silent() {
    for file in SILENT {
        assert!(expected(file).silent, "{file}");
        let (status, report) = hunt(file);
        let shown = report["findings"].as_array().unwrap().iter().filter(|finding| finding["shown"] == true);
        assert_eq!((shown.collect::<Vec<_>>(), status), (Vec::new(), Some(0)), "{file}");
    }
}

#[test]
fn mistakes_are_found() {
    for file in BUGGY {
        let (status, report) = hunt(file);
        assert_eq!(status, Some(1), "{file}: {report:#}");
        for bug in expected(file).finding {
            let findings = report["findings"].as_array().unwrap();
            let found =
                findings.iter().any(|finding| finding["kind"] == bug.kind && finding["shown"] == true);
            assert!(found, "{file}: no {}: {report:#}", bug.kind);
        }
    }
}
