//! `cargo xtask bench openmp`: the C programs of DataRaceBench, each hunted once with 2 and with 8 threads, as gcc and as clang compile them, compared with
//! ThreadSanitizer and, where it is installed, Archer. `FORETELL` may name a binary to be measured. The name of each program says whether it races.
//!
//! They are not in this repository. `FORETELL_DATARACEBENCH` names a checkout of it. Programs for GPUs and for SIMD units are left out, because
//! neither compiler's threads run them. As many programs as there are cores are run side by side, or `FORETELL_BENCH_JOBS` of them. What was measured is
//! kept in `target/openmp-cells.jsonl`: the command can be interrupted, and goes on where it was.

mod reasons;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cells::Cells;
use crate::measure::measured_binary;
use crate::parallel;
use xtask::Outcome;
use xtask::machine::circumstances;
use xtask::results::store_report;
use xtask::scratch::with_directory;

/// What a hunt may take, in seconds; and again if the program does not come out as expected: the default of a user's hunt.
const HUNT_LIMIT: u64 = 10;
const SECOND_LIMIT: u64 = 60;
/// What anything may take besides the time that it is given, in seconds.
const GRACE: u64 = 60;
/// How often the other tools run a program that they say nothing of.
const ATTEMPTS: usize = 3;
const THREADS: [usize; 2] = [2, 8];
/// With how many threads a racy program is hunted in that is not confirmed with the most of those: a loop that is shared out in equal parts may put all
/// that races on one thread.
const MANY: usize = 200;
/// The argument of programs that take one: the size that the suite's own script chooses.
const SIZE: &str = "32";

/// A program of the suite.
struct Program {
    name: String,
    races: bool,
    source: PathBuf,
    takes_size: bool,
    needs_polybench: bool,
}

/// What a tool says of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Verdict {
    Confirmed,
    /// Reported: predicted by a hunt, or by another tool.
    Reported,
    Silent,
    /// It did not come to an answer.
    Failed,
}

