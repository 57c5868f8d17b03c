//! `cargo xtask soak`: records, predicts, replays and hunts for many minutes on a busy machine, and looks for what is left over:
//! memory, open files, processes, temporary files.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use xtask::Outcome;
use xtask::cargo::{release_build, root};
use xtask::machine::circumstances;
use xtask::scratch::with_directory;

/// Has a race that every replay confirms.
const RACE: &str = "examples/weather_station.c";
/// Is correct, and has far more behaviours than can be run.
const MANY_BEHAVIOURS: &str = "\
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turns[100], count;
static void *work(void *number) {
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        turns[count++] = *(int *)number;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int main(void) {
    pthread_t threads[4];
    int numbers[] = {1, 2, 3, 4}, sum = 0;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, &numbers[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < count; i++) sum += turns[i];
    return sum != 200;
}
";

/// How often the hunt is looked at.
const INTERVAL: Duration = Duration::from_secs(5);

/// Open files and threads of a hunt may differ by this number between two looks.
const MOST_MORE: u64 = 16;

/// What a process holds at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Holdings {
    kilobytes: u64,
    files: u64,
    threads: u64,
}

impl Holdings {
    /// None if the process is over.
    fn of(process: u32) -> Option<Holdings> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let files = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?.count() as u64;
        Some(Holdings { kilobytes: field("VmRSS:")?, files, threads: field("Threads:")? })
    }
}

/// With a release build, or with this program.
pub(crate) fn run(minutes: u64, program: Option<&str>) -> Outcome {
    let foretell = program.map_or_else(release_build, |program| {
        let path = std::fs::canonicalize(program).map_err(|error| format!("`{program}`: {error}"))?;
        Ok(path.to_string_lossy().into_owned())
    })?;
    println!("{}", circumstances().trim_end());
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    // Keep both cores busy.
    let spin = || Running::start(Command::new("sh").args(["-c", "while :; do :; done"]));
    let load = [spin()?, spin()?];
    let outcome = with_directory(|directory| {
        let soak = Soak { foretell, directory };
        soak.prepare()?;
        let mut hunt = soak.hunt(minutes)?;
        let mut looks = Vec::new();
        let mut rounds = 0_u64;
        while Instant::now() < end {
            soak.round()?;
            rounds += 1;
            let last_look = looks.last().map(|&(at, _): &(Instant, Holdings)| at);
            if last_look.is_none_or(|at| at.elapsed() >= INTERVAL) {
                looks.extend(Holdings::of(hunt.0.id()).map(|holdings| (Instant::now(), holdings)));
            }
        }
        let status = hunt.0.wait().map_err(|error| format!("cannot wait for the hunt: {error}"))?;
        if !matches!(status.code(), Some(0 | 3)) {
            return Err(format!("the long hunt ended with {status}"));
        }
        println!("{rounds} times recorded, predicted and replayed: the race was confirmed each time");
        growth(&looks.into_iter().map(|(_, holdings)| holdings).collect::<Vec<_>>())?;
        soak.nothing_is_left()
    });
    drop(load);
    outcome
}

struct Soak<'d> {
    foretell: String,
    directory: &'d Path,
}

impl Soak<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.foretell);
        let temporary = self.directory.join("tmp");
        command.args(arguments).current_dir(self.directory).env("TMPDIR", temporary);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Runs a command that has to end with a status.
    fn expect(&self, arguments: &[&str], expected: i32) -> Outcome {
        let status =
            self.command(arguments).status().map_err(|error| format!("cannot run foretell: {error}"))?;
        match status.code() == Some(expected) {
            true => Ok(()),
            false => {
                Err(format!("`foretell {}` ended with {status}, not with {expected}", arguments.join(" ")))
            }
        }
    }

    fn prepare(&self) -> Outcome {
        std::fs::create_dir(self.directory.join("tmp")).map_err(|error| error.to_string())?;
        let many = self.directory.join("many.c");
        std::fs::write(&many, MANY_BEHAVIOURS).map_err(|error| error.to_string())?;
        for (source, program) in [(root().join(RACE), "race"), (many, "many")] {
            self.expect(&["cc", "-g", "-O1", "-pthread", &source.to_string_lossy(), "-o", program], 0)?;
        }
        Ok(())
    }

    /// A hunt that takes all the time there is.
    fn hunt(&self, minutes: u64) -> Result<Running, String> {
        let timeout = format!("--timeout={}", minutes * 60);
        Running::start(&mut self.command(&["hunt", &timeout, "--results", "results", "--", "./many"]))
    }

    /// Records, predicts, and replays what was predicted.
    fn round(&self) -> Outcome {
        self.expect(&["record", "-o", "race.ftr", "--", "./race"], 0)?;
        self.expect(&["predict", "race.ftr"], 1)?;
        self.expect(&["replay", "race.ftr", "race-1"], 1)
    }

    /// No process of the programs, and no temporary file but locks.
    fn nothing_is_left(&self) -> Outcome {
        let processes = std::fs::read_dir("/proc").map_err(|error| error.to_string())?.flatten();
        let programs = processes.filter_map(|process| std::fs::read_link(process.path().join("exe")).ok());
        let left = programs.filter(|program| program.starts_with(self.directory)).count();
        let files: Vec<String> = files_below(&self.directory.join("tmp"));
        println!("{left} processes and {} temporary files are left", files.len());
        match (left, files.is_empty()) {
            (0, true) => Ok(()),
            _ => Err(format!("{left} processes are left, and these files: {}", files.join(", "))),
        }
    }
}

/// Files below a directory, without locks, which stay for the next run, and without the library in the cache.
fn files_below(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false if path.ends_with("lock") => {}
            false => files.push(path.to_string_lossy().into_owned()),
        }
    }
    files
}

/// Compares what the hunt held in the second quarter of its time with the last. Memory grows with what is left to be tried, up to a bound; files and
/// threads must not.
fn growth(looks: &[Holdings]) -> Outcome {
    if looks.len() < 8 {
        return Err(format!("the hunt was looked at {} times only: too few", looks.len()));
    }
    let quarter = looks.len() / 4;
    let median = |looks: &[Holdings], of: fn(&Holdings) -> u64| {
        let mut values: Vec<u64> = looks.iter().map(of).collect();
        values.sort_unstable();
        values[values.len() / 2]
    };
    let (early, late) = (&looks[quarter..2 * quarter], &looks[looks.len() - quarter..]);
    let of = |of: fn(&Holdings) -> u64| (median(early, of), median(late, of));
    let (memory, files, threads) =
        (of(|look| look.kilobytes), of(|look| look.files), of(|look| look.threads));
    println!(
        "the hunt, second quarter of its time and last ({} looks): {} and {} MB, {} and {} open files, {} and {} threads",
        looks.len(),
        memory.0 / 1024,
        memory.1 / 1024,
        files.0,
        files.1,
        threads.0,
        threads.1
    );
    match files.1 > files.0 + MOST_MORE || threads.1 > threads.0 + MOST_MORE || memory.1 > 4 * memory.0 {
        true => Err("the hunt holds more and more".to_owned()),
        false => Ok(()),
    }
}

/// A process that is killed when it is no longer wanted.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Result<Running, String> {
        let child = command.stdin(Stdio::null()).spawn();
        child.map(Running).map_err(|error| format!("cannot run {:?}: {error}", command.get_program()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
