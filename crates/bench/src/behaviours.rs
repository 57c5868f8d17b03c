//! `cargo xtask bench behaviours`: how many behaviours a hunt runs of programs that are correct, and how many traces Nidhugg runs, which
//! enumerates the same classes by other means.
//!
//! bench/behaviours.toml lists the programs: those of corpus/pairs, and those of the suites in the directory that `FORETELL_SUITES` names.
//! `NIDHUGG` names the program `nidhugg`. What was measured is kept in `target/behaviours-cells.jsonl`: the command can be interrupted.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use xtask::Outcome;
use xtask::machine::circumstances;
use xtask::results::store_report;
use xtask::scratch::with_directory;

use crate::cells::Cells;
use crate::manifest::{self, Program};
use crate::measure::measured_binary;
use crate::nidhugg::{Ended, Nidhugg};
use crate::search::cpu_of_children;
use crate::verifier;

/// The seconds that a hunt may take.
const SECONDS: u64 = 60;

/// What a hunt came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Hunted {
    behaviours: u64,
    runs: u64,
    cpu: f64,
    /// Whether all behaviours were run.
    is_exhausted: bool,
    /// Why not, if that is not for lack of time.
    doubts: Vec<String>,
}

/// What was measured of a program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cell {
    hunted: Option<Hunted>,
    nidhugg: Option<Ended>,
}

struct Row<'a> {
    program: &'a Program,
    hunted: Hunted,
    nidhugg: Option<Ended>,
}

impl Row<'_> {
    /// Whether both ran everything; if so, whether they come to the same number.
    fn is_equal(&self) -> Option<bool> {
        match self.nidhugg {
            Some(Ended::Complete { traces, .. }) if self.hunted.is_exhausted => {
                Some(traces == self.hunted.behaviours)
            }
            _ => None,
        }
    }
}

pub(crate) fn run() -> Outcome {
    let (foretell, build) = measured_binary()?;
    let programs = manifest::programs("behaviours.toml", &manifest::suites()?)?;
    let nidhugg = Nidhugg::named();
    let mut cells = Cells::of("behaviours", Path::new(&foretell), None)?;
    let report = with_directory(|place| {
        let choices = place.join("verifier.c");
        verifier::write(&choices)?;
        let (mut rows, mut skipped) = (Vec::new(), String::new());
        for program in &programs {
            let bench = Bench { foretell: &foretell, nidhugg: nidhugg.as_ref(), place };
            match bench.row(&program.with_choices(&choices), &mut cells) {
                Ok((hunted, nidhugg)) => rows.push(Row { program, hunted, nidhugg }),
                Err(reason) => {
                    let first = reason.lines().next().unwrap_or_default();
                    let _ = writeln!(skipped, "- not measured: {}: {first}", program.name);
                }
            }
        }
        Ok([section(&rows, build), skipped].concat())
    })?;
    let headline = report.lines().find(|line| line.starts_with("Of ")).unwrap_or("?");
    store_report("behaviours", headline.trim_end_matches('.'), &report)
}

struct Bench<'a> {
    foretell: &'a str,
    nidhugg: Option<&'a Nidhugg>,
    place: &'a Path,
}

impl Bench<'_> {
    fn row(&self, program: &Program, cells: &mut Cells<Cell>) -> Result<(Hunted, Option<Ended>), String> {
        let name = &program.name;
        eprintln!("measuring: {name}");
        let hunted = cells.get(&format!("{name} hunt"), || {
            Ok(Cell { hunted: Some(self.hunt(program)?), ..Cell::default() })
        })?;
        let hunted = hunted.hunted.unwrap_or_default();
        let key = format!("{name} nidhugg");
        let Some(nidhugg) = self.nidhugg else {
            return Ok((hunted, cells.known(&key).and_then(|cell| cell.nidhugg)));
        };
        let searched = cells.get(&key, || {
            Ok(Cell { nidhugg: Some(nidhugg.search(program, self.place)?), ..Cell::default() })
        })?;
        Ok((hunted, searched.nidhugg))
    }

    fn hunt(&self, program: &Program) -> Result<Hunted, String> {
        let made = self.place.join("program");
        program.build(&made, &format!("{} cc", self.foretell), &format!("{} c++", self.foretell))?;
        let begin = cpu_of_children()?;
        let output = Command::new(self.foretell)
            .args(["hunt", "--json", "-q", "--timeout", &SECONDS.to_string(), "--results"])
            .arg(self.place.join("results"))
            .arg("--")
            .arg(&made)
            .args(&program.arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot hunt: {error}"))?;
        let cpu = cpu_of_children()? - begin;
        let said = String::from_utf8_lossy(&output.stderr);
        let found: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("hunt: {error}: {}", said.trim()))?;
        Ok(hunted(&found, cpu))
    }
}

