//! Predicting as a library: what comes in as values, and what the observer hears.

use std::ops::ControlFlow;

use check::Model;
use pipeline::predict::{PredictOptions, predict, predict_each};
use pipeline::{Bounds, Budget, Error, ErrorKind, Event, Observer, Silent, Stage, TraceFile};
use report::{Finding, FindingKind, Rung};

/// Two races on different variables, and a deadlock.
const TRACE: &str = "\
main|fork(A)|a.c:1
A|w(x)|a.c:2
A|w(y)|a.c:3
A|acq(l)|a.c:4
A|acq(m)|a.c:5
A|rel(m)|a.c:6
A|rel(l)|a.c:7
main|w(x)|a.c:8
main|r(y)|a.c:9
main|acq(m)|a.c:10
main|acq(l)|a.c:11
main|rel(l)|a.c:12
main|rel(m)|a.c:13
";

fn file() -> TraceFile {
    TraceFile::in_memory(trace::text::read(TRACE.as_bytes()).unwrap(), "test")
}

fn only(kinds: &[FindingKind]) -> PredictOptions {
    PredictOptions { only: kinds.to_vec(), ..PredictOptions::default() }
}

/// Writes down what it hears.
#[derive(Default)]
struct Recorder {
    begun: Vec<Stage>,
    ended: usize,
    findings: Vec<String>,
    warnings: Vec<Error>,
}

impl Observer for Recorder {
    fn begin(&mut self, stage: &Stage) {
        self.begun.push(stage.clone());
    }

    fn end(&mut self, _outcome: Option<&Event>) {
        self.ended += 1;
    }

    fn warning(&mut self, warning: Error) {
        self.warnings.push(warning);
    }

    fn finding(&mut self, finding: &Finding) {
        self.findings.push(finding.id.clone());
    }
}

#[test]
fn findings_are_verified_and_reach_the_observer() {
    let kinds = [FindingKind::Race, FindingKind::Deadlock];
    let mut recorder = Recorder::default();
    let predictions = predict(&file(), &only(&kinds), &mut recorder).unwrap();
    let ids: Vec<&str> = predictions.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["race-1", "race-2", "deadlock-1"]);
    assert_eq!(recorder.findings, ids);
    assert!(predictions.findings.iter().all(|finding| finding.rung == Rung::Predicted));
    assert!(predictions.findings.iter().all(|finding| !finding.schedule.is_empty()));
    assert_eq!(recorder.begun, kinds.map(Stage::Searching));
    assert_eq!(recorder.ended, recorder.begun.len(), "every stage ends");
    assert!(recorder.warnings.is_empty());
}

#[test]
fn what_a_budget_or_a_cancellation_cuts_off_is_unknown() {
    let kinds = [FindingKind::Race, FindingKind::Deadlock];
    let bounds = Bounds::start(None, None);
    bounds.interrupt();
    let late = Budget { bounds, ..Budget::default() };
    let cancelled = only(&kinds);
    cancelled.cancellation.cancel();
    for options in [PredictOptions { budget: late, ..only(&kinds) }, cancelled] {
        let predictions = predict(&file(), &options, &mut Silent).unwrap();
        assert_eq!((predictions.findings.len(), predictions.unknown), (0, 2));
    }
}

#[test]
fn a_sink_may_want_no_more() {
    let options = PredictOptions { every_instance: true, ..only(&[FindingKind::Race]) };
    let mut taken = 0;
    let predictions = predict_each(&file(), &options, &mut Silent, &mut |predictions, _| {
        taken += predictions.len();
        ControlFlow::Break(())
    });
    assert!(predictions.unwrap().findings.is_empty(), "they went to the sink");
    assert_eq!(taken, 1);
}

#[test]
fn errors_are_typed_and_say_what_to_do() {
    let branch = PredictOptions { model: check::Model::Branch, ..PredictOptions::default() };
    let error = predict(&file(), &branch, &mut Silent).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoBranches), "{error}");
    assert!(!error.advice().is_empty());
    let missing = PredictOptions { rules: Some("no such file".into()), ..PredictOptions::default() };
    let error = predict(&file(), &missing, &mut Silent).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io { doing: "read", .. }), "{error}");
}

