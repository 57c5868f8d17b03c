//! The chores of this repository, one file each. `cargo xtask` lists them.

mod bench;
mod cargo;
mod debian;
mod demo;
mod expectations;
mod fuzz;
mod growth;
mod instructions;
mod llvm;
mod measure;
mod papers;
mod peers;
mod plot;
mod races;
mod rapid;
mod record;
mod scenarios;
mod setup;
mod test;

use std::process::ExitCode;

use crate::fuzz::Seeds;

const USAGE: &str = "\
cargo xtask setup              install what tests and measurements use, from Debian's packages where they can be had
cargo xtask test               run every test there is
cargo xtask demo               build Foretell and show what it does
cargo xtask bench trace        measure reading, writing and surveying traces; refreshes bench/RESULTS.md
cargo xtask bench decide       measure what questions cost; refreshes bench/RESULTS.md
cargo xtask bench bugs         measure what finding bugs other than races costs; refreshes bench/RESULTS.md
cargo xtask bench linear       measure what finding races costs by the methods that stream, RAPID beside them if RAPID_HOME names it; refreshes bench/RESULTS.md
cargo xtask bench races        likewise by the methods that do not
cargo xtask bench rapid        compare which racy events RAPID reports and which ours do, if RAPID_HOME names it; refreshes bench/RESULTS.md
cargo xtask bench growth       measure how cost grows with traces; refreshes bench/RESULTS.md and its pictures
cargo xtask bench papers       re-run the papers' tables, ours beside theirs; refreshes bench/RESULTS.md
cargo xtask bench states       measure walking and counting of global states; refreshes bench/RESULTS.md
cargo xtask bench record       measure recording beside ThreadSanitizer; refreshes bench/RESULTS.md
cargo xtask bench scenarios    confirm the errors of the corpus beside ThreadSanitizer; refreshes bench/RESULTS.md
cargo xtask bench llvm         hunt in the programs that LLVM tests ThreadSanitizer with, in the directory that FORETELL_LLVM_TSAN names; refreshes bench/RESULTS.md
cargo xtask bench peers        hunt in real programs beside ThreadSanitizer and Helgrind, Debian's and those in the directory that FORETELL_PEERS names; refreshes bench/RESULTS.md
cargo xtask fuzz-engine [--from S] [--seeds N] [--keep-figures]
                               judge the engine by the oracle on N random traces (default 10000) from seed S on
cargo xtask fuzz-bugs [--from S] [--seeds N]
                               likewise for the searches for deadlocks, atomicity and order violations, nondeterministic reads
cargo xtask instructions [--keep]
                               count the instructions of the hot paths; fails above a tenth more than bench/instructions.txt
cargo xtask measure -- CMD..   run a command and print its wall time, CPU time and peak memory";

/// A chore either does all of its work or says what stopped it.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["setup"] => setup::run(),
        ["test"] => test::run(),
        ["demo"] => demo::run(),
        ["bench", "trace"] => bench::trace(),
        ["bench", "decide"] => bench::decide(),
        ["bench", "bugs"] => bench::bugs(),
        ["bench", "linear"] => races::linear(),
        ["bench", "races"] => races::run(),
        ["bench", "rapid"] => rapid::run(),
        ["bench", "growth"] => growth::run(),
        ["bench", "papers"] => papers::run(),
        ["bench", "states"] => bench::states(),
        ["bench", "record"] => record::run(),
        ["bench", "scenarios"] => scenarios::run(),
        ["bench", "llvm"] => llvm::run(),
        ["bench", "peers"] => peers::run(),
        ["fuzz-engine", options @ ..] => seeds_and_flags(options, &["--keep-figures"])
            .and_then(|(seeds, flags)| fuzz::engine(seeds, !flags.is_empty())),
        ["fuzz-bugs", options @ ..] => seeds_and_flags(options, &[]).and_then(|(seeds, _)| fuzz::bugs(seeds)),
        ["instructions"] => instructions::run(false),
        ["instructions", "--keep"] => instructions::run(true),
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

/// Which seeds to judge, and which of the flags that a chore knows are given.
fn seeds_and_flags<'o>(options: &[&'o str], known: &[&str]) -> Result<(Seeds, Vec<&'o str>), String> {
    let (mut seeds, mut flags) = (Seeds { from: 0, count: 10_000 }, Vec::new());
    let mut options = options.iter();
    while let Some(&option) = options.next() {
        let mut number = || {
            let value = options.next().ok_or(format!("{option} needs a number"))?;
            value
                .replace('_', "")
                .parse::<u64>()
                .map_err(|_| format!("{option} needs a number, not '{value}'"))
        };
        match option {
            "--from" => seeds.from = number()?,
            "--seeds" => seeds.count = number()?,
            flag if known.contains(&flag) => flags.push(flag),
            _ => return Err(format!("there is no option {option}\n\n{USAGE}")),
        }
    }
    Ok((seeds, flags))
}
