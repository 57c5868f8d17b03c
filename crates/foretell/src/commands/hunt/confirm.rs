//! Replaying what was foretold: the step from `predicted` to `confirmed`.

use std::time::{Duration, Instant};

use check::Model;
use report::{Finding, Replayed, Rung};
use run::replay::{Command, ReplayVerdict};

use super::explore::Exploring;
use super::run_directory::RunDirectory;
use crate::diagnostics::Diagnostic;
use crate::open::Opened;
use crate::replaying::{Replaying, Summary};

/// How findings are replayed.
pub(super) struct Confirming<'a> {
    pub(super) opened: &'a Opened,
    pub(super) model: Model,
    pub(super) times: u64,
    pub(super) ends: Instant,
    pub(super) directory: &'a RunDirectory,
}

impl Confirming<'_> {
    /// Writes the finding's schedule, and replays it if there is time; whether there was. Other ways that the program takes meanwhile are
    /// noted.
    pub(super) fn replay(
        &self,
        finding: &mut Finding,
        exploring: &mut Exploring<'_>,
    ) -> Result<bool, Diagnostic> {
        let file = self.directory.write_schedule(self.opened, finding, self.model)?;
        let left = self.ends.saturating_duration_since(Instant::now());
        let command = Command::recorded(self.opened.trace.metadata());
        let (Some(command), 1.., false) = (command, self.times, left.is_zero()) else { return Ok(false) };
        let mut replaying = Replaying::new(finding.id.clone(), &file, command)?;
        replaying.times = self.times;
        replaying.limit = left.max(Duration::from_secs(1));
        let summary = exploring.run(&replaying, self.opened)?;
        let tried = summary.times > 0;
        if tried {
            climb(finding, summary, &replaying);
        }
        Ok(tried)
    }
}

/// What a replay makes of a finding.
fn climb(finding: &mut Finding, summary: Summary, replaying: &Replaying) {
    match summary.result {
        ReplayVerdict::Confirmed => finding.rung = Rung::Confirmed,
        ReplayVerdict::Diverged => finding.rung = Rung::Diverged,
        ReplayVerdict::NotReached => {}
    }
    let divergence = summary.divergence.map(|left| {
        let step = replaying.step_in_words(&left);
        format!("{step}, {}: expected {}, found {}", left.thread, left.expected, left.came)
    });
    finding.replay = Some(Replayed { times: summary.times, confirmed: summary.confirmed, divergence });
}
