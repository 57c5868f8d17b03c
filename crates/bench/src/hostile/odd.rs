//! `cargo xtask bench odd`: traces and other files below a megabyte that were written to be slow, each with `--timeout 5 --memory 500M`. A row that takes longer
//! than [`MOST_TIME`] or more than [`MOST_MEMORY`] says so. What is odd about a file is its content here, and not only its shape, so each
//! is written by a few lines of its own.

mod files;
mod traces;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use xtask::Outcome;
use xtask::machine::circumstances;
use xtask::results::store_report;
use xtask::scratch::with_directory;

use crate::measure::{cost_of, measured_binary};

/// What a row may take: what was asked for, and five seconds more to end and to present what was found; and a fifth more.
const MOST_TIME: Duration = Duration::from_secs(10);
const MOST_MEMORY: u64 = 600 << 20;
/// What is asked for.
const LIMITS: [&str; 4] = ["--timeout", "5", "--memory", "500M"];
/// A command may also end with 2 here: it is as good an answer to an odd file that it is refused.
const REFUSAL_IS_AN_ANSWER: &str = r#""$@"; [ $? -le 3 ]"#;
/// When a row is stopped, in seconds.
const STOPPED: &str = "100";

/// An input, and what is done with it. In the arguments `@` stands for the directory of the files.
struct Odd {
    name: &'static str,
    /// What it took without limits before somebody looked.
    before: &'static str,
    arguments: &'static [&'static str],
    /// Its files, by name. The first is the odd one.
    files: fn() -> Vec<(&'static str, Vec<u8>)>,
}

pub(crate) fn run() -> Outcome {
    let (foretell, build) = measured_binary()?;
    let mut section = format!(
        "## Odd inputs\n\n{} {build}\n\n`cargo xtask bench odd`: traces and other files below a megabyte that were written to be slow \
         (crates/bench/src/hostile/odd), each with `{}`. A row that takes more than {} s of CPU time or {} MB is marked. *Before* is \
         what it took without limits, of CPU time, before it was looked at (2026-11-19, release build, load 10 to 23); a memory in \
         brackets is what the same limits led to. A file that is refused is within its bounds.\n\n\
         | input | bytes | command | before | CPU s | peak MB | |\n|---|--:|---|---|--:|--:|---|\n",
        circumstances().trim_end(),
        LIMITS.join(" "),
        MOST_TIME.as_secs(),
        MOST_MEMORY >> 20
    );
    for row in traces::ROWS.iter().chain(&files::ROWS) {
        section.push_str(&with_directory(|place| row.measured(&foretell, place))?);
    }
    print!("{section}");
    let rows = section.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let (all, over) = (rows.clone().count(), rows.filter(|row| row.ends_with("| over |")).count());
    let headline = format!("{} of {all} odd inputs stay within the limits that are asked for", all - over);
    store_report("odd", &headline, &section)
}

impl Odd {
    /// Its line in the table.
    fn measured(&self, foretell: &str, place: &Path) -> Result<String, String> {
        let mut bytes = None;
        for (name, content) in (self.files)() {
            let file = place.join(name);
            bytes.get_or_insert(content.len());
            let directory = file.parent().unwrap_or(place);
            let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&file, content));
            written.map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let directory = place.to_string_lossy();
        let arguments: Vec<String> =
            self.arguments.iter().map(|word| word.replace('@', &format!("{directory}/"))).collect();
        let mut command = vec!["sh", "-c", REFUSAL_IS_AN_ANSWER, "sh", "timeout", STOPPED, foretell];
        command.extend(arguments.iter().map(String::as_str));
        command.extend(LIMITS);
        let figures = match cost_of(&command) {
            Ok(cost) => {
                let mark = if cost.cpu > MOST_TIME || cost.peak_bytes > MOST_MEMORY { "over" } else { "" };
                format!("{:.2} | {} | {mark}", cost.cpu.as_secs_f64(), cost.peak_bytes >> 20)
            }
            Err(_) => "stopped | | over".to_owned(),
        };
        let mut line = String::new();
        let shown = self.arguments.join(" ").replace('@', "");
        // Writing to a string does not fail.
        let _ = writeln!(
            line,
            "| {} | {} | `{shown}` | {} | {figures} |",
            self.name,
            bytes.unwrap_or_default(),
            self.before
        );
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_is_small() {
        for row in traces::ROWS.iter().chain(&files::ROWS) {
            for (name, content) in (row.files)() {
                assert!(
                    !content.is_empty() && content.len() <= 1 << 20,
                    "{} {name}: {}",
                    row.name,
                    content.len()
                );
            }
        }
    }
}
