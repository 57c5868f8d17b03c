//! The recorded command, run again under a control file.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::libc;
use tempfile::TempDir;
use trace::{Ending, Metadata};

use crate::Cancellation;
use crate::record::ending;
use crate::signals;
use compile::embedded;

/// A command and what it was run with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// Where it runs; none: here.
    pub directory: Option<PathBuf>,
    /// Its environment as `NAME=VALUE`; none: ours.
    pub environment: Option<Vec<String>>,
    /// What it reads from its standard input; none: nothing.
    pub input: Option<PathBuf>,
    /// It is not instrumented: the runtime is preloaded.
    pub only_sync: bool,
}

impl Command {
    /// The command that was recorded; none if the trace does not tell.
    pub fn recorded(metadata: &Metadata) -> Option<Command> {
        let some = |text: &String| Some(text).filter(|text| !text.is_empty()).map(PathBuf::from);
        if metadata.command.is_empty() {
            return None;
        }
        let environment = &metadata.environment;
        Some(Command {
            words: metadata.command.iter().map(OsString::from).collect(),
            directory: some(&metadata.directory),
            environment: (!environment.is_empty()).then(|| environment.clone()),
            input: some(&metadata.input),
            only_sync: metadata.settings.contains_key("only-sync"),
        })
    }
}

/// What the program prints, on both streams, in the directory of the run.
const OUTPUT_FILE: &str = "output";

/// A program that ran.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) ending: Ending,
    pub(super) elapsed: Duration,
    pub(super) directory: TempDir,
}

impl Ran {
    /// What the runtime reported.
    pub(super) fn outcome(&self) -> Vec<u8> {
        self.read(wire::OUTCOME_FILE)
    }

    /// What the program printed, on both streams.
    pub(super) fn output(&self) -> Vec<u8> {
        self.read(OUTPUT_FILE)
    }

    /// The log and the list of modules of the first process, if it came so far.
    pub(super) fn log(&self) -> Option<(crate::mapping::Mapping, String)> {
        let first = self.read(wire::FIRST_FILE);
        let first = String::from_utf8_lossy(&first);
        let name = |extension: &str| self.directory.path().join(format!("{}.{extension}", first.trim()));
        let log = crate::mapping::map_file(name(wire::LOG_EXTENSION)).ok()?;
        let modules = fs::read(name(wire::MODULES_EXTENSION)).unwrap_or_default();
        Some((log, String::from_utf8_lossy(&modules).into_owned()))
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.path().join(name)).unwrap_or_default()
    }
}

/// Runs the command under the control file to its end, or until its time is over.
pub(super) fn run(
    command: &Command,
    control: &[u8],
    settings: &wire::Settings,
    limit: Duration,
    cancellation: &Cancellation,
) -> io::Result<Ran> {
    let directory = prepared(control, settings)?;
    let program = program(command, directory.path())?;
    execute(program, command, directory, limit, cancellation)
}

/// Runs a program to its end, or until its time is over; its output goes into the directory.
pub(super) fn execute(
    mut program: std::process::Command,
    command: &Command,
    directory: TempDir,
    limit: Duration,
    cancellation: &Cancellation,
) -> io::Result<Ran> {
    let output = File::create(directory.path().join(OUTPUT_FILE))?;
    program.stdin(input(command)?).stdout(output.try_clone()?).stderr(output);
    program.process_group(0);
    without_surprises(&mut program);
    let started = Instant::now();
    let mut child = program.spawn()?;
    let (status, in_time) = wait(&mut child, started + limit, cancellation)?;
    // Whatever it started ends with it.
    signals::send(-(child.id() as i32), libc::SIGKILL);
    let ending = ending(status, in_time);
    Ok(Ran { ending, elapsed: started.elapsed(), directory })
}

