//! `cargo xtask setup`: installs what tests and measurements use beyond Rust and a C compiler, from Debian's packages.
//!
//! Nothing here is needed to build Foretell. It fails if something cannot be installed: the tests that need it are then skipped with a message, and
//! fail in CI.

use std::path::Path;
use std::process::{Command, Stdio};

use xtask::Outcome;
use xtask::cargo::root;
use xtask::debian;
use xtask::machine::output_of;

use crate::{python, toolchains, tools as cargo_tools};

/// Real programs that the tests build and record: their packages of sources, and the libraries that these need.
const PROGRAMS: &[&str] = &["pigz", "pbzip2"];
const LIBRARIES: &[(&str, &str)] = &[
    ("zlib.h", "zlib1g-dev"),
    ("bzlib.h", "libbz2-dev"),
    // clang's OpenMP has no header there.
    ("../lib/llvm-14/lib/libomp.so", "libomp-dev"),
    // Its ThreadSanitizer, which Archer needs.
    ("../lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.tsan-x86_64.a", "libclang-rt-14-dev"),
    ("c++/v1/version", "libc++-dev"),
    ("../lib/x86_64-linux-gnu/libc++abi.so", "libc++abi-dev"),
    ("oneapi/tbb.h", "libtbb-dev"),
    ("event2/event.h", "libevent-dev"),
];

/// A command, and the package that has it.
const TOOLS: &[(&str, &str)] = &[
    ("gcc", "gcc"),
    ("g++", "g++"),
    ("make", "make"),
    ("cmake", "cmake"),
    ("meson", "meson"),
    ("ninja", "ninja-build"),
    ("clang", "clang"),
    ("autoreconf", "autoconf"),
    ("tclsh", "tcl"),
    ("automake", "automake"),
    ("libtoolize", "libtool"),
    ("gdb", "gdb"),
    ("valgrind", "valgrind"),
    ("chromium", "chromium"),
    ("dpkg-source", "dpkg-dev"),
    ("lintian", "lintian"),
    ("nats-server", "nats-server"),
    ("openssl", "openssl"),
    ("mkfs.btrfs", "btrfs-progs"),
];
/// The seconds that installing may take.
const PATIENCE: &str = "300";

pub(crate) fn run() -> Outcome {
    let mut failures = Vec::new();
    failures.extend(install_packages().err());
    for program in PROGRAMS {
        match debian::source(program, &root().join("target/sources")) {
            Ok(source) => println!("sources of {program}: {}", source.display()),
            Err(why) => failures.push(format!("no sources of {program}: {why}")),
        }
    }
    failures.extend(fetch_crates().err());
    failures.extend(cargo_tools::install_nextest().err());
    failures.extend(tools().err());
    failures.extend(python::environment().err());
    if let Err(why) = toolchains::install_msrv() {
        println!("the oldest Rust that is promised cannot be installed: {why}");
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Installs what only checks of releases use and Debian does not have.
pub(crate) fn tools() -> Outcome {
    cargo_tools::ALL.iter().try_for_each(|tool| tool.install())
}

/// Installs what only fuzzing uses.
pub(crate) fn fuzzing() -> Outcome {
    toolchains::install_nightly()?;
    cargo_tools::FUZZ.install()
}

/// Fetches the crates that workspaces besides the main one use: tests build some of them without the network. Fails if a lock file does not fit
/// its manifests, which the main workspace's own commands do not look at.
fn fetch_crates() -> Outcome {
    let failed: Vec<&str> = ["corpus/crates", "crates/python", "fuzz"]
        .into_iter()
        .filter(|workspace| {
            let manifest = root().join(workspace).join("Cargo.toml");
            let fetched =
                Command::new("cargo").args(["fetch", "--locked", "--manifest-path"]).arg(manifest).status();
            !fetched.is_ok_and(|status| status.success())
        })
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("cannot fetch the crates of {}: is its Cargo.lock out of date?", failed.join(", ")))
}

fn install_packages() -> Outcome {
    let commands = TOOLS.iter().filter(|(command, _)| !is_there(command));
    let headers = LIBRARIES.iter().filter(|(header, _)| !Path::new("/usr/include").join(header).is_file());
    let mut missing: Vec<&str> = commands.chain(headers).map(|(_, package)| *package).collect();
    // Debian's Python comes without what makes environments.
    let makes_environments =
        Command::new("python3").args(["-c", "import ensurepip"]).stderr(Stdio::null()).status();
    if !makes_environments.is_ok_and(|status| status.success()) {
        missing.push("python3-venv");
    }
    if missing.is_empty() {
        println!("all packages are installed");
        return Ok(());
    }
    let wanted = missing.join(" ");
    let installed = is_there("apt-get")
        && apt(&["update", "--quiet"])
        && apt(&[&["install", "--yes", "--quiet", "--no-install-recommends"], &missing[..]].concat());
    match installed {
        true => println!("installed: {wanted}"),
        false => return Err(format!("could not install: {wanted}")),
    }
    Ok(())
}

fn is_there(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(command).is_file())
}

/// Runs apt-get as root, without asking anything.
fn apt(arguments: &[&str]) -> bool {
    let mut command = match output_of("id", &["-u"]) == "0" {
        true => Command::new("timeout"),
        false => {
            let mut sudo = Command::new("sudo");
            sudo.args(["--non-interactive", "timeout"]);
            sudo
        }
    };
    command.args([PATIENCE, "apt-get"]).args(arguments);
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