/// Two threads wait for one condition variable with a mutex each, the second one when the first has returned.
const APART: &str = "\
main|fork(A)|a.c:1
main|fork(B)|a.c:2
A|acq(l)|a.c:3
A|rel(l)|a.c:4
main|signal(changed)|a.c:5
A|wait(changed)|a.c:4
A|acq(l)|a.c:4
A|rel(l)|a.c:6
B|acq(m)|a.c:7
B|rel(m)|a.c:8
main|signal(changed)|a.c:9
B|wait(changed)|a.c:8
B|acq(m)|a.c:8
B|rel(m)|a.c:10
";

fn misuses(text: &str) -> Vec<Finding> {
    let file = TraceFile::in_memory(trace::text::read(text.as_bytes()).unwrap(), "test");
    predict(&file, &only(&[FindingKind::Misuse]), &mut Silent).unwrap().findings
}

#[test]
fn waits_with_two_mutexes_that_another_schedule_lets_overlap_are_predicted() {
    let findings = misuses(APART);
    let [misuse] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((misuse.id.as_str(), misuse.object.as_str()), ("misuse-1", "changed"));
    assert_eq!((misuse.rung, &misuse.locations), (Rung::Predicted, &vec!["a.c:8".to_owned()]));
    let words = "B waits for changed at a.c:8 with another mutex than A, which still waits for it";
    assert_eq!(misuse.misuse.as_deref(), Some(words));
    // A has begun to wait and not returned when B begins.
    let schedule: Vec<u32> = misuse.schedule.iter().map(|event| event.0).collect();
    assert!(schedule.contains(&3) && schedule.ends_with(&[9]) && !schedule.contains(&5), "{schedule:?}");
}

#[test]
fn waits_with_one_mutex_or_that_never_overlap_are_no_misuse() {
    assert_eq!(misuses(&APART.replace("(m)", "(l)")).len(), 0);
    // B is created by A when it has returned.
    let later = APART
        .replace("main|fork(B)|a.c:2\n", "")
        .replace("A|rel(l)|a.c:6", "A|rel(l)|a.c:6\nA|fork(B)|a.c:6");
    assert_eq!(misuses(&later).len(), 0);
    // Each has a condition variable of its own.
    let own = APART
        .replace("signal(changed)|a.c:9", "signal(other)|a.c:9")
        .replace("B|wait(changed)", "B|wait(other)");
    assert_eq!(misuses(&own).len(), 0);
}

/// A search that takes all the time must not hide what needs none.
#[test]
fn misuse_is_looked_at_before_anything_is_searched_for() {
    let text = APART.replace("main|fork(A)|a.c:1\n", "main|fork(A)|a.c:1\nmain|w(x)|a.c:1\nA|w(x)|a.c:3\n");
    let file = TraceFile::in_memory(trace::text::read(text.as_bytes()).unwrap(), "test");
    let options = only(&[FindingKind::Race, FindingKind::Misuse]);
    let findings = predict(&file, &options, &mut Silent).unwrap().findings;
    let kinds: Vec<FindingKind> = findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::Misuse, FindingKind::Race]);
}

/// Of the pairs of events at the same two places, the one that the program is likeliest to come to.
#[test]
fn what_changes_the_fewest_reads_stands_for_the_others() {
    let text = "\
main|fork(A)|a.c:1
main|fork(B)|a.c:1
B|r(x)|a.c:9
B|aw(ready)|a.c:10
A|ar(ready)|a.c:3
A|ar(ready)|a.c:4
A|w(x)|a.c:5
A|aw(done)|a.c:6
B|ar(done)|a.c:11
B|r(x)|a.c:9
";
    let file = TraceFile::in_memory(trace::text::read(text.as_bytes()).unwrap(), "test");
    let options = PredictOptions { model: Model::Sync, ..only(&[FindingKind::Race]) };
    let findings = predict(&file, &options, &mut Silent).unwrap().findings;
    let found: Vec<(&[i64], u64, Rung)> =
        findings.iter().map(|finding| (&finding.events[..], finding.count, finding.rung)).collect();
    // Before the first read of x, A would have to see what B has not yet written, twice.
    assert_eq!(found, [(&[6, 9][..], 2, Rung::Possible)]);
}
