//! The first stage after building: a run of the program, recorded.
//!
//! A run that fails is a finding by itself, but ends before most of what could be predicted from it happens. So other seeds are
//! tried, with frequent switches between threads, since that goes far from the order before. The first run that
//! does not fail is recorded, if there is one.

use std::ffi::OsString;
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use run::failure::RunFailure;
use run::record::RecordedRun;
use trace::{Ending, Metadata};
use wire::Stop;

use super::HuntOptions;
use super::failures::RunCounts;
use super::run_directory::RunDirectory;
use crate::client_input::{self, ClientInput};
use crate::error::Error;
use crate::observer::{Event, Observer, Silent, Stage};
use crate::recording::{RecordOptions, Recorder, check_ready, nothing_recorded, warn_of_children};

/// How many seeds are tried after one with which the program failed.
const MORE_SEEDS: u64 = 5;
/// How long runs may take after one that hung.
const HANGING: Duration = Duration::from_secs(2);
/// Events between switches then, on average.
const OFTEN: u64 = 4;
/// Events that are recorded for each second that the hunt may take.
const EVENTS_PER_SECOND: u64 = 500_000;
/// A program that ends by itself after fewer events, and in one thread, has not done its work.
const HARDLY_ANY: u64 = 32;

/// The recorded run, and those before it that failed.
pub(super) struct RecordedRuns {
    /// How the recorded run ended.
    pub(super) ending: Ending,
    /// What it printed.
    pub(super) output: Vec<u8>,
    /// How it failed, if it did.
    pub(super) failure: Option<RunFailure>,
    /// Other runs that failed, each in a way of its own, and the files of their traces.
    pub(super) failed: Vec<(RunFailure, String)>,
    /// Further recordings: of other runs, and of processes that the program started.
    pub(super) others: Vec<String>,
    /// How those of other runs ended, and their files.
    pub(super) outcomes: Vec<(Ending, String)>,
    /// All runs.
    pub(super) counts: RunCounts,
    /// The program gave up before it did anything.
    pub(super) gave_up: bool,
    /// After how many events the recording ends, if the program went on.
    pub(super) cut_after: Option<u64>,
}

