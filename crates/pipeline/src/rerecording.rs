//! Replays as recordings: what the runtime logged of a replayed run, as a trace like any other.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use load::Options;
use run::replay::Replay;
use trace::{Metadata, Trace};

use crate::replay::Replayer;

/// The trace of a replay; none if the program left no log, or none that can be loaded.
pub fn trace_of(replayer: &Replayer, replayed: &Replay) -> Option<Trace> {
    let directory = directory(replayer);
    let recorded = replayed.recorded(&directory)?;
    load::load_trace(recorded, &Metadata::default(), &Options::default()).ok()
}

/// Writes the trace of a replay that left a log ([`is_recorded`]), with what is known of how the program was
/// recorded first.
pub fn write(
    replayer: &Replayer,
    replayed: &Replay,
    recorded_as: &Metadata,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let directory = directory(replayer);
    let recorded = replayed.recorded(&directory);
    let recorded = recorded.ok_or_else(|| io::Error::other("the program left no log"))?;
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let command = &replayer.command;
    let mut metadata = Metadata {
        command: command.words.iter().map(text).collect(),
        directory: directory.display().to_string(),
        environment_size: command.environment_size.unwrap_or(0),
        input: command.input.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
        input_checksum: recorded_as.input_checksum.clone(),
        client_input: recorded_as.client_input.clone(),
        client_input_checksum: recorded_as.client_input_checksum.clone(),
        settings: recorded_as.settings.clone(),
        binary: recorded_as.binary.clone(),
        ending: Some(replayed.ending),
        ..Metadata::default()
    };
    command.environment.describe(&mut metadata);
    let loaded = load::load(recorded, &metadata, options, out);
    loaded.map(|_| ()).map_err(|error| io::Error::other(error.to_string()))
}

/// Whether a replay left a log.
pub fn is_recorded(replayed: &Replay) -> bool {
    replayed.recorded(Path::new("")).is_some()
}

fn directory(replayer: &Replayer) -> PathBuf {
    let here = || std::env::current_dir().unwrap_or_default();
    replayer.command.directory.clone().unwrap_or_else(here)
}