/// A tool that looks for races.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Tool {
    Foretell,
    /// The same, with clang and its library.
    ForetellClang,
    ThreadSanitizer,
    Archer,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Foretell => "Foretell, one hunt",
            Tool::ForetellClang => "Foretell with clang, one hunt",
            Tool::ThreadSanitizer => "gcc's ThreadSanitizer, up to 3 runs",
            Tool::Archer => "Archer, up to 3 runs",
        }
    }

    /// Whether it confirms what it reports.
    fn hunts(self) -> bool {
        matches!(self, Tool::Foretell | Tool::ForetellClang)
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Row {
    name: String,
    races: bool,
    /// By tool and by number of threads.
    verdicts: Vec<(Tool, usize, Verdict, String)>,
}

pub(crate) fn run() -> Outcome {
    let Some(suite) = std::env::var_os("FORETELL_DATARACEBENCH").map(PathBuf::from) else {
        return Err("set FORETELL_DATARACEBENCH to a checkout of DataRaceBench".to_owned());
    };
    let programs = programs(&suite.join("micro-benchmarks"))?;
    let (built, build) = measured_binary()?;
    let archer = archer();
    let mut tools = vec![Tool::Foretell, Tool::ThreadSanitizer];
    // Archer comes with clang's library.
    tools.extend(archer.iter().flat_map(|_| [Tool::ForetellClang, Tool::Archer]));
    let rows = with_directory(|directory| {
        // A copy, so that building can go on meanwhile.
        let foretell = directory.join("foretell");
        std::fs::copy(&built, &foretell).map_err(|error| format!("cannot copy foretell: {error}"))?;
        let bench = Bench { foretell: &foretell, directory, archer: archer.as_deref() };
        let cells = Mutex::new(Cells::<Row>::of("openmp", &foretell, None)?);
        let cells = || cells.lock().map_err(|_| "a program failed".to_owned());
        let measured = |name: &str, measure: &dyn Fn() -> Result<Row, String>| -> Result<Row, String> {
            if let Some(row) = cells()?.known(name) {
                return Ok(row);
            }
            let row = measure()?;
            cells()?.keep(name, &row)?;
            Ok(row)
        };
        parallel::map(&programs, |program| {
            let mut row = measured(&program.name, &|| bench.row(program, &tools, &THREADS))?;
            if program.races && verdict(&row, Tool::Foretell, THREADS[1]) != Verdict::Confirmed {
                let name = format!("{} with {MANY} threads", program.name);
                let many = measured(&name, &|| bench.row(program, &[Tool::Foretell], &[MANY]))?;
                row.verdicts.extend(many.verdicts);
            }
            Ok(row)
        })
    })?;
    let (confirmed, of) =
        (count(&rows, Tool::Foretell, THREADS[1], true, Verdict::Confirmed), total(&rows, true));
    let alarms = alarms(&rows, Tool::Foretell, THREADS[1]);
    let headline = format!(
        "with {} threads {confirmed} of {of} racy programs confirmed, and {} more with {MANY}; {alarms} of {} race-free ones reported",
        THREADS[1],
        with_many(&rows),
        total(&rows, false)
    );
    store_report("openmp", &headline, &report(&rows, &tools, build))
}

/// The programs of the suite: C, without GPUs and SIMD.
fn programs(directory: &Path) -> Result<Vec<Program>, String> {
    let entries =
        std::fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut programs = Vec::new();
    for source in entries.flatten().map(|entry| entry.path()) {
        let Some(name) = source.file_stem().map(|name| name.to_string_lossy().into_owned()) else { continue };
        let races = match name.rsplit('-').next() {
            Some("yes") => true,
            Some("no") => false,
            _ => continue,
        };
        if source.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let bytes = std::fs::read(&source).map_err(|error| format!("{}: {error}", source.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        if !is_for_threads(&text) {
            continue;
        }
        programs.push(Program {
            takes_size: name.contains("-var-"),
            needs_polybench: text.to_lowercase().contains("polybench"),
            name,
            races,
            source,
        });
    }
    programs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(programs)
}

/// Whether a program runs on threads alone.
fn is_for_threads(text: &str) -> bool {
    let is_pragma = |line: &str| line.contains("#pragma omp");
    let is_other = |line: &str| line.contains("target") || line.contains("simd");
    text.contains("main")
        && !text.contains("omp_target")
        && !text.lines().any(|line| is_pragma(line) && is_other(line))
}

/// Archer's library, if Debian's is installed.
fn archer() -> Option<PathBuf> {
    let directories = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        directories.map(|path| path.join("lib/libarcher.so")).filter(|path| path.exists()).collect();
    found.sort();
    found.pop()
}

struct Bench<'a> {
    foretell: &'a Path,
    directory: &'a Path,
    archer: Option<&'a Path>,
}

impl Bench<'_> {
    fn row(&self, program: &Program, tools: &[Tool], counts: &[usize]) -> Result<Row, String> {
        let mut verdicts = Vec::new();
        let work = self.directory.join(&program.name);
        std::fs::create_dir_all(&work).map_err(|error| format!("cannot make a directory: {error}"))?;
        let binary = work.join("program");
        for &tool in tools {
            let built = self.build(tool, program, &binary)?;
            for &threads in counts {
                let (verdict, remark) = match built {
                    true => self.judge(tool, program, &binary, threads)?,
                    false => (Verdict::Failed, "it could not be built".to_owned()),
                };
                verdicts.push((tool, threads, verdict, remark));
            }
        }
        let _ = std::fs::remove_dir_all(&work);
        eprintln!("{}: {verdicts:?}", program.name);
        Ok(Row { name: program.name.clone(), races: program.races, verdicts })
    }

    fn build(&self, tool: Tool, program: &Program, binary: &Path) -> Result<bool, String> {
        let mut command = match tool {
            Tool::Foretell | Tool::ForetellClang => {
                let mut command = Command::new(self.foretell);
                command.arg("cc").env("FORETELL_CC", if tool == Tool::Foretell { "gcc" } else { "clang" });
                command
            }
            Tool::ThreadSanitizer => Command::new("gcc"),
            Tool::Archer => Command::new("clang"),
        };
        if !tool.hunts() {
            command.arg("-fsanitize=thread");
        }
        command.args(["-g", "-std=gnu99", "-fopenmp", "-w"]).arg(&program.source).arg("-o").arg(binary);
        if program.needs_polybench {
            let suite = program.source.parent().unwrap_or(Path::new("."));
            command
                .arg(suite.join("utilities/polybench.c"))
                .arg("-I")
                .arg(suite)
                .arg("-I")
                .arg(suite.join("utilities"));
            command.args(["-DPOLYBENCH_NO_FLUSH_CACHE", "-DPOLYBENCH_TIME", "-D_POSIX_C_SOURCE=200112L"]);
        }
        command.arg("-lm");
        Ok(output(&mut command)?.status.success())
    }

    fn judge(
        &self,
        tool: Tool,
        program: &Program,
        binary: &Path,
        threads: usize,
    ) -> Result<(Verdict, String), String> {
        let work = binary.parent().unwrap_or(self.directory);
        let size: &[&str] = if program.takes_size { &[SIZE] } else { &[] };
        let limited = |seconds: u64| {
            let mut command = Command::new("timeout");
            command.args(["--kill-after=5", &(seconds + GRACE).to_string()]).current_dir(work);
            command.env("OMP_NUM_THREADS", threads.to_string());
            command
        };
        if tool.hunts() {
            let hunt = |seconds: u64| {
                let mut command = limited(seconds);
                command.arg(self.foretell).args(["hunt", "--quiet", "--json", "--results", "results"]);
                command.args(["--timeout", &seconds.to_string(), "--"]).arg(binary).args(size);
                output(&mut command).map(|hunted| judged(&hunted))
            };
            let first = hunt(HUNT_LIMIT)?;
            return if is_open(program.races, first.0) { hunt(SECOND_LIMIT) } else { Ok(first) };
        }
        for _ in 0..ATTEMPTS {
            let mut command = limited(0);
            command
                .arg(binary)
                .args(size)
                .env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1 exitcode=66");
            if let (Tool::Archer, Some(archer)) = (tool, self.archer) {
                command.env("OMP_TOOL_LIBRARIES", archer);
            } else {
                command.env("TSAN_OPTIONS", "exitcode=66");
            }
            let ran = output(&mut command)?;
            if String::from_utf8_lossy(&ran.stderr).contains("WARNING: ThreadSanitizer: data race") {
                return Ok((Verdict::Reported, String::new()));
            }
            if ran.status.code() == Some(124) {
                return Ok((Verdict::Failed, "its time ran out".to_owned()));
            }
        }
        Ok((Verdict::Silent, String::new()))
    }
}

fn output(command: &mut Command) -> Result<Output, String> {
    command
        .output()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().to_string_lossy()))
}

