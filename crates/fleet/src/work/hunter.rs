//! What does a job: a hunt in a process of its own, confined.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use foretell::diagnostics::Diagnostic;
use pipeline::hunt::StepOutcome;
use pipeline::saved;
use pipeline::suite::{HuntArguments, LATEST, Test, hunt_worked};
use report::{Finding, Predictions};
use run::Cancellation;
use run::environment::Environment;
use run::job::Confinement;
use tokio::sync::Mutex;

use crate::cache::{Cache, JobDirectory};
use crate::campaign::{Campaign, Job};
use crate::fleet::Fleet;

/// A hunt may take this much longer than its time: what it has begun is ended in order.
const OVERTIME: Duration = Duration::from_secs(30);
/// Variables that say where a process runs, not what it does.
const OF_THE_PLACE: [&str; 9] =
    ["PWD", "OLDPWD", "SHLVL", "_", "HOME", "TMPDIR", "PATH", "LD_LIBRARY_PATH", "XDG_CACHE_HOME"];

/// What does jobs.
pub(crate) trait Hunter {
    /// Does one; why that did not work.
    async fn hunt(&self, fleet: &Fleet, job: &Job, cancellation: Cancellation) -> Result<Hunted, String>;

    /// The name of the test that a job hunts in.
    async fn test_name(&self, fleet: &Fleet, job: &Job) -> String;
}

/// What a hunt has left.
pub(crate) struct Hunted {
    /// The name of the test.
    pub(crate) test: String,
    /// What was counted, without the findings.
    pub(crate) counted: Option<Predictions>,
    pub(crate) findings: Vec<Finding>,
    /// Of a step of a shared exploration.
    pub(crate) step: Option<StepOutcome>,
    /// Where the files are.
    pub(crate) run: Option<RunFiles>,
    /// How long the process took that hunted.
    pub(crate) time: Duration,
}

/// The files of a run, in the directory of its job.
pub(crate) struct RunFiles {
    /// The directory of the run.
    pub(crate) path: PathBuf,
    /// Who they must belong to.
    pub(crate) owner: Option<u32>,
    _job: JobDirectory,
}

/// Hunts in real programs.
pub(crate) struct ProgramHunter {
    cache: Mutex<Cache>,
    confinement: Confinement,
    /// This program.
    program: PathBuf,
    /// Where hunts unpack the recorder.
    unpacked: PathBuf,
}

impl ProgramHunter {
    /// One that works in this cache.
    pub(crate) fn new(cache: Cache, confinement: Confinement) -> Result<ProgramHunter, Diagnostic> {
        let (program, unpacked) = (cache.program()?, cache.unpacked());
        Ok(ProgramHunter { cache: Mutex::new(cache), confinement, program, unpacked })
    }

    /// The campaign of a job, the test, the directory of its bundle, and a fresh one for the job.
    async fn prepare(
        &self,
        fleet: &Fleet,
        job: &Job,
    ) -> Result<(Campaign, Test, PathBuf, JobDirectory), Diagnostic> {
        let mut cache = self.cache.lock().await;
        let campaign = cache.campaign(fleet, &job.described_in).await?;
        let missing = || Diagnostic::new("the campaign of the job has no such test");
        let bundle = campaign.bundles.get(job.test).and_then(Option::as_ref).ok_or_else(missing)?;
        let files = cache.bundle(fleet, bundle).await?;
        let directory = cache.job_directory(fleet, bundle).await?;
        let test = campaign.test_of(job).ok_or_else(missing)?;
        let test = Test {
            program: files.join(&bundle.program.name),
            directory: directory.work(),
            input: bundle.standard_input.as_ref().map(|_| directory.standard_input()),
            ..test
        };
        Ok((campaign, test, files, directory))
    }

    /// The hunt as a command.
    fn command(
        &self,
        campaign: &Campaign,
        test: &Test,
        job: &Job,
        files: &Path,
        directory: &JobDirectory,
    ) -> run::job::Job {
        let mut first: Vec<OsString> = ["hunt", "--quiet"].map(OsString::from).to_vec();
        first.extend(campaign.hunt.iter().cloned());
        if campaign.targets {
            first.push("--step".into());
        }
        if job.target.is_some() {
            first.extend(["--towards".into(), directory.target().into_os_string()]);
        }
        let time = Duration::from_secs(campaign.timeout);
        let results = directory.results();
        let arguments = HuntArguments { results: &results, time, first: &first }.of(test);
        run::job::Job {
            program: self.program.clone(),
            arguments,
            directory: directory.work(),
            environment: self.environment(test, files, directory),
            input: test.input.clone(),
            output: directory.log(),
            messages: None,
            limit: time + OVERTIME,
            // All its threads together.
            confinement: Some(Confinement { processor_time: (time + OVERTIME) * 64, ..self.confinement }),
        }
    }

