//! `foretell-fleet simulate`: workers without programs, to measure the queue: jobs that take a realistic time, some that fail, some whose worker
//! vanishes.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Args;
use foretell::diagnostics::Diagnostic;
use foretell::exit::Exit;
use foretell::output;
use futures_util::future::join_all;
use pipeline::suite::Plan;
use report::Finding;
use run::Cancellation;
use tokio::sync::Notify;

use crate::bundle::{Bundle, StoredFile};
use crate::campaign::{Campaign, Job, JobResult, now};
use crate::connection::Connection;
use crate::digest::Digest;
use crate::fleet::Fleet;
use crate::streams::{DEAD, FINDINGS, RESULTS, subject};
use crate::submit::publish;
use crate::work::Worker;
use crate::work::hunter::{Hunted, Hunter};

/// Measure the queue with workers that run no program.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    #[command(flatten)]
    connection: Connection,
    /// How many workers, each with a connection of its own.
    #[arg(long, value_name = "N", default_value_t = 1)]
    workers: u64,
    /// How many jobs.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    jobs: u64,
    /// How long a job takes on average, in milliseconds; 0: no time at all.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    time: u64,
    /// How many of a thousand jobs fail.
    #[arg(long, value_name = "N", default_value_t = 0)]
    failing: u64,
    /// How many of a thousand jobs lose their worker.
    #[arg(long, value_name = "N", default_value_t = 0)]
    vanishing: u64,
    /// How many different findings there are; every third job has one.
    #[arg(long, value_name = "N", default_value_t = 0)]
    findings: u64,
    /// After this number of seconds a job of a lost worker goes to another one.
    #[arg(long, value_name = "N", default_value_t = 5)]
    patience: u64,
}

impl Simulate {
    /// Submits, works, and prints what was measured as JSON.
    pub(crate) async fn run(self) -> Result<Exit, Diagnostic> {
        let fleet = Fleet::connect(&self.connection).await?;
        let started = Instant::now();
        let campaign = self.campaign();
        let submitted = publish(&fleet, &campaign).await?;
        let submitting = started.elapsed();
        let started = Instant::now();
        let vanished = Cell::new(0);
        let workers = (0..self.workers).map(|number| self.worker(number, &vanished));
        for done in join_all(workers).await {
            done?;
        }
        let working = started.elapsed();
        let of = |stream| subject(stream, &[&campaign.id, ">"]);
        let results: Vec<JobResult> = fleet.read(RESULTS, &of(RESULTS)).await?;
        let again = results.iter().filter(|result| result.attempts > 1).count();
        let figures = serde_json::json!({
            "workers": self.workers,
            "jobs": submitted,
            "submitted_per_second": submitted as f64 / submitting.as_secs_f64(),
            "seconds": working.as_secs_f64(),
            "jobs_per_second": submitted as f64 / working.as_secs_f64(),
            "ideal_per_second": (self.time > 0).then(|| self.workers as f64 * 1000.0 / self.time as f64),
            "done": results.len(),
            "failed": fleet.count(DEAD, &of(DEAD)).await?,
            "findings": fleet.count(FINDINGS, &of(FINDINGS)).await?,
            "done_after_another_attempt": again,
            "vanished_workers": vanished.get(),
            "peak_memory_mb": peak_memory_mb(),
        });
        output::print_json(&figures)?;
        Ok(Exit::Nothing)
    }

    fn campaign(&self) -> Campaign {
        let program =
            StoredFile { name: "simulated".into(), digest: Digest::of(b""), size: 0, executable: true };
        let bundle = Bundle { program, libraries: Vec::new(), inputs: Vec::new(), standard_input: None };
        Campaign {
            id: Campaign::new_id(),
            submitted: now(),
            plan: Plan::new(vec!["simulated".into()]),
            bundles: vec![Some(bundle)],
            seeds: self.jobs,
            targets: false,
            timeout: 60,
            hunt: Vec::new(),
        }
    }

    /// A worker; whenever it vanishes, another one comes.
    async fn worker(&self, number: u64, vanished: &Cell<u64>) -> Result<(), Diagnostic> {
        let mut lives = 0;
        loop {
            let fleet = Fleet::connect(&self.connection).await?;
            let gone = Rc::new(Notify::new());
            lives += 1;
            let hunter = SimulatedHunter {
                time: self.time,
                failing: self.failing,
                vanishing: self.vanishing,
                findings: self.findings,
                random: Cell::new((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ lives),
                gone: gone.clone(),
            };
            let patience = Duration::from_secs(self.patience);
            let worker = Worker::start(fleet, hunter, patience, true, true).await?;
            tokio::select! {
                () = worker.work(1) => return Ok(()),
                () = gone.notified() => vanished.set(vanished.get() + 1),
            }
        }
    }
}

/// Takes its time, and finds what chance has it find.
struct SimulatedHunter {
    time: u64,
    failing: u64,
    vanishing: u64,
    findings: u64,
    random: Cell<u64>,
    gone: Rc<Notify>,
}

impl SimulatedHunter {
    fn random(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x >> 11
    }
}

impl Hunter for SimulatedHunter {
    async fn hunt(&self, _: &Fleet, job: &Job, _: Cancellation) -> Result<Hunted, String> {
        if self.time > 0 {
            // Most are short, a few are long.
            let uniform = (self.random() % 1_000_000 + 1) as f64 / 1_000_000.0;
            tokio::time::sleep(Duration::from_secs_f64(-uniform.ln() * self.time as f64 / 1000.0)).await;
        }
        if self.random() % 1000 < self.vanishing {
            self.gone.notify_one();
            std::future::pending::<()>().await;
        }
        if self.random() % 1000 < self.failing {
            return Err("simulated failure".to_owned());
        }
        let findings = match self.findings {
            0 => Vec::new(),
            findings if job.seed.is_multiple_of(3) => vec![simulated_finding(self.random() % findings)?],
            _ => Vec::new(),
        };
        Ok(Hunted {
            test: "simulated".into(),
            counted: None,
            findings,
            step: None,
            run: None,
            time: Duration::ZERO,
        })
    }

    async fn test_name(&self, _: &Fleet, _: &Job) -> String {
        "simulated".to_owned()
    }
}

fn simulated_finding(number: u64) -> Result<Finding, String> {
    let value = serde_json::json!({
        "id": "race-1", "kind": "race", "rung": "confirmed", "guaranteed": true, "events": [1, 2],
        "object": format!("variable_{}", (b'a' + (number % 26) as u8) as char),
        "locations": [format!("simulated.c:{number}"), "simulated.c:1"], "count": 1,
        "question": { "race": [1, 2] }, "schedule": []
    });
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn peak_memory_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes / 1024)
}
