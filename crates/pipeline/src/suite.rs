//! A whole test command: which instrumented programs it runs, a hunt in each, and one report.
//!
//! The command is first run as it is ([`run::survey`]). Each instrumented process under it that creates threads is a test. Then each test is
//! hunted in by itself, in a process of its own, in the directory and the environment it had; all share the time, and the cores. What is
//! known is in the run's directory at any moment, so an interrupted suite can be taken up again: then the command is run once more.

mod names;
mod plan;
mod queue;
mod resume;
mod split;
mod together;

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use report::{Predictions, Suite, TestOutcome};

use crate::budget::{Bounds, Cancellation, ensure_within};
use crate::error::{Error, ErrorKind};
use crate::hunt::RunDirectory;
use crate::observer::{Event, Observer, Stage};
use crate::trace_file::{ExploredTrace, TraceFile};
use crate::{runs, saved};
pub use plan::{Plan, Selection, Shard, Test};
pub use queue::{HuntArguments, LATEST, hunt_worked};
use together::together;

/// A test command, and how to hunt in its tests.
#[derive(Clone, Debug)]
pub struct SuiteOptions {
    /// The command; nothing: take up the last suite again.
    pub command: Vec<OsString>,
    /// Where results are kept.
    pub results: PathBuf,
    /// What hunts in a test.
    pub hunter: Hunter,
    /// How long the hunts may take in all.
    pub timeout: Duration,
    /// How many hunts go on at the same time.
    pub workers: usize,
    /// Which tests there are; for a suite that is taken up again, those that it had.
    pub selection: Selection,
    /// Whether to take up the last suite again.
    pub resume: bool,
    /// Whether the work is called off: it ends with what it has.
    pub cancellation: Cancellation,
}

/// The command that hunts in one test: it takes `--results`, `--timeout`, and the command of the test after `--`.
#[derive(Clone, Debug)]
pub struct Hunter {
    /// The program.
    pub program: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
    /// The options that the user has chosen for all hunts; for a suite that is taken up again, none: those that it had.
    pub chosen: Vec<OsString>,
}

impl Hunter {
    /// What hunts in a test with one of several seeds searches the recorded run alone: to go on from each seed to other behaviours would do the
    /// same work again for each.
    const OF_A_SEED: [&str; 2] = ["--rounds", "1"];

    /// The user's options, and those of hunts with one of several seeds.
    pub fn options_with_seeds(chosen: &[OsString], has_seeds: bool) -> Vec<OsString> {
        let is_rounds = |word: &OsString| word.as_encoded_bytes().starts_with(b"--rounds");
        let by_seed = Hunter::OF_A_SEED.iter().filter(|_| has_seeds && !chosen.iter().any(is_rounds));
        by_seed.map(OsString::from).chain(chosen.iter().cloned()).collect()
    }

    /// What comes first of the arguments of a hunt.
    fn first_arguments(&self, seeds: u64) -> Vec<OsString> {
        let options = Hunter::options_with_seeds(&self.chosen, seeds > 1);
        self.arguments.iter().cloned().chain(options).collect()
    }
}

/// The result of a suite.
#[derive(Debug)]
pub struct SuiteOutcome {
    /// Where everything is kept.
    pub directory: PathBuf,
    /// One of the recordings.
    pub file: TraceFile,
    /// All recordings that findings are of.
    pub recordings: Vec<ExploredTrace>,
    /// What was found, in all tests together.
    pub predictions: Predictions,
}

/// Runs a test command, and hunts in its tests. Of earlier suites the newest are kept.
pub fn suite(options: &SuiteOptions, observer: &mut dyn Observer) -> Result<SuiteOutcome, Error> {
    let earlier = earlier(&options.results);
    let Taken { directory, mut plan, hunter } = match options.resume {
        true => resume::resumed(options, observer)?,
        false => planned(options, observer)?,
    };
    let options = SuiteOptions { hunter, selection: plan.selection, ..options.clone() };
    queue::hunt(&options, &directory, &mut plan, earlier.as_ref(), observer)?;
    let outcome = together(&directory, &plan, Bounds::NONE, observer)?;
    runs::keep_newest(&options.results);
    Ok(outcome)
}

