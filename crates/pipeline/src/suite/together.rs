//! One report of many tests: the same bug in several tests is one finding, with the tests that show it.

use std::path::Path;

use report::{
    Coverage, Finding, Predictions, Stopped, StoppedBy, Suite, SuiteTest, TestOutcome, TestStatus,
    group_by_cause, number_by_rank,
};

use super::SuiteOutcome;
use super::plan::{Plan, Test};
use super::queue::{LATEST, results};
use crate::budget::Bounds;
use crate::error::{Error, ErrorKind};
use crate::files::{self, Form};
use crate::observer::{Observer, WarningsOnly};
use crate::predict::{PredictOptions, head};
use crate::saved;
use crate::trace_file::{ExploredTrace, TraceFile};
use trace::{Ending, Viewpoint};

/// Puts what was found in the tests of a suite together, and keeps it in the directory of the suite.
pub(super) fn together(
    directory: &Path,
    plan: &Plan,
    bounds: Bounds,
    observer: &mut dyn Observer,
) -> Result<SuiteOutcome, Error> {
    let here = std::env::current_dir().unwrap_or_default().display().to_string();
    let mut all = Together { directory, here, predictions: None, findings: Vec::new(), tests: Vec::new() };
    plan.tests.iter().for_each(|test| all.take(test));
    let Together { predictions, mut findings, tests, .. } = all;
    let first_error =
        tests.iter().find_map(|test| Some(format!("{}: {}", test.name, test.message.as_ref()?)));
    let nothing = || match &first_error {
        Some(error) => Error::from(ErrorKind::NothingHunted).note(error.as_str()),
        None if tests.iter().all(|test| test.outcome == TestOutcome::NoThreads) => {
            Error::from(ErrorKind::NothingHunted)
                .note("none of them creates a thread")
                .help("if the test command has a filter, check that it selects the tests you mean")
        }
        None => Error::from(ErrorKind::NothingHunted),
    };
    // Another machine hunts in all that there is.
    let is_elsewhere = tests.iter().any(|test| test.outcome == TestOutcome::OtherShard);
    let mut predictions = match predictions {
        Some(predictions) => predictions,
        None if is_elsewhere && first_error.is_none() => return empty(directory, plan, tests),
        None => return Err(nothing()),
    };
    findings.sort_by_key(Finding::rank);
    findings = group_by_cause(findings);
    number_by_rank(&mut findings);
    predictions.findings = findings;
    let mut suite = Suite { command: plan.command_words(), status: plan.status, tests };
    for test in &mut suite.tests {
        let shown = predictions.findings.iter().filter(|finding| finding.tests.contains(&test.name));
        test.findings = shown.map(|finding| finding.id.clone()).collect();
    }
    predictions.suite = Some(suite);
    save(directory, &predictions)?;
    let path = directory.join(predictions.trace.path.clone().unwrap_or_default());
    let file =
        TraceFile::open_within(path.as_os_str(), bounds, &mut WarningsOnly(observer))?.seen_from_here();
    let findings = directory.join(saved::FINDINGS);
    let recordings: Vec<ExploredTrace> =
        saved::others(&findings, &predictions, bounds, &mut WarningsOnly(observer))?;
    Ok(SuiteOutcome { directory: directory.to_owned(), file, recordings, predictions })
}

/// The report of a shard that has no tests.
fn empty(directory: &Path, plan: &Plan, tests: Vec<SuiteTest>) -> Result<SuiteOutcome, Error> {
    let file = TraceFile::empty()?;
    let mut predictions = head(&file, &PredictOptions::default())?;
    predictions.suite = Some(Suite { command: plan.command_words(), status: plan.status, tests });
    save(directory, &predictions)?;
    Ok(SuiteOutcome { directory: directory.to_owned(), file, recordings: Vec::new(), predictions })
}

fn save(directory: &Path, predictions: &Predictions) -> Result<(), Error> {
    files::write(&directory.join(saved::FINDINGS), Form::PLAIN, |out| {
        serde_json::to_writer_pretty(&mut *out, predictions)?;
        out.write_all(b"\n")
    })
}

struct Together<'d> {
    directory: &'d Path,
    /// The directory that we work in.
    here: String,
    predictions: Option<Predictions>,
    findings: Vec<Finding>,
    tests: Vec<SuiteTest>,
}