/// Records the command into the run's directory.
pub(super) fn record(
    options: &HuntOptions,
    command: Vec<OsString>,
    directory: &RunDirectory,
    observer: &mut dyn Observer,
) -> Result<RecordedRuns, Error> {
    observer.begin(&Stage::Recording);
    // The plainest order comes first: threads go on after they created others.
    let runtime = wire::RuntimeSettings {
        max_events: NonZeroU64::new(options.max_events.min(most_events(options))),
        new_threads: wire::NewThreads::Last,
        policy: options.policy,
        clock: options.clock,
        ..wire::RuntimeSettings::DEFAULT
    };
    let undisturbed = RecordOptions {
        command,
        runtime,
        duration: Some(options.run_limit),
        output: Some(directory.output()),
        children: options.children,
        only_sync: options.only_sync,
        drive: options.drive.clone(),
        client_output: keeps_input(options).then(|| directory.client_output()),
        load: options.load.clone(),
        ..RecordOptions::default()
    };
    let switching = RecordOptions {
        runtime: wire::RuntimeSettings {
            quantum: NonZeroU64::new(OFTEN),
            new_threads: wire::NewThreads::Either,
            ..runtime
        },
        ..undisturbed.clone()
    };
    let short = RecordOptions { duration: Some(HANGING), ..switching.clone() };
    let mut recorder = Recorder::new(&undisturbed, observer)?;
    let (mut seed, mut tried) = (options.seed, 0);
    let (mut counts, mut failed) = (RunCounts::default(), Vec::new());
    let (ran, output, failure) = loop {
        let ran = recorder.run(seed, &directory.trace())?;
        let warned: &mut dyn Observer = if tried == 0 { &mut *observer } else { &mut Silent };
        check_ready(&ran, warned).map_err(|error| error.note(printed(directory)))?;
        let output = fs::read(directory.output()).unwrap_or_default();
        let failure = recorder.failure(&ran, &output)?;
        let is_new = counts.count(ran.ending, failure.as_ref());
        // Runs that hang must leave time to look into what was recorded.
        let is_late = ran.ending == Ending::TimedOut
            && options.budget.time_left().is_some_and(|left| left < 4 * HANGING);
        let is_last = tried == MORE_SEEDS || is_late || options.cancellation.is_cancelled();
        let Some(failure) = failure else { break (ran, output, None) };
        if is_last {
            break (ran, output, Some(failure));
        }
        observer.event(&Event::Failed { seed, message: failure.message.clone() });
        if let (true, Some(process)) = (is_new, ran.processes.first()) {
            let name = format!("failed-{}.ftr", failed.len() + 1);
            let path = directory.recording(&name);
            let metadata = metadata_of(options, &recorder, (&ran, seed), &path, &mut Silent)?;
            recorder.save(process, &metadata, &path, &mut Silent)?;
            failed.push((failure, name));
        }
        seed = seed.wrapping_add(options.seed_step);
        tried += 1;
        recorder = match ran.ending {
            // Another one that hangs would take as long.
            Ending::TimedOut => recorder.with(&short),
            _ => recorder.with(&switching),
        };
    };
    let Some(process) = ran.processes.first() else {
        return Err(nothing_recorded(&directory.trace(), &ran).note(printed(directory)));
    };
    // What the recorded run shows is shown there.
    let identity = failure.as_ref().map(RunFailure::identity);
    failed.retain(|(other, _)| Some(other.identity()) != identity);
    let metadata = metadata_of(options, &recorder, (&ran, seed), &directory.trace(), observer)?;
    // That it deadlocked is a finding, and needs no warning.
    let mut warned: &mut dyn Observer = observer;
    let mut silent = Silent;
    if ran.ending == Ending::Deadlocked {
        warned = &mut silent;
    }
    warn_of_children(&ran, warned);
    let saved = recorder.save(process, &metadata, &directory.trace(), warned)?;
    let (events, threads) = (saved.loaded.events, saved.loaded.threads);
    let cut_after = (saved.loaded.stop == Some(Stop::Limit)).then_some(events);
    let (mut others, mut outcomes) = (Vec::new(), Vec::new());
    for (number, child) in ran.processes[1..].iter().enumerate() {
        let name = format!("child-{}.ftr", number + 1);
        // Nothing runs a process that another one started.
        let metadata = Metadata { command: Vec::new(), ..metadata.clone() };
        recorder.save(child, &metadata, &directory.recording(&name), observer)?;
        others.push(name);
    }
    for run in 2..=options.runs {
        if options.cancellation.is_cancelled() || options.budget.is_exhausted() {
            break;
        }
        seed = seed.wrapping_add(options.seed_step);
        let name = format!("run-{run}.ftr");
        let ran = recorder.run(seed, &directory.recording(&name))?;
        // The first run's output is shown, and what others print is compared with that of replays.
        let printed = fs::read(directory.output()).unwrap_or_default();
        let failure = recorder.failure(&ran, &printed)?;
        let is_new = counts.count(ran.ending, failure.as_ref());
        let Some(process) = ran.processes.first() else { continue };
        let name = format!("run-{run}.ftr");
        let path = directory.recording(&name);
        let metadata = metadata_of(options, &recorder, (&ran, seed), &path, &mut Silent)?;
        recorder.save(process, &metadata, &path, &mut Silent)?;
        match failure {
            Some(failure) if is_new => failed.push((failure, name)),
            Some(_) => {}
            None => {
                outcomes.push((ran.ending, name.clone()));
                others.push(name);
            }
        }
    }
    if options.runs > 1 {
        // Written by all of them.
        fs::write(directory.output(), &output)
            .map_err(|error| Error::io("write", format!("`{}`", directory.output().display()), error))?;
    }
    observer.end(Some(&Event::Recorded { events, threads, ending: ran.ending, limit: options.run_limit }));
    let gave_up = failure.is_none()
        && matches!(ran.ending, Ending::Exited(status) if status != 0)
        && threads <= 1
        && events < HARDLY_ANY;
    let ending = ran.ending;
    Ok(RecordedRuns { ending, output, failure, failed, others, outcomes, counts, gave_up, cut_after })
}

/// Whether what a client sends is kept. Then what it prints is, too, but not with what the server prints: in replays there is no client.
fn keeps_input(options: &HuntOptions) -> bool {
    options.drive.is_some() && options.client_input == ClientInput::Recorded
}

/// How a run with a seed was recorded, for the trace in this file to say.
fn metadata_of(
    options: &HuntOptions,
    recorder: &Recorder<'_>,
    (ran, seed): (&RecordedRun, u64),
    trace: &Path,
    observer: &mut dyn Observer,
) -> Result<Metadata, Error> {
    let metadata = recorder.metadata_of(ran, seed);
    match keeps_input(options) {
        true => client_input::keep(ran, trace, metadata, observer),
        false => Ok(metadata),
    }
}

/// As many events as can be loaded and searched in the time there is: what never ends would otherwise leave no time for that.
fn most_events(options: &HuntOptions) -> u64 {
    let seconds = options.budget.time_left().map(|time| time.as_secs().max(1));
    seconds.map_or(u64::MAX, |seconds| seconds.saturating_mul(EVENTS_PER_SECOND))
}

/// Where to read what the program printed.
pub(super) fn printed(directory: &RunDirectory) -> String {
    format!("the program's output is in `{}`", directory.output().display())
}
