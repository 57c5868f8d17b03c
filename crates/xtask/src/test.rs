//! `cargo xtask test`: every test there is, with the best runner at hand.

use crate::Outcome;
use crate::cargo::{cargo, cargo_can};

pub(crate) fn run() -> Outcome {
    if cargo_can(&["nextest", "--version"]) {
        cargo(&["nextest", "run", "--workspace", "--no-fail-fast"])?;
        // nextest runs no documentation tests.
        cargo(&["test", "--workspace", "--doc", "--quiet"])
    } else {
        cargo(&["test", "--workspace", "--no-fail-fast"])
    }
}
