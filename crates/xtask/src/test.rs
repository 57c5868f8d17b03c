//! `cargo xtask test`: all tests, with nextest if it is installed.

use xtask::Outcome;
use xtask::cargo::{cargo, cargo_can};

/// Names what ignored tests need and `cargo xtask setup` cannot install.
const NEEDED: &str = "RAPID_HOME";

/// Which tests are run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection {
    /// Those that need nothing but what `cargo xtask setup` installs.
    Default,
    /// Those marked `#[ignore]` as well.
    WithIgnored,
}

pub(crate) fn run(selection: Selection) -> Outcome {
    let with_ignored = selection == Selection::WithIgnored;
    if with_ignored && std::env::var_os(NEEDED).is_none() {
        return Err(format!("ignored tests need RAPID: set {NEEDED} to its checkout"));
    }
    if cargo_can(&["nextest", "--version"]) {
        // nextest runs no documentation tests; they go first, so that its summary is what comes last.
        cargo(&["test", "--workspace", "--doc"])?;
        let ignored: &[&str] = if with_ignored { &["--run-ignored", "all"] } else { &[] };
        cargo(&[&["nextest", "run", "--workspace", "--no-fail-fast"], ignored].concat())
    } else {
        let ignored: &[&str] = if with_ignored { &["--", "--include-ignored"] } else { &[] };
        cargo(&[&["test", "--workspace", "--no-fail-fast"], ignored].concat())
    }
}
