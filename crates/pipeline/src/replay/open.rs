//! What is replayed: a schedule file, or a finding of a trace.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::BufReader;

use report::ScheduleFile;
use run::drive::{Client, Drive};
use run::program::Program;

use super::{Replayer, cannot_be_replayed};
use crate::budget::Bounds;
use crate::confirm::{self, ConfirmOptions};
use crate::error::{Error, ErrorKind};
use crate::evidence;
use crate::observer::Observer;
use crate::predict::PredictOptions;
use crate::recorded_command::{ChosenBy, client, command_named, command_of, command_of_schedule, quoted};
use crate::saved;
use crate::trace_file::TraceFile;

/// The finding that is replayed, and how.
#[derive(Clone, Copy, Debug)]
pub struct FindingToReplay<'a> {
    /// The path of its trace.
    pub trace: &'a OsStr,
    /// Its id.
    pub id: &'a str,
    /// The command that the user names; if it is empty, the recorded one is run.
    pub command: &'a [OsString],
    /// Whether the user names the client of a server.
    pub names_client: bool,
    /// Whether to reduce the number of switches between threads first.
    pub minimize: bool,
}

impl Replayer {
    /// A replay of the schedule in a file, by the recorded command unless the user names one.
    pub fn of_file(file: &OsStr, command: &[OsString], bounds: Bounds) -> Result<Replayer, Error> {
        let name = file.to_string_lossy().into_owned();
        let cannot = |error| Error::io("read", format!("`{name}`"), error);
        let input = BufReader::new(File::open(file).map_err(cannot)?);
        let bytes = evidence::content(&name, input, ScheduleFile::is_one, bounds)?
            .ok_or_else(|| not_schedule(&name))?;
        let schedule = evidence::schedule(&name, &bytes, bounds)?.map_err(|error| {
            let line = format!("line {}", error.line);
            Error::from(ErrorKind::Schedule(error.to_string())).in_file(name.as_str()).note(line)
        })?;
        let command = match command {
            [] => command_of_schedule(&schedule).map_err(|error| error.in_file(name.as_str()))?,
            named => command_named(named, None),
        };
        Replayer::new(name, &schedule, command)
    }

    /// A replay of a finding of this trace. The options say how it was searched for, should it not be saved.
    pub fn of_finding(
        opened: &TraceFile,
        finding: FindingToReplay<'_>,
        options: &PredictOptions,
        observer: &mut dyn Observer,
    ) -> Result<Replayer, Error> {
        let FindingToReplay { trace, id, command, names_client, minimize } = finding;
        let metadata = opened.trace.metadata();
        if opened.trace.notes().is_none() {
            return Err(cannot_be_replayed(id));
        }
        let chosen = match command {
            [] => {
                command_of(metadata, ChosenBy::File).map_err(|error| error.in_file(opened.name.as_str()))?
            }
            named => command_named(named, Some(metadata)),
        };
        if let (Some(drive), None, false) = (client(metadata), &chosen.drive, names_client) {
            return Err(lacks_client(&drive));
        }
        let found = saved::finding(trace, opened, id, options, observer)?;
        if let Some(program) = command.first() {
            warn_of_change(opened, program, observer);
        }
        let options = ConfirmOptions {
            model: found.model,
            command: Some(chosen),
            minimize,
            ..ConfirmOptions::default()
        };
        confirm::replayer(opened, &found.findings[0], &options)
    }
}

fn not_schedule(name: &str) -> Error {
    Error::from(ErrorKind::Schedule("this is not a schedule file".to_owned()))
        .in_file(name)
        .help("`foretell decide` writes one with `--schedule-out FILE`")
}

/// Nothing says what to send to a server.
fn lacks_client(drive: &Drive) -> Error {
    let error = Error::from(ErrorKind::NoClient);
    match &drive.client {
        Client::Command(client) => {
            let client = quoted(&client.to_string_lossy());
            error.help(format!("name the client: `--drive {client}`"))
        }
        Client::Recorded(_) => error,
    }
}

/// The program that the user names may be another one, or a newer build.
fn warn_of_change(opened: &TraceFile, word: &OsStr, observer: &mut dyn Observer) {
    let Some(binary) = &opened.trace.metadata().binary else { return };
    let now = Program::find(word);
    if let Ok(now) = now
        && !binary.checksum.is_empty()
        && now.checksum != binary.checksum
    {
        let word = report::shown(&word.to_string_lossy());
        let warning = Error::from(ErrorKind::AnotherProgram(word));
        observer.warning(warning.note("the schedule may not fit it"));
    }
}
