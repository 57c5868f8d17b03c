//! `foretell fleet`: hunts on many machines. Another program does it, which is found as git finds its subcommands: this one stays free of what a
//! network needs.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::diagnostics::Diagnostic;

/// The program.
const PROGRAM: &str = "foretell-fleet";

const EXAMPLES: &str = "\
Runs the program `foretell-fleet`, from the directory of this one or from PATH.

Commands, each with its own --help:
  submit    split a hunt into jobs, and put them into the queue
  work      take jobs, hunt, and store what was found
  status    show how far they have come
  collect   one report of what was found
  cancel    drop the jobs that are left

Examples:
  nats-server -js -sd ./nats                  the server, with file storage
  foretell fleet work                         on each machine
  foretell fleet submit --seeds 200 -- ./tests/queue_test
  foretell fleet collect --wait -o all

See docs/fleet.md.";

/// Spread hunts over many machines, through a NATS server.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Fleet {
    /// The command and its arguments.
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Fleet {
    /// Becomes the other program; returns why if that did not work.
    pub fn run(self) -> Diagnostic {
        let arguments = match self.arguments.is_empty() {
            true => vec!["--help".into()],
            false => self.arguments,
        };
        let program = beside_us().unwrap_or_else(|| PROGRAM.into());
        let error = Command::new(program).args(arguments).exec();
        match error.kind() {
            std::io::ErrorKind::NotFound => Diagnostic::new(format!(
                "`{PROGRAM}` is neither in the directory of this program nor in PATH"
            ))
            .note(
                "`foretell fleet` is a program of its own, because it needs a network and this one does not",
            )
            .help("`cargo install --path crates/fleet` installs it: see docs/fleet.md"),
            _ => Diagnostic::from_io("run", PROGRAM, &error),
        }
    }
}

/// The program in the directory of this one.
fn beside_us() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(PROGRAM);
    path.is_file().then_some(path)
}
