//! Taking up an interrupted suite.
//!
//! Its command is run once more, and the tests that have not had their turn are hunted in as they are started now: with the environment that they
//! have now, whose values are kept nowhere. What `suite.json` says is not run. It may come from anywhere, as a trace may
//! ([`recorded_command`](crate::recorded_command)), and names programs, arguments and variables. The command is one that the user names, or that
//! this user has started the suite with: that is noted in a directory of the user's alone.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use report::TestOutcome;
use serde::{Deserialize, Serialize};

use super::plan::{Plan, Test};
use super::{SuiteOptions, Taken, plan, private_directory};
use crate::error::{Error, ErrorKind};
use crate::files::{self, Form};
use crate::hunt::RunDirectory;
use crate::observer::Observer;

/// Where the notes are, in the user's cache.
const NOTES: &str = "suites";

/// How a suite was started. It has no values of variables.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// The directory of its run.
    directory: PathBuf,
    /// Where its command ran.
    place: PathBuf,
    command: Vec<OsString>,
    /// The options of its hunts.
    chosen: Vec<OsString>,
}

/// Notes how a suite was started. Without a directory for that, it can be taken up again by naming its command.
pub(super) fn note(directory: &Path, options: &SuiteOptions) {
    let noted = || -> io::Result<()> {
        let directory = directory.canonicalize()?;
        let (notes, place) = (notes()?, std::env::current_dir()?);
        forget_removed(&notes);
        let file = notes.join(file_name(&directory));
        let (command, chosen) = (options.command.clone(), options.hunter.chosen.clone());
        let note = Note { directory, place, command, chosen };
        files::write(&file, Form::PLAIN, |out| Ok(serde_json::to_writer(out, &note)?))
            .map_err(|error| io::Error::other(error.to_string()))
    };
    let _ = noted();
}

/// The last suite, as far as it came.
pub(super) fn resumed(options: &SuiteOptions, observer: &mut dyn Observer) -> Result<Taken, Error> {
    let directory = RunDirectory::latest(&options.results)?;
    let earlier = Plan::load(&directory)?;
    let is_another = |command: &[OsString]| !command.is_empty() && command != earlier.command;
    let noted = noted(&directory).filter(|note| note.command == earlier.command);
    if is_another(&options.command) {
        return Err(Error::from(ErrorKind::AnotherSuite(earlier.command_in_words()))
            .help("leave `--resume` out, or name the same command"));
    }
    let mut hunter = options.hunter.clone();
    if let Some(note) = noted.as_ref().filter(|_| hunter.chosen.is_empty()) {
        hunter.chosen.clone_from(&note.chosen);
    }
    if !earlier.tests.iter().any(Test::is_left) {
        return Ok(Taken { directory, plan: earlier, hunter });
    }
    if options.command.is_empty() {
        may_run(noted.as_ref(), &directory)?;
    }
    let selection = earlier.selection;
    let again = SuiteOptions {
        command: earlier.command.clone(),
        selection,
        hunter: hunter.clone(),
        ..options.clone()
    };
    let plan = continued(earlier, plan(&again, observer)?);
    plan.save(&directory)?;
    Ok(Taken { directory, plan, hunter })
}

/// Whether the command of a suite may be run without being named.
fn may_run(noted: Option<&Note>, directory: &Path) -> Result<(), Error> {
    let Some(note) = noted else {
        return Err(Error::from(ErrorKind::ForeignSuite(directory.to_owned()))
            .help("name the command yourself: `foretell test --resume -- CMD`"));
    };
    match std::env::current_dir().is_ok_and(|here| here == note.place) {
        true => Ok(()),
        false => Err(Error::from(ErrorKind::SuiteOfAnotherPlace(note.place.clone()))
            .help("go there, or name the command: `foretell test --resume -- CMD`")),
    }
}

