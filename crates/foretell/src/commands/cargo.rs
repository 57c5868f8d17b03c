//! `foretell cargo`: the user's cargo, building so that the programs can be recorded, and a hunt in what it runs.

mod own_options;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use clap::Args;
use compile::compiler::Branches;
use compile::rust::{self, CargoError, Std};

pub use own_options::with_own_options_first;
use pipeline::build::no_rust;

use super::test::{SuiteArguments, this_program};
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;

const EXAMPLES: &str = "\
`test`, `nextest run`, `bench` and `run` run once, unchanged. Then there is a
hunt in each program that they started, as by `foretell test`. `hunt` means
`run`, or `test` with options such as `--test NAME`. Options of Foretell may
come before or after the command; -j, -q and -v after the command are cargo's.
The report is in target/foretell/latest. With `--record`, the programs are
recorded instead: `run` to foretell.ftr; tests, benchmarks and doc tests to
foretell-NAME.ftr, all in the current directory. Other commands, such as
`build`, only build for recording. `cargo foretell ..` is the same as `foretell
cargo ..`.

rustc instruments the program with -Zsanitizer=thread; RUSTC_BOOTSTRAP=1 makes
stable compilers accept it. Build scripts and macros are not instrumented. Your
RUSTFLAGS and cargo's configuration are kept; link-time optimisation is off.

std's locks and other synchronisation are recorded. Memory accesses in
precompiled std code are not. If std's source is installed (rustup component
add rust-src), core and alloc are compiled with the program and recorded, which
takes a minute the first time; --no-build-std turns this off.

Branches, for `--model branch`, are counted only with --branches: it makes a
recorded run up to a fifth slower. C code can be cheaper: `foretell cc --help`.

Examples:
  foretell cargo test -p queue
  foretell cargo test --workspace --all-features --split --timeout 600
  foretell cargo hunt --bin bank -- 10
  foretell cargo nextest run
  foretell cargo run --release -- 10
  foretell cargo --record '--seed 7 --max-events 1M' test --test queue
  foretell cargo build
  foretell hunt -- target/x86_64-unknown-linux-gnu/debug/bank

Exit status: as for `foretell test`; with `--record` and for other commands,
cargo's.";

/// Commands of cargo that run programs.
const RUNNING: [&str; 6] = ["test", "t", "nextest", "bench", "run", "r"];

/// What is lost with a std that comes compiled.
const SHIPPED: &str = "std is precompiled, so its own memory accesses are not recorded";

/// Build a Rust project for recording, and hunt in what cargo runs: its tests, benchmarks or programs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Cargo {
    /// Do not hunt, but record what cargo runs, with these options for `foretell record`, such as '--seed 7'.
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    record: Option<String>,
    /// Run what cargo runs unchanged: `foretell test` does the hunting.
    #[arg(long, conflicts_with = "record")]
    no_record: bool,
    /// Use the precompiled std even if its source is installed.
    #[arg(long)]
    no_build_std: bool,
    /// Count branches, for `--model branch`. Also FORETELL_BRANCHES=1.
    #[arg(long)]
    branches: bool,
    /// Arguments for cargo: build, run, test and their options.
    #[arg(value_name = "ARGS", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
    #[command(flatten)]
    suite: SuiteArguments,
}

impl Cargo {
    /// Hunts in what cargo runs, or becomes cargo.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let cargo = rust::Cargo::new(&self.arguments).map_err(refusal)?;
        let runs = cargo.subcommand().and_then(OsStr::to_str).is_some_and(|name| RUNNING.contains(&name));
        if runs && self.record.is_none() && !self.no_record {
            return self.hunt(&cargo);
        }
        let error = self.command(&cargo)?.exec();
        Err(Diagnostic::from_io("run", "cargo", &error).help("install cargo, or set CARGO"))
    }

    /// Hunts in what cargo runs.
    fn hunt(&self, cargo: &rust::Cargo<'_>) -> Result<Exit, Diagnostic> {
        let results = target_directory(cargo)?.join("foretell");
        // Reports name it in commands to copy.
        let here = std::env::current_dir().unwrap_or_default();
        let results = results.strip_prefix(&here).map_or(results.clone(), PathBuf::from);
        let own = [
            Some("--no-record"),
            self.no_build_std.then_some("--no-build-std"),
            self.branches.then_some("--branches"),
        ];
        let mut command = vec![this_program()?.into_os_string(), "cargo".into()];
        command.extend(own.into_iter().flatten().map(OsString::from));
        command.extend(self.arguments.iter().cloned());
        self.suite.run(command, results)
    }

    fn command(&self, cargo: &rust::Cargo<'_>) -> Result<std::process::Command, Diagnostic> {
        let this = this_program()?;
        let runner = match self.no_record {
            true => rust::Runner::Itself { doc_tests: target_directory(cargo)?.join("foretell/doctests") },
            false => rust::Runner::By(self.runner(cargo.subcommand())?),
        };
        let has_source = cargo.has_source_of_std().map_err(no_rust)?;
        let std = if has_source && !self.no_build_std { Std::Built } else { Std::Shipped };
        if std == Std::Shipped && !cargo.is_quiet() {
            eprintln!("note: {SHIPPED}");
        }
        let branches = if self.branches { Branches::All } else { Branches::asked() };
        cargo.command(&this, &runner, std, branches).map_err(refusal)
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
        let own = self.record.as_deref().unwrap_or_default();
        runner.extend(own.split_whitespace().map(str::to_owned));
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

/// Where cargo builds.
fn target_directory(cargo: &rust::Cargo<'_>) -> Result<PathBuf, Diagnostic> {
    cargo.target_directory().map_err(|error| {
        Diagnostic::from_io("find", "the project's target directory", &error)
            .help("run it where `cargo metadata` works, or name the project with `--manifest-path`")
    })
}

fn refusal(error: CargoError) -> Diagnostic {
    match error {
        CargoError::Foreign(_) => Diagnostic::new(error.to_string()).help("leave `--target` out"),
        CargoError::Io(error) => no_rust(error).into(),
    }
}
