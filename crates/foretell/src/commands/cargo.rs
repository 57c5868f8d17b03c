//! `foretell cargo`: the user's cargo, building so that the programs can be recorded, and recording what it runs.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;

use clap::Args;

use crate::diagnostics::Diagnostic;

const EXAMPLES: &str = "\
What cargo builds is instrumented by rustc's -Zsanitizer=thread (RUSTC_BOOTSTRAP=1 makes stable
compilers take it), for a target of its own, so build scripts and macros are not. What cargo runs is
recorded to foretell.ftr in the directory it runs in; where it runs several programs, the last one
stays. std itself is not instrumented, but what it does to order threads is seen: docs/recording.md.

Examples:
  foretell cargo run -- 10
  foretell cargo test --test queue
  foretell cargo build && foretell hunt -- target/x86_64-unknown-linux-gnu/debug/bank";

/// Build a Rust program so that it can be recorded, and record what cargo runs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Cargo {
    /// What cargo takes: build, run, test and their arguments.
    #[arg(value_name = "ARGS", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Cargo {
    /// Becomes cargo; returns why if that did not work.
    pub fn run(self) -> Diagnostic {
        let this = match std::env::current_exe() {
            Ok(this) => this,
            Err(error) => return Diagnostic::from_io("find", "this program", &error),
        };
        let runner = format!("{} record --", this.display());
        match launch::rust::cargo(&self.arguments, &runner) {
            Ok(mut command) => {
                let error = command.exec();
                Diagnostic::from_io("run", "cargo", &error).help("install cargo, or set CARGO")
            }
            Err(error) => no_rust(&error),
        }
    }
}

/// Why Rust programs cannot be built for recording.
pub(super) fn no_rust(error: &std::io::Error) -> Diagnostic {
    Diagnostic::from_io("prepare", "the recording of Rust programs", error)
        .help("rustc and its std for x86_64-unknown-linux-gnu are needed; RUSTC names another compiler")
        .help("XDG_CACHE_HOME is where the recorder's library goes: a directory that you can write to")
}
