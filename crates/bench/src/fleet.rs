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

/// How often hunts are run directly and through the queue by turns, and with how many seeds each time.
const TURNS: u64 = 5;
const SEEDS: u64 = 8;
/// The seconds that a job may take.
const JOB_TIME: &str = "60";
/// Tiny jobs through the queue.
const TINY: u64 = 100_000;
/// The bundle.
const MEGABYTES: usize = 200;
/// How many workers are simulated, and how many milliseconds their jobs take on average.
const SIMULATED: [(u64, u64); 5] = [(10, 1_000), (100, 1_000), (300, 1_000), (1_000, 1_000), (1_000, 100)];
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
    let build = match std::env::var_os("FORETELL_FLEET") {
        Some(_) => "the build that FORETELL_FLEET names",
        None => "a release build",
    };
    let _ = writeln!(
        section,
        "\n`cargo xtask bench fleet` with {build}: nats-server with file storage on loopback, workers on the same machine.\n"
    );
    for part in [cost_of_a_job, tiny_jobs, large_bundle, simulation] {
        section.push_str(&with_directory(|place| {
            // Jobs of a worker that root starts run as another user.
            let open = fs::set_permissions(place, fs::Permissions::from_mode(0o755));
            open.map_err(|error| error.to_string())?;
            part(&Bench { fleet: &fleet, place, server: Server::start(place)? })
        })?);
    }
    print!("{section}");
    let headline = section.lines().find(|line| line.starts_with("A job costs")).unwrap_or("?");
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

/// Where the time of jobs has gone, summed over all of them.
#[derive(Default)]
struct Series {
    jobs: f64,
    /// On the clock, in hunts.
    hunting: f64,
    /// On the clock, from when jobs arrived until they were acknowledged.
    doing: f64,
    /// On the clock, from asking for jobs to their arrival.
    asking: f64,
    /// Of the processor, in hunts and all they started.
    hunts_cpu: f64,
    /// Of the processor, in the worker itself.
    worker_cpu: f64,
    /// Of the processor, in the server.
    server_cpu: f64,
}

impl Series {
    fn each(&self, seconds: f64) -> f64 {
        seconds * 1000.0 / self.jobs
    }
}

