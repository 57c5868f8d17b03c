//! `cargo xtask fuzz-readers`: the readers of files under libFuzzer, one target after the other or several at a time, and what that came to.
//!
//! The targets and their judges are in fuzz/. A target that breaks ends the chore, once those that run at the same time are done: cargo-fuzz says
//! where the input is. The figures of targets that are not run stay as they were.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use nix::sys::resource::{UsageWho, getrusage};
use xtask::Outcome;
use xtask::cargo::root;
use xtask::machine::{circumstances, output_of};
use xtask::results::{report, rows, store_report};

use crate::tools::{FUZZ, done};

const REPORT: &str = "fuzz-readers";

/// The targets, each with the directory of its seeds.
const TARGETS: &[(&str, &str)] = &[
    ("raw_log", "raw_log"),
    ("events", "events"),
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

/// No input may take longer, in seconds, times the number of targets that share the machine; nor more memory, in megabytes.
const LONGEST: usize = 20;
const LARGEST: &str = "-rss_limit_mb=2048";
/// Bounds of time are never given back: a command has one. Said to libFuzzer, and to the sanitizer for the end of the run.
const LEAKS: &str = "detect_leaks=0";

/// What one target came to.
struct Run {
    target: &'static str,
    seconds: u64,
    processor_seconds: u64,
    inputs: u64,
    /// Places in the code that were reached.
    coverage: u64,
    /// Inputs that reach something of their own.
    kept: u64,
    megabytes: u64,
}

/// Fuzzes these targets (none: all), each for a number of seconds, this number of them at a time.
pub(crate) fn run(seconds: u64, jobs: usize, targets: &[&str]) -> Outcome {
    if let Some(unknown) = targets.iter().find(|name| !TARGETS.iter().any(|(target, _)| target == *name)) {
        let known: Vec<&str> = TARGETS.iter().map(|(target, _)| *target).collect();
        return Err(format!("there is no target {unknown}; there are {}", known.join(", ")));
    }
    let chosen: Vec<_> =
        TARGETS.iter().filter(|(target, _)| targets.is_empty() || targets.contains(target)).collect();
    if jobs > 1 && chosen.len() > 1 {
        let names: Vec<&str> = chosen.iter().map(|(target, _)| *target).collect();
        return several(seconds, jobs, &names);
    }
    for (target, seeds) in chosen {
        println!("{target}: {seconds} s");
        // Each is stored at once, whatever comes after it.
        store(&fuzz(target, seeds, seconds, LONGEST * jobs.max(1))?)?;
    }
    Ok(())
}

/// Fuzzes several targets at a time. Each is a chore of its own, since the system tells the processor time of a whole program only.
fn several(seconds: u64, jobs: usize, targets: &[&str]) -> Outcome {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let (seconds, at_a_time) = (seconds.to_string(), jobs.to_string());
    let next = AtomicUsize::new(0);
    let one = || {
        while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            done(Command::new(&this).args([
                "fuzz-readers",
                "--seconds",
                &seconds,
                "--jobs",
                &at_a_time,
                target,
            ]))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.min(targets.len())).map(|_| scope.spawn(one)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a worker panicked".to_owned())?)
    })
}

fn fuzz(target: &'static str, seeds: &str, seconds: u64, longest: usize) -> Result<Run, String> {
    let corpus = root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
    let seeds = root().join("fuzz/seeds").join(seeds);
    // Built first, so that the processor time is that of the fuzzer.
    done(fuzzer("build", target)?.stdin(Stdio::null()))?;
    let before = processor_seconds()?;
    let mut command = fuzzer("run", target)?;
    command.env("ASAN_OPTIONS", LEAKS);
    command.arg(corpus).arg(seeds);
    command.args([
        "--",
        &format!("-max_total_time={seconds}"),
        "-print_final_stats=1",
        &format!("-timeout={longest}"),
        LARGEST,
        &format!("-{LEAKS}"),
    ]);
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("cargo-fuzz: {error}"))?;
    let processor_seconds = processor_seconds()? - before;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let last: Vec<&str> = said.lines().rev().take(40).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        return Err(format!("{target} breaks:\n{}", last.join("\n")));
    }
    let run = Run::of(target, &said, processor_seconds);
    run.ok_or_else(|| format!("libFuzzer has printed no figures for {target}"))
}

fn fuzzer(what: &str, target: &str) -> Result<Command, String> {
    let mut command = FUZZ.command()?;
    command.env("RUSTUP_TOOLCHAIN", "nightly").args(["fuzz", what, target]);
    Ok(command)
}

