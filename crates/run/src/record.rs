//! Running a program under the recorder.
//!
//! The program gets its own arguments, input, output and environment, and besides the runtime (through
//! `LD_LIBRARY_PATH`, or `LD_PRELOAD` for one that is not instrumented) and the directory it logs to. What it leaves
//! there is complete up to its last event, however it ended.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, IsTerminal};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::libc;
use trace::Ending;

use crate::directory::{Interrupted, WorkDirectory, create_file};
use crate::drive::{ClientFile, Drive, Driven, Driver, GETTING_READY, content};
use crate::environment::Environment;
use crate::mapping::{Mapping, map_file};
use crate::output::OutputFile;
use crate::program::Recordability;
use crate::signals::{self, PassingOn};
use crate::waiting::{EndWatch, LOOK};
use compile::embedded;

/// How long a program that is asked to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// How a program is run.
#[derive(Clone, Debug, Default)]
pub struct RecordSettings {
    /// The runtime's settings.
    pub runtime: wire::RuntimeSettings,
    /// End the program after this long.
    pub duration: Option<Duration>,
    /// Where its output goes, standard error included; none: where ours goes.
    pub output: Option<PathBuf>,
    /// The client that a server is driven by.
    pub drive: Option<Drive>,
    /// Where the output of the client goes; none: where the program's goes.
    pub client_output: Option<PathBuf>,
    /// What is needed to make use of the recording if we are killed; none: it is not kept then.
    pub journal: Option<Vec<u8>>,
}

/// A program that ran.
#[derive(Debug)]
pub struct RecordedRun {
    /// How it ended.
    pub ending: Ending,
    /// The same as the system has it.
    pub status: ExitStatus,
    /// How long it took.
    pub elapsed: Duration,
    /// What was recorded, the program itself first, then its children.
    pub processes: Vec<Process>,
    /// How many bytes of its stack the environment took.
    pub environment_size: u64,
    /// It is a server, and its client was not started, because this did not happen.
    pub not_ready: Option<String>,
    directory: WorkDirectory,
}

/// What one process left.
#[derive(Debug)]
pub struct Process {
    log: PathBuf,
    has_exited: bool,
}

impl Process {
    /// Whether it is known to have ended by itself, so that its log must say how.
    pub fn has_exited(&self) -> bool {
        self.has_exited
    }

    /// The raw log, and the list of the files that were mapped.
    pub fn read(&self) -> io::Result<(Mapping, String)> {
        let modules = fs::read(self.log.with_extension(wire::MODULES_EXTENSION)).unwrap_or_default();
        Ok((map_file(&self.log)?, String::from_utf8_lossy(&modules).into_owned()))
    }

    /// The options and the suppressions that the program has for ThreadSanitizer; empty without any.
    pub fn requests(&self) -> (String, String) {
        let text = |extension| fs::read(self.log.with_extension(extension)).unwrap_or_default();
        let text = |extension| String::from_utf8_lossy(&text(extension)).into_owned();
        (text(wire::OPTIONS_EXTENSION), text(wire::SUPPRESSIONS_EXTENSION))
    }
}

/// What an interrupted recording left, the program itself first.
pub fn left_by(interrupted: &Interrupted) -> io::Result<Vec<Process>> {
    let first = fs::read_to_string(interrupted.path.join(wire::FIRST_FILE)).unwrap_or_default();
    processes(&interrupted.path, first.trim().parse().unwrap_or(0))
}

impl RecordedRun {
    /// Whether the runtime was loaded into the program.
    pub fn was_loaded(&self) -> bool {
        self.directory.path().join(wire::FIRST_FILE).exists()
    }

    /// How many processes with threads, or of instrumented programs, it started that were not recorded.
    pub fn unrecorded(&self) -> u64 {
        self.directory.path().join(wire::UNRECORDED_FILE).metadata().map_or(0, |facts| facts.len())
    }

