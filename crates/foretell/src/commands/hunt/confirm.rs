//! Replaying what was foretold: the step from `predicted` to `confirmed`.

use std::time::{Duration, Instant};

use launch::replay::Command;
use report::{Finding, ModelName, Replayed, Rung};

use super::run_directory::RunDirectory;
use crate::diagnostics::Diagnostic;
use crate::open::Opened;
use crate::output::Target;
use crate::replaying::{Replaying, ResultName, Summary};
use crate::schedules::schedule_file;

/// How findings are replayed.
pub(super) struct Confirming<'a> {
    pub(super) opened: &'a Opened,
    pub(super) model: ModelName,
    pub(super) times: u64,
    pub(super) ends: Instant,
    pub(super) directory: &'a RunDirectory,
}

impl Confirming<'_> {
    /// Writes the finding's schedule, and replays it if there is time.
    pub(super) fn replay(&self, finding: &mut Finding) -> Result<(), Diagnostic> {
        let file = schedule_file(self.opened, finding, self.model, false)?;
        let target = self.directory.schedule(&finding.id);
        Target::plain(target.as_os_str()).write(|out| out.write_all(file.to_string().as_bytes()))?;
        let left = self.ends.saturating_duration_since(Instant::now());
        let command = Command::recorded(self.opened.trace.metadata());
        let (Some(command), 1.., false) = (command, self.times, left.is_zero()) else { return Ok(()) };
        let mut replaying = Replaying::new(finding.id.clone(), &file, command)?;
        replaying.times = self.times;
        replaying.limit = left.max(Duration::from_secs(1));
        let (summary, _) = replaying.run()?;
        climb(finding, summary);
        Ok(())
    }
}

/// What a replay makes of a finding.
fn climb(finding: &mut Finding, summary: Summary) {
    match summary.result {
        ResultName::Confirmed => finding.rung = Rung::Confirmed,
        ResultName::Diverged => finding.rung = Rung::Diverged,
        ResultName::NotReached => {}
    }
    let divergence = summary.divergence.map(|left| {
        format!("step {}, {}: expected {}, came {}", left.step, left.thread, left.expected, left.came)
    });
    finding.replay = Some(Replayed { times: summary.times, confirmed: summary.confirmed, divergence });
}
