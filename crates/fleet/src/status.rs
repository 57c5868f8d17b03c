//! `foretell fleet status`: how far campaigns have come.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use clap::Args;
use console::Term;
use foretell::diagnostics::Diagnostic;
use foretell::exit::Exit;
use foretell::output;
use foretell::table::{Align, Table, counted, number};
use futures_util::StreamExt;
use serde::Serialize;

use crate::campaign::{Announcement, now};
use crate::connection::Connection;
use crate::fleet::{Fleet, failed, parsed};
use crate::live::Live;
use crate::streams::{DEAD, FINDINGS, RESULTS, ROLL_CALL, subject};
use crate::work::WorkerStatus;

/// The version of the JSON.
const SCHEMA: u32 = 1;
/// How long workers may take to answer.
const ROLL_TIME: Duration = Duration::from_millis(300);
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// The rate of jobs is that of so much time.
const RECENT: Duration = Duration::from_secs(30);

const EXAMPLES: &str = "\
On a terminal the table is updated until no job is left; Ctrl-C ends the
display, not the jobs. Otherwise it is printed once.

  queued    jobs waiting for a worker
  running   jobs that a worker is doing
  done      jobs whose results are stored
  failed    jobs that failed five times: `foretell fleet collect` says why
  findings  different findings so far
  jobs/s    jobs done per second, during the last half minute

Examples:
  foretell fleet status
  foretell fleet status --all --json";

/// Show the progress of campaigns, updated while they run.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Status {
    #[command(flatten)]
    connection: Connection,
    /// The campaign [default: all that are running, and the last].
    #[arg(value_name = "CAMPAIGN")]
    campaign: Option<String>,
    /// Also list finished campaigns.
    #[arg(long, conflicts_with = "campaign")]
    all: bool,
    /// Print the table once, even on a terminal.
    #[arg(long)]
    once: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// How far a campaign has come.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Progress {
    pub(crate) campaign: String,
    pub(crate) command: String,
    pub(crate) queued: u64,
    pub(crate) running: u64,
    pub(crate) done: u64,
    /// Jobs that failed too often.
    pub(crate) failed: u64,
    pub(crate) findings: u64,
    /// Jobs that are done in a second.
    pub(crate) rate: f64,
    /// Seconds that are left, at this rate.
    pub(crate) seconds_left: Option<u64>,
    pub(crate) cancelled: bool,
}

impl Progress {
    /// Whether no job is left.
    pub(crate) fn is_over(&self) -> bool {
        self.queued + self.running == 0
    }

    /// How long it takes until then.
    fn time_left(&self) -> String {
        let seconds = match self.seconds_left {
            _ if self.cancelled => return "cancelled".to_owned(),
            _ if self.is_over() => return "done".to_owned(),
            None => return "unknown".to_owned(),
            Some(seconds) => seconds,
        };
        let (minutes, hours) = (seconds / 60, seconds / 3600);
        match hours {
            0 => format!("{minutes}:{:02}", seconds % 60),
            1..48 => format!("{hours}:{:02}:{:02}", minutes % 60, seconds % 60),
            _ => format!("{} days", hours / 24),
        }
    }
}

/// What the table shows.
#[derive(Debug, Serialize)]
pub(crate) struct Overview {
    schema: u32,
    #[serde(flatten)]
    totals: Totals,
    workers: u64,
    /// Jobs that the workers do at the same time.
    slots: u64,
    campaigns: Vec<Progress>,
}

/// The sums over the campaigns that are shown.
#[derive(Debug, Default, Serialize)]
struct Totals {
    queued: u64,
    running: u64,
    done: u64,
    failed: u64,
    findings: u64,
}

impl Totals {
    fn of(campaigns: &[Progress]) -> Totals {
        let sum = |part: fn(&Progress) -> u64| campaigns.iter().map(part).sum();
        Totals {
            queued: sum(|campaign| campaign.queued),
            running: sum(|campaign| campaign.running),
            done: sum(|campaign| campaign.done),
            failed: sum(|campaign| campaign.failed),
            findings: sum(|campaign| campaign.findings),
        }
    }
}

impl Status {
    /// Shows the table, once or for as long as there is something to follow.
    pub(crate) async fn run(self) -> Result<Exit, Diagnostic> {
        let fleet = Fleet::connect(&self.connection).await?;
        let mut rates = Rates::default();
        let mut overview = self.look(&fleet, &mut rates).await?;
        if self.json {
            output::print_json(&overview)?;
            return Ok(Exit::Nothing);
        }
        if let Some(mut live) = Live::on(Term::stdout()).filter(|_| !self.once) {
            let cannot = |error| Diagnostic::from_io("write to", "the terminal", &error);
            let mut trouble = None;
            while !overview.is_over() {
                let trouble_line =
                    trouble.take().map(|why| format!("{why}; trying again\n")).unwrap_or_default();
                live.draw(&format!("{}{trouble_line}", overview.table())).map_err(cannot)?;
                tokio::time::sleep(PAUSE).await;
                // A server that is restarted comes back.
                match self.look(&fleet, &mut rates).await {
                    Ok(look) => overview = look,
                    Err(error) => trouble = Some(error.title().to_owned()),
                }
            }
            live.clear().map_err(cannot)?;
        }
        output::print(&overview.table())?;
        Ok(Exit::Nothing)
    }

