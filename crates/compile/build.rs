//! Builds the runtime, the library that lives inside recorded programs, and the shim that is preloaded under ThreadSanitizer, and compresses them, so that they
//! can be embedded.
//!
//! It is another artifact than this crate: a shared object with its own panic strategy, always optimised. So another
//! cargo builds it, from the sources in `embedded/`, into a target directory of its own (the outer cargo's is locked), with none of
//! the outer build's flags and wrappers. The package has these sources, so this works the same way for `cargo install`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::hash::Hasher;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// What the outer build sets for itself: flags and wrappers (clippy, coverage) that are not the runtime's.
const OUTER: [&str; 9] = [
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_LINKER",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CLIPPY_ARGS",
];

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let sources = package.join("embedded");
    watch(&sources).expect("embedded/ can be read");
    let libraries = ["runtime", "shim"];
    let supported =
        variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ARCH") == "x86_64";
    let embed = |library: &str, content: &[u8]| {
        embed(&out, library, content).unwrap_or_else(|error| panic!("cannot embed the {library}: {error}"));
    };
    if !supported {
        libraries.iter().for_each(|library| embed(library, &[]));
        return;
    }
    let (workspace, target) = (out.join("workspace"), out.join("runtime"));
    mirror(&sources, &workspace).expect("OUT_DIR can be written");
    if !build(&package, &workspace, &target) {
        panic!("the runtime (crates/runtime, crates/shim) could not be built; its errors are above");
    }
    for library in libraries {
        let built = target.join(format!("release/libforetell_{library}.so"));
        let content = fs::read(&built).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
        embed(library, &content);
    }
}

/// Leaves a library for src/embedded.rs: `LIBRARY.deflate`, and `LIBRARY.rs`, an expression that says what it is.
fn embed(out: &Path, library: &str, content: &[u8]) -> io::Result<()> {
    let compressed = out.join(format!("{library}.deflate"));
    let mut encoder = DeflateEncoder::new(fs::File::create(&compressed)?, Compression::best());
    encoder.write_all(content)?;
    encoder.finish()?;
    // The function `fingerprint` of the crate.
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(content);
    let packed = format!(
        "Packed {{ compressed: include_bytes!({compressed:?}), length: {}, fingerprint: {:#x} }}",
        content.len(),
        hasher.finish()
    );
    fs::write(out.join(format!("{library}.rs")), packed)
}

/// Has cargo run this again when a source changes. What is a link is watched where it leads.
fn watch(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path().canonicalize()?;
        println!("cargo::rerun-if-changed={}", path.display());
        if path.is_dir() {
            watch(&path)?;
        }
    }
    Ok(())
}

/// The name that a file of `embedded/` has in the workspace.
fn name_in_workspace(name: OsString) -> OsString {
    match name.to_str() {
        Some("workspace.toml" | "manifest.toml") => "Cargo.toml".into(),
        Some("lock") => "Cargo.lock".into(),
        _ => name,
    }
}

/// Makes one directory like another. Files that are already the same are not touched, so that cargo builds only what changed.
fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = name_in_workspace(entry.file_name());
        let (source, copy) = (entry.path(), to.join(&name));
        if source.is_dir() {
            mirror(&source, &copy)?;
        } else {
            let content = fs::read(&source)?;
            if fs::read(&copy).ok().as_ref() != Some(&content) {
                fs::write(&copy, content)?;
            }
        }
        names.insert(name);
    }
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if !names.contains(&entry.file_name()) {
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
    }
    Ok(())
}

/// Builds with the versions of the lock file if they are on this machine, else with what the outer build has brought here,
/// and only then with the network.
fn build(package: &Path, workspace: &Path, target: &Path) -> bool {
    let cargo = |how: &[&str]| {
        let mut cargo = Command::new(variable("CARGO"));
        // In the package's directory, so that cargo reads the same configuration as for the package.
        cargo.args(["build", "--release", "--quiet"]).args(how).current_dir(package);
        cargo.arg("--manifest-path").arg(workspace.join("Cargo.toml")).arg("--target-dir").arg(target);
        for name in OUTER {
            cargo.env_remove(name);
        }
        cargo.status().is_ok_and(|status| status.success())
    };
    if cargo(&["--offline"]) {
        return true;
    }
    let lock = workspace.join("Cargo.lock");
    fs::remove_file(&lock).expect("OUT_DIR can be written");
    cargo(&["--offline"]) || cargo(&[])
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