    /// What a program sees: nothing of ours but the path, and what the test had of its own.
    fn environment(&self, test: &Test, files: &Path, directory: &JobDirectory) -> Environment {
        let mut environment = Environment::default();
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        environment.set("PATH", path);
        environment.set("HOME", directory.work());
        environment.set("TMPDIR", directory.temporary());
        environment.set("LANG", "C.UTF-8");
        for (name, value) in &test.variables {
            if !OF_THE_PLACE.iter().any(|known| name == OsStr::new(known)) {
                environment.set(name, value);
            }
        }
        environment.set("LD_LIBRARY_PATH", files.join("lib"));
        environment.set("XDG_CACHE_HOME", &self.unpacked);
        // A project's options are for who is in the project.
        environment.set("FORETELL_CONFIG", "none");
        // Its directory for temporary files is for the program, and on a disk.
        environment.set(run::directory::LOGS, "memory");
        environment
    }
}

impl Hunter for ProgramHunter {
    async fn hunt(&self, fleet: &Fleet, job: &Job, cancellation: Cancellation) -> Result<Hunted, String> {
        let prepared = self.prepare(fleet, job).await;
        let (campaign, test, files, directory) = prepared.map_err(|error| error.title().to_owned())?;
        if let Some(target) = &job.target {
            let text = serde_json::to_vec(target).map_err(|error| error.to_string())?;
            std::fs::write(directory.target(), text).map_err(|error| error.to_string())?;
        }
        let command = self.command(&campaign, &test, job, &files, &directory);
        let (log, results) = (command.output.clone(), directory.results());
        let hunt = move || {
            let started = Instant::now();
            command.run(&cancellation).map(|status| (status, started.elapsed()))
        };
        let ended = tokio::task::spawn_blocking(hunt).await;
        let (status, time) = ended.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        hunt_worked(status, &results, &log)?;
        let run = RunFiles::in_results(&results, self.confinement.user.map(|user| user.user), directory)?;
        let mut counted = saved::parse(saved::FINDINGS, &run.read(saved::FINDINGS)?)
            .map_err(|error| format!("the hunt has left no findings: {error}"))?;
        let findings = std::mem::take(&mut counted.findings);
        let step = match campaign.targets {
            // A hunt whose time was up has none.
            true => run.read(StepOutcome::FILE).ok().and_then(|text| serde_json::from_slice(&text).ok()),
            false => None,
        };
        Ok(Hunted { test: test.name, counted: Some(counted), findings, step, run: Some(run), time })
    }

    async fn test_name(&self, fleet: &Fleet, job: &Job) -> String {
        let campaign = self.cache.lock().await.campaign(fleet, &job.described_in).await;
        let test = campaign.ok().and_then(|campaign| campaign.test_of(job));
        test.map_or_else(|| format!("test {}", job.test), |test| test.name)
    }
}

impl RunFiles {
    /// The last run in a directory of results. A job writes there, so nothing is taken at its word: only files of its own user count.
    fn in_results(results: &Path, owner: Option<u32>, job: JobDirectory) -> Result<RunFiles, String> {
        let cannot = |error: std::io::Error| format!("the hunt has left no results: {error}");
        let latest = std::fs::read_link(results.join(LATEST)).map_err(cannot)?;
        let number = latest.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        let number = number.ok_or("the hunt has left results elsewhere")?;
        Ok(RunFiles { path: results.join(number), owner, _job: job })
    }

    /// The content of a file.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        use std::io::Read;
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
        let cannot = |error: std::io::Error| format!("cannot read `{name}`: {error}");
        // Neither a link nor a pipe that nobody writes to.
        let flags = run::job::NO_LINK_NO_WAIT;
        let path = self.path.join(name);
        let mut file = std::fs::File::options().read(true).custom_flags(flags).open(path).map_err(cannot)?;
        let facts = file.metadata().map_err(cannot)?;
        if !facts.is_file() || self.owner.is_some_and(|owner| facts.uid() != owner) {
            return Err(format!("`{name}` is not a file of the job"));
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(cannot)?;
        Ok(content)
    }
}
