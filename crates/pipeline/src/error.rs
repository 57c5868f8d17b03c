//! What can go wrong, for the caller: a closed set of problems, each with the file and line it is about, the facts
//! that explain it, and what can be done. A problem that does not stop the work is a warning, and goes to the
//! [`Observer`](crate::Observer).

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use report::{FindingKind, SCHEMA};

/// A problem, where it is, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.kind)]
pub struct Error(Box<Content>);

/// Boxed, so that results which carry it stay small.
#[derive(Debug)]
struct Content {
    kind: ErrorKind,
    place: Option<SourcePosition>,
    notes: Vec<String>,
    help: Vec<String>,
}

/// Where a problem is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    /// The file, as the user named it.
    pub file: String,
    /// The 1-based line, where the file has lines.
    pub line: Option<usize>,
    /// The text of that line, with what to point at in it.
    pub excerpt: Option<Excerpt>,
}

/// A line of the user's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The whole line.
    pub text: String,
    /// The bytes of it at fault.
    pub span: Range<usize>,
    /// The text under the caret.
    pub label: String,
}

/// The problems there are.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused.
    #[error("cannot {doing} {what}: {}", reason(source))]
    Io {
        /// What was tried: `read`, `write to`.
        doing: &'static str,
        /// With what, quoted if it is a name.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The time or the memory ran out, or the user interrupted the work, before there was anything to show for it.
    #[error("stopped: {0}")]
    OutOfBounds(String),
    /// Warning: a run failed, and there is no time or memory left to read what it did.
    #[error("a run failed ({}), and there is no time or memory left for its recording", report::shown(.0))]
    FailureNotRead(String),
    /// A directory where a trace was expected.
    #[error("cannot read `{}`: it is a directory", .0.display())]
    IsDirectory(PathBuf),
    /// A file that is not a trace, or not one of a run that can have happened.
    #[error("{0}")]
    MalformedTrace(String),
    /// Warning: the trace ends early.
    #[error("the trace is damaged; the part before the damage was read")]
    TruncatedTrace,
    /// There is nothing in the trace: a warning, or an error where something is to be found in it.
    #[error("the trace has no events")]
    EmptyTrace,
    /// Warning: the trace does not have all of its run.
    #[error("the recording ends early: {0}")]
    IncompleteTrace(String),
    /// Warning: waits are logged where waiting begins, and are read so.
    #[error("{} logged where waiting begins", waits_are(*.0))]
    WaitsBegin(u64),
    /// Warning: some waits are logged where waiting begins, others where it ends.
    #[error("{begun} of {} waits seem to be logged where waiting begins; all are read as woken", begun + woken)]
    AmbiguousWaits {
        /// Those with a signal before them.
        woken: u64,
        /// Those with a signal after them.
        begun: u64,
    },
    /// Warning: waits that no signal ends.
    #[error("{} without a signal", waits_are(*.0))]
    UnsignalledWaits(u64),
    /// Warning: events that were left out.
    #[error("{} left out that cannot have happened; what is found is only possible", events_are(*.0))]
    DroppedEvents(u64),
    /// A name that asks for compression of what is compressed.
    #[error("cannot write `{}`: the native format is already compressed", .0.display())]
    CompressedTwice(PathBuf),

    /// A test command under which no instrumented program ran.
    #[error("`{0}` started no instrumented program, so there is nothing to hunt in")]
    NoTests(String),
    /// Warning: a program under a test command that was ended.
    #[error("`{}` hung and was ended: each of its threads waited for another one", .0.display())]
    Hung(PathBuf),
    /// A directory without a suite.
    #[error("there is no suite in `{}`", .0.display())]
    NoSuite(PathBuf),
    /// A file that does not describe a suite.
    #[error("not a suite: {0}")]
    MalformedSuite(String),
    /// The suite to take up again is of another command.
    #[error("the last suite was run by another command: `{0}`")]
    AnotherSuite(String),
    /// A suite to take up again that somebody else may have written: its command is not run.
    #[error("the suite in `{}` was not started here by you, so its command is not run", .0.display())]
    ForeignSuite(PathBuf),
    /// A suite to take up again that was started in another directory.
    #[error("the suite was started in `{}`", .0.display())]
    SuiteOfAnotherPlace(PathBuf),
    /// None of the tests could be hunted in.
    #[error("there was no hunt in any of the tests")]
    NothingHunted,

    /// A `foretell.toml` that says something else than options: an error, or a warning if it is not used.
    #[error("{0}")]
    Project(String),

    /// A source file in no language that can be built.
    #[error("`{}` does not have the extension of a C, C++ or Rust source file", .0.display())]
    UnknownLanguage(PathBuf),
    /// The compiler refused.
    #[error("`{}` does not compile", .0.display())]
    DoesNotCompile(PathBuf),
    /// The compiler could not be asked.
    #[error(transparent)]
    Compiler(#[from] compile::compiler::CompilerError),

    /// A program that cannot be recorded as asked.
    #[error("cannot record `{}`: {why}", program.display())]
    CannotRecord {
        /// Its file.
        program: PathBuf,
        /// What it is.
        why: &'static str,
    },
    /// The client of a server was not started: an error, or a warning if the server ended by itself.
    #[error("the server was not ready, so its client was not started: {0}")]
    NotReady(String),
    /// The runtime left no log.
    #[error("nothing was recorded, so `{}` was not written", .0.display())]
    NothingRecorded(PathBuf),
    /// The runtime could not keep anything of the run.
    #[error("nothing was recorded, so `{}` was not written: {why}", file.display())]
    RecordingLost {
        /// What was to be written.
        file: PathBuf,
        /// Why not.
        why: &'static str,
    },
    /// Warning: addresses stand for source lines.
    #[error("it has no debug information, so reports show addresses instead of source lines")]
    NoDebugInformation,
    /// Warning: the recorded run did not end as runs do.
    #[error("{0}")]
    IncompleteRecording(String),
    /// Warning: a file that names things is not the one that was recorded.
    #[error("`{0}` has changed since it was recorded, so functions, lines and variables of it have no names")]
    ChangedModule(String),
    /// Warning: a library orders threads in ways that are not recorded.
    #[error(
        "{0} orders threads in ways that are not recorded, so only findings that a replay confirms are shown"
    )]
    HiddenSynchronisation(String),
    /// A program that ended before it did anything.
    #[error("the program ended with status {0} before it started a thread, so there is nothing to search")]
    GaveUp(i32),

    /// An option about a kind of bug that is not looked for.
    #[error("`{option}` applies to the kind `{}`, which is not searched for", kind.name())]
    KindNotSearched {
        /// The option, as it was given.
        option: String,
        /// The kind it is about.
        kind: FindingKind,
    },
    /// The model `branch` without branches.
    #[error("the model `branch` needs branch counts, and this trace has none")]
    NoBranches,
    /// Calls were asked for, and the trace has none.
    #[error("`--atomic-within function` needs call stacks, and the trace has none")]
    NoCallStacks,
    /// The call stacks of a trace cannot be read.
    #[error("{0}")]
    CallStacks(String),
    /// A method that needs the whole trace was asked to stream.
    #[error("`--raw` needs a method that streams, and `{0}` does not")]
    NotStreaming(papers::races::Method),
    /// A method that cannot take this trace.
    #[error("{0}")]
    Method(String),
    /// A rule of the user that cannot be read, or names no place of the trace.
    #[error("{0}")]
    Rule(String),
    /// A question that makes no sense for the trace.
    #[error("{0}")]
    Question(String),
    /// The engine and the checker disagree.
    #[error("this is a defect in foretell: it found a {0} that does not hold, so there is no answer")]
    Defect(&'static str),

    /// A file of suppressions that cannot be read.
    #[error("{0}")]
    Suppression(String),
    /// Warning: suppressions that no finding falls under.
    #[error("{}", unused(*.0))]
    UnusedSuppressions(usize),

    /// No finding has this id.
    #[error("there is no finding `{0}`")]
    NoSuchFinding(String),
    /// A file that does not hold findings.
    #[error("this is not a findings file")]
    NotFindings,
    /// Findings that name a recording outside of their directory.
    #[error("`{0}` is not the name of a recording in the directory of the findings")]
    NotARecording(String),
    /// Findings of another version of the format.
    #[error("these findings have schema {0}, but this program knows schema {SCHEMA} only")]
    UnknownSchema(u32),
    /// The trace of saved findings is gone.
    #[error("the trace of these findings, {0}, does not exist")]
    NoTrace(String),
    /// A saved finding that the checker refuses.
    #[error("{0} does not hold for this trace")]
    DoesNotHold(String),

    /// A file that is no evidence.
    #[error("this is not evidence: neither JSON nor a schedule file")]
    NotEvidence,
    /// Evidence that cannot be read.
    #[error("{0}")]
    MalformedEvidence(String),
    /// More evidence than is read.
    #[error("cannot read `{0}`: it is larger than 1 GiB")]
    LargeEvidence(String),
    /// Evidence of a verdict that needs none.
    #[error("there is nothing to verify: the verdict is unknown")]
    NothingToVerify,
    /// Evidence that does not name the file of its trace.
    #[error("the evidence does not say where its trace is: it came through a pipe")]
    UnknownTrace,
    /// A trace that the evidence is not about.
    #[error("the evidence belongs to another trace")]
    EvidenceOfAnotherTrace,
    /// Warning: a schedule file says more than the trace has.
    #[error("the paths of threads and places in the run were not compared: this trace has none")]
    PositionsNotCompared,
    /// Warning: a schedule file of another command.
    #[error("the schedule names another command than the trace")]
    AnotherCommand,

    /// A schedule that cannot be written for this trace.
    #[error("{0}")]
    Schedule(String),
    /// A schedule of a trace that has nothing to find its events by.
    #[error("{0} cannot be replayed: its trace does not say how to find its events again")]
    NotReplayable(String),
    /// A program that cannot be replayed.
    #[error("cannot run `{program}`: {why}")]
    CannotReplay {
        /// The program.
        program: String,
        /// Why.
        why: String,
    },
    /// Warning: the program to replay is not the recorded one.
    #[error("`{0}` is not the program that was recorded")]
    AnotherProgram(String),
    /// A server that waits for a client, and none is named.
    #[error("this server was recorded with a client, and waits for one")]
    NoClient,
    /// A file that names no command.
    #[error("the file does not name a command to run")]
    NoCommand,
    /// A file that does not identify its program, so that it is not run.
    #[error("the command is not run: the file does not say which program was recorded")]
    UnknownProgram,
    /// A program that is not run because a file names it.
    #[error("`{program}` is not run: {why}")]
    MayNotRun {
        /// The program.
        program: String,
        /// Why not.
        why: String,
    },
    /// The recorded input is not what it was.
    #[error("`{0}` is not the input that was recorded, so it is not read")]
    ChangedInput(String),
    /// Warning: what the client of a server sent cannot be sent again.
    #[error("replays run the client, since what it sent cannot be sent again: {0}")]
    ClientNeeded(String),
    /// Warning: processes that were not recorded.
    #[error("{} not recorded", processes_were(*.0))]
    UnrecordedChildren(u64),
    /// Warning: a recording was interrupted, and its trace can still be written.
    #[error("a recording of `{0}` was interrupted before its trace was written")]
    Interrupted(String),
    /// There is nothing to recover.
    #[error("there is no interrupted recording")]
    NothingToRecover,
    /// A directory that somebody else may have put there.
    #[error("`{}` belongs to another user, so it is not used", .0.display())]
    NotOurs(PathBuf),
    /// ThreadSanitizer was asked about a program that is not built for it.
    #[error("`--tsan` works only for programs that gcc built with `-fsanitize=thread`")]
    NotBuiltByGcc,
    /// ThreadSanitizer could not be asked.
    #[error("cannot run ThreadSanitizer: {0}")]
    NoSecondOpinion(#[from] run::replay::NoOpinion),
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error(Box::new(Content { kind, place: None, notes: Vec::new(), help: Vec::new() }))
    }
}

