//! `foretell test -- cargo test`: built for recording, hunted in case by case.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{foretell, json, row, tests};

const LIBRARY: &str = r#"
use std::sync::atomic::{AtomicU32, Ordering};

pub static TOTAL: AtomicU32 = AtomicU32::new(0);

/// Loses updates.
pub fn add() {
    let before = TOTAL.load(Ordering::SeqCst);
    TOTAL.store(before + 1, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_add_two() {
        let other = std::thread::spawn(add);
        add();
        other.join().unwrap();
        assert_eq!(TOTAL.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn threads_are_joined() {
        std::thread::spawn(|| {}).join().unwrap();
    }
}
"#;

/// A project with this library.
fn adder(library: &str) -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    let manifest = "[package]\nname = \"adder\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::write(project.path().join("Cargo.toml"), manifest).unwrap();
    fs::create_dir(project.path().join("src")).unwrap();
    fs::write(project.path().join("src/lib.rs"), library).unwrap();
    project
}

/// Hunts in what cargo runs, by this command.
fn hunt(project: &Path, command: &[&str]) -> Value {
    let own = ["cargo", "--no-build-std", "--json", "--timeout", "60"];
    let output = foretell(project, &[&own, command, &["--offline"]].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(project.join("target/foretell/latest/report.html").is_file());
    json(&output)
}

/// The failure of an assertion, and the tests that show it.
fn failure(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap();
    let failure = findings.iter().find(|finding| finding["kind"] == "failure");
    let failure = failure.unwrap_or_else(|| panic!("{findings:#?}"));
    failure["tests"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

#[test]
fn what_nextest_runs_is_hunted_in() {
    if !testing::has("cargo-nextest") {
        return testing::absent("cargo-nextest");
    }
    let project = adder(LIBRARY);
    let report = hunt(project.path(), &["nextest", "run"]);
    // nextest runs each case in a process of its own.
    let found = tests(&report);
    let cases: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(cases.len(), 2, "{cases:?}");
    assert!(matches!(failure(&report)[..], [name] if name.contains("two_threads_add_two")), "{report:#}");
}

#[test]
fn a_doc_test_is_hunted_in() {
    let example = "//! ```\n//! let other = std::thread::spawn(adder::add);\n//! adder::add();\n//! other.join().unwrap();\n\
        //! assert_eq!(adder::TOTAL.load(std::sync::atomic::Ordering::SeqCst), 2);\n//! ```\n";
    let project = adder(&format!("{example}{LIBRARY}"));
    let report = hunt(project.path(), &["test", "--doc"]);
    let found = tests(&report);
    assert!(matches!(&found[..], [(_, outcome, true)] if outcome == "hunted"), "{found:?}");
    assert_eq!(failure(&report), [found[0].0.as_str()]);
}

#[test]
fn cases_of_a_cargo_project_are_hunted_in_by_themselves() {
    let project = adder(LIBRARY);
    let arguments =
        ["test", "--json", "--split", "--timeout", "60", "--", "cargo", "test", "--offline", "--lib"];
    let output = foretell(project.path(), &arguments);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = json(&output);
    let found = tests(&report);
    let of = |case: &str| {
        found.iter().find(|(name, ..)| name.ends_with(case)).unwrap_or_else(|| panic!("{found:?}"))
    };
    let (name, outcome, findings) = of(" tests::two_threads_add_two").clone();
    assert_eq!((outcome.as_str(), findings), ("hunted", true), "{name}");
    let silent = of(" tests::threads_are_joined").clone();
    assert_eq!(silent, row(&silent.0, "hunted", false));
    let failure = report["findings"].as_array().unwrap().iter().find(|finding| finding["kind"] == "failure");
    assert_eq!(failure.unwrap()["tests"], serde_json::json!([name]));
}
