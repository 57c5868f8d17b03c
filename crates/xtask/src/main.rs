//! The chores of this repository, one file each. `cargo xtask` lists them.

mod book;
mod corpus;
mod crates;
mod demo;
mod deny;
mod dist;
mod fuzz;
mod fuzz_readers;
mod instructions;
mod package;
mod pictures;
mod python;
mod sanitize;
mod setup;
mod soak;
mod test;
mod toolchains;
mod tools;
mod version;

use std::process::ExitCode;

use crate::fuzz::Seeds;
use crate::test::Selection;

const USAGE: &str = "\
cargo xtask setup [--tools | --fuzz]
                               install what tests and measurements use, from Debian's packages where they can be had; with --tools only
                               what checks of releases use (cargo-deny, mdbook, cargo-deb), below target/tools; with --fuzz only what
                               fuzz-readers uses (cargo-fuzz, a nightly Rust)
cargo xtask test [--ignored]   run all tests; with --ignored also those that need RAPID_HOME
cargo xtask demo               build Foretell and show what it does
cargo xtask corpus [--timeout N] [--foretell PROGRAM] [--replays N] [FILE..]
                               hunt in all programs of corpus/pairs, or these, and print what was found next to what is expected;
                               with --replays, replay each failure so often
cargo xtask crates [--timeout N] [--foretell PROGRAM] [NAME..]
                               hunt in the programs of corpus/crates, or these, and refresh their rows of the table in docs/rust.md
cargo xtask bench [NAME]       measure something and store it in bench; without a name, list what can be measured
cargo xtask fuzz-engine [--from S] [--seeds N] [--keep-figures]
                               judge the engine by the oracle on N random traces (default 10000) from seed S on
cargo xtask fuzz-bugs [--from S] [--seeds N]
                               the same for the searches for deadlocks, atomicity and order violations, nondeterministic reads
cargo xtask fuzz-readers [--seconds N] [--jobs N] [TARGET..]
                               run the targets of fuzz/ (default: all) for N seconds each (default 3600), N at a time (default 1), and
                               store what that came to
cargo xtask instructions [--keep]
                               count the instructions of the hot paths; fails above a tenth more than bench/instructions.txt
cargo xtask sanitize           run the runtime's host tests under the address and thread sanitizers, if a nightly toolchain is installed
cargo xtask soak [--minutes N [PROGRAM]] record, replay and hunt for N minutes (default 30) on a busy machine, and look for what is left over
cargo xtask deny [--advisories]
                               check licences, bans and sources of all dependencies; or known vulnerabilities, which needs the network
cargo xtask book               build the book of docs/ into target/book and check its links
cargo xtask pictures           make the pictures of the README and the book from a real hunt, into docs/pictures
cargo xtask msrv [--install]   compile with the oldest Rust that Cargo.toml promises; or install it
cargo xtask miri               run tests under Miri
cargo xtask semver REV         compare the interfaces of the library crates with those of a revision (needs cargo-semver-checks)
cargo xtask version TAG        check that a tag is this version, and print what changed in it
cargo xtask wheel              build the Python package, install it, run its tests and its notebook
cargo xtask dist               build what is released into target/dist: tarball, Debian package, wheel, crates, checksums
cargo xtask package            package the crates, install them in an empty directory, and hunt in an example there
cargo xtask measure -- CMD..   run a command and print its wall time, CPU time and peak memory";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["setup"] => setup::run(),
        ["setup", "--tools"] => setup::tools(),
        ["setup", "--fuzz"] => setup::fuzzing(),
        ["test"] => test::run(Selection::Default),
        ["test", "--ignored"] => test::run(Selection::WithIgnored),
        ["demo"] => demo::run(),
        ["corpus", programs @ ..] => corpus::run(programs),
        ["crates", programs @ ..] => crates::run(programs),
        ["bench", arguments @ ..] => bench(arguments),
        ["fuzz-engine", options @ ..] => seeds_and_flags(options, &["--keep-figures"])
            .and_then(|(seeds, flags)| fuzz::engine(seeds, !flags.is_empty())),
        ["fuzz-bugs", options @ ..] => seeds_and_flags(options, &[]).and_then(|(seeds, _)| fuzz::bugs(seeds)),
        ["fuzz-readers", arguments @ ..] => fuzz_readers(arguments),
        ["instructions"] => instructions::run(false),
        ["instructions", "--keep"] => instructions::run(true),
        ["sanitize"] => sanitize::run(),
        ["soak"] => soak::run(30, None),
        ["soak", "--minutes", minutes, program @ ..] if program.len() < 2 => match minutes.parse() {
            Ok(minutes) => soak::run(minutes, program.first().copied()),
            Err(_) => Err(format!("`{minutes}` is no number of minutes")),
        },
        ["deny"] => deny::run(false),
        ["deny", "--advisories"] => deny::run(true),
        ["book"] => book::run(),
        ["msrv"] => toolchains::msrv(),
        ["msrv", "--install"] => toolchains::install_msrv(),
        ["miri"] => toolchains::miri(),
        ["semver", baseline] => version::semver(baseline),
        ["version", tag] => version::check(tag),
        ["package"] => package::run(),
        ["pictures"] => pictures::run(),
        ["wheel"] => python::run(),
        ["dist"] => dist::run(),
        ["measure", ..] => bench(&arguments),
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

/// Runs the crate of benchmarks, in the current directory, to which the paths of a measured command are relative.
fn bench(arguments: &[&str]) -> xtask::Outcome {
    let run = ["run", "--quiet", "--release", "--package", "foretell-bench", "--"];
    let status = xtask::cargo::command(&[&run[..], arguments].concat()).current_dir(".").status();
    match status.map_err(|error| format!("cannot run cargo: {error}"))?.success() {
        true => Ok(()),
        false => Err(format!("`foretell-bench {}` failed", arguments.join(" "))),
    }
}

/// The targets of the readers, for how long and how many at a time.
fn fuzz_readers(arguments: &[&str]) -> xtask::Outcome {
    let (mut seconds, mut jobs, mut rest) = (3600, 1, arguments);
    while let [option @ ("--seconds" | "--jobs"), value, others @ ..] = rest {
        let number: u64 = value.parse().map_err(|_| format!("{option} needs a number, not '{value}'"))?;
        if *option == "--jobs" {
            jobs = number
        } else {
            seconds = number
        }
        rest = others;
    }
    fuzz_readers::run(seconds, usize::try_from(jobs).unwrap_or(usize::MAX), rest)
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
