//! Running a command under the recorder, and writing what its processes did as traces.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use load::{LoadError, Loaded, Options, Recorded};
use run::drive::{Client, Drive};
use run::environment::Environment;
use run::failure::RunFailure;
use run::program::{Program, Recordability, checksum};
use run::record::{self, Process, RecordedRun};
use trace::native::Untranslated;
use trace::{Binary, Ending, Metadata};
use wire::{Children, Stop};

use crate::budget::Bounds;
use crate::error::{Error, ErrorKind};
use crate::files::{self, Form};
use crate::observer::Observer;
use crate::recovery;
use crate::trace_file::MAKE_ROOM;

/// How a command is recorded.
#[derive(Clone, Debug, Default)]
pub struct RecordOptions {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// How threads are scheduled, and for how long.
    pub runtime: wire::RuntimeSettings,
    /// End the program after this long.
    pub duration: Option<Duration>,
    /// Where its output goes, standard error included; none: where ours goes.
    pub output: Option<PathBuf>,
    /// The client that a server is driven by.
    pub drive: Option<Drive>,
    /// Where what the client prints goes; none: where the program's output goes.
    pub client_output: Option<PathBuf>,
    /// The program is not instrumented: see its locks and threads alone, and what instrumented libraries do that it loads.
    pub only_sync: bool,
    /// Whether the processes it starts are recorded, too.
    pub children: Children,
    /// What the trace says of the environment.
    pub environment: KeptEnvironment,
    /// What is loaded of what was recorded.
    pub load: Options,
    /// When the log of a long run becomes a trace.
    pub translation: Translation,
}

/// When the log of a run becomes a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Translation {
    /// When the run is over.
    #[default]
    Now,
    /// When the file is first read, if the run is long: that takes longer than the run itself.
    WhenRead,
}

impl Translation {
    /// The latest time for a log that is loaded with these options. Which part of it is wanted is not kept with it.
    pub fn latest(load: &Options) -> Translation {
        let is_whole = load.sample.is_none() && load.include.is_empty() && load.exclude.is_empty();
        if is_whole && !load.drop_repeated { Translation::WhenRead } else { Translation::Now }
    }
}

/// The log of a run with at most this number of events is translated at once: that takes no noticeable time.
const SHORT: u64 = 1_000_000;

/// What a trace says of the environment of its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeptEnvironment {
    /// Names, and how long values are.
    #[default]
    Names,
    /// The values as well.
    Values,
    /// Nothing.
    Nothing,
}

/// Which of a trace's settings are the client's command, and when it was started.
pub(crate) const DRIVE: &str = "drive";
pub(crate) const READY: &str = "ready";

/// A run that was recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    /// How the program ended.
    pub status: ExitStatus,
    /// The same as a shell has it: 128 and the signal's number if a signal ended it.
    pub code: u8,
    /// How long it took.
    pub elapsed: Duration,
    /// The traces that were written: the program's, and those of its children.
    pub traces: Vec<RecordedTrace>,
    /// What was written as it is instead.
    pub kept: Vec<KeptRecording>,
}

/// A trace that was written.
#[derive(Clone, Debug)]
pub struct RecordedTrace {
    /// Its file, as the user would name it.
    pub name: String,
    /// How long it is.
    pub bytes: u64,
    /// What is in it.
    pub loaded: Loaded,
}

/// A recording that was written as it is, and is translated when it is read.
#[derive(Clone, Debug)]
pub struct KeptRecording {
    /// Its file, as the user would name it.
    pub name: String,
    /// How long it is.
    pub bytes: u64,
}

/// Records one run of a command.
pub fn record(
    options: &RecordOptions,
    seed: u64,
    file: &Path,
    observer: &mut dyn Observer,
) -> Result<Recording, Error> {
    Recorder::new(options, observer)?.record(seed, file, observer)
}

/// A command that can be recorded, as often as wanted.
#[derive(Clone, Debug)]
pub struct Recorder<'a> {
    options: &'a RecordOptions,
    program: Program,
    /// The file that is standard input, if it is one.
    input: Option<Input>,
}

/// A file that the program reads.
#[derive(Clone, Debug)]
struct Input {
    path: String,
    checksum: String,
}

