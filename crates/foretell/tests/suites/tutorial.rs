//! docs/tutorial: every command is run, every file written, every patch applied, and the CI job is run by its own steps.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testing::session::{SessionStep, compare, steps};

use super::workflow::{JobResult, root, run_job, shell};

/// The workflow that the pages write.
const WORKFLOW: &str = ".github/workflows/foretell.yml";

#[test]
fn a_cmake_project_from_its_first_hunt_to_a_green_job() {
    if testing::has("cmake") && testing::has("ctest") {
        follow("docs/tutorial/cmake.md");
    }
}

#[test]
fn a_cargo_workspace_from_its_first_hunt_to_a_green_job() {
    if testing::has("cargo") {
        follow("docs/tutorial/cargo.md");
    }
}

/// Does what a page says, as a reader with a checkout of the repository does.
fn follow(page: &str) {
    let page = fs::read_to_string(root().join(page)).unwrap();
    let place = tempfile::tempdir().unwrap();
    let mut here = place.path().canonicalize().unwrap();
    copy(&root().join("examples"), &here.join("examples"));
    let mut jobs = Vec::new();
    for step in steps(&page) {
        match step {
            SessionStep::Command { command, expected } => match command.strip_prefix("cd ") {
                Some(directory) => here = here.join(directory),
                None => run(&command, &expected, &here),
            },
            SessionStep::File { path, content } => {
                let path = here.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            SessionStep::Patch(patch) => apply(&patch, &here),
            SessionStep::Test(words) => jobs.push(job(&words, &here)),
        }
    }
    // From a job that fails to one that passes.
    assert_eq!(jobs, [true, false], "the page runs its job before and after the fix");
}

fn run(command: &str, expected: &[String], here: &Path) {
    let output = shell(&format!("exec 2>&1; set +e; {command}"), here).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    compare(expected, &printed).unwrap_or_else(|why| panic!("$ {command}\n{why}; but:\n{printed}"));
}

fn apply(patch: &str, here: &Path) {
    let mut command = Command::new("git");
    command.args(["apply", "--verbose", "-"]).current_dir(here).stdin(Stdio::piped());
    // Not the repository that the directory may be in.
    command.env("GIT_CEILING_DIRECTORIES", here.parent().unwrap());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), patch.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{patch}");
}

/// Runs the job as the page says: `job hunt fails` or `job hunt passes`; whether it failed.
fn job(words: &str, here: &Path) -> bool {
    let (job, fails) = match words.split_whitespace().collect::<Vec<_>>()[..] {
        ["job", job, "fails"] => (job.to_owned(), true),
        ["job", job, "passes"] => (job.to_owned(), false),
        _ => panic!("unknown: {words}"),
    };
    // A checkout of its own, which has what was committed.
    let checkout = tempfile::tempdir().unwrap();
    let is_committed = |name: &str| !["target", ".foretell"].contains(&name) && !name.starts_with("build");
    for entry in fs::read_dir(here).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), checkout.path().join(entry.file_name()));
        match entry.file_type().unwrap().is_dir() {
            _ if !is_committed(&entry.file_name().to_string_lossy()) => {}
            true => copy(&from, &to),
            false => drop(fs::copy(from, to).unwrap()),
        }
    }
    let here = checkout.path();
    let result: JobResult = run_job(&here.join(WORKFLOW), &job, here, &[]);
    assert_eq!(result.failed, fails, "{}", result.log);
    assert_eq!(result.summary.contains("confirmed;"), fails, "{}", result.summary);
    // What is uploaded exists, and names files of the project.
    let (_, sarif) =
        result.used.iter().find(|(action, _)| action.starts_with("github/codeql-action/")).unwrap();
    let sarif: PathBuf = here.join(&sarif["sarif_file"]);
    let sarif: serde_json::Value = serde_json::from_slice(&fs::read(sarif).unwrap()).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.is_empty(), !fails, "{results:#?}");
    for place in results.iter().map(|result| &result["locations"][0]["physicalLocation"]["artifactLocation"])
    {
        let uri = place["uri"].as_str().unwrap();
        assert!(here.join(uri).is_file() && !uri.starts_with('/'), "{uri}");
    }
    let (_, artifact) =
        result.used.iter().find(|(action, _)| action.starts_with("actions/upload-artifact@")).unwrap();
    for path in artifact["path"].lines() {
        assert!(here.join(path.trim()).exists(), "{path}");
    }
    fails
}

/// Copies a directory with all in it.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}
