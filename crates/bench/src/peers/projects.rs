//! `cargo xtask bench projects`: real projects as they are, fetched from Debian or crates.io, built unmodified, and hunted in with the defaults.
//!
//! bench/peers.toml lists them, and what is known of findings in them from reading their source; `cargo xtask bench peers` measures them as well.
//! `FORETELL` may name a binary to be measured, and `FORETELL_PROJECTS` the projects, separated by commas. What was measured is kept in
//! `target/projects-cells.jsonl`: the command can be interrupted, and goes on where it was. What cannot be had is skipped, and the report says so.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::manifest::{Judgement, Project, Sources, Verdict, judgement_of};
use super::place::{Place, fetched};
use super::trial::Finding;
use crate::cells::Cells;
use crate::measure::measured_binary;
use xtask::Outcome;
use xtask::machine::circumstances;
use xtask::results::store_report;
use xtask::scratch::with_directory;

/// The result of a project.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    name: String,
    version: String,
    /// Of the recorded run; none: a suite has several.
    events: Option<u64>,
    runs: u64,
    /// The programs of a suite that were hunted in.
    tests: usize,
    /// What the report shows; and how many more findings there are that it does not show.
    shown: Vec<Finding>,
    hidden: usize,
    seconds: f64,
}

pub(crate) fn run() -> Outcome {
    let (built, build) = measured_binary()?;
    let mut section = format!("## Projects as they are\n\n{} {build}\n", circumstances().trim_end());
    let sources = Sources::debian(Path::new(""))?;
    let asked = std::env::var("FORETELL_PROJECTS").ok();
    let is_asked = |project: &&Project| {
        asked.as_ref().is_none_or(|asked| asked.split(',').any(|name| name == project.name))
    };
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    with_directory(|directory| {
        // A copy, so that building can go on meanwhile.
        let foretell = directory.join("foretell");
        std::fs::copy(&built, &foretell).map_err(|error| format!("cannot copy foretell: {error}"))?;
        let mut cells = Cells::of("projects", &foretell, None)?;
        for project in sources.manifest.project.iter().filter(is_asked) {
            eprintln!("measuring: {}", project.name);
            let place = directory.join(&project.name);
            let trial = Trial { foretell: &foretell, project, place: &place, directory };
            match cells.get(&project.name, || trial.row()) {
                Ok(row) => rows.push(row),
                Err(reason) => {
                    let first = reason.lines().next().unwrap_or_default();
                    let reason = first.replace(&*directory.to_string_lossy(), "..");
                    skipped.push(format!("{}: {reason}", project.name));
                }
            }
            let _ = std::fs::remove_dir_all(&place);
        }
        Ok(())
    })?;
    let judged: Vec<&Judgement> = sources.manifest.judged.iter().collect();
    section.push_str(&report(&rows, &skipped, &judged));
    let count = |verdict| rows.iter().map(|row| of(row, &judged, verdict)).sum::<usize>();
    let headline = format!(
        "{} of {} projects hunted in: {} bugs, {} harmless, {} false alarms, {} findings not judged",
        rows.len(),
        rows.len() + skipped.len(),
        count(Some(Verdict::Bug)),
        count(Some(Verdict::Harmless)),
        count(Some(Verdict::FalseAlarm)),
        count(None)
    );
    store_report("projects", &headline, &section)
}

struct Trial<'a> {
    foretell: &'a Path,
    project: &'a Project,
    /// Where it is built.
    place: &'a Path,
    directory: &'a Path,
}

impl Trial<'_> {
    fn row(&self) -> Result<Row, String> {
        let Project { name, package, release, build, hunt } = self.project;
        let (source, version) = fetched(name, package.as_deref(), release.as_ref(), self.directory)?;
        let place = Place { foretell: self.foretell, directory: self.place };
        place.fill(&source)?;
        place.shell(build, "build.log")?;
        let start = Instant::now();
        // A hunt that finds something ends with another status than 0.
        let said = place.shell(&format!("{hunt} || true"), "hunt.log")?;
        let seconds = start.elapsed().as_secs_f64();
        let found: Value = serde_json::from_str(&said).map_err(|error| {
            let log = std::fs::read_to_string(self.place.join("hunt.log")).unwrap_or_default();
            format!("hunt: {error}: {}", log.lines().last().unwrap_or_default())
        })?;
        let findings = found["findings"].as_array().cloned().unwrap_or_default();
        let (shown, hidden): (Vec<_>, Vec<_>) =
            findings.iter().partition(|finding| finding["shown"] != false);
        Ok(Row {
            name: name.clone(),
            version,
            events: found["trace"]["events"].as_u64(),
            runs: found["runs"].as_u64().unwrap_or(0),
            tests: found["tests"].as_array().map_or(0, Vec::len),
            shown: shown.into_iter().map(Finding::of).collect(),
            hidden: hidden.len(),
            seconds,
        })
    }
}

