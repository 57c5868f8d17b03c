//! The hunts of a suite: one after another on each core, each in a process of its own, with a fair share of the time that is left.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use report::{Predictions, Suite, TestOutcome};
use run::job::Job;

use super::SuiteOptions;
use super::plan::{Plan, Test};
use crate::error::Error;
use crate::jobs::{JobReport, TakenJob, do_jobs};
use crate::observer::{Event, Observer, Progress, Stage};
use crate::saved;

/// A hunt has at least so long: less would not even record.
const SHORTEST: Duration = Duration::from_secs(2);
/// A hunt may take this much longer than its time: what it has begun is ended in order.
const OVERTIME: Duration = Duration::from_secs(30);
/// What a hunt says, in the directory of its results.
const LOG: &str = "hunt.log";
/// The last run of a test, in the directory of its results.
pub const LATEST: &str = "latest";

/// Hunts in the tests that have not had their turn. The plan has the result of each.
pub(super) fn hunt(
    options: &SuiteOptions,
    directory: &Path,
    plan: &mut Plan,
    earlier: Option<&Suite>,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let left = plan.tests.iter().enumerate().filter(|(_, test)| test.is_left());
    let mut left: Vec<(usize, Test)> = left.map(|(number, test)| (number, test.clone())).collect();
    left.sort_by_key(|(_, test)| turn(&test.name, earlier));
    let (numbers, tests): (Vec<usize>, Vec<Test>) = left.into_iter().unzip();
    let total = tests.len();
    observer.begin(&Stage::HuntingTests { tests: total });
    let hunts = Hunts { until: Instant::now() + options.timeout, options, directory };
    let (mut saved, mut count) = (Ok(()), 0);
    let go_on = || !options.cancellation.is_cancelled() && !hunts.time_left().is_zero();
    do_jobs(
        tests,
        options.workers,
        go_on,
        |taken| hunts.hunt_in(taken),
        |heard| match heard {
            JobReport::Begins(number) => observer.item(&plan.tests[numbers[number]].title()),
            JobReport::Ended(number, test) => {
                count += 1;
                observer.event(&hunted(directory, &test));
                observer.advance(Progress::Counted { done: count, total: Some(total as u64) });
                plan.tests[numbers[number]] = test;
                if saved.is_ok() {
                    saved = plan.save(directory);
                }
            }
        },
    );
    let count = |outcome| plan.tests.iter().filter(|test| test.outcome == outcome).count() as u64;
    let (hunted, left) = (count(TestOutcome::Hunted), count(TestOutcome::NotReached));
    observer.end(Some(&Event::TestsHunted { hunted, left }));
    saved
}

/// When a test has its turn, should the time be up before all had theirs: first those that showed something last time, then those that were not
/// hunted in, then the others.
fn turn(name: &str, earlier: Option<&Suite>) -> u8 {
    let known = earlier.and_then(|suite| suite.tests.iter().find(|test| test.name == name));
    match known {
        Some(test) if !test.findings.is_empty() => 0,
        Some(test) if test.outcome == TestOutcome::Hunted => 2,
        _ => 1,
    }
}

fn hunted(directory: &Path, test: &Test) -> Event {
    let found = results(directory, test).map_or(0, |predictions| {
        predictions.findings.iter().filter(|finding| finding.shown != Some(false)).count()
    });
    Event::TestHunted {
        name: test.title(),
        outcome: test.outcome,
        findings: found as u64,
        milliseconds: test.milliseconds,
        message: test.message.clone(),
    }
}

/// What was found in a test, if it was hunted in.
pub(super) fn results(directory: &Path, test: &Test) -> Option<Predictions> {
    let is_hunted = test.outcome == TestOutcome::Hunted;
    is_hunted.then(|| saved::read(&directory.join(&test.results).join(LATEST).join(saved::FINDINGS)).ok())?
}

/// What the hunts share.
struct Hunts<'s> {
    /// When the time is up.
    until: Instant,
    options: &'s SuiteOptions,
    directory: &'s Path,
}

