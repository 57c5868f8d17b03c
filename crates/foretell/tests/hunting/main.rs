//! `foretell hunt` as a newcomer uses it: on the examples. What each has is in examples/expected.toml; the fixed twins
//! have nothing, and everything that is expected must be seen happening.

mod as_they_are;
mod behaviours;
mod cargo;
mod cpp;
mod endings;
mod failures;
mod fixes;
mod grouping;
mod interrupts;
mod ladder;
mod libomp;
mod memory;
mod misuse;
mod openmp;
mod options;
mod pairs;
mod repetitions;
mod rounds;
mod rust;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Expected {
    program: Vec<Program>,
}

#[derive(Deserialize)]
struct Program {
    file: String,
    finding: Vec<Bug>,
}

#[derive(Deserialize)]
struct Bug {
    kind: String,
    lines: Vec<String>,
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap()
}

fn foretell(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.current_dir(directory).args(arguments).env_remove("FORETELL_OPTIONS").output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// The number of the one line that has the fragment.
fn line_of(source: &str, fragment: &str) -> usize {
    let mut lines = source.lines().enumerate().filter(|(_, line)| line.contains(fragment));
    let (index, _) = lines.next().unwrap_or_else(|| panic!("no line has `{fragment}`"));
    assert!(lines.next().is_none(), "several lines have `{fragment}`");
    index + 1
}

/// The lines of a finding, or of further places of its, sorted.
fn lines_of(finding: &Value) -> Vec<usize> {
    let locations = finding["locations"].as_array().unwrap();
    let line = |location: &Value| location.as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
    sorted(locations.iter().map(line))
}

/// Whether a finding is at these lines, or its cause shows there, too.
fn is_at(finding: &Value, lines: &[usize]) -> bool {
    let further = finding["more"].as_array().into_iter().flatten();
    std::iter::once(finding).chain(further).any(|places| lines_of(places) == lines)
}

fn sorted(lines: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut lines: Vec<usize> = lines.collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

fn hunt_in(program: &Program) {
    let directory = tempfile::tempdir().unwrap();
    let source = std::fs::read_to_string(examples().join(&program.file)).unwrap();
    std::fs::write(directory.path().join(&program.file), &source).unwrap();
    let output = foretell(directory.path(), &["hunt", &program.file, "--json", "--quiet", "--timeout", "10"]);
    let found = json(&output);
    let findings = found["findings"].as_array().unwrap();
    if program.finding.is_empty() {
        let shown = findings.iter().filter(|finding| finding["shown"] == true).count();
        assert_eq!(shown, 0, "{}: {found:#}", program.file);
        assert_eq!(output.status.code(), Some(0));
        return;
    }
    assert_eq!(output.status.code(), Some(1));
    for bug in &program.finding {
        let lines = sorted(bug.lines.iter().map(|fragment| line_of(&source, fragment)));
        let meant = |finding: &&Value| finding["kind"] == bug.kind.as_str() && is_at(finding, &lines);
        let finding = findings
            .iter()
            .find(meant)
            .unwrap_or_else(|| panic!("{}: no {} at lines {lines:?}: {found:#}", program.file, bug.kind));
        assert_eq!(finding["rung"], "confirmed", "{}: {finding:#}", program.file);
        assert_eq!(finding["shown"], true, "{}: {finding:#}", program.file);
        assert_eq!(
            finding["replay"]["confirmed"], finding["replay"]["times"],
            "{}: {finding:#}",
            program.file
        );
    }
}

#[test]
fn every_example_has_what_it_is_said_to_have() {
    let expected: Expected =
        toml::from_str(&std::fs::read_to_string(examples().join("expected.toml")).unwrap()).unwrap();
    assert!(expected.program.len() >= 18);
    for program in &expected.program {
        hunt_in(program);
    }
}

#[test]
fn a_hunt_leaves_what_the_other_commands_take_up() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::copy(examples().join("weather_station.c"), here.join("station.c")).unwrap();
    let hunted = foretell(here, &["hunt", "station.c", "--sarif", "found.sarif"]);
    assert_eq!(hunted.status.code(), Some(1), "{hunted:?}");
    let text = String::from_utf8_lossy(&hunted.stdout);
    assert!(text.contains("confirmed") && text.contains("Happened in 3 of 3 replays."), "{text}");
    let run = here.join(".foretell/latest");
    for file in ["trace.ftr", "findings.json", "race-1.sched", "report.html", "output.txt", "station"] {
        assert!(run.join(file).is_file(), "{file}");
    }
    assert!(here.join("found.sarif").is_file());
    let shown = foretell(here, &["show", ".foretell/latest", "race-1"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("Happened in"), "{shown:?}");
    let replayed = foretell(here, &["replay", ".foretell/latest", "race-1", "--times", "20", "--json"]);
    assert_eq!(json(&replayed)["confirmed"], 20, "{replayed:?}");
    let mailed = foretell(
        here,
        &["replay", "--schedule", ".foretell/latest/race-1.sched", "--", "./.foretell/1/station"],
    );
    assert_eq!(mailed.status.code(), Some(1), "{mailed:?}");
    let built = foretell(here, &["hunt", "--quiet", "--", "./.foretell/1/station"]);
    assert_eq!(built.status.code(), Some(1), "{built:?}");
    assert_eq!(std::fs::read_link(&run).unwrap(), Path::new("2"));
}

#[test]
fn what_cannot_be_hunted_in_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("broken.c"), "int main(void) { return }").unwrap();
    for (arguments, says) in [
        (&["hunt", "broken.c"][..], "does not compile"),
        (&["hunt", "notes.txt"], "C, C++ or Rust source file"),
        (&["hunt", "--", "/bin/true"], "not instrumented"),
        (&["hunt", "--", "./nowhere"], "nowhere"),
        (&["hunt"], "Usage"),
    ] {
        let output = foretell(directory.path(), arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(says), "{arguments:?}: {text}");
    }
}

#[test]
fn progress_is_shown_on_terminals_only() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::copy(examples().join("weather_station.c"), here.join("station.c")).unwrap();
    let hunted = foretell(here, &["hunt", "station.c"]);
    let plain = String::from_utf8_lossy(&hunted.stderr).into_owned();
    let lines: Vec<&str> = plain.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(
        lines,
        ["built", "recorded", "predicted", "confirmed", "replayed:", "covered:", "report:"],
        "{plain}"
    );
    assert!(!plain.contains(['\r', '\u{1b}']), "{plain:?}");
    // `script` gives it a terminal.
    let command = format!("{} hunt station.c --times 10", env!("CARGO_BIN_EXE_foretell"));
    let shown =
        Command::new("script").args(["-qc", &command, "/dev/null"]).current_dir(here).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    for part in ["replaying race-1 [", "findings, "] {
        assert!(shown.contains(part), "{part}: {shown:?}");
    }
    let command = command + " --quiet";
    let quiet =
        Command::new("script").args(["-qc", &command, "/dev/null"]).current_dir(here).output().unwrap();
    let quiet = String::from_utf8_lossy(&quiet.stdout).into_owned();
    assert!(!quiet.contains("replaying") && quiet.contains("SUMMARY:"), "{quiet:?}");
}
