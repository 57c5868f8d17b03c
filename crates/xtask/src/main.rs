//! The chores of this repository, one file each. `cargo xtask` lists them.

mod bench;
mod cargo;
mod demo;
mod measure;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test               run every test there is
cargo xtask demo               build Foretell and show what it does
cargo xtask bench trace        measure reading, writing and surveying traces; refreshes bench/RESULTS.md
cargo xtask measure -- CMD..   run a command and print its wall time, CPU time and peak memory";

/// A chore either does all of its work or says what stopped it.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["test"] => test::run(),
        ["demo"] => demo::run(),
        ["bench", "trace"] => bench::trace(),
        ["measure", "--", command @ ..] if !command.is_empty() => measure::print(command),
        [] | ["--help" | "-h" | "help"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("there is no such chore: {}\n\n{USAGE}", arguments.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}
