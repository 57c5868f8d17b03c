//! `cargo xtask fuzz-readers`: the readers of files under libFuzzer, one target after the other, and what that came to.
//!
//! The targets and their judges are in fuzz/. A target that breaks ends the chore: cargo-fuzz says where the input is.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use xtask::Outcome;
use xtask::cargo::root;
use xtask::machine::circumstances;
use xtask::results::store_report;

use crate::tools::FUZZ;

/// The targets, each with the directory of its seeds.
const TARGETS: &[(&str, &str)] = &[
    ("raw_log", "raw_log"),
    ("evidence", "evidence"),
    ("schedule", "schedule"),
    ("findings", "findings"),
    ("rules", "rules"),
    ("predicate", "predicate"),
    ("suppressions", "suppressions"),
    ("native", "native"),
    ("scrubbed", "native"),
    ("text", "text"),
    ("lenient", "text"),
];

/// No input may take longer, in seconds, nor more memory, in megabytes.
const LONGEST: &str = "-timeout=20";
const LARGEST: &str = "-rss_limit_mb=2048";

/// What one target came to.
struct Run {
    target: &'static str,
    seconds: u64,
    inputs: u64,
    /// Places in the code that were reached.
    coverage: u64,
    /// Inputs that reach something of their own.
    kept: u64,
    megabytes: u64,
}

/// Fuzzes these targets (none: all), each for a number of seconds.
pub(crate) fn run(seconds: u64, targets: &[&str]) -> Outcome {
    if let Some(unknown) = targets.iter().find(|name| !TARGETS.iter().any(|(target, _)| target == *name)) {
        let known: Vec<&str> = TARGETS.iter().map(|(target, _)| *target).collect();
        return Err(format!("there is no target {unknown}; there are {}", known.join(", ")));
    }
    let chosen = TARGETS.iter().filter(|(target, _)| targets.is_empty() || targets.contains(target));
    let mut runs = Vec::new();
    for (target, seeds) in chosen {
        println!("{target}: {seconds} s");
        runs.push(fuzz(target, seeds, seconds)?);
        // What was done so far is kept, whatever comes.
        store(&runs)?;
    }
    Ok(())
}

fn fuzz(target: &'static str, seeds: &str, seconds: u64) -> Result<Run, String> {
    let corpus = root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
    let seeds = root().join("fuzz/seeds").join(seeds);
    let mut command: Command = FUZZ.command()?;
    command.env("RUSTUP_TOOLCHAIN", "nightly").args(["fuzz", "run", target]).arg(corpus).arg(seeds);
    command.args(["--", &format!("-max_total_time={seconds}"), "-print_final_stats=1", LONGEST, LARGEST]);
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("cargo-fuzz: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let last: Vec<&str> = said.lines().rev().take(40).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        return Err(format!("{target} breaks:\n{}", last.join("\n")));
    }
    Run::of(target, &said).ok_or_else(|| format!("libFuzzer has printed no figures for {target}"))
}

impl Run {
    /// What libFuzzer printed.
    fn of(target: &'static str, said: &str) -> Option<Run> {
        let done = said.lines().rev().find(|line| line.starts_with("Done "))?;
        let numbers: Vec<u64> = done.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let statistic = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
            line.and_then(|rest| rest.trim_start_matches(':').trim().parse().ok())
        };
        // #4194304 pulse  cov: 2094 ft: 6543 corp: 812/64Kb ..
        let progress = said.lines().rev().find(|line| line.contains(" cov: "))?;
        let after = |name: &str| {
            let rest = progress.split_once(name)?.1.trim_start();
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        Some(Run {
            target,
            seconds: *numbers.get(1)?,
            inputs: *numbers.first()?,
            coverage: after("cov:")?,
            kept: after("corp:")?,
            megabytes: statistic("peak_rss_mb")?,
        })
    }
}

fn store(runs: &[Run]) -> Outcome {
    let mut page = format!(
        "## Fuzzing the readers\n\n{}\n`cargo xtask fuzz-readers`: libFuzzer with AddressSanitizer and debug assertions, one target after the \
         other, no input longer than 20 s or larger than 2 GB. Nothing broke.\n\n\
         | target | seconds | inputs | places reached | inputs kept | peak MB |\n|---|--:|--:|--:|--:|--:|\n",
        circumstances()
    );
    for run in runs {
        let Run { target, seconds, inputs, coverage, kept, megabytes } = run;
        let _ = writeln!(page, "| {target} | {seconds} | {inputs} | {coverage} | {kept} | {megabytes} |");
    }
    let (inputs, seconds) = runs.iter().fold((0, 0), |sum, run| (sum.0 + run.inputs, sum.1 + run.seconds));
    let headline =
        format!("{} targets, {inputs} inputs in {} minutes, nothing broke", runs.len(), seconds / 60);
    store_report("fuzz-readers", &headline, &page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_libfuzzer_are_read() {
        let said = "INFO: seed corpus: files: 3\n#2\tINITED cov: 100 ft: 120 corp: 3/1Kb exec/s: 0 rss: 30Mb\n\
                    #1048576\tpulse  cov: 2094 ft: 6543 corp: 812/64Kb lim: 4096 exec/s: 524288 rss: 190Mb\n\
                    Done 1234567 runs in 61 second(s)\nstat::number_of_executed_units: 1234567\nstat::peak_rss_mb: 211\n";
        let run = Run::of("text", said).unwrap();
        assert_eq!((run.inputs, run.seconds, run.coverage), (1_234_567, 61, 2094));
        assert_eq!((run.kept, run.megabytes), (812, 211));
        assert!(Run::of("text", "no figures").is_none());
    }

    #[test]
    fn every_target_is_run() {
        let files = fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap().flatten();
        let mut there: Vec<String> =
            files.map(|file| file.path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        let mut known: Vec<&str> = TARGETS.iter().map(|(target, _)| *target).collect();
        there.sort();
        known.sort();
        assert_eq!(there, known);
        assert!(TARGETS.iter().all(|(_, seeds)| root().join("fuzz/seeds").join(seeds).is_dir()));
    }
}
