//! `cargo xtask bench NAME`: what reading, writing and surveying traces costs (`trace`), what questions cost
//! (`decide`), what other bugs than races cost (`bugs`), and what global states cost (`states`); measured and written into their sections of bench/RESULTS.md.

use std::fmt::Write as _;

use crate::measure::{Cost, cost_of, median};
use xtask::Outcome;
use xtask::cargo::{cargo_output, release_build};
use xtask::machine::circumstances;
use xtask::results::{cell, rows, store_report};
use xtask::scratch::with_directory;

const EVENTS: u64 = 10_000_000;
const RUNS: usize = 5;

pub(crate) fn trace() -> Outcome {
    let mut section = String::from("## Traces\n\n");
    section.push_str(&circumstances());
    for bench in ["text", "native"] {
        eprintln!("measuring: {bench}");
        let printed = cargo_output(&["bench", "--quiet", "--package", "foretell-trace", "--bench", bench])?;
        let _ = write!(section, "\n`cargo bench --package foretell-trace --bench {bench}`:\n\n");
        for line in printed.lines().filter(|line| !line.trim().is_empty()) {
            let _ = writeln!(section, "    {}", line.trim_end());
        }
    }
    eprintln!("measuring: the command line on {EVENTS} events");
    section.push_str(&command_line()?);
    let headline = format!(
        "`stats` reads {} million events a second from a native trace, {} from text",
        cell(&section, "stats of native", 3),
        cell(&section, "stats of text", 3)
    );
    store_report("trace", &headline, &section)
}

/// What questions to the engine cost.
pub(crate) fn decide() -> Outcome {
    let mut section = String::from("## Questions\n\n");
    section.push_str(&circumstances());
    let printed =
        cargo_output(&["bench", "--quiet", "--package", "foretell-decide", "--bench", "questions"])?;
    let _ = write!(
        section,
        "\n`cargo bench --package foretell-decide --bench questions`. Only pairs without a common lock are asked about. At the median and at 95 %, the cost of a question hardly grows with the trace. The most expensive questions are those that no small window of the trace settles.\n\n{}\n",
        printed.trim()
    );
    let headline = format!(
        "a question about a trace of a million events takes {} µs at the median, {} µs at 95 %",
        cell(&section, "1000000 events", 4),
        cell(&section, "1000000 events", 5)
    );
    store_report("decide", &headline, &section)
}

/// What finding bugs other than races costs.
pub(crate) fn bugs() -> Outcome {
    let mut section = String::from("## Deadlocks, atomicity violations, nondeterministic reads\n\n");
    section.push_str(&circumstances());
    let printed = cargo_output(&["bench", "--quiet", "--package", "foretell-papers", "--bench", "bugs"])?;
    let _ = write!(
        section,
        "\n`cargo bench --package foretell-papers --bench bugs`, with the command line's default budget; seconds of processor time. \
         `unknown` counts the patterns left open, plus one if a search was `cut_short`: there are too many cycles of locations to examine all of them, and the limits (docs/json.md) were chosen so that a million events take less than 5 s. With 100,000 places \
         there are 292,272 and 388,015 candidates.\n\n"
    );
    for line in printed.lines().filter(|line| !line.trim().is_empty()) {
        let _ = writeln!(section, "    {}", line.trim_end());
    }
    let chosen = [
        "deadlocks: 1000000 events, 8 threads, 32 locks, 5,000 places",
        "atomicity: 3300000 events, 47 places, exact",
        "in all",
    ];
    let lines = printed.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| chosen.iter().any(|start| line.starts_with(start))).collect();
    store_report("bugs", &lines.join("; "), &section)
}

/// What walking and counting global states costs.
pub(crate) fn states() -> Outcome {
    let mut section = String::from("## Global states\n\n");
    section.push_str(&circumstances());
    let printed = cargo_output(&["bench", "--quiet", "--package", "foretell-states", "--bench", "states"])?;
    let _ = write!(
        section,
        "\n`cargo bench --package foretell-states --bench states`: the fastest of three runs in one process. The paper's figures are its table 1, on a \
         2.67 GHz Xeon. Where its number of states and ours differ, the row is reconstructed in shape only (corpus/README.md), and rates are compared.\n\n{}\n",
        printed.trim()
    );
    let ratios = rows_of_paper_2(&section);
    let headline =
        format!("states are enumerated at {:.0} times the paper's rate on one core (median)", median(ratios));
    store_report("states", &headline, &section)
}

/// Our rate on one core by the paper's, in each row that has both.
fn rows_of_paper_2(section: &str) -> Vec<f64> {
    const PROGRAMS: [&str; 11] = [
        "bank",
        "arraylist1",
        "arraylist2",
        "set1",
        "set2",
        "sor",
        "raytracer",
        "moldyn",
        "montecarlo",
        "hedc",
        "tsp",
    ];
    let all = PROGRAMS.iter().flat_map(|program| rows(section, program));
    all.filter_map(|row| row.get(11)?.parse().ok()).collect()
}

/// The commands a user runs on a large trace.
fn command_line() -> Result<String, String> {
    let foretell = release_build()?;
    with_directory(|directory| table_of_commands(&foretell, &directory.join("trace").to_string_lossy()))
}

fn table_of_commands(foretell: &str, trace: &str) -> Result<String, String> {
    let (native, text) = (format!("{trace}.ftr"), format!("{trace}.std"));
    let events = EVENTS.to_string();
    let commands: [(&str, Vec<&str>); 6] = [
        ("generate to native", vec!["generate", "-q", "--events", &events, "--threads", "8", "-o", &native]),
        ("generate to text", vec!["generate", "-q", "--events", &events, "--threads", "8", "-o", &text]),
        ("stats of native", vec!["stats", "-q", &native]),
        ("stats of text", vec!["stats", "-q", &text]),
        ("convert native to text", vec!["convert", "-q", &native, &text]),
        ("convert text to native", vec!["convert", "-q", &text, &native]),
    ];
    let mut table = format!(
        "\nThe command line on {} million events of 8 threads (median of {RUNS} runs; memory is the largest):\n\n\
         | command | wall s | CPU s | million events a wall second | peak memory MB |\n|---|---|---|---|---|\n",
        EVENTS / 1_000_000
    );
    for (what, arguments) in &commands {
        let command: Vec<&str> = std::iter::once(foretell).chain(arguments.iter().copied()).collect();
        let costs: Result<Vec<Cost>, String> = (0..RUNS).map(|_| cost_of(&command)).collect();
        let costs = costs?;
        let wall = median(costs.iter().map(|cost| cost.wall.as_secs_f64()).collect());
        let cpu = median(costs.iter().map(|cost| cost.cpu.as_secs_f64()).collect());
        let peak = costs.iter().map(|cost| cost.peak_bytes).max().unwrap_or(0) as f64 / 1e6;
        let rate = EVENTS as f64 / wall / 1e6;
        let _ = writeln!(table, "| {what} | {wall:.2} | {cpu:.2} | {rate:.1} | {peak:.0} |");
    }
    let bytes_an_event = |file: &str| match std::fs::metadata(file) {
        Ok(metadata) => Ok(metadata.len() as f64 / EVENTS as f64),
        Err(error) => Err(format!("{file}: {error}")),
    };
    let (native, text) = (bytes_an_event(&native)?, bytes_an_event(&text)?);
    let _ = writeln!(table, "\nOn disk: native {native:.2}, text {text:.2} bytes per event.");
    Ok(table)
}
