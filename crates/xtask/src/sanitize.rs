//! `cargo xtask sanitize`: the runtime's host tests under AddressSanitizer and ThreadSanitizer.
//!
//! The sanitizers need a nightly compiler. They watch this repository's code and not the standard library's, which comes compiled without
//! them. Loom switches stacks by itself, which ThreadSanitizer cannot follow, so under it the models run on real threads, many times each.

use std::process::{Command, Stdio};

use xtask::cargo::root;
use xtask::{Outcome, skipped};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A sanitizer, and what it needs.
struct Sanitizer {
    name: &'static str,
    /// The rest of the compiler's flags.
    flags: &'static str,
    /// Options of its own at run time.
    options: (&'static str, &'static str),
}

const SANITIZERS: [Sanitizer; 2] = [
    // What the runtime maps it never gives back, and tests imitate that.
    Sanitizer { name: "address", flags: "", options: ("ASAN_OPTIONS", "detect_leaks=0") },
    Sanitizer {
        name: "thread",
        flags: "-Cunsafe-allow-abi-mismatch=sanitizer --cfg real_threads",
        options: ("TSAN_OPTIONS", "halt_on_error=1 suppressions=crates/xtask/thread-sanitizer.supp"),
    },
];

pub(crate) fn run() -> Outcome {
    if !nightly(&["cargo", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
    {
        return skipped("the sanitizers need a nightly toolchain, and `rustup run nightly cargo` finds none");
    }
    SANITIZERS.iter().try_for_each(run_under)
}

fn run_under(sanitizer: &Sanitizer) -> Outcome {
    println!("{} sanitizer", sanitizer.name);
    let directory = format!("target/sanitize-{}", sanitizer.name);
    let mut test = nightly(&["cargo", "test", "--target", TARGET, "--target-dir", &directory]);
    // Optimising what is used for a minute takes longer than it saves.
    test.args(["--config", "profile.dev.package.\"*\".opt-level=1"]);
    test.args(["--package", "foretell-runtime", "--lib"]);
    test.env("RUSTFLAGS", format!("-Zsanitizer={} {}", sanitizer.name, sanitizer.flags));
    // Tests run in the directory of their crate.
    let root = root().to_string_lossy().into_owned();
    test.env(sanitizer.options.0, sanitizer.options.1.replace("crates/", &format!("{root}/crates/")));
    // The models take minutes under a sanitizer with the bound of their own.
    test.env("LOOM_MAX_PREEMPTIONS", "1");
    match test.status().map_err(|error| format!("cannot run rustup: {error}"))?.success() {
        true => Ok(()),
        false => Err(format!("the runtime's host tests fail under the {} sanitizer", sanitizer.name)),
    }
}

/// A command of the nightly toolchain, in the root of the repository.
fn nightly(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly"]).args(arguments).current_dir(root());
    // What the stable cargo that runs this chore has set for itself.
    command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    command
}
