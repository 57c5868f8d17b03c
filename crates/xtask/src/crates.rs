//! `cargo xtask crates`: hunts in the programs of corpus/crates, which use the concurrency crates of crates.io, and keeps the table of
//! docs/rust.md.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use xtask::Outcome;
use xtask::cargo::{release_build, root};

/// The lines of docs/rust.md that the table is between.
const START: &str = "<!-- written by `cargo xtask crates` -->";
const END: &str = "<!-- end -->";
const HEAD: &str = "| program | correct | bug | found |\n|---|---|---|---|\n";

/// What is expected of the programs with a bug, by name.
#[derive(Deserialize)]
struct Expected {
    program: BTreeMap<String, Bug>,
}

#[derive(Deserialize)]
struct Bug {
    /// The feature of corpus/crates that the program needs.
    feature: String,
    /// The kinds of findings, one of which is to be shown.
    kinds: Vec<String>,
}

/// What to hunt in, and how.
struct Options<'a> {
    /// Seconds for each hunt.
    timeout: &'a str,
    /// The program to hunt with; none: a release build.
    foretell: Option<&'a str>,
    /// The programs; none: all.
    named: Vec<&'a str>,
}

impl<'a> Options<'a> {
    fn of(arguments: &[&'a str]) -> Result<Options<'a>, String> {
        let mut options = Options { timeout: "60", foretell: None, named: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            let mut value = || rest.next().copied().ok_or(format!("`{argument}` needs a value"));
            match argument {
                "--timeout" => options.timeout = value()?,
                "--foretell" => options.foretell = Some(value()?),
                _ => options.named.push(argument),
            }
        }
        Ok(options)
    }
}

/// Builds and hunts in each pair, or in those that are named, and writes their rows of the table. Fails if a correct program is not silent.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let options = Options::of(arguments)?;
    let foretell = match options.foretell {
        Some(program) => std::path::absolute(program).map_err(|error| error.to_string())?,
        None => PathBuf::from(release_build()?),
    };
    let expected = expected()?;
    if let Some(unknown) = options.named.iter().find(|name| !expected.program.contains_key(**name)) {
        return Err(format!("there is no `{unknown}` in corpus/crates"));
    }
    let mut noisy = Vec::new();
    for (name, bug) in &expected.program {
        if !options.named.is_empty() && !options.named.contains(&name.as_str()) {
            continue;
        }
        let row = hunt_in_pair(&foretell, name, bug, options.timeout)?;
        println!("{row}");
        if row.contains("FALSE ALARM") {
            noisy.push(name.clone());
        }
        keep(name, &row)?;
    }
    if noisy.is_empty() { Ok(()) } else { Err(format!("findings in correct programs: {}", noisy.join(", "))) }
}

fn expected() -> Result<Expected, String> {
    let path = root().join("corpus/crates/expected.toml");
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    toml::from_str(&text).map_err(|error| error.to_string())
}

/// The row of a crate: what the correct program and the one with the bug show.
fn hunt_in_pair(foretell: &Path, name: &str, bug: &Bug, timeout: &str) -> Result<String, String> {
    let with_bug = format!("{name}_bug");
    let target = root().join("target/crates");
    let mut build = Command::new(foretell);
    build.current_dir(root().join("corpus/crates")).env("CARGO_TARGET_DIR", &target);
    build.args(["cargo", "--no-build-std", "build", "--quiet", "--locked", "--features", &bug.feature]);
    build.args(["--bin", name, "--bin", &with_bug]);
    if !build.status().map_err(|error| format!("cannot run foretell: {error}"))?.success() {
        return Err(format!("`{name}` of corpus/crates does not build"));
    }
    let programs = target.join("x86_64-unknown-linux-gnu/debug");
    let silence = hunt(foretell, &programs.join(name), timeout)?;
    let found = hunt(foretell, &programs.join(&with_bug), timeout)?;
    let silence =
        if silence.is_empty() { "silent".to_owned() } else { format!("FALSE ALARM: {}", silence.join(", ")) };
    let is_found = found.iter().any(|kind| bug.kinds.contains(kind));
    Ok(row(name, &silence, if is_found { "found" } else { "missed" }, &found))
}

fn row(name: &str, silence: &str, is_found: &str, found: &[String]) -> String {
    format!("| `{name}` | {silence} | {is_found} | {} |", found.join(", "))
}

/// The kinds of findings that a hunt shows.
fn hunt(foretell: &Path, program: &Path, timeout: &str) -> Result<Vec<String>, String> {
    let results = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new(foretell);
    command.args(["hunt", "--json", "--quiet", "--timeout", timeout, "--results"]).arg(results.path());
    let output = command.arg("--").arg(program).output();
    let output = output.map_err(|error| format!("cannot run foretell: {error}"))?;
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

fn document() -> PathBuf {
    root().join("docs/rust.md")
}

/// Puts a row into the table, in the place of the one for the same program.
fn keep(name: &str, row: &str) -> Outcome {
    let text = std::fs::read_to_string(document()).map_err(|error| error.to_string())?;
    let text = with_row(&text, name, row)?;
    std::fs::write(document(), text).map_err(|error| error.to_string())
}

fn with_row(text: &str, name: &str, row: &str) -> Result<String, String> {
    let (before, rest) = text.split_once(START).ok_or("docs/rust.md has no table")?;
    let (table, after) = rest.split_once(END).ok_or("the table of docs/rust.md has no end")?;
    let mut rows: BTreeMap<&str, &str> =
        table.lines().filter_map(|line| Some((name_of(line)?, line))).collect();
    rows.insert(name, row);
    let rows: Vec<&str> = rows.into_values().collect();
    Ok(format!("{before}{START}\n\n{HEAD}{}\n\n{END}{after}", rows.join("\n")))
}

/// The program that a row is about.
fn name_of(row: &str) -> Option<&str> {
    row.strip_prefix("| `")?.split('`').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_a_twin_and_a_row_that_says_what_happened() {
        let expected = expected().unwrap();
        let text = std::fs::read_to_string(document()).unwrap();
        let table = text.split_once(START).and_then(|(_, rest)| rest.split_once(END)).unwrap().0;
        let rows: BTreeMap<&str, &str> =
            table.lines().filter_map(|line| Some((name_of(line)?, line))).collect();
        assert!(rows.keys().copied().eq(expected.program.keys().map(String::as_str)), "{rows:?}");
        for (name, row) in rows {
            assert!(row.contains("| silent |"), "{row}");
            assert!(row.contains("| found |") || row.contains("| missed |"), "{row}");
            for file in [format!("{name}.rs"), format!("{name}_bug.rs")] {
                assert!(root().join("corpus/crates/src/bin").join(&file).is_file(), "{file}");
            }
        }
    }

    #[test]
    fn a_row_takes_the_place_of_the_old_one() {
        let text = format!("# Rust\n{START}\n{END}\nmore\n");
        let first = with_row(&text, "spin", &row("spin", "silent", "missed", &[])).unwrap();
        let both = with_row(&first, "rayon", &row("rayon", "silent", "found", &["failure".into()])).unwrap();
        let last = with_row(&both, "spin", &row("spin", "silent", "found", &["deadlock".into()])).unwrap();
        let rows: Vec<&str> = last.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(
            rows,
            ["| `rayon` | silent | found | failure |", "| `spin` | silent | found | deadlock |"]
        );
        assert!(last.ends_with("more\n") && with_row("", "spin", "").is_err());
    }
}
