//! One program: built three times, run under each tool, recorded, hunted in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::manifest::Program;
use super::reports::{Pair, of_helgrind, of_tsan, pair, without_directories};
use super::server;
use crate::measure::{cost_and_output, cost_of, median};
use crate::record::run_directory;

/// How often each build is run to be timed.
pub(super) const ROUNDS: usize = 5;
/// After how many runs what ThreadSanitizer found is counted.
pub(super) const TSAN_RUNS: [usize; 3] = [1, 20, 100];
/// A program whose run under ThreadSanitizer takes longer has 20 of them only, in seconds of wall time.
pub(super) const SHORT_RUN: f64 = 0.5;
/// No run takes longer, in seconds; a build may take ten times as long, and a hunt four times.
const LIMIT: u32 = 30;
/// What the other tools look for, too.
pub(super) const KINDS: [&str; 6] = ["--only", "race", "--only", "deadlock", "--only", "order"];

/// A finding of ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Finding {
    pub(super) kind: String,
    pub(super) object: String,
    pub(super) places: Vec<String>,
    pub(super) rung: String,
}

impl Finding {
    pub(super) fn of(finding: &Value) -> Finding {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let places = finding["locations"].as_array().into_iter().flatten();
        let places = places
            .filter_map(|place| place.as_str().map(|place| without_directories(place).to_owned()))
            .collect();
        Finding { kind: text("kind"), object: text("object"), places, rung: text("rung") }
    }

    /// The pair that other tools would tell.
    pub(super) fn pair(&self) -> Option<Pair> {
        match self.places.as_slice() {
            [first, second, ..] => Some(pair([first, second])),
            [only] => Some(pair([only, only])),
            [] => None,
        }
    }
}

/// The result of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) program: Program,
    pub(super) findings: Vec<Finding>,
    /// Of the questions of the search, those left open.
    pub(super) unknown: u64,
    pub(super) events: u64,
    pub(super) bytes: u64,
    /// CPU seconds: plain, under ThreadSanitizer, recorded, all of `foretell record`; of the analysis.
    pub(super) cpu: [f64; 4],
    pub(super) analysis: f64,
    /// What ThreadSanitizer found after each of [`TSAN_RUNS`], as far as it was run.
    pub(super) tsan: Vec<BTreeSet<Pair>>,
    pub(super) helgrind: Option<BTreeSet<Pair>>,
    /// The recorded run did its work.
    pub(super) right: bool,
}

/// A program and where it is tried.
pub(super) struct Trial<'a> {
    pub(super) foretell: &'a str,
    pub(super) program: &'a Program,
    /// An empty directory.
    pub(super) place: &'a Path,
    /// The directory of the manifest.
    pub(super) peers: &'a Path,
    pub(super) input: &'a Path,
}

/// A build, and how it is started.
#[derive(Clone, Copy, Debug)]
enum Build {
    Plain,
    Sanitized,
    Ours,
}