/// How many findings of a project have this judgement; none: no judgement.
fn of(row: &Row, judged: &[&Judgement], wanted: Option<Verdict>) -> usize {
    let verdict =
        |finding: &&Finding| judgement_of(&row.name, finding, judged).map(|judged| judged.verdict) == wanted;
    row.shown.iter().filter(verdict).count()
}

fn report(rows: &[Row], skipped: &[String], judged: &[&Judgement]) -> String {
    let mut text = String::from(
        "\n`cargo xtask bench projects`: sources of Debian's packages and releases of crates.io, built unmodified with `foretell cc`, `foretell c++` or \
         `foretell cargo`, as bench/peers.toml says, and hunted in with the defaults. Findings that a hunt shows are judged by reading the source \
         (bench/peers.toml); it counts others (diverged, or patterns without visible effect) without showing them.\n\n\
         | project | version | tests | events of the recorded run | runs | shown | confirmed | bugs | harmless | false alarms | not judged | not shown | seconds |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let confirmed = row.shown.iter().filter(|finding| finding.rung == "confirmed").count();
        let number = |number: u64| if number == 0 { "-".to_owned() } else { number.to_string() };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {confirmed} | {} | {} | {} | {} | {} | {:.0} |",
            row.name,
            row.version,
            number(row.tests as u64),
            number(row.events.unwrap_or(0)),
            number(row.runs),
            row.shown.len(),
            of(row, judged, Some(Verdict::Bug)),
            of(row, judged, Some(Verdict::Harmless)),
            of(row, judged, Some(Verdict::FalseAlarm)),
            of(row, judged, None),
            row.hidden,
            row.seconds
        );
    }
    if !skipped.is_empty() {
        text.push_str("\nNot measured:\n\n");
        skipped.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
    }
    text.push_str("\n### One by one\n\n");
    for row in rows {
        for finding in &row.shown {
            let words = match judgement_of(&row.name, finding, judged) {
                Some(judged) => judged.words(),
                None => "not judged".to_owned(),
            };
            let Finding { kind, object, places, rung } = finding;
            let _ = writeln!(
                text,
                "- {}: {kind} on `{object}`, {}, {rung}; {words}",
                row.name,
                places.join(" and ")
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_counted_by_what_is_known_of_them() {
        let finding = |places: &[&str], rung: &str| Finding {
            kind: "race".to_owned(),
            object: "x".to_owned(),
            places: places.iter().map(|place| (*place).to_owned()).collect(),
            rung: rung.to_owned(),
        };
        let row = Row {
            name: "libuv".to_owned(),
            version: "1".to_owned(),
            events: None,
            runs: 0,
            tests: 3,
            shown: vec![finding(&["a.c:1", "a.c:2"], "confirmed"), finding(&["b.c:1"], "predicted")],
            hidden: 1,
            seconds: 2.0,
        };
        let known = Judgement {
            program: "libuv".to_owned(),
            places: vec!["a.c:1".to_owned(), "a.c:2".to_owned()],
            verdict: Verdict::Bug,
            why: "no lock".to_owned(),
        };
        let text = report(&[row], &["nginx: it is not there".to_owned()], &[&known]);
        assert!(text.contains("| libuv | 1 | 3 | - | - | 2 | 1 | 1 | 0 | 0 | 1 | 1 | 2 |"), "{text}");
        assert!(text.contains("a.c:1 and a.c:2, confirmed; a bug: no lock"), "{text}");
        assert!(text.contains("- nginx: it is not there"), "{text}");
    }

    #[test]
    fn every_project_says_where_it_is_from() {
        let sources = Sources::debian(Path::new("")).unwrap();
        assert!(!sources.manifest.project.is_empty());
        for project in &sources.manifest.project {
            assert!(project.package.is_some() != project.release.is_some(), "{}", project.name);
            assert!(project.hunt.contains("--json"), "{}", project.name);
        }
    }
}
