//! What a test is called: as its runner calls it where that is known, otherwise by its program and arguments.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use run::survey::SurveyedProcess;
use serde::Deserialize;

/// The longest name that is made of a program and its arguments.
const LONGEST: usize = 80;

/// Variables in which runners name the test that a process is.
const NAMED_BY: [&str; 3] = ["NEXTEST_TEST_NAME", "TEST_TARGET", "PYTEST_CURRENT_TEST"];

/// What runs the tests.
#[derive(Debug, Default)]
pub(super) struct Runner {
    /// The tests that it lists: names and commands.
    listed: Vec<(String, Vec<String>)>,
}

/// What `ctest --show-only=json-v1` prints.
#[derive(Deserialize)]
struct CtestList {
    #[serde(default)]
    tests: Vec<CtestTest>,
}

#[derive(Deserialize)]
struct CtestTest {
    name: String,
    #[serde(default)]
    command: Vec<String>,
}

impl Runner {
    /// The runner that a command starts. CMake's can list its tests.
    pub(super) fn of(command: &[OsString]) -> Runner {
        let is_ctest = command.first().map(Path::new).and_then(Path::file_name) == Some(OsStr::new("ctest"));
        if !is_ctest {
            return Runner::default();
        }
        let mut list = Command::new(&command[0]);
        list.args(&command[1..]).arg("--show-only=json-v1").stdin(Stdio::null()).stderr(Stdio::null());
        let printed = list.output().map(|output| output.stdout).unwrap_or_default();
        Runner::listing(&printed)
    }

    fn listing(printed: &[u8]) -> Runner {
        let list = serde_json::from_slice(printed).unwrap_or(CtestList { tests: Vec::new() });
        Runner { listed: list.tests.into_iter().map(|test| (test.name, test.command)).collect() }
    }

    /// What a process is called.
    pub(super) fn name(&self, process: &SurveyedProcess) -> String {
        self.listed_name(process).or_else(|| named_by_runner(process)).unwrap_or_else(|| named(process))
    }

    fn listed_name(&self, process: &SurveyedProcess) -> Option<String> {
        let full = |program: &Path| program.canonicalize().unwrap_or_else(|_| program.into());
        let own = full(&process.program);
        let is_its = |command: &Vec<String>| {
            let Some((program, arguments)) = command.split_first() else { return false };
            let is_program = full(Path::new(program)) == own;
            is_program && process.arguments.iter().eq(arguments.iter().map(OsStr::new))
        };
        self.listed.iter().find(|(_, command)| is_its(command)).map(|(name, _)| name.clone())
    }
}

fn named_by_runner(process: &SurveyedProcess) -> Option<String> {
    // What we have ourselves names the test that we are.
    let is_theirs = |name: &&str, value: &OsStr| std::env::var_os(name).as_deref() != Some(value);
    let value = NAMED_BY
        .iter()
        .find_map(|name| process.environment.get(OsStr::new(name)).filter(|value| is_theirs(name, value)))?;
    let value = value.to_string_lossy();
    // pytest says which phase it is in.
    let name = value.strip_suffix(" (call)").unwrap_or(&value).to_owned();
    let binary = process.environment.get(OsStr::new("NEXTEST_BINARY_ID"));
    Some(match binary {
        Some(binary) => format!("{} {name}", binary.to_string_lossy()),
        None => name,
    })
}

fn named(process: &SurveyedProcess) -> String {
    let mut name = program_name(&process.program);
    for argument in &process.arguments {
        name.push(' ');
        name.push_str(&argument.to_string_lossy());
    }
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", &name[..end]),
        None => name,
    }
}

/// The name of a program; without the hash that cargo adds to those in `deps`, which another version of the compiler changes, and for a doc
/// test, which is always called `rust_out`, its directory.
fn program_name(program: &Path) -> String {
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let name = text(program.file_name());
    let directory = program.parent().and_then(Path::file_name);
    let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match name.rsplit_once('-') {
        Some((own, hash)) if directory == Some(OsStr::new("deps")) && is_hash(hash) => own.to_owned(),
        _ if name == "rust_out" => text(directory),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::environment::Environment;

    fn process(arguments: &[&str], variables: &[(&str, &str)]) -> SurveyedProcess {
        let mut environment = Environment::default();
        variables.iter().for_each(|(name, value)| environment.set(name, *value));
        SurveyedProcess {
            program: "/build/queue_test".into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            directory: "/build".into(),
            environment,
            input: None,
            has_threads: true,
            hung: false,
        }
    }

    #[test]
    fn names_of_programs_do_not_depend_on_the_build() {
        let name = |path: &str| program_name(Path::new(path));
        assert_eq!(name("/t/debug/deps/threads-58df95d828cceae4"), "threads");
        assert_eq!(name("/t/debug/threads-58df95d828cceae4"), "threads-58df95d828cceae4");
        assert_eq!(name("/t/deps/my-test"), "my-test");
        assert_eq!(name("/t/doctests/src_lib_rs_34_0/rust_out"), "src_lib_rs_34_0");
    }

    #[test]
    fn tests_are_called_what_their_runner_calls_them() {
        let none = Runner::default();
        assert_eq!(none.name(&process(&["-n", "3"], &[])), "queue_test -n 3");
        let by_nextest = [("NEXTEST_TEST_NAME", "tests::push"), ("NEXTEST_BINARY_ID", "queue::unit")];
        assert_eq!(none.name(&process(&["x"], &by_nextest)), "queue::unit tests::push");
        let by_pytest = [("PYTEST_CURRENT_TEST", "test_q.py::test_push (call)")];
        assert_eq!(none.name(&process(&[], &by_pytest)), "test_q.py::test_push");
        let ctest =
            br#"{"tests":[{"name":"push","command":["/build/queue_test","push"]},{"name":"disabled"}]}"#;
        let ctest = Runner::listing(ctest);
        assert_eq!(ctest.name(&process(&["push"], &[])), "push");
        assert_eq!(ctest.name(&process(&["pop"], &[])), "queue_test pop");
        assert_eq!(Runner::listing(b"no JSON").name(&process(&[&"x".repeat(200)], &[])).len(), LONGEST + 2);
    }
}
