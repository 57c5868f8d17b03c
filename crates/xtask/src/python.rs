//! The Python package (`crates/python`): `cargo xtask wheel` builds it, installs it into an environment of its own, and runs its tests and
//! its notebook there.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use xtask::Outcome;
use xtask::cargo::root;

use crate::tools::done;

/// What the tests and the notebook need in addition to the package. Compilers of other packages are not needed: all have wheels.
const PACKAGES: &[&str] = &["maturin>=1.5,<2", "numpy", "matplotlib", "nbclient", "ipykernel", "pytest"];
/// The wheel as it is released: for every Python from 3.9 on.
pub(crate) const WHEEL: &str = concat!("foretell-", env!("CARGO_PKG_VERSION"), "-cp39-abi3-linux_x86_64.whl");

/// The environment, below target.
fn place() -> PathBuf {
    root().join("target/python")
}

/// Makes the environment.
pub(crate) fn environment() -> Outcome {
    let python = place().join("bin/python");
    let listed = place().join("packages");
    let wanted = PACKAGES.join("\n");
    if fs::read_to_string(&listed).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("making a Python environment in {}", place().display());
    done(Command::new("python3").args(["-m", "venv"]).arg(place()))?;
    done(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
    fs::write(&listed, wanted).map_err(|error| format!("{}: {error}", listed.display()))
}

/// Builds the wheel; where it is.
pub(crate) fn wheel() -> Result<PathBuf, String> {
    let out = root().join("target/wheels");
    let mut maturin = Command::new(place().join("bin/maturin"));
    maturin.args(["build", "--release", "--locked", "--compatibility", "linux", "--out"]).arg(&out);
    maturin.arg("--target-dir").arg(root().join("target/python-crate"));
    // What the cargo that runs this chore has set for itself.
    maturin.env_remove("CARGO").env_remove("RUSTC").current_dir(root().join("crates/python"));
    done(&mut maturin).map_err(|why| format!("{why}; `cargo xtask setup` installs maturin"))?;
    Ok(out.join(WHEEL))
}

/// Builds the wheel, installs it, and runs the tests, the notebook among them.
pub(crate) fn run() -> Outcome {
    environment()?;
    let wheel = wheel()?;
    let python = place().join("bin/python");
    let install = ["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps"];
    done(Command::new(&python).args(install).arg(wheel))?;
    let mut tests = Command::new(&python);
    tests.args(["-m", "pytest", "-q", "tests"]).current_dir(root().join("crates/python"));
    tests.env("FORETELL_CORPUS", root().join("corpus")).env("PYTHONDONTWRITEBYTECODE", "1");
    done(&mut tests)
}
