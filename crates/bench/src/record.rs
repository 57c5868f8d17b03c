//! `cargo xtask bench record`: what recording costs compared with the plain run and gcc's ThreadSanitizer, and what the traces take.
//!
//! The recorded run is the program with the recorder in it, started the way `foretell record` starts it but without the
//! loading afterwards; the whole command is `foretell record` as a user runs it. The hunt records one run and searches it, without replays.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::{Cost, cost_of, measured_binary, median};
use xtask::Outcome;
use xtask::cargo::root;
use xtask::machine::circumstances;
use xtask::results::store_report;
use xtask::scratch::with_directory;

const RUNS: usize = 7;
/// Ways in which each program is run.
const WAYS: usize = 6;

/// The programs of bench/programs, and how much they do.
const PROGRAMS: [(&str, &str, &str); 4] = [
    ("lu", "LU decomposition, 400 x 400", "400"),
    ("hashmap", "hash map with striped locks, 4 x 400,000 operations", "400000"),
    ("queue", "producers and consumers, 40,000 blocks", "40000"),
    ("fft", "fast Fourier transform, 2^19 points", "19"),
];

/// The size of LU that makes 60 million events.
const LARGE_LU: &str = "392";

pub(crate) fn run() -> Outcome {
    let (foretell, build) = measured_binary()?;
    let start = format!("## Recording\n\n{} {build}\n", circumstances().trim_end());
    let (figures, headline) = with_directory(|directory| {
        let bench = Bench { foretell: &foretell, directory };
        let (speeds, headline) = bench.speeds()?;
        Ok((speeds + &bench.large()?, headline))
    })?;
    store_report("record", &headline, &format!("{start}{figures}"))
}

/// A new directory for the log of a run, in another one: what `FORETELL_RUN` names.
pub(crate) fn run_directory(parent: &Path) -> Result<PathBuf, String> {
    let run = parent.join("run");
    std::fs::create_dir(&run).map_err(failed("cannot make a directory"))?;
    std::fs::write(run.join("settings"), "mode=record\nseed=1\n").map_err(failed("cannot write"))?;
    Ok(run)
}

struct Bench<'a> {
    foretell: &'a str,
    directory: &'a Path,
}

