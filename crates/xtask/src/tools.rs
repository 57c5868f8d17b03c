//! Tools that checks and releases use, and that Debian does not have: cargo installs them below target/tools, in the version named here.

use std::path::PathBuf;
use std::process::Command;

use xtask::Outcome;
use xtask::cargo::{cargo, cargo_can, root};

/// A program that cargo can install.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    version: &'static str,
}

pub(crate) const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };
pub(crate) const BOOK: Tool = Tool { name: "mdbook", version: "0.5.4" };
pub(crate) const DEB: Tool = Tool { name: "cargo-deb", version: "3.8.0" };
/// Not among all: only `cargo xtask fuzz-readers` uses it, and that no check does.
pub(crate) const FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2" };
/// The version of nextest that is installed where there is none.
const NEXTEST: &str = "0.9.143";
pub(crate) const ALL: [Tool; 3] = [DENY, BOOK, DEB];

/// Installs nextest where cargo finds its subcommands: it runs the tests, and some tests run it.
pub(crate) fn install_nextest() -> Outcome {
    if cargo_can(&["nextest", "--version"]) {
        return Ok(());
    }
    println!("installing cargo-nextest {NEXTEST}");
    let options = ["--quiet", "--locked", "--debug", "--config", "profile.dev.debug=0"];
    cargo(&[&["install"], &options[..], &["--version", NEXTEST, "cargo-nextest"]].concat())
}

impl Tool {
    /// Where it is, if it is installed in the right version.
    fn installed(self) -> Option<PathBuf> {
        let here = root().join("target/tools/bin").join(self.name);
        let answer = Command::new(&here).arg("--version").output().ok()?;
        String::from_utf8_lossy(&answer.stdout).contains(self.version).then_some(here)
    }

    /// Installs it. Unoptimised, since it runs for seconds and compiling takes minutes.
    pub(crate) fn install(self) -> Outcome {
        if self.installed().is_some() {
            return Ok(());
        }
        let (target, home) = (root().join("target/tools/target"), root().join("target/tools"));
        let (target, home) = (target.to_string_lossy(), home.to_string_lossy());
        println!("installing {} {}", self.name, self.version);
        let options = ["--quiet", "--locked", "--debug", "--force", "--target-dir", &target, "--root", &home];
        let wanted = ["--version", self.version, self.name];
        cargo(&[&["install"], &options[..], &["--config", "profile.dev.debug=0"], &wanted].concat())
    }

    /// The option of `cargo xtask setup` that installs it.
    fn option(self) -> &'static str {
        if self.name == FUZZ.name { "--fuzz" } else { "--tools" }
    }

    /// A command of it in the root of the repository.
    pub(crate) fn command(self) -> Result<Command, String> {
        let program = self.installed().ok_or_else(|| {
            format!(
                "{} {} is not installed: run `cargo xtask setup {}`",
                self.name,
                self.version,
                self.option()
            )
        })?;
        let mut command = Command::new(program);
        command.current_dir(root());
        Ok(command)
    }
}

/// Runs a command to its end and lets the user see what it says.
pub(crate) fn done(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed")) }
}
