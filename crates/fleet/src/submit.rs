//! `foretell fleet submit`: a hunt, split into jobs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use foretell::commands::Hunt;
use foretell::diagnostics::Diagnostic;
use foretell::exit::Exit;
use foretell::observer::TerminalObserver;
use foretell::quantity::seconds;
use foretell::table::counted;
use foretell::{interrupts, output, progress};
use pipeline::suite::{Hunter, Plan, Shard, SuiteOptions, plan};
use report::TestOutcome;

use crate::bundle::Bundle;
use crate::campaign::{Announcement, Campaign, Job, now};
use crate::connection::Connection;
use crate::digest::Digest;
use crate::fleet::{Fleet, Outgoing};
use crate::streams::{CAMPAIGNS, JOBS, subject};

const EXAMPLES: &str = "\
Runs the command once as it is, as `foretell test` does: every program under it
that is built for recording is a test. Each test is a bundle: the program, its
shared libraries beyond the C library, and the files named with --input. Bundles
are stored by their content, so the second time there is nothing to upload.

With --seeds N each test is N jobs, each a recording with another order of the
threads that is searched and replayed. Without it each test is one whole hunt.

Examples:
  foretell fleet submit --seeds 200 -- ./tests/queue_test
  foretell fleet submit --seeds 50 --targets -- ctest --test-dir build
  foretell fleet submit --input data/accounts.txt -- ./bank data/accounts.txt

Prints the name of the campaign.";

/// Submit a hunt: a program or a whole test command, split into jobs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Submit {
    #[command(flatten)]
    connection: Connection,
    /// Hunt in each test with N seeds, each a job.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Go on to what reads could see and no run has shown: each such pair of a read and a write becomes a job for all.
    #[arg(long)]
    targets: bool,
    /// Stop each job after N seconds, with what was found by then.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    timeout: Duration,
    /// A file that the programs read, by its path from the directory they run in; may be repeated.
    #[arg(long = "input", value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// A variable of ours that the programs need, or NAME=VALUE; may be repeated.
    #[arg(long = "env", value_name = "NAME")]
    variables: Vec<String>,
    /// Hunt in each case of a GoogleTest, Catch2, libtest or Criterion program by itself.
    #[arg(long)]
    split: bool,
    /// More options for each hunt, such as '--only deadlock'.
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    hunt: String,
    /// The program, or the test command.
    #[arg(last = true, value_name = "CMD", required = true)]
    command: Vec<OsString>,
}

impl Submit {
    /// Plans, stores the bundles, and publishes the jobs.
    pub(crate) async fn run(self) -> Result<Exit, Diagnostic> {
        Hunt::check_for_workers(&self.hunt_options())?;
        let fleet = Fleet::connect(&self.connection).await?;
        let mut observer = TerminalObserver::new(foretell::mode::OutputMode::default());
        let mut planned = plan(&self.options(), &mut observer)?;
        self.add_variables(&mut planned)?;
        set_aside_late_loaders(&mut planned);
        let mut bundles = Vec::new();
        for test in &planned.tests {
            bundles.push(match test.outcome {
                TestOutcome::NotReached => Some(Bundle::store(&fleet, test, &self.inputs).await?),
                _ => None,
            });
        }
        if bundles.iter().all(Option::is_none) {
            return Err(Diagnostic::new(
                "no program under the command creates threads: there is nothing to hunt in",
            ));
        }
        let campaign = Campaign {
            id: Campaign::new_id(),
            submitted: now(),
            plan: planned,
            bundles,
            seeds: self.seeds,
            targets: self.targets,
            timeout: self.timeout.as_secs_f64().ceil() as u64,
            hunt: self.hunt_options(),
        };
        let jobs = publish(&fleet, &campaign).await?;
        let tests = campaign.bundles.iter().flatten().count();
        progress::say(&format!(
            "submitted {} in {}; `foretell fleet status {id}` shows them, `foretell fleet \
             collect {id}` what they found",
            counted(jobs, "job"),
            counted(tests as u64, "test"),
            id = campaign.id
        ));
        output::print(&format!("{}\n", campaign.id))?;
        Ok(Exit::Nothing)
    }

    fn options(&self) -> SuiteOptions {
        interrupts::heed();
        SuiteOptions {
            command: self.command.clone(),
            results: PathBuf::new(),
            hunter: Hunter { program: PathBuf::new(), arguments: Vec::new() },
            timeout: Duration::ZERO,
            workers: 1,
            seeds: 1,
            split: self.split,
            shard: Shard::WHOLE,
            resume: false,
            cancellation: interrupts::cancellation(),
        }
    }

    fn hunt_options(&self) -> Vec<OsString> {
        let own: Vec<OsString> = self.hunt.split_whitespace().map(OsString::from).collect();
        let is_chosen = self.hunt.split_whitespace().any(|word| word.starts_with(Hunter::OF_A_SEED[0]));
        let by_seed = (self.seeds > 1 || self.targets) && !is_chosen;
        let by_seed = Hunter::OF_A_SEED.iter().filter(|_| by_seed).map(OsString::from);
        by_seed.chain(own).collect()
    }

    /// Has the tests know the variables that were asked for.
    fn add_variables(&self, plan: &mut Plan) -> Result<(), Diagnostic> {
        for asked in &self.variables {
            let (name, value) = match asked.split_once('=') {
                Some((name, value)) => (OsString::from(name), Some(OsString::from(value))),
                None => (OsString::from(asked), std::env::var_os(asked)),
            };
            let Some(value) = value else {
                return Err(Diagnostic::new(format!("there is no variable `{asked}` here")));
            };
            for test in &mut plan.tests {
                test.variables.retain(|(known, _)| *known != name);
                test.variables.push((name.clone(), value.clone()));
            }
        }
        Ok(())
    }
}

/// Stores a campaign, announces it, and puts its jobs into the queue; how many there are.
pub(crate) async fn publish(fleet: &Fleet, campaign: &Campaign) -> Result<u64, Diagnostic> {
    let content = serde_json::to_vec(campaign).map_err(|error| Diagnostic::new(error.to_string()))?;
    let described_in = fleet.store("campaign", &content, false).await?.digest;
    let jobs = campaign.jobs(&described_in);
    let announcement = Announcement {
        id: campaign.id.clone(),
        submitted: campaign.submitted,
        command: campaign.plan.command_in_words(),
        jobs: jobs.len() as u64,
        campaign: described_in,
        cancelled: false,
    };
    let named = subject(CAMPAIGNS, &[&campaign.id]);
    fleet.publish(Outgoing::new(named, campaign.id.clone(), &announcement)?).await?;
    let messages = jobs.iter().map(job_message).collect::<Result<Vec<Outgoing>, Diagnostic>>()?;
    fleet.publish_all(messages).await
}

/// A job as the queue has it.
pub(crate) fn job_message(job: &Job) -> Result<Outgoing, Diagnostic> {
    Outgoing::new(subject(JOBS, &[&job.campaign, &job.name()]), job.id(), job)
}

/// The digest of a test's name: part of subjects.
pub(crate) fn test_key(name: &str) -> String {
    Digest::of(name.as_bytes()).short().to_owned()
}

/// What a program loads while it runs cannot be told beforehand, so it would not be in its bundle.
fn set_aside_late_loaders(plan: &mut Plan) {
    let late = plan.tests.iter_mut().filter(|test| test.only_sync && test.outcome == TestOutcome::NotReached);
    for test in late {
        test.outcome = TestOutcome::Error;
        test.message = Some(
            "it is not instrumented itself, and loads its libraries late: use `foretell test`".to_owned(),
        );
    }
}
