//! What the pipeline says while it works. It prints nothing: the caller decides what is shown, and how.

use std::path::PathBuf;
use std::time::Duration;

pub use report::{Coverage, HuntEnd};
use report::{Finding, FindingKind, TestOutcome};
use trace::Ending;

use crate::error::Error;

/// Hears what the pipeline says while it works. Stages nest: each [`begin`](Observer::begin) has its [`end`](Observer::end),
/// unless an error ends the work in between.
pub trait Observer {
    /// A stage begins.
    fn begin(&mut self, _stage: &Stage) {}

    /// The innermost stage turns to the next of its items: a finding, a source location.
    fn item(&mut self, _name: &str) {}

    /// The innermost stage has come so far.
    fn advance(&mut self, _progress: Progress) {}

    /// The innermost stage is over. Its result is passed on if a person wants to know it.
    fn end(&mut self, _outcome: Option<&Event>) {}

    /// Something happened within a stage.
    fn event(&mut self, _event: &Event) {}

    /// Something is wrong, and the work goes on.
    fn warning(&mut self, _warning: Error) {}

    /// A finding, as soon as it is known and kept.
    fn finding(&mut self, _finding: &Finding) {}
}

/// What is being done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading a trace.
    Reading {
        /// How many bytes there are.
        bytes: Option<u64>,
    },
    /// Translating a recording that was kept as it is.
    Translating,
    /// Searching a trace for bugs of a kind.
    Searching(FindingKind),
    /// Finding out which reads race, for the sake of other kinds of bugs.
    SearchingRacyReads,
    /// Deciding what an inexact method reports, in a trace.
    Deciding {
        /// How many events there are.
        events: u64,
    },
    /// Searching the global states of a trace.
    SearchingStates,
    /// Building a program from this source.
    Building(PathBuf),
    /// Running the program, and recording it.
    Recording,
    /// Searching a recording for all kinds of bugs.
    Predicting,
    /// Replaying findings.
    Replaying {
        /// How many there are.
        findings: usize,
    },
    /// Replaying towards what the program has not done yet.
    Exploring,
    /// Running a test command, to see which programs it starts.
    Surveying,
    /// Hunting in tests.
    HuntingTests {
        /// How many there are.
        tests: usize,
    },
}

/// How far a stage has come.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// A count, and the total if it is known.
    Counted {
        /// How many are done.
        done: u64,
        /// How many there are.
        total: Option<u64>,
    },
    /// A count, whose total can only be estimated.
    Estimated {
        /// How many are done.
        done: u64,
        /// The share of the work that is done.
        share: Option<f64>,
    },
    /// A hunt has covered so much.
    Covered(Coverage),
}

/// Something worth a line to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A program was built.
    Built {
        /// Its source.
        source: PathBuf,
    },
    /// The program failed while it was recorded, so another run is recorded.
    Failed {
        /// The seed of the run.
        seed: u64,
        /// What failed.
        message: String,
    },
    /// A run was recorded.
    Recorded {
        /// Events in the trace.
        events: u64,
        /// Threads in the trace.
        threads: u64,
        /// How the program ended.
        ending: Ending,
        /// How long it was allowed to run.
        limit: Duration,
    },
    /// A recording was searched.
    Predicted {
        /// Findings that are new.
        findings: u64,
        /// Candidates there were.
        candidates: u64,
        /// Whether other recordings were searched before.
        more: bool,
    },
    /// A test command was run.
    Surveyed {
        /// The status that it ended with.
        status: u8,
        /// Instrumented processes that it started.
        processes: u64,
        /// Tests among them.
        tests: u64,
    },
    /// A test was hunted in.
    TestHunted {
        /// Its name.
        name: String,
        /// The result.
        outcome: TestOutcome,
        /// Findings in it that are shown.
        findings: u64,
        /// How long it took.
        milliseconds: u64,
        /// Why it could not be hunted in.
        message: Option<String>,
    },
    /// All tests had their turn, or time was up.
    TestsHunted {
        /// Tests that were hunted in.
        hunted: u64,
        /// Tests that were not reached.
        left: u64,
    },
    /// A replay saw a finding happen, the first of those that read alike.
    Confirmed {
        /// What it is, and where.
        title: String,
        /// How long after the start of the hunt.
        after: Duration,
    },
    /// Findings were replayed.
    Replayed {
        /// Findings that were seen happening.
        confirmed: u64,
        /// Findings that were not replayed.
        left: u64,
        /// Why they were not.
        why: NotReplayed,
    },
}

/// Why findings are not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReplayed {
    /// The time was up.
    TimeUp,
    /// The user wanted to stop.
    Interrupted,
    /// They are of a process that the program started: only the program itself is run again.
    OfChild,
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Hears warnings only, and passes them on: for work within a stage that speaks for it.
pub struct WarningsOnly<'o>(pub &'o mut dyn Observer);

impl Observer for WarningsOnly<'_> {
    fn warning(&mut self, warning: Error) {
        self.0.warning(warning);
    }
}

/// Hears everything but findings: for a search whose findings are renamed or left out before they are passed on.
pub struct WithoutFindings<'o>(pub &'o mut dyn Observer);

impl Observer for WithoutFindings<'_> {
    fn begin(&mut self, stage: &Stage) {
        self.0.begin(stage);
    }

    fn item(&mut self, name: &str) {
        self.0.item(name);
    }

    fn advance(&mut self, progress: Progress) {
        self.0.advance(progress);
    }

    fn end(&mut self, outcome: Option<&Event>) {
        self.0.end(outcome);
    }

    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }

    fn warning(&mut self, warning: Error) {
        self.0.warning(warning);
    }
}
