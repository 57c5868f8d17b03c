//! A survey of a command: which instrumented programs it starts, and how each can be started again by itself.
//!
//! Nothing is recorded, and the threads run as they would. The runtime takes the place of ThreadSanitizer's in every instrumented process
//! under the command (through `LD_LIBRARY_PATH`), where it does nothing but leave a [`wire::ProcessRecord`].

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use compile::embedded;
use trace::Ending;
use wire::ProcessRecord;

use crate::directory::WorkDirectory;
use crate::environment::{Environment, PADDING_VARIABLE};
use crate::record::{code, run_to_end};
use crate::stuck::Watch;
use crate::waiting::LOOK;

/// What a command did.
#[derive(Debug)]
pub struct Survey {
    /// How it ended.
    pub ending: Ending,
    /// Its status, as a shell gives it.
    pub code: u8,
    /// How long it took.
    pub elapsed: Duration,
    /// The instrumented processes under it, in the order in which they started.
    pub processes: Vec<SurveyedProcess>,
}

/// An instrumented process, and what it takes to start it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyedProcess {
    /// The file of the program, by the name that it was started with.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The directory it was started in.
    pub directory: PathBuf,
    /// Its environment.
    pub environment: Environment,
    /// Its standard input, if that was a file.
    pub input: Option<PathBuf>,
    /// Whether it created a thread.
    pub has_threads: bool,
    /// It hung, and was ended: each of its threads waited for another one.
    pub hung: bool,
}

/// Runs a command to its end, for so long at most. What it prints goes to our standard error: our output is for the report. A program under it
/// that hangs is ended, so that the others have their turn.
pub fn survey(command: &[OsString], duration: Option<Duration>) -> io::Result<Survey> {
    let installed = embedded::unpack()?;
    let libraries = installed.library.parent().unwrap_or(Path::new("/"));
    let directory = WorkDirectory::create()?;
    let settings = wire::RuntimeSettings { mode: wire::Mode::Survey, ..wire::RuntimeSettings::DEFAULT };
    fs::write(directory.path().join(wire::SETTINGS_FILE), settings.to_string())?;
    let mut environment = Environment::ours();
    environment.prepend("LD_LIBRARY_PATH", libraries.as_os_str());
    environment.set(wire::RUN_VARIABLE, directory.path());
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::from(io::stderr()));
    environment.give(&mut program);
    let is_over = AtomicBool::new(false);
    let (ended, hung) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| end_what_hangs(directory.path(), &is_over));
        let ended = run_to_end(&mut program, duration, None, None);
        is_over.store(true, Ordering::SeqCst);
        (ended, watch.join().unwrap_or_default())
    });
    let ended = ended?;
    let processes = processes(directory.path(), libraries, &hung)?;
    Ok(Survey { ending: ended.ending, code: code(ended.status), elapsed: ended.elapsed, processes })
}

/// Ends programs with threads that hang, until the command is over; which these were.
fn end_what_hangs(directory: &Path, is_over: &AtomicBool) -> Vec<u32> {
    let mut watch = Watch::default();
    while !is_over.load(Ordering::SeqCst) {
        watch.look_at(|| {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            entries.filter_map(|entry| with_threads(&entry.path())).map(|left| left.process).collect()
        });
        std::thread::sleep(LOOK);
    }
    watch.ended
}

/// What a process is known by: a copy of a process has its own number, and the time of the one it was copied from.
#[derive(Clone, Copy, Debug)]
struct LeftBy {
    time: u64,
    process: u32,
}

/// Who left a file that is called `TIME-PROCESS.extension`.
fn left_by(path: &Path) -> Option<LeftBy> {
    let (time, process) = path.file_stem()?.to_str()?.split_once('-')?;
    Some(LeftBy { time: time.parse().ok()?, process: process.parse().ok()? })
}

/// Who left a file that says that it has threads.
fn with_threads(path: &Path) -> Option<LeftBy> {
    let says_so = path.extension().and_then(OsStr::to_str) == Some(wire::THREADS_EXTENSION);
    left_by(path).filter(|_| says_so)
}

/// Has an instrumented program find the runtime, so that it can run without being recorded.
pub fn add_runtime(environment: &mut Environment) -> io::Result<()> {
    let installed = embedded::unpack()?;
    environment.prepend("LD_LIBRARY_PATH", installed.library.parent().unwrap_or(Path::new("/")).as_os_str());
    Ok(())
}

