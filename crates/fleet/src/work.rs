//! `foretell fleet work`: takes jobs, hunts, and stores what was found.
//!
//! A job is acknowledged last: after its files, its findings, the targets it has found and its result are stored. Whatever happens before that,
//! the server gives the job to another worker, and what was stored twice is kept once.

pub(crate) mod hunter;
mod keep;
mod tally;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::jetstream::{AckKind, Message};
use clap::Args;
use foretell::diagnostics::Diagnostic;
use foretell::exit::Exit;
use foretell::quantity::bytes;
use foretell::table::counted;
use foretell::{output, progress};
use futures_util::StreamExt;
use futures_util::future::join_all;
use run::Cancellation;
use run::job::{Confinement, User};
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};

use crate::cache::Cache;
use crate::campaign::{DeadJob, Job};
use crate::connection::Connection;
use crate::fleet::{Fleet, Outgoing, failed, host, parsed};
use crate::streams::{self, CALLED_OFF, DEAD, JOBS, ROLL_CALL, subject};
use hunter::{Hunted, Hunter, ProgramHunter};
use tally::Tally;

/// A job that was begun so often without success is set aside.
const MOST_ATTEMPTS: i64 = 5;
/// How long to wait for a job before asking again.
const WAIT: Duration = Duration::from_secs(5);
/// How often storing is tried, a second apart: hunting again would take longer.
const MOST_TRIES: u32 = 60;

const EXAMPLES: &str = "\
Takes jobs until it is stopped. Each job runs in an empty directory, with limits
on memory, processes, time and file size; a worker that root starts runs jobs as
another user. Only programs whose digests are verified are run.

Examples:
  foretell fleet work --nats nats://server:4222
  foretell fleet work --jobs 16 --creds worker.creds
  foretell fleet work --drain           exit when the queue is empty";

/// Take jobs, hunt, and store what was found.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Work {
    #[command(flatten)]
    connection: Connection,
    /// How many jobs to run at the same time [default: the number of cores].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Exit when the queue is empty and every job is done.
    #[arg(long)]
    drain: bool,
    /// Where to keep programs and the directories of jobs [default: ~/.cache/foretell-fleet, /var/cache/foretell-fleet for root].
    #[arg(long, value_name = "DIRECTORY")]
    cache: Option<PathBuf>,
    /// The user that runs the jobs if root starts the worker: a name or a number.
    #[arg(long, value_name = "USER", default_value = "nobody")]
    run_as: String,
    /// How much memory each process of a job may use.
    #[arg(long, value_name = "BYTES", default_value = "8G", value_parser = bytes)]
    max_memory: u64,
    /// How many processes and threads the user of the jobs may have.
    #[arg(long, value_name = "N", default_value_t = 4096)]
    max_processes: u64,
    /// How large a file of a job may be.
    #[arg(long, value_name = "BYTES", default_value = "2G", value_parser = bytes)]
    max_file_size: u64,
    /// After this number of seconds without a sign of life of its worker, a job goes to another one.
    #[arg(long, value_name = "N", default_value_t = 30, hide = true)]
    patience: u64,
    /// Do not print a line for each job.
    #[arg(short, long)]
    quiet: bool,
    /// Print what the time was spent on, as JSON, at the end.
    #[arg(long, hide = true)]
    figures: bool,
}

impl Work {
    /// Works until it is ended.
    pub(crate) async fn run(self) -> Result<Exit, Diagnostic> {
        let fleet = Fleet::connect(&self.connection).await?;
        let user = self.job_user()?;
        let cache = Cache::open(&self.cache.clone().unwrap_or_else(default_cache), user)?;
        let confinement = Confinement {
            memory: self.max_memory,
            processes: self.max_processes,
            file_size: self.max_file_size,
            // Each job has its own, by its time.
            processor_time: Duration::MAX,
            user,
        };
        let slots = self.jobs.map_or_else(cores, usize::from);
        let hunter = ProgramHunter::new(cache, confinement)?;
        let patience = Duration::from_secs(self.patience);
        let worker = Worker::start(fleet, hunter, patience, self.drain, self.quiet).await?;
        if !self.quiet {
            worker.say(&format!("{} at a time", counted(slots as u64, "job")));
        }
        worker.work(slots).await;
        if !self.quiet {
            worker.say(&worker.tally.sentence());
        }
        if self.figures {
            output::print_json(&worker.tally.figures())?;
        }
        Ok(Exit::Nothing)
    }

