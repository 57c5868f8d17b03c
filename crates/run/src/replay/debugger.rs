//! The program in gdb, at any step of the schedule.
//!
//! gdb gets its commands from files of the run's directory, because others can see the arguments of a process: the settings
//! ([`COMMANDS_FILE`]), the schedule ([`SCHEDULE_FILE`]), and commands to go through it ([`EXTENSION`]). gdb starts the program
//! by [`launch`], which hands over the arguments, environment, directory and input of the recording exactly. The runtime
//! stops after every step that gdb waits for: see [`wire::Instruction::Stop`].

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use compile::embedded;
use serde::Serialize;
use wire::ThreadName;

use super::ReplaySettings;
use super::plan::{Control, Goal, Plan, PlannedEvent, RaceOrder};
use super::run::{self, Command};
use crate::directory::WorkDirectory;
use crate::environment::Environment;

/// The commands that gdb begins with.
const COMMANDS_FILE: &str = "commands.gdb";
/// gdb's commands to go through the schedule, in Python.
const EXTENSION_FILE: &str = "foretell.py";
const EXTENSION: &str = include_str!("debugger/foretell.py");
/// The schedule, for the extension.
const SCHEDULE_FILE: &str = "schedule.json";
/// What [`launch`] runs.
const LAUNCH_FILE: &str = "launch";

/// What the extension knows.
#[derive(Debug, Serialize)]
struct Schedule {
    /// The runtime's library, whose frames are not shown.
    runtime: PathBuf,
    /// The steps; those that follow the bug included.
    steps: Vec<DebuggerStep>,
    /// How many steps lead to the bug.
    bug: usize,
    /// After how many steps to stop first; none: at the failure.
    start: Option<usize>,
    /// What the bug is.
    goal: String,
    /// Whether it is a failure.
    fails: bool,
    /// Where the threads are at the bug.
    events: Vec<DebuggerStep>,
    /// The exit status of a program that left the schedule.
    over: i32,
}

/// A step in words.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct DebuggerStep {
    /// The thread, as the kernel knows it.
    thread: String,
    /// What it does.
    operation: String,
    /// Where.
    location: String,
}

/// Lets the user look at the threads in gdb, under their names, from the end of the schedule or after the first `until` steps.
/// `launcher` is a command that calls [`launch`] with its last argument but those of the program.
pub fn debug(
    plan: &Plan,
    command: &Command,
    settings: &ReplaySettings,
    launcher: &[OsString],
) -> io::Result<()> {
    let until = settings.until;
    let control = Control::new(plan, &ReplaySettings { debugger: true, until: None, ..settings.clone() });
    let bytes = control.to_bytes(&command.descriptors);
    let directory = run::prepared(&bytes, &settings.for_runtime(plan), command.clock)?;
    let environment = run::environment(command, directory.path())?;
    let write = |name: &str, content: &[u8]| fs::write(directory.path().join(name), content);
    write(LAUNCH_FILE, &launch_file(command, &environment))?;
    write(EXTENSION_FILE, EXTENSION.as_bytes())?;
    let schedule = Schedule::of(plan, &control, settings.order, until)?;
    write(SCHEDULE_FILE, &serde_json::to_vec(&schedule)?)?;
    write(COMMANDS_FILE, commands(command, &directory, launcher)?.as_bytes())?;
    let mut gdb = std::process::Command::new("gdb");
    gdb.args(["-q", "-x"]).arg(directory.path().join(COMMANDS_FILE)).arg(command.file());
    // It starts the launcher by a shell, whose language is this one's.
    gdb.env("SHELL", "/bin/sh");
    // With which status it ends is its user's business.
    gdb.status().map(|_| ())
}

impl Schedule {
    fn of(plan: &Plan, control: &Control, order: RaceOrder, until: Option<usize>) -> io::Result<Schedule> {
        let step = |event: &PlannedEvent| {
            let name = plan.thread_name(&event.thread);
            let name = ThreadName::new(control.table.number(&event.thread), &name);
            DebuggerStep {
                thread: String::from_utf8_lossy(name.as_bytes()).into_owned(),
                operation: format!("{}({})", trace::text::op_name(event.kind), event.object),
                location: event.location.clone(),
            }
        };
        let mut steps: Vec<DebuggerStep> = plan.steps.iter().map(step).collect();
        let named = || plan.goal.named().into_iter().map(step);
        let mut events: Vec<DebuggerStep> = Vec::new();
        let goal = match &plan.goal {
            Goal::Race(..) => {
                events.extend(named());
                let mut accesses: Vec<DebuggerStep> = named().collect();
                if order == RaceOrder::Ba {
                    accesses.reverse();
                }
                steps.extend(accesses);
                "both accesses of the race are next".to_owned()
            }
            Goal::Deadlock(_) => {
                events.extend(named());
                "each of these threads waits for the next one, and the last for the first".to_owned()
            }
            Goal::Order(_) | Goal::Reads(..) => "the events of the finding have happened".to_owned(),
            Goal::State => "the end of the schedule".to_owned(),
            Goal::Failure(failure) => format!("the program is about to fail: {}", failure.identity),
        };
        let fails = matches!(plan.goal, Goal::Failure(_));
        let bug = plan.steps.len();
        let start = until.map(|until| until.min(steps.len())).or((!fails).then_some(bug));
        let runtime = embedded::unpack()?.library;
        Ok(Schedule { runtime, steps, bug, start, goal, fails, events, over: wire::REPLAY_OVER_STATUS })
    }
}