impl Error {
    /// A failure of the operating system.
    pub fn io(doing: &'static str, what: impl Into<String>, source: io::Error) -> Error {
        ErrorKind::Io { doing, what: what.into(), source }.into()
    }

    /// In this file.
    pub fn in_file(self, file: impl Into<String>) -> Self {
        self.at(SourcePosition { file: file.into(), ..SourcePosition::default() })
    }

    /// At this place.
    pub fn at(mut self, place: SourcePosition) -> Self {
        self.0.place = Some(place);
        self
    }

    /// A fact that explains it.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.0.notes.push(note.into());
        self
    }

    /// What the user can do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help.push(help.into());
        self
    }

    /// The same, if there is something the user can do.
    pub fn help_if(self, help: Option<impl Into<String>>) -> Self {
        match help {
            Some(help) => self.help(help),
            None => self,
        }
    }

    /// What it is.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Where it is, if it is in a file.
    pub fn place(&self) -> Option<&SourcePosition> {
        self.0.place.as_ref()
    }

    /// The facts that explain it.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// What the user can do about it.
    pub fn advice(&self) -> &[String] {
        &self.0.help
    }
}

/// A failure of the operating system without its number, as the end of a sentence.
fn reason(error: &io::Error) -> String {
    let message = error.to_string();
    let mut reason = message.split(" (os error").next().unwrap_or_default().to_owned();
    if let Some(first) = reason.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    reason
}

fn waits_are(waits: u64) -> String {
    match waits {
        1 => "1 wait is".to_owned(),
        many => format!("{many} waits are"),
    }
}

fn processes_were(processes: u64) -> String {
    match processes {
        1 => "1 process that the program started was".to_owned(),
        many => format!("{many} processes that the program started were"),
    }
}

fn events_are(events: u64) -> String {
    match events {
        1 => "1 event was".to_owned(),
        many => format!("{many} events were"),
    }
}

fn unused(suppressions: usize) -> String {
    match suppressions {
        1 => "a suppression matched nothing".to_owned(),
        many => format!("{many} suppressions matched nothing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operating_system_is_quoted_without_its_numbers() {
        let missing = Error::io("read", "`x`", io::Error::from_raw_os_error(2));
        assert_eq!(missing.to_string(), "cannot read `x`: no such file or directory");
    }
}
