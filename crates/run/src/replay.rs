//! Running the real program into a bug that was foretold.
//!
//! A [`Plan`] is a schedule and what it leads to. The runtime inside the program follows it ([`plan`], [`run`]) and tells what it saw
//! at the end of it ([`outcome`]); the log it writes on the way is compared with the schedule, event by event
//! ([`verify`]). Only if both agree is the bug confirmed.

mod debugger;
mod follow;
mod outcome;
mod plan;
mod result;
mod run;
mod tsan;
mod verify;

use std::borrow::Cow;
use std::io;
use std::num::NonZeroU64;
use std::time::Duration;

use crate::Cancellation;
use crate::failure::{RunFailure, ThreadAtEnd};
pub use debugger::{debug, launch};
pub use follow::{FollowSettings, follow};
use load::inspect::{InspectedEvent, Inspection, inspect};
use load::{LoadError, Recorded};
use outcome::Outcome;
use plan::Control;
pub use plan::{Goal, Plan, PlannedEvent, RaceOrder};
pub use result::{Divergence, ObservedEvent, Replay, ReplayVerdict};
pub use run::Command;
pub use trace::Ending;
use trace::ThreadPath;
pub use tsan::{NoOpinion, Opinion, ThreadSanitizer};
use verify::Verifying;
use wire::Memory;
pub use wire::{OnDivergence, TestBarriers};

/// What can keep a replay from being carried out.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The program cannot be run.
    #[error("{0}")]
    Run(#[from] io::Error),
    /// What it did could not be kept.
    #[error("{0}")]
    Lost(&'static str),
    /// What it left cannot be read.
    #[error("{0}")]
    Read(#[from] LoadError),
}

/// How a plan is carried out.
#[derive(Clone, Debug)]
pub struct ReplaySettings {
    /// Which of two racing accesses goes first.
    pub order: RaceOrder,
    /// What happens to a program that leaves the schedule.
    pub on_divergence: OnDivergence,
    /// What the barrier of libtsan's own tests does.
    pub test_barriers: TestBarriers,
    /// Whether a debugger may stop after every step.
    pub debugger: bool,
    /// Hold after this many steps instead of at the end, and end the program there.
    pub until: Option<usize>,
    /// When to end a program that does not end.
    pub limit: Duration,
    /// Ends the program when the replay is called off.
    pub cancellation: Cancellation,
    /// The seed of the random choices once the schedule has been followed.
    pub seed: u64,
}

impl ReplaySettings {
    /// The runtime's settings.
    fn for_runtime(&self, plan: &Plan) -> wire::RuntimeSettings {
        // What comes after a schedule that leads into a hang repeats itself.
        let afterwards = if plan.goal.is_endless() { REPEATED_EVENTS } else { LATER_EVENTS };
        let settings = wire::RuntimeSettings {
            mode: wire::Mode::Replay,
            seed: self.seed,
            test_barriers: self.test_barriers,
            max_events: NonZeroU64::new(plan.length().saturating_add(afterwards)),
            ..wire::RuntimeSettings::DEFAULT
        };
        match &plan.goal {
            // Threads that are in a state together leave it together.
            Goal::State => wire::RuntimeSettings {
                policy: wire::Policy::RoundRobin,
                quantum: Some(NonZeroU64::MIN),
                ..settings
            },
            _ => settings,
        }
    }
}

/// A program that is to hang is stopped after this time, and this number of its events are recorded after those of the schedule.
const ENDLESS: Duration = Duration::from_secs(3);
const REPEATED_EVENTS: u64 = 100_000;
/// The number of events that are recorded after those of any other schedule: a program may spin for ever when it has been
/// led elsewhere, and reading what it logs must not take all the time there is.
const LATER_EVENTS: u64 = 3_000_000;

/// Runs the command along the plan.
pub fn replay(plan: &Plan, command: &Command, settings: ReplaySettings) -> Result<Replay, ReplayError> {
    let plan = &*shortened(plan, settings.until);
    let control = Control::new(plan, &settings);
    let ran = run::run(
        command,
        &control.to_bytes(&command.descriptors),
        &settings.for_runtime(plan),
        if plan.goal.is_endless() { settings.limit.min(ENDLESS) } else { settings.limit },
        &settings.cancellation,
    )?;
    let outcome = Outcome::read(&ran.outcome());
    // A program that is ended while it starts has begun no log.
    let has_begun = |log: &[u8]| ran.ending != Ending::TimedOut || wire::Header::read(log).is_some();
    let log = ran.log().filter(|(log, _)| has_begun(log));
    if let Some(lost) = log.as_ref().and_then(|(log, _)| lost(log)) {
        return Err(ReplayError::Lost(lost));
    }
    let wanted = wanted(plan, &control, &outcome);
    let inspection = match &log {
        Some((log, modules)) => {
            let here = std::env::current_dir().unwrap_or_default();
            let directory = command.directory.as_deref().unwrap_or(&here);
            inspect(Recorded { log, modules, directory }, &wanted)?
        }
        None => Inspection::of_nothing(wanted.len()),
    };
    let verifying = Verifying { plan, control: &control, outcome: &outcome, inspection: &inspection };
    let divergence = verifying.divergence();
    let output = ran.output();
    let failure = RunFailure::of_inspection(ran.ending, &output, &inspection);
    let failed_so = match &plan.goal {
        Goal::Failure(planned) => {
            failure.as_ref().is_some_and(|failure| failure.identity() == planned.identity)
        }
        _ => false,
    };
    let ended_by_itself = matches!(ran.ending, Ending::Exited(_) | Ending::Killed(_));
    let verdict = match divergence {
        // However it got there: it failed the same way.
        _ if failed_so => ReplayVerdict::Confirmed,
        Some(_) => ReplayVerdict::Diverged,
        // Threads outside of the cycle are still running and might break it.
        None if is_open_deadlock(&plan.goal) && ran.ending == Ending::TimedOut => ReplayVerdict::NotReached,
        None if matches!(plan.goal, Goal::Failure(_)) => ReplayVerdict::NotReached,
        None if outcome.held => ReplayVerdict::Confirmed,
        None if ended_by_itself && verifying.has_happened() => ReplayVerdict::Confirmed,
        None => ReplayVerdict::NotReached,
    };
    Ok(Replay {
        verdict,
        divergence: divergence.filter(|_| verdict == ReplayVerdict::Diverged),
        ending: ran.ending,
        output,
        failure,
        elapsed: ran.elapsed,
        events: observed(plan, &control, &outcome, &inspection),
        threads: statuses(plan, &control, &outcome, &inspection),
        log,
    })
}

/// Why a replay's log is not all of it, if it is not: nothing can be said of such a replay.
fn lost(log: &[u8]) -> Option<&'static str> {
    match wire::Header::read(log) {
        Some(header) => load::lost_in_words(header.losses),
        None => Some("there was no room for its log"),
    }
}

/// The first steps of a plan, if it is to be followed so far only.
fn shortened(plan: &Plan, until: Option<usize>) -> Cow<'_, Plan> {
    match until {
        Some(steps) if steps < plan.steps.len() => {
            let names = plan.names.clone();
            Cow::Owned(Plan { steps: plan.steps[..steps].to_vec(), goal: Goal::State, names })
        }
        _ => Cow::Borrowed(plan),
    }
}

