//! `cargo xtask bench openmp`: the C programs of DataRaceBench, each hunted once with 2 and with 8 threads, compared with ThreadSanitizer and, where it is
//! installed, Archer. The name of each program says whether it races.
//!
//! They are not in this repository. `FORETELL_DATARACEBENCH` names a checkout of it. Programs for GPUs and for SIMD units are left out, because
//! neither compiler's threads run them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use xtask::Outcome;
use xtask::cargo::{cargo, root};
use xtask::machine::circumstances;
use xtask::results::store_report;
use xtask::scratch::with_directory;

/// What a hunt may take, in seconds, and how long anything may run at most.
const BUDGET: &str = "10";
const LIMIT: &str = "60";
/// How often the other tools run a program that they say nothing of.
const ATTEMPTS: usize = 3;
const THREADS: [usize; 2] = [2, 8];
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Confirmed,
    /// Reported: predicted by a hunt, or by another tool.
    Reported,
    Silent,
    /// It did not come to an answer.
    Failed,
}

/// A tool that looks for races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Foretell,
    ThreadSanitizer,
    Archer,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Foretell => "Foretell, one hunt",
            Tool::ThreadSanitizer => "gcc's ThreadSanitizer, up to 3 runs",
            Tool::Archer => "Archer, up to 3 runs",
        }
    }
}

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
    // Nothing is timed, so any build will do; this one is there already.
    cargo(&["build", "--quiet", "--workspace", "--bin", "foretell"])?;
    let archer = archer();
    let mut tools = vec![Tool::Foretell, Tool::ThreadSanitizer];
    tools.extend(archer.as_ref().map(|_| Tool::Archer));
    let rows = with_directory(|directory| {
        // A copy, so that building can go on meanwhile.
        let foretell = directory.join("foretell");
        std::fs::copy(root().join("target/debug/foretell"), &foretell)
            .map_err(|error| format!("cannot copy foretell: {error}"))?;
        let bench = Bench { foretell: &foretell, directory, archer: archer.as_deref() };
        programs.iter().map(|program| bench.row(program, &tools)).collect::<Result<Vec<Row>, String>>()
    })?;
    let (confirmed, of) =
        (count(&rows, Tool::Foretell, THREADS[1], true, Verdict::Confirmed), total(&rows, true));
    let alarms = alarms(&rows, Tool::Foretell, THREADS[1]);
    let headline = format!(
        "with 8 threads {confirmed} of {of} racy programs confirmed, {alarms} of {} race-free ones reported",
        total(&rows, false)
    );
    store_report("openmp", &headline, &report(&rows, &tools))
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
    fn row(&self, program: &Program, tools: &[Tool]) -> Result<Row, String> {
        let mut verdicts = Vec::new();
        for &tool in tools {
            let binary = self.directory.join("program");
            let built = self.build(tool, program, &binary)?;
            for threads in THREADS {
                let (verdict, remark) = match built {
                    true => self.judge(tool, program, &binary, threads)?,
                    false => (Verdict::Failed, "it could not be built".to_owned()),
                };
                verdicts.push((tool, threads, verdict, remark));
            }
        }
        eprintln!("{}: {verdicts:?}", program.name);
        Ok(Row { name: program.name.clone(), races: program.races, verdicts })
    }

    fn build(&self, tool: Tool, program: &Program, binary: &Path) -> Result<bool, String> {
        let mut command = match tool {
            Tool::Foretell => {
                let mut command = Command::new(self.foretell);
                command.arg("cc");
                command
            }
            Tool::ThreadSanitizer => Command::new("gcc"),
            Tool::Archer => Command::new("clang"),
        };
        if tool != Tool::Foretell {
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
        let size: &[&str] = if program.takes_size { &[SIZE] } else { &[] };
        let limited = |arguments: &[&str]| {
            let mut command = Command::new("timeout");
            command.arg(LIMIT).args(arguments).current_dir(self.directory);
            command.env("OMP_NUM_THREADS", threads.to_string());
            command
        };
        if tool == Tool::Foretell {
            let foretell = self.foretell.to_string_lossy();
            let mut command = limited(&[
                &foretell,
                "hunt",
                "--quiet",
                "--json",
                "--timeout",
                BUDGET,
                "--results",
                "results",
                "--",
            ]);
            let hunted = output(command.arg(binary).args(size))?;
            return Ok(judged(&hunted));
        }
        for _ in 0..ATTEMPTS {
            let mut command = limited(&[]);
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

fn report(rows: &[Row], tools: &[Tool]) -> String {
    let mut text = format!("## OpenMP: DataRaceBench\n\n{}", circumstances());
    let _ = write!(
        text,
        "\n`FORETELL_DATARACEBENCH=.. cargo xtask bench openmp`: {} C programs of DataRaceBench (no GPU, no SIMD), {} with races, built with `-g -fopenmp`. \
         A hunt has {BUDGET} seconds and its defaults; a race counts if it is confirmed. Whatever a hunt shows of a race-free program is a false alarm. Archer is LLVM's tool \
         for OpenMP on ThreadSanitizer, with clang.\n\n\
         | tool | threads | racy: confirmed | racy: reported only | racy: missed | race-free: silent | race-free: false alarm | no answer |\n|---|---|---|---|---|---|---|---|\n",
        rows.len(),
        total(rows, true)
    );
    for &tool in tools {
        for threads in THREADS {
            let of = |races, wanted| count(rows, tool, threads, races, wanted);
            let confirmed = if tool == Tool::Foretell {
                of(true, Verdict::Confirmed).to_string()
            } else {
                "-".to_owned()
            };
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
    text.push_str("\nPrograms that Foretell did not confirm, or reported falsely, or had no answer for:\n\n| program | threads | outcome |\n|---|---|---|\n");
    for row in rows {
        for (tool, threads, verdict, remark) in &row.verdicts {
            let expected = if row.races { Verdict::Confirmed } else { Verdict::Silent };
            if *tool == Tool::Foretell && *verdict != expected {
                let _ = writeln!(text, "| {} | {threads} | {verdict:?} {remark} |", row.name);
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
    fn rows_are_counted_by_what_is_expected() {
        let row = |races, verdict| Row {
            name: "x".to_owned(),
            races,
            verdicts: vec![(Tool::Foretell, 2, verdict, String::new())],
        };
        let rows = [row(true, Verdict::Confirmed), row(true, Verdict::Silent), row(false, Verdict::Reported)];
        assert_eq!(count(&rows, Tool::Foretell, 2, true, Verdict::Confirmed), 1);
        assert_eq!(alarms(&rows, Tool::Foretell, 2), 1);
        assert_eq!(
            verdict(&rows[0], Tool::Archer, 2),
            Verdict::Failed,
            "a tool that did not run has no answer"
        );
        let text = report(&rows, &[Tool::Foretell]);
        assert!(text.contains("| Foretell, one hunt | 2 | 1 | 0 | 1 | 0 | 1 | 0 |"), "{text}");
    }
}
