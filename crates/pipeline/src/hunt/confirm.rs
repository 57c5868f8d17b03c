//! Replaying findings: the step from `predicted` to `confirmed`.

use std::time::Duration;

use check::Model;
use report::{Finding, FindingKind, Harm, Replayed, Rung};
use run::failure::RunFailure;
use trace::{EventId, Trace};

use super::expected::RecordedViolations;
use super::explore::{Explored, Explorer};
use super::harm::{SeenRun, harm};
use super::ordinary::OrdinaryRuns;
use super::run_directory::RunDirectory;
use crate::budget::{Budget, Cancellation};
use crate::confirm::rung_after;
use crate::error::Error;
use crate::fullest::fullest_schedule;
use crate::recorded_command::{ChosenBy, command_of};
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
    /// The trace of the recorded run.
    pub(super) recorded: &'a Trace,
    /// When to say what harm a finding does.
    pub(super) judging: Judging<'a>,
}

/// When to say what harm a finding does: that may take runs for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judging<'a> {
    /// Now.
    Now,
    /// When it is replayed again.
    Later,
    /// Now. It is known to be in the run of this failure, by its identity, and in none that ended well.
    AsCauseOf(&'a str),
}

/// What replays along one schedule have shown.
struct Attempt {
    seen: Vec<SeenRun>,
    /// Whether the program was run.
    tried: bool,
}