impl Trial<'_> {
    /// Everything about the program, whose sources are here.
    pub(super) fn row(&self, source: &Path) -> Result<Row, String> {
        for build in [Build::Plain, Build::Sanitized, Build::Ours] {
            self.build(source, build)?;
        }
        if !self.works(Build::Plain, "") {
            return Err("it does not do its work, as it is".to_owned());
        }
        let trace = self.place.join("run.ftr");
        let record = format!("{} record -q -o {}", self.foretell, quoted(&trace));
        let right = self.works(Build::Ours, &format!("{record} --"));
        let name = trace.to_string_lossy();
        // The trace first: `--only` takes whatever follows.
        let mut predict = vec![self.foretell, "predict", &*name, "-q", "--json"];
        predict.extend(KINDS);
        let (analysis, predicted) = cost_and_output(&predict)?;
        let predicted: Value =
            serde_json::from_str(&predicted).map_err(|error| format!("predict: {error}"))?;
        Ok(Row {
            program: self.program.clone(),
            findings: self.hunt()?,
            unknown: predicted["unknown"].as_u64().unwrap_or(0),
            events: predicted["trace"]["events"].as_u64().unwrap_or(0),
            bytes: std::fs::metadata(&trace).map_or(0, |metadata| metadata.len()),
            cpu: self.cpu()?,
            analysis: analysis.cpu.as_secs_f64(),
            tsan: self.tsan()?,
            helgrind: self.helgrind(),
            right,
        })
    }

    fn directory(&self, build: Build) -> PathBuf {
        self.place.join(format!("{build:?}"))
    }

    fn build(&self, source: &Path, build: Build) -> Result<(), String> {
        let directory = self.directory(build);
        let copied = Command::new("cp").arg("-rH").arg(source).arg(&directory).status();
        if !copied.is_ok_and(|status| status.success()) {
            return Err(format!("{} cannot be copied", source.display()));
        }
        let (cc, cxx) = compilers(build, self.foretell);
        let line = format!(
            "export CC={} CXX={}\n{}",
            quoted_text(&cc),
            quoted_text(&cxx),
            self.program.build.replace("\\\n", " ")
        );
        let script = self.in_place(build, &line);
        let log = self.place.join("build.log");
        let limit = (10 * LIMIT).to_string();
        let file = std::fs::File::create(&log).map_err(|error| format!("cannot write: {error}"))?;
        let errors = file.try_clone().map_err(|error| format!("cannot write: {error}"))?;
        let status =
            Command::new("timeout").args([&limit, "sh", "-ec", &script]).stdout(file).stderr(errors).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            _ => {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                let last: Vec<&str> = said.lines().rev().take(3).collect();
                Err(format!("{build:?}: does not build: {}", last.join(" | ")))
            }
        }
    }

    /// A line for the shell, to be run where the build is.
    fn in_place(&self, build: Build, line: &str) -> String {
        let directory = self.directory(build).join(&self.program.directory);
        format!(
            "export PEERS={} INPUT={} SERVER={}\ncd {}\n{line}",
            quoted(self.peers),
            quoted(self.input),
            server::ADDRESS,
            quoted(&directory)
        )
    }

    /// The program under something, for the shell; what it prints goes to the files `stdout` and `stderr`.
    fn run_line(&self, build: Build, under: &str) -> String {
        let line = format!("timeout -k 5 {LIMIT} {under} {} > stdout 2> stderr || true", self.program.run);
        self.in_place(build, &line)
    }

    /// Runs it once, and says whether it did its work.
    fn works(&self, build: Build, under: &str) -> bool {
        let check = match self.program.check.as_str() {
            "" => "true",
            check => check,
        };
        let line = format!("{}\n{check}", self.run_line(build, under));
        Command::new("sh").args(["-c", &line]).output().is_ok_and(|output| output.status.success())
    }

    /// What `foretell hunt` finds and confirms.
    fn hunt(&self) -> Result<Vec<Finding>, String> {
        let results = self.place.join("results");
        let options = KINDS.join(" ");
        let hunt = format!(
            "timeout -k 5 {} {} hunt -q --json --timeout {} --results {} {options} -- {} > hunt.json 2> hunt.err",
            4 * LIMIT,
            self.foretell,
            2 * LIMIT,
            quoted(&results),
            self.program.run
        );
        let _ = Command::new("sh").args(["-c", &self.in_place(Build::Ours, &hunt)]).status();
        let directory = self.directory(Build::Ours).join(&self.program.directory);
        let said = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        let found: Value = serde_json::from_str(&said("hunt.json"))
            .map_err(|error| format!("hunt: {error}: {}", said("hunt.err").trim()))?;
        Ok(found["findings"].as_array().into_iter().flatten().map(Finding::of).collect())
    }

    /// The medians of the CPU times: plain, under ThreadSanitizer, recorded without anything around it, and all of `foretell record`.
    fn cpu(&self) -> Result<[f64; 4], String> {
        let mut seconds = [const { Vec::new() }; 4];
        let whole = format!("{} record -q -o {} --", self.foretell, quoted(&self.place.join("timed.ftr")));
        for _ in 0..ROUNDS {
            let run = run_directory(self.place)?;
            let recorded = format!("env FORETELL_RUN={}", quoted(&run));
            let builds = [
                (Build::Plain, ""),
                (Build::Sanitized, SANITIZED),
                (Build::Ours, &*recorded),
                (Build::Ours, &*whole),
            ];
            for ((build, under), seconds) in builds.into_iter().zip(&mut seconds) {
                let line = self.run_line(build, under);
                seconds.push(cost_of(&["sh", "-c", &line])?.cpu.as_secs_f64());
            }
            std::fs::remove_dir_all(&run).map_err(|error| format!("cannot clean up: {error}"))?;
        }
        Ok(seconds.map(median))
    }

    fn tsan(&self) -> Result<Vec<BTreeSet<Pair>>, String> {
        let (mut found, mut after) = (BTreeSet::new(), Vec::new());
        let begin = Instant::now();
        for run in 1..=TSAN_RUNS[2] {
            let line = self.run_line(Build::Sanitized, SANITIZED);
            let status = Command::new("sh").args(["-c", &line]).status();
            status.map_err(|error| format!("cannot run the shell: {error}"))?;
            let said = self.directory(Build::Sanitized).join(&self.program.directory).join("stderr");
            found.extend(of_tsan(&String::from_utf8_lossy(&std::fs::read(said).unwrap_or_default())));
            if TSAN_RUNS.contains(&run) {
                after.push(found.clone());
            }
            if run == TSAN_RUNS[1] && begin.elapsed().as_secs_f64() > SHORT_RUN * run as f64 {
                break;
            }
        }
        Ok(after)
    }

    /// What Helgrind finds in one run of the plain build; nothing if it is not there.
    fn helgrind(&self) -> Option<BTreeSet<Pair>> {
        Command::new("valgrind").arg("--version").output().ok()?;
        let log = self.place.join("helgrind.log");
        let under = format!("valgrind --tool=helgrind --log-file={}", quoted(&log));
        let line = self.run_line(Build::Plain, &under);
        let _ = Command::new("sh").args(["-c", &line]).status();
        Some(of_helgrind(&std::fs::read_to_string(log).ok()?))
    }
}

/// Before a program with ThreadSanitizer: addresses are fixed because its shadow does not fit around random ones.
pub(super) const SANITIZED: &str = "env TSAN_OPTIONS=exitcode=0 setarch -R";

fn compilers(build: Build, foretell: &str) -> (String, String) {
    match build {
        Build::Plain => ("gcc".to_owned(), "g++".to_owned()),
        Build::Sanitized => ("gcc -fsanitize=thread".to_owned(), "g++ -fsanitize=thread".to_owned()),
        Build::Ours => (format!("{foretell} cc"), format!("{foretell} c++")),
    }
}

/// A path as one word for the shell.
pub(super) fn quoted(path: &Path) -> String {
    quoted_text(&path.to_string_lossy())
}

fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
