//! `cargo xtask bench search`: how many runs and how much CPU time it takes to make programs fail that are known to: our search, our policies
//! `random` and `pct` alone, and plain stress.
//!
//! bench/search.toml lists the programs; `FORETELL_SUITES` names a directory with checkouts of their suites. `FORETELL` may name a binary to be measured instead of a release build of this source. What was measured is kept in
//! `target/search-cells.jsonl`: the command can be interrupted, and measures only what is missing when it is started again.
//! `FORETELL_SEARCH_SECONDS` says for how long it measures. Programs that are not done by then have fewer seeds, as their rows say, or are listed as not measured.
//! `FORETELL_SEARCH_RUNS` says how many runs a policy may make (100 unless told otherwise), `FORETELL_SEARCH_SEEDS` with how many seeds each way is tried (5).
//! `FORETELL_SEARCH_WAYS` says which ways are measured (`hunt,pct`, say; all unless told otherwise): of the others there is what is known from before.
//! `NIDHUGG` names the program `nidhugg`, if it is to be compared with.

mod report;

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use xtask::Outcome;
use xtask::machine::circumstances;
use xtask::results::store_report;
use xtask::scratch::with_directory;

use crate::cells::{self, Cells};
use crate::manifest::{self, Program};
use crate::measure::{measured_binary, number};
use crate::nidhugg::{Ended, Nidhugg};
use crate::verifier;

/// How often each way is tried, with another seed each time, unless something else is asked for.
const SEEDS: u64 = 5;
/// Runs of a policy unless something else is asked for, and of the plain program.
const POLICY_RUNS: u64 = 100;
const STRESS_RUNS: u64 = 1000;
/// Seeds of a policy lie so far apart.
const SEED_STEP: u64 = 1000;
/// Seconds that a hunt may take. One that has not failed within the first is made again with the next; a seed makes the same runs.
const HUNTS: [u64; 2] = [5, 20];
/// A run that takes longer hangs.
const PATIENCE: u64 = 5;
/// The time that the stress of one program may take.
const STRESS_LIMIT: Duration = Duration::from_secs(20);
/// The status with which the runtime ends a program that deadlocked; `timeout` ends with the other.
const DEADLOCK_STATUS: i32 = 99;
const TIMEOUT_STATUS: i32 = 124;

pub(crate) fn run() -> Outcome {
    let (foretell, build) = measured_binary()?;
    let programs = manifest::programs("search.toml", &manifest::suites()?)?;
    let mut section = format!("## The search for failures\n\n{} {build}\n", circumstances().trim_end());
    let limit = number("FORETELL_SEARCH_SECONDS", 0..=u64::MAX)?.map(Duration::from_secs);
    let runs = number("FORETELL_SEARCH_RUNS", 1..=SEED_STEP)?.unwrap_or(POLICY_RUNS);
    let seeds = number("FORETELL_SEARCH_SEEDS", 1..=SEEDS)?.unwrap_or(SEEDS);
    let ways = std::env::var("FORETELL_SEARCH_WAYS").ok();
    let bench = Bench { foretell: &foretell, nidhugg: Nidhugg::named(), policy_runs: runs, seeds, ways };
    let mut cells = Cells::of("search", Path::new(&foretell), limit)?;
    section.push_str(&with_directory(|directory| measure(&bench, &programs, &mut cells, directory))?);
    let headline = section.lines().rev().find(|line| line.starts_with("Of ")).unwrap_or("?");
    store_report("search", headline.trim_end_matches('.'), &section)
}

/// What is the same for all programs.
struct Bench<'a> {
    foretell: &'a str,
    nidhugg: Option<Nidhugg>,
    /// How many runs a policy may make.
    policy_runs: u64,
    /// With how many seeds each way is tried.
    seeds: u64,
    /// The ways that are measured, separated by commas; none: all.
    ways: Option<String>,
}

impl Bench<'_> {
    /// Whether this way is measured, rather than known from before.
    fn measures(&self, way: &str) -> bool {
        self.ways.as_ref().is_none_or(|ways| ways.split(',').any(|other| other == way))
    }
}

fn measure(
    bench: &Bench<'_>,
    programs: &[Program],
    cells: &mut Cells<Cell>,
    directory: &Path,
) -> Result<String, String> {
    let choices = directory.join("verifier.c");
    verifier::write(&choices)?;
    let (mut rows, mut skipped) = (Vec::new(), String::new());
    for program in programs {
        eprintln!("measuring: {}", program.name);
        let trial = Trial { bench, program: &program.with_choices(&choices), place: directory };
        match trial.row(cells) {
            Ok(row) => rows.push(row),
            Err(reason) => {
                let first = reason.lines().next().unwrap_or_default();
                let _ = writeln!(skipped, "- not measured: {}: {first}", program.name);
            }
        }
    }
    if rows.is_empty() {
        return Err("nothing was measured: no program could be built".to_owned());
    }
    Ok([report::introduction(bench), report::table(&rows, bench), skipped].concat())
}

