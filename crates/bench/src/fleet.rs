//! `cargo xtask bench fleet`: what the queue costs, with a real nats-server on loopback.
//!
//! `FORETELL_FLEET` names another build of `foretell-fleet` than the release build.

use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use xtask::Outcome;
use xtask::cargo::{cargo, root};
use xtask::machine::circumstances;
use xtask::results::store_report;
use xtask::scratch::with_directory;

use crate::search::cpu_of_children;

/// Jobs of the comparison with one machine.
const SEEDS: u64 = 100;
/// Tiny jobs through the queue.
const TINY: u64 = 100_000;
/// The bundle.
const MEGABYTES: usize = 200;
/// The numbers of workers that are simulated, each with jobs that take a second on average.
const SIMULATED: [u64; 4] = [10, 100, 300, 1_000];
/// Jobs for each of them.
const JOBS_EACH: u64 = 20;

/// Ticks of the kernel's clock in a second.
const TICKS: f64 = 100.0;

pub(crate) fn run() -> Outcome {
    let fleet = match std::env::var_os("FORETELL_FLEET") {
        Some(path) => {
            PathBuf::from(path).canonicalize().map_err(|error| format!("FORETELL_FLEET: {error}"))?
        }
        None => {
            cargo(&["build", "--release", "--package", "foretell-fleet"])?;
            let this =
                std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
            this.with_file_name("foretell-fleet")
        }
    };
    let mut section = String::from("## Fleet\n\n");
    section.push_str(&circumstances());
    section.push_str("\n`cargo xtask bench fleet`: nats-server with file storage on loopback, workers on the same machine.\n\n");
    for part in [against_one_machine, tiny_jobs, large_bundle, simulation] {
        section.push_str(&with_directory(|place| {
            // Jobs of a worker that root starts run as another user.
            let open = fs::set_permissions(place, fs::Permissions::from_mode(0o755));
            open.map_err(|error| error.to_string())?;
            part(&Bench { fleet: &fleet, place, server: Server::start(place)? })
        })?);
    }
    print!("{section}");
    let headline = section.lines().find(|line| line.starts_with("The queue costs")).unwrap_or("?");
    store_report("fleet", headline.trim_end_matches('.'), &section)
}

/// A server; gone with the value.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start(place: &Path) -> Result<Server, String> {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = port.map_err(|error| error.to_string())?.port();
        let mut server = Command::new("nats-server");
        server.args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(place.join("nats"));
        let process = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = process.map_err(|error| format!("nats-server: {error}; run `cargo xtask setup`"))?;
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() && started.elapsed() < Duration::from_secs(20)
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Server { process, url: format!("nats://127.0.0.1:{port}") })
    }

    fn peak_memory_mb(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.unwrap_or(0) / 1024
    }
}

impl Server {
    /// The processor time that it has taken so far, in seconds.
    fn cpu(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap_or_default();
        // The name of the program, which may have spaces, is in brackets.
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default().split_whitespace();
        fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Bench<'a> {
    fleet: &'a Path,
    place: &'a Path,
    server: Server,
}

impl Bench<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.fleet);
        command.args(arguments).current_dir(self.place).env("NATS_URL", &self.server.url);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// What a command prints, and how long it takes; its status must be one of these.
    fn timed(&self, arguments: &[&str], statuses: &[i32]) -> Result<(String, f64), String> {
        let started = Instant::now();
        let output = self.command(arguments).output().map_err(|error| error.to_string())?;
        let seconds = started.elapsed().as_secs_f64();
        match output.status.code() {
            Some(code) if statuses.contains(&code) => {
                Ok((String::from_utf8_lossy(&output.stdout).into_owned(), seconds))
            }
            _ => Err(format!("`foretell-fleet {}` failed: {:?}", arguments.join(" "), output.status)),
        }
    }

    fn build(&self) -> Result<(), String> {
        let source = root().join("corpus/pairs/mutex_counter_bug.c").display().to_string();
        self.timed(&["cc", "-g", "-O1", "-pthread", &source, "-o", "counter"], &[0]).map(drop)
    }

    /// Has workers with one job at a time do all that is in the queue; how long that takes.
    fn drained_by(&self, workers: usize) -> Result<f64, String> {
        let started = Instant::now();
        let start =
            |_| self.command(&["work", "--drain", "--jobs", "1", "--cache", "cache", "--quiet"]).spawn();
        let workers: Vec<Child> =
            (0..workers).map(start).collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        for mut worker in workers {
            worker.wait().map_err(|error| error.to_string())?;
        }
        Ok(started.elapsed().as_secs_f64())
    }

    fn simulated(&self, arguments: &[&str]) -> Result<Value, String> {
        let (printed, _) = self.timed(&[&["simulate"], arguments].concat(), &[0])?;
        serde_json::from_str(&printed).map_err(|error| error.to_string())
    }
}

/// What some work costs: seconds on the clock, and of the processor, of the server apart.
struct Cost {
    seconds: f64,
    cpu: f64,
    server: f64,
}