    /// Who jobs run as, if that is another than we.
    fn job_user(&self) -> Result<Option<User>, Diagnostic> {
        if !run::job::are_root() {
            return Ok(None);
        }
        let found = User::named(&self.run_as).map_err(|error| {
            Diagnostic::from_io("look up", &format!("the user `{}`", self.run_as), &error)
        })?;
        match found {
            Some(User { user: 0, .. }) => {
                Err(Diagnostic::new("jobs do not run as root").help("name another user with `--run-as`"))
            }
            Some(user) => Ok(Some(user)),
            None => Err(Diagnostic::new(format!("there is no user `{}`", self.run_as))
                .help("name the user that jobs run as with `--run-as`")),
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The directory that a worker's cache is in, unless another is named.
fn default_cache() -> PathBuf {
    if run::job::are_root() {
        return PathBuf::from("/var/cache/foretell-fleet");
    }
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    base.unwrap_or_else(std::env::temp_dir).join("foretell-fleet")
}

/// What a worker says when it is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerStatus {
    pub(crate) worker: String,
    /// The campaigns of the jobs that it does.
    pub(crate) running: Vec<String>,
    /// How many it does at the same time.
    pub(crate) slots: u64,
}

/// A worker, whatever it hunts with.
pub(crate) struct Worker<H> {
    fleet: Fleet,
    queue: Consumer<pull::Config>,
    hunter: H,
    name: String,
    patience: Duration,
    /// It ends when the queue is empty.
    drain: bool,
    quiet: bool,
    is_stopping: Cell<bool>,
    /// What is being done.
    running: RefCell<HashMap<u64, (String, Cancellation)>>,
    called_off: RefCell<HashSet<String>>,
    taken: Cell<u64>,
    slots: Cell<u64>,
    tally: Tally,
}

impl<H: Hunter> Worker<H> {
    /// A worker that has not begun.
    pub(crate) async fn start(
        fleet: Fleet,
        hunter: H,
        patience: Duration,
        drain: bool,
        quiet: bool,
    ) -> Result<Worker<H>, Diagnostic> {
        let configuration = streams::workers(patience);
        // All workers share it, and who comes first makes it.
        let queue = fleet.jetstream.create_consumer_on_stream(configuration, JOBS).await.map_err(failed)?;
        let patience = queue.cached_info().config.ack_wait;
        let name = format!("{}-{}", host(), std::process::id());
        Ok(Worker {
            fleet,
            queue,
            hunter,
            name,
            patience,
            drain,
            quiet,
            is_stopping: Cell::new(false),
            running: RefCell::default(),
            called_off: RefCell::default(),
            taken: Cell::new(0),
            slots: Cell::new(0),
            tally: Tally::default(),
        })
    }

    /// Works with this number of jobs at a time.
    pub(crate) async fn work(&self, slots: usize) {
        self.slots.set(slots as u64);
        let slots = join_all((0..slots).map(|_| self.slot()));
        tokio::select! {
            _ = slots => {}
            // Neither ends by itself.
            () = self.answer() => {}
            () = self.heed_calls() => {}
            () = self.heed_signals() => {}
        }
    }

    /// One job after the other.
    async fn slot(&self) {
        while !self.is_stopping.get() {
            let asked = Instant::now();
            match self.next().await {
                Ok(Some(message)) => {
                    self.tally.arrived(asked.elapsed());
                    self.take(&message).await;
                }
                Ok(None) if self.drain && self.is_queue_empty().await => return,
                Ok(None) => {}
                Err(error) => {
                    self.say(&format!("cannot take a job: {}", error.title()));
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    async fn next(&self) -> Result<Option<Message>, Diagnostic> {
        let wait = if self.drain { Duration::from_millis(500) } else { WAIT };
        let batch = self.queue.batch().max_messages(1).expires(wait);
        let mut messages = batch.messages().await.map_err(failed)?;
        messages.next().await.transpose().map_err(failed)
    }

    async fn is_queue_empty(&self) -> bool {
        matches!(self.fleet.undone().await, Ok(Some(0)))
    }

    /// Does a job. Whatever is not acknowledged comes again.
    async fn take(&self, message: &Message) {
        let attempts = message.info().map_or(1, |info| info.delivered);
        let job = parsed::<Job>(&message.payload).ok().filter(Job::is_well_formed);
        let done = match job {
            Some(job) if attempts > MOST_ATTEMPTS => {
                self.bury(message, &job, "its worker was lost each time", attempts - 1).await
            }
            Some(job) => self.do_job(message, &job, attempts).await,
            None => {
                self.say("a message in the queue is not a job: it is dropped");
                message.ack_with(AckKind::Term).await.map_err(failed)
            }
        };
        if let Err(error) = done {
            self.say(&format!("{}; the job will come again", error.title()));
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    async fn do_job(&self, message: &Message, job: &Job, attempts: i64) -> Result<(), Diagnostic> {
        let (number, cancellation) = (self.taken.get(), Cancellation::default());
        self.taken.set(number + 1);
        self.running.borrow_mut().insert(number, (job.campaign.clone(), cancellation.clone()));
        let started = Instant::now();
        let hunted = self.alive(message, self.hunter.hunt(&self.fleet, job, cancellation)).await;
        self.running.borrow_mut().remove(&number);
        if self.called_off.borrow().contains(&job.campaign) {
            return message.double_ack().await.map_err(failed);
        }
        if self.is_stopping.get() {
            // Another one can take it at once.
            return message.ack_with(AckKind::Nak(None)).await.map_err(failed);
        }
        match hunted {
            Ok(hunted) => {
                self.finish(message, job, attempts, &hunted, started.elapsed()).await?;
                let hunting = hunted.time;
                drop(hunted);
                self.tally.done(started.elapsed(), hunting);
                Ok(())
            }
            Err(reason) if attempts >= MOST_ATTEMPTS => self.bury(message, job, &reason, attempts).await,
            Err(reason) => {
                self.say(&format!("{}: {reason} (attempt {attempts} of {MOST_ATTEMPTS})", job.id()));
                let pause = Duration::from_millis(200) * (1 << attempts.clamp(1, 8));
                message.ack_with(AckKind::Nak(Some(pause))).await.map_err(failed)
            }
        }
    }

    /// Stores the result of a job, and acknowledges it.
    async fn finish(
        &self,
        message: &Message,
        job: &Job,
        attempts: i64,
        hunted: &Hunted,
        time: Duration,
    ) -> Result<(), Diagnostic> {
        let keeper = keep::Keeper { fleet: &self.fleet, job, worker: &self.name, attempts, time };
        let stored = async {
            let mut tries = 0;
            loop {
                tries += 1;
                match keeper.keep(hunted).await {
                    Ok(()) => return Ok(()),
                    Err(error) if tries >= MOST_TRIES => return Err(error),
                    Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
                }
            }
        };
        self.alive(message, stored).await?;
        if !self.quiet {
            let findings = match hunted.findings.len() {
                0 => "nothing found".to_owned(),
                1 => "1 finding".to_owned(),
                many => format!("{many} findings"),
            };
            let test = report::printable(&hunted.test);
            progress::say(&format!("{test} ({}): {findings} ({:.1} s)", job.name(), time.as_secs_f64()));
        }
        message.double_ack().await.map_err(failed)
    }

    /// Sets a job aside that failed too often.
    async fn bury(
        &self,
        message: &Message,
        job: &Job,
        reason: &str,
        attempts: i64,
    ) -> Result<(), Diagnostic> {
        let test = self.hunter.test_name(&self.fleet, job).await;
        self.say(&format!("{test} ({}) is set aside after {attempts} attempts: {reason}", job.name()));
        let (job, reason, worker) = (job.clone(), reason.to_owned(), self.name.clone());
        let (named, id) = (subject(DEAD, &[&job.campaign, &job.name()]), job.id());
        let dead = DeadJob { job, test, reason, attempts, worker };
        self.fleet.publish(Outgoing::new(named, id, &dead)?).await?;
        message.double_ack().await.map_err(failed)
    }

    /// Waits for something, and tells the server meanwhile that the job is under way.
    async fn alive<T>(&self, message: &Message, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = tokio::time::sleep(self.patience / 3) => {
                    // If it does not arrive, the job goes to another worker, and its result is kept once.
                    let _ = message.ack_with(AckKind::Progress).await;
                }
            }
        }
    }

    /// Answers those who ask what is being done.
    async fn answer(&self) {
        let Ok(mut asked) = self.fleet.client.subscribe(ROLL_CALL).await else {
            return std::future::pending().await;
        };
        while let Some(question) = asked.next().await {
            let running = self.running.borrow().values().map(|(campaign, _)| campaign.clone()).collect();
            let roll = WorkerStatus { worker: self.name.clone(), running, slots: self.slots.get() };
            if let (Some(to), Ok(answer)) = (question.reply, serde_json::to_vec(&roll)) {
                // Who asked may have gone.
                let _ = self.fleet.client.publish(to, answer.into()).await;
            }
        }
        std::future::pending().await
    }

    /// Ends jobs of campaigns that are called off.
    async fn heed_calls(&self) {
        let Ok(mut calls) = self.fleet.client.subscribe(CALLED_OFF).await else {
            return std::future::pending().await;
        };
        while let Some(call) = calls.next().await {
            let campaign = String::from_utf8_lossy(&call.payload).into_owned();
            let running = self.running.borrow();
            running.values().filter(|(of, _)| *of == campaign).for_each(|(_, job)| {
                job.cancel();
            });
            self.called_off.borrow_mut().insert(campaign);
        }
        std::future::pending().await
    }

    /// Ends in order when it is asked to: jobs go back to the queue.
    async fn heed_signals(&self) {
        let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
        let [Ok(mut interrupt), Ok(mut terminate)] = signals else { return std::future::pending().await };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        self.is_stopping.set(true);
        self.running.borrow().values().for_each(|(_, job)| {
            job.cancel();
        });
        // Slots that wait for a job have none to give back; the others give theirs back as soon as their hunts have ended.
        while !self.running.borrow().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        let _ = self.fleet.client.flush().await;
    }

    /// Says something about a job or itself. Names and reasons are those of submitted programs.
    fn say(&self, what: &str) {
        progress::say(&format!("{}: {}", self.name, report::printable(what)));
    }
}
