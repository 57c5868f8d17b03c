//! A hunt: build, record, predict, replay, explore.
//!
//! What each stage leaves is in the run's directory before the next begins, so an interrupted hunt keeps what was found.

mod confirm;
mod expected;
mod explore;
mod failures;
mod fixes;
mod harm;
mod ordinary;
mod outcomes;
mod record;
mod rounds;
mod run_directory;
mod settle;
mod step;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use report::Predictions;
use run::drive::Drive;
use trace::Ending;
use wire::Children;

use crate::budget::{Bound, Budget, Cancellation, stopped_by};
use crate::build;
use crate::client_input::ClientInput;
use crate::error::{Error, ErrorKind};
use crate::observer::{Event, Observer, Stage};
use crate::predict::{PredictOptions, head};
use crate::runs;
use crate::saved;
use crate::trace_file::{ExploredTrace, TraceFile};
use fixes::Recordings;
use rounds::Rounds;
use rounds::recordings::open_in_time;
pub use run_directory::RunDirectory;
pub use step::{ExplorationTarget, SharedStep, StepOutcome};

/// What to hunt in, and how.
#[derive(Clone, Debug)]
pub struct HuntOptions {
    /// Which order the threads run in while they are recorded.
    pub seed: u64,
    /// How far apart seeds are: other machines take those in between.
    pub seed_step: u64,
    /// How many runs are recorded, each with the next seed.
    pub runs: u64,
    /// How the next thread is chosen then.
    pub policy: wire::Policy,
    /// Whether the processes that the program starts are recorded and searched, too.
    pub children: Children,
    /// Whether the program is not instrumented: only its locks and threads are seen, and what instrumented libraries do that it loads.
    pub only_sync: bool,
    /// What the clocks of the program show.
    pub clock: wire::Clock,
    /// The client that a server is driven by.
    pub drive: Option<Drive>,
    /// Who talks to the server in replays.
    pub client_input: ClientInput,
    /// What is loaded of recordings.
    pub load: load::Options,
    /// How often each finding is replayed; 0: not at all.
    pub times: u64,
    /// How many rounds: replays that take a new path are searched in the next round.
    pub rounds: u64,
    /// How long the recorded run may take.
    pub run_limit: Duration,
    /// How many events are recorded.
    pub max_events: u64,
    /// One step of an exploration that many hunts share, in place of an exploration of our own.
    pub step: Option<SharedStep>,
    /// What to look for. Its budget is that of each search.
    pub predict: PredictOptions,
    /// No replay begins after the deadline.
    pub budget: Budget,
    /// Whether the hunt is called off: it ends with what it has.
    pub cancellation: Cancellation,
}

/// A program in one file.
#[derive(Clone, Debug)]
pub struct SourceProgram {
    /// Its source.
    pub file: PathBuf,
    /// More flags for the compiler.
    pub flags: String,
}

/// What is hunted in, and where everything about it is kept.
#[derive(Debug)]
pub struct HuntedProgram {
    results: PathBuf,
    directory: RunDirectory,
    command: Vec<OsString>,
}

impl HuntedProgram {
    /// Makes a directory for a hunt in a command, among those of other hunts. A program in one file is built there first, and the command
    /// is its arguments. This takes none of the time of a hunt.
    pub fn prepare(
        source: Option<&SourceProgram>,
        command: &[OsString],
        results: &Path,
        observer: &mut dyn Observer,
    ) -> Result<HuntedProgram, Error> {
        let directory = RunDirectory::create(results)?;
        let mut whole = Vec::new();
        if let Some(SourceProgram { file, flags }) = source {
            observer.begin(&Stage::Building(file.clone()));
            let program = directory.program(file);
            build::build(file, &program, flags)?;
            observer.end(Some(&Event::Built { source: file.clone() }));
            whole.push(program.into_os_string());
        }
        whole.extend_from_slice(command);
        Ok(HuntedProgram { results: results.to_owned(), directory, command: whole })
    }

    /// Where what is found is kept from the first search on.
    pub fn findings(&self) -> PathBuf {
        self.directory.path().join(saved::FINDINGS)
    }
}

/// What a hunt came to.
#[derive(Debug)]
pub struct HuntOutcome {
    /// Where everything is kept.
    pub directory: RunDirectory,
    /// The recording.
    pub file: TraceFile,
    /// Other recordings that findings are of.
    pub explored: Vec<ExploredTrace>,
    /// What was found.
    pub predictions: Predictions,
}

/// Hunts. Of earlier hunts the newest are kept.
pub fn hunt(
    program: HuntedProgram,
    options: &HuntOptions,
    observer: &mut dyn Observer,
) -> Result<HuntOutcome, Error> {
    let HuntedProgram { results, directory, command } = program;
    let recorded = record::record(options, command, &directory, observer)?;
    let bounds = options.budget.bounds;
    let Some(file) = open_in_time(&directory.trace(), bounds, observer)? else {
        return cut_short(directory, options);
    };
    // A program without threads can still misuse its locks.
    let is_in_order = file.trace.metadata().misuses.is_empty();
    if let (Ending::Exited(status), true, true) = (recorded.ending, recorded.gave_up, is_in_order) {
        return Err(gave_up(status, &recorded.output, &directory));
    }
    directory.becomes_latest()?;
    let mut rounds = Rounds::new(options, &directory, &file, recorded)?;
    rounds.run(observer)?;
    rounds.save()?;
    let Rounds { mut predictions, mut explored, .. } = rounds;
    if !options.predict.every_instance {
        let bounds = options.budget.bounds;
        let recordings = Recordings { first: &file, others: &explored, bounds };
        settle::settle(&directory, &recordings, &mut predictions)?;
    }
    explored.retain(|other| {
        predictions.findings.iter().any(|finding| finding.recording.as_ref() == Some(&other.name))
    });
    runs::keep_newest(&results);
    Ok(HuntOutcome { directory, file, explored, predictions })
}

/// The recorded run is too long to be looked at in the time that is left.
fn cut_short(directory: RunDirectory, options: &HuntOptions) -> Result<HuntOutcome, Error> {
    let bounds = options.budget.bounds;
    let file = TraceFile::empty()?;
    let stopped = stopped_by(bounds, bounds.reached().unwrap_or(Bound::Time));
    let predictions = Predictions { unknown: 1, stopped: Some(stopped), ..head(&file, &options.predict)? };
    directory.save(&predictions)?;
    Ok(HuntOutcome { directory, file, explored: Vec::new(), predictions })
}

/// There is nothing to hunt in.
fn gave_up(status: i32, output: &[u8], directory: &RunDirectory) -> Error {
    let output = String::from_utf8_lossy(output);
    let error = Error::from(ErrorKind::GaveUp(status)).note(record::printed(directory));
    match output.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(last) => error.note(format!("it said: {last}")),
        None => error,
    }
    .help("check its arguments and what it needs to run: `foretell hunt -- ./program ARGS`")
}
