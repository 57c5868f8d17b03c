//! Confirming a finding: the recorded program is run along the finding's schedule, and what it did decides.

use std::time::Duration;

use check::Model;
use report::{Finding, Rung};
use run::replay::{Command, ReplayVerdict};

use crate::budget::Cancellation;
use crate::error::Error;
use crate::recorded_command::{ChosenBy, command_of};
use crate::replay::{ReplaySummary, Replayer, cannot_be_replayed};
use crate::schedules::{recorded_order, schedule_file};
use crate::trace_file::TraceFile;

/// How a finding is confirmed.
#[derive(Clone, Debug)]
pub struct ConfirmOptions {
    /// The model that the finding was predicted under.
    pub model: Model,
    /// What to run; none: the command that was recorded, if it may be run.
    pub command: Option<Command>,
    /// How often to replay.
    pub times: u64,
    /// When to end a run that does not end.
    pub limit: Duration,
    /// Whether to look for a schedule with fewer switches between threads first.
    pub minimize: bool,
    /// Calls it off.
    pub cancellation: Cancellation,
}

impl Default for ConfirmOptions {
    fn default() -> Self {
        ConfirmOptions {
            model: Model::ReadsFrom,
            command: None,
            times: 3,
            limit: Duration::from_secs(60),
            minimize: false,
            cancellation: Cancellation::default(),
        }
    }
}

/// What replays made of a finding.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// How sure the finding is now.
    pub rung: Rung,
    /// The result of the replays.
    pub replays: ReplaySummary,
}

/// Replays a finding of a recorded trace.
pub fn confirm(file: &TraceFile, finding: &Finding, options: &ConfirmOptions) -> Result<Confirmation, Error> {
    let replayer = replayer(file, finding, options)?;
    let (replays, _) = replayer.run()?;
    Ok(Confirmation { rung: rung_after(finding, replays.result), replays })
}

/// What runs the program along a finding's schedule.
pub fn replayer(file: &TraceFile, finding: &Finding, options: &ConfirmOptions) -> Result<Replayer, Error> {
    if file.trace.notes().is_none() {
        return Err(cannot_be_replayed(&finding.id));
    }
    let command = match &options.command {
        Some(command) => command.clone(),
        None => command_of(file.trace.metadata(), ChosenBy::File)?,
    };
    let schedule = schedule_file(file, finding, options.model, options.minimize)?;
    let mut replayer = Replayer::new(finding.id.clone(), &schedule, command)?;
    replayer.expect(finding);
    if let Some(recorded) = recorded_order(file, finding, options.model)? {
        replayer.compare_with(&recorded);
    }
    replayer.times = options.times;
    replayer.limit = options.limit;
    replayer.cancellation = options.cancellation.clone();
    Ok(replayer)
}

/// How sure a finding is after replays came to this.
pub(crate) fn rung_after(finding: &Finding, result: ReplayVerdict) -> Rung {
    match result {
        ReplayVerdict::Confirmed => Rung::Confirmed,
        // A run failed so: that no replay can follow it does not undo that.
        ReplayVerdict::Diverged if finding.failure.is_some() => finding.rung,
        ReplayVerdict::Diverged => Rung::Diverged,
        ReplayVerdict::NotReached => finding.rung,
    }
}
