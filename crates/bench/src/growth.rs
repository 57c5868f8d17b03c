//! `cargo xtask bench growth`: how cost grows with the length of a trace, its threads, its locks, and its candidates. One picture each, kept in
//! bench/data.

use std::fmt::Write as _;
use std::path::Path;

use crate::measure::cost_and_output;
use crate::plot::{Plot, Series};
use xtask::Outcome;
use xtask::cargo::{release_build, root};
use xtask::machine::circumstances;
use xtask::results::{rows, store_report};
use xtask::scratch::with_directory;

/// What is measured: its name, the arguments of `predict`, and the longest trace it is given.
struct Subject {
    name: &'static str,
    arguments: &'static [&'static str],
    longest: u64,
}

const SUBJECTS: &[Subject] = &[
    Subject { name: "hb", arguments: &["--raw", "--method", "hb"], longest: 100_000_000 },
    Subject { name: "lockset", arguments: &["--raw", "--method", "lockset"], longest: 10_000_000 },
    Subject { name: "syncp", arguments: &["--only", "race", "--method", "syncp"], longest: 10_000_000 },
    Subject { name: "poly", arguments: &["--only", "race"], longest: 10_000_000 },
    Subject { name: "deadlock", arguments: &["--only", "deadlock"], longest: 10_000_000 },
    Subject { name: "atomicity", arguments: &["--only", "atomicity"], longest: 10_000_000 },
    Subject { name: "nondeterminism", arguments: &["--only", "nondeterminism"], longest: 10_000_000 },
];

/// What grows along a picture.
struct Dimension {
    /// Of the picture's file.
    name: &'static str,
    what: &'static str,
    /// The option of `generate` that says it.
    option: &'static str,
    values: &'static [&'static str],
    /// What else the traces are.
    rest: &'static [&'static str],
    rest_in_words: &'static str,
}

const DIMENSIONS: &[Dimension] = &[
    Dimension {
        name: "length",
        what: "events",
        option: "--events",
        values: &["10000", "100000", "1000000", "10000000", "100000000"],
        rest: &["--threads", "8", "--locks", "32"],
        rest_in_words: "8 threads, 32 locks",
    },
    Dimension {
        name: "threads",
        what: "threads",
        option: "--threads",
        values: &["2", "4", "16", "64", "256", "1024", "4096"],
        rest: &["--events", "100000", "--locks", "32"],
        rest_in_words: "100,000 events, 32 locks",
    },
    Dimension {
        name: "locks",
        what: "locks",
        option: "--locks",
        values: &["1", "8", "64", "512", "4096"],
        rest: &["--events", "100000", "--threads", "8"],
        rest_in_words: "100,000 events, 8 threads",
    },
    Dimension {
        name: "candidates",
        what: "percent of accesses without a discipline",
        option: "--disciplined-percent",
        values: &["99.99", "99.9", "99", "90"],
        rest: &["--events", "100000", "--threads", "8", "--locks", "32"],
        rest_in_words: "100,000 events, 8 threads, 32 locks",
    },
];

pub(crate) fn run() -> Outcome {
    let foretell = release_build()?;
    let mut section = format!(
        "## Growth\n\n{}\nCPU seconds of the whole command, including reading, on traces of `foretell generate` in the native format; one run each. A line ends where the next trace is too long for its method here, or where it took more than {PATIENCE} s.\n",
        circumstances()
    );
    with_directory(|directory| {
        for dimension in DIMENSIONS {
            let series = dimension.measure(&foretell, directory)?;
            section.push_str(&dimension.table(&series));
            dimension.draw(&series)?;
        }
        Ok(())
    })?;
    let names = SUBJECTS.iter().map(|subject| subject.name);
    let longest = rows(&section, "10000000").into_iter().next().unwrap_or_default();
    let figures: Vec<String> =
        names.zip(longest.iter().skip(1)).map(|(name, s)| format!("{name} {s}")).collect();
    let headline = format!("CPU seconds for ten million events: {}", figures.join(", "));
    store_report("growth", &headline, &section)
}

/// The seconds a command may take.
const PATIENCE: &str = "120";

impl Dimension {
    /// A series for each subject; what was not measured is not in it.
    fn measure(&self, foretell: &str, directory: &Path) -> Result<Vec<Series>, String> {
        let file = directory.join("growing.ftr").to_string_lossy().into_owned();
        let named = |subject: &Subject| Series { name: subject.name.to_owned(), points: Vec::new() };
        let mut series: Vec<Series> = SUBJECTS.iter().map(named).collect();
        let mut stopped = [false; SUBJECTS.len()];
        for value in self.values {
            eprintln!("measuring: {} = {value}", self.what);
            let generate = [foretell, "generate", "-q", self.option, value, "-o", &file];
            cost_and_output(&[&generate[..], self.rest].concat())?;
            let events: u64 = if self.name == "length" { value.parse().unwrap_or(0) } else { 0 };
            for ((subject, series), stopped) in SUBJECTS.iter().zip(&mut series).zip(&mut stopped) {
                if *stopped || events > subject.longest {
                    continue;
                }
                let command =
                    [&["timeout", PATIENCE, foretell, "predict", &file, "-q"], subject.arguments].concat();
                match cost_and_output(&command) {
                    Ok((cost, _)) => {
                        series.points.push((self.across(value), cost.cpu.as_secs_f64().max(1e-4)))
                    }
                    Err(_) => *stopped = true,
                }
            }
        }
        Ok(series)
    }

    /// Where a value lies.
    fn across(&self, value: &str) -> f64 {
        let value: f64 = value.parse().unwrap_or(1.0);
        if self.option == "--disciplined-percent" { ((100.0 - value) * 1e6).round() / 1e6 } else { value }
    }

    fn table(&self, series: &[Series]) -> String {
        let mut table = format!(
            "\n![{0}](growth-{0}.svg)\n\nBy {1} ({2}):\n\n| {1} |",
            self.name, self.what, self.rest_in_words
        );
        series.iter().for_each(|series| {
            let _ = write!(table, " {} |", series.name);
        });
        let _ = write!(table, "\n|{}\n", "---|".repeat(series.len() + 1));
        for across in self.values.iter().map(|value| self.across(value)) {
            let _ = write!(table, "| {across} |");
            for series in series {
                let point = series.points.iter().find(|point| point.0 == across);
                let _ = match point {
                    Some((_, seconds)) => write!(table, " {seconds:.3} |"),
                    None => write!(table, " - |"),
                };
            }
            table.push('\n');
        }
        table
    }

    fn draw(&self, series: &[Series]) -> Outcome {
        let title = format!("CPU seconds by {} ({})", self.what, self.rest_in_words);
        let plot = Plot { title: &title, x: self.what, y: "CPU seconds", series };
        let path = root().join(format!("bench/data/growth-{}.svg", self.name));
        let svg = plot.svg().ok_or("nothing could be measured")?;
        std::fs::write(&path, svg).map_err(|error| format!("{}: {error}", path.display()))
    }
}
