//! `cargo xtask bench racy`: programs that race, as their own suites say: in which of them a hunt confirms a race, and in which
//! ThreadSanitizer reports one in ten runs.
//!
//! bench/racy.toml lists the programs, and why the race of some cannot happen; `FORETELL_SUITES` names a directory with checkouts of their
//! suites. Some ask a verifier for any value (`__VERIFIER_nondet_int` and its like): they are hunted in with several choices.
//! `FORETELL_RACY_ONLY` names single programs, separated by commas: nothing is stored then. LLVM's racy tests are in `cargo xtask bench llvm`.
//! What was measured is kept in `target/racy-cells.jsonl`: the command can be interrupted, and measures only what is missing when it is started again.
//! `FORETELL_RACY_SECONDS` says for how long it measures: programs that are not done by then are listed as not measured.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use xtask::Outcome;
use xtask::machine::circumstances;
use xtask::results::store_report;
use xtask::scratch::with_directory;

use crate::cells::Cells;
use crate::manifest::{self, Program};
use crate::measure::{measured_binary, number};
use crate::parallel;
use crate::verifier::{self, CHOICE};

/// How long each hunt may take, in seconds; and again if no race is confirmed: as long as a user's hunt.
const HUNTS: [u64; 2] = [5, 60];
/// The runs with ThreadSanitizer, and how long each may take in seconds.
const TSAN_RUNS: u64 = 10;
const TSAN_LIMIT: &str = "5";
/// What a verifier chooses: one value after the other, and again from the first.
const CHOICES: [&str; 5] = ["0", "1", "4", "10", "110"];
/// What the functions of a verifier's are called.
const VERIFIERS: &str = "__VERIFIER_nondet";
/// What a hunt says of a program that races, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Verdict {
    Confirmed,
    Predicted,
    Otherwise,
    Silent,
    NotHunted,
    NotBuilt,
    NotMeasured,
}

impl Verdict {
    const ALL: [Verdict; 7] = [
        Verdict::Confirmed,
        Verdict::Predicted,
        Verdict::Otherwise,
        Verdict::Silent,
        Verdict::NotHunted,
        Verdict::NotBuilt,
        Verdict::NotMeasured,
    ];

    const fn name(self) -> &'static str {
        match self {
            Verdict::Confirmed => "race confirmed",
            Verdict::Predicted => "race only predicted",
            Verdict::Otherwise => "something else found",
            Verdict::Silent => "nothing found",
            Verdict::NotHunted => "not hunted in",
            Verdict::NotBuilt => "does not build",
            Verdict::NotMeasured => "not measured",
        }
    }
}

/// The result of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Cell {
    verdict: Verdict,
    remark: String,
    /// The first run in which ThreadSanitizer reports a race.
    tsan: Option<u64>,
}

/// A program and the result.
struct Row<'a> {
    program: &'a Program,
    cell: Cell,
}

pub(crate) fn run() -> Outcome {
    let (foretell, build) = measured_binary()?;
    let mut programs = manifest::programs("racy.toml", &manifest::suites()?)?;
    let asked = std::env::var("FORETELL_RACY_ONLY").ok();
    if let Some(asked) = &asked {
        programs.retain(|program| asked.split(',').any(|asked| program.name == asked));
    }
    let limit = number("FORETELL_RACY_SECONDS", 0..=u64::MAX)?.map(Duration::from_secs);
    let report = with_directory(|place| {
        let bench = Bench { foretell: &foretell, place, verifier: place.join("verifier.c") };
        verifier::write(&bench.verifier)?;
        let cells = Mutex::new(Cells::of("racy", Path::new(&foretell), limit)?);
        let numbered: Vec<(usize, &Program)> = programs.iter().enumerate().collect();
        let rows = parallel::map(&numbered, |&(number, program)| bench.row(number, program, &cells))?;
        Ok(section(&rows, build))
    })?;
    match asked {
        Some(_) => print!("{report}"),
        None => {
            let headline = report.lines().find(|line| line.starts_with("Of ")).unwrap_or("?");
            store_report("racy", headline.trim_end_matches('.'), &report)?;
        }
    }
    Ok(())
}

struct Bench<'a> {
    foretell: &'a str,
    place: &'a Path,
    /// The source that stands in for a verifier.
    verifier: PathBuf,
}

