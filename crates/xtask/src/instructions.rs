//! `cargo xtask instructions`: how many instructions the hot paths take, counted by valgrind, held against bench/instructions.txt. Above a
//! tenth more fails. Counts do not depend on what else the machine does, so unlike times they can be judged in CI.
//!
//! The tests' own build is counted: it is there already, and what makes it slower makes the released one slower. Counts belong to a
//! compiler; with another one they are printed, not compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use xtask::Outcome;
use xtask::cargo::{cargo, root};
use xtask::machine::output_of;
use xtask::scratch::with_directory;

const KEPT: &str = "bench/instructions.txt";
/// By how much a path may get longer, in percent.
const TOLERANCE: u64 = 10;

/// A hot path, and the command that takes it. `{ftr}` and `{std}` are a generated trace in both forms, `{small}` is a shorter one.
const PATHS: &[(&str, &[&str])] = &[
    ("read text", &["stats", "-q", "{std}"]),
    ("read native", &["stats", "-q", "{ftr}"]),
    ("races by hb", &["predict", "-q", "--raw", "--method", "hb", "{ftr}"]),
    ("races by lockset", &["predict", "-q", "--raw", "--method", "lockset", "{ftr}"]),
    ("races by syncp", &["predict", "-q", "{ftr}", "--only", "race", "--method", "syncp"]),
    ("races by poly", &["predict", "-q", "{ftr}", "--only", "race"]),
    ("deadlocks", &["predict", "-q", "{ftr}", "--only", "deadlock"]),
    ("atomicity violations", &["predict", "-q", "{small}", "--only", "atomicity"]),
    ("nondeterministic reads", &["predict", "-q", "{small}", "--only", "nondeterminism"]),
    ("states walked", &["states", "-q", "--count", "--class", "strong", "corpus/states/table1-set1-6.std"]),
];

/// Counts, and judges or, if asked to, keeps them.
pub(crate) fn run(keep: bool) -> Outcome {
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        return Err(
            "valgrind, which counts instructions, is not installed: run `cargo xtask setup`".to_owned()
        );
    }
    // With what the tests were built with in CI, so that nothing is built again there: incremental builds inline less.
    let without_incremental = ["--config", "build.incremental=false"];
    cargo(&[&["build", "--quiet", "--workspace", "--bin", "foretell"], &without_incremental[..]].concat())?;
    let foretell = root().join("target/debug/foretell");
    let counts = with_directory(|directory| count_all(&foretell.to_string_lossy(), directory))?;
    let compiler = output_of("rustc", &["--version"]);
    if keep { write(&compiler, &counts) } else { judge(&compiler, &counts) }
}

fn count_all(foretell: &str, directory: &Path) -> Result<Vec<(&'static str, u64)>, String> {
    let file = |name: &str| directory.join(name).to_string_lossy().into_owned();
    let (native, text, small) = (file("t.ftr"), file("t.std"), file("small.ftr"));
    let shape = ["--threads", "8", "--locks", "32", "--variables", "500"];
    let generate = |events, to| [&["generate", "-q", "--events", events, "-o", to], &shape[..]].concat();
    let make = [
        generate("20000", native.as_str()),
        generate("4000", small.as_str()),
        vec!["convert", "-q", &native, &text],
    ];
    for arguments in make {
        let made = Command::new(foretell).args(&arguments).status();
        if !made.is_ok_and(|status| status.success()) {
            return Err(format!("`foretell {}` failed", arguments.join(" ")));
        }
    }
    let count = |&(path, arguments): &(&'static str, &[&str])| {
        let given = |argument: &&str| {
            argument.replace("{ftr}", &native).replace("{std}", &text).replace("{small}", &small)
        };
        let arguments = arguments.iter().map(given);
        Ok((path, count(foretell, &arguments.collect::<Vec<_>>())?))
    };
    PATHS.iter().map(count).collect()
}

/// Instructions of one command, as valgrind counts them.
fn count(foretell: &str, arguments: &[String]) -> Result<u64, String> {
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", foretell])
        .args(arguments)
        .current_dir(root())
        .env_remove("FORETELL_OPTIONS")
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .map_err(|error| format!("cannot run valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let line =
        said.lines().rev().find_map(|line| line.split_once("I refs:").or(line.split_once("I   refs:")));
    // 1: something was found; 3: nothing was, and not all was decided.
    let count = line.filter(|_| matches!(output.status.code(), Some(0 | 1 | 3)));
    let digits = count.map(|(_, count)| count.replace(',', "").trim().to_owned());
    let number = digits.and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| format!("`foretell {}` could not be counted:\n{said}", arguments.join(" ")))
}

fn write(compiler: &str, counts: &[(&str, u64)]) -> Outcome {
    let mut text = format!(
        "# Instructions of the hot paths, kept by `cargo xtask instructions --keep`.\ncompiler = {compiler}\n"
    );
    for (path, count) in counts {
        let _ = writeln!(text, "{path} = {count}");
    }
    std::fs::write(root().join(KEPT), text).map_err(|error| format!("cannot write {KEPT}: {error}"))
}

fn judge(compiler: &str, counts: &[(&str, u64)]) -> Outcome {
    let kept =
        std::fs::read_to_string(root().join(KEPT)).map_err(|error| format!("cannot read {KEPT}: {error}"))?;
    let kept: BTreeMap<&str, &str> = kept.lines().filter_map(|line| line.split_once(" = ")).collect();
    let same_compiler = kept.get("compiler") == Some(&compiler);
    let mut longer = Vec::new();
    for &(path, count) in counts {
        let before: Option<u64> = kept.get(path).and_then(|count| count.parse().ok());
        let Some(before) = before else {
            longer.push(format!("{path} is not in {KEPT}"));
            continue;
        };
        println!("{path:24} {count:>14} instructions, {:+.1} % against {before}", change(count, before));
        if is_longer(count, before) {
            longer.push(format!("{path} takes {:+.1} % instructions", change(count, before)));
        }
    }
    match longer.is_empty() {
        true => Ok(()),
        false if !same_compiler => {
            println!(
                "not judged: {KEPT} was counted with {}",
                kept.get("compiler").unwrap_or(&"an unknown compiler")
            );
            Ok(())
        }
        false => Err(format!(
            "{}\nMake it shorter, or say why in the commit that runs `cargo xtask instructions --keep`.",
            longer.join("\n")
        )),
    }
}

fn is_longer(count: u64, before: u64) -> bool {
    count > before + before / 100 * TOLERANCE
}

fn change(count: u64, before: u64) -> f64 {
    (count as f64 / before as f64 - 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::is_longer;

    #[test]
    fn a_tenth_more_is_too_much() {
        assert!(!is_longer(1_099_000, 1_000_000));
        assert!(is_longer(1_101_000, 1_000_000));
        assert!(!is_longer(500_000, 1_000_000));
    }
}