/// Runs the command in the debugger, which stops at the hold and then belongs to the user.
pub(super) fn debug(command: &Command, control: &[u8], settings: &wire::Settings) -> io::Result<ExitStatus> {
    let directory = prepared(control, settings)?;
    let program = program(command, directory.path())?;
    let mut gdb = std::process::Command::new("gdb");
    gdb.args(["-q", "-ex", "set breakpoint pending on", "-ex", "set startup-with-shell off"]);
    for (name, value) in program.get_envs() {
        let name = name.to_string_lossy();
        gdb.arg("-ex").arg(match value {
            Some(value) => format!("set environment {name} {}", value.to_string_lossy()),
            None => format!("unset environment {name}"),
        });
    }
    if let Some(directory) = &command.directory {
        gdb.arg("-ex").arg(format!("set cwd {}", directory.display()));
    }
    let input = command.input.as_deref().unwrap_or(Path::new("/dev/null"));
    gdb.args(["-ex", "break foretell_stopped"]);
    gdb.arg("-ex").arg(format!("run < {}", input.display()));
    gdb.args(["-ex", "set scheduler-locking on", "-ex", "info threads"]);
    gdb.arg("--args").args(&command.words);
    gdb.status()
}

/// A directory for a run.
pub(super) fn directory() -> io::Result<TempDir> {
    // As long a name as a recording has: where things lie on the stack depends on it.
    tempfile::Builder::new().prefix("foretell-").tempdir()
}

fn prepared(control: &[u8], settings: &wire::Settings) -> io::Result<TempDir> {
    let directory = directory()?;
    fs::write(directory.path().join(wire::SETTINGS_FILE), settings.to_string())?;
    fs::write(directory.path().join(wire::CONTROL_FILE), control)?;
    Ok(directory)
}

fn program(command: &Command, run: &Path) -> io::Result<std::process::Command> {
    let installed = embedded::unpack()?;
    let mut program = as_recorded(command);
    let library = installed.library.parent().unwrap_or(Path::new("/"));
    prepend(&mut program, command, "LD_LIBRARY_PATH", library.as_os_str());
    if command.only_sync {
        prepend(&mut program, command, "LD_PRELOAD", installed.library.as_os_str());
    }
    program.env(wire::RUN_VARIABLE, run);
    Ok(program)
}

/// The command as it was run, without anything of ours.
pub(super) fn as_recorded(command: &Command) -> std::process::Command {
    let mut program = std::process::Command::new(&command.words[0]);
    program.args(&command.words[1..]);
    if let Some(directory) = &command.directory {
        program.current_dir(directory);
    }
    if let Some(environment) = &command.environment {
        program.env_clear();
        let pairs = environment.iter().filter_map(|variable| variable.split_once('='));
        program.envs(pairs);
    }
    program
}

/// Puts a value before those that a list in the command's environment has.
pub(super) fn prepend(program: &mut std::process::Command, command: &Command, variable: &str, value: &OsStr) {
    let before = match &command.environment {
        Some(environment) => environment.iter().find_map(|entry| {
            let (name, value) = entry.split_once('=')?;
            (name == variable).then(|| OsString::from(value))
        }),
        None => std::env::var_os(variable),
    };
    let mut list = value.to_owned();
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        list.push(":");
        list.push(before);
    }
    program.env(variable, list);
}

fn input(command: &Command) -> io::Result<Stdio> {
    Ok(match &command.input {
        Some(path) => File::open(path)?.into(),
        None => Stdio::null(),
    })
}

/// The same addresses each time, and no life after ours.
#[expect(unsafe_code, reason = "what runs between fork and exec must be safe there")]
fn without_surprises(program: &mut std::process::Command) {
    let prepare = || {
        // SAFETY: two system calls that take numbers; both are safe after a fork.
        unsafe {
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing and takes no lock.
    unsafe { program.pre_exec(prepare) };
}

/// Waits for the end, or kills the program and all it started, when its time is over or the run is called off; whether it was
/// in time.
fn wait(child: &mut Child, until: Instant, cancellation: &Cancellation) -> io::Result<(ExitStatus, bool)> {
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, true));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || cancellation.is_cancelled() {
            signals::send(-(child.id() as i32), libc::SIGKILL);
            return Ok((child.wait()?, false));
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}