impl Bench<'_> {
    fn row<'p>(
        &self,
        number: usize,
        program: &'p Program,
        cells: &Mutex<Cells<Cell>>,
    ) -> Result<Row<'p>, String> {
        let cells = || cells.lock().map_err(|_| "a program failed".to_owned());
        let known = cells()?.known(&program.name);
        let is_over = cells()?.is_over();
        let cell = match known {
            Some(cell) => cell,
            None if is_over => Cell { verdict: Verdict::NotMeasured, remark: String::new(), tsan: None },
            None => {
                let cell = self.measured(number, program)?;
                cells()?.keep(&program.name, &cell)?;
                cell
            }
        };
        Ok(Row { program, cell })
    }

    fn measured(&self, number: usize, program: &Program) -> Result<Cell, String> {
        let directory = self.place.join(number.to_string());
        std::fs::create_dir_all(&directory).map_err(|error| format!("cannot make a directory: {error}"))?;
        let cell = self.tried(program, &directory)?;
        let _ = std::fs::remove_dir_all(&directory);
        eprintln!("{}: {} {}", program.name, cell.verdict.name(), cell.remark);
        Ok(cell)
    }

    fn tried(&self, program: &Program, place: &Path) -> Result<Cell, String> {
        let (ours, theirs) = (place.join("ours"), place.join("tsan"));
        let (cc, cxx) = (format!("{} cc", self.foretell), format!("{} c++", self.foretell));
        let chooses = program.with_choices(&self.verifier);
        let built = chooses
            .build(&ours, &cc, &cxx)
            .and_then(|()| chooses.build(&theirs, "gcc -fsanitize=thread", "g++ -fsanitize=thread"));
        if let Err(said) = built {
            let reason = said.lines().find(|line| line.contains("error") || line.contains("undefined"));
            let reason = reason.unwrap_or_default().rsplit(": ").next().unwrap_or_default();
            let remark = reason.replace('|', "/");
            return Ok(Cell { verdict: Verdict::NotBuilt, remark, tsan: None });
        }
        let source = program.directory.join(format!("{}.c", program.name));
        let asks = std::fs::read(source).is_ok_and(|text| String::from_utf8_lossy(&text).contains(VERIFIERS));
        let choices = if asks { &CHOICES[..] } else { &CHOICES[..1] };
        let mut best = (Verdict::NotHunted, String::new());
        'hunts: for seconds in HUNTS {
            for choice in choices {
                let found = self.hunt(program, place, choice, seconds)?;
                best = if found.0 < best.0 { found } else { best };
                if best.0 == Verdict::Confirmed || program.cannot.is_some() {
                    break 'hunts;
                }
            }
            if choices.len() == 1 && best.1.ends_with(EXHAUSTED) {
                break;
            }
        }
        let (verdict, remark) = best;
        Ok(Cell { verdict, remark, tsan: self.thread_sanitizer(program, &theirs, choices)? })
    }

    fn hunt(
        &self,
        program: &Program,
        place: &Path,
        choice: &str,
        seconds: u64,
    ) -> Result<(Verdict, String), String> {
        let output = Command::new("timeout")
            .args(["--kill-after=5", &(3 * seconds + 30).to_string(), self.foretell, "hunt", "--json", "-q"])
            .args(["--timeout", &seconds.to_string(), "--results", "results", "--", "./ours"])
            .args(&program.arguments)
            .env(CHOICE, choice)
            .current_dir(place)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot hunt: {error}"))?;
        Ok(match serde_json::from_slice(&output.stdout) {
            Ok(found) => judged(&found),
            Err(_) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
                (Verdict::NotHunted, last.replace('|', "/"))
            }
        })
    }

    /// The first run that ThreadSanitizer reports a race in.
    fn thread_sanitizer(
        &self,
        program: &Program,
        made: &Path,
        choices: &[&str],
    ) -> Result<Option<u64>, String> {
        for run in 0..TSAN_RUNS {
            let output = Command::new("timeout")
                .args(["-s", "KILL", TSAN_LIMIT])
                .arg(made)
                .args(&program.arguments)
                .env(CHOICE, choices[run as usize % choices.len()])
                .stdin(Stdio::null())
                .output()
                .map_err(|error| format!("cannot run timeout: {error}"))?;
            if String::from_utf8_lossy(&output.stderr).contains("WARNING: ThreadSanitizer: data race") {
                return Ok(Some(run + 1));
            }
        }
        Ok(None)
    }
}

/// What a remark ends with if there is nothing more to be found.
const EXHAUSTED: &str = "all behaviours were run";

/// A use of memory that another thread frees is a race, too.
fn is_race(finding: &Value) -> bool {
    finding["kind"] == "race" || finding["kind"] == "order"
}

/// What a hunt found, and the kinds of that in words.
fn judged(found: &Value) -> (Verdict, String) {
    let findings = found["findings"].as_array().into_iter().flatten();
    let shown: Vec<&Value> = findings.filter(|finding| finding["shown"] != false).collect();
    let races: Vec<&&Value> = shown.iter().filter(|finding| is_race(finding)).collect();
    let verdict = if races.iter().any(|race| race["rung"] == "confirmed") {
        Verdict::Confirmed
    } else if !races.is_empty() {
        Verdict::Predicted
    } else if !shown.is_empty() {
        Verdict::Otherwise
    } else {
        Verdict::Silent
    };
    let mut words: Vec<&str> = match verdict {
        Verdict::Confirmed => Vec::new(),
        _ => shown.iter().filter_map(|finding| finding["kind"].as_str()).collect(),
    };
    words.sort_unstable();
    words.dedup();
    if found["exhausted"] == true && verdict != Verdict::Confirmed {
        words.push(EXHAUSTED);
    }
    (verdict, words.join(", "))
}

