//! `cargo xtask demo`: Foretell on an example.

use crate::Outcome;
use crate::cargo::cargo;

/// The example trace of the README.
const EXAMPLE: &str = "corpus/examples/account.std";

pub(crate) fn run() -> Outcome {
    eprintln!("Building Foretell, then: foretell stats {EXAMPLE}\n");
    cargo(&["run", "--quiet", "--release", "--package", "foretell", "--", "stats", EXAMPLE])
}