    /// What the clients of a server sent: a file that a [`Script`](crate::drive::Script) is read from. None: no client has connected, or one has
    /// failed, or the server has: then what a client says of a run counts.
    pub fn client_input(&self) -> Option<Vec<u8>> {
        let has_failed = matches!(self.ending, Ending::Exited(status) if status != 0);
        content(self.directory.path()).filter(|_| !has_failed)
    }

    /// Its status as a shell gives it; that of its client, if it is a server that ended because the client was done.
    pub fn code(&self) -> u8 {
        match self.ending {
            Ending::Exited(status) => u8::try_from(status & 0xff).unwrap_or(u8::MAX),
            _ => code(self.status),
        }
    }
}

/// A status as a shell gives it: that of a program killed by a signal is 128 and the signal's number.
pub(crate) fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code & 0xff).ok()).unwrap_or(u8::MAX)
}

/// Runs a command to its end. The file is the program that its first word stands for.
pub fn run(
    command: &[OsString],
    file: &Path,
    recordability: Recordability,
    settings: &RecordSettings,
) -> io::Result<RecordedRun> {
    let installed = embedded::unpack()?;
    let directory = WorkDirectory::create()?;
    fs::write(directory.path().join(wire::SETTINGS_FILE), settings.runtime.to_string())?;
    let mut environment = Environment::ours();
    let library = installed.library.parent().unwrap_or(Path::new("/"));
    environment.prepend("LD_LIBRARY_PATH", library.as_os_str());
    if recordability != Recordability::Full {
        environment.prepend("LD_PRELOAD", installed.library.as_os_str());
    }
    environment.set(wire::RUN_VARIABLE, directory.path());
    let environment_size = environment.pad(file, None);
    if let Some(journal) = &settings.journal {
        directory.keep_for(journal)?;
    }
    let mut program = Command::new(file);
    program.arg0(&command[0]).args(&command[1..]);
    environment.give(&mut program);
    let mut output = settings.output.as_deref().map(OutputFile::create).transpose()?;
    if let Some(output) = &output {
        program.stdout(output.for_program()?).stderr(output.for_program()?);
    }
    let driver = match &settings.drive {
        Some(drive) => Some(driver(drive, settings, output.as_ref(), directory.path())?),
        None => None,
    };
    let ended = run_to_end(&mut program, settings.duration, output.as_mut(), driver)?;
    output.map_or(Ok(()), OutputFile::finish)?;
    let Ended { id, status, ending, elapsed, not_ready } = ended;
    let mut processes = processes(directory.path(), id)?;
    if let Some(first) = processes.first_mut() {
        first.has_exited = status.code().is_some();
    }
    Ok(RecordedRun { ending, status, elapsed, processes, environment_size, not_ready, directory })
}

/// What drives a server.
fn driver<'d>(
    drive: &'d Drive,
    settings: &RecordSettings,
    output: Option<&OutputFile>,
    directory: &Path,
) -> io::Result<Driver<'d>> {
    // Without room for it, what clients send is not kept.
    let file = ClientFile::create(directory).ok();
    let printed = || output.map(OutputFile::for_program).transpose();
    let by_client = match &settings.client_output {
        Some(path) => Some(create_file(path)?),
        None => printed()?,
    };
    let driver = Driver::new(drive, printed()?, by_client, directory, file)?;
    Ok(match settings.duration {
        Some(_) => driver,
        None => driver.patient_for(GETTING_READY),
    })
}

/// A process that has ended.
pub(crate) struct Ended {
    id: u32,
    pub(crate) status: ExitStatus,
    pub(crate) ending: Ending,
    pub(crate) elapsed: Duration,
    not_ready: Option<String>,
}

