//! GitHub workflows and composite actions, run locally: their `run` steps with a shell, and what they use of others noted.
//!
//! As much of GitHub's language as our files have. What is not known is a failure of the test, so that a mistyped name does not pass for an empty one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The result of a job.
#[derive(Debug, Default)]
pub(super) struct JobResult {
    pub(super) failed: bool,
    /// What it wrote to its summary.
    pub(super) summary: String,
    /// Actions of others that it would use, with what they are given.
    pub(super) used: Vec<(String, BTreeMap<String, String>)>,
    /// What its steps printed.
    pub(super) log: String,
    outputs: BTreeMap<String, String>,
}

/// Runs a job of a workflow in a directory, with our own action in place of the published one.
pub(super) fn run_job(workflow: &Path, job: &str, directory: &Path, matrix: &[(&str, &str)]) -> JobResult {
    let workflow = yaml(workflow);
    let steps = &workflow["jobs"][job]["steps"];
    assert!(steps.is_array(), "no job {job} in {workflow}");
    let mut scope = Scope::new(directory);
    scope.names.extend(matrix.iter().map(|(name, value)| (format!("matrix.{name}"), (*value).to_owned())));
    scope.run(steps);
    scope.result
}

/// A file of YAML.
pub(super) fn yaml(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_norway::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The repository, which has the action.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// `PATH` with the program under test in front.
pub(super) fn path() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_foretell")).parent().unwrap();
    format!("{}:{}", program.display(), std::env::var("PATH").unwrap())
}

/// A shell that runs a script as CI does: it knows nothing of the test around it.
pub(super) fn shell(script: &str, directory: &Path) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(directory);
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        let is_ours =
            ["CARGO", "RUST", "FORETELL", "NEXTEST", "GITHUB_"].iter().any(|ours| name.starts_with(ours));
        if is_ours && name != "CARGO_HOME" && name != "RUSTUP_HOME" && name != "RUSTUP_TOOLCHAIN" {
            shell.env_remove(&variable);
        }
    }
    shell.env("PATH", path()).env("CARGO_NET_OFFLINE", "true");
    shell
}

/// A workflow, or an action within one.
struct Scope<'d> {
    directory: &'d Path,
    /// What expressions can name: `inputs.test`, `steps.hunt.outputs.status`.
    names: BTreeMap<String, String>,
    result: JobResult,
}