    async fn look(&self, fleet: &Fleet, rates: &mut Rates) -> Result<Overview, Diagnostic> {
        let announced = match &self.campaign {
            Some(id) => vec![fleet.announced(Some(id)).await?],
            None => fleet.announcements().await?,
        };
        let rolls = worker_statuses(fleet).await?;
        let last =
            announced.iter().max_by_key(|campaign| campaign.submitted).map(|campaign| campaign.id.clone());
        let mut campaigns = Vec::new();
        for campaign in &announced {
            let progress = progress(fleet, campaign, &rolls, rates).await?;
            let is_last = Some(&progress.campaign) == last.as_ref();
            if self.all || self.campaign.is_some() || is_last || !progress.is_over() {
                campaigns.push(progress);
            }
        }
        Ok(Overview::of(&rolls, campaigns))
    }
}

/// How far a campaign has come.
pub(crate) async fn progress(
    fleet: &Fleet,
    campaign: &Announcement,
    rolls: &[WorkerStatus],
    rates: &mut Rates,
) -> Result<Progress, Diagnostic> {
    let of = |stream| subject(stream, &[&campaign.id, ">"]);
    let left = fleet.jobs_left(&campaign.id).await?;
    let running = rolls.iter().flat_map(|roll| &roll.running).filter(|id| **id == campaign.id).count() as u64;
    let running = running.min(left);
    let done = fleet.count(RESULTS, &of(RESULTS)).await?;
    let rate = rates.of(campaign, done);
    Ok(Progress {
        campaign: campaign.id.clone(),
        command: campaign.command.clone(),
        queued: left - running,
        running,
        done,
        failed: fleet.count(DEAD, &of(DEAD)).await?,
        findings: fleet.count(FINDINGS, &of(FINDINGS)).await?,
        rate,
        seconds_left: (rate > 0.0).then(|| (left as f64 / rate).ceil() as u64),
        cancelled: campaign.cancelled,
    })
}

/// Asks all workers what they do.
pub(crate) async fn worker_statuses(fleet: &Fleet) -> Result<Vec<WorkerStatus>, Diagnostic> {
    let inbox = fleet.client.new_inbox();
    let mut answers = fleet.client.subscribe(inbox.clone()).await.map_err(failed)?;
    fleet.client.publish_with_reply(ROLL_CALL, inbox, "".into()).await.map_err(failed)?;
    let mut rolls = Vec::new();
    let end = tokio::time::Instant::now() + ROLL_TIME;
    while let Ok(Some(answer)) = tokio::time::timeout_at(end, answers.next()).await {
        // If there is no worker at all, the server says so.
        if answer.status.is_none() {
            rolls.push(parsed(&answer.payload)?);
        }
    }
    Ok(rolls)
}

/// How fast jobs get done: of late, or since they were submitted.
#[derive(Debug, Default)]
pub(crate) struct Rates(BTreeMap<String, VecDeque<(Instant, u64)>>);

impl Rates {
    fn of(&mut self, campaign: &Announcement, done: u64) -> f64 {
        let looks = self.0.entry(campaign.id.clone()).or_default();
        while looks.len() > 1 && looks[1].0.elapsed() >= RECENT {
            looks.pop_front();
        }
        let (seconds, jobs) = match looks.front() {
            Some(&(then, before)) => (then.elapsed().as_secs_f64(), done.saturating_sub(before)),
            None => (now().saturating_sub(campaign.submitted) as f64 / 1000.0, done),
        };
        looks.push_back((Instant::now(), done));
        if seconds > 0.0 { jobs as f64 / seconds } else { 0.0 }
    }
}

impl Overview {
    pub(crate) fn of(rolls: &[WorkerStatus], campaigns: Vec<Progress>) -> Overview {
        let slots = rolls.iter().map(|roll| roll.slots).sum();
        let totals = Totals::of(&campaigns);
        Overview { schema: SCHEMA, totals, workers: rolls.len() as u64, slots, campaigns }
    }

    fn is_over(&self) -> bool {
        self.campaigns.iter().all(Progress::is_over)
    }

