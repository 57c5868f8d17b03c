//! `cargo xtask package`: the published crates as a stranger gets them.
//!
//! Packages every crate that is meant for publishing, puts the packages with all that they depend on into a directory that stands for
//! crates.io, installs Foretell from there in an empty directory, with Rust, a C compiler and nothing else in reach, and hunts in an example.
//! The network is not used, and nothing of this repository but the packages and the example.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde::Deserialize;
use xtask::Outcome;
use xtask::cargo::{cargo, cargo_output, root};
use xtask::scratch::with_directory;

use crate::tools::done;

/// The example, and what the hunt must say about it.
const EXAMPLE: &str = "weather_station.c";
const EXPECTED: &str = "race-1: data race on temperature, confirmed";
/// The bytes that the installed program may have. Cargo builds it without this repository's profiles, so it is larger than what is released.
const LARGEST: u64 = 20 << 20;

/// What `cargo metadata` says about the workspace.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// The registries it may go to: none, if it is not published.
    publish: Option<Vec<String>>,
}

pub(crate) fn run() -> Outcome {
    let target = root().join("target/packages");
    let crates = package(&target)?;
    println!("{} packages in {}", crates.len(), target.join("package").display());
    with_directory(|directory| {
        let registry = directory.join("registry");
        println!("collecting what they depend on");
        cargo_output(&["vendor", "--quiet", "--versioned-dirs", "--locked", text(&registry)])?;
        for file in &crates {
            unpack(file, &registry)?;
        }
        let home = Home::new(directory, &registry)?;
        println!("installing in an empty directory");
        done(home.command("cargo").args(["install", "--offline", "foretell"]))?;
        let installed = home.cargo_home.join("bin/foretell");
        let bytes =
            fs::metadata(&installed).map_err(|error| format!("{}: {error}", installed.display()))?.len();
        println!("installed: foretell, {:.1} MB", bytes as f64 / 1e6);
        if bytes > LARGEST {
            return Err(format!("the installed program has {bytes} bytes, more than {LARGEST}"));
        }
        hunt(&home, &installed)
    })
}

/// Packages what is published; the files.
pub(crate) fn package(target: &Path) -> Result<Vec<PathBuf>, String> {
    let metadata = cargo_output(&["metadata", "--format-version", "1", "--no-deps"])?;
    let Metadata { packages } = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let published: Vec<Package> =
        packages.into_iter().filter(|p| p.publish.as_ref().is_none_or(|to| !to.is_empty())).collect();
    let mut arguments =
        vec!["package", "--quiet", "--no-verify", "--allow-dirty", "--target-dir", text(target)];
    for package in &published {
        arguments.extend(["--package", &package.name]);
    }
    cargo(&arguments)?;
    let file = |p: &Package| target.join("package").join(format!("{}-{}.crate", p.name, p.version));
    Ok(published.iter().map(file).collect())
}

/// Unpacks a package into a directory of packages. Cargo asks for a list of checksums in each, which may be empty.
fn unpack(file: &Path, registry: &Path) -> Outcome {
    done(Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(registry))?;
    let name = file.file_stem().expect("a file of a package has a name");
    write(&registry.join(name).join(".cargo-checksum.json"), "{\"files\":{}}")
}

/// An empty home, in which cargo knows no registry but ours.
struct Home {
    directory: PathBuf,
    cargo_home: PathBuf,
    path: String,
}

impl Home {
    fn new(directory: &Path, registry: &Path) -> Result<Home, String> {
        let home = directory.join("home");
        let cargo_home = home.join("cargo");
        fs::create_dir_all(&cargo_home).map_err(|error| format!("{}: {error}", cargo_home.display()))?;
        let replaced = format!(
            "[source.crates-io]\nreplace-with = \"packages\"\n[source.packages]\ndirectory = {:?}\n",
            text(registry)
        );
        write(&cargo_home.join("config.toml"), &replaced)?;
        // The toolchain's own programs, not rustup's, which look into the user's home.
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let sysroot =
            Command::new(rustc).args(["--print", "sysroot"]).output().map_err(|error| error.to_string())?;
        let sysroot = String::from_utf8_lossy(&sysroot.stdout).trim().to_owned();
        Ok(Home { directory: home, cargo_home, path: format!("{sysroot}/bin:/usr/bin:/bin") })
    }

    /// A command in this home, with an environment of nothing else.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("env");
        command
            .arg(format!("PATH={}", self.path))
            .arg(program.as_ref())
            .current_dir(&self.directory)
            .env_clear();
        command.env("PATH", &self.path).env("HOME", &self.directory).env("CARGO_HOME", &self.cargo_home);
        command
    }
}

/// Hunts in the example with the installed program.
fn hunt(home: &Home, foretell: &Path) -> Outcome {
    let example = root().join("examples").join(EXAMPLE);
    fs::copy(&example, home.directory.join(EXAMPLE)).map_err(|error| format!("{EXAMPLE}: {error}"))?;
    let output =
        home.command(foretell).args(["hunt", EXAMPLE]).output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout);
    print!("{printed}");
    match (output.status.code(), printed.contains(EXPECTED)) {
        (Some(1), true) => Ok(()),
        (code, _) => Err(format!(
            "the hunt ended with {code:?} and should have said `{EXPECTED}`:\n{}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

fn write(path: &Path, content: &str) -> Outcome {
    fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of this repository and of temporary files are UTF-8")
}
