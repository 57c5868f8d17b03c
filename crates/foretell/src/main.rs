//! The command line of Foretell. All it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    foretell::run(std::env::args_os())
}