/// The tests as they are started now, with their earlier results. Of a test that is not started any more, only what it has shown is left.
fn continued(earlier: Plan, mut now: Plan) -> Plan {
    let mut known: Vec<Option<Test>> = earlier.tests.into_iter().map(Some).collect();
    let mut places: HashSet<String> = known.iter().flatten().map(|test| test.results.clone()).collect();
    let mut taken = vec![false; now.tests.len()];
    // Arguments may differ from run to run, such as the name of a temporary file.
    for is_same in [Test::is_started_as, Test::is_called_as] {
        for (test, taken) in now.tests.iter_mut().zip(&mut taken).filter(|(_, taken)| !**taken) {
            let mut same =
                known.iter_mut().filter(|known| known.as_ref().is_some_and(|known| is_same(test, known)));
            let Some(known) = same.next().and_then(Option::take) else { continue };
            (*taken, test.results) = (true, known.results.clone());
            if matches!(known.outcome, TestOutcome::Hunted | TestOutcome::Error) {
                test.take_outcome_of(known);
            }
        }
    }
    for (test, _) in now.tests.iter_mut().zip(taken).filter(|(_, taken)| !taken) {
        let (place, mut number) = (test.results.clone(), 2);
        while !places.insert(test.results.clone()) {
            test.results = format!("{place}-{number}");
            number += 1;
        }
    }
    now.tests.extend(known.into_iter().flatten().map(Test::not_started_again));
    now
}

/// How a suite was started, if this user has started it.
fn noted(directory: &Path) -> Option<Note> {
    let directory = directory.canonicalize().ok()?;
    let note = read(&notes().ok()?.join(file_name(&directory)))?;
    (note.directory == directory).then_some(note)
}

fn read(file: &Path) -> Option<Note> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// A directory that nobody else can enter.
fn notes() -> io::Result<PathBuf> {
    let notes = compile::embedded::own_directory(|_| true)?.join(NOTES);
    private_directory(&notes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(notes)
}

/// Removes notes of runs that are not there any more.
fn forget_removed(notes: &Path) {
    let files = fs::read_dir(notes).into_iter().flatten().flatten().map(|entry| entry.path());
    for file in files.filter(|file| read(file).is_some_and(|note| !note.directory.is_dir())) {
        let _ = fs::remove_file(file);
    }
}

fn file_name(directory: &Path) -> String {
    format!("{}.json", run::program::checksum(directory.as_os_str().as_encoded_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, argument: &str, outcome: TestOutcome) -> Test {
        let json = serde_json::json!({
            "name": name, "program": "/t/queue", "arguments": [{"Unix": argument.as_bytes()}], "directory": "/t",
            "without": [], "input": null, "outcome": outcome, "interrupted": false, "message": null,
            "milliseconds": 5, "results": format!("tests/{name}")
        });
        serde_json::from_value(json).unwrap()
    }

    fn plan_of(tests: Vec<Test>) -> Plan {
        let mut plan = Plan::new(vec!["./check.sh".into()]);
        plan.tests = tests;
        plan
    }

    #[test]
    fn what_is_left_is_run_as_it_is_started_now() {
        let secret = vec![(OsString::from("TOKEN"), OsString::from("secret"))];
        let interrupted = Test { interrupted: true, ..test("gone", "x", TestOutcome::Hunted) };
        let earlier = plan_of(vec![
            test("a", "1", TestOutcome::Hunted),
            test("b", "/tmp/old", TestOutcome::NotReached),
            interrupted,
            test("never", "y", TestOutcome::NotReached),
        ]);
        let fresh = |name, argument| Test {
            variables: secret.clone(),
            ..test(name, argument, TestOutcome::NotReached)
        };
        let now = plan_of(vec![fresh("b", "/tmp/new"), fresh("a", "1"), fresh("gone", "z")]);
        let plan = continued(earlier, now);
        let shown: Vec<_> =
            plan.tests.iter().map(|test| (&*test.results, test.outcome, test.is_left())).collect();
        let expected = [
            ("tests/b", TestOutcome::NotReached, true),
            ("tests/a", TestOutcome::Hunted, false),
            // Called like one that was interrupted: it is done again.
            ("tests/gone", TestOutcome::Hunted, true),
            ("tests/never", TestOutcome::Error, false),
        ];
        assert_eq!(shown, expected);
        assert!(plan.tests.iter().all(|test| !test.is_left() || test.variables == secret));
        assert_eq!(plan.tests[0].arguments, ["/tmp/new"]);
    }

    #[test]
    fn new_tests_have_places_of_their_own() {
        let earlier = plan_of(vec![test("a", "1", TestOutcome::Hunted)]);
        let other = Test { name: "c".into(), ..test("a", "2", TestOutcome::NotReached) };
        let plan = continued(earlier, plan_of(vec![other]));
        let places: Vec<&str> = plan.tests.iter().map(|test| &*test.results).collect();
        assert_eq!(places, ["tests/a-2", "tests/a"]);
    }
}
