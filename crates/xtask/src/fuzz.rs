//! `cargo xtask fuzz-engine` and `cargo xtask fuzz-bugs`: the engine, and the searches for bugs other than races, against the oracle
//! over many seeds, on every core. The judges are tests of their crates; what they break is shrunken into corpus/found/, where
//! the corpus test asks it again ever after.

use std::process::{Command, Stdio};
use std::time::Instant;

use xtask::Outcome;
use xtask::cargo::{cargo, command, root};
use xtask::machine::circumstances;
use xtask::results::store_report;

/// Who judges.
struct Judge {
    package: &'static str,
    file: &'static str,
    tests: &'static [&'static str],
    /// What is judged, to say that it failed.
    judged: &'static str,
}

const ENGINE: Judge = Judge {
    package: "foretell-decide",
    file: "against_oracle",
    tests: &["engine_agrees_with_the_oracle"],
    judged: "the engine",
};

const BUGS: Judge = Judge {
    package: "foretell-candidates",
    file: "bugs",
    tests: &[
        "every_cycle_of_the_oracle_and_no_other",
        "exactly_the_violations_of_the_oracle",
        "every_other_source_and_no_other",
        "stated_orders_are_those_of_the_oracle",
        "memory_is_misused_where_the_oracle_says_so",
    ],
    judged: "a search",
};

const PAPERS: Judge = Judge {
    package: "foretell-papers",
    file: "atomicity",
    tests: &[
        "over_approximation_is_what_synchronisation_allows",
        "under_approximation_is_brute_force_over_all_schedules",
        "avfilter_is_its_algorithm_line_by_line",
    ],
    judged: "a method of a paper",
};

/// Which seeds are judged.
#[derive(Clone, Copy)]
pub(crate) struct Seeds {
    pub(crate) from: u64,
    pub(crate) count: u64,
}

/// Judges the engine. `keep_figures`: stores what was done.
pub(crate) fn engine(seeds: Seeds, keep_figures: bool) -> Outcome {
    let start = Instant::now();
    let Seeds { from, count } = seeds;
    let printed = ENGINE.judge(seeds)?;
    let tallies: Vec<&str> = printed.lines().filter(|line| line.contains("no disagreement")).collect();
    tallies.iter().for_each(|tally| println!("{tally}"));
    if !keep_figures {
        return Ok(());
    }
    let lines: String = tallies.iter().map(|tally| format!("- {tally}\n")).collect();
    let (took, workers) = (start.elapsed().as_secs_f64(), workers(count));
    let questions: u64 = tallies.iter().filter_map(|tally| number_before(tally, " questions")).sum();
    store_report(
        "fuzz-engine",
        &format!("{questions} questions about {count} random traces, no disagreement"),
        &format!(
            "## The engine against the oracle\n\n{}\n`cargo xtask fuzz-engine --from {from} --seeds {count} --keep-figures` \
             ({took:.0} s on {workers} cores). Every question of every kind under `sync` and `rf`, and for every fourth seed under `branch`; every schedule and \
             refutation through the checker:\n\n{lines}",
            circumstances()
        ),
    )
}

/// The number that stands before a phrase.
fn number_before(tally: &str, phrase: &str) -> Option<u64> {
    tally.split_once(phrase)?.0.rsplit(' ').next()?.parse().ok()
}

/// Judges the searches for bugs other than races: each comparison over all of the seeds.
pub(crate) fn bugs(seeds: Seeds) -> Outcome {
    BUGS.judge(seeds)?;
    PAPERS.judge(seeds).map(drop)
}

fn workers(seeds: u64) -> u64 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64).min(seeds.max(1))
}

impl Judge {
    /// What the judges print, if they found nothing.
    fn judge(&self, Seeds { from, count }: Seeds) -> Result<String, String> {
        let workers = workers(count);
        let build = ["test", "--quiet", "--release", "--package", self.package, "--test", self.file];
        cargo(&[&build[..], &["--no-run"]].concat())?;
        let start = Instant::now();
        let share = count.div_ceil(workers);
        let children: Result<Vec<_>, String> = (0..workers)
            .map(|worker| {
                let first = from + worker * share;
                let seeds = Seeds { from: first, count: share.min((from + count).saturating_sub(first)) };
                self.child(&build, seeds).spawn().map_err(|error| format!("cannot run cargo: {error}"))
            })
            .collect();
        let mut all = String::new();
        let mut broken = false;
        for child in children? {
            let output = child.wait_with_output().map_err(|error| format!("a judge was lost: {error}"))?;
            let printed = String::from_utf8_lossy(&output.stdout);
            broken |= !output.status.success();
            if !output.status.success() {
                eprint!("{printed}");
            }
            all.push_str(&printed);
        }
        if broken {
            let judged = self.judged;
            return Err(format!(
                "{judged} and the oracle disagree; see corpus/found/ for the shrunken trace"
            ));
        }
        println!(
            "no disagreement in {count} seeds from {from} on; took {:.0} s on {workers} cores",
            start.elapsed().as_secs_f64()
        );
        Ok(all)
    }

    fn child(&self, build: &[&str], seeds: Seeds) -> Command {
        // One test at a time: there is a judge for each core already.
        let rest = [&["--"][..], self.tests, &["--nocapture", "--test-threads", "1"]].concat();
        let mut command = command(&[build, &rest].concat());
        command
            .env("FORETELL_FUZZ_FROM", seeds.from.to_string())
            .env("FORETELL_FUZZ_SEEDS", seeds.count.to_string())
            .env("FORETELL_FUZZ_KEEP", root().join("corpus/found"))
            .stdout(Stdio::piped());
        command
    }
}