impl<'a> Recorder<'a> {
    /// Finds the program, and sees whether it can be recorded this way; if not, the error says what to do.
    pub fn new(options: &'a RecordOptions, observer: &mut dyn Observer) -> Result<Self, Error> {
        let word = options.command[0].as_os_str();
        let program =
            Program::find(word).map_err(|error| Error::io("run", format!("`{}`", word.display()), error))?;
        if let Some(error) = unseen(&program, options.only_sync, options.children) {
            return Err(error);
        }
        if program.recordability == Recordability::Full && !program.has_lines {
            let warning = Error::from(ErrorKind::NoDebugInformation);
            let warning = warning.in_file(program.path.display().to_string());
            observer.warning(warning.help("build it with `-g`, and without `-s` or `strip`"));
        }
        recovery::warn_of_interrupted(observer);
        Ok(Recorder { options, program, input: input() })
    }

    /// The same program, recorded in another way.
    pub(crate) fn with(self, options: &'a RecordOptions) -> Self {
        Recorder { options, ..self }
    }

    /// Records a run with this seed: the program's trace into this file, those of its children into the same directory.
    pub fn record(&self, seed: u64, file: &Path, observer: &mut dyn Observer) -> Result<Recording, Error> {
        let ran = self.run(seed, file)?;
        check_ready(&ran, observer)?;
        if ran.processes.is_empty() {
            return Err(nothing_recorded(file, &ran));
        }
        warn_of_children(&ran, observer);
        let metadata = self.metadata_of(&ran, seed);
        let (mut traces, mut kept) = (Vec::new(), Vec::new());
        for (child, process) in ran.processes.iter().enumerate() {
            let file = if child == 0 { file.to_owned() } else { child_file(file, child) };
            match self.keep(process, &metadata, &file, observer)? {
                Some(recording) => kept.push(recording),
                None => traces.push(self.save(process, &metadata, &file, observer)?),
            }
        }
        Ok(Recording { status: ran.status, code: ran.code(), elapsed: ran.elapsed, traces, kept })
    }

    /// Runs the command with this seed to its end, and writes nothing yet. If we are killed meanwhile, what was recorded can still be written to
    /// this file.
    pub(crate) fn run(&self, seed: u64, file: &Path) -> Result<RecordedRun, Error> {
        let options = self.options;
        let journal = Some(recovery::journal(file, self.metadata(seed)));
        let children = options.children;
        let runtime = wire::RuntimeSettings { seed, children, ..options.runtime };
        let recordability = match (options.only_sync, children) {
            (true, _) => Recordability::SyncOnly,
            (false, Children::Follow) => Recordability::Full,
            (false, Children::Ignore) => self.program.recordability,
        };
        let (duration, output) = (options.duration, options.output.clone());
        let drive = options.drive.clone();
        let client_output = options.client_output.clone();
        let settings = record::RecordSettings { runtime, duration, output, drive, client_output, journal };
        record::run(&options.command, &self.program.path, recordability, &settings)
            .map_err(|error| Error::io("record", format!("`{}`", options.command[0].display()), error))
    }

    /// How a run was recorded, for its trace to say.
    pub(crate) fn metadata_of(&self, ran: &RecordedRun, seed: u64) -> Metadata {
        let environment_size = ran.environment_size;
        Metadata { ending: Some(ran.ending), environment_size, ..self.metadata(seed) }
    }

    fn metadata(&self, seed: u64) -> Metadata {
        let Recorder { options, program, .. } = self;
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let (stored, variables) = match options.environment {
            KeptEnvironment::Names => (Vec::new(), Environment::ours().described()),
            KeptEnvironment::Values => (Environment::ours().stored(), Vec::new()),
            KeptEnvironment::Nothing => (Vec::new(), Vec::new()),
        };
        let runtime = wire::RuntimeSettings { seed, ..options.runtime }.to_string();
        let lines = runtime.lines().filter_map(|line| line.split_once('='));
        let mut settings: Vec<(String, String)> =
            lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        if options.only_sync {
            settings.push(("only-sync".into(), "yes".into()));
        }
        if let Some(Drive { client: Client::Command(client), ready }) = &options.drive {
            settings.push((DRIVE.into(), client.to_string_lossy().into_owned()));
            settings.push((READY.into(), ready.as_text()));
        }
        let path = program.path.canonicalize().unwrap_or_else(|_| program.path.clone());
        Metadata {
            command: options.command.iter().map(text).collect(),
            directory: std::env::current_dir().map(|path| path.display().to_string()).unwrap_or_default(),
            settings: settings.into_iter().collect(),
            environment: stored,
            variables,
            input: self.input.as_ref().map(|input| input.path.clone()).unwrap_or_default(),
            input_checksum: self.input.as_ref().map(|input| input.checksum.clone()).unwrap_or_default(),
            binary: Some(Binary {
                path: path.display().to_string(),
                build_id: program.build_id.clone(),
                checksum: program.checksum.clone(),
            }),
            ..Metadata::default()
        }
    }

