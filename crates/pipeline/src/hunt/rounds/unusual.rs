//! Runs with another outcome than the recorded run: they did not fail, but ended with another exit status, or printed something else.
//!
//! Such a run is made once more along its own schedule, and so is the recorded run. What differs then does not come from the schedule, and is
//! not looked at. If anything is left, the run is searched as a failed one is: what is wrong in it may be what made the difference, although it
//! happened there. The recorded run is searched in the same way, since it may be the one in which something is wrong. Whether a pattern makes the
//! difference is judged as usual, by runs with it and without.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use report::Finding;
use run::replay::{Command, FollowSettings, follow};
use trace::Trace;

use super::behaviours::carrier;
use super::reduce::{legs_of_trace, to_the_end};
use super::{Rounds, RunResult};
use crate::error::Error;
use crate::hunt::harm::{Lines, SeenRun, Varying};
use crate::hunt::outcomes::{UnusualRun, class_of, difference};
use crate::observer::Observer;
use crate::recorded_command::{ChosenBy, command_of};
use crate::trace_file::ExploredTrace;

/// The most outcomes that are searched.
const MOST: usize = 4;
/// How long a run may take that is made again.
const LONGEST: Duration = Duration::from_secs(5);

/// The outcomes that were searched so far.
#[derive(Debug, Default)]
pub(super) struct SearchedOutcomes {
    /// Their classes.
    classes: BTreeSet<Vec<String>>,
    /// What the recorded run printed when it was made again; none: not yet tried.
    again: Option<Option<SeenRun>>,
    /// Whether the recorded run was searched once more.
    searched_recorded: bool,
}

impl Rounds<'_> {
    /// Replays as often as asked for what was replayed once, and looks at runs with another outcome than the recorded run.
    pub(super) fn settle_outcomes(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.repeat_replays(observer)?;
        if self.options.rounds == 1 {
            return Ok(());
        }
        let Ok(command) = command_of(self.first.trace.metadata(), ChosenBy::User) else { return Ok(()) };
        while self.options.times > 0 && !self.is_over() {
            let Some(usual) = self.explorer.outcomes.usual().cloned() else { return Ok(()) };
            let unusual = &mut self.explorer.outcomes.unusual;
            // Another status says more than another line.
            let other_status = unusual.iter().position(|unusual| unusual.run.ending != usual.ending);
            if unusual.is_empty() {
                break;
            }
            let next = unusual.remove(other_status.unwrap_or(0));
            self.look_at(next, &usual, &command, observer)?;
        }
        Ok(())
    }

    fn look_at(
        &mut self,
        UnusualRun { run, recording }: UnusualRun,
        usual: &SeenRun,
        command: &Command,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        if self.unusual.again.is_none() {
            self.unusual.again = Some(self.run_again(&self.first.trace, command)?);
        }
        let again = self.unusual.again.as_ref().and_then(Option::as_ref);
        let varying = again.map_or_else(Varying::default, |again| varying_between(usual, again));
        let class = class_of(&difference(&run, usual, &varying));
        let is_known = class.is_empty() || self.unusual.classes.contains(&class) || self.explains(&class);
        if is_known || self.unusual.classes.len() == MOST {
            self.forget(&recording);
            return Ok(());
        }
        let Some(file) = self.open(&recording, observer)? else { return Ok(()) };
        let comes_again = self.run_again(&file.trace, command)?.is_some_and(|again| {
            let class_again = class_of(&difference(&again, usual, &varying_between(&run, &again)));
            again.ending == run.ending && class_again == class
        });
        if !comes_again {
            self.forget(&recording);
            return Ok(());
        }
        self.unusual.classes.insert(class.clone());
        let new = self.search(&file, Some(&recording), RunResult::Failed, observer)?;
        self.replay(&file, &new, observer)?;
        self.explored.push(ExploredTrace { name: recording, file });
        if !self.unusual.searched_recorded && !self.explains(&class) && !self.is_over() {
            self.unusual.searched_recorded = true;
            let new = self.search(self.first, None, RunResult::Failed, observer)?;
            self.replay(self.first, &new, observer)?;
        }
        Ok(())
    }

    /// Whether a finding that is shown makes this difference, in one direction or the other.
    fn explains(&self, class: &[String]) -> bool {
        let reversed = |line: &String| match line.split_at(1) {
            ("+", rest) => format!("-{rest}"),
            (_, rest) => format!("+{rest}"),
        };
        let mut other_way: Vec<String> = class.iter().map(reversed).collect();
        other_way.sort_unstable();
        let is_shown = |finding: &&Finding| finding.shown == Some(true);
        self.predictions.findings.iter().filter(is_shown).any(|finding| {
            let made = class_of(&finding.difference);
            made == class || made == other_way
        })
    }

    /// What a recorded run comes to when it is made again along the same schedule.
    fn run_again(&self, trace: &Trace, command: &Command) -> Result<Option<SeenRun>, Error> {
        let limit = self.options.budget.time_left().map_or(LONGEST, |left| left.min(LONGEST));
        let cancellation = self.options.cancellation.clone();
        let settings = FollowSettings { runtime: wire::RuntimeSettings::DEFAULT, limit, cancellation };
        let replayed = follow(&to_the_end(legs_of_trace(trace)), command, &settings)
            .map_err(|error| carrier(command).cannot_run(&error.to_string()))?;
        let (ending, output, failure) = (replayed.ending, replayed.output, replayed.failure);
        Ok(ending.is_own().then_some(SeenRun { ending, output, failure }))
    }

    /// Removes the recording of an outcome that is not looked at. Those of runs that were asked for stay.
    fn forget(&self, recording: &str) {
        if recording.starts_with("outcome-") {
            drop(fs::remove_file(self.directory.recording(recording)));
        }
    }
}

/// What differs between two runs along the same schedule.
fn varying_between(one: &SeenRun, other: &SeenRun) -> Varying {
    Varying::between(&[Lines::of(&one.output), Lines::of(&other.output)])
}
