//! `cargo xtask deny`: what Foretell may depend on, as deny.toml says.

use xtask::Outcome;

use crate::tools::{DENY, done};

/// What is checked without a network, and what needs one.
const OFFLINE: &[&str] = &["licenses", "bans", "sources"];
const ONLINE: &[&str] = &["advisories"];

pub(crate) fn run(advisories: bool) -> Outcome {
    let checks = if advisories { ONLINE } else { OFFLINE };
    done(DENY.command()?.arg("check").args(checks))
}