fn hunted(found: &Value, cpu: f64) -> Hunted {
    let doubts = found["doubts"].as_array().into_iter().flatten();
    Hunted {
        behaviours: found["behaviours"].as_u64().unwrap_or_default(),
        runs: found["runs"].as_u64().unwrap_or_default(),
        cpu,
        is_exhausted: found["exhausted"] == true,
        doubts: doubts.filter_map(Value::as_str).map(str::to_owned).collect(),
    }
}

fn section(rows: &[Row<'_>], build: &str) -> String {
    let mut text = format!(
        "## All behaviours of correct programs\n\n{} {build}\n\n\
         `FORETELL_SUITES=.. NIDHUGG=.. cargo xtask bench behaviours`: programs without a failure. *Hunt* is `foretell hunt` of up to {SECONDS} s; *Nidhugg* is {}. Both run each class of \
         reads-from equivalence once: threads perform the same events, and every read sees the write of the same event. CPU seconds include the tools.\n\n",
        circumstances().trim_end(),
        Nidhugg::described(),
    );
    let compared: Vec<bool> = rows.iter().filter_map(Row::is_equal).collect();
    let of_hunt = rows.iter().filter(|row| row.hunted.is_exhausted).count();
    let of_nidhugg = rows.iter().filter(|row| matches!(row.nidhugg, Some(Ended::Complete { .. }))).count();
    let _ = writeln!(
        text,
        "Of {} programs, the hunt runs all behaviours of {of_hunt}, and Nidhugg those of {of_nidhugg}; of the {} that both run, the numbers are equal for {}.\n",
        rows.len(),
        compared.len(),
        compared.iter().filter(|is_equal| **is_equal).count(),
    );
    text.push_str("| program | suite | hunt: behaviours | all | runs | CPU s | Nidhugg: traces | CPU s | equal | remarks |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for Row { program, hunted, nidhugg } in rows {
        let row = Row { program, hunted: hunted.clone(), nidhugg: nidhugg.clone() };
        let equal = row.is_equal().map_or("", |is_equal| if is_equal { "yes" } else { "no" });
        let all = if hunted.is_exhausted { "yes" } else { "no" };
        let theirs = nidhugg.as_ref().map_or("not measured | -".to_owned(), shown);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {all} | {} | {:.2} | {theirs} | {equal} | {} |",
            program.name,
            program.group,
            hunted.behaviours,
            hunted.runs,
            hunted.cpu,
            hunted.doubts.join("; "),
        );
    }
    text
}

/// The traces and the CPU seconds of a program that has no failure.
fn shown(ended: &Ended) -> String {
    match ended {
        Ended::Complete { traces, cpu } => format!("{traces} | {cpu:.2}"),
        Ended::Failed { error, .. } => format!("fails: {} | -", error.replace('|', "/")),
        Ended::Time | Ended::Refused { .. } => ended.shown(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_both_ran_is_compared() {
        let found = |exhausted: bool| {
            hunted(
                &serde_json::json!({ "behaviours": 3, "runs": 5, "exhausted": exhausted, "doubts": ["d"] }),
                1.0,
            )
        };
        let row = |hunted: Hunted, nidhugg: Option<Ended>| {
            let build = "true".to_owned();
            let program = Program { name: "p".to_owned(), build, ..Program::default() };
            Row { program: &program, hunted, nidhugg }.is_equal()
        };
        let complete = |traces| Some(Ended::Complete { traces, cpu: 1.0 });
        assert_eq!(found(true).doubts, ["d"]);
        assert_eq!(row(found(true), complete(3)), Some(true));
        assert_eq!(row(found(true), complete(4)), Some(false));
        assert_eq!(row(found(false), complete(3)), None);
        assert_eq!(row(found(true), Some(Ended::Time)), None);
        assert_eq!(row(found(true), None), None);
    }
}
