//! Compiles small programs, runs them under the runtime, and reads their logs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wire::{Event, Op, Reader};

/// A compiled program in a directory of its own.
pub(crate) struct Program {
    directory: TempDir,
    path: PathBuf,
}

/// What a recorded run left behind.
pub(crate) struct Run {
    pub(crate) output: Output,
    pub(crate) logs: Vec<Vec<u8>>,
    pub(crate) modules: String,
}

/// The library, built as it is shipped. Cargo does not build a shared library for the tests of its own package, so
/// they ask for it; after the first time there is nothing to do.
fn library() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--lib", "--config", "profile.release.panic=\"abort\""])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(root)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the runtime builds");
    target.join("release/libforetell_runtime.so")
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// Compiles a program of `tests/programs` with this compiler and these flags. None: there is no such compiler.
pub(crate) fn compile_with(compiler: &str, name: &str, flags: &[&str]) -> Option<Program> {
    if !testing::has(compiler) {
        return None;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    std::fs::copy(library(), directory.path().join("libtsan.so.2")).expect("the library is built");
    let path = directory.path().join("program");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let status = Command::new(compiler)
        .args(["-g", "-fsanitize=thread", "-pthread", "-w", "-I"])
        .arg(include)
        .arg(source(name))
        .arg("-o")
        .arg(&path)
        .args(flags)
        .current_dir(directory.path())
        .status()
        .expect("the compiler runs");
    assert!(status.success(), "{compiler} {name} {flags:?}");
    Some(Program { directory, path })
}

/// Compiles with gcc (C) or g++ (C++), as the name says, at -O1.
pub(crate) fn compile(name: &str) -> Program {
    let compiler = if name.ends_with(".cc") { "g++" } else { "gcc" };
    compile_with(compiler, name, &["-O1"]).expect("gcc is part of every test machine")
}

impl Program {
    /// The directory of the program.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Runs it without recording.
    pub(crate) fn passive(&self, arguments: &[&str]) -> Output {
        finish(self.command(arguments))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(arguments)
            .env("LD_LIBRARY_PATH", self.directory())
            .env_remove("FORETELL_RUN")
            .current_dir(self.directory())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A command that records with these settings, a line each.
    pub(crate) fn recording(&self, settings: &[&str], arguments: &[&str]) -> (Command, PathBuf) {
        let run = tempfile::tempdir_in(self.directory()).expect("a run directory").keep();
        std::fs::write(run.join("settings"), settings.join("\n")).expect("settings can be written");
        let mut command = self.command(arguments);
        command.env("FORETELL_RUN", &run);
        (command, run)
    }

    /// Records a run.
    pub(crate) fn record(&self, settings: &[&str], arguments: &[&str]) -> Run {
        let (command, run) = self.recording(settings, arguments);
        let output = finish(command);
        collect(output, &run)
    }
}

/// Waits for the end of a run; a run that hangs fails the test.
fn finish(mut command: Command) -> Output {
    let mut child = command.spawn().expect("the program starts");
    let start = Instant::now();
    // The outputs of these programs fit into a pipe, so nobody needs to read them meanwhile.
    while child.try_wait().expect("a child can be waited for").is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().expect("a child can be killed");
            panic!("the program hangs: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("a child has an output")
}

/// Reads what a run left in its directory.
fn collect(output: Output, run: &Path) -> Run {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(run).expect("a run directory").map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let with = |extension: &str| {
        let matching = files.iter().filter(|file| file.extension().is_some_and(|e| e == extension));
        matching.map(|file| std::fs::read(file).unwrap()).collect::<Vec<_>>()
    };
    let modules = with("modules").concat();
    Run { output, logs: with("log"), modules: String::from_utf8(modules).unwrap() }
}

impl Run {
    /// The events of the only log.
    pub(crate) fn events(&self) -> Vec<Event<'_>> {
        assert_eq!(self.logs.len(), 1, "one process was recorded; output: {:?}", self.output);
        events(&self.logs[0])
    }

    /// What the program printed.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    /// Checks that the program ended well, and said so.
    pub(crate) fn ended_with(&self, status: i32) -> &Run {
        assert_eq!(self.output.status.code(), Some(status), "{:?}", self.output);
        assert_eq!(String::from_utf8_lossy(&self.output.stderr), "");
        let last = self.events().last().map(|event| event.op);
        assert_eq!(last, Some(Op::Stop(wire::Stop::Exit(status))));
        self
    }
}

/// The events of a log.
pub(crate) fn events(log: &[u8]) -> Vec<Event<'_>> {
    Reader::new(log).expect("a log").map(|event| event.expect("an undamaged log")).collect()
}

/// How many events satisfy this.
pub(crate) fn count(events: &[Event<'_>], what: impl Fn(&Op<'_>) -> bool) -> usize {
    events.iter().filter(|event| what(&event.op)).count()
}