/// A suite that is to be hunted in.
struct Taken {
    directory: PathBuf,
    plan: Plan,
    hunter: Hunter,
}

/// The results of the tests last time, if it is known.
fn earlier(results: &Path) -> Option<Suite> {
    let directory = RunDirectory::latest(results).ok()?;
    saved::read(&directory.join(saved::FINDINGS)).ok()?.suite
}

/// Runs the command, and plans a hunt for each of its tests.
fn planned(options: &SuiteOptions, observer: &mut dyn Observer) -> Result<Taken, Error> {
    let directory = RunDirectory::create(&options.results)?;
    let plan = plan(options, observer)?;
    plan.save(directory.path())?;
    directory.becomes_latest()?;
    resume::note(directory.path(), options);
    Ok(Taken { directory: directory.path().to_owned(), plan, hunter: options.hunter.clone() })
}

/// Runs the command as it is, and plans a hunt for each of its tests.
pub fn plan(options: &SuiteOptions, observer: &mut dyn Observer) -> Result<Plan, Error> {
    observer.begin(&Stage::Surveying);
    let survey = run::survey::survey(&options.command, None).map_err(|error| {
        Error::io("run", format!("`{}`", Path::new(&options.command[0]).display()), error)
    })?;
    for process in survey.processes.iter().filter(|process| process.hung) {
        observer.warning(
            Error::from(ErrorKind::Hung(process.program.clone()))
                .note("the other programs ran as usual; there is a hunt in this one as well"),
        );
    }
    let plan = Plan::of(options, &survey);
    observer.end(Some(&Event::Surveyed {
        status: survey.code,
        processes: survey.processes.len() as u64,
        tests: plan.tests.len() as u64,
    }));
    if plan.tests.is_empty() {
        return Err(Error::from(ErrorKind::NoTests(plan.command_in_words()))
            .note(format!("the command ended with status {}", survey.code))
            .help(
                "build the tests with `foretell cc`, `foretell c++` or -fsanitize=thread: see docs/suites.md",
            ));
    }
    Ok(plan)
}

/// The usual command that runs the tests of a project, by its build files.
pub fn test_command(root: &Path) -> Option<&'static str> {
    let has = |name: &str| root.join(name).exists();
    match () {
        () if has("Cargo.toml") => Some("cargo test"),
        () if has("CMakeLists.txt") => Some("ctest --test-dir build"),
        () if has("meson.build") => Some("meson test -C build"),
        () if has("configure") || has("configure.ac") || has("Makefile.am") => Some("make check"),
        () if has("Makefile") => Some("make test"),
        () => None,
    }
}

/// Puts suites and hunts together that ran elsewhere: their results are copied to a directory of its own, which nobody needs the others for.
pub fn merge(
    directory: &Path,
    suites: &[PathBuf],
    bounds: Bounds,
    observer: &mut dyn Observer,
) -> Result<SuiteOutcome, Error> {
    let plans = suites.iter().map(|suite| Plan::load_or_hunt(suite)).collect::<Result<Vec<Plan>, Error>>()?;
    private_directory(directory)?;
    let copied = plans.into_iter().zip(suites).enumerate().map(|(number, (mut plan, suite))| {
        let is_hunt = plan.is_hunt();
        ensure_within(bounds)?;
        for test in plan.tests.iter_mut().filter(|test| test.outcome == TestOutcome::Hunted) {
            let from = if is_hunt { suite.clone() } else { suite.join(&test.results).join(queue::LATEST) };
            // Tests of different suites may have the same place.
            test.results = format!("{}/{}", number + 1, test.results);
            copy(&from, &directory.join(&test.results).join(queue::LATEST))?;
        }
        Ok(plan)
    });
    let plan = Plan::merged(copied.collect::<Result<Vec<Plan>, Error>>()?);
    plan.save(directory)?;
    together(directory, &plan, bounds, observer)
}

fn private_directory(directory: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| Error::io("create", format!("`{}`", directory.display()), error))
}

/// Copies the files of a run.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    private_directory(to)?;
    let cannot = |error| Error::io("copy", format!("`{}`", from.display()), error);
    for entry in fs::read_dir(from).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        if entry.file_type().map_err(cannot)?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).map_err(cannot)?;
        }
    }
    Ok(())
}