/// What gdb does first. A line is a command, so nothing that is named in it may have several.
fn commands(command: &Command, directory: &WorkDirectory, launcher: &[OsString]) -> io::Result<String> {
    let mut wrapper = String::from("set exec-wrapper");
    let words = launcher.iter().map(OsString::as_os_str).chain([directory.path().as_os_str()]);
    for word in words {
        let quoted = quoted(word).ok_or_else(|| unfit(Path::new(word)))?;
        write!(wrapper, " {quoted}").expect("text can be written");
    }
    let mut commands = format!("set breakpoint pending on\nset startup-with-shell on\n{wrapper}\n");
    let mut named = |before: &str, path: &Path| match one_line(path.as_os_str()) {
        Some(path) => {
            commands.push_str(&format!("{before} {path}\n"));
            Ok(())
        }
        None => Err(unfit(path)),
    };
    if let Some(directory) = &command.directory {
        // Sources are named relative to it.
        named("directory", directory)?;
    }
    match one_line(directory.path().as_os_str()) {
        Some(path) => writeln!(commands, "source {path}/{EXTENSION_FILE}").expect("text can be written"),
        None => return Err(unfit(directory.path())),
    }
    Ok(commands)
}

fn one_line(text: &OsStr) -> Option<&str> {
    text.to_str().filter(|text| !text.contains(['\n', '\r', '\0']))
}

/// The word as a shell reads it.
fn quoted(word: &OsStr) -> Option<String> {
    one_line(word).map(|word| format!("'{}'", word.replace('\'', r"'\''")))
}

fn unfit(path: &Path) -> io::Error {
    io::Error::other(format!("gdb cannot be given the path {}", path.display()))
}

/// What [`launch`] reads: the file, the directory, the input, how many arguments, the arguments, and the environment, each
/// ended by a zero.
fn launch_file(command: &Command, environment: &Environment) -> Vec<u8> {
    let path = |path: &Option<PathBuf>| path.clone().unwrap_or_default().into_os_string();
    let mut parts = vec![command.file().into_os_string(), path(&command.directory), path(&command.input)];
    parts.push(command.words.len().to_string().into());
    parts.extend(command.words.iter().cloned());
    for (name, value) in environment.variables() {
        let mut variable = name.to_owned();
        variable.push("=");
        variable.push(value);
        parts.push(variable);
    }
    parts.iter().flat_map(|part| part.as_bytes().iter().copied().chain([0])).collect()
}

fn parse_launch_file(bytes: &[u8]) -> Option<(Command, Environment)> {
    let mut parts = bytes.strip_suffix(&[0])?.split(|&byte| byte == 0).map(|part| part.to_vec());
    let mut next = || parts.next().map(OsString::from_vec);
    let path = |part: OsString| Some(PathBuf::from(part)).filter(|path| !path.as_os_str().is_empty());
    let file = path(next()?);
    let directory = path(next()?);
    let input = path(next()?);
    let count: usize = next()?.to_str()?.parse().ok()?;
    let words = (0..count).map(|_| next()).collect::<Option<Vec<OsString>>>()?;
    let mut environment = Environment::default();
    for variable in parts {
        let end = variable.iter().position(|&byte| byte == b'=')?;
        let (name, value) = (OsStr::from_bytes(&variable[..end]), &variable[end + 1..]);
        environment.set(name, OsString::from_vec(value.to_vec()));
    }
    let command = Command { words, file, directory, input, ..Command::default() };
    Some((command, environment))
}

/// Becomes the program that is to be debugged in this run's directory; returns why if that did not work.
pub fn launch(directory: &OsStr) -> io::Error {
    let become_program = || -> io::Result<std::convert::Infallible> {
        let directory = Path::new(directory);
        let bytes = fs::read(directory.join(LAUNCH_FILE))?;
        let (command, environment) = parse_launch_file(&bytes)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the launch file is damaged"))?;
        forget_run(directory)?;
        let mut program = run::as_recorded(&command, environment);
        program.stdin(run::input(&command)?);
        Err(program.exec())
    };
    match become_program() {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

/// Removes what the run before has left, so that the next is the first again.
fn forget_run(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        let extension = path.extension().unwrap_or_default();
        let of_a_process = [
            wire::LOG_EXTENSION,
            wire::MODULES_EXTENSION,
            wire::OPTIONS_EXTENSION,
            wire::SUPPRESSIONS_EXTENSION,
        ];
        let is_log = of_a_process.iter().any(|known| extension == *known);
        if is_log || name == wire::FIRST_FILE || name == wire::OUTCOME_FILE || name == wire::UNRECORDED_FILE {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_launched_with_what_it_was_recorded_with() {
        let command = Command {
            words: ["./bank", "a b", "", "$(x)'\n"].map(OsString::from).to_vec(),
            file: Some("/bin/bank".into()),
            directory: None,
            input: Some("/tmp/in put".into()),
            ..Command::default()
        };
        let mut environment = Environment::default();
        environment.set("FUNCTION", "() {\n  x=1\n}");
        environment.set("EMPTY", "");
        let read = parse_launch_file(&launch_file(&command, &environment));
        assert_eq!(read, Some((command, environment)));
        assert_eq!(parse_launch_file(b"/bin/x\0\0\0\x33\0x\0"), None, "words are missing");
        assert_eq!(parse_launch_file(b""), None);
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted(OsStr::new("it's $x")).as_deref(), Some(r"'it'\''s $x'"));
        assert_eq!(quoted(OsStr::new("two\nlines")), None);
    }
}
