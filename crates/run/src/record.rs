//! Running a program under the recorder.
//!
//! The program gets its own arguments, input, output and environment, and besides the runtime (through
//! `LD_LIBRARY_PATH`, or `LD_PRELOAD` for one that is not instrumented) and the directory it logs to. What it leaves
//! there is complete up to its last event, however it ended.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use trace::Ending;

use crate::mapping::{Mapping, map_file};
use crate::program::Sight;
use crate::signals::{self, PassingOn};
use compile::embedded;

/// How long a program that is asked to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// How a program is run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The runtime's settings.
    pub runtime: wire::Settings,
    /// End the program after this long.
    pub duration: Option<Duration>,
    /// Where its output goes, standard error included; none: where ours goes.
    pub output: Option<PathBuf>,
}

/// A program that ran.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub ending: Ending,
    /// The same as the system has it.
    pub status: ExitStatus,
    /// How long it took.
    pub elapsed: Duration,
    /// What was recorded, the program itself first, then its children.
    pub processes: Vec<Process>,
    directory: TempDir,
}

/// What one process left.
#[derive(Debug)]
pub struct Process {
    log: PathBuf,
}

impl Process {
    /// The raw log, and the list of the files that were mapped.
    pub fn read(&self) -> io::Result<(Mapping, String)> {
        let modules = fs::read(self.log.with_extension(wire::MODULES_EXTENSION)).unwrap_or_default();
        Ok((map_file(&self.log)?, String::from_utf8_lossy(&modules).into_owned()))
    }
}

impl Ran {
    /// Whether the runtime was loaded into the program.
    pub fn was_loaded(&self) -> bool {
        self.directory.path().join(wire::FIRST_FILE).exists()
    }

    /// Its status as a shell gives it: that of a program killed by a signal is 128 and the signal's number.
    pub fn code(&self) -> u8 {
        let code = self.status.code().or_else(|| self.status.signal().map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code & 0xff).ok()).unwrap_or(u8::MAX)
    }
}

/// Runs a command to its end.
pub fn run(command: &[OsString], sight: Sight, settings: &Settings) -> io::Result<Ran> {
    let installed = embedded::unpack()?;
    let directory = tempfile::Builder::new().prefix("foretell-").tempdir()?;
    fs::write(directory.path().join(wire::SETTINGS_FILE), settings.runtime.to_string())?;
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]).env(wire::RUN_VARIABLE, directory.path());
    let library = installed.library.parent().unwrap_or(Path::new("/"));
    prepend(&mut program, "LD_LIBRARY_PATH", library.as_os_str());
    if sight != Sight::Full {
        prepend(&mut program, "LD_PRELOAD", installed.library.as_os_str());
    }
    if let Some(output) = &settings.output {
        let output = fs::File::create(output)?;
        program.stdout(output.try_clone()?).stderr(output);
    }
    let started = Instant::now();
    let passing = PassingOn::start()?;
    let mut child = program.spawn()?;
    passing.to(child.id());
    let status = wait(&mut child, settings.duration.map(|duration| started + duration));
    passing.to_nobody();
    let ((status, in_time), elapsed) = (status?, started.elapsed());
    let processes = processes(directory.path(), child.id())?;
    Ok(Ran { ending: ending(status, in_time), status, elapsed, processes, directory })
}

/// How a program ended whose time was over, or not.
pub(crate) fn ending(status: ExitStatus, in_time: bool) -> Ending {
    match (in_time, status.code(), status.signal()) {
        (false, ..) => Ending::TimedOut,
        (_, Some(wire::REPLAY_OVER_STATUS), _) => Ending::Ended,
        (_, Some(wire::DEADLOCK_STATUS), _) => Ending::Deadlocked,
        (_, Some(status), _) => Ending::Exited(status),
        (.., signal) => Ending::Killed(signal.unwrap_or(0)),
    }
}

/// Puts a value before those that a list in the environment has.
fn prepend(program: &mut Command, variable: &str, value: &OsStr) {
    let mut list = value.to_owned();
    if let Some(before) = std::env::var_os(variable).filter(|before| !before.is_empty()) {
        list.push(":");
        list.push(before);
    }
    program.env(variable, list);
}

/// Waits for its end; whether it came in time.
fn wait(child: &mut Child, until: Option<Instant>) -> io::Result<(ExitStatus, bool)> {
    let Some(until) = until else { return child.wait().map(|status| (status, true)) };
    let program = child.id() as i32;
    for (until, signal) in [(until, nix::libc::SIGTERM), (until + GRACE, nix::libc::SIGKILL)] {
        while Instant::now() < until {
            if let Some(status) = child.try_wait()? {
                return Ok((status, signal == nix::libc::SIGTERM));
            }
            std::thread::sleep(Duration::from_millis(2).min(until.saturating_duration_since(Instant::now())));
        }
        signals::send(program, signal);
    }
    child.wait().map(|status| (status, false))
}

/// The logs in a run's directory.
fn processes(directory: &Path, program: u32) -> io::Result<Vec<Process>> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(directory)? {
        let log = entry?.path();
        let stem = log.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        // A program that took the place of another in the same process has the next name.
        let (number, generation) = stem.split_once('-').unwrap_or((stem, "1"));
        let names =
            (number.parse::<u32>(), generation.parse::<u32>(), log.extension().and_then(OsStr::to_str));
        if let (Ok(number), Ok(generation), Some(wire::LOG_EXTENSION)) = names {
            logs.push((number != program, number, generation, log));
        }
    }
    logs.sort();
    Ok(logs.into_iter().map(|(.., log)| Process { log }).collect())
}
