//! `foretell fleet status`: how far campaigns have come.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::Args;
use foretell::diagnostics::Diagnostic;
use foretell::exit::Exit;
use futures_util::StreamExt;
use serde::Serialize;

use crate::campaign::{Announcement, now};
use crate::connection::Connection;
use crate::fleet::{Fleet, failed, parsed};
use crate::streams::{DEAD, FINDINGS, RESULTS, ROLL_CALL, subject};
use crate::work::Roll;

/// How long workers may take to answer.
const ROLL_TIME: Duration = Duration::from_millis(300);
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// Show how far campaigns have come: a table that follows them while they are under way.
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    connection: Connection,
    /// The campaign [default: all that are under way, and the last].
    #[arg(value_name = "CAMPAIGN")]
    campaign: Option<String>,
    /// List the campaigns that are done, too.
    #[arg(long, conflicts_with = "campaign")]
    all: bool,
    /// Look once, even on a terminal.
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
}

/// What the table shows.
#[derive(Debug, Serialize)]
struct Overview {
    workers: u64,
    campaigns: Vec<Progress>,
}

impl Status {
    /// Shows the table, once or for as long as there is something to follow.
    pub(crate) async fn run(self) -> Result<Exit, Diagnostic> {
        let fleet = Fleet::connect(&self.connection).await?;
        let follows = std::io::stdout().is_terminal() && !self.once && !self.json;
        let mut rates = Rates::default();
        let mut lines = 0;
        loop {
            let overview = self.look(&fleet, &mut rates).await?;
            if self.json {
                println!("{}", serde_json::to_string(&overview).map_err(failed)?);
                return Ok(Exit::Nothing);
            }
            let table = overview.table();
            if lines > 0 {
                // Over the last one.
                print!("\x1b[{lines}A\x1b[J");
            }
            print!("{table}");
            // A reader that has gone away has seen all it wanted.
            let _ = std::io::stdout().flush();
            lines = table.lines().count();
            if !follows || overview.campaigns.iter().all(Progress::is_over) {
                return Ok(Exit::Nothing);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn look(&self, fleet: &Fleet, rates: &mut Rates) -> Result<Overview, Diagnostic> {
        let announced = match &self.campaign {
            Some(id) => vec![fleet.announced(Some(id)).await?],
            None => fleet.announcements().await?,
        };
        let rolls = roll_call(fleet).await?;
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
        Ok(Overview { workers: rolls.len() as u64, campaigns })
    }
}

/// How far a campaign has come.
pub(crate) async fn progress(
    fleet: &Fleet,
    campaign: &Announcement,
    rolls: &[Roll],
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
pub(crate) async fn roll_call(fleet: &Fleet) -> Result<Vec<Roll>, Diagnostic> {
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

/// How fast jobs get done: since the last look, or since they were submitted.
#[derive(Debug, Default)]
pub(crate) struct Rates(BTreeMap<String, (Instant, u64)>);

impl Rates {
    fn of(&mut self, campaign: &Announcement, done: u64) -> f64 {
        let before = self.0.insert(campaign.id.clone(), (Instant::now(), done));
        let (seconds, jobs) = match before {
            Some((then, before)) => (then.elapsed().as_secs_f64(), done.saturating_sub(before)),
            None => (now().saturating_sub(campaign.submitted) as f64 / 1000.0, done),
        };
        if seconds > 0.0 { jobs as f64 / seconds } else { 0.0 }
    }
}

impl Overview {
    fn table(&self) -> String {
        let mut table = format!("workers: {}\n", self.workers);
        table.push_str("campaign  queued  running    done  failed  findings   jobs/s  time left  command\n");
        for row in &self.campaigns {
            let left = match (row.cancelled, row.is_over(), row.seconds_left) {
                (true, ..) => "cancelled".to_owned(),
                (_, true, _) => "done".to_owned(),
                (_, _, Some(seconds)) => format!("{}:{:02}", seconds / 60, seconds % 60),
                (_, _, None) => "unknown".to_owned(),
            };
            table.push_str(&format!(
                "{:8}  {:6}  {:7}  {:6}  {:6}  {:8}  {:7.1}  {left:>9}  {}\n",
                row.campaign,
                row.queued,
                row.running,
                row.done,
                row.failed,
                row.findings,
                row.rate,
                report::shown(&row.command)
            ));
        }
        table
    }
}
