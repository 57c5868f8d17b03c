//! The runs that hunts and suites have kept: what each was, and removing old ones.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Serialize, Serializer};

use crate::error::Error;
use crate::saved;
use crate::suite::Plan;

/// The number of runs that hunts keep, the newest.
const KEPT: usize = 50;

/// What a run's directory may hold, so that nothing else is taken for one.
const OF_A_RUN: [&str; 5] = [saved::FINDINGS, saved::TRACE, "output.txt", "report.html", "suite.json"];

/// A run that is kept. As JSON, its contract is docs/json.md.
#[derive(Clone, Debug, Serialize)]
pub struct KeptRun {
    /// Its number.
    pub number: u64,
    /// Its directory.
    #[serde(rename = "directory", serialize_with = "displayed")]
    pub path: PathBuf,
    /// The program and its arguments, or the test command.
    pub command: String,
    /// How much room it takes.
    pub bytes: u64,
    /// How long ago it was last written to.
    pub seconds_ago: u64,
    /// The tests of a suite.
    pub tests: Option<usize>,
    /// How many findings it shows; none: it was interrupted before it found out.
    pub findings: Option<usize>,
}

/// A path as text, whatever its bytes are.
fn displayed<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// The runs in a directory of results, the oldest first. Without the directory there are none.
pub fn runs(results: &Path) -> Result<Vec<KeptRun>, Error> {
    let cannot = |error| Error::io("read", format!("`{}`", results.display()), error);
    let entries = match fs::read_dir(results) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot(error)),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry.map_err(cannot)?;
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // A link may lead anywhere.
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if let (Some(number), true) = (number, is_directory) {
            runs.extend(run(number, entry.path()));
        }
    }
    runs.sort_by_key(|run| run.number);
    Ok(runs)
}

fn run(number: u64, path: PathBuf) -> Option<KeptRun> {
    let is_run = OF_A_RUN.iter().any(|name| path.join(name).exists());
    let is_empty = || fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_none());
    if !is_run && !is_empty() {
        return None;
    }
    let findings = saved::read(&path.join(saved::FINDINGS)).ok();
    let shown = findings
        .as_ref()
        .map(|found| found.findings.iter().filter(|finding| finding.shown != Some(false)).count());
    let plan = Plan::load(&path).ok();
    let command = match &plan {
        Some(plan) => plan.command_in_words(),
        None => command_of(&path.join(saved::TRACE)),
    };
    let modified = fs::metadata(&path).and_then(|facts| facts.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let seconds_ago = SystemTime::now().duration_since(modified).unwrap_or_default().as_secs();
    let tests = plan.map(|plan| plan.tests.len());
    Some(KeptRun { number, command, bytes: size(&path), path, seconds_ago, tests, findings: shown })
}

/// The command that a trace was recorded of; empty if it cannot be read.
fn command_of(trace: &Path) -> String {
    let bytes = run::mapping::map_file(trace).ok();
    let metadata = bytes.and_then(|bytes| trace::native::metadata(&bytes).ok().flatten());
    metadata.map(|metadata| metadata.command.join(" ")).unwrap_or_default()
}

/// How much room a directory takes; links are not followed.
fn size(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(facts) if facts.is_dir() => size(&entry.path()),
        Ok(facts) => facts.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Removes all runs but the `keep` newest. Returns those that were removed.
pub fn prune(results: &Path, keep: usize) -> Result<Vec<KeptRun>, Error> {
    let mut runs = runs(results)?;
    runs.truncate(runs.len().saturating_sub(keep));
    for run in &runs {
        fs::remove_dir_all(&run.path)
            .map_err(|error| Error::io("remove", format!("`{}`", run.path.display()), error))?;
    }
    Ok(runs)
}

/// Removes runs beyond those that are kept without being asked for. That some cannot be removed is no reason to fail.
pub(crate) fn keep_newest(results: &Path) {
    let _ = prune(results, KEPT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_runs_are_removed_and_nothing_else() {
        let results = tempfile::tempdir().unwrap();
        let at = |name: &str| results.path().join(name);
        for number in ["1", "2", "10"] {
            fs::create_dir(at(number)).unwrap();
            fs::write(at(number).join("output.txt"), "12345").unwrap();
        }
        fs::create_dir(at("3")).unwrap();
        fs::write(at("3").join("thesis.tex"), "").unwrap();
        fs::create_dir(at("4")).unwrap();
        std::os::unix::fs::symlink("10", at("latest")).unwrap();
        std::os::unix::fs::symlink("/", at("5")).unwrap();
        fs::write(at("7"), "a file").unwrap();
        let numbers = |runs: Vec<KeptRun>| runs.iter().map(|run| run.number).collect::<Vec<_>>();
        assert_eq!(numbers(runs(results.path()).unwrap()), [1, 2, 4, 10]);
        let first = serde_json::to_value(&runs(results.path()).unwrap()[0]).unwrap();
        assert_eq!(first["directory"], at("1").display().to_string());
        assert_eq!((&first["bytes"], &first["findings"]), (&5.into(), &serde_json::Value::Null));
        assert!(first["seconds_ago"].as_u64().unwrap() < 3600, "{first}");
        assert_eq!(numbers(prune(results.path(), 2).unwrap()), [1, 2]);
        assert_eq!(numbers(runs(results.path()).unwrap()), [4, 10]);
        assert!(at("3").join("thesis.tex").exists() && at("7").exists() && at("5").exists());
        assert!(numbers(prune(results.path(), 0).unwrap()) == [4, 10]);
        assert!(runs(&at("nowhere")).unwrap().is_empty());
    }
}
