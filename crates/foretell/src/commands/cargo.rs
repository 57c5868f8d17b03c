//! `foretell cargo`: the user's cargo, building so that the programs can be recorded, and recording what it runs.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;

use clap::Args;
use compile::rust::{self, CargoError, Std};

use pipeline::build::no_rust;

use crate::diagnostics::Diagnostic;

const EXAMPLES: &str = "\
rustc instruments the program with -Zsanitizer=thread; RUSTC_BOOTSTRAP=1 makes
stable compilers accept it. Build scripts and macros are not instrumented. Your
RUSTFLAGS and cargo's configuration are kept; link-time optimisation is off.
`run` records to foretell.ftr; tests, benchmarks and doc tests record to
foretell-NAME.ftr. All traces are written to the current directory.

std's locks and other synchronisation are recorded. Memory accesses in
precompiled std code are not. If std's source is installed (rustup component
add rust-src), core and alloc are compiled with the program and recorded, which
takes a minute the first time; --no-build-std turns this off.

Examples:
  foretell cargo run --release -- 10
  foretell cargo test -p queue
  foretell cargo --record '--seed 7 --max-events 1M' test --test queue
  foretell cargo build
  foretell hunt -- target/x86_64-unknown-linux-gnu/debug/bank";

/// What is lost with a std that comes compiled.
const SHIPPED: &str = "std is precompiled, so its own memory accesses are not recorded";

/// Build a Rust project for recording, and record what cargo runs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Cargo {
    /// Options for `foretell record`, such as '--seed 7'.
    #[arg(long, value_name = "OPTIONS", default_value = "", hide_default_value = true)]
    #[arg(allow_hyphen_values = true)]
    record: String,
    /// Run what cargo runs without recording it: `foretell test` hunts in it by itself.
    #[arg(long, conflicts_with = "record")]
    no_record: bool,
    /// Use the precompiled std even if its source is installed.
    #[arg(long)]
    no_build_std: bool,
    /// Arguments for cargo: build, run, test and their options.
    #[arg(value_name = "ARGS", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Cargo {
    /// Becomes cargo; returns why if that did not work.
    pub fn run(self) -> Diagnostic {
        match self.command() {
            Ok(mut command) => {
                let error = command.exec();
                Diagnostic::from_io("run", "cargo", &error).help("install cargo, or set CARGO")
            }
            Err(diagnostic) => diagnostic,
        }
    }

    fn command(&self) -> Result<std::process::Command, Diagnostic> {
        let cargo = rust::Cargo::new(&self.arguments).map_err(refusal)?;
        let this =
            std::env::current_exe().map_err(|error| Diagnostic::from_io("find", "this program", &error))?;
        let runner = if self.no_record { None } else { Some(self.runner(cargo.subcommand())?) };
        let has_source = cargo.has_source_of_std().map_err(no_rust)?;
        let std = if has_source && !self.no_build_std { Std::Built } else { Std::Shipped };
        if std == Std::Shipped && !cargo.is_quiet() {
            eprintln!("note: {SHIPPED}");
        }
        cargo.command(&this, runner.as_deref(), std).map_err(refusal)
    }

    /// The arguments of `foretell` that record what cargo runs.
    fn runner(&self, subcommand: Option<&OsStr>) -> Result<Vec<String>, Diagnostic> {
        let here = std::env::current_dir()
            .map_err(|error| Diagnostic::from_io("find", "the current directory", &error))?;
        // Tests run in the directory of their package, not in the user's.
        let trace = here.join("foretell.ftr").to_string_lossy().into_owned();
        let mut runner = vec!["record".into(), "-o".into(), trace];
        let one_program = matches!(subcommand.and_then(OsStr::to_str), Some("run" | "r"));
        if !one_program {
            runner.push("--by-program".into());
        }
        runner.extend(self.record.split_whitespace().map(str::to_owned));
        runner.push("--".into());
        Ok(runner)
    }
}

/// Becomes the compiler that cargo wants to run, if that is what this program was called for; returns why if that did not work.
pub fn intercept_rustc(arguments: &[OsString]) -> Option<Diagnostic> {
    let error = match rust::called(arguments)? {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    };
    Some(no_rust(error).into())
}

fn refusal(error: CargoError) -> Diagnostic {
    match error {
        CargoError::Foreign(_) => Diagnostic::new(error.to_string()).help("leave `--target` out"),
        CargoError::Io(error) => no_rust(error).into(),
    }
}
