//! What is sent over the network: campaigns, jobs, and their results.

use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

use pipeline::hunt::ExplorationTarget;
use pipeline::suite::{Plan, Test};
use report::{Finding, Predictions};
use serde::{Deserialize, Serialize};

use crate::bundle::{Bundle, StoredFile};
use crate::digest::Digest;

/// A submission: the tests to hunt in, and how. It is kept in the object store; jobs name it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Campaign {
    /// What it is called.
    pub(crate) id: String,
    /// When it was submitted, in milliseconds since 1970.
    pub(crate) submitted: u64,
    /// Its tests, each once.
    pub(crate) plan: Plan,
    /// What each test needs to run elsewhere; none: it is not hunted in.
    pub(crate) bundles: Vec<Option<Bundle>>,
    /// How many seeds each test is hunted in with.
    pub(crate) seeds: u64,
    /// Whether the fleet goes on to reads-from pairs that no run has shown.
    pub(crate) targets: bool,
    /// How long each job may take, in seconds.
    pub(crate) timeout: u64,
    /// More options for each hunt.
    pub(crate) hunt: Vec<OsString>,
}

/// The announcement of a campaign: small enough for a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Announcement {
    pub(crate) id: String,
    pub(crate) submitted: u64,
    /// The test command.
    pub(crate) command: String,
    /// Jobs at the beginning.
    pub(crate) jobs: u64,
    /// The file that is the whole campaign.
    pub(crate) campaign: Digest,
    /// It was called off.
    #[serde(default)]
    pub(crate) cancelled: bool,
}

/// A job: a hunt in one test, with one seed or towards one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) campaign: String,
    /// The file that is the whole campaign.
    pub(crate) described_in: Digest,
    /// The number of the test in its plan.
    pub(crate) test: usize,
    pub(crate) seed: u64,
    /// Where to lead the program; none: the seed alone chooses.
    pub(crate) target: Option<ExplorationTarget>,
}

/// The result of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JobResult {
    pub(crate) job: Job,
    /// Who did it.
    pub(crate) worker: String,
    pub(crate) milliseconds: u64,
    /// How often it was begun.
    pub(crate) attempts: i64,
    /// What was counted, without the findings.
    pub(crate) counted: Option<Predictions>,
    /// How many findings it had, known ones included.
    pub(crate) findings: u64,
    /// The files of the run, if they are kept.
    #[serde(default)]
    pub(crate) files: Vec<StoredFile>,
}

/// A finding, and where its trace is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FoundFinding {
    pub(crate) job: Job,
    pub(crate) test: String,
    /// The finding without its schedule, which is in the files.
    pub(crate) finding: Finding,
    /// The files of the run that found it.
    pub(crate) files: Vec<StoredFile>,
}

/// A job that failed too often.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DeadJob {
    pub(crate) job: Job,
    pub(crate) test: String,
    /// Why, the last time.
    pub(crate) reason: String,
    pub(crate) attempts: i64,
    pub(crate) worker: String,
}

impl Campaign {
    /// A name for a new one.
    pub(crate) fn new_id() -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = format!("{} {} {}", now.as_nanos(), std::process::id(), crate::fleet::host());
        Digest::of(seed.as_bytes()).as_str()[..8].to_owned()
    }

    /// The jobs at the beginning, the first seed of every test first.
    pub(crate) fn jobs(&self, described_in: &Digest) -> Vec<Job> {
        let tests = || (0..self.bundles.len()).filter(|&test| self.bundles[test].is_some());
        let job = |seed, test| Job {
            campaign: self.id.clone(),
            described_in: described_in.clone(),
            test,
            seed,
            target: None,
        };
        (0..self.seeds).flat_map(|seed| tests().map(move |test| job(seed, test))).collect()
    }

    /// The test of a job, with its seed.
    pub(crate) fn test_of(&self, job: &Job) -> Option<Test> {
        let test = self.plan.tests.get(job.test)?.clone();
        Some(Test { seed: job.seed, results: format!("{}/{}", test.results, job.name()), ..test })
    }
}

impl Job {
    /// Whether its names are what they should be: it comes from elsewhere.
    pub(crate) fn is_well_formed(&self) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric();
        !self.campaign.is_empty()
            && self.campaign.bytes().all(is_plain)
            && self.target.as_ref().is_none_or(ExplorationTarget::is_well_formed)
    }

    /// What it is called in its campaign: part of subjects, and of file names.
    pub(crate) fn name(&self) -> String {
        match &self.target {
            None => format!("{}-seed-{}", self.test, self.seed),
            Some(target) => format!("{}-pair-{}", self.test, target.pair),
        }
    }

    /// A job for a target that another one has found. It has a seed of its own, beyond those of the first jobs.
    pub(crate) fn towards(finder: &Job, target: &ExplorationTarget) -> Job {
        let digest = Digest::of(target.pair.as_bytes());
        let number = u64::from_str_radix(&digest.short()[..8], 16).unwrap_or(0);
        Job { target: Some(target.clone()), seed: (1 << 32) + number, ..finder.clone() }
    }

    /// What makes a message about it the same as another.
    pub(crate) fn id(&self) -> String {
        format!("{}.{}", self.campaign, self.name())
    }

    /// Whether the files of its run are kept even if nothing new was found: each test has a trace then.
    pub(crate) fn is_first_of_its_test(&self) -> bool {
        self.seed == 0 && self.target.is_none()
    }
}

/// Now, in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