/// What processes left in the directory of a survey.
fn processes(directory: &Path, libraries: &Path, hung: &[u32]) -> io::Result<Vec<SurveyedProcess>> {
    let (mut records, mut threaded) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let Some(by) = left_by(&path) else { continue };
        if path.extension().and_then(OsStr::to_str) == Some(wire::PROCESS_EXTENSION) {
            records.push((by.time, path.clone()));
        }
        threaded.extend(with_threads(&path));
    }
    records.sort();
    let mut processes = Vec::new();
    for (time, path) in records {
        let bytes = fs::read(path)?;
        let of_it = || threaded.iter().filter(|by| by.time == time);
        let has_hung = of_it().any(|by| hung.contains(&by.process));
        let process = ProcessRecord::parse(&bytes).map(|record| surveyed(&record, libraries));
        let process = process.map(|found| SurveyedProcess {
            has_threads: of_it().next().is_some(),
            hung: has_hung,
            ..found
        });
        processes.extend(process);
    }
    Ok(processes)
}

fn surveyed(record: &ProcessRecord<'_>, libraries: &Path) -> SurveyedProcess {
    let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
    let words = record.command.strip_suffix(b"\0").unwrap_or(record.command);
    let mut words = words.split(|&byte| byte == 0);
    let name = OsStr::from_bytes(words.next().unwrap_or_default());
    let mut environment = Environment::from_kernel(record.environment);
    environment.remove(wire::RUN_VARIABLE);
    environment.remove(PADDING_VARIABLE);
    environment.remove_from_list("LD_LIBRARY_PATH", libraries.as_os_str());
    let directory = path(record.directory);
    let program = path(record.program);
    SurveyedProcess {
        program: started_as(name, &directory, &environment, &program).unwrap_or(program),
        arguments: words.map(|word| OsStr::from_bytes(word).to_owned()).collect(),
        directory,
        environment,
        input: Some(path(record.input)).filter(|input| input.is_file()),
        has_threads: false,
        hung: false,
    }
}

/// The link to a program by which it was started, if there is one. Programs look at their names: Python finds its virtual environment by
/// it, and a program may have several names for several things that it does.
fn started_as(name: &OsStr, directory: &Path, environment: &Environment, program: &Path) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    let is_it = |path: &PathBuf| path != program && path.canonicalize().is_ok_and(|found| found == program);
    if name.as_bytes().contains(&b'/') {
        return Some(directory.join(name)).filter(is_it);
    }
    let path = environment.get(OsStr::new("PATH")).unwrap_or_default();
    // As a shell finds it: the first that is there.
    let found = std::env::split_paths(path).map(|place| directory.join(place).join(name));
    found.into_iter().find(|path| path.is_file()).filter(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_started_by_the_link_that_it_was_started_by() {
        let place = tempfile::tempdir().unwrap();
        let here = place.path().canonicalize().unwrap();
        let at = |name: &str| here.join(name);
        fs::create_dir(at("bin")).unwrap();
        fs::write(at("python3.11"), "").unwrap();
        fs::write(at("other"), "").unwrap();
        std::os::unix::fs::symlink("../python3.11", at("bin/python")).unwrap();
        let mut environment = Environment::default();
        environment.set("PATH", format!("{}:bin", at("nowhere").display()));
        let of = |name: &str| started_as(OsStr::new(name), &here, &environment, &at("python3.11"));
        for name in ["python", "bin/python", "./bin/python"] {
            let found = of(name).unwrap();
            assert!(found.is_absolute() && found.ends_with("bin/python"), "{}", found.display());
        }
        // Its own name, names that are other programs, and what is no name.
        for name in ["./python3.11", "other", "./other", "-python", ""] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn processes_are_read_in_the_order_in_which_they_started() {
        let directory = tempfile::tempdir().unwrap();
        let leave = |name: &str, program: &[u8], environment: &[u8]| {
            let record = ProcessRecord {
                program,
                directory: b"/tmp",
                input: b"/dev/null",
                command: b"./x\0\0two words\0",
                environment,
            };
            let mut bytes = Vec::new();
            record.write(|piece| {
                bytes.extend_from_slice(piece);
                true
            });
            fs::write(directory.path().join(name), bytes).unwrap();
        };
        leave("1000-7.process", b"/second", b"LD_LIBRARY_PATH=/cargo:/ours:/theirs\0FORETELL_RUN=/tmp/run\0");
        leave("999-8.process", b"/first", b"A=1\0LD_LIBRARY_PATH=/ours\0");
        for (name, content) in [("1000-9.threads", ""), ("settings", "seed=0"), ("1001-5.process", "cut")] {
            fs::write(directory.path().join(name), content).unwrap();
        }
        let found = processes(directory.path(), Path::new("/ours"), &[9]).unwrap();
        assert_eq!(found.iter().map(|found| found.hung).collect::<Vec<_>>(), [false, true]);
        let programs: Vec<_> =
            found.iter().map(|found| (found.program.as_path(), found.has_threads)).collect();
        assert_eq!(programs, [(Path::new("/first"), false), (Path::new("/second"), true)]);
        assert_eq!(found[0].arguments, ["", "two words"]);
        assert_eq!(found[0].input, None, "a device is no file");
        assert_eq!(found[0].environment.stored(), ["A=1"]);
        assert_eq!(found[1].environment.stored(), ["LD_LIBRARY_PATH=/cargo:/theirs"]);
    }
}