impl Hunts<'_> {
    fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Hunts in a test, with its share of the time that is left.
    fn hunt_in(&self, taken: TakenJob<Test>) -> Test {
        let rounds = taken.waiting.div_ceil(self.options.workers.max(1)).max(1);
        let time = (self.time_left() / rounds as u32).max(SHORTEST);
        let (test, started) = (taken.job, Instant::now());
        let (outcome, message) = match self.run(&test, time) {
            // Called off before it found out anything.
            Err(_) if self.options.cancellation.is_cancelled() => (TestOutcome::NotReached, None),
            Ok(()) => (TestOutcome::Hunted, None),
            Err(message) => (TestOutcome::Error, Some(message)),
        };
        let interrupted = self.options.cancellation.is_cancelled();
        Test { outcome, message, interrupted, milliseconds: started.elapsed().as_millis() as u64, ..test }
    }

    /// Hunts in a test; why that did not work.
    fn run(&self, test: &Test, time: Duration) -> Result<(), String> {
        let results = self.directory.join(&test.results);
        if let Some(link) = link_to(self.directory, &test.results) {
            return Err(format!("`{}` is a link, and results are not put elsewhere", link.display()));
        }
        let results = std::path::absolute(results).map_err(|error| error.to_string())?;
        // What an interrupted hunt left is of no use.
        let _ = fs::remove_dir_all(&results);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&results);
        made.map_err(|error| format!("cannot make `{}`: {error}", results.display()))?;
        let hunter = &self.options.hunter;
        let first = hunter.first_arguments(self.options.selection.seeds);
        let given = HuntArguments { results: &results, time, first: &first };
        let job = Job {
            program: hunter.program.clone(),
            arguments: given.of(test),
            directory: test.directory.clone(),
            environment: test.environment(),
            input: test.input.clone(),
            output: results.join(LOG),
            messages: None,
            limit: time + OVERTIME,
            confinement: None,
        };
        let status = job.run(&self.options.cancellation).map_err(|error| error.to_string())?;
        hunt_worked(status, &results, &job.output)
    }
}

/// The first part of a path below a directory that is a link.
fn link_to(directory: &Path, below: &str) -> Option<PathBuf> {
    let parts = Path::new(below).components().scan(directory.to_owned(), |path, part| {
        path.push(part);
        Some(path.clone())
    });
    parts.into_iter().find(|path| path.is_symlink())
}

/// What a hunt is started with.
#[derive(Clone, Copy, Debug)]
pub struct HuntArguments<'a> {
    /// Where its results go.
    pub results: &'a Path,
    /// How long it may take.
    pub time: Duration,
    /// What comes first: the command, and the user's own options.
    pub first: &'a [OsString],
}

impl HuntArguments<'_> {
    /// All of them, for a hunt in this test.
    pub fn of(&self, test: &Test) -> Vec<OsString> {
        let mut arguments = self.first.to_vec();
        arguments.extend(["--results".into(), self.results.as_os_str().to_owned()]);
        arguments.extend(["--timeout".into(), self.time.as_secs().max(1).to_string().into()]);
        if test.only_sync {
            arguments.push("--only-sync".into());
        }
        if test.seed > 0 {
            arguments.extend(["--seed".into(), test.seed.to_string().into()]);
        }
        arguments.extend(["--".into(), test.program.clone().into_os_string()]);
        arguments.extend(test.arguments.iter().cloned());
        arguments
    }
}

/// Whether a hunt that ended with this status did its work; if not, why, in its own words.
pub fn hunt_worked(status: u8, results: &Path, log: &Path) -> Result<(), String> {
    let has_findings = results.join(LATEST).join(saved::FINDINGS).is_file();
    match status {
        0 | 1 | 3 if has_findings => Ok(()),
        status => Err(said(log).unwrap_or_else(|| format!("the hunt ended with status {status}"))),
    }
}

/// Why a hunt did not work, in its own words.
fn said(log: &Path) -> Option<String> {
    let text = fs::read(log).ok()?;
    let text = String::from_utf8_lossy(&text);
    let error = text.lines().find_map(|line| line.strip_prefix("error: "));
    error.or(text.lines().rfind(|line| !line.trim().is_empty())).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use report::{SuiteTest, TestStatus};

    use super::*;

    #[test]
    fn what_showed_something_last_time_comes_first() {
        let test = |name: &str, outcome, findings: &[&str]| SuiteTest {
            name: name.to_owned(),
            command: Vec::new(),
            status: TestStatus::Passed,
            outcome,
            message: None,
            milliseconds: 0,
            runs: 0,
            behaviours: 0,
            exhausted: false,
            findings: findings.iter().map(|&id| id.to_owned()).collect(),
            directory: None,
        };
        let tests = vec![
            test("quiet", TestOutcome::Hunted, &[]),
            test("left", TestOutcome::NotReached, &[]),
            test("loud", TestOutcome::Hunted, &["race-1"]),
        ];
        let earlier = Suite { command: Vec::new(), status: 0, tests };
        let mut names = ["quiet", "new", "loud", "left"];
        names.sort_by_key(|name| turn(name, Some(&earlier)));
        assert_eq!(names, ["loud", "new", "left", "quiet"]);
        assert_eq!(turn("new", None), turn("loud", None));
    }
}
