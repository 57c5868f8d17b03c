//! `cargo xtask test`: every test there is, with the best runner at hand.

use xtask::Outcome;
use xtask::cargo::{cargo, cargo_can};

pub(crate) fn run() -> Outcome {
    if cargo_can(&["nextest", "--version"]) {
        // nextest runs no documentation tests; they go first, so that its summary is what comes last.
        cargo(&["test", "--workspace", "--doc"])?;
        cargo(&["nextest", "run", "--workspace", "--no-fail-fast"])
    } else {
        cargo(&["test", "--workspace", "--no-fail-fast"])
    }
}
