//! Suites that are interrupted and taken up again, and what of them is on the disk.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{foretell, json, project, row, tests};

const SECRET: &str = "correct-horse-battery-staple";

/// Runs a suite with one hunt at a time, and interrupts it when a line begins like this.
fn interrupt_at(place: &Path, line_of: &str, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.current_dir(place).args(["test", "--jobs", "1", "--timeout", "60"]).args(arguments);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut heard = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with(line_of) {
        line.clear();
        assert!(heard.read_line(&mut line).unwrap() > 0, "it ended too early");
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    std::io::copy(&mut heard, &mut std::io::sink()).unwrap();
    child.wait().unwrap();
}

/// The files below a directory, except those that links lead to.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| match path.is_dir() {
        true if path.is_symlink() => Vec::new(),
        true => files(&path),
        false => vec![path],
    };
    entries.flat_map(below).collect()
}

/// Whether a file has the secret: as it is, as a list of bytes, or in what is known of a recorded run.
fn has_secret(file: &Path) -> bool {
    let bytes = fs::read(file).unwrap();
    let plain: String = String::from_utf8_lossy(&bytes).split_whitespace().collect();
    let numbers = SECRET.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(",");
    let metadata = trace::native::metadata(&bytes).ok().flatten();
    plain.contains(SECRET) || plain.contains(&numbers) || format!("{metadata:?}").contains(SECRET)
}

/// Values that a suite sets for its tests are handed to their hunts, and are in no file, whether the suite ended or was interrupted.
#[test]
fn values_of_variables_stay_out_of_the_results() {
    let project = project(&format!(
        "export TOKEN={SECRET}\n./counter a\nCOUNTER_LOCKED={SECRET} ./counter b\nCOUNTER_LOCKED=1 ./counter c\n"
    ));
    let results = project.path().join(".foretell");
    let leaks = || files(&results).into_iter().filter(|file| has_secret(file)).collect::<Vec<_>>();
    interrupt_at(project.path(), "counter a:", &["--", "./check.sh"]);
    assert_eq!(leaks(), Vec::<PathBuf>::new());
    let output = foretell(project.path(), &["test", "--resume", "--json", "--timeout", "60"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    // The locked ones are so only with the values that the script sets.
    let expected = [
        row("counter a", "hunted", true),
        row("counter b", "hunted", false),
        row("counter c", "hunted", false),
    ];
    assert_eq!(tests(&json(&output)), expected);
    assert_eq!(leaks(), Vec::<PathBuf>::new());
    assert!(files(&results).iter().any(|file| file.ends_with("suite.json")));
    assert!(files(&results).iter().any(|file| file.extension().is_some_and(|extension| extension == "ftr")));
}

#[test]
fn an_interrupted_suite_is_taken_up_again() {
    let project = project("./counter a\n./counter b\n./counter c\n");
    // After the first test, before the last.
    interrupt_at(project.path(), "counter a:", &["--", "./check.sh"]);
    let output = foretell(project.path(), &["test", "--resume", "--json", "--timeout", "60"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let expected = [
        row("counter a", "hunted", true),
        row("counter b", "hunted", true),
        row("counter c", "hunted", true),
    ];
    assert_eq!(tests(&json(&output)), expected);
    // It is whole now, so nothing has to be run again, wherever that is asked.
    fs::remove_file(project.path().join("check.sh")).unwrap();
    let output = foretell(project.path(), &["test", "--resume", "--json"]);
    assert_eq!(tests(&json(&output)), expected);
}

#[test]
fn a_suite_is_taken_up_where_it_was_started_or_by_its_command() {
    let project = project("cd \"$(dirname \"$0\")\"\n./counter a\n./counter b\n");
    let script = project.path().join("check.sh").display().to_string();
    interrupt_at(project.path(), "counter a:", &["--", &script]);
    let elsewhere = tempfile::tempdir().unwrap();
    let results = project.path().join(".foretell").display().to_string();
    let resume = ["test", "--resume", "--json", "--timeout", "60", "--results", &results];
    let refused = foretell(elsewhere.path(), &resume);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("the suite was started in `") && said.contains("-- CMD"), "{said}");
    let named = foretell(elsewhere.path(), &[&resume[..], &["--", &script]].concat());
    assert_eq!(tests(&json(&named)), [row("counter a", "hunted", true), row("counter b", "hunted", true)]);
}

/// The options of a suite are those of its whole: seeds that are each searched by themselves, and options of the hunts.
#[test]
fn options_are_the_same_when_a_suite_is_taken_up_again() {
    let project = project("./counter a\n./counter b\n");
    let options = ["--seeds", "2", "--hunt", "--only deadlock", "--", "./check.sh"];
    interrupt_at(project.path(), "counter a", &options);
    let output = foretell(project.path(), &["test", "--resume", "--json", "--timeout", "60"]);
    let report = json(&output);
    assert_eq!(report["findings"], serde_json::json!([]), "races were not asked for");
    assert_eq!(report["tests"].as_array().unwrap().len(), 2);
    let results = files(&project.path().join(".foretell/1"));
    let hunts: Vec<Value> = results
        .iter()
        .filter(|file| {
            file.ends_with("findings.json") && file.components().any(|part| part.as_os_str() == "tests")
        })
        .map(|file| serde_json::from_slice(&fs::read(file).unwrap()).unwrap())
        .collect();
    assert_eq!(hunts.len(), 4, "{results:#?}");
    assert!(hunts.iter().all(|hunt| hunt["ended"] == "recorded-run-only"), "{hunts:#?}");
}