    /// The failure that a run ended with, if it did; `output` is what it printed.
    pub(crate) fn failure(&self, ran: &RecordedRun, output: &[u8]) -> Result<Option<RunFailure>, Error> {
        let Some(process) = ran.processes.first().filter(|_| ran.ending != Ending::Exited(0)) else {
            return Ok(None);
        };
        let (log, modules) = process.read().map_err(|error| Error::io("read", "the log", error))?;
        let directory = std::env::current_dir().unwrap_or_default();
        let log = Recorded { log: &log, modules: &modules, directory: &directory };
        RunFailure::of(ran.ending, output, Some(log))
            .map_err(|error| Error::io("read", "the log", io::Error::other(error.to_string())))
    }

    /// Writes what a process left as it is, if that is wanted and it is long.
    fn keep(
        &self,
        process: &Process,
        metadata: &Metadata,
        file: &Path,
        observer: &mut dyn Observer,
    ) -> Result<Option<KeptRecording>, Error> {
        let is_regular = file.metadata().map_or(true, |facts| facts.is_file());
        if self.options.translation == Translation::Now || !is_regular {
            return Ok(None);
        }
        let (log, modules) = process.read().map_err(|error| Error::io("read", "the log", error))?;
        let metadata = &with_requests(process, metadata);
        let recorded = Recorded { log: &log, modules: &modules, directory: Path::new(&metadata.directory) };
        // Without an end something may be missing, which is to be said now.
        let may_lack_something = process.has_exited() && !load::is_closed(&log);
        if may_lack_something || !load::can_be_kept(recorded, SHORT) {
            return Ok(None);
        }
        files::write(file, Form::Native, |out| load::keep(recorded, metadata, out).map_err(as_io))?;
        let name = file.display().to_string();
        if metadata.ending == Some(Ending::Deadlocked) {
            let remark = remark_on(Some(Stop::Deadlock)).unwrap_or_default();
            observer.warning(Error::from(ErrorKind::IncompleteRecording(remark)).in_file(name.as_str()));
        }
        let bytes = file.metadata().map_or(0, |file| file.len());
        Ok(Some(KeptRecording { name, bytes }))
    }

    /// Loads what a process left, and writes it to a trace. Warns if its run did not end as runs do.
    pub(crate) fn save(
        &self,
        process: &Process,
        metadata: &Metadata,
        file: &Path,
        observer: &mut dyn Observer,
    ) -> Result<RecordedTrace, Error> {
        let options = Options { max_events: self.options.runtime.max_events, ..self.options.load.clone() };
        save(process, metadata, &options, file, observer)
    }
}

/// Loads what a process left, and writes it to a trace. Warns if its run did not end as runs do.
pub(crate) fn save(
    process: &Process,
    metadata: &Metadata,
    options: &Options,
    file: &Path,
    observer: &mut dyn Observer,
) -> Result<RecordedTrace, Error> {
    let (log, modules) = process.read().map_err(|error| Error::io("read", "the log", error))?;
    let metadata = &with_requests(process, metadata);
    let recorded = Recorded { log: &log, modules: &modules, directory: Path::new(&metadata.directory) };
    if let Some(why) = nothing_kept(&log) {
        let error = Error::from(ErrorKind::RecordingLost { file: file.to_owned(), why });
        return Err(if why.contains("room") { error.help(MAKE_ROOM) } else { error });
    }
    let options = Options { has_exited: process.has_exited(), ..options.clone() };
    let loaded =
        files::write(file, Form::Native, |out| load::load(recorded, metadata, &options, out).map_err(as_io))?;
    let name = file.display().to_string();
    if let Some(why) = load::lost_in_words(loaded.losses) {
        let warning = Error::from(ErrorKind::IncompleteTrace(why.to_owned())).in_file(name.as_str());
        observer.warning(warning.help(MAKE_ROOM));
    }
    if let Some(remark) = remark(&loaded) {
        observer.warning(Error::from(ErrorKind::IncompleteRecording(remark)).in_file(name.as_str()));
    }
    let bytes = file.metadata().ok().filter(|file| file.is_file()).map_or(0, |file| file.len());
    Ok(RecordedTrace { name, bytes, loaded })
}