/// Whether more time may change the result of a hunt for the better.
fn is_open(races: bool, verdict: Verdict) -> bool {
    match verdict {
        Verdict::Failed => true,
        Verdict::Reported | Verdict::Silent => races,
        Verdict::Confirmed => false,
    }
}

/// What a hunt found: whatever is shown counts for a race-free program, races for the others.
fn judged(hunted: &Output) -> (Verdict, String) {
    let Ok(report) = serde_json::from_slice::<Value>(&hunted.stdout) else {
        let errors = String::from_utf8_lossy(&hunted.stderr);
        return (Verdict::Failed, errors.lines().last().unwrap_or("no answer").to_owned());
    };
    let findings =
        report["findings"].as_array().into_iter().flatten().filter(|finding| finding["shown"] == true);
    let shown: Vec<&Value> = findings.collect();
    let is_confirmed = |finding: &&&Value| finding["kind"] == "race" && finding["rung"] == "confirmed";
    match shown.first() {
        None => (Verdict::Silent, String::new()),
        Some(first) => {
            let remark = format!("{} on {}", first["kind"], first["object"]).replace('"', "");
            match shown.iter().find(is_confirmed) {
                Some(_) => (Verdict::Confirmed, remark),
                None => (Verdict::Reported, remark),
            }
        }
    }
}

fn total(rows: &[Row], races: bool) -> usize {
    rows.iter().filter(|row| row.races == races).count()
}

fn verdict(row: &Row, tool: Tool, threads: usize) -> Verdict {
    let found = row.verdicts.iter().find(|&&(with, count, ..)| (with, count) == (tool, threads));
    found.map_or(Verdict::Failed, |&(.., verdict, _)| verdict)
}

fn count(rows: &[Row], tool: Tool, threads: usize, races: bool, wanted: Verdict) -> usize {
    rows.iter().filter(|row| row.races == races && verdict(row, tool, threads) == wanted).count()
}

/// How many race-free programs a tool reports.
fn alarms(rows: &[Row], tool: Tool, threads: usize) -> usize {
    count(rows, tool, threads, false, Verdict::Confirmed)
        + count(rows, tool, threads, false, Verdict::Reported)
}

/// How many programs are confirmed with many threads, of those that are not otherwise.
fn with_many(rows: &[Row]) -> usize {
    let is_confirmed = |row: &&Row| verdict(row, Tool::Foretell, MANY) == Verdict::Confirmed;
    rows.iter().filter(is_confirmed).count()
}

