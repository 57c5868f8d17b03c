//! Chores that need another Rust than the one that runs them: the oldest that is promised, and a nightly one with Miri.

use std::process::{Command, Stdio};

use xtask::cargo::{cargo_output, root};
use xtask::{Outcome, skipped};

use crate::tools::done;

/// Crates whose tests Miri can run: no files, no processes, and no minutes of searching.
const UNDER_MIRI: &[(&str, &[&str])] =
    &[("foretell-wire", &["--lib"]), ("foretell-runtime", &["--lib", "schedule::", "replay::"])];

/// Compiles everything with the `rust-version` of the workspace.
pub(crate) fn msrv() -> Outcome {
    let version = promised()?;
    if !is_installed(&version) {
        return skipped(&format!(
            "Rust {version} is not installed; `cargo xtask msrv --install` installs it"
        ));
    }
    println!("with Rust {version}");
    done(toolchain(&version).args([
        "check",
        "--workspace",
        "--all-targets",
        "--locked",
        "--target-dir",
        "target/msrv",
    ]))
}

/// Installs the oldest Rust that is promised.
pub(crate) fn install_msrv() -> Outcome {
    let version = promised()?;
    match is_installed(&version) {
        true => Ok(()),
        false => {
            done(Command::new("rustup").args(["toolchain", "install", &version, "--profile", "minimal"]))
        }
    }
}

/// Installs a nightly Rust.
pub(crate) fn install_nightly() -> Outcome {
    match is_installed("nightly") {
        true => Ok(()),
        false => {
            done(Command::new("rustup").args(["toolchain", "install", "nightly", "--profile", "minimal"]))
        }
    }
}

/// Runs tests under Miri.
pub(crate) fn miri() -> Outcome {
    for (package, selection) in UNDER_MIRI {
        println!("{package}");
        let mut miri = toolchain("nightly");
        miri.args(["miri", "test", "--target-dir", "target/miri", "--package", package]).args(*selection);
        done(miri.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "4"))?;
    }
    Ok(())
}

/// The `rust-version` of the workspace.
fn promised() -> Result<String, String> {
    let metadata = cargo_output(&["metadata", "--format-version", "1", "--no-deps"])?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let version = metadata["packages"][0]["rust_version"].as_str();
    version.map(str::to_owned).ok_or("Cargo.toml names no rust-version".to_owned())
}

fn is_installed(version: &str) -> bool {
    let asked = Command::new("rustup")
        .args(["run", version, "rustc", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

/// Cargo of another toolchain, in the root of the repository.
fn toolchain(name: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", name, "cargo"]).current_dir(root());
    // What the cargo that runs this chore has set for itself.
    command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    command
}

#[cfg(test)]
mod tests {
    use xtask::cargo::root;

    /// The version is named in the workspace, the Python package, the workflow and the README.
    #[test]
    fn the_oldest_rust_is_the_same_everywhere() {
        let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
        let version = super::promised().unwrap();
        for (file, text) in [
            ("crates/python/Cargo.toml", format!("rust-version = \"{version}\"")),
            (".github/workflows/ci.yml", format!("rust: [stable, \"{version}\"]")),
            ("README.md", format!("Rust {version} or later")),
            ("docs/start.md", format!("Rust {version} or later")),
        ] {
            assert!(read(file).contains(&text), "{file} should have: {text}");
        }
    }
}
