//! Running a program along a route: which thread runs how far, and nothing about what it does there.

use std::time::Duration;

use load::Recorded;
use trace::ThreadPath;
use wire::OnDivergence;

use super::outcome::Outcome;
use super::plan::Control;
use super::{Command, Replay, ReplayError, ReplayVerdict, run};
use crate::Cancellation;
use crate::failure::RunFailure;

/// How a route is followed.
#[derive(Clone, Debug)]
pub struct FollowSettings {
    /// How threads are scheduled at the end of the route.
    pub runtime: wire::RuntimeSettings,
    /// When to end a program that does not end.
    pub limit: Duration,
    /// Ends the program when the run is called off.
    pub cancellation: Cancellation,
}

/// Runs the command along a route: each thread in turn until it has performed a number of events. Then the program goes on as it likes.
pub fn follow(
    route: &[(ThreadPath, u64)],
    command: &Command,
    settings: &FollowSettings,
) -> Result<Replay, ReplayError> {
    let control = Control::along(route, OnDivergence::Continue);
    let runtime = wire::RuntimeSettings { mode: wire::Mode::Replay, ..settings.runtime };
    let ran = run::run(
        command,
        &control.to_bytes(&command.descriptors),
        &runtime,
        settings.limit,
        &settings.cancellation,
    )?;
    let outcome = Outcome::read(&ran.outcome());
    let log = ran.log();
    let here = std::env::current_dir().unwrap_or_default();
    let directory = command.directory.as_deref().unwrap_or(&here);
    let output = ran.output();
    let recorded = log.as_ref().map(|(log, modules)| Recorded { log, modules, directory });
    let failure = RunFailure::of(ran.ending, &output, recorded)?;
    let verdict = match outcome.diverged {
        Some(_) => ReplayVerdict::Diverged,
        None => ReplayVerdict::Confirmed,
    };
    Ok(Replay {
        verdict,
        divergence: None,
        ending: ran.ending,
        output,
        elapsed: ran.elapsed,
        events: Vec::new(),
        threads: Vec::new(),
        failure,
        log,
    })
}