fn section(rows: &[Row<'_>], build: &str) -> String {
    let mut text = format!(
        "## Racy programs of other tools' tests\n\n{} {build}\n\n\
         `FORETELL_SUITES=.. cargo xtask bench racy`: programs whose own suites say that they race, built with gcc as bench/racy.toml says, standard input empty. Each is hunted in for \
         {} seconds, and if no race is confirmed then, once more for {}, with all that a hunt looks for. Programs that ask a verifier for values are hunted in with 0, 1, 4, 1 and 0 in turn, and 1, 1, 0. A use of memory that another thread frees counts as a race. ThreadSanitizer (gcc) runs each program {TSAN_RUNS} times.\n\n",
        circumstances().trim_end(),
        HUNTS[0],
        HUNTS[1],
    );
    let is_out = |verdict| matches!(verdict, Verdict::NotBuilt | Verdict::NotMeasured);
    let built: Vec<&Row<'_>> = rows.iter().filter(|row| !is_out(row.cell.verdict)).collect();
    let can: Vec<&&Row<'_>> = built.iter().filter(|row| row.program.cannot.is_none()).collect();
    let _ = writeln!(
        text,
        "Of {} programs that build here and whose race can happen, {} have a confirmed race; ThreadSanitizer reports one for {}.\n",
        can.len(),
        can.iter().filter(|row| row.cell.verdict == Verdict::Confirmed).count(),
        can.iter().filter(|row| row.cell.tsan.is_some()).count(),
    );
    text.push_str("| suite | programs |");
    Verdict::ALL.iter().for_each(|verdict| {
        let _ = write!(text, " {} |", verdict.name());
    });
    text.push_str(" cannot happen | ThreadSanitizer |\n|---|---|");
    text.push_str(&"---|".repeat(Verdict::ALL.len() + 2));
    text.push('\n');
    let mut groups: Vec<&str> = rows.iter().map(|row| row.program.group.as_str()).collect();
    groups.dedup();
    for group in groups {
        let of_it: Vec<&Row<'_>> = rows.iter().filter(|row| row.program.group == group).collect();
        let count = |is: &dyn Fn(&Row<'_>) -> bool| of_it.iter().filter(|row| is(row)).count();
        let _ = write!(text, "| {group} | {} |", of_it.len());
        for verdict in Verdict::ALL {
            let _ = write!(text, " {} |", count(&|row| row.cell.verdict == verdict));
        }
        let cannot = count(&|row| row.program.cannot.is_some());
        let _ = writeln!(text, " {cannot} | {} |", count(&|row| row.cell.tsan.is_some()));
    }
    text.push_str("\nThe programs:\n\n| program | Foretell | ThreadSanitizer's first report in run | remarks | why its race cannot happen |\n|---|---|---|---|---|\n");
    for row in rows {
        let tsan = row.cell.tsan.map_or("-".to_owned(), |run| run.to_string());
        let cannot = row.program.cannot.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {} | {tsan} | {} | {cannot} |",
            row.program.name,
            row.cell.verdict.name(),
            row.cell.remark
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(findings: &[(&str, &str, bool)], exhausted: bool) -> Value {
        let findings: Vec<Value> = findings
            .iter()
            .map(|(kind, rung, shown)| serde_json::json!({ "kind": kind, "rung": rung, "shown": shown }))
            .collect();
        serde_json::json!({ "findings": findings, "exhausted": exhausted })
    }

    #[test]
    fn only_a_confirmed_race_that_is_shown_counts() {
        let race = ("race", "confirmed", true);
        assert_eq!(judged(&found(&[race], true)), (Verdict::Confirmed, String::new()));
        let predicted = found(&[("race", "predicted", true), ("misuse", "confirmed", true)], false);
        assert_eq!(judged(&predicted), (Verdict::Predicted, "misuse, race".to_owned()));
        assert_eq!(judged(&found(&[("order", "confirmed", true)], false)).0, Verdict::Confirmed);
        let other = found(&[("misuse", "confirmed", true), ("race", "confirmed", false)], true);
        assert_eq!(judged(&other), (Verdict::Otherwise, format!("misuse, {EXHAUSTED}")));
        assert_eq!(judged(&found(&[], false)), (Verdict::Silent, String::new()));
    }
}
