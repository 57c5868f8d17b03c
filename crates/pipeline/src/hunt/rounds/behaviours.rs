//! The rest of the budget: runs towards behaviours that no run has shown.
//!
//! The first runs are chosen to differ: the creator of a thread goes first, the new thread goes first, all threads in turn, random priorities. Then
//! the [search](behaviours::Search) says which read is to see something else, and how to get there; reads and writes at places that were not seen
//! together come first. Each run is a recording like any other: it is checked for failure, and searched if it shows something new.
//! The program runs on all cores, one run on each.

use std::num::NonZeroU64;
use std::path::Path;
use std::time::{Duration, Instant};

use behaviours::{Doubt, Task};
use report::{Finding, Harm, HuntEnd, StoppedBy};
use run::influences::{Influence, influences};
use run::replay::{Command, FollowSettings, Goal, Plan, Replay, follow};
use trace::{ExpectedFailure, ThreadPath};

use super::Rounds;
use crate::budget::{Bound, bound_of_findings};
use crate::error::Error;
use crate::hunt::{ExplorationTarget, SharedStep, StepOutcome};
use crate::observer::{Coverage, Observer, Progress, Stage};
use crate::parallel::{cores, map_in_parallel};
use crate::recorded_command::{ChosenBy, command_of};
use crate::replay::Replayer;
use crate::trace_file::ExploredTrace;

/// A run may take this many times as long as the longest of the first runs, and at least [`SHORTEST_LIMIT`].
const SLACK: u32 = 10;
const SHORTEST_LIMIT: Duration = Duration::from_secs(1);
/// Events that are recorded of each run; the search looks at shorter ones only.
const MOST_EVENTS: u64 = 4_000_000;
/// A run is taken in at this rate at least, with others before and after it.
const EVENTS_A_SECOND: u64 = 25_000;
/// After this number of runs a program has more behaviours than its small steps suggest. From then on one run in [`ONE_IN`] is left to random
/// priorities, which go far from all runs so far.
const SYSTEMATIC: u64 = 64;
const ONE_IN: u64 = 8;
/// No run may take more than this share of the time that is left.
const SHARE: u32 = 4;

/// How the first runs are scheduled.
pub(super) fn first_runs(seed: u64) -> [wire::RuntimeSettings; 4] {
    let with = |policy, new_threads, quantum| wire::RuntimeSettings {
        seed,
        policy,
        new_threads,
        quantum: NonZeroU64::new(quantum),
        max_events: NonZeroU64::new(MOST_EVENTS),
        ..wire::RuntimeSettings::DEFAULT
    };
    [
        with(wire::Policy::Random, wire::NewThreads::Last, 0),
        with(wire::Policy::Random, wire::NewThreads::First, 0),
        with(wire::Policy::RoundRobin, wire::NewThreads::Either, 1),
        with(wire::Policy::Pct, wire::NewThreads::Either, 4),
    ]
}

/// How a run goes on after its route. Half of them let one thread run for as long as it can: one that spins before it blocks comes to
/// the blocking.
fn after_a_route(run: u64) -> wire::RuntimeSettings {
    let policy = if run.is_multiple_of(2) { wire::Policy::Pct } else { wire::Policy::Random };
    wire::RuntimeSettings { policy, ..wire::RuntimeSettings::DEFAULT }
}

/// Where the time goes.
#[derive(Debug, Default)]
struct Spent {
    running: Duration,
    searching: Duration,
}

/// A run to be made.
struct PlannedRun {
    /// The target it is made for; none: the policy alone chooses.
    task: Option<Task>,
    /// How it starts.
    route: Vec<(ThreadPath, u64)>,
    runtime: wire::RuntimeSettings,
}

impl PlannedRun {
    /// A run whose policy alone chooses.
    fn by_policy(runtime: wire::RuntimeSettings) -> PlannedRun {
        PlannedRun { task: None, route: Vec::new(), runtime }
    }

    /// A run for a target.
    fn towards(task: Task, runtime: wire::RuntimeSettings) -> PlannedRun {
        let route = task.route.legs.iter().map(|leg| (leg.thread.clone(), leg.until)).collect();
        PlannedRun { task: Some(task), route, runtime }
    }
}

