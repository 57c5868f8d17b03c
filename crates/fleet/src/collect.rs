//! `foretell fleet collect`: one report of what all workers found.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use console::Term;
use foretell::diagnostics::Diagnostic;
use foretell::exit::Exit;
use pipeline::saved;
use pipeline::suite::{LATEST, Plan, Test};
use report::TestOutcome;

use crate::bundle::StoredFile;
use crate::cache::plain_name;
use crate::campaign::{Announcement, Campaign, DeadJob, FoundFinding, Job, JobResult};
use crate::connection::Connection;
use crate::fleet::Fleet;
use crate::live::Live;
use crate::status::{Overview, Rates, progress, worker_statuses};
use crate::streams::{DEAD, FINDINGS, RESULTS, subject};

const EXAMPLES: &str = "\
The report and the directory are like those of `foretell test`: `foretell
report`, `show` and `replay` accept the directory. Options after `--` go to
`foretell merge`.

Examples:
  foretell fleet collect --wait -o all
  foretell fleet collect 1f3a90c2 -o all -- --sarif bugs.sarif --json
  foretell replay all race-1 -- ./tests/queue_test

Exit status: as for `foretell test`.";

/// Between two looks at the queue.
const PAUSE: Duration = Duration::from_millis(500);

/// Collect all findings into one report.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Collect {
    #[command(flatten)]
    connection: Connection,
    /// The campaign [default: the last].
    #[arg(value_name = "CAMPAIGN")]
    campaign: Option<String>,
    /// Where to keep the result.
    #[arg(short, long, value_name = "DIRECTORY", default_value = ".foretell/collected")]
    output: PathBuf,
    /// Wait until no job is left.
    #[arg(long)]
    wait: bool,
    /// Options of `foretell merge`.
    #[arg(last = true, value_name = "OPTIONS")]
    report: Vec<OsString>,
}

impl Collect {
    /// Fetches the results, and reports them as one suite.
    pub(crate) async fn run(self) -> Result<Exit, Diagnostic> {
        let fleet = Fleet::connect(&self.connection).await?;
        let announced = fleet.announced(self.campaign.as_deref()).await?;
        if self.wait {
            wait_until_over(&fleet, &announced).await?;
        }
        let campaign = fleet.campaign(&announced.campaign).await?;
        let suite =
            tempfile::tempdir().map_err(|error| Diagnostic::from_io("create", "a directory", &error))?;
        Collection::of(&fleet, &campaign, &announced.campaign).await?.write(&fleet, suite.path()).await?;
        let this =
            std::env::current_exe().map_err(|error| Diagnostic::from_io("find", "this program", &error))?;
        let mut merge = Command::new(this);
        merge.arg("merge").arg("-o").arg(&self.output).args(&self.report).arg(suite.path());
        let status =
            merge.status().map_err(|error| Diagnostic::from_io("run", "`foretell merge`", &error))?;
        Ok(Exit::Program(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2)))
    }
}

/// Waits until no job of a campaign is left. On a terminal a table shows how far it has come.
async fn wait_until_over(fleet: &Fleet, campaign: &Announcement) -> Result<(), Diagnostic> {
    let (mut live, mut rates) = (Live::on(Term::stderr()), Rates::default());
    while fleet.jobs_left(&campaign.id).await? > 0 {
        if let Some(live) = &mut live {
            let rolls = worker_statuses(fleet).await?;
            let progress = progress(fleet, campaign, &rolls, &mut rates).await?;
            // Who cannot see it waits all the same.
            let _ = live.draw(&Overview::of(&rolls, vec![progress]).table());
        }
        tokio::time::sleep(PAUSE).await;
    }
    let _ = live.map(Live::clear);
    Ok(())
}

/// The results of the jobs of a campaign.
struct Collection {
    plan: Plan,
    /// Tests as they were hunted in, with the files of the run and what was counted.
    entries: Vec<Entry>,
}

struct Entry {
    test: Test,
    files: Vec<StoredFile>,
    counted: Option<report::Predictions>,
}

impl Collection {
    async fn of(
        fleet: &Fleet,
        campaign: &Campaign,
        described_in: &crate::digest::Digest,
    ) -> Result<Collection, Diagnostic> {
        let of = |stream| subject(stream, &[&campaign.id, ">"]);
        let results: Vec<JobResult> = fleet.read(RESULTS, &of(RESULTS)).await?;
        let findings: Vec<FoundFinding> = fleet.read(FINDINGS, &of(FINDINGS)).await?;
        let dead: Vec<DeadJob> = fleet.read(DEAD, &of(DEAD)).await?;
        // Where a worker was lost after it had stored a finding, the next one that did the job found it known.
        let mut files: HashMap<String, Vec<StoredFile>> = HashMap::new();
        let of_findings = findings.into_iter().map(|found| (found.job.name(), found.files));
        let of_results = results.iter().map(|result| (result.job.name(), result.files.clone()));
        for (job, stored) in of_findings.chain(of_results).filter(|(_, stored)| !stored.is_empty()) {
            files.insert(job, stored);
        }
        let mut jobs = campaign.jobs(described_in);
        let mut done: HashMap<String, JobResult> = HashMap::new();
        for result in results {
            if result.job.target.is_some() {
                jobs.push(result.job.clone());
            }
            done.insert(result.job.name(), result);
        }
        let buried: HashMap<String, DeadJob> = dead.into_iter().map(|dead| (dead.job.name(), dead)).collect();
        let lost = buried.values().map(|dead| dead.job.clone());
        jobs.extend(lost.filter(|job| job.target.is_some() && !done.contains_key(&job.name())));
        let entry = |job: &Job| {
            let name = job.name();
            let test = campaign.test_of(job)?;
            let (outcome, milliseconds, message) = match (done.get(&name), buried.get(&name)) {
                (Some(result), _) => (TestOutcome::Hunted, result.milliseconds, None),
                (None, Some(dead)) => {
                    let reason = format!("failed {} times, the last time: {}", dead.attempts, dead.reason);
                    (TestOutcome::Error, 0, Some(reason))
                }
                (None, None) => (TestOutcome::NotReached, 0, None),
            };
            let counted = done.get(&name).and_then(|result| result.counted.clone());
            let test = Test { outcome, milliseconds, message, ..test };
            Some(Entry { test, files: files.get(&name).cloned().unwrap_or_default(), counted })
        };
        let mut entries: Vec<Entry> = jobs.iter().filter_map(entry).collect();
        // The first one has a trace, if any has.
        entries.sort_by_key(|entry| entry.files.is_empty());
        Ok(Collection { plan: campaign.plan.clone(), entries })
    }

    /// Writes it as `foretell test` would have.
    async fn write(self, fleet: &Fleet, directory: &Path) -> Result<(), Diagnostic> {
        let mut plan = self.plan;
        let others = plan.tests.iter().filter(|test| test.outcome != TestOutcome::NotReached).cloned();
        let others: Vec<Test> = others.collect();
        plan.tests = Vec::new();
        for Entry { test, files, counted } in self.entries {
            let place = directory.join(&test.results).join(LATEST);
            let cannot =
                |error: io::Error| Diagnostic::from_io("write", &format!("`{}`", place.display()), &error);
            if test.outcome == TestOutcome::Hunted {
                fs::create_dir_all(&place).map_err(cannot)?;
                if let Some(counted) = counted {
                    let text =
                        serde_json::to_vec(&counted).map_err(|error| Diagnostic::new(error.to_string()))?;
                    fs::write(place.join(saved::FINDINGS), text).map_err(cannot)?;
                }
                for file in files {
                    let content = fleet.fetch(&file.digest).await?;
                    fs::write(place.join(plain_name(&file.name)?), content).map_err(cannot)?;
                }
            }
            plan.tests.push(test);
        }
        plan.tests.extend(others);
        Ok(plan.save(directory)?)
    }
}
