//! Running the program as a user would, in a directory of its own.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory to run the program in; gone with the value.
pub(crate) struct Workplace(tempfile::TempDir);

impl Workplace {
    pub(crate) fn new() -> Self {
        Workplace(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), content).expect("it can be written");
        self
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of the files in it, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("it is a directory");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// The program in this directory with these arguments, ready to be started.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_foretell"), arguments)
    }

    /// Any program in this directory, in the same environment.
    pub(crate) fn command_of<S: AsRef<OsStr>>(&self, program: &str, arguments: &[S]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.0.path());
        for variable in
            ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORETELL_OPTIONS", "TSAN_OPTIONS"]
        {
            command.env_remove(variable);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ran {
        Ran::of(self.command(arguments).output().expect("it starts"))
    }

    pub(crate) fn run_with_input<S: AsRef<OsStr>>(&self, arguments: &[S], input: &[u8]) -> Ran {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        std::thread::scope(|scope| {
            // A program that has seen enough may close its input.
            scope.spawn(move || drop(stdin.write_all(input)));
            Ran::of(child.wait_with_output().expect("it ends"))
        })
    }
}

/// What the program did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("the output is UTF-8")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// Everything the user saw.
    pub(crate) fn seen(&self) -> String {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        format!("{}{}[exit {code}]\n", self.text(), self.stderr)
    }
}

/// The README's example.
pub(crate) fn example() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/examples/account.std");
    std::fs::read(path).expect("the example is there")
}

/// A small trace with something of every table: shared and nested locks, an open section, and more.
pub(crate) const RICH: &str = "\
#! metadata {\"command\":[\"./server\",\"--port\",\"80\"],\"directory\":\"/srv\",\"settings\":{\"quantum\":\"500\"}}
#! semaphore slots 1
main|begin(main)|server.c:10
main|fork(worker)|server.c:11
main|acq(config)|server.c:12
main|w(limit)|server.c:13
main|acq(log)|server.c:14
main|w(lines)|server.c:15
main|rel(log)|server.c:16
main|rel(config)|server.c:17
worker|begin(worker)|worker.c:5
worker|r(limit)|worker.c:6
worker|w(scratch)|worker.c:7
worker|acq(log)|worker.c:8
worker|acq(log)|worker.c:8
worker|rel(log)|worker.c:9
worker|r(version)|worker.c:9
main|r(version)|server.c:18
";

/// A program of the corpus with its trace, by name, in a place of their own.
pub(crate) fn with_source(name: &str) -> Workplace {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/programs");
    let place = Workplace::new();
    for file in [format!("{name}.c"), format!("{name}.std")] {
        place.write(&file, std::fs::read(corpus.join(&file)).expect("it is in the corpus"));
    }
    place
}

/// Three threads take three locks in a circle.
pub(crate) const PHILOSOPHERS: &str = "\
main|fork(A)|table.c:40
main|fork(B)|table.c:40
main|fork(C)|table.c:40
A|acq(fork0)|table.c:21
A|acq(fork1)|table.c:22
A|rel(fork1)|table.c:24
A|rel(fork0)|table.c:25
B|acq(fork1)|table.c:21
B|acq(fork2)|table.c:22
B|rel(fork2)|table.c:24
B|rel(fork1)|table.c:25
C|acq(fork2)|table.c:21
C|acq(fork0)|table.c:22
C|rel(fork0)|table.c:24
C|rel(fork2)|table.c:25
main|join(A)|table.c:41
main|join(B)|table.c:41
main|join(C)|table.c:41
";

/// A race in a recording with call stacks, as a recorder writes it.
pub(crate) fn recorded_race() -> Vec<u8> {
    use trace::{Op, ThreadId, VariableId};
    let stacks = [&["main\tbank.c:30"][..], &["deposit\tbank.c:9", "run\tbank.c:14"], &["main\tbank.c:31"]];
    let events =
        [(0, Op::Fork(ThreadId(1)), 0), (1, Op::Write(VariableId(0)), 1), (0, Op::Read(VariableId(0)), 2)];
    recorded(&Names { variables: &["balance"], ..Names::default() }, &stacks, &events)
}

/// What the variables, locks and blocks of a recording are called.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) variables: &'static [&'static str],
    pub(crate) locks: &'static [&'static str],
    pub(crate) blocks: &'static [&'static str],
}

/// Each name once, in the order they come.
fn distinct(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// A recording of threads `main`, `T1` and `T2`: names, stacks with the innermost function first (`function<tab>location`),
/// and events, each with its thread and its stack.
pub(crate) fn recorded(
    names: &Names,
    stacks: &[&[&'static str]],
    events: &[(u32, trace::Op, usize)],
) -> Vec<u8> {
    use trace::native::layout::Table;
    use trace::native::{Distance, Note, StackId, Writer};
    use trace::{LocationId, ThreadId};
    let mut writer = Writer::new(Vec::new()).expect("memory takes it");
    let metadata = trace::Metadata { command: vec!["./bank".into()], ..trace::Metadata::default() };
    writer.metadata(&metadata).expect("memory takes it");
    // An event is where the user's own code is.
    let location_of = |stack: &[&'static str]| {
        let mut locations = stack.iter().map(|frame| frame.split_once('\t').expect("a location").1);
        locations.find(|location| !location.starts_with("/usr/")).expect("the user's own")
    };
    let frames = distinct(stacks.iter().flat_map(|stack| stack.iter().copied()));
    let locations = distinct(stacks.iter().map(|stack| location_of(stack)));
    let number = |names: &[&str], name: &str| {
        names.iter().position(|known| *known == name).expect("it is one of them") as u32
    };
    let threads = 1 + events.iter().map(|event| event.0).max().expect("events") as usize;
    for (table, names) in [
        (Table::Threads, &["main", "T1", "T2"][..threads]),
        (Table::Variables, names.variables),
        (Table::Locks, names.locks),
        (Table::Locations, &locations),
        (Table::Frames, &frames),
        (Table::Blocks, names.blocks),
    ] {
        names.iter().for_each(|name| writer.name(table, name).expect("memory takes it"));
    }
    // Each frame is a stack on that before it, or the first of its own.
    let (mut written, mut tops) = (0, Vec::new());
    for stack in stacks {
        for (depth, frame) in stack.iter().rev().enumerate() {
            let parent = if depth == 0 { 0 } else { written };
            writer.stack(StackId::from_raw(parent), number(&frames, frame)).expect("memory takes it");
            written += 1;
        }
        tops.push(written);
    }
    for &(thread, op, stack) in events {
        let note = Note { stack: StackId::from_raw(tops[stack]), step: Distance::Over(0) };
        let location = LocationId(number(&locations, location_of(stacks[stack])));
        writer.noted_event(ThreadId(thread), op, location, note).expect("memory takes it");
    }
    writer.finish().expect("memory takes it")
}