/// Translates a recording that was kept as it is; also what is to be said about it.
pub(crate) fn translate(kept: &Untranslated, bounds: Bounds) -> io::Result<(Vec<u8>, Vec<Error>)> {
    let mut trace = Vec::new();
    let options = Options { bounds, ..Options::default() };
    let loaded = load::translate(kept, &options, &mut trace).map_err(as_io)?;
    let changed = loaded.changed.iter().map(|file| Error::from(ErrorKind::ChangedModule(file.clone())));
    let remark = remark(&loaded).map(|remark| Error::from(ErrorKind::IncompleteRecording(remark)));
    Ok((trace, remark.into_iter().chain(changed).collect()))
}

/// Adds what a process asks of ThreadSanitizer.
fn with_requests(process: &Process, metadata: &Metadata) -> Metadata {
    let (tsan_options, tsan_suppressions) = process.requests();
    Metadata { tsan_options, tsan_suppressions, ..metadata.clone() }
}

fn as_io(error: LoadError) -> io::Error {
    match error {
        LoadError::Write(error) => error,
        LoadError::NotALog(error) => io::Error::other(error),
        LoadError::Malformed(error) => io::Error::other(error),
    }
}

/// Says that processes which do what could be recorded were not.
pub(crate) fn warn_of_children(ran: &RecordedRun, observer: &mut dyn Observer) {
    let unrecorded = ran.unrecorded();
    if unrecorded > 0 {
        let help = "`--children follow` records each in a trace of its own";
        observer.warning(Error::from(ErrorKind::UnrecordedChildren(unrecorded)).help(help));
    }
}

/// The file for a run: named after `base`, with the name of the program and the number of the run if they are wanted.
pub fn file_of_run(base: &Path, program: Option<&OsStr>, number: Option<u64>) -> PathBuf {
    let mut name = base.file_stem().unwrap_or_default().to_owned();
    if let Some(program) = program.and_then(|program| Path::new(program).file_name()) {
        name.push("-");
        name.push(program);
    }
    if let Some(number) = number {
        name.push(format!("-{number}"));
    }
    name.push(".ftr");
    base.with_file_name(name)
}

/// The file of a child, by the program's: `bank.ftr`, `bank-child-1.ftr`.
pub(crate) fn child_file(file: &Path, child: usize) -> PathBuf {
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-child-{child}.ftr"));
    file.with_file_name(name)
}

/// The runtime left nothing.
pub(crate) fn nothing_recorded(file: &Path, ran: &RecordedRun) -> Error {
    if ran.was_loaded() {
        let why = "the log could not be created";
        return Error::from(ErrorKind::RecordingLost { file: file.to_owned(), why }).help(MAKE_ROOM);
    }
    Error::from(ErrorKind::NothingRecorded(file.to_owned()))
        .note("the recorder's library was not loaded into the program")
}

/// Whether a server got its client. One that ended by itself before that may have failed, which its trace shows; of one that nothing came of in
/// its time there is nothing to see.
pub(crate) fn check_ready(ran: &RecordedRun, observer: &mut dyn Observer) -> Result<(), Error> {
    let Some(missing) = &ran.not_ready else { return Ok(()) };
    let error = Error::from(ErrorKind::NotReady(missing.clone()));
    if ran.ending == Ending::TimedOut {
        let waited = format!("it was ended after {} s", ran.elapsed.as_secs());
        let help = "`--ready :PORT` or `--ready REGEX` says when it is ready";
        return Err(error.note(waited).help(help));
    }
    observer.warning(error.note("it ended before that"));
    Ok(())
}

/// Why a log has nothing in it, if it has not.
fn nothing_kept(log: &[u8]) -> Option<&'static str> {
    let Ok(mut reader) = wire::Reader::new(log) else {
        return log.iter().all(|&byte| byte == 0).then_some("there was no room for a log");
    };
    let lost = load::lost_in_words(reader.header().losses);
    reader.next().is_none().then(|| lost.unwrap_or("the program ended before its first event"))
}

