//! Ordinary runs: what the program prints and how it ends when nobody leads it into anything.
//!
//! The recorded run is the first of them. More are made when a replay did something that the recorded run did not: what ordinary runs do
//! as well is no harm.

use std::collections::BTreeMap;
use std::time::Duration;

use report::{Finding, FindingKind, Harm, family};
use run::failure::RunFailure;
use run::replay::{Command, Goal, Plan, RaceOrder};
use trace::{Ending, EventId, ExpectedFailure, LocationId, Trace, VariableId};

use super::expected::{AccessSite, Effect, has_pattern};
use super::explore::Explorer;
use super::harm::{SeenRun, harm};
use crate::budget::{Budget, Cancellation};
use crate::error::Error;
use crate::replay::Replayer;
use crate::rerecording;
use crate::trace_file::TraceFile;

/// How many ordinary runs there are in the end, the recorded one included.
const ENOUGH: usize = 9;
/// How long each may take.
const LONGEST: Duration = Duration::from_secs(5);

/// A run that followed no schedule, or one whose pattern of accesses is looked at.
#[derive(Debug)]
pub(super) struct OrdinaryRun {
    pub(super) ending: Ending,
    pub(super) output: Vec<u8>,
    pub(super) failure: Option<RunFailure>,
    /// None: that of the recorded run.
    pub(super) trace: Option<Trace>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct OrdinaryRuns {
    runs: Vec<OrdinaryRun>,
    command: Option<Command>,
    budget: Budget,
    cancellation: Cancellation,
}

impl OrdinaryRuns {
    /// The recorded run, and what it takes to make more.
    pub(super) fn new(
        recorded: Option<(Ending, Vec<u8>, Option<RunFailure>)>,
        command: Option<Command>,
        budget: &Budget,
        cancellation: &Cancellation,
    ) -> Self {
        let runs =
            recorded.map(|(ending, output, failure)| OrdinaryRun { ending, output, failure, trace: None });
        OrdinaryRuns {
            runs: runs.into_iter().collect(),
            command,
            budget: budget.clone(),
            cancellation: cancellation.clone(),
        }
    }

    /// Those in which the finding, of the recording `found_in`, did not happen. `recorded` is the trace of the recorded run.
    pub(super) fn without(&self, finding: &Finding, found_in: &Trace, recorded: &Trace) -> Vec<&OrdinaryRun> {
        let effects = effects_of(finding, found_in);
        let happened =
            |run: &&OrdinaryRun| happened_in(finding, &effects, run.trace.as_ref().unwrap_or(recorded));
        self.runs.iter().filter(|run| !happened(run)).collect()
    }

    /// Whether there is a run, among these and `others`, in which the finding happened and did no harm: so it is not what does the harm
    /// that was seen with it.
    pub(super) fn show_it_harmless(
        &self,
        others: &[OrdinaryRun],
        finding: &Finding,
        found_in: &Trace,
        recorded: &Trace,
    ) -> bool {
        let effects = effects_of(finding, found_in);
        let (with, without): (Vec<&OrdinaryRun>, Vec<&OrdinaryRun>) = self
            .runs
            .iter()
            .partition(|run| happened_in(finding, &effects, run.trace.as_ref().unwrap_or(recorded)));
        let explored = others
            .iter()
            .filter(|run| happened_in(finding, &effects, run.trace.as_ref().unwrap_or(recorded)));
        with.into_iter().chain(explored).any(|run| {
            let OrdinaryRun { ending, output, failure, .. } = run;
            let seen = SeenRun { ending: *ending, output: output.clone(), failure: failure.clone() };
            failure.is_none() && ending.is_own() && harm(&seen, &without).0 == Harm::None
        })
    }

    /// Makes as many as are enough, as far as there is time. They are runs like any other: one that fails is a finding.
    pub(super) fn make_enough(&mut self, explorer: &mut Explorer<'_>, file: &TraceFile) -> Result<(), Error> {
        let Some(command) = self.command.clone() else { return Ok(()) };
        let mut seed = 1000;
        while self.runs.len() < ENOUGH {
            let left = self.budget.time_left().unwrap_or(LONGEST);
            if left.is_zero() || self.cancellation.is_cancelled() || seed > 1000 + 2 * ENOUGH as u64 {
                break;
            }
            seed += 1;
            let goal = Goal::Failure(ExpectedFailure { identity: String::new(), thread: None });
            let plan = Plan { steps: Vec::new(), goal, names: Default::default() };
            let mut replayer = Replayer::along(String::new(), plan, command.clone());
            (replayer.seed, replayer.limit) = (seed, left.min(LONGEST));
            replayer.cancellation = self.cancellation.clone();
            let replayed = replayer.once(RaceOrder::Ab)?;
            explorer.take_behaviour(&replayer, &replayed, None, file)?;
            if !replayed.ending.is_own() {
                continue;
            }
            let trace = rerecording::trace_of(&replayer, &replayed);
            let (ending, output, failure) = (replayed.ending, replayed.output, replayed.failure);
            self.runs.push(OrdinaryRun { ending, output, failure, trace });
        }
        Ok(())
    }
}

/// What the accesses of a finding do.
fn effects_of(finding: &Finding, found_in: &Trace) -> Vec<Effect> {
    finding.named_events().map(|event| Effect::of(found_in, event)).collect()
}

/// Whether the pattern of an atomicity violation is in a trace of the same program, by the names of its variable and places. Elements of an
/// array and blocks of an allocation need not be the same ones.
fn happened_in(finding: &Finding, effects: &[Effect], trace: &Trace) -> bool {
    if finding.kind != FindingKind::Atomicity {
        return false;
    }
    let ([first, between, last], &[one, other, again]) = (&finding.locations[..], effects) else {
        return false;
    };
    let symbols = trace.symbols();
    let place = |name: &str| {
        (0..symbols.locations.len()).map(LocationId::new).find(|&location| symbols.location(location) == name)
    };
    let (Some(first), Some(between), Some(last)) = (place(first), place(between), place(last)) else {
        return false;
    };
    let sites = [(first, one), (between, other), (last, again)];
    let sites = sites.map(|(location, effect)| AccessSite { location, effect });
    let named = family(&finding.object);
    let mut accesses: BTreeMap<VariableId, Vec<EventId>> = (0..symbols.variables.len())
        .map(VariableId::new)
        .filter(|&variable| family(symbols.variable(variable)) == named)
        .map(|variable| (variable, Vec::new()))
        .collect();
    for (event, _, op) in trace.events() {
        if let Some(access) = op.access()
            && let Some(events) = accesses.get_mut(&access.variable)
        {
            events.push(event);
        }
    }
    accesses.into_values().any(|events| has_pattern(trace, events.into_iter(), sites))
}

#[cfg(test)]
impl OrdinaryRun {
    /// One that ended well and printed this.
    pub(super) fn printing(output: &str) -> OrdinaryRun {
        OrdinaryRun { ending: Ending::Exited(0), output: output.into(), failure: None, trace: None }
    }
}
