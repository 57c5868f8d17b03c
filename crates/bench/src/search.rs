//! `cargo xtask bench search`: how many runs and how much CPU time it takes to make programs fail that are known to: our search, our policies
//! `random` and `pct` alone, and plain stress.
//!
//! bench/search.toml lists the programs; `FORETELL_SUITES` names a directory with checkouts of their suites. `FORETELL` may name a binary to be measured instead of a release build of this source. What was measured is kept in
//! `target/search-cells.jsonl`: the command can be interrupted, and measures only what is missing when it is started again.
//! `FORETELL_SEARCH_SECONDS` says for how long it measures: programs that are not done by then are listed as not measured.
//! `FORETELL_SEARCH_RUNS` says how many runs a policy may make (100 unless told otherwise).

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

use crate::cells::Cells;
use crate::manifest::{self, Program};
use crate::measure::{measured_binary, median};

/// How often each way is tried, with another seed each time.
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
    let seconds = std::env::var("FORETELL_SEARCH_SECONDS").ok();
    let limit = seconds.map(|text| text.parse().map(Duration::from_secs)).transpose();
    let limit = limit.map_err(|_| "FORETELL_SEARCH_SECONDS is not a number")?;
    let runs = std::env::var("FORETELL_SEARCH_RUNS").ok();
    let runs = runs.map_or(Ok(POLICY_RUNS), |text| text.parse());
    let policy_runs = runs.ok().filter(|runs| (1..=SEED_STEP).contains(runs));
    let policy_runs =
        policy_runs.ok_or_else(|| format!("FORETELL_SEARCH_RUNS is not a number from 1 to {SEED_STEP}"))?;
    let mut cells = Cells::of("search", Path::new(&foretell), limit)?;
    section.push_str(&with_directory(|directory| {
        measure(&foretell, &programs, policy_runs, &mut cells, directory)
    })?);
    let headline = section.lines().rev().find(|line| line.starts_with("Of ")).unwrap_or("?");
    store_report("search", headline.trim_end_matches('.'), &section)
}

fn measure(
    foretell: &str,
    programs: &[Program],
    policy_runs: u64,
    cells: &mut Cells<Cell>,
    directory: &Path,
) -> Result<String, String> {
    let (mut rows, mut skipped) = (Vec::new(), String::new());
    for program in programs {
        eprintln!("measuring: {}", program.name);
        let trial = Trial { foretell, program, place: directory, policy_runs };
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
    Ok([introduction(policy_runs), table(&rows, policy_runs), skipped].concat())
}

/// One way to make a program fail, tried with several seeds: the runs and the CPU seconds until it failed.
#[derive(Default)]
struct Way {
    failed: Vec<(u64, f64)>,
}

impl Way {
    /// The median over all seeds; none: with most of them the program did not fail.
    fn median(&self) -> Option<u64> {
        let mut runs: Vec<u64> = self.failed.iter().map(|&(runs, _)| runs).collect();
        runs.sort_unstable();
        runs.get(SEEDS as usize / 2).copied()
    }

    /// The medians of those seeds with which the program failed, and with how many it did.
    fn shown(&self) -> String {
        if self.failed.is_empty() {
            return "- | -".to_owned();
        }
        let runs = median(self.failed.iter().map(|&(runs, _)| runs as f64).collect());
        let cpu = median(self.failed.iter().map(|&(_, cpu)| cpu).collect());
        let seeds = match self.failed.len() as u64 {
            SEEDS => String::new(),
            some => format!(" ({some} of {SEEDS} seeds)"),
        };
        format!("{runs}{seeds} | {cpu:.2}")
    }
}

/// The result of one way and one seed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cell {
    /// The run that failed, and the CPU seconds until then; none: it did not fail.
    failed: Option<(u64, f64)>,
    /// What was confirmed instead.
    confirmed: String,
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
}

struct Trial<'a> {
    foretell: &'a str,
    program: &'a Program,
    place: &'a Path,
    /// How many runs a policy may make.
    policy_runs: u64,
}

