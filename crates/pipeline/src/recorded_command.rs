//! Whether a command that a file names may be run. A trace or a schedule may come from anywhere, so what it says is no reason to run
//! anything: the rule is here, and nothing that a file names is run without it.
//!
//! - The program must be the one that was recorded, by build id and checksum, and be instrumented: what is run is a
//!   program that somebody built on this machine to be recorded, never a shell.
//! - The recorded input is opened only if its checksum is known and equal. The same holds for what the clients of a server sent, which is sent
//!   to that server only, where it listens.
//! - The environment's values are this process's own, and so is what tells the loader which libraries to load.
//! - Anything else takes a command that the user names, after `--`.
//!
//! Who runs a command says so first ([`in_words`]).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use report::ScheduleFile;
use run::drive::{Client, Drive};
use run::environment::EnvironmentSource;
use run::program::{Program, Recordability, checksum};
use run::replay::Command;
use trace::{Binary, Metadata, ThreadPath};

use crate::client_input;
use crate::error::{Error, ErrorKind};

/// Which of a trace's settings says what the clocks showed.
const CLOCK: &str = "clock";

/// Who chose the command of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The file, which may be from anywhere.
    File,
    /// The user: this process recorded the trace itself, from a command it was given.
    User,
}

/// What is to be run for a trace, if it may be.
pub fn command_of(metadata: &Metadata, chosen_by: ChosenBy) -> Result<Command, Error> {
    if metadata.command.is_empty() {
        return Err(refused(ErrorKind::NoCommand));
    }
    let file = match chosen_by {
        ChosenBy::File => Some(verified_program(metadata.binary.as_ref())?),
        ChosenBy::User => metadata.binary.as_ref().map(|binary| PathBuf::from(&binary.path)),
    };
    let some = |text: &String| Some(text).filter(|text| !text.is_empty()).map(PathBuf::from);
    Ok(Command {
        words: metadata.command.iter().map(OsString::from).collect(),
        file,
        directory: some(&metadata.directory),
        environment: EnvironmentSource::recorded(metadata),
        environment_size: size(metadata),
        input: verified_input(metadata)?,
        only_sync: chosen_by == ChosenBy::User && is_only_sync(metadata),
        drive: client_input::client(metadata).or_else(|| match chosen_by {
            // A client is a line for a shell: nobody runs that because a file says so.
            ChosenBy::File => None,
            ChosenBy::User => client(metadata),
        }),
        clock: clock(metadata),
        descriptors: descriptors(metadata),
    })
}

/// The client that a server was recorded with.
pub fn client(metadata: &Metadata) -> Option<Drive> {
    client_input::command(metadata)
}

/// What the clocks showed in the recorded run: the same in every replay.
fn clock(metadata: &Metadata) -> wire::Clock {
    let recorded = metadata.settings.get(CLOCK);
    recorded.map_or_else(wire::Clock::default, |text| wire::Clock::parse(text.as_bytes()))
}

/// What is to be run for a schedule file, if it may be.
pub fn command_of_schedule(file: &ScheduleFile) -> Result<Command, Error> {
    if file.command.is_empty() {
        return Err(refused(ErrorKind::NoCommand));
    }
    let program = verified_program(file.program.as_ref())?;
    let words = file.command.iter().map(OsString::from).collect();
    Ok(Command { words, file: Some(program), ..Command::default() })
}

/// The command that the user named. It runs here and with our environment; of the recording, if there is one, it gets the size of the
/// environment, and the input unless it has its own.
pub fn command_named(words: &[OsString], recorded: Option<&Metadata>) -> Command {
    let has_runtime_preloaded =
        Program::find(&words[0]).is_ok_and(|program| program.recordability == Recordability::SyncOnly);
    let own_input = std::fs::metadata("/dev/stdin").is_ok_and(|facts| facts.is_file());
    let recorded_input = || recorded.and_then(|metadata| verified_input(metadata).ok().flatten());
    Command {
        words: words.to_vec(),
        environment_size: recorded.and_then(size),
        input: if own_input { Some(PathBuf::from("/dev/stdin")) } else { recorded_input() },
        only_sync: recorded.is_some_and(is_only_sync) && has_runtime_preloaded,
        drive: recorded.and_then(client_input::client),
        clock: recorded.map(clock).unwrap_or_default(),
        descriptors: recorded.map(descriptors).unwrap_or_default(),
        ..Command::default()
    }
}

/// The whole command, as a line for people: what is run, where, and on what input.
pub fn in_words(command: &Command) -> String {
    let words = command.words.iter().map(|word| quoted(&word.to_string_lossy()));
    let mut line = words.collect::<Vec<_>>().join(" ");
    let path = |path: &Path| quoted(&path.to_string_lossy());
    if let Some(file) = command.file.as_ref().filter(|file| file.as_os_str() != command.words[0]) {
        line.push_str(&format!(", the program {}", path(file)));
    }
    if let Some(directory) = &command.directory {
        line.push_str(&format!(", in {}", path(directory)));
    }
    match command.drive.as_ref().map(|drive| &drive.client) {
        Some(Client::Command(client)) => {
            line.push_str(&format!(", driven by {}", quoted(&client.to_string_lossy())));
        }
        Some(Client::Recorded(file)) => line.push_str(&format!(", sent what is in {}", path(file))),
        None => {}
    }
    if let Some(input) = &command.input {
        line.push_str(&format!(", reading {}", path(input)));
    }
    line
}

