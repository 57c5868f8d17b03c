//! Options of Foretell's among cargo's arguments: `foretell cargo test --timeout 20 -p queue` is `foretell cargo --timeout 20 test -p queue`.

use std::ffi::OsString;

use clap::{Arg, Args, Command};

use super::Cargo;

/// Options that cargo has, too: after the subcommand they are cargo's.
const CARGOS: [&str; 4] = ["jobs", "quiet", "verbose", "help"];

/// The arguments with our own options before cargo's subcommand, and `hunt` as the subcommand of cargo's that it stands for.
pub fn with_own_options_first(arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_none_or(|command| command != "cargo") {
        return arguments;
    }
    let ours = OwnOptions::new();
    let Some(subcommand) = ours.subcommand(&arguments) else { return arguments };
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len()).max(subcommand);
    let (mut own, mut cargos) = (Vec::new(), Vec::new());
    let mut words = arguments[subcommand + 1..end.max(subcommand + 1)].iter();
    while let Some(word) = words.next() {
        match ours.find(word).filter(|option| !CARGOS.contains(&option.name.as_str())) {
            Some(option) => {
                own.push(word.clone());
                if option.has_value_after(word) {
                    own.extend(words.next().cloned());
                }
            }
            None => cargos.push(word.clone()),
        }
    }
    let toolchain = arguments[2..subcommand].iter().find(|word| is_toolchain(word)).cloned();
    let leading = arguments[..subcommand].iter().filter(|word| !is_toolchain(word)).cloned();
    let command = cargo_subcommand(&arguments[subcommand], &cargos);
    let rest = arguments[end.max(subcommand + 1)..].iter().cloned();
    leading.chain(own).chain(toolchain).chain([command]).chain(cargos).chain(rest).collect()
}

fn is_toolchain(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"+")
}

/// The subcommand of cargo's: `hunt` runs what is asked for, a program or tests.
fn cargo_subcommand(subcommand: &OsString, cargos: &[OsString]) -> OsString {
    const OF_TESTS: [&str; 6] = ["--test", "--tests", "--lib", "--doc", "--bench", "--benches"];
    if subcommand != "hunt" {
        return subcommand.clone();
    }
    let is_test = |word: &OsString| {
        let word = word.to_string_lossy();
        OF_TESTS.contains(&word.split('=').next().unwrap_or_default())
    };
    if cargos.iter().any(is_test) { "test".into() } else { "run".into() }
}

/// The options that come before cargo's arguments.
struct OwnOptions(Vec<OwnOption>);

struct OwnOption {
    name: String,
    short: Option<char>,
    takes_value: bool,
}

impl OwnOption {
    /// Whether the option's value is the next word.
    fn has_value_after(&self, word: &OsString) -> bool {
        let word = word.to_string_lossy();
        let is_alone = word.starts_with("--") && !word.contains('=') || word.len() == 2;
        self.takes_value && is_alone
    }
}

impl OwnOptions {
    fn new() -> OwnOptions {
        let command = Cargo::augment_args(Command::new("cargo"));
        let option = |argument: &Arg| {
            let takes_value = argument.get_action().takes_values();
            Some(OwnOption {
                name: argument.get_long()?.to_owned(),
                short: argument.get_short(),
                takes_value,
            })
        };
        OwnOptions(command.get_arguments().filter_map(option).collect())
    }

    fn find(&self, word: &OsString) -> Option<&OwnOption> {
        let word = word.to_str()?;
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            return self.0.iter().find(|option| option.name == name);
        }
        let short = word.strip_prefix('-')?.chars().next()?;
        self.0.iter().find(|option| option.short == Some(short))
    }

    /// Where the first word is that is neither an option, nor its value, nor a toolchain.
    fn subcommand(&self, arguments: &[OsString]) -> Option<usize> {
        let mut at = 2;
        while let Some(word) = arguments.get(at).filter(|word| *word != "--") {
            match self.find(word) {
                Some(option) => at += 1 + usize::from(option.has_value_after(word)),
                None if is_toolchain(word) || word.as_encoded_bytes().starts_with(b"-") => at += 1,
                None => return Some(at),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let words = |line: &str| -> Vec<OsString> { line.split_whitespace().map(OsString::from).collect() };
        assert_eq!(with_own_options_first(words(line)), words(expected));
    }

    #[test]
    fn own_options_may_follow_the_subcommand() {
        check(
            "foretell cargo test --timeout 20 -p queue --split -- --nocapture --json",
            "foretell cargo --timeout 20 --split test -p queue -- --nocapture --json",
        );
        check(
            "foretell cargo --json +nightly test --test smoke --hunt=--seed=1 drops",
            "foretell cargo --json --hunt=--seed=1 +nightly test --test smoke drops",
        );
        check("foretell cargo nextest run --seeds 2", "foretell cargo --seeds 2 nextest run");
    }

    #[test]
    fn what_cargo_knows_stays_cargos() {
        check("foretell cargo test -j 2 -q --verbose", "foretell cargo test -j 2 -q --verbose");
        check("foretell cargo -j 2 test", "foretell cargo -j 2 test");
        check("foretell cargo run --bin bank -- --timeout 3", "foretell cargo run --bin bank -- --timeout 3");
        check("foretell hunt --timeout 3 -- cargo", "foretell hunt --timeout 3 -- cargo");
        check("foretell cargo", "foretell cargo");
        check("foretell cargo --help", "foretell cargo --help");
    }

    #[test]
    fn hunt_runs_a_program_or_tests() {
        check(
            "foretell cargo hunt --timeout 9 --bin bank -- 3",
            "foretell cargo --timeout 9 run --bin bank -- 3",
        );
        check("foretell cargo hunt --test=smoke", "foretell cargo test --test=smoke");
    }
}
