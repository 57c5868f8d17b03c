//! Builds the runtime, the library that lives inside recorded programs, and the shim that is preloaded under ThreadSanitizer, so that they can be embedded.
//!
//! It is another artifact than this crate: a shared object with its own panic strategy, always optimised. So another
//! cargo builds it, into a target directory of its own (the outer cargo's is locked), with none of the outer
//! build's flags and wrappers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

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
    let workspace = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    for part in ["crates/runtime", "crates/shim", "crates/wire", "Cargo.lock", "include/foretell.h"] {
        println!("cargo::rerun-if-changed={}", workspace.join(part).display());
    }
    let libraries = [("runtime", "libtsan.so.2"), ("shim", "libforetell_shim.so")];
    let supported =
        variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ARCH") == "x86_64";
    if !supported {
        for (_, name) in libraries {
            fs::write(out.join(name), []).expect("OUT_DIR can be written");
        }
        return;
    }
    let target = out.join("runtime");
    // Nothing new is needed from the network if the outer build came this far; only a lock file that was passed
    // over (`cargo install` without `--locked`) asks for more.
    if !build(&workspace, &target, &["--offline"]) && !build(&workspace, &target, &[]) {
        panic!("the runtime (crates/runtime, crates/shim) could not be built; its errors are above");
    }
    for (library, name) in libraries {
        let built = target.join(format!("release/libforetell_{library}.so"));
        fs::copy(&built, out.join(name))
            .unwrap_or_else(|error| panic!("cannot copy {}: {error}", built.display()));
    }
}

fn build(workspace: &Path, target: &Path, how: &[&str]) -> bool {
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["build", "--release", "-p", "foretell-runtime", "-p", "foretell-shim"]);
    cargo.args(["--config", "profile.release.panic=\"abort\"", "--config", "profile.release.debug=false"]);
    cargo.args(how).arg("--target-dir").arg(target).current_dir(workspace);
    for name in OUTER {
        cargo.env_remove(name);
    }
    cargo.status().is_ok_and(|status| status.success())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
