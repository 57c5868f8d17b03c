//! Replaying findings: the step from `predicted` to `confirmed`.

use std::time::Duration;

use check::Model;
use report::{Finding, Replayed, Rung};
use run::replay::{Command, ReplayVerdict};

use super::explore::Explorer;
use super::run_directory::RunDirectory;
use crate::budget::{Budget, Cancellation};
use crate::error::Error;
use crate::replay::{ReplaySummary, Replayer};
use crate::trace_file::TraceFile;

/// How findings of a recording are replayed.
pub(super) struct Confirmer<'a> {
    pub(super) file: &'a TraceFile,
    pub(super) model: Model,
    pub(super) times: u64,
    pub(super) budget: &'a Budget,
    pub(super) cancellation: &'a Cancellation,
    pub(super) directory: &'a RunDirectory,
}

impl Confirmer<'_> {
    /// Writes the finding's schedule, and replays it if there is time; whether there was. Other paths that the program takes
    /// meanwhile are kept.
    pub(super) fn confirm(&self, finding: &mut Finding, explorer: &mut Explorer<'_>) -> Result<bool, Error> {
        let schedule = self.directory.write_schedule(self.file, finding, self.model)?;
        let left = self.budget.time_left().unwrap_or(LONGEST_REPLAY);
        let command = Command::recorded(self.file.trace.metadata());
        let (Some(command), 1.., false) = (command, self.times, left.is_zero()) else { return Ok(false) };
        let mut replayer = Replayer::new(finding.id.clone(), &schedule, command)?;
        replayer.times = self.times;
        replayer.limit = left.max(Duration::from_secs(1));
        replayer.cancellation = self.cancellation.clone();
        let summary = explorer.run(&replayer, self.file)?;
        let tried = summary.times > 0;
        if tried {
            apply(finding, summary, &replayer);
        }
        Ok(tried)
    }
}

/// How long a replay may take where no time limit is given.
const LONGEST_REPLAY: Duration = Duration::from_secs(60);

/// What a replay makes of a finding.
fn apply(finding: &mut Finding, summary: ReplaySummary, replayer: &Replayer) {
    match summary.result {
        ReplayVerdict::Confirmed => finding.rung = Rung::Confirmed,
        ReplayVerdict::Diverged => finding.rung = Rung::Diverged,
        ReplayVerdict::NotReached => {}
    }
    let divergence = summary.divergence.map(|left| {
        let step = replayer.step_in_words(&left);
        format!("{step}, {}: expected {}, found {}", left.thread, left.expected, left.came)
    });
    finding.replay = Some(Replayed { times: summary.times, confirmed: summary.confirmed, divergence });
}
