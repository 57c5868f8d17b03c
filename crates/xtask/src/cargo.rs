//! Running cargo, in the root of the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Runs cargo and lets the user see what it says.
pub fn cargo(arguments: &[&str]) -> Outcome {
    let status = command(arguments).status().map_err(|error| format!("cannot run cargo: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("`cargo {}` failed", arguments.join(" "))),
    }
}

/// Whether cargo can do this; nobody sees what it says.
pub fn cargo_can(arguments: &[&str]) -> bool {
    let status = command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// What cargo prints on standard output.
pub fn cargo_output(arguments: &[&str]) -> Result<String, String> {
    let output = command(arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("`cargo {}` failed", arguments.join(" "))),
    }
}

/// Cargo in the root of the repository.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Builds Foretell for measurements, which takes minutes and is seen, and says where it is.
pub fn release_build() -> Result<String, String> {
    cargo(&["build", "--release", "--package", "foretell"])?;
    Ok(built_in("release")?.to_string_lossy().into_owned())
}

/// The same as it is given to users: smaller, and it takes longer.
pub fn shipping_build() -> Result<PathBuf, String> {
    cargo(&["build", "--profile", "shipping", "--package", "foretell"])?;
    built_in("shipping")
}

/// The program for fleets, in the same profile. It is built separately: together, the features that one of both needs of a dependency would
/// be in the other as well.
pub fn shipping_build_of_fleet() -> Result<PathBuf, String> {
    cargo(&["build", "--profile", "shipping", "--package", "foretell-fleet"])?;
    Ok(built_in("shipping")?.with_file_name("foretell-fleet"))
}

/// Where a profile puts the program: next to the directory of this program.
fn built_in(profile: &str) -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let target = this.parent().and_then(Path::parent).ok_or("cannot find the target directory")?;
    Ok(target.join(profile).join("foretell"))
}