/// One way to make a program fail, tried with several seeds: the runs and the CPU seconds until it failed.
#[derive(Default)]
struct Way {
    failed: Vec<(u64, f64)>,
    /// With how many seeds it was tried.
    seeds: u64,
}

/// The result of one way and one seed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cell {
    /// The run that failed, and the CPU seconds until then; none: it did not fail.
    failed: Option<(u64, f64)>,
    /// What was confirmed instead.
    #[serde(default)]
    confirmed: String,
    /// How the search of another tool ended.
    #[serde(default)]
    ended: Option<Ended>,
}

/// The result of a program.
struct Row {
    name: String,
    group: String,
    hunt: Way,
    /// Of the hunts without a failure: what was confirmed instead.
    confirmed: String,
    random: Way,
    pct: Way,
    /// The run and CPU seconds of the first failure of the plain program.
    stress: Option<(u64, f64)>,
    nidhugg: Option<Ended>,
}

struct Trial<'a> {
    bench: &'a Bench<'a>,
    program: &'a Program,
    place: &'a Path,
}

impl Trial<'_> {
    fn row(&self, cells: &mut Cells<Cell>) -> Result<Row, String> {
        let foretell = self.bench.foretell;
        let ours = self.build("ours", &format!("{foretell} cc"), &format!("{foretell} c++"))?;
        let plain = self.build("plain", "gcc", "g++")?;
        let name = &self.program.name;
        let mut confirmed = String::new();
        let hunt = self.seeds("hunt", |seed| {
            let name = format!("{name} hunt {seed}");
            let cell = self.cell("hunt", cells, &name, || self.hunt(&ours, seed))?;
            if cell.failed.is_none() {
                confirmed.clone_from(&cell.confirmed);
            }
            Ok(cell)
        })?;
        let mut policy = |policy: &str| {
            self.seeds(policy, |seed| {
                let name = format!("{name} {} {seed}", self.way(policy));
                self.cell(policy, cells, &name, || self.policy(&ours, policy, seed))
            })
        };
        let (random, pct) = (policy("random")?, policy("pct")?);
        let stress = match self.cell("stress", cells, &format!("{name} stress"), || self.stress(&plain)) {
            Err(reason) if self.bench.measures("stress") => return Err(reason),
            stress => stress.ok().and_then(|cell| cell.failed),
        };
        let nidhugg = self.nidhugg(cells)?;
        Ok(Row {
            name: name.clone(),
            group: self.program.group.clone(),
            hunt,
            confirmed,
            random,
            pct,
            stress,
            nidhugg,
        })
    }

    /// The result of a way: measured, or known from before if the way is not measured.
    fn cell(
        &self,
        way: &str,
        cells: &mut Cells<Cell>,
        name: &str,
        measure: impl FnOnce() -> Result<Cell, String>,
    ) -> Result<Cell, String> {
        match self.bench.measures(way) {
            true => cells.get(name, measure),
            false => cells.known(name).ok_or_else(|| cells::TIME_UP.to_owned()),
        }
    }

    /// The results of one way with all seeds, or with those for which there was time.
    fn seeds(&self, way: &str, mut cell: impl FnMut(u64) -> Result<Cell, String>) -> Result<Way, String> {
        let is_needed = self.bench.measures(way);
        let mut way = Way::default();
        for seed in 0..self.bench.seeds {
            match cell(seed) {
                Ok(cell) => way.failed.extend(cell.failed),
                Err(reason) if seed == 0 && is_needed || reason != cells::TIME_UP => return Err(reason),
                Err(_) => break,
            }
            way.seeds = seed + 1;
        }
        Ok(way)
    }

    /// How a search with Nidhugg ended: measured if there is one, or known from before.
    fn nidhugg(&self, cells: &mut Cells<Cell>) -> Result<Option<Ended>, String> {
        let name = format!("{} nidhugg", self.program.name);
        let measured = self.bench.nidhugg.as_ref().filter(|_| self.bench.measures("nidhugg"));
        let Some(nidhugg) = measured else {
            return Ok(cells.known(&name).and_then(|cell| cell.ended));
        };
        let searched = || {
            let ended = nidhugg.search(self.program, self.place)?;
            Ok(Cell { ended: Some(ended), ..Cell::default() })
        };
        match cells.get(&name, searched) {
            Ok(cell) => Ok(cell.ended),
            Err(reason) if reason == cells::TIME_UP => Ok(None),
            Err(reason) => Err(reason),
        }
    }

    fn build(&self, name: &str, cc: &str, cxx: &str) -> Result<PathBuf, String> {
        let made = self.place.join(name);
        self.program.build(&made, cc, cxx)?;
        Ok(made)
    }

    fn hunt(&self, program: &Path, seed: u64) -> Result<Cell, String> {
        let mut found = Value::Null;
        for seconds in HUNTS {
            found = self.hunt_for(program, seed, seconds)?;
            if found["first_failure"]["run"].is_u64() || found["ended"] != "time" {
                break;
            }
        }
        let failure = &found["first_failure"];
        let failed = failure["run"].as_u64().zip(failure["cpu_ms"].as_u64());
        Ok(Cell {
            failed: failed.map(|(run, cpu)| (run, cpu as f64 / 1000.0)),
            confirmed: kinds(&found),
            ended: None,
        })
    }

    fn hunt_for(&self, program: &Path, seed: u64, seconds: u64) -> Result<Value, String> {
        let output = Command::new(self.bench.foretell)
            .args(["hunt", "--json", "-q", "--seed", &seed.to_string()])
            .args(["--timeout", &seconds.to_string(), "--results"])
            .arg(self.place.join("results"))
            .arg("--")
            .arg(program)
            .args(&self.program.arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot hunt: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).map_err(|error| format!("hunt: {error}: {}", said.trim()))
    }

    /// What cells of a policy are called: they depend on how many runs there may be.
    fn way(&self, policy: &str) -> String {
        match self.bench.policy_runs {
            POLICY_RUNS => policy.to_owned(),
            runs => format!("{policy}, {runs} runs"),
        }
    }

    /// Runs of a policy alone, each with the next seed.
    fn policy(&self, program: &Path, policy: &str, seed: u64) -> Result<Cell, String> {
        let directory = self.place.join("run");
        let begin = cpu_of_children()?;
        for run in 0..self.bench.policy_runs {
            let _ = std::fs::remove_dir_all(&directory);
            let settings = format!("mode=record\npolicy={policy}\nseed={}\n", SEED_STEP * seed + run);
            std::fs::create_dir(&directory)
                .and_then(|()| std::fs::write(directory.join("settings"), settings))
                .map_err(|error| format!("cannot write settings: {error}"))?;
            if self.fails(Command::new("timeout").env("FORETELL_RUN", &directory), program)? {
                return Ok(failed_in(run + 1, cpu_of_children()? - begin));
            }
        }
        Ok(Cell::default())
    }

    fn stress(&self, program: &Path) -> Result<Cell, String> {
        let (begin, start) = (cpu_of_children()?, Instant::now());
        for run in 0..STRESS_RUNS {
            if self.fails(&mut Command::new("timeout"), program)? {
                return Ok(failed_in(run + 1, cpu_of_children()? - begin));
            }
            if start.elapsed() > STRESS_LIMIT {
                break;
            }
        }
        Ok(Cell::default())
    }

    /// Whether a run crashes, aborts or hangs.
    fn fails(&self, timeout: &mut Command, program: &Path) -> Result<bool, String> {
        let status = timeout
            .args(["--preserve-status", "-s", "KILL", &PATIENCE.to_string()])
            .arg(program)
            .args(&self.program.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map_err(|error| format!("cannot run timeout: {error}"))?;
        let by_signal = status.signal().is_some() || status.code().is_some_and(|code| code > 128);
        Ok(by_signal || matches!(status.code(), Some(DEADLOCK_STATUS | TIMEOUT_STATUS)))
    }
}

fn failed_in(run: u64, cpu: f64) -> Cell {
    Cell { failed: Some((run, cpu)), ..Cell::default() }
}

/// The CPU seconds of all programs run so far.
pub(crate) fn cpu_of_children() -> Result<f64, String> {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// The kinds of what a hunt confirmed.
fn kinds(found: &Value) -> String {
    let findings = found["findings"].as_array().into_iter().flatten();
    let confirmed = findings.filter(|finding| finding["rung"] == "confirmed" && finding["shown"] == true);
    let mut kinds: Vec<&str> = confirmed.filter_map(|finding| finding["kind"].as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let all = if found["exhausted"] == true { "; all behaviours were run" } else { "" };
    format!("{}{all}", kinds.join(", "))
}
