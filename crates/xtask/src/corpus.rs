//! `cargo xtask corpus`: hunts in all programs of corpus/pairs, and prints what was found beside what is expected.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use xtask::Outcome;
use xtask::cargo::{release_build, root};

#[derive(Deserialize)]
struct Expected {
    program: Vec<Program>,
}

#[derive(Deserialize)]
struct Program {
    file: String,
    #[serde(default)]
    silent: bool,
    #[serde(default)]
    finding: Vec<Bug>,
}

#[derive(Deserialize)]
struct Bug {
    kind: String,
}

/// What came of a hunt.
enum Result {
    /// As it should be.
    Right,
    /// The program's mistake shows as a failure or hang, but is not called what it is.
    OnlyFailure,
    /// Something was found in a correct program.
    Noisy,
    /// Nothing that is expected was found.
    Missed,
}

impl Result {
    fn of(program: &Program, found: &[String]) -> Result {
        match program.silent {
            true if found.is_empty() => Result::Right,
            true => Result::Noisy,
            false if program.finding.iter().all(|bug| found.contains(&bug.kind)) => Result::Right,
            false if found.iter().any(|kind| kind == "failure") => Result::OnlyFailure,
            false => Result::Missed,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Result::Right => "ok",
            Result::OnlyFailure => "as failure",
            Result::Noisy => "NOISY",
            Result::Missed => "MISSED",
        }
    }
}

/// Hunts in each, or in those that are named, for as many seconds as `--timeout` says, and fails if a correct program is not
/// silent. Mistakes that are not found are listed.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let (timeout, named) = match arguments {
        ["--timeout", seconds, named @ ..] => (Some(*seconds), named),
        named => (None, named),
    };
    let foretell = release_build()?;
    let pairs = root().join("corpus/pairs");
    let text = std::fs::read_to_string(pairs.join("expected.toml")).map_err(|error| error.to_string())?;
    let expected: Expected = toml::from_str(&text).map_err(|error| error.to_string())?;
    if let Some(unknown) =
        named.iter().find(|name| !expected.program.iter().any(|program| program.file == **name))
    {
        return Err(format!("there is no `{unknown}` in corpus/pairs"));
    }
    let programs =
        expected.program.iter().filter(|program| named.is_empty() || named.contains(&program.file.as_str()));
    let (mut count, mut noisy, mut missed) = (0, Vec::new(), Vec::new());
    println!("{:<28} {:<22} {:<34} result", "program", "expected", "found");
    for program in programs {
        count += 1;
        let found = hunt(&foretell, &pairs, &program.file, timeout)?;
        let wanted: Vec<&str> = match program.silent {
            true => vec!["silence"],
            false => program.finding.iter().map(|bug| bug.kind.as_str()).collect(),
        };
        let result = Result::of(program, &found);
        println!("{:<28} {:<22} {:<34} {}", program.file, wanted.join(", "), found.join(", "), result.name());
        match result {
            Result::Right | Result::OnlyFailure => {}
            Result::Noisy => noisy.push(program.file.as_str()),
            Result::Missed => missed.push(program.file.as_str()),
        }
    }
    println!("\n{count} programs; not silent: {}; not found: {}", noisy.len(), missed.len());
    match noisy.is_empty() {
        true => Ok(()),
        false => Err(format!("findings in correct programs: {}", noisy.join(", "))),
    }
}

/// The kinds of the findings that are shown; a hunt that ended without a report is listed with its status.
fn hunt(
    foretell: &str,
    pairs: &Path,
    file: &str,
    timeout: Option<&str>,
) -> std::result::Result<Vec<String>, String> {
    let results = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new(foretell);
    command.arg("hunt").arg(pairs.join(file)).args(["--json", "--quiet", "--results"]).arg(results.path());
    command.args(timeout.map(|seconds| format!("--timeout={seconds}")));
    if file.ends_with(".cc") {
        command.arg("--flags=-std=c++20");
    }
    let output = command.output().map_err(|error| format!("cannot run foretell: {error}"))?;
    let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else {
        return Ok(vec![format!("no report ({})", output.status)]);
    };
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    let shown = findings.iter().filter(|finding| finding["shown"] == true);
    let mut kinds: Vec<String> =
        shown.filter_map(|finding| finding["kind"].as_str().map(str::to_owned)).collect();
    kinds.sort();
    kinds.dedup();
    Ok(kinds)
}