impl Rounds<'_> {
    /// Makes runs towards new behaviours until none is left or the budget is used.
    pub(super) fn explore_behaviours(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        let over = self.end().filter(|end| *end != HuntEnd::NoNewFindings);
        self.ended = over.unwrap_or(HuntEnd::RecordedRunOnly);
        let Ok(command) = command_of(self.first.trace.metadata(), ChosenBy::User) else { return Ok(()) };
        if over.is_some() || self.options.times == 0 || self.options.rounds == 1 {
            return Ok(());
        }
        self.doubt_the_program();
        self.explorer.is_over = false;
        observer.begin(&Stage::Exploring);
        let is_long = self.most_events().is_some_and(|most| self.first.trace.len() as u64 > most.get());
        self.ended = match is_long {
            true => self.explore_long_runs(&command, observer)?,
            false => self.explore_all(&command, observer)?,
        };
        while !self.is_over() && !self.explorer.kept.is_empty() {
            self.search_next(observer)?;
        }
        observer.end(None);
        self.save()
    }

    /// Makes runs that are too long to look for their other behaviours: each has the next seed, is checked for failure, and is searched as
    /// far as it is recorded.
    fn explore_long_runs(
        &mut self,
        command: &Command,
        observer: &mut dyn Observer,
    ) -> Result<HuntEnd, Error> {
        let (mut spent, mut seed) = (Spent::default(), self.options.seed);
        // The recorded run was scheduled as the first of them.
        let mut settings: Vec<wire::RuntimeSettings> = first_runs(seed).into_iter().skip(1).collect();
        loop {
            if let Some(end) = self.end() {
                return Ok(end);
            }
            let (max_events, limit) = (self.most_events(), self.run_limit(None));
            let next = settings.drain(..settings.len().min(cores()));
            let wanted =
                next.map(|runtime| PlannedRun::by_policy(wire::RuntimeSettings { max_events, ..runtime }));
            let wanted = wanted.collect();
            self.make_runs(wanted, command, limit, &mut spent)?;
            self.search_new(&mut spent, observer)?;
            if self.has_failure() || self.is_half_over() {
                self.settle_outcomes(observer)?;
            }
            if self.is_half_over() {
                self.explain_failures(observer)?;
            }
            observer.advance(Progress::Covered(self.covered()));
            if settings.is_empty() {
                seed = seed.wrapping_add(self.options.seed_step);
                settings.extend(first_runs(seed));
            }
        }
    }

    /// Makes runs towards every behaviour that the runs before show to be possible.
    fn explore_all(&mut self, command: &Command, observer: &mut dyn Observer) -> Result<HuntEnd, Error> {
        let (mut spent, mut seed, mut made) = (Spent::default(), self.options.seed, 0);
        let max_events = self.most_events();
        let mut first = Vec::from(first_runs(seed));
        // Replays that followed the recorded run have shown what is like it.
        if self.explorer.search.behaviours() > 0 {
            first.remove(0);
        }
        let first = first.into_iter();
        let first =
            first.map(|runtime| PlannedRun::by_policy(wire::RuntimeSettings { max_events, ..runtime }));
        let mut limit = self.run_limit(None);
        let longest = self.make_runs(first.collect(), command, limit, &mut spent)?;
        self.search_new(&mut spent, observer)?;
        loop {
            if let Some(end) = self.end() {
                return Ok(end);
            }
            if made > SYSTEMATIC || self.has_failure() || self.is_half_over() {
                self.settle_outcomes(observer)?;
            }
            if self.is_half_over() {
                self.explain_failures(observer)?;
            }
            limit = self.run_limit(Some(longest));
            let tasks: Vec<Task> =
                std::iter::from_fn(|| self.explorer.search.next_task()).take(cores()).collect();
            if tasks.is_empty() {
                return Ok(HuntEnd::NothingLeft);
            }
            let max_events = self.most_events();
            let mut wanted: Vec<PlannedRun> = Vec::new();
            for task in tasks {
                seed = seed.wrapping_add(self.options.seed_step);
                made += 1;
                let runtime = wire::RuntimeSettings { seed, max_events, ..after_a_route(made) };
                wanted.push(PlannedRun::towards(task, runtime));
            }
            if made > SYSTEMATIC && made % ONE_IN < cores() as u64 {
                let policy = wire::Policy::Pct;
                let runtime =
                    wire::RuntimeSettings { seed, max_events, policy, ..wire::RuntimeSettings::DEFAULT };
                wanted.push(PlannedRun::by_policy(runtime));
            }
            self.make_runs(wanted, command, limit, &mut spent)?;
            self.search_new(&mut spent, observer)?;
            observer.advance(Progress::Covered(self.covered()));
        }
    }

    /// Makes one step of an exploration that many hunts share: a run, a search of it, and the targets that are left.
    pub(super) fn take_step(&mut self, step: &SharedStep, observer: &mut dyn Observer) -> Result<(), Error> {
        // Who goes towards a target leaves the recorded run to who found it.
        if step.target.is_none() {
            self.search_recorded(observer)?;
        }
        self.ended =
            self.end().filter(|end| *end != HuntEnd::NoNewFindings).unwrap_or(HuntEnd::RecordedRunOnly);
        let route = step.target.as_ref().map_or(Some(Vec::new()), ExplorationTarget::legs);
        let command = command_of(self.first.trace.metadata(), ChosenBy::User);
        let (Ok(command), Some(route), false) = (command, route, self.is_over()) else { return self.save() };
        self.explorer.is_over = false;
        observer.begin(&Stage::Exploring);
        let (seed, max_events) = (self.options.seed, self.most_events());
        let runtime = wire::RuntimeSettings { seed, max_events, ..wire::RuntimeSettings::DEFAULT };
        let mut spent = Spent::default();
        let limit = self.run_limit(None);
        self.make_runs(vec![PlannedRun { task: None, route, runtime }], &command, limit, &mut spent)?;
        self.take_failures(observer)?;
        while !self.is_over() && !self.explorer.kept.is_empty() {
            self.search_next(observer)?;
        }
        let outcome = self.step_outcome();
        self.directory.save_step(&outcome)?;
        observer.end(None);
        self.save()
    }

    /// What runs have shown, and what is left.
    fn step_outcome(&mut self) -> StepOutcome {
        let covered = self.explorer.search.pairs().map(|pair| pair.to_string()).collect();
        let mut targets = Vec::new();
        while targets.len() < StepOutcome::MOST && !self.is_over() {
            // Those of pairs that were seen or tried come last.
            let task = self.explorer.search.next_task().filter(|task| task.is_new_pair);
            let Some(Task { route, pair, .. }) = task else { break };
            let route = route.legs.iter().map(|leg| (leg.thread.to_string(), leg.until)).collect();
            targets.push(ExplorationTarget { pair: pair.to_string(), route });
        }
        StepOutcome { covered, targets }
    }

    /// How many events a run may have: no more than can be taken in within a share of the time that is left.
    fn most_events(&self) -> Option<NonZeroU64> {
        let left = self.options.budget.time_left().map_or(u64::MAX, |left| left.as_secs().max(1));
        NonZeroU64::new(left.saturating_mul(EVENTS_A_SECOND).min(MOST_EVENTS))
    }

    /// How long a run may take: more than the first ones did, but a share of what is left.
    fn run_limit(&self, longest: Option<Duration>) -> Duration {
        let left = self.options.budget.time_left().unwrap_or(Duration::from_secs(60));
        let share = (left / SHARE).max(Duration::from_millis(200));
        longest.map_or(share, |longest| (longest * SLACK).max(SHORTEST_LIMIT).min(share))
    }

    /// Takes note of what the program's runs may depend on besides their schedules.
    fn doubt_the_program(&mut self) {
        let modules = self.first.trace.metadata().modules.iter().map(|module| Path::new(&module.path));
        for influence in influences(modules) {
            self.explorer.search.doubt(match influence {
                Influence::Time => Doubt::Time,
                Influence::Chance => Doubt::Chance,
                Influence::Input => Doubt::Input,
                Influence::Uninstrumented => Doubt::Uninstrumented,
            });
        }
    }

    /// Whether half of the time is used.
    fn is_half_over(&self) -> bool {
        let left = self.options.budget.time_left();
        left.is_some_and(|left| left < self.patience.elapsed())
    }

    /// Why the hunt ends now, if it does.
    fn end(&self) -> Option<HuntEnd> {
        if self.options.cancellation.is_cancelled() {
            return Some(HuntEnd::Stopped(StoppedBy::Interrupt));
        }
        if self.options.budget.is_exhausted() {
            let bound = self.options.budget.bounds.reached().unwrap_or(Bound::Time);
            return Some(HuntEnd::Stopped(bound_of_findings(bound)));
        }
        self.patience.is_over(self.has_failure()).then_some(HuntEnd::NoNewFindings)
    }

    /// Makes these runs at the same time, and takes them in; how long the longest took.
    fn make_runs(
        &mut self,
        wanted: Vec<PlannedRun>,
        command: &Command,
        limit: Duration,
        spent: &mut Spent,
    ) -> Result<Duration, Error> {
        let started = Instant::now();
        let cancellation = &self.options.cancellation;
        // Servers would get into each other's way.
        let at_once = if command.drive.is_some() { 1 } else { cores() };
        let made = map_in_parallel(wanted, at_once, |wanted| {
            let settings =
                FollowSettings { runtime: wanted.runtime, limit, cancellation: cancellation.clone() };
            let replayer = carrier(command);
            let replay = follow(&wanted.route, command, &settings)
                .map_err(|error| replayer.cannot_run(&error.to_string()));
            Ok((wanted.task, replay))
        })?;
        spent.running += started.elapsed();
        let mut longest = Duration::ZERO;
        for (task, replay) in made {
            // One that was ended halfway says nothing.
            if self.options.cancellation.is_cancelled() {
                return Ok(longest);
            }
            let replay: Replay = replay?;
            longest = longest.max(replay.elapsed);
            self.explorer.take_behaviour(&carrier(command), &replay, task.as_ref(), self.first)?;
        }
        Ok(longest)
    }

    /// Takes in failures, and searches recordings of new paths as long as that takes no more time than making them.
    fn search_new(&mut self, spent: &mut Spent, observer: &mut dyn Observer) -> Result<(), Error> {
        let started = Instant::now();
        self.take_failures(observer)?;
        while !self.is_over() && !self.explorer.kept.is_empty() && spent.searching <= spent.running {
            self.search_next(observer)?;
            spent.searching += started.elapsed();
        }
        Ok(())
    }

    /// Searches a recording of a new path.
    fn search_next(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        let name = self.explorer.kept.remove(0);
        let Some(file) = self.open(&name, observer)? else { return Ok(()) };
        self.round(&file, Some(&name), observer)?;
        self.explored.push(ExploredTrace { name, file });
        Ok(())
    }

    /// Whether a run failed.
    fn has_failure(&self) -> bool {
        let fails = |finding: &Finding| {
            finding.failure.is_some() || matches!(finding.harm, Some(Harm::Failure | Harm::Hang))
        };
        self.predictions.findings.iter().any(fails)
    }

    /// What the hunt has covered.
    pub(super) fn covered(&self) -> Coverage {
        let search = &self.explorer.search;
        let statuses = &self.explorer.counts.statuses;
        let statuses: Vec<i32> = statuses.iter().filter(|_| statuses.len() > 1).copied().collect();
        Coverage {
            runs: self.explorer.counts.all,
            behaviours: self.explorer.behaviours(),
            targets: search.left(),
            doubts: search.doubts().map(|doubt| doubt.to_string()).collect(),
            exhausted: search.is_exhausted()
                && !self.has_failure()
                && !self.recorded_run_failed
                && statuses.is_empty(),
            statuses,
            ended: self.ended,
            first_failure: self.explorer.counts.first_failure,
        }
    }
}

/// What goes with a run that follows a route: the command, and no goal.
pub(super) fn carrier(command: &Command) -> Replayer {
    let goal = Goal::Failure(ExpectedFailure { identity: String::new(), thread: None });
    Replayer::along(
        String::new(),
        Plan { steps: Vec::new(), goal, names: Default::default() },
        command.clone(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_runs_differ() {
        let runs = first_runs(7);
        for (index, run) in runs.iter().enumerate() {
            assert!(!runs[..index].contains(run), "{run:?} is there twice");
        }
        let orders: Vec<wire::NewThreads> = runs.iter().map(|run| run.new_threads).collect();
        assert!(orders.contains(&wire::NewThreads::First) && orders.contains(&wire::NewThreads::Last));
    }
}