/// What all programs that have ended so far took.
fn processor_seconds() -> Result<u64, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    Ok((usage.user_time().tv_sec() + usage.system_time().tv_sec()).cast_unsigned())
}

impl Run {
    /// What libFuzzer printed.
    fn of(target: &'static str, said: &str, processor_seconds: u64) -> Option<Run> {
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
            processor_seconds,
            inputs: *numbers.first()?,
            coverage: after("cov:")?,
            kept: after("corp:")?,
            megabytes: statistic("peak_rss_mb")?,
        })
    }
}

/// Puts a run in the place of the target's last one. Chores that run at the same time take turns.
fn store(run: &Run) -> Outcome {
    let turns = root().join("target/fuzz-readers.lock");
    let turn = fs::File::create(&turns).map_err(|error| format!("{}: {error}", turns.display()))?;
    turn.lock().map_err(|error| format!("{}: {error}", turns.display()))?;
    let before = report(REPORT).unwrap_or_default();
    let mut page = format!(
        "## Fuzzing the readers\n\n{}\n`cargo xtask fuzz-readers`: libFuzzer with AddressSanitizer and debug assertions, no input longer than \
         {LONGEST} s (times the number of targets that share the machine) or larger than 2 GB. Each target's last run; the line above is about the newest of them. Nothing broke.\n\n\
         | target | measured | seconds | CPU seconds | inputs | places reached | inputs kept | peak MB |\n|---|---|--:|--:|--:|--:|--:|--:|\n",
        circumstances()
    );
    let today = output_of("date", &["-u", "+%Y-%m-%d"]);
    let (mut targets, mut inputs, mut seconds) = (0, 0, 0);
    for row in TARGETS.iter().filter_map(|(target, _)| row_of(target, run, &today, &before)) {
        let number = |column: usize| row.get(column).and_then(|cell| cell.parse::<u64>().ok()).unwrap_or(0);
        (targets, inputs, seconds) = (targets + 1, inputs + number(4), seconds + number(3));
        let _ = writeln!(page, "| {} |", row.join(" | "));
    }
    let headline =
        format!("{targets} targets, {inputs} inputs in {} minutes of CPU time, nothing broke", seconds / 60);
    store_report(REPORT, &headline, &page)
}

/// The row of a target: of this run, if it is the target's, or as it was.
fn row_of(target: &str, run: &Run, today: &str, before: &str) -> Option<Vec<String>> {
    if run.target != target {
        let row = rows(before, target).into_iter().next()?;
        return Some(row.into_iter().map(str::to_owned).collect());
    }
    let Run { seconds, processor_seconds, inputs, coverage, kept, megabytes, .. } = run;
    let figures = [seconds, processor_seconds, inputs, coverage, kept, megabytes];
    let names = [target.to_owned(), today.to_owned()];
    Some(names.into_iter().chain(figures.into_iter().map(u64::to_string)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_libfuzzer_are_read() {
        let said = "INFO: seed corpus: files: 3\n#2\tINITED cov: 100 ft: 120 corp: 3/1Kb exec/s: 0 rss: 30Mb\n\
                    #1048576\tpulse  cov: 2094 ft: 6543 corp: 812/64Kb lim: 4096 exec/s: 524288 rss: 190Mb\n\
                    Done 1234567 runs in 61 second(s)\nstat::number_of_executed_units: 1234567\nstat::peak_rss_mb: 211\n";
        let run = Run::of("text", said, 59).unwrap();
        assert_eq!((run.inputs, run.seconds, run.coverage), (1_234_567, 61, 2094));
        assert_eq!((run.kept, run.megabytes), (812, 211));
        assert!(Run::of("text", "no figures", 0).is_none());
    }

    #[test]
    fn other_targets_keep_their_rows() {
        let run = Run {
            target: "text",
            seconds: 60,
            processor_seconds: 58,
            inputs: 9,
            coverage: 8,
            kept: 7,
            megabytes: 6,
        };
        let before =
            "| text | 2026-01-01 | 1 | 1 | 1 | 1 | 1 | 1 |\n| rules | 2026-01-02 | 2 | 2 | 2 | 2 | 2 | 2 |\n";
        let row = |target| row_of(target, &run, "2026-01-03", before).map(|row| row.join(" "));
        assert_eq!(row("text").unwrap(), "text 2026-01-03 60 58 9 8 7 6");
        assert_eq!(row("rules").unwrap(), "rules 2026-01-02 2 2 2 2 2 2");
        assert_eq!(row("native"), None);
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
