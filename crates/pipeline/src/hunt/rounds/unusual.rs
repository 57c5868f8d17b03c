//! Runs that did not fail, but ended with another exit status than the recorded run.
//!
//! Such a run is made once more along its own schedule. If it ends with this status again, the schedule makes the difference, and the run is searched
//! as a failed one is: what is wrong in it may be what made the difference, although it happened there. If nothing explains the status, the
//! recorded run is searched in the same way, since it may be the one in which something is wrong. Whether a pattern makes the difference is judged
//! as usual, by runs with it and without.

use std::fs;
use std::time::Duration;

use report::{Finding, Harm};
use run::replay::{Command, FollowSettings, follow};
use trace::{Ending, Trace};

use super::behaviours::carrier;
use super::reduce::{legs_of_trace, to_the_end};
use super::{Rounds, RunResult};
use crate::error::Error;
use crate::hunt::outcomes::UnusualRun;
use crate::observer::Observer;
use crate::recorded_command::{ChosenBy, command_of};
use crate::trace_file::ExploredTrace;

/// The most statuses whose runs are searched.
const MOST: usize = 4;
/// How long a run may take that is made again.
const LONGEST: Duration = Duration::from_secs(5);

/// What was searched for the reason of a status.
#[derive(Debug, Default)]
pub(super) struct SearchedStatuses {
    runs: usize,
    is_recorded_run: bool,
}

impl Rounds<'_> {
    /// Replays as often as asked for what was replayed once, and looks at runs with another exit status than the recorded run.
    pub(super) fn settle_outcomes(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.repeat_replays(observer)?;
        if self.options.rounds == 1 || self.options.times == 0 {
            return Ok(());
        }
        let Ok(command) = command_of(self.first.trace.metadata(), ChosenBy::User) else { return Ok(()) };
        while !self.is_over() {
            let Some(next) = self.explorer.outcomes.unusual.pop() else { break };
            self.look_at(next, &command, observer)?;
        }
        Ok(())
    }

    fn look_at(
        &mut self,
        UnusualRun { status, recording }: UnusualRun,
        command: &Command,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        if self.searched_statuses.runs == MOST || self.explains(status) {
            self.forget(&recording);
            return Ok(());
        }
        let Some(file) = self.open(&recording, observer)? else { return Ok(()) };
        if self.run_again(&file.trace, command)? != Ending::Exited(status) {
            self.forget(&recording);
            return Ok(());
        }
        self.searched_statuses.runs += 1;
        let new = self.search(&file, Some(&recording), RunResult::Failed, observer)?;
        self.replay(&file, &new, observer)?;
        self.explored.push(ExploredTrace { name: recording, file });
        if !self.searched_statuses.is_recorded_run && !self.explains(status) && !self.is_over() {
            self.searched_statuses.is_recorded_run = true;
            let new = self.search(self.first, None, RunResult::Failed, observer)?;
            self.replay(self.first, &new, observer)?;
        }
        Ok(())
    }

    /// Whether a finding that is shown makes the program end with this status, or keeps it from doing so.
    fn explains(&self, status: i32) -> bool {
        let ends_so = |line: &String| line.ends_with(&format!(" ends with status {status}"));
        let makes_it = |finding: &Finding| {
            let is_shown = finding.shown == Some(true);
            is_shown && finding.harm == Some(Harm::Status) && finding.difference.iter().any(ends_so)
        };
        self.predictions.findings.iter().any(makes_it)
    }

    /// How a recorded run ends when it is made again along the same schedule.
    fn run_again(&self, trace: &Trace, command: &Command) -> Result<Ending, Error> {
        let limit = self.options.budget.time_left().map_or(LONGEST, |left| left.min(LONGEST));
        let cancellation = self.options.cancellation.clone();
        let settings = FollowSettings { runtime: wire::RuntimeSettings::DEFAULT, limit, cancellation };
        let replayed = follow(&to_the_end(legs_of_trace(trace)), command, &settings)
            .map_err(|error| carrier(command).cannot_run(&error.to_string()))?;
        Ok(replayed.ending)
    }

    /// Removes the recording of an outcome that is not looked at. Those of runs that were asked for stay.
    fn forget(&self, recording: &str) {
        if recording.starts_with("outcome-") {
            drop(fs::remove_file(self.directory.recording(recording)));
        }
    }
}