/// The file that is standard input, if it is one.
fn input() -> Option<Input> {
    std::fs::metadata("/dev/stdin").ok().filter(|facts| facts.is_file())?;
    let path = std::fs::read_link("/proc/self/fd/0").ok()?;
    let checksum = checksum(&run::mapping::map_file(&path).ok()?);
    Some(Input { path: path.display().to_string(), checksum })
}

/// Why a program cannot be recorded this way, and what to do about it.
fn unseen(program: &Program, only_sync: bool, children: Children) -> Option<Error> {
    let follows = children == Children::Follow;
    let why = match program.recordability {
        Recordability::Full => return None,
        Recordability::SyncOnly if only_sync || follows => return None,
        Recordability::Script if follows => return None,
        Recordability::SyncOnly => "it is not instrumented",
        Recordability::OwnRuntime => "it is linked with the sanitizer's own runtime",
        Recordability::Static => "it is statically linked",
        Recordability::Foreign => "it is not a 64-bit x86 program",
        Recordability::Privileged => {
            "it runs with the rights of another user or group, so the system does not load your libraries into it"
        }
        Recordability::Library => "it is a library, not a program",
        Recordability::Script => "it is a script",
        Recordability::NotAProgram => "it is not a Linux executable",
    };
    let error = Error::from(ErrorKind::CannotRecord { program: program.path.clone(), why });
    Some(match program.recordability {
        Recordability::Full | Recordability::NotAProgram => error,
        Recordability::Foreign => error.help("build it for 64-bit x86, without `-m32`"),
        Recordability::Privileged => error.help("record a copy of it: `cp` drops those rights"),
        Recordability::Library => error.help("name the program that loads it"),
        Recordability::SyncOnly => error
            .help("build it with `foretell cc` or `foretell c++` (or `gcc -fsanitize=thread`)")
            .help(
                "`--only-sync` needs no rebuild: it records only its locks and threads, which is enough to predict deadlocks, plus everything in instrumented libraries that it loads",
            ),
        Recordability::OwnRuntime => {
            error.help("build it with `foretell cc` (clang's `-fsanitize=thread` and gcc's `-static-libtsan` link their own)")
        }
        Recordability::Static => error.help("link it without `-static`: the recorder is a shared library"),
        Recordability::Script => error
            .help("name the program that the script starts")
            .help("`--children follow` records each process that the script starts"),
    })
}

/// What to warn about: the run did not end as runs do.
fn remark(loaded: &Loaded) -> Option<String> {
    if let Some(damage) = loaded.damage {
        return Some(format!("the log is damaged: {damage}; the part before was kept"));
    }
    remark_on(loaded.stop)
}

fn remark_on(stop: Option<Stop>) -> Option<String> {
    match stop {
        Some(Stop::Deadlock) => Some("the recorded run itself deadlocked and was stopped".to_owned()),
        Some(Stop::Limit) => Some("recording stopped at the limit; the program continued".to_owned()),
        Some(Stop::Sandbox) => Some(
            "recording stopped where the program entered a seccomp sandbox; the program continued".to_owned(),
        ),
        Some(Stop::Exec) => Some(
            "another program replaced the recorded one; `--children follow` records it as well".to_owned(),
        ),
        Some(Stop::Exit(_) | Stop::Killed(_)) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_named_after_program_and_run() {
        let name = |program: Option<&str>, number| {
            let file = file_of_run(Path::new("traces/foretell.ftr"), program.map(OsStr::new), number);
            file.to_string_lossy().into_owned()
        };
        assert_eq!(name(None, None), "traces/foretell.ftr");
        assert_eq!(name(Some("./bin/bank"), None), "traces/foretell-bank.ftr");
        assert_eq!(name(Some("bank"), Some(2)), "traces/foretell-bank-2.ftr");
    }

    #[test]
    fn a_log_is_translated_at_once_if_only_a_part_of_it_is_loaded() {
        assert_eq!(Translation::latest(&Options::default()), Translation::WhenRead);
        let partly = Options { drop_repeated: true, ..Options::default() };
        assert_eq!(Translation::latest(&partly), Translation::Now);
    }
}
