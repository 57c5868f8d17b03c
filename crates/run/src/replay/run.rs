//! The recorded command, run again under a control file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::libc;
use trace::{Ending, ThreadPath};

use crate::Cancellation;
use crate::directory::WorkDirectory;
use crate::drive::{ClientFile, Drive, Driver};
use crate::environment::{Environment, EnvironmentSource};
use crate::launch::{Launch, Launched};
use crate::output::OutputFile;
use crate::record::ending;
use crate::signals;
use crate::waiting::{EndWatch, LOOK};
use compile::embedded;

/// A command and what it was run with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// The file that is run; none: what the first word stands for.
    pub file: Option<PathBuf>,
    /// Where it runs; none: here.
    pub directory: Option<PathBuf>,
    /// Where its environment comes from.
    pub environment: EnvironmentSource,
    /// How many bytes of the stack its environment took when it was recorded.
    pub environment_size: Option<u64>,
    /// What it reads from its standard input; none: nothing.
    pub input: Option<PathBuf>,
    /// It is not instrumented: the runtime is preloaded.
    pub only_sync: bool,
    /// The client that drives it, if it is a server.
    pub drive: Option<Drive>,
    /// What its clocks show.
    pub clock: wire::Clock,
    /// The numbers of files that its threads were given when it was recorded, in the order in which they were.
    pub descriptors: BTreeMap<ThreadPath, Vec<u32>>,
}

impl Command {
    /// What to tell the kernel to run.
    pub(super) fn file(&self) -> PathBuf {
        let found =
            || crate::program::locate(&self.words[0]).unwrap_or_else(|_| PathBuf::from(&self.words[0]));
        self.file.clone().unwrap_or_else(found)
    }
}

/// What the program prints, on both streams, in the directory of the run.
const OUTPUT_FILE: &str = "output";
/// A run whose log has more events has it on the disk.
const MOST_IN_MEMORY: u64 = 4_000_000;

/// A program that ran.
#[derive(Debug)]
pub(super) struct ReplayedRun {
    pub(super) ending: Ending,
    pub(super) elapsed: Duration,
    pub(super) directory: WorkDirectory,
}

impl ReplayedRun {
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
    settings: &wire::RuntimeSettings,
    limit: Duration,
    cancellation: &Cancellation,
) -> io::Result<ReplayedRun> {
    let directory = prepared(control, settings, command.clock)?;
    let environment = environment(command, directory.path())?;
    // Without room for it, the server is not heard, and only time tells what it has received.
    let file = command.drive.as_ref().and_then(|_| ClientFile::create(directory.path()).ok());
    execute(&environment, command, directory, file, limit, cancellation)
}

/// Runs the command in this environment to its end, or until its time is over; its output goes into the directory. A server that has the runtime
/// says in the file what its clients send.
pub(super) fn execute(
    environment: &Environment,
    command: &Command,
    directory: WorkDirectory,
    file: Option<ClientFile>,
    limit: Duration,
    cancellation: &Cancellation,
) -> io::Result<ReplayedRun> {
    let mut output = OutputFile::create(&directory.path().join(OUTPUT_FILE))?;
    let launch = Launch {
        file: &command.file(),
        words: &command.words,
        directory: command.directory.as_deref(),
        environment,
        input: input(command)?,
        output: [output.for_program()?, output.for_program()?],
    };
    let printed = || output.for_program().map(Some);
    let mut driver = match &command.drive {
        Some(drive) => Some(Driver::new(drive, printed()?, printed()?, directory.path(), file)?),
        None => None,
    };
    let started = Instant::now();
    let mut child = launch.start()?;
    let waited = wait(&mut child, started + limit, cancellation, &mut output, driver.as_mut());
    // Whatever it started ends with it.
    signals::send(-(child.id() as i32), libc::SIGKILL);
    output.finish()?;
    let (status, in_time) = waited?;
    let ending = ending(status, in_time);
    let ending = driver.map_or(Ok(ending), |driver| Ok::<_, io::Error>(driver.finish(ending)?.ending))?;
    Ok(ReplayedRun { ending, elapsed: started.elapsed(), directory })
}

/// A directory for a run under this control file, with these clocks.
pub(super) fn prepared(
    control: &[u8],
    settings: &wire::RuntimeSettings,
    clock: wire::Clock,
) -> io::Result<WorkDirectory> {
    let settings = wire::RuntimeSettings { clock, ..*settings };
    // Without a limit the log may be longer than memory.
    let is_short = settings.max_events.is_some_and(|most| most.get() <= MOST_IN_MEMORY);
    let directory = if is_short { WorkDirectory::create_in_memory() } else { WorkDirectory::create() }?;
    fs::write(directory.path().join(wire::SETTINGS_FILE), settings.to_string())?;
    fs::write(directory.path().join(wire::CONTROL_FILE), control)?;
    Ok(directory)
}

/// The environment of a replay in this directory.
pub(super) fn environment(command: &Command, run: &Path) -> io::Result<Environment> {
    let installed = embedded::unpack()?;
    let mut environment = Environment::of(&command.environment);
    let library = installed.library.parent().unwrap_or(Path::new("/"));
    environment.prepend("LD_LIBRARY_PATH", library.as_os_str());
    if command.only_sync {
        environment.prepend("LD_PRELOAD", installed.library.as_os_str());
    }
    environment.set(wire::RUN_VARIABLE, run);
    environment.pad(&command.file(), command.environment_size);
    Ok(environment)
}

/// The command as it was run, with this environment.
pub(super) fn as_recorded(command: &Command, environment: Environment) -> std::process::Command {
    let mut program = std::process::Command::new(command.file());
    program.arg0(&command.words[0]).args(&command.words[1..]);
    if let Some(directory) = &command.directory {
        program.current_dir(directory);
    }
    environment.give(&mut program);
    program
}

pub(super) fn input(command: &Command) -> io::Result<File> {
    File::open(command.input.as_deref().unwrap_or(Path::new("/dev/null")))
}

/// Waits for the end, or kills the program and all it started, when its time is over or the run is called off; whether it was
/// in time.
fn wait(
    child: &mut Launched,
    until: Instant,
    cancellation: &Cancellation,
    output: &mut OutputFile,
    mut driver: Option<&mut Driver<'_>>,
) -> io::Result<(ExitStatus, bool)> {
    let watch = EndWatch::of(child.id());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, true));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || cancellation.is_cancelled() {
            signals::send(-(child.id() as i32), libc::SIGKILL);
            return Ok((child.wait()?, false));
        }
        output.trim();
        if let Some(driver) = &mut driver {
            driver.advance(child.id())?;
        }
        let interval = driver.as_ref().map_or(LOOK, |driver| driver.interval());
        watch.wait_at_most(interval.min(left));
    }
}