impl Bench<'_> {
    /// Hunts as jobs do, without a worker: with these seeds, each in a fresh directory.
    fn hunt_directly(&self, seeds: u64, into: &mut Series) -> Result<(), String> {
        for seed in 0..seeds {
            let directory = self.place.join("direct");
            fs::create_dir(&directory).map_err(|error| error.to_string())?;
            let (cpu, started, seed) = (cpu_of_children()?, Instant::now(), seed.to_string());
            let hunt = ["hunt", "--quiet", "--rounds", "1", "--seed", &seed, "--timeout", JOB_TIME];
            let results = directory.join("results").display().to_string();
            self.timed(&[&hunt[..], &["--results", &results, "--", "./counter"]].concat(), &[0, 1])?;
            into.hunting += started.elapsed().as_secs_f64();
            into.hunts_cpu += cpu_of_children()? - cpu;
            into.jobs += 1.0;
            fs::remove_dir_all(&directory).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The same as jobs of one worker.
    fn hunt_through_the_queue(&self, seeds: u64, into: &mut Series) -> Result<(), String> {
        // What a worker costs that has nothing to do.
        let idle = self.figures_of_a_worker()?;
        let seeds = seeds.to_string();
        self.timed(&["submit", "--timeout", JOB_TIME, "--seeds", &seeds, "--", "./counter"], &[0])?;
        let server = self.server.cpu();
        let figures = self.figures_of_a_worker()?;
        let number = |figures: &Value, key: &str| figures[key].as_f64().unwrap_or(f64::NAN);
        let own = number(&figures, "own_cpu_seconds");
        into.server_cpu += self.server.cpu() - server;
        into.jobs += number(&figures, "jobs");
        into.hunting += number(&figures, "hunting_seconds");
        into.doing += number(&figures, "doing_seconds");
        into.asking += number(&figures, "waiting_seconds");
        into.worker_cpu += own - number(&idle, "own_cpu_seconds");
        into.hunts_cpu += number(&figures, "all_cpu_seconds") - own;
        Ok(())
    }

    fn figures_of_a_worker(&self) -> Result<Value, String> {
        let work = ["work", "--drain", "--jobs", "1", "--cache", "cache", "--quiet", "--figures"];
        let (printed, _) = self.timed(&work, &[0])?;
        serde_json::from_str(&printed).map_err(|error| error.to_string())
    }
}

/// The same hunts directly and as jobs, by turns, so that both see the same load; then one worker against two.
fn cost_of_a_job(bench: &Bench<'_>) -> Result<String, String> {
    bench.build()?;
    let (mut direct, mut jobs) = (Series::default(), Series::default());
    for _ in 0..TURNS {
        bench.hunt_directly(SEEDS, &mut direct)?;
        bench.hunt_through_the_queue(SEEDS, &mut jobs)?;
    }
    let seeds = (TURNS * SEEDS).to_string();
    let submit = ["submit", "--timeout", JOB_TIME, "--seeds", &seeds, "--", "./counter"];
    let mut drained = [0.0; 2];
    for (workers, seconds) in (1..).zip(&mut drained) {
        bench.timed(&submit, &[0])?;
        *seconds = bench.drained_by(workers)?;
    }
    let besides = jobs.each(jobs.doing - jobs.hunting + jobs.asking);
    let rows = [
        ("the hunt, run directly", direct.each(direct.hunting), direct.each(direct.hunts_cpu)),
        ("the hunt, in a job", jobs.each(jobs.hunting), jobs.each(jobs.hunts_cpu)),
        ("all else that a job costs: asking for it, preparing, storing, acknowledging", besides, {
            jobs.each(jobs.worker_cpu)
        }),
        ("the server, meanwhile", f64::NAN, jobs.each(jobs.server_cpu)),
    ];
    let mut text = format!(
        "{seeds} hunts of corpus/pairs/mutex_counter_bug.c (a recording, a search, and the replays of what was found), in turns of {SEEDS} run \
         directly and {SEEDS} as jobs of one worker; milliseconds for each:\n\n\
         | | on the clock | of the processor |\n|---|--:|--:|\n"
    );
    let shown = |value: f64| if value.is_nan() { String::new() } else { format!("{value:.1}") };
    for (name, clock, cpu) in rows {
        let _ = writeln!(text, "| {name} | {} | {} |", shown(clock), shown(cpu));
    }
    let _ = writeln!(
        text,
        "\nA job costs {besides:.1} ms on the clock besides its hunt, and {:.1} ms of CPU time (worker {:.1}, server {:.1}); {seeds} jobs take one \
         worker {:.1} s and two workers {:.1} s.\n",
        jobs.each(jobs.worker_cpu + jobs.server_cpu),
        jobs.each(jobs.worker_cpu),
        jobs.each(jobs.server_cpu),
        drained[0],
        drained[1]
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
        "Simulated workers, each with a connection of its own, all in one process; the times of jobs vary as in life (most less than the mean, a \
         few much more), 1 % fail, 0.1 % lose their worker (after five seconds another has the job):\n\n\
         | workers | jobs | ms a job | seconds | jobs a second | if the queue took no time | done | set aside | begun again | server MB |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for (workers, time) in SIMULATED {
        let jobs = (workers * JOBS_EACH).to_string();
        let (workers, time) = (workers.to_string(), time.to_string());
        let options = ["--failing", "10", "--vanishing", "1", "--findings", "50", "--time", &time];
        let figures = bench.simulated(&[&["--workers", &workers, "--jobs", &jobs], &options[..]].concat())?;
        let number = |key: &str| figures[key].as_f64().unwrap_or(0.0);
        let _ = writeln!(
            table,
            "| {workers} | {jobs} | {time} | {:.1} | {:.0} | {:.0} | {} | {} | {} | {} |",
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