impl Trial<'_> {
    fn row(&self, cells: &mut Cells<Cell>) -> Result<Row, String> {
        let ours =
            self.build("ours", &format!("{0} cc", self.foretell), &format!("{0} c++", self.foretell))?;
        let plain = self.build("plain", "gcc", "g++")?;
        let name = &self.program.name;
        let (mut hunt, mut confirmed) = (Way::default(), String::new());
        for seed in 0..SEEDS {
            let cell = cells.get(&format!("{name} hunt {seed}"), || self.hunt(&ours, seed))?;
            hunt.failed.extend(cell.failed);
            confirmed = if cell.failed.is_none() { cell.confirmed } else { confirmed };
        }
        let mut policy = |policy: &str| {
            let mut way = Way::default();
            for seed in 0..SEEDS {
                let cell = cells.get(&format!("{name} {} {seed}", self.way(policy)), || {
                    self.policy(&ours, policy, seed)
                })?;
                way.failed.extend(cell.failed);
            }
            Ok::<Way, String>(way)
        };
        let (random, pct) = (policy("random")?, policy("pct")?);
        let stress = cells.get(&format!("{name} stress"), || self.stress(&plain))?.failed;
        Ok(Row {
            name: name.clone(),
            group: self.program.group.clone(),
            hunt,
            confirmed,
            random,
            pct,
            stress,
        })
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
        Ok(Cell { failed: failed.map(|(run, cpu)| (run, cpu as f64 / 1000.0)), confirmed: kinds(&found) })
    }

    fn hunt_for(&self, program: &Path, seed: u64, seconds: u64) -> Result<Value, String> {
        let output = Command::new(self.foretell)
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
        match self.policy_runs {
            POLICY_RUNS => policy.to_owned(),
            runs => format!("{policy}, {runs} runs"),
        }
    }

    /// Runs of a policy alone, each with the next seed.
    fn policy(&self, program: &Path, policy: &str, seed: u64) -> Result<Cell, String> {
        let directory = self.place.join("run");
        let begin = cpu_of_children()?;
        for run in 0..self.policy_runs {
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

fn introduction(policy_runs: u64) -> String {
    format!(
        "\n`FORETELL_SUITES=.. cargo xtask bench search`: programs that are known to fail, fetched and not kept, built as their suites do (-O0). *Hunt* is `foretell hunt` of {} s, \
         and of {} s with the seeds that do not fail in that time, up to the first run that crashes, aborts, fails an assertion or hangs; *random* and *pct* are runs under these policies alone, up to {policy_runs}, each with the next seed; *stress* is \
         the plain program, up to {STRESS_RUNS} runs or {} s. Runs, and CPU seconds of everything including the tool, until the first failure: medians of those of {SEEDS} seeds with which it failed, and how many these are if not all. A dash: it did not fail.\n\n",
        HUNTS[0],
        HUNTS[1],
        STRESS_LIMIT.as_secs()
    )
}

fn table(rows: &[Row], policy_runs: u64) -> String {
    let mut text = String::new();
    let mut group = "";
    for row in rows {
        if row.group != group {
            group = &row.group;
            let _ = write!(
                text,
                "\n{group}:\n\n| program | hunt: runs | CPU s | random: runs | CPU s | pct: runs | CPU s | stress: runs | CPU s | confirmed instead of a failure |\n|---|---|---|---|---|---|---|---|---|---|\n"
            );
        }
        let stress = row.stress.map_or("- | -".to_owned(), |(runs, cpu)| format!("{runs} | {cpu:.2}"));
        let (hunt, random, pct) = (row.hunt.shown(), row.random.shown(), row.pct.shown());
        let _ = writeln!(text, "| {} | {hunt} | {random} | {pct} | {stress} | {} |", row.name, row.confirmed);
    }
    let failed = |way: fn(&Row) -> bool| rows.iter().filter(|row| way(row)).count();
    let _ = writeln!(
        text,
        "\nOf {} programs, at least one seed fails: hunt {}, random {}, pct {}; stress fails {}.",
        rows.len(),
        failed(|row| !row.hunt.failed.is_empty()),
        failed(|row| !row.random.failed.is_empty()),
        failed(|row| !row.pct.failed.is_empty()),
        failed(|row| row.stress.is_some()),
    );
    text.push_str(&compared(rows, policy_runs));
    text
}

/// The medians over all programs, and how often the hunt needs a tenth of the runs that random priorities do.
fn compared(rows: &[Row], policy_runs: u64) -> String {
    let of = |way: fn(&Row) -> &Way| {
        let mut medians: Vec<u64> = rows.iter().map(|row| way(row).median().unwrap_or(u64::MAX)).collect();
        medians.sort_unstable();
        match medians[medians.len() / 2] {
            u64::MAX => format!("more than {policy_runs}"),
            median => median.to_string(),
        }
    };
    let hard = rows.iter().filter(|row| row.pct.median().is_none_or(|runs| runs >= 10));
    let pairs: Vec<(Option<u64>, Option<u64>)> =
        hard.map(|row| (row.hunt.median(), row.pct.median())).collect();
    let tenth = |&&(hunt, pct): &&(Option<u64>, Option<u64>)| {
        hunt.is_some_and(|hunt| 10 * hunt <= pct.unwrap_or(policy_runs))
    };
    let fewer = |&&(hunt, pct): &&(Option<u64>, Option<u64>)| {
        hunt.is_some_and(|hunt| pct.is_none_or(|pct| hunt < pct))
    };
    format!(
        "\nMedian over the programs of the median runs of each, a seed that does not fail counted as endless: hunt {}, random {}, pct {}. Of the {} programs for which pct needs ten runs \
         or more, the hunt needs fewer for {}, and a tenth at most for {} (where pct does not fail, a tenth of {policy_runs}).\n",
        of(|row| &row.hunt),
        of(|row| &row.random),
        of(|row| &row.pct),
        pairs.len(),
        pairs.iter().filter(fewer).count(),
        pairs.iter().filter(tenth).count(),
    )
}