    /// For a person: who works, what is done, and what can be done about it.
    pub(crate) fn table(&self) -> String {
        if self.campaigns.is_empty() {
            return format!("{}; nothing was submitted\n", self.who_works());
        }
        let right = |heading| (heading, Align::Right);
        let mut table = Table::new(&[
            ("campaign", Align::Left),
            right("queued"),
            right("running"),
            right("done"),
            right("failed"),
            right("findings"),
            right("jobs/s"),
            right("time left"),
            ("command", Align::Left),
        ]);
        for row in &self.campaigns {
            let rate = if row.is_over() { "-".to_owned() } else { format!("{:.1}", row.rate) };
            table.row([
                row.campaign.clone(),
                number(row.queued),
                number(row.running),
                number(row.done),
                number(row.failed),
                number(row.findings),
                rate,
                row.time_left(),
                report::printable(&row.command),
            ]);
        }
        format!("{}\n{}{}", self.who_works(), table.render(), self.advice())
    }

    fn who_works(&self) -> String {
        match (self.workers, self.slots) {
            (0, _) => "no worker".to_owned(),
            (workers, slots) => {
                format!("{}, {} at a time", counted(workers, "worker"), counted(slots, "job"))
            }
        }
    }

    /// What the user may want to do now.
    fn advice(&self) -> String {
        let mut advice = String::new();
        if self.workers == 0 && !self.is_over() {
            advice.push_str("no worker is running: `foretell fleet work` starts one\n");
        }
        for row in self.campaigns.iter().filter(|row| row.failed > 0) {
            let (jobs, id) = (counted(row.failed, "job"), &row.campaign);
            advice.push_str(&format!("{jobs} failed five times: `foretell fleet collect {id}` says why\n"));
        }
        if let [row] = self.campaigns.as_slice()
            && row.is_over()
            && row.done > 0
            && row.failed == 0
        {
            advice.push_str(&format!("`foretell fleet collect {}` reports what was found\n", row.campaign));
        }
        advice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(id: &str) -> Progress {
        Progress {
            campaign: id.to_owned(),
            command: "./tests/queue_test".to_owned(),
            queued: 1_200,
            running: 4,
            done: 396,
            failed: 0,
            findings: 3,
            rate: 4.25,
            seconds_left: Some(284),
            cancelled: false,
        }
    }

    fn shown(rolls: &[WorkerStatus], campaigns: Vec<Progress>) -> String {
        console::strip_ansi_codes(&Overview::of(rolls, campaigns).table()).into_owned()
    }

    #[test]
    fn the_table_says_who_works_and_how_long_it_takes() {
        let roll = WorkerStatus { worker: "a-1".into(), running: vec!["1f3a90c2".into(); 2], slots: 2 };
        let expected = "2 workers, 4 jobs at a time\n  \
            campaign  queued  running  done  failed  findings  jobs/s  time left  command\n  \
            1f3a90c2   1,200        4   396       0         3     4.2       4:44  ./tests/queue_test\n";
        assert_eq!(shown(&[roll.clone(), roll], vec![campaign("1f3a90c2")]), expected);
    }

    #[test]
    fn the_table_says_what_can_be_done() {
        let idle = shown(&[], vec![campaign("1f3a90c2")]);
        assert!(
            idle.starts_with("no worker\n") && idle.contains("`foretell fleet work` starts one"),
            "{idle}"
        );
        let failed = shown(&[], vec![Progress { failed: 2, ..campaign("1f3a90c2") }]);
        assert!(failed.contains("2 jobs failed five times: `foretell fleet collect 1f3a90c2`"), "{failed}");
        let over = Progress { queued: 0, running: 0, ..campaign("1f3a90c2") };
        let over = shown(&[], vec![over]);
        assert!(over.contains("  -       done  ./tests"), "{over}");
        assert!(over.ends_with("`foretell fleet collect 1f3a90c2` reports what was found\n"), "{over}");
        assert_eq!(shown(&[], Vec::new()), "no worker; nothing was submitted\n");
    }

    #[test]
    fn times_and_names_are_legible() {
        let left =
            |seconds_left, cancelled| Progress { seconds_left, cancelled, ..campaign("a") }.time_left();
        assert_eq!(left(Some(59), false), "0:59");
        assert_eq!(left(Some(86_399), false), "23:59:59");
        assert_eq!(left(Some(864_000), false), "10 days");
        assert_eq!(left(None, false), "unknown");
        assert_eq!(left(Some(3), true), "cancelled");
        let hostile = Progress { command: "./x \u{1b}[2J\u{202e}".into(), ..campaign("a") };
        assert!(!shown(&[], vec![hostile]).contains(['\u{1b}', '\u{202e}']));
    }

    #[test]
    fn the_rate_is_that_of_the_last_looks() {
        let announced = Announcement {
            id: "a".into(),
            submitted: now() - 10_000,
            command: String::new(),
            jobs: 100,
            campaign: crate::digest::Digest::of(b""),
            cancelled: false,
        };
        let mut rates = Rates::default();
        let first = rates.of(&announced, 40);
        assert!((3.0..=4.0).contains(&first), "40 jobs in 10 s: {first}");
        std::thread::sleep(Duration::from_millis(100));
        let second = rates.of(&announced, 41);
        assert!((1.0..=10.0).contains(&second), "1 job in 0.1 s, or a little more: {second}");
    }
}
