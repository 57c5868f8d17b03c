//! `cargo xtask fuzz-engine`: the engine against the oracle over many seeds, on every core. The judge is the test
//! `engine_agrees_with_the_oracle` of the engine's crate; what it breaks is shrunken into corpus/found/, where the
//! corpus test asks it again ever after.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Outcome;
use crate::bench::{circumstances, replace_section};
use crate::cargo::{cargo, command, root};

const TEST: [&str; 8] = [
    "test",
    "--quiet",
    "--release",
    "--package",
    "foretell-decide",
    "--test",
    "against_oracle",
    "engine_agrees_with_the_oracle",
];

/// Judges seeds `from` to `from + seeds - 1`. `keep_figures`: writes what was done into bench/RESULTS.md.
pub(crate) fn run(from: u64, seeds: u64, keep_figures: bool) -> Outcome {
    let workers =
        std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64).min(seeds.max(1));
    cargo(&[&TEST[..7], &["--no-run"]].concat())?;
    let start = Instant::now();
    let share = seeds.div_ceil(workers);
    let children: Result<Vec<_>, String> = (0..workers)
        .map(|worker| {
            let first = from + worker * share;
            let count = share.min((from + seeds).saturating_sub(first));
            judge(first, count).spawn().map_err(|error| format!("cannot run cargo: {error}"))
        })
        .collect();
    let mut tallies = Vec::new();
    let mut broken = false;
    for child in children? {
        let output = child.wait_with_output().map_err(|error| format!("a judge was lost: {error}"))?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        broken |= !output.status.success();
        if !output.status.success() {
            eprint!("{printed}");
        }
        tallies.extend(printed.lines().filter(|line| line.contains("no disagreement")).map(str::to_owned));
    }
    tallies.iter().for_each(|tally| println!("{tally}"));
    if broken {
        return Err("the engine and the oracle disagree; see corpus/found/ for the shrunken trace".to_owned());
    }
    println!("took {:.0} s on {workers} cores", start.elapsed().as_secs_f64());
    if !keep_figures {
        return Ok(());
    }
    let lines: String = tallies.iter().map(|tally| format!("- {tally}\n")).collect();
    let took = start.elapsed().as_secs_f64();
    replace_section(
        "fuzz-engine",
        &format!(
            "## The engine against the oracle\n\n{}\n`cargo xtask fuzz-engine --from {from} --seeds {seeds} --keep-figures` \
             ({took:.0} s on {workers} cores). Every question of every kind under `sync` and `rf`, and for every fourth seed under `branch`; every schedule and \
             refutation through the checker:\n\n{lines}",
            circumstances()
        ),
    )
}

fn judge(from: u64, seeds: u64) -> Command {
    let mut command = command(&[&TEST[..], &["--", "--nocapture"]].concat());
    command
        .env("FORETELL_FUZZ_FROM", from.to_string())
        .env("FORETELL_FUZZ_SEEDS", seeds.to_string())
        .env("FORETELL_FUZZ_KEEP", root().join("corpus/found"))
        .stdout(Stdio::piped());
    command
}
