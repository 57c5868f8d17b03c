//! `cargo xtask bench scenarios`: the programs of corpus/scenarios and corpus/replay, each recorded once, foretold and replayed, next to what
//! gcc's ThreadSanitizer reports in one run and in a hundred (paper 3's table 1, rebuilt).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::expectations::{Bug, Expectations};
use xtask::Outcome;
use xtask::cargo::{release_build, root};
use xtask::machine::circumstances;
use xtask::results::{cell, store_report};
use xtask::scratch::with_directory;

/// How often each finding is replayed.
const REPLAYS: u64 = 20;
/// How often ThreadSanitizer gets a chance.
const TSAN_RUNS: usize = 100;
/// What a program ends with when ThreadSanitizer has reported something.
const TSAN_STATUS: i32 = 66;
/// Families of programs: the start of their names, and what they are about.
const FAMILIES: [(&str, &str); 11] = [
    ("cs", "critical sections that can change places"),
    ("cv", "condition variables"),
    ("ba", "barriers"),
    ("se", "semaphores"),
    ("fl", "ad hoc flags and home-made locks"),
    ("fj", "fork and join"),
    ("rw", "reader-writer locks"),
    ("tl", "try-locks"),
    ("on", "initialisation, once"),
    ("at", "atomics and fences"),
    ("dl", "locks in opposite orders"),
];

/// The result of one program.
#[derive(Clone, Debug)]
struct Row {
    name: String,
    /// How many bugs are expected.
    errors: usize,
    foretold: usize,
    /// Of all replays of what was foretold.
    confirmed: u64,
    replays: u64,
    /// Findings that are not expected, apart from what the expectations allow.
    unexpected: usize,
    /// Whether ThreadSanitizer reported something in its first run, and in how many of all.
    tsan_first: bool,
    tsan_runs: usize,
}

pub(crate) fn run() -> Outcome {
    let foretell = release_build()?;
    let scenarios = rows(&foretell, "corpus/scenarios")?;
    let replay = rows(&foretell, "corpus/replay")?;
    let mut section = String::from("## Scenarios\n\n");
    section.push_str(&circumstances());
    let _ = write!(
        section,
        "\n`cargo xtask bench scenarios`: each program is recorded once (seed 0), every expected error is looked up among the findings of `foretell predict` and replayed {REPLAYS} times; gcc's ThreadSanitizer gets {TSAN_RUNS} runs of the same program, as the machine schedules them. A run of ThreadSanitizer counts if it \
         reports anything.\n\n\
         Paper 3's table 1 has 48 scenarios with 31 errors; these are ours (corpus/scenarios/README.md). Their short sleeps make the harmless order likely, as in programs whose bugs stay hidden for long. This is a disadvantage for ThreadSanitizer, which reports only what happens; the figures do not show how often it finds bugs in other programs. A ThreadSanitizer run that does not end within ten seconds counts as silent. A finding is unexpected if the head of its program neither expects nor allows it; atomicity violations in programs with errors, and reads that can see another value, are allowed.\n\n"
    );
    section.push_str(&by_family(&scenarios));
    section.push_str(&one_by_one("One by one", &scenarios));
    section.push_str(&one_by_one("The programs for replay (corpus/replay, C and C++)", &replay));
    let all = |column| cell(&section, "all", column);
    let headline = format!(
        "{} of {} errors confirmed by replay; ThreadSanitizer reports {} in one run, {} in {TSAN_RUNS}",
        all(6),
        all(2),
        all(3),
        all(4)
    );
    store_report("scenarios", &headline, &section)
}

fn rows(foretell: &str, directory: &str) -> Result<Vec<Row>, String> {
    let directory = root().join(directory);
    let entries =
        std::fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c" || extension == "cc"));
    files.sort();
    let tried = files.iter().map(|file| with_directory(|place| Trying { foretell, file, place }.row()));
    tried.collect()
}

/// A program and where it is tried.
struct Trying<'a> {
    foretell: &'a str,
    file: &'a Path,
    place: &'a Path,
}