impl<'d> Scope<'d> {
    fn new(directory: &'d Path) -> Scope<'d> {
        Scope { directory, names: BTreeMap::new(), result: JobResult::default() }
    }

    fn run(&mut self, steps: &Value) {
        for step in steps.as_array().unwrap() {
            let condition = step["if"].as_str().unwrap_or("success()");
            let needs_success =
                !["always()", "failure()", "success()"].iter().any(|name| condition.contains(name));
            if self.result.failed && needs_success || !self.is_true(condition) {
                continue;
            }
            match (step["uses"].as_str(), step["run"].as_str()) {
                (Some(action), None) => self.use_action(action, step),
                (None, Some(script)) => self.run_script(script, step),
                _ => panic!("neither run nor uses: {step}"),
            }
        }
    }

    fn use_action(&mut self, action: &str, step: &Value) {
        let with: BTreeMap<String, String> = self.strings(&step["with"]);
        if action.starts_with("actions/checkout@") {
            return;
        }
        if !action.starts_with("foretell/foretell@") && action != "./" {
            self.result.used.push((action.to_owned(), with));
            return;
        }
        let action = yaml(&root().join("action.yml"));
        let mut inner = Scope::new(self.directory);
        inner.names.insert("github.action_path".to_owned(), root().display().to_string());
        let known = action["inputs"].as_object().unwrap();
        for name in with.keys() {
            assert!(known.contains_key(name), "the action has no input {name}");
        }
        for (name, input) in known {
            let value = with.get(name).cloned().or_else(|| input["default"].as_str().map(str::to_owned));
            let value = value.unwrap_or_else(|| panic!("the input {name} is required"));
            inner.names.insert(format!("inputs.{name}"), value);
        }
        inner.run(&action["runs"]["steps"]);
        if let (Some(id), Some(outputs)) = (step["id"].as_str(), action["outputs"].as_object()) {
            for (name, output) in outputs {
                let value = inner.filled(output["value"].as_str().unwrap());
                self.names.insert(format!("steps.{id}.outputs.{name}"), value);
            }
        }
        self.result.failed |= inner.result.failed;
        self.result.summary.push_str(&inner.result.summary);
        self.result.log.push_str(&inner.result.log);
        self.result.used.extend(inner.result.used);
    }

    fn run_script(&mut self, script: &str, step: &Value) {
        let files = tempfile::tempdir().unwrap();
        let file = |name: &str| files.path().join(name);
        for name in ["output", "summary"] {
            fs::write(file(name), "").unwrap();
        }
        let working_directory = step["working-directory"].as_str().map(|name| self.filled(name));
        let directory = self.directory.join(working_directory.unwrap_or_default());
        let script = self.filled(script);
        let mut shell = shell(&format!("exec 2>&1\n{script}"), &directory);
        shell.env("GITHUB_OUTPUT", file("output")).env("GITHUB_STEP_SUMMARY", file("summary"));
        shell.envs(self.strings(&step["env"]));
        let output = shell.output().unwrap();
        self.result.log.push_str(&format!("$ {script}\n{}", String::from_utf8_lossy(&output.stdout)));
        self.result.summary.push_str(&fs::read_to_string(file("summary")).unwrap());
        if let Some(id) = step["id"].as_str() {
            for line in fs::read_to_string(file("output")).unwrap().lines() {
                let (name, value) = line.split_once('=').unwrap();
                self.names.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
                self.result.outputs.insert(name.to_owned(), value.to_owned());
            }
        }
        self.result.failed |= !output.status.success();
    }

    /// Texts of a table, with expressions filled in.
    fn strings(&self, table: &Value) -> BTreeMap<String, String> {
        let text = |value: &Value| match value {
            Value::String(text) => self.filled(text),
            other => other.to_string(),
        };
        let entries = table.as_object().into_iter().flatten();
        entries.map(|(name, value)| (name.clone(), text(value))).collect()
    }

    /// A text with its expressions filled in.
    fn filled(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            let (expression, after) = after.split_once("}}").unwrap();
            filled.push_str(before);
            filled.push_str(&self.value(expression.trim()));
            rest = after;
        }
        filled + rest
    }

    /// A condition: comparisons joined by `&&`.
    fn is_true(&self, condition: &str) -> bool {
        let condition = condition.trim().trim_start_matches("${{").trim_end_matches("}}");
        condition.split("&&").map(str::trim).all(|part| {
            let compared = |operator| {
                part.split_once(operator).map(|(a, b)| self.value(a.trim()) == self.value(b.trim()))
            };
            match (compared("=="), compared("!="), part) {
                (Some(equal), ..) => equal,
                (_, Some(equal), _) => !equal,
                (_, _, "always()") => true,
                (_, _, "success()") => !self.result.failed,
                (_, _, "failure()") => self.result.failed,
                (_, _, name) => self.value(name) == "true",
            }
        })
    }

    fn value(&self, expression: &str) -> String {
        if let Some(text) = expression.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            return text.to_owned();
        }
        // Of a step that was skipped, there is nothing.
        let missing = || expression.starts_with("steps.").then(String::new);
        let value = self.names.get(expression).cloned().or_else(missing);
        value.unwrap_or_else(|| panic!("unknown in an expression: {expression}"))
    }
}

#[test]
fn expressions_are_filled_in_and_conditions_decided() {
    let mut scope = Scope::new(Path::new("/"));
    scope.names.insert("inputs.test".to_owned(), "ctest".to_owned());
    scope.names.insert("inputs.build".to_owned(), String::new());
    assert_eq!(scope.filled("a ${{ inputs.test }} b"), "a ctest b");
    assert!(scope.is_true("inputs.build == '' && always()"));
    assert!(!scope.is_true("inputs.build != ''"));
    assert!(!scope.is_true("inputs.test == 'ctest' && failure()"));
    assert!(std::panic::catch_unwind(|| scope.filled("${{ inputs.tset }}")).is_err());
}
