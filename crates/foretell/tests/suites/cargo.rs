//! `foretell test -- cargo test`: built for recording, hunted in case by case.

use std::fs;

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

#[test]
fn cases_of_a_cargo_project_are_hunted_in_by_themselves() {
    let project = tempfile::tempdir().unwrap();
    let manifest = "[package]\nname = \"adder\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::write(project.path().join("Cargo.toml"), manifest).unwrap();
    fs::create_dir(project.path().join("src")).unwrap();
    fs::write(project.path().join("src/lib.rs"), LIBRARY).unwrap();
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
