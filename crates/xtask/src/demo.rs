//! `cargo xtask demo`: Foretell on an example.

use std::process::Command;

use xtask::Outcome;
use xtask::cargo::{release_build, root};

/// The first example of the README.
const EXAMPLE: &str = "examples/weather_station.c";

pub(crate) fn run() -> Outcome {
    eprintln!("Building Foretell, then: foretell hunt {EXAMPLE}\n");
    let foretell = release_build()?;
    let status = Command::new(foretell).args(["hunt", EXAMPLE]).current_dir(root()).status();
    // The race in the example is a finding, so success is status 1.
    match status.map(|status| status.code()) {
        Ok(Some(1)) => Ok(()),
        Ok(code) => Err(format!("foretell ended with {code:?} where it should have found a race")),
        Err(error) => Err(format!("cannot run foretell: {error}")),
    }
}
