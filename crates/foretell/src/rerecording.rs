//! Replays as recordings: what the runtime logged of a replayed run, as a trace like any other.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use load::Options;
use run::replay::Replay;
use trace::{Metadata, Trace};

use crate::diagnostics::Diagnostic;
use crate::output::Target;
use crate::replaying::Replaying;

/// The trace of a replay; none if the program left no log, or none that can be loaded.
pub fn trace_of(replaying: &Replaying, replayed: &Replay) -> Option<Trace> {
    let directory = directory(replaying);
    let recorded = replayed.recorded(&directory)?;
    let mut bytes = Vec::new();
    load::load(recorded, &Metadata::default(), &Options::default(), &mut bytes).ok()?;
    trace::native::read(&bytes).ok().map(|(trace, _)| trace)
}

/// Writes the trace of a replay, with what is known of how the program was recorded first; whether there was a log.
pub fn write(
    replaying: &Replaying,
    replayed: &Replay,
    recorded_as: &Metadata,
    target: &Target,
) -> Result<bool, Diagnostic> {
    let directory = directory(replaying);
    let Some(recorded) = replayed.recorded(&directory) else { return Ok(false) };
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let command = &replaying.command;
    let metadata = Metadata {
        command: command.words.iter().map(text).collect(),
        directory: directory.display().to_string(),
        environment: command.environment.clone().unwrap_or_default(),
        input: command.input.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
        settings: recorded_as.settings.clone(),
        binary: recorded_as.binary.clone(),
        ..Metadata::default()
    };
    target.write(|out| {
        load::load(recorded, &metadata, &Options::default(), out)
            .map_err(|error| io::Error::other(error.to_string()))
    })?;
    Ok(true)
}

fn directory(replaying: &Replaying) -> PathBuf {
    let here = || std::env::current_dir().unwrap_or_default();
    replaying.command.directory.clone().unwrap_or_else(here)
}