impl Together<'_> {
    /// Adds the result of a test.
    fn take(&mut self, test: &Test) {
        let found = results(self.directory, test);
        let coverage = found.as_ref().and_then(|found| found.coverage.clone()).unwrap_or_default();
        let own_directory = format!("{}/{LATEST}", test.results);
        self.add_test(SuiteTest {
            name: test.name.clone(),
            command: test.command(),
            status: status(&self.directory.join(&own_directory).join(saved::TRACE), test),
            outcome: test.outcome,
            message: test.message.clone(),
            milliseconds: test.milliseconds,
            runs: coverage.runs,
            behaviours: coverage.behaviours,
            exhausted: coverage.exhausted,
            findings: Vec::new(),
            directory: found.is_some().then(|| own_directory.clone()),
        });
        let Some(mut found) = found else { return };
        let viewpoint = Viewpoint::new(&test.directory.display().to_string(), &self.here);
        for finding in std::mem::take(&mut found.findings) {
            let recording =
                format!("{own_directory}/{}", finding.recording.as_deref().unwrap_or(saved::TRACE));
            let tests = vec![test.name.clone()];
            let finding = finding.seen_from(&viewpoint);
            self.findings.push(Finding { recording: Some(recording), tests, ..finding });
        }
        match &mut self.predictions {
            Some(all) => add(all, found, coverage),
            None => {
                found.trace.path = Some(format!("{own_directory}/{}", saved::TRACE));
                self.predictions = Some(found);
            }
        }
    }

    /// Lists a test; the results with several seeds are one row.
    fn add_test(&mut self, test: SuiteTest) {
        let Some(known) = self.tests.iter_mut().find(|known| known.name == test.name) else {
            self.tests.push(test);
            return;
        };
        known.milliseconds += test.milliseconds;
        known.runs += test.runs;
        known.behaviours += test.behaviours;
        known.exhausted |= test.exhausted;
        known.message = known.message.take().or(test.message);
        if says_more(test.outcome) > says_more(known.outcome) {
            known.outcome = test.outcome;
        }
        if known.status == TestStatus::NotRecorded {
            (known.status, known.directory) = (test.status, test.directory.or(known.directory.take()));
        }
    }
}

/// How much an outcome of one seed says about the test: a seed that could not be hunted in is reported.
fn says_more(outcome: TestOutcome) -> u8 {
    match outcome {
        TestOutcome::OtherShard => 0,
        TestOutcome::NoThreads | TestOutcome::Hunted => 1,
        TestOutcome::NotReached => 2,
        TestOutcome::Error => 3,
    }
}

/// How the recorded run of a test ended.
fn status(trace: &Path, test: &Test) -> TestStatus {
    if test.outcome != TestOutcome::Hunted {
        return TestStatus::NotRecorded;
    }
    let bytes = run::mapping::map_file(trace).ok();
    let metadata = bytes.and_then(|bytes| trace::native::metadata(&bytes).ok().flatten());
    match metadata.and_then(|metadata| metadata.ending) {
        Some(Ending::Exited(0) | Ending::Ended) => TestStatus::Passed,
        Some(Ending::Exited(_) | Ending::Killed(_)) => TestStatus::Failed,
        Some(Ending::Deadlocked | Ending::TimedOut) => TestStatus::Hung,
        None => TestStatus::NotRecorded,
    }
}

/// What several tests left. How long each of them had is not what the user asked for.
fn stopped_together(one: Option<Stopped>, other: Option<Stopped>) -> Option<Stopped> {
    let mut each = one.into_iter().chain(other);
    let mut all = each.next()?;
    each.for_each(|more| all.join(more));
    if all.by == StoppedBy::Time {
        all.reason = "the time for a test was up".to_owned();
    }
    Some(all)
}

/// Adds up what was counted.
fn add(all: &mut Predictions, other: Predictions, coverage: Coverage) {
    all.unknown += other.unknown;
    all.candidates += other.candidates;
    all.refuted += other.refuted;
    all.suppressed += other.suppressed;
    all.stopped = stopped_together(all.stopped.take(), other.stopped);
    // Each search counts its own pairs; their sum says nothing.
    all.funnel = None;
    if let Some(known) = &mut all.coverage {
        known.runs += coverage.runs;
        known.behaviours += coverage.behaviours;
        known.targets += coverage.targets;
        known.exhausted &= coverage.exhausted;
        known.doubts.extend(coverage.doubts);
        known.doubts.sort_unstable();
        known.doubts.dedup();
    }
}

#[cfg(test)]
mod tests {
    use report::FindingKind;

    use super::*;

    #[test]
    fn what_tests_left_is_told_once() {
        let stopped = |by, unfinished: &[FindingKind], left_out| {
            let reason = "the time of 6 s was up".to_owned();
            Some(Stopped { by, reason, unfinished: unfinished.to_vec(), left_out })
        };
        let one = stopped(StoppedBy::Time, &[FindingKind::Race], 2);
        let other = stopped(StoppedBy::Time, &[FindingKind::Race, FindingKind::Order], 3);
        assert_eq!(stopped_together(None, None), None);
        let all = stopped_together(stopped_together(None, one), other).unwrap();
        assert_eq!((all.reason.as_str(), all.left_out), ("the time for a test was up", 5));
        assert_eq!(all.unfinished, [FindingKind::Race, FindingKind::Order]);
    }
}