fn is_open_deadlock(goal: &Goal) -> bool {
    matches!(goal, Goal::Deadlock(_)) && !goal.is_closed()
}

/// Where the log is looked into: every step, every event that the goal names, and where each thread stood at the end of the
/// schedule. One without a place is not found.
fn wanted(plan: &Plan, control: &Control, outcome: &Outcome) -> Vec<(ThreadPath, u64)> {
    let all = plan.steps.iter().chain(plan.goal.named());
    let events = all.map(|event| (event.thread.clone(), event.place.unwrap_or(u64::MAX)));
    let standing = outcome
        .threads
        .iter()
        .map(|report| (control.table.path(report.thread).cloned().unwrap_or_default(), report.place));
    events.chain(standing).collect()
}

/// The threads at the end of the schedule.
fn statuses(
    plan: &Plan,
    control: &Control,
    outcome: &Outcome,
    inspection: &Inspection,
) -> Vec<ThreadAtEnd<String>> {
    let found = &inspection.events[plan.steps.len() + plan.goal.named().len()..];
    let threads = outcome.threads.iter().zip(found).filter_map(|(report, found)| {
        let thread = control.table.path(report.thread)?;
        // What it did next, it did from where it stood.
        let stack = match found {
            Some(found) => found.stack,
            None => inspection.last.get(thread).copied().flatten(),
        };
        let thread = plan.thread_name(thread);
        Some(ThreadAtEnd { thread, state: report.state, stack: inspection.stack(stack) })
    });
    threads.collect()
}

/// The events that the goal names.
fn observed(
    plan: &Plan,
    control: &Control,
    outcome: &Outcome,
    inspection: &Inspection,
) -> Vec<ObservedEvent> {
    let found = &inspection.events[plan.steps.len()..];
    let named = plan.goal.named().into_iter().zip(found);
    let observe = |(event, found): (&PlannedEvent, &Option<InspectedEvent>)| {
        let thread = control.table.number(&event.thread);
        let report = event.place.and_then(|place| outcome.access_report(thread, place));
        let at_the_end = || inspection.last.get(&event.thread).copied().flatten();
        let stack = found.as_ref().map_or_else(at_the_end, |found| found.stack);
        let bytes = |memory: Option<Memory>| memory.map(|memory| memory.as_bytes().to_vec());
        ObservedEvent {
            event: event.clone(),
            before: report.and_then(|report| bytes(report.before)),
            after: report.and_then(|report| bytes(report.after)),
            stack: inspection.stack(stack),
        }
    };
    named.map(observe).collect()
}
