//! Predicting as a library: what comes in as values, and what the observer hears.

use std::ops::ControlFlow;

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
