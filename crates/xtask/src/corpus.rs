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

/// Hunts in each, and fails if a correct program is not silent. Mistakes that are not found are listed.
pub(crate) fn run() -> Outcome {
    let foretell = release_build()?;
    let pairs = root().join("corpus/pairs");
    let text = std::fs::read_to_string(pairs.join("expected.toml")).map_err(|error| error.to_string())?;
    let expected: Expected = toml::from_str(&text).map_err(|error| error.to_string())?;
    let (mut noisy, mut missed) = (Vec::new(), Vec::new());
    println!("{:<28} {:<22} {:<34} result", "program", "expected", "found");
    for program in &expected.program {
        let found = hunt(&foretell, &pairs, &program.file)?;
        let wanted: Vec<&str> = match program.silent {
            true => vec!["silence"],
            false => program.finding.iter().map(|bug| bug.kind.as_str()).collect(),
        };
        let is_right = match program.silent {
            true => found.is_empty(),
            false => program.finding.iter().all(|bug| found.contains(&bug.kind)),
        };
        let result = if is_right { "ok" } else { "WRONG" };
        println!("{:<28} {:<22} {:<34} {result}", program.file, wanted.join(", "), found.join(", "));
        if !is_right {
            if program.silent { &mut noisy } else { &mut missed }.push(program.file.as_str());
        }
    }
    println!(
        "\n{} programs; not silent: {}; not found: {}",
        expected.program.len(),
        noisy.len(),
        missed.len()
    );
    match noisy.is_empty() {
        true => Ok(()),
        false => Err(format!("findings in correct programs: {}", noisy.join(", "))),
    }
}

/// The kinds of the findings that are shown.
fn hunt(foretell: &str, pairs: &Path, file: &str) -> Result<Vec<String>, String> {
    let results = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new(foretell);
    command.arg("hunt").arg(pairs.join(file)).args(["--json", "--quiet", "--results"]).arg(results.path());
    if file.ends_with(".cc") {
        command.arg("--flags=-std=c++20");
    }
    let output = command.output().map_err(|error| format!("cannot run foretell: {error}"))?;
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("{file}: {error}"))?;
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    let shown = findings.iter().filter(|finding| finding["shown"] == true);
    let mut kinds: Vec<String> =
        shown.filter_map(|finding| finding["kind"].as_str().map(str::to_owned)).collect();
    kinds.sort();
    kinds.dedup();
    Ok(kinds)
}