fn report(rows: &[Row], tools: &[Tool], build: &str) -> String {
    let mut text = format!("## OpenMP: DataRaceBench\n\n{} {build}\n", circumstances().trim_end());
    let _ = write!(
        text,
        "\n`FORETELL_DATARACEBENCH=.. cargo xtask bench openmp`: {} C programs of DataRaceBench (no GPU, no SIMD), {} of which race, built with `-g -fopenmp`. \
         A hunt has {HUNT_LIMIT} seconds and its defaults, and once more {SECOND_LIMIT}, the default, if a race is not confirmed then; a race counts if it is confirmed. Whatever a hunt shows of a race-free program is a false alarm. Archer is LLVM's tool \
         for OpenMP on ThreadSanitizer, with clang.\n\n\
         | tool | threads | racy: confirmed | racy: reported only | racy: missed | race-free: silent | race-free: false alarm | no answer |\n|---|---|---|---|---|---|---|---|\n",
        rows.len(),
        total(rows, true)
    );
    for &tool in tools {
        for threads in THREADS {
            let of = |races, wanted| count(rows, tool, threads, races, wanted);
            let confirmed =
                if tool.hunts() { of(true, Verdict::Confirmed).to_string() } else { "-".to_owned() };
            let _ = writeln!(
                text,
                "| {} | {threads} | {confirmed} | {} | {} | {} | {} | {} |",
                tool.name(),
                of(true, Verdict::Reported),
                of(true, Verdict::Silent),
                of(false, Verdict::Silent),
                alarms(rows, tool, threads),
                of(true, Verdict::Failed) + of(false, Verdict::Failed)
            );
        }
    }
    let _ = write!(
        text,
        "\nPrograms that Foretell did not confirm, or reported falsely, or had no answer for. Racy ones that are not confirmed with {} threads were hunted in \
         with {MANY} as well, where {} of them are confirmed.\n\n| program | threads | outcome | with {MANY} threads | why |\n|---|---|---|---|---|\n",
        THREADS[1],
        with_many(rows)
    );
    for row in rows {
        for (tool, threads, verdict, remark) in &row.verdicts {
            let expected = if row.races { Verdict::Confirmed } else { Verdict::Silent };
            if tool.hunts() && *verdict != expected && *threads != MANY {
                let why = reasons::reason(&row.name).unwrap_or("Not known.");
                let outcome = format!("{verdict:?} {}", remark.replace('|', "/"));
                let many = row.verdicts.iter().find(|(_, threads, ..)| *threads == MANY);
                let many = many.map_or("-".to_owned(), |(.., verdict, _)| format!("{verdict:?}"));
                let compiler = if *tool == Tool::ForetellClang { " with clang" } else { "" };
                let _ = writeln!(
                    text,
                    "| {} | {threads}{compiler} | {} | {many} | {why} |",
                    row.name,
                    outcome.trim()
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_for_gpus_and_simd_are_left_out() {
        assert!(is_for_threads("#pragma omp parallel for\nint main() {}"));
        assert!(!is_for_threads("int main() {\n#pragma omp target map(a)\n}"));
        assert!(!is_for_threads("int main() {\n#pragma omp parallel for simd\n}"));
        assert!(!is_for_threads("#pragma omp parallel\n"), "a program has a main function");
    }

    #[test]
    fn more_time_is_for_what_is_not_found_yet() {
        assert!(is_open(true, Verdict::Silent) && is_open(true, Verdict::Reported));
        assert!(is_open(false, Verdict::Failed));
        assert!(!is_open(true, Verdict::Confirmed) && !is_open(false, Verdict::Silent));
        // A false alarm remains one.
        assert!(!is_open(false, Verdict::Reported));
    }

    #[test]
    fn rows_are_counted_by_what_is_expected() {
        let row = |races, verdict| Row {
            name: "DRB179-x".to_owned(),
            races,
            verdicts: vec![(Tool::Foretell, 2, verdict, String::new())],
        };
        let mut rows =
            [row(true, Verdict::Confirmed), row(true, Verdict::Silent), row(false, Verdict::Reported)];
        rows[1].verdicts.push((Tool::Foretell, MANY, Verdict::Confirmed, String::new()));
        assert_eq!(count(&rows, Tool::Foretell, 2, true, Verdict::Confirmed), 1);
        assert_eq!(alarms(&rows, Tool::Foretell, 2), 1);
        assert_eq!(
            verdict(&rows[0], Tool::Archer, 2),
            Verdict::Failed,
            "a tool that did not run has no answer"
        );
        let text = report(&rows, &[Tool::Foretell], "A development build.");
        assert!(text.contains("| Foretell, one hunt | 2 | 1 | 0 | 1 | 0 | 1 | 0 |"), "{text}");
        assert!(text.contains("where 1 of them are confirmed"), "{text}");
        assert!(
            text.contains("| DRB179-x | 2 | Silent | Confirmed | Both iterations are on one thread"),
            "{text}"
        );
    }
}