impl Bench<'_> {
    fn cost(&self, work: impl FnOnce() -> Result<(), String>) -> Result<Cost, String> {
        let (cpu, server, started) = (cpu_of_children()?, self.server.cpu(), Instant::now());
        work()?;
        let seconds = started.elapsed().as_secs_f64();
        Ok(Cost { seconds, cpu: cpu_of_children()? - cpu, server: self.server.cpu() - server })
    }
}

/// The same jobs without a server, with one worker, and with two.
fn against_one_machine(bench: &Bench<'_>) -> Result<String, String> {
    bench.build()?;
    let seeds = SEEDS.to_string();
    let alone = ["test", "--jobs", "1", "--seeds", &seeds, "--timeout", "3000", "--quiet", "--", "./counter"];
    let submit = ["submit", "--seeds", &seeds, "--", "./counter"];
    let alone = bench.cost(|| bench.timed(&alone, &[0, 1]).map(drop))?;
    let submitted = bench.cost(|| bench.timed(&submit, &[0]).map(drop))?;
    let one = bench.cost(|| bench.drained_by(1).map(drop))?;
    bench.timed(&submit, &[0])?;
    let two = bench.cost(|| bench.drained_by(2).map(drop))?;
    let each = |seconds: f64| seconds * 1000.0 / SEEDS as f64;
    let mut text = format!(
        "{SEEDS} seeds of corpus/pairs/mutex_counter_bug.c (each a recording, a search and the replays of what it found):\n\n\
         | | seconds | CPU ms a job | the server's CPU ms a job |\n|---|--:|--:|--:|\n"
    );
    let rows = [
        ("`foretell test --jobs 1`, no server", &alone),
        ("submitting", &submitted),
        ("one worker", &one),
        ("two workers", &two),
    ];
    for (name, cost) in rows {
        let _ = writeln!(
            text,
            "| {name} | {:.1} | {:.1} | {:.1} |",
            cost.seconds,
            each(cost.cpu),
            each(cost.server)
        );
    }
    let _ = writeln!(
        text,
        "\nThe queue costs {:.1} ms of CPU time a job beyond the hunt itself ({:.1} of the worker, {:.1} of the server); two workers are \
         {:.2} times as fast as one.\n",
        each(one.cpu + one.server - alone.cpu),
        each(one.cpu - alone.cpu),
        each(one.server),
        one.seconds / two.seconds
    );
    Ok(text)
}

/// Jobs that do nothing.
fn tiny_jobs(bench: &Bench<'_>) -> Result<String, String> {
    let jobs = TINY.to_string();
    let figures = bench.simulated(&["--jobs", &jobs, "--workers", "8", "--findings", "50"])?;
    Ok(format!(
        "{TINY} jobs that do nothing, 8 workers in one process: submitted at {:.0} a second, done at {:.0} a second; every third reports \
         one of 50 findings, {} are kept. Peak memory of the server {} MB, of the workers {} MB.\n\n",
        figures["submitted_per_second"].as_f64().unwrap_or(0.0),
        figures["jobs_per_second"].as_f64().unwrap_or(0.0),
        figures["findings"],
        bench.server.peak_memory_mb(),
        figures["peak_memory_mb"]
    ))
}

/// A program with a large input.
fn large_bundle(bench: &Bench<'_>) -> Result<String, String> {
    bench.build()?;
    let mut state = 1u64;
    let random = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    let content: Vec<u8> = (0..MEGABYTES * 1_000_000).map(random).collect();
    fs::write(bench.place.join("large"), content).map_err(|error| error.to_string())?;
    let submit = ["submit", "--input", "large", "--hunt", "--rounds 1", "--", "./counter"];
    let (_, first) = bench.timed(&submit, &[0])?;
    let (_, second) = bench.timed(&submit, &[0])?;
    let fetched = bench.drained_by(1)?;
    Ok(format!(
        "A bundle of {MEGABYTES} MB: submitted in {first:.1} s the first time, {second:.1} s the second (it is there already); a new worker \
         has fetched and verified it and done both jobs after {fetched:.1} s. Peak memory of the server {} MB.\n\n",
        bench.server.peak_memory_mb()
    ))
}

/// Many workers without programs.
fn simulation(bench: &Bench<'_>) -> Result<String, String> {
    let mut table = String::from(
        "Simulated workers, each with a connection of its own; jobs take a second on average (most less, a few much more), 1 % fail, 0.1 % \
         lose their worker (after five seconds another has the job):\n\n\
         | workers | jobs | seconds | jobs a second | if the queue took no time | done | set aside | begun again | server MB |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for workers in SIMULATED {
        let jobs = (workers * JOBS_EACH).to_string();
        let workers = workers.to_string();
        let options = ["--failing", "10", "--vanishing", "1", "--findings", "50", "--time", "1000"];
        let figures = bench.simulated(&[&["--workers", &workers, "--jobs", &jobs], &options[..]].concat())?;
        let number = |key: &str| figures[key].as_f64().unwrap_or(0.0);
        let _ = writeln!(
            table,
            "| {workers} | {jobs} | {:.1} | {:.0} | {:.0} | {} | {} | {} | {} |",
            number("seconds"),
            number("jobs_per_second"),
            number("ideal_per_second"),
            figures["done"],
            figures["failed"],
            figures["done_after_another_attempt"],
            bench.server.peak_memory_mb()
        );
    }
    table.push('\n');
    Ok(table)
}