impl Confirmer<'_> {
    /// Writes the finding's schedule, and replays it if there is time; whether there was. Other paths that the program takes
    /// meanwhile are kept. What was replayed before is replayed as often again.
    pub(super) fn confirm(
        &self,
        finding: &mut Finding,
        explorer: &mut Explorer<'_>,
        ordinary: &mut OrdinaryRuns,
    ) -> Result<bool, Error> {
        let Some(Attempt { mut seen, tried }) = self.attempt(finding, explorer)? else { return Ok(false) };
        if finding.rung == Rung::Diverged
            && let Some(full) = self.fuller(finding)
        {
            let shortest = std::mem::replace(&mut finding.schedule, full);
            seen.extend(self.attempt(finding, explorer)?.into_iter().flat_map(|attempt| attempt.seen));
            if finding.rung != Rung::Confirmed {
                finding.schedule = shortest;
                self.directory.write_schedule(self.file, finding, self.model)?;
            }
        }
        let is_clear = self.judging != Judging::Later || finding.kind == FindingKind::Deadlock;
        let is_open = finding.rung == Rung::Confirmed && finding.failure.is_none() && finding.harm.is_none();
        if is_open && is_clear {
            self.judge(finding, &seen, ordinary, explorer)?;
        }
        Ok(tried)
    }

    /// Replays the finding along its schedule, if there is time.
    fn attempt(&self, finding: &mut Finding, explorer: &mut Explorer<'_>) -> Result<Option<Attempt>, Error> {
        let schedule = self.directory.write_schedule(self.file, finding, self.model)?;
        let left = self.budget.time_left().unwrap_or(LONGEST_REPLAY);
        let command = command_of(self.file.trace.metadata(), ChosenBy::User).ok();
        let (Some(command), 1.., false) = (command, self.times, left.is_zero()) else { return Ok(None) };
        let mut replayer = Replayer::new(finding.id.clone(), &schedule, command)?;
        replayer.expect(finding);
        replayer.times = self.times;
        replayer.limit = (left / SHARE).clamp(Duration::from_secs(1), LONGEST_REPLAY);
        replayer.cancellation = self.cancellation.clone();
        replayer.bounds = self.budget.bounds;
        let Explored { summary, seen } = explorer.run(&replayer, self.file)?;
        let tried = summary.times > 0;
        if tried {
            apply(finding, summary, &replayer);
        }
        Ok(Some(Attempt { seen, tried }))
    }

    /// A longer schedule for a race whose own one the program has left.
    fn fuller(&self, finding: &Finding) -> Option<Vec<EventId>> {
        let trace = &self.file.trace;
        let question = finding.question.about(trace).ok()?;
        fullest_schedule(trace, &question).filter(|full| full.len() > finding.schedule.len())
    }

    /// Says what harm the finding did when it was seen.
    fn judge(
        &self,
        finding: &mut Finding,
        seen: &[SeenRun],
        ordinary: &mut OrdinaryRuns,
        explorer: &mut Explorer<'_>,
    ) -> Result<(), Error> {
        if finding.kind == FindingKind::Deadlock {
            finding.harm = Some(Harm::Hang);
            return Ok(());
        }
        if let Judging::AsCauseOf(identity) = self.judging {
            let failures: Vec<&RunFailure> = seen.iter().filter_map(|seen| seen.failure.as_ref()).collect();
            let is_cause =
                failures.len() == seen.len() && failures.iter().all(|failure| failure.identity() == identity);
            finding.harm = Some(match failures.first().filter(|_| is_cause) {
                Some(failure) if failure.is_hang() => Harm::Hang,
                Some(_) => Harm::Failure,
                None => Harm::None,
            });
            return Ok(());
        }
        let worst = |ordinary: &OrdinaryRuns, finding: &Finding| {
            let others = ordinary.without(finding, &self.file.trace, self.recorded);
            let each = seen.iter().map(|seen| harm(seen, &others));
            each.min_by_key(|(harm, _)| *harm).unwrap_or((Harm::None, Vec::new()))
        };
        let (mut done, mut difference) = worst(ordinary, finding);
        // What only differs from one run may differ from run to run.
        if done.is_visible() {
            ordinary.make_enough(explorer, self.file)?;
            (done, difference) = worst(ordinary, finding);
        }
        // A replay along the schedule of a run that went wrong goes wrong as well, whichever pattern of that run it is for.
        if done.is_visible() && finding.kind == FindingKind::Atomicity {
            let follows = matches!(done, Harm::Failure | Harm::Hang)
                || RecordedViolations::new(&self.file.trace).has(finding);
            let ended_well = |seen: &SeenRun| seen.failure.is_none() && seen.ending.is_own();
            let is_harmless = || {
                let found_in = &self.file.trace;
                matches!(done, Harm::Failure | Harm::Hang) && seen.iter().any(ended_well)
                    || ordinary.show_it_harmless(&explorer.ended_well, finding, found_in, self.recorded)
            };
            if follows && is_harmless() {
                (done, difference) = (Harm::None, Vec::new());
            }
        }
        (finding.harm, finding.difference) = (Some(done), difference);
        if matches!(done, Harm::Failure | Harm::Hang) && !finding.inherent {
            let failures = seen.iter().filter_map(|seen| seen.failure.as_ref());
            explorer.explained.extend(failures.map(RunFailure::identity));
        }
        Ok(())
    }
}

/// How long a replay may take.
const LONGEST_REPLAY: Duration = Duration::from_secs(60);
/// And which share of the time that is left: one that hangs leaves time for others.
const SHARE: u32 = 4;

/// What replays make of a finding, together with those before.
fn apply(finding: &mut Finding, summary: ReplaySummary, replayer: &Replayer) {
    let divergence = summary.divergence.map(|left| {
        let step = replayer.step_in_words(&left);
        format!("{step}, {}: expected {}, found {}", left.thread, left.expected, left.came)
    });
    let now = Replayed { times: summary.times, confirmed: summary.confirmed, divergence };
    // What was seen once has happened.
    if finding.replay.as_ref().is_none_or(|before| before.confirmed == 0) {
        finding.rung = rung_after(finding, summary.result);
    }
    finding.replay = Some(match finding.replay.take() {
        Some(before) => Replayed {
            times: before.times + now.times,
            confirmed: before.confirmed + now.confirmed,
            divergence: before.divergence.or(now.divergence),
        },
        None => now,
    });
}
