//! `cargo foretell ..`: what cargo runs for it. It is `foretell cargo ..`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Cargo passes the name of the command on.
    if words.first().is_some_and(|word| word == "foretell") {
        words.remove(0);
    }
    // The program that was installed with this one; else the one in PATH.
    let neighbour = std::env::current_exe().ok().map(|this| this.with_file_name("foretell"));
    let program = neighbour.filter(|program| program.is_file()).unwrap_or_else(|| "foretell".into());
    let error = Command::new(&program).arg("cargo").args(words).exec();
    eprintln!("error: cannot run `{}`: {error}", program.display());
    eprintln!("help: install it with `cargo install --path crates/foretell`");
    ExitCode::from(2)
}