/// A word as a shell would need it, and nothing in it that could upset a terminal.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", report::printable(word).replace('\'', r"'\''")),
    }
}

fn is_only_sync(metadata: &Metadata) -> bool {
    metadata.settings.contains_key("only-sync")
}

/// The numbers of files that threads were given. What names no thread is left out.
fn descriptors(metadata: &Metadata) -> BTreeMap<ThreadPath, Vec<u32>> {
    let given = metadata.descriptors.iter();
    given.filter_map(|(thread, numbers)| Some((thread.parse().ok()?, numbers.clone()))).collect()
}

fn size(metadata: &Metadata) -> Option<u64> {
    Some(metadata.environment_size).filter(|&size| size > 0)
}

/// The file of the recorded program, if it is still the same and one that is recorded.
fn verified_program(recorded: Option<&Binary>) -> Result<PathBuf, Error> {
    let refuse = |program: &str, why: &str| {
        refused(ErrorKind::MayNotRun { program: report::shown(program), why: why.to_owned() })
    };
    let binary = recorded.filter(|binary| !binary.path.is_empty() && !binary.checksum.is_empty());
    let binary = binary.ok_or_else(|| refused(ErrorKind::UnknownProgram))?;
    if !Path::new(&binary.path).is_absolute() {
        return Err(refuse(&binary.path, "its path is not absolute"));
    }
    let program =
        Program::find(OsStr::new(&binary.path)).map_err(|error| refuse(&binary.path, &error.to_string()))?;
    if (&program.checksum, &program.build_id) != (&binary.checksum, &binary.build_id) {
        return Err(refuse(&binary.path, "it is not the program that was recorded"));
    }
    match program.recordability {
        Recordability::Full => Ok(program.path),
        _ => Err(refuse(&binary.path, "it is not instrumented")),
    }
}

/// The recorded input, if it is still the same.
fn verified_input(metadata: &Metadata) -> Result<Option<PathBuf>, Error> {
    if metadata.input.is_empty() {
        return Ok(None);
    }
    let path = PathBuf::from(&metadata.input);
    let is_same = || {
        let content = path.is_file().then(|| run::mapping::map_file(&path).ok()).flatten();
        content.is_some_and(|content| checksum(&content) == metadata.input_checksum)
    };
    match !metadata.input_checksum.is_empty() && is_same() {
        true => Ok(Some(path)),
        false => {
            let error = Error::from(ErrorKind::ChangedInput(report::shown(&metadata.input)));
            Err(error.help("name the command and its input yourself: `.. -- CMD < FILE`"))
        }
    }
}

fn refused(kind: ErrorKind) -> Error {
    Error::from(kind).help("name the command yourself: `.. -- CMD`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming(program: &str) -> Metadata {
        let found = Program::find(OsStr::new(program)).unwrap();
        Metadata {
            command: [program, "-c", "echo hostile"].map(String::from).to_vec(),
            binary: Some(Binary {
                path: found.path.display().to_string(),
                build_id: found.build_id,
                checksum: found.checksum,
            }),
            ..Metadata::default()
        }
    }

    fn refusal(metadata: &Metadata) -> String {
        command_of(metadata, ChosenBy::File).unwrap_err().to_string()
    }

    #[test]
    fn a_shell_is_not_run_whatever_a_file_says() {
        let mut metadata = naming("/bin/sh");
        assert!(refusal(&metadata).contains("it is not instrumented"), "{}", refusal(&metadata));
        metadata.settings.insert("only-sync".into(), "yes".into());
        assert!(refusal(&metadata).contains("it is not instrumented"));
        metadata.binary.as_mut().unwrap().checksum = "0123456789abcdef".into();
        assert!(refusal(&metadata).contains("it is not the program that was recorded"));
        metadata.binary.as_mut().unwrap().checksum.clear();
        assert!(refusal(&metadata).contains("does not say which program"));
        metadata.binary = None;
        assert!(refusal(&metadata).contains("does not say which program"));
        assert!(command_of(&metadata, ChosenBy::User).is_ok(), "the user may");
    }

    #[test]
    fn a_file_is_no_input_unless_its_content_is_known() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "secret").unwrap();
        let mut metadata = naming("/bin/sh");
        metadata.input = file.path().display().to_string();
        let result = |metadata: &Metadata| command_of(metadata, ChosenBy::User);
        assert!(result(&metadata).unwrap_err().to_string().contains("is not the input"));
        metadata.input_checksum = checksum(b"another");
        assert!(result(&metadata).is_err());
        metadata.input_checksum = checksum(b"secret");
        assert_eq!(result(&metadata).unwrap().input.as_deref(), Some(file.path()));
    }

    #[test]
    fn what_is_run_is_shown_whole() {
        let mut metadata = naming("/bin/sh");
        metadata.command[2] = "it's \u{1b}[2J\u{202e}".into();
        metadata.directory = "/tmp/a b".into();
        let line = in_words(&command_of(&metadata, ChosenBy::User).unwrap());
        assert!(line.starts_with("/bin/sh -c 'it'\\''s "), "{line}");
        assert!(line.contains(", in '/tmp/a b'") && !line.contains('\u{1b}'), "{line}");
    }
}