/// Starts a program and waits for its end, for so long at most. Signals that we get are passed on to it. What it prints is kept small.
pub(crate) fn run_to_end(
    program: &mut Command,
    duration: Option<Duration>,
    output: Option<&mut OutputFile>,
    mut driver: Option<Driver<'_>>,
) -> io::Result<Ended> {
    without_surprises(program);
    let group = has_own_group(program);
    let started = Instant::now();
    let passing = PassingOn::start()?;
    let mut child = program.spawn()?;
    passing.to(child.id());
    let running = Running { passing: &passing, until: duration.map(|limit| started + limit) };
    // Who keeps what is printed runs the program again and again: each run would leave something behind.
    let is_one_of_many = output.is_some();
    let status = running.wait(&mut child, output, driver.as_mut());
    let is_interrupted = passing.received() > 0;
    passing.to_nobody();
    let (status, in_time) = status?;
    if group && (is_one_of_many || is_interrupted || !in_time) {
        // Whatever it started ends with it, also if it was the first to go.
        signals::send(-(child.id() as i32), libc::SIGKILL);
    }
    let elapsed = started.elapsed();
    let ending = ending(status, in_time);
    let undriven = Driven { ending, not_ready: None };
    let Driven { ending, not_ready } = driver.map_or(Ok(undriven), |driver| driver.finish(ending))?;
    Ok(Ended { id: child.id(), status, ending, elapsed, not_ready })
}

/// Gives a program a process group of its own, so that all it starts can be ended with it. On a terminal it stays in ours: another
/// could not read from it. Whether it has one.
fn has_own_group(program: &mut Command) -> bool {
    let on_terminal = io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal();
    if !on_terminal {
        program.process_group(0);
    }
    !on_terminal
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

/// A program that runs.
struct Running<'p> {
    passing: &'p PassingOn,
    /// When its time is over.
    until: Option<Instant>,
}

impl Running<'_> {
    /// Waits for its end; whether it came in time. A program whose time is over is asked to end, and so is one when we are: if it does not
    /// within a grace period, or we are asked a second time, it is killed.
    fn wait(
        &self,
        child: &mut Child,
        mut output: Option<&mut OutputFile>,
        mut driver: Option<&mut Driver<'_>>,
    ) -> io::Result<(ExitStatus, bool)> {
        let (mut until, mut in_time, mut asked) = (self.until, true, false);
        let watch = EndWatch::of(child.id());
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok((status, in_time));
            }
            let now = Instant::now();
            let is_over = until.is_some_and(|until| until <= now);
            match self.passing.received() {
                0 | 1 if is_over && asked => break,
                0 if is_over => {
                    (in_time, asked, until) = (false, true, Some(now + GRACE));
                    signals::send(child.id() as i32, libc::SIGTERM);
                }
                1 if !asked => (asked, until) = (true, Some(now + GRACE)),
                0 | 1 => {}
                _ => break,
            }
            if let Some(output) = &mut output {
                output.trim();
            }
            if let Some(driver) = &mut driver {
                driver.advance(child.id())?;
            }
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(now));
            let interval = driver.as_ref().map_or(LOOK, |driver| driver.interval());
            watch.wait_at_most(interval.min(left));
        }
        signals::send(child.id() as i32, libc::SIGKILL);
        child.wait().map(|status| (status, in_time))
    }
}

/// The same addresses each time, and no life after ours.
#[expect(unsafe_code, reason = "what runs between fork and exec must be safe there")]
pub(crate) fn without_surprises(program: &mut Command) {
    let prepare = || {
        // SAFETY: a system call that takes a number; it is safe after a fork.
        unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
        Ok(())
    };
    // SAFETY: the closure allocates nothing and takes no lock.
    unsafe { program.pre_exec(prepare) };
    end_with_us(program);
}

/// No life after ours, even if we are killed.
#[expect(unsafe_code, reason = "what runs between fork and exec must be safe there")]
pub(crate) fn end_with_us(program: &mut Command) {
    let parent = std::process::id();
    let prepare = move || {
        // SAFETY: system calls that take numbers; all are safe after a fork.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // We may have been killed before the kernel knew.
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing and takes no lock.
    unsafe { program.pre_exec(prepare) };
}

/// The logs in a run's directory.
pub(crate) fn processes(directory: &Path, program: u32) -> io::Result<Vec<Process>> {
    let mut logs = Vec::new();
    let entries = fs::read_dir(directory).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other("what was recorded was removed while the program ran"),
        _ => error,
    })?;
    for entry in entries {
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
    Ok(logs.into_iter().map(|(.., log)| Process { log, has_exited: false }).collect())
}