impl Bench<'_> {
    /// One row for each program, and the headline.
    fn speeds(&self) -> Result<(String, String), String> {
        let mut table = format!(
            "\n`cargo xtask bench record`: CPU seconds of programs with 4 threads, built with gcc -O2 (bench/programs): plain, with -fsanitize=thread and gcc's own runtime, recorded without branches (`foretell cc --no-branches`, the program alone), the same with branches, as `foretell cc` builds it, and all of `foretell record`, which writes the recording; the first command that reads it translates it into a trace (the next table). The hunt (`foretell hunt --rounds 1 --times 0`) records a run and searches it for all kinds of bugs, without replays. Medians of {RUNS} rounds of all six.\n\n\
             | program | plain | ThreadSanitizer | recorded | with branches | `foretell record` | hunt | recorded / plain | recorded / ThreadSanitizer | with branches / recorded | `foretell record` / ThreadSanitizer | hunt / ThreadSanitizer |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|\n"
        );
        let (mut against, mut whole_against, mut hunt_against) = (Vec::new(), Vec::new(), Vec::new());
        let mut most_for_branches = f64::MIN;
        for (name, what, size) in PROGRAMS {
            eprintln!("measuring: {what}");
            let [plain, sanitized, recorded, branching, whole, hunt] = self.rounds(name, size)?;
            against.push(recorded / sanitized);
            whole_against.push(whole / sanitized);
            hunt_against.push(hunt / sanitized);
            most_for_branches = most_for_branches.max(branching / recorded - 1.0);
            let _ = writeln!(
                table,
                "| {what} | {plain:.3} | {sanitized:.3} | {recorded:.3} | {branching:.3} | {whole:.3} | {hunt:.3} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} |",
                recorded / plain,
                recorded / sanitized,
                branching / recorded,
                whole / sanitized,
                hunt / sanitized
            );
        }
        let middle = |mut ratios: Vec<f64>| {
            ratios.sort_by(f64::total_cmp);
            (ratios[1] + ratios[2]) / 2.0
        };
        let (alone, whole, hunt) = (middle(against), middle(whole_against), middle(hunt_against));
        let _ = writeln!(
            table,
            "\nThe medians of recorded, `foretell record` and hunt against ThreadSanitizer are {alone:.2}, {whole:.2} and {hunt:.2}."
        );
        let headline = format!(
            "recorded programs take {alone:.2} times the CPU time that they take under ThreadSanitizer, all of `foretell record` {whole:.2} times, a hunt without replays {hunt:.2} times (medians); noting branches adds at most {:.0} %",
            100.0 * most_for_branches
        );
        Ok((table, headline))
    }

    /// The medians of the CPU times of a program: plain, sanitized, recorded, recorded with branches, recorded with everything around it, and
    /// hunted in without replays.
    fn rounds(&self, name: &str, size: &str) -> Result<[f64; WAYS], String> {
        let (plain, sanitized) = (
            self.compile("gcc", &[], name, "plain")?,
            self.compile("gcc", &["-fsanitize=thread"], name, "tsan")?,
        );
        let recorded = self.compile(self.foretell, &["cc", "--no-branches"], name, "recorded")?;
        let branching = self.compile(self.foretell, &["cc"], name, "branching")?;
        let trace = self.directory.join("rounds.ftr").to_string_lossy().into_owned();
        let results = self.directory.join("results").to_string_lossy().into_owned();
        let mut seconds = [const { Vec::new() }; WAYS];
        for _ in 0..RUNS {
            let run = run_directory(self.directory)?;
            let variable = format!("FORETELL_RUN={}", run.display());
            // A second program would be taken for a child of the first.
            let elsewhere = self.directory.join("elsewhere");
            std::fs::create_dir_all(&elsewhere).map_err(failed("cannot make a directory"))?;
            let branching_run = run_directory(&elsewhere)?;
            let branching_variable = format!("FORETELL_RUN={}", branching_run.display());
            let hunt = ["hunt", "-q", "--json", "--rounds", "1", "--times", "0", "--timeout", "10m"];
            let hunt =
                [&[self.foretell], &hunt[..], &["--results", &results, "--", &recorded, size]].concat();
            let commands: [&[&str]; WAYS] = [
                &[&plain, size],
                &[&sanitized, size],
                &["env", &variable, &recorded, size],
                &["env", &branching_variable, &branching, size],
                &[self.foretell, "record", "-q", "-o", &trace, "--", &recorded, size],
                &hunt,
            ];
            for (command, seconds) in commands.iter().zip(&mut seconds) {
                seconds.push(cost_of(command)?.cpu.as_secs_f64());
            }
            for run in [&run, &branching_run] {
                let mut logged = std::fs::read_dir(run).map_err(failed("cannot read"))?.flatten();
                if !logged.any(|file| file.path().extension().is_some_and(|e| e == "log")) {
                    return Err(format!("{name} was not recorded"));
                }
            }
            for run in [&run, &branching_run] {
                std::fs::remove_dir_all(run).map_err(failed("cannot clean up"))?;
            }
        }
        Ok(seconds.map(median))
    }

    fn compile(&self, compiler: &str, first: &[&str], name: &str, suffix: &str) -> Result<String, String> {
        let source = root().join("bench/programs").join(name).with_extension("c");
        let program: PathBuf = self.directory.join(format!("{name}.{suffix}"));
        let status = Command::new(compiler)
            .args(first)
            .args(["-O2", "-g", "-pthread"])
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .arg("-lm")
            .status()
            .map_err(failed("cannot run the compiler"))?;
        let program = program.to_string_lossy().into_owned();
        if status.success() { Ok(program) } else { Err(format!("{name}.c does not compile")) }
    }

    /// Traces on disk, and a run of 60 million events.
    fn large(&self) -> Result<String, String> {
        let mut text = String::from(
            "\nLong recordings (`foretell record`, then `foretell stats` twice; once each). The first reader translates the recording into a trace of what threads share, and puts that in its place.\n\n\
             | program | events | recording, bytes per event | record, CPU s | first read, CPU s | its peak memory MB | trace, bytes per event | second read, CPU s | million events a CPU second |\n\
             |---|---|---|---|---|---|---|---|---|\n",
        );
        let large = ("lu", "LU decomposition, 392 x 392", LARGE_LU);
        for (name, what, size) in std::iter::once(large).chain(PROGRAMS.into_iter().skip(1)) {
            eprintln!("recording and loading: {what}");
            let program = self.directory.join(format!("{name}.recorded")).to_string_lossy().into_owned();
            let trace = self.directory.join("trace.ftr").to_string_lossy().into_owned();
            let record = cost_of(&[self.foretell, "record", "-q", "-o", &trace, "--", &program, size])?;
            let bytes = || Ok::<_, String>(std::fs::metadata(&trace).map_err(failed("no trace"))?.len());
            let recorded = bytes()?;
            let first = cost_of(&[self.foretell, "stats", "-q", &trace])?;
            let read: Cost = cost_of(&[self.foretell, "stats", "-q", &trace])?;
            let events = self.events(&trace)?;
            let _ = writeln!(
                text,
                "| {what} | {events} | {:.3} | {:.2} | {:.1} | {:.0} | {:.2} | {:.2} | {:.1} |",
                recorded as f64 / events as f64,
                record.cpu.as_secs_f64(),
                first.cpu.as_secs_f64(),
                first.peak_bytes as f64 / 1e6,
                bytes()? as f64 / events as f64,
                read.cpu.as_secs_f64(),
                events as f64 / read.cpu.as_secs_f64() / 1e6
            );
        }
        Ok(text)
    }

    fn events(&self, trace: &str) -> Result<u64, String> {
        let output = Command::new(self.foretell)
            .args(["stats", "-q", "--json", trace])
            .output()
            .map_err(failed("cannot run foretell"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = said
            .split("\"events\":")
            .nth(1)
            .map(|rest| rest.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>());
        number.and_then(|number| number.parse().ok()).ok_or(format!("stats does not tell the events: {said}"))
    }
}

fn failed(what: &str) -> impl Fn(std::io::Error) -> String + '_ {
    move |error| format!("{what}: {error}")
}
