//! What tests need beyond Rust and the repository. For tests only.
//!
//! A developer's machine may lack a tool, and the tests that need it are skipped with a message. In CI (where the environment variable `CI` is set)
//! `cargo xtask setup` has installed every tool, so there a test that would be skipped fails instead. What `setup` cannot install everywhere is apart:
//! tests on the public traces and on the source of std run where these are present ([`absent`]), and tests that need RAPID are marked `#[ignore]` with the
//! reason; `cargo xtask test --ignored` runs them.

pub mod pairs;
pub mod session;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Reports that a test is skipped, and why. The caller returns afterwards.
///
/// # Panics
///
/// In CI, where nothing may be missing.
#[track_caller]
pub fn skip(reason: &str) {
    assert!(!in_ci(), "skipped in CI, where `cargo xtask setup` installs what tests need: {reason}");
    eprintln!("skipped: {reason} (`cargo xtask setup` installs what tests need)");
}

/// Reports that a test is not run because of something that `cargo xtask setup` cannot install everywhere. The caller returns afterwards.
pub fn absent(what: &str) {
    eprintln!("not run: {what}");
}

/// Whether a program can be run; if not, reports that the test is skipped.
///
/// # Panics
///
/// In CI, if the program is missing.
#[track_caller]
pub fn has(program: &str) -> bool {
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let there = status.is_ok_and(|status| status.success());
    if !there {
        skip(&format!("{program} is not installed"));
    }
    there
}

/// The directory of RAPID's public traces (`account.std.gz`, `bubblesort.std.gz`, ..): `FORETELL_TRACES`, or `shared/traces` next to this checkout. If there is
/// neither, reports that the test is not run.
///
/// # Panics
///
/// If `FORETELL_TRACES` is set and does not name a directory.
#[track_caller]
pub fn public_traces() -> Option<PathBuf> {
    const VARIABLE: &str = "FORETELL_TRACES";
    if std::env::var_os(VARIABLE).is_some() {
        return Some(directory_in(VARIABLE, "RAPID's public traces"));
    }
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !shared.is_dir() {
        absent("RAPID's public traces are not here; FORETELL_TRACES names their directory");
        return None;
    }
    Some(shared)
}

/// The checkout of RAPID, its classes compiled into `bin`, for tests that are ignored unless asked for.
///
/// # Panics
///
/// If `RAPID_HOME` does not name a directory.
#[track_caller]
pub fn rapid_home() -> PathBuf {
    directory_in("RAPID_HOME", "a checkout of RAPID with its classes compiled into bin")
}

#[track_caller]
fn directory_in(variable: &str, content: &str) -> PathBuf {
    let directory = std::env::var_os(variable).map(PathBuf::from);
    match directory.filter(|directory| directory.is_dir()) {
        Some(directory) => directory,
        None => panic!("set {variable} to the directory of {content}"),
    }
}

fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    /// This test itself, run again with and without `CI`.
    #[test]
    fn what_is_missing_fails_in_ci_alone() {
        const MISSING: &str = "no-such-program";
        if std::env::var_os("FORETELL_TESTING_AGAIN").is_some() {
            assert!(super::has(env!("CARGO")));
            assert!(!super::has(MISSING));
            return;
        }
        let again = |value: &str| {
            let mut this = Command::new(std::env::current_exe().expect("a test is a file"));
            this.args(["--exact", "tests::what_is_missing_fails_in_ci_alone", "--nocapture"]);
            this.env("FORETELL_TESTING_AGAIN", "1").env("CI", value);
            let output = this.output().expect("it can be run");
            (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (passes, said) = again("");
        assert!(passes && said.contains("skipped: no-such-program is not installed"), "{said}");
        let (passes, said) = again("true");
        assert!(!passes && said.contains("skipped in CI"), "{said}");
    }
}