impl Trying<'_> {
    fn row(&self) -> Result<Row, String> {
        let name = self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        eprintln!("measuring: {name}");
        let source = std::fs::read_to_string(self.file).map_err(|error| format!("{name}: {error}"))?;
        let expectations = Expectations::of(&source).map_err(|error| format!("{name}: {error}"))?;
        self.build()?;
        self.said(&["record", "-q", "-o", "run.ftr", "--", "./program"])?;
        let mut row = Row {
            name,
            errors: expectations.expected.len(),
            foretold: 0,
            confirmed: 0,
            replays: 0,
            unexpected: self.unexpected(&expectations)?,
            tsan_first: false,
            tsan_runs: 0,
        };
        for bug in &expectations.expected {
            let Some(id) = self.find(bug)? else { continue };
            let times = REPLAYS.to_string();
            let arguments = ["replay", "run.ftr", &id, "--json", "--times", &times];
            let replayed = self.json(&arguments, &self.options(bug, true)?)?;
            row.foretold += 1;
            row.replays += REPLAYS;
            row.confirmed += replayed["confirmed"].as_u64().unwrap_or(0);
        }
        for run in 0..TSAN_RUNS {
            let reported = self.tsan_reports()?;
            row.tsan_runs += usize::from(reported);
            row.tsan_first |= run == 0 && reported;
        }
        Ok(row)
    }

    /// With Foretell's compiler and, as another file, with ThreadSanitizer.
    fn build(&self) -> Outcome {
        let plus = self.file.extension().is_some_and(|extension| extension == "cc");
        let file = self.file.to_string_lossy();
        let common = ["-g", "-O1", "-pthread", "-Wno-tsan", &file, "-o"];
        let word = if plus { "c++" } else { "cc" };
        let gcc = if plus { "g++" } else { "gcc" };
        let mut ours = Command::new(self.foretell);
        ours.arg(word).args(common).arg("program").env("FORETELL_CC", "gcc").env("FORETELL_CXX", "g++");
        let mut theirs = Command::new(gcc);
        theirs.arg("-fsanitize=thread").args(common).arg("tsan");
        for command in [&mut ours, &mut theirs] {
            let output =
                command.current_dir(self.place).output().map_err(|error| format!("{command:?}: {error}"))?;
            if !output.status.success() {
                return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
            }
        }
        Ok(())
    }

    /// Whether ThreadSanitizer reports anything in a run of its own.
    fn tsan_reports(&self) -> Result<bool, String> {
        // A run that deadlocks is ended; addresses are fixed because its shadow does not fit around random ones.
        let mut command = Command::new("timeout");
        command.args(["10", "setarch", "-R", "./tsan"]).current_dir(self.place);
        command
            .env("TSAN_OPTIONS", format!("exitcode={TSAN_STATUS}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let status = command.status().map_err(|error| format!("timeout: {error}"))?;
        Ok(status.code() == Some(TSAN_STATUS))
    }

    fn said(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let mut command = Command::new(self.foretell);
        let output = command.args(arguments).current_dir(self.place).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("{}: {error}", self.foretell))?;
        match output.status.code() {
            Some(0 | 1) => Ok(output.stdout),
            _ => Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    fn json(&self, arguments: &[&str], options: &[String]) -> Result<Value, String> {
        let options = options.iter().map(String::as_str);
        let arguments: Vec<&str> = arguments.iter().copied().chain(options).collect();
        serde_json::from_slice(&self.said(&arguments)?).map_err(|error| format!("{arguments:?}: {error}"))
    }

    /// The options under which a bug is looked for.
    fn options(&self, bug: &Bug, replaying: bool) -> Result<Vec<String>, String> {
        if let Bug::Predicate(condition) = bug {
            let rules = format!("[[predicate]]\nname = \"it\"\npossibly = '{condition}'\n");
            std::fs::write(self.place.join("rules.toml"), rules).map_err(|error| error.to_string())?;
        }
        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
        Ok(bug.options(&file, "rules.toml", replaying))
    }

    fn find(&self, bug: &Bug) -> Result<Option<String>, String> {
        let found = self.json(&["predict", "run.ftr", "--json"], &self.options(bug, false)?)?;
        let mut findings = found["findings"].as_array().into_iter().flatten();
        let is_it =
            |finding: &&Value| bug.is(kind(finding), &locations(finding)) && finding["rung"] == "predicted";
        Ok(findings.find(is_it).and_then(|finding| finding["id"].as_str()).map(str::to_owned))
    }

    fn unexpected(&self, expectations: &Expectations) -> Result<usize, String> {
        let found = self.json(&["predict", "run.ftr", "--json"], &[])?;
        let findings = found["findings"].as_array().into_iter().flatten();
        Ok(findings.filter(|finding| !expectations.allow(kind(finding), &locations(finding))).count())
    }
}

fn kind(finding: &Value) -> &str {
    finding["kind"].as_str().unwrap_or_default()
}

fn locations(finding: &Value) -> Vec<String> {
    let all = finding["locations"].as_array().into_iter().flatten();
    all.filter_map(|location| location.as_str().map(str::to_owned)).collect()
}

fn by_family(rows: &[Row]) -> String {
    let mut table = String::from(
        "| family | programs | errors | TSan, 1 run | TSan, 100 runs | predicted | confirmed | replays that confirmed | false alarms: TSan | ours |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let all = [("", "all")];
    for (prefix, what) in FAMILIES.iter().chain(&all) {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.name.starts_with(prefix)).collect();
        let count = |test: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| test(row)).count();
        let errors: usize = rows.iter().map(|row| row.errors).sum();
        let foretold: usize = rows.iter().map(|row| row.foretold).sum();
        let (confirmed, replays) =
            rows.iter().fold((0, 0), |(some, all), row| (some + row.confirmed, all + row.replays));
        let _ = writeln!(
            table,
            "| {what} | {} | {errors} | {} | {} | {foretold} | {} | {confirmed} of {replays} | {} | {} |",
            rows.len(),
            count(&|row| row.errors > 0 && row.tsan_first),
            count(&|row| row.errors > 0 && row.tsan_runs > 0),
            count(&|row| row.errors > 0 && row.confirmed == row.replays && row.foretold == row.errors),
            count(&|row| row.errors == 0 && row.tsan_runs > 0),
            rows.iter().map(|row| row.unexpected).sum::<usize>(),
        );
    }
    table
}

fn one_by_one(title: &str, rows: &[Row]) -> String {
    let mut table = format!(
        "\n{title}:\n\n| program | errors | TSan reports: the first run | of {TSAN_RUNS} runs | predicted | replays that confirmed | unexpected findings |\n\
         |---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let Row { name, tsan_runs, foretold, errors, confirmed, replays, unexpected, .. } = row;
        let first = if row.tsan_first { "yes" } else { "no" };
        let confirmed = if *replays == 0 { "-".to_owned() } else { format!("{confirmed} of {replays}") };
        let _ = writeln!(
            table,
            "| `{name}` | {errors} | {first} | {tsan_runs} | {foretold} | {confirmed} | {unexpected} |"
        );
    }
    table
}
