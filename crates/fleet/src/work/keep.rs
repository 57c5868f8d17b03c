//! Storing the result of a job: the files of findings first, then the findings, then new targets, then the result.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use foretell::diagnostics::Diagnostic;
use pipeline::hunt::StepOutcome;
use pipeline::saved;
use report::Finding;

use super::hunter::{Hunted, RunFiles};
use crate::bundle::StoredFile;
use crate::campaign::{FoundFinding, Job, JobResult};
use crate::digest::Digest;
use crate::fleet::{Fleet, Outgoing};
use crate::streams::{FINDINGS, PAIRS, RESULTS, subject};
use crate::submit::{job_message, test_key};

/// No message is larger: the server's own limit is a megabyte.
const LARGEST: usize = 900_000;

/// What stores the outcome of a job.
pub(super) struct Keeper<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) job: &'a Job,
    pub(super) worker: &'a str,
    pub(super) attempts: i64,
    pub(super) time: Duration,
}

impl Keeper<'_> {
    /// Stores all of it. It can be done again: what is there stays as it is.
    pub(super) async fn keep(&self, hunted: &Hunted) -> Result<(), Diagnostic> {
        let mut files = match self.job.is_first_of_its_test() {
            true => Some(self.store_files(hunted).await?),
            false => None,
        };
        let test = test_key(&hunted.test);
        for finding in &hunted.findings {
            let key = Digest::of(finding.fingerprint().as_bytes());
            let named = subject(FINDINGS, &[&self.job.campaign, &test, key.short()]);
            if self.fleet.has(FINDINGS, &named).await? {
                continue;
            }
            if files.is_none() {
                files = Some(self.store_files(hunted).await?);
            }
            let id = format!("{}.{test}.{}", self.job.campaign, key.short());
            let files = files.clone().unwrap_or_default();
            self.fleet.publish(self.message(named, id, &hunted.test, finding, files)?).await?;
        }
        if let Some(step) = &hunted.step {
            self.spread(step).await?;
        }
        let result = JobResult {
            job: self.job.clone(),
            worker: self.worker.to_owned(),
            milliseconds: self.time.as_millis() as u64,
            attempts: self.attempts,
            counted: hunted.counted.clone(),
            findings: hunted.findings.len() as u64,
            files: files.unwrap_or_default(),
        };
        let named = subject(RESULTS, &[&self.job.campaign, &self.job.name()]);
        self.fleet.publish(Outgoing::new(named, self.job.id(), &result)?).await?;
        Ok(())
    }

    fn message(
        &self,
        named: String,
        id: String,
        test: &str,
        finding: &Finding,
        files: Vec<StoredFile>,
    ) -> Result<Outgoing, Diagnostic> {
        // Schedules may be as long as the trace, and are in the files.
        let finding = Finding { schedule: Vec::new(), ..finding.clone() };
        let mut found = FoundFinding { job: self.job.clone(), test: test.to_owned(), finding, files };
        let message = Outgoing::new(named.clone(), id.clone(), &found)?;
        if message.payload.len() < LARGEST {
            return Ok(message);
        }
        found.finding.more.clear();
        if let Some(failure) = &mut found.finding.failure {
            failure.threads.clear();
        }
        Outgoing::new(named, id, &found)
    }

    /// Stores the files that the findings of a run need.
    async fn store_files(&self, hunted: &Hunted) -> Result<Vec<StoredFile>, Diagnostic> {
        let Some(run) = &hunted.run else { return Ok(Vec::new()) };
        let mut names: BTreeSet<String> = [saved::TRACE, saved::FINDINGS].map(str::to_owned).into();
        for finding in &hunted.findings {
            names.extend(finding.recording.clone());
            names.insert(format!("{}.sched", finding.id));
        }
        let mut files = Vec::new();
        for name in names {
            if let Some(content) = self.content(run, &name)? {
                files.push(self.fleet.store(&name, &content, false).await?);
            }
        }
        Ok(files)
    }

    /// The content of a file; none: it is one that need not be there.
    fn content(&self, run: &RunFiles, name: &str) -> Result<Option<Vec<u8>>, Diagnostic> {
        match run.read(name) {
            Ok(content) => Ok(Some(content)),
            Err(_) if name.ends_with(".sched") => Ok(None),
            Err(why) => Err(Diagnostic::new(why)),
        }
    }

    /// Says which pairs are covered, and makes jobs of those that are not.
    async fn spread(&self, step: &StepOutcome) -> Result<(), Diagnostic> {
        let test = self.job.test.to_string();
        let of = |pair: &str| subject(PAIRS, &[&self.job.campaign, &test, pair]);
        let known = self.fleet.subjects(PAIRS, &of("*")).await?;
        let mut known: HashSet<String> = known.into_iter().collect();
        let mut news = Vec::new();
        for pair in step.covered.iter().filter(|pair| is_plain(pair)) {
            if known.insert(of(pair)) {
                let id = format!("{}.{test}.{pair}", self.job.campaign);
                news.push(Outgoing::new(of(pair), id, &())?);
            }
        }
        self.fleet.publish_all(news).await?;
        let targets = step.targets.iter().filter(|target| target.is_well_formed());
        let targets = targets.filter(|target| !known.contains(&of(&target.pair)));
        let jobs = targets.map(|target| job_message(&Job::towards(self.job, target)));
        self.fleet.publish_all(jobs.collect::<Result<Vec<Outgoing>, Diagnostic>>()?).await?;
        Ok(())
    }
}

fn is_plain(pair: &str) -> bool {
    pair.len() <= 40 && pair.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}
