//! The GitHub Action, the GitLab template, and the examples of matrices in docs/suites.md, run locally.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::tutorial::copy;
use super::workflow::{root, run_job, shell, yaml};

/// A workflow with one job that uses the action.
fn workflow(directory: &Path, with: &[&str]) -> std::path::PathBuf {
    let with: String = with.iter().map(|line| format!("          {line}\n")).collect();
    let text = format!(
        "jobs:\n  hunt:\n    steps:\n      - uses: foretell/foretell@main\n        id: foretell\n        with:\n{with}"
    );
    let path = directory.join("workflow.yml");
    fs::write(&path, text).unwrap();
    path
}

/// A project without a build system.
fn project() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().join("below");
    copy(&root().join("examples/bazel-counter"), &below);
    // Run as it is, it loses a count now and then, and a job would fail for that.
    let source = fs::read_to_string(below.join("counter_test.c")).unwrap();
    fs::write(below.join("counter_test.c"), source.replace("return counter == 2 ? 0 : 1", "return 0"))
        .unwrap();
    directory
}

const BUILD: &str = "build: $CC -g -pthread counter_test.c -o counter_test";
const TEST: &str = "test: ./counter_test";

#[test]
fn the_action_fails_on_new_findings_only() {
    let project = project();
    let run = |more: &[&str]| {
        let common = [BUILD, TEST, "timeout: 10", "working-directory: below"];
        let path = workflow(project.path(), &[&common, more].concat());
        run_job(&path, "hunt", project.path(), &[])
    };
    let failed = run(&[]);
    assert!(failed.failed && failed.summary.contains("| race-1 |"), "{failed:?}");
    let uploads: Vec<&str> = failed.used.iter().map(|(action, _)| action.as_str()).collect();
    assert_eq!(uploads, ["github/codeql-action/upload-sarif@v3", "actions/upload-artifact@v4"]);
    let tolerated = run(&["fail: \"false\"", "upload-sarif: \"false\"", "upload-report: \"false\""]);
    assert!(!tolerated.failed && tolerated.used.is_empty(), "{tolerated:?}");
    fs::copy(
        project.path().join("below/.foretell/latest/findings.json"),
        project.path().join("below/known.json"),
    )
    .unwrap();
    let known = run(&["baseline: known.json"]);
    assert!(!known.failed, "{known:?}");
}

#[test]
fn the_action_says_when_nothing_can_be_hunted_in() {
    let project = project();
    let path = workflow(project.path(), &["test: \"true\"", "timeout: 5"]);
    let result = run_job(&path, "hunt", project.path(), &[]);
    assert!(result.failed && result.log.contains("::error::Foretell could not hunt"), "{result:?}");
    assert!(result.used.is_empty(), "{result:?}");
}

#[test]
fn the_gitlab_template_hunts_and_leaves_its_artifacts() {
    let project = project();
    let here = project.path().join("below");
    let template = yaml(&root().join("crates/pipeline/integrations/gitlab/foretell.gitlab-ci.yml"));
    let job = &template[".foretell"];
    let variables = job["variables"].as_object().unwrap();
    let mut known: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
    known.extend([
        ("FORETELL_BUILD", BUILD.strip_prefix("build: ").unwrap()),
        ("FORETELL_TEST", "./counter_test"),
        ("FORETELL_TIMEOUT", "10"),
    ]);
    let lines = |key: &str| {
        let lines = job[key].as_array().unwrap().iter();
        lines.map(|line| format!("{}\n", line.as_str().unwrap())).collect::<String>()
    };
    let mut shell = shell(&format!("exec 2>&1\n{}{}", lines("before_script"), lines("script")), &here);
    let output = shell.envs(known).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    // Nothing found, but the time was up: the job passes, with a warning.
    assert_eq!(job["allow_failure"]["exit_codes"], 3);
    let artifacts = &job["artifacts"];
    for path in artifacts["paths"].as_array().unwrap().iter().chain([&artifacts["reports"]["junit"]]) {
        assert!(here.join(path.as_str().unwrap()).exists(), "{path}");
    }
    let sarif: Value = serde_json::from_slice(&fs::read(here.join("foretell.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
}

/// The block of code of a page that contains these words.
fn block(page: &str, words: &str) -> String {
    let page = fs::read_to_string(root().join(page)).unwrap();
    let mut blocks = page.split("\n```").skip(1).step_by(2);
    let found = blocks.find(|block| block.contains(words)).unwrap_or_else(|| panic!("no block with {words}"));
    found.split_once('\n').unwrap().1.to_owned()
}

/// Three tests for four machines, and a command that fails, as one with such a race does now and then.
fn two_tests(directory: &Path) {
    copy(&root().join("examples/bazel-counter"), directory);
    let script = "#!/bin/sh\n./counter_test one; ./counter_test two; ./counter_test three\nexit 1\n";
    fs::write(directory.join("check.sh"), script).unwrap();
    let built = shell("foretell cc -g -pthread counter_test.c -o counter_test; chmod +x check.sh", directory);
    assert!({ built }.status().unwrap().success());
}

#[test]
fn shards_of_a_matrix_are_merged() {
    let directory = tempfile::tempdir().unwrap();
    two_tests(directory.path());
    let text = block("docs/suites.md", "strategy:").replace("ctest --test-dir build", "./check.sh");
    let path = directory.path().join("workflow.yml");
    fs::write(&path, text).unwrap();
    for shard in ["1", "2", "3", "4"] {
        let result = run_job(&path, "hunt", directory.path(), &[("shard", shard)]);
        assert!(!result.failed, "{result:?}");
        let (_, uploaded) = &result.used[0];
        assert!(directory.path().join(&uploaded["path"]).exists(), "{uploaded:?}");
    }
    // All artifacts are downloaded to directories of their names, which is where they are.
    let report = run_job(&path, "report", directory.path(), &[]);
    assert!(report.failed && report.log.contains("3 tests, 3 hunted in"), "{report:?}");
    assert!(directory.path().join("report.html").is_file());
}

#[test]
fn a_slurm_array_is_merged() {
    let directory = tempfile::tempdir().unwrap();
    two_tests(directory.path());
    let script = block("docs/suites.md", "#SBATCH --array").replace("ctest --test-dir build", "./check.sh");
    for task in 1..=4 {
        let mut shell = shell(&script, directory.path());
        let output =
            shell.env("SLURM_ARRAY_TASK_ID", task.to_string()).env("SLURM_ARRAY_TASK_COUNT", "4").output();
        assert_eq!(output.unwrap().status.code(), Some(0));
    }
    let merged =
        shell("foretell merge shard-*/latest --html report.html", directory.path()).output().unwrap();
    assert_eq!(merged.status.code(), Some(1), "{merged:?}");
    assert!(String::from_utf8_lossy(&merged.stdout).contains("3 tests, 3 hunted in"), "{merged:?}");
}
