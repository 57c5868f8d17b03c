//! The first stage after building: a run of the program, recorded.
//!
//! A run that crashes shows a bug by itself, but ends before most of what could be predicted from it happens. So other seeds are
//! tried, with frequent switches between threads, since that goes far from the order before. The first run that
//! does not crash is recorded, if there is one.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::time::Duration;

use run::record::Ran;

use super::HuntOptions;
use super::run_directory::RunDirectory;
use crate::ending;
use crate::error::{Error, ErrorKind};
use crate::observer::{Event, Observer, RecordedEnd, Stage};
use crate::recording::{RecordOptions, Recorder, nothing_recorded};

/// How many seeds are tried after one with which the program crashed.
const MORE_SEEDS: u64 = 5;
/// Events between switches then, on average.
const OFTEN: u64 = 4;

/// Records the command into the run's directory.
pub(super) fn record(
    options: &HuntOptions,
    command: Vec<OsString>,
    directory: &RunDirectory,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    observer.begin(&Stage::Recording);
    let runtime =
        wire::Settings { max_events: NonZeroU64::new(options.max_events), ..wire::Settings::DEFAULT };
    let undisturbed = RecordOptions {
        command,
        runtime,
        duration: Some(options.run_limit),
        output: Some(directory.output()),
        ..RecordOptions::default()
    };
    let switching = RecordOptions {
        runtime: wire::Settings { quantum: NonZeroU64::new(OFTEN), ..runtime },
        ..undisturbed.clone()
    };
    let mut recorder = Recorder::new(&undisturbed, observer)?;
    let mut seed = options.seed;
    let ran = loop {
        let ran = recorder.run(seed)?;
        let Some(signal) = ending::crash(ran.status) else { break ran };
        if seed == options.seed.saturating_add(MORE_SEEDS) || options.cancellation.is_cancelled() {
            observer.warning(crashed(signal, directory));
            break ran;
        }
        observer.event(&Event::Crashed { seed, signal });
        seed += 1;
        recorder = recorder.with(&switching);
    };
    let Some(process) = ran.processes.first() else {
        return Err(nothing_recorded(&directory.trace()).note(printed(directory)));
    };
    let saved = recorder.save(process, &recorder.metadata(seed), &directory.trace(), observer)?;
    let (events, threads) = (saved.loaded.events, saved.loaded.threads);
    observer.end(Some(&Event::Recorded { events, threads, end: end(&ran, options.run_limit) }));
    Ok(())
}

fn crashed(signal: &'static str, directory: &RunDirectory) -> Error {
    Error::from(ErrorKind::CrashedInEveryRun(signal))
        .note("the recording ends at the crash, so bugs that need later events are not predicted")
        .note(printed(directory))
}

fn printed(directory: &RunDirectory) -> String {
    format!("the program's output is in `{}`", directory.output().display())
}

/// How the program ended.
fn end(ran: &Ran, limit: Duration) -> RecordedEnd {
    match ending::crash(ran.status) {
        Some(signal) => RecordedEnd::Crashed(signal),
        None if ran.elapsed >= limit => RecordedEnd::TimedOut(limit.as_secs()),
        None => RecordedEnd::Exited(ran.code()),
    }
}
