//! Ordinary runs: what the program prints and how it ends when nobody leads it into anything.
//!
//! The recorded run is the first of them. More are made when a replay did something that the recorded run did not: what ordinary runs do
//! as well is no harm.

use std::collections::BTreeMap;
use std::time::Duration;

use report::{Finding, FindingKind, Harm, family};
use run::failure::RunFailure;
use run::replay::{Command, Goal, Plan, RaceOrder};
use trace::{Ending, EventId, ExpectedFailure, LocationId, Op, ThreadId, ThreadPath, Trace, VariableId};

use super::expected::{AccessSite, Effect, PatternThreads, has_pattern};
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
        let pattern = Pattern { finding, found_in, compared: Compared::ByPlace };
        let happened = |run: &&OrdinaryRun| pattern.happened_in(run.trace.as_ref().unwrap_or(recorded));
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
        let pattern = Pattern { finding, found_in, compared: Compared::ByPlace };
        let happened = |run: &&OrdinaryRun| pattern.happened_in(run.trace.as_ref().unwrap_or(recorded));
        let (with, without): (Vec<&OrdinaryRun>, Vec<&OrdinaryRun>) = self.runs.iter().partition(happened);
        let explored = others.iter().filter(happened);
        with.into_iter().chain(explored).any(|run| {
            let OrdinaryRun { ending, output, failure, .. } = run;
            let seen = SeenRun { ending: *ending, output: output.clone(), failure: failure.clone() };
            failure.is_none() && ending.is_own() && harm(&seen, &without).0 == Harm::None
        })
    }

    /// Whether there are runs, among these and `others`, that ended well, and the finding happened in none of them: the same threads did the
    /// same.
    pub(super) fn end_well_without(
        &self,
        others: &[OrdinaryRun],
        finding: &Finding,
        found_in: &Trace,
        recorded: &Trace,
    ) -> bool {
        let pattern = Pattern { finding, found_in, compared: Compared::ByThread };
        let ended_well = |run: &&OrdinaryRun| run.failure.is_none() && run.ending.is_own();
        let mut runs = self.runs.iter().chain(others).filter(ended_well).peekable();
        runs.peek().is_some() && runs.all(|run| !pattern.happened_in(run.trace.as_ref().unwrap_or(recorded)))
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

/// What must be alike for a pattern to be the same one in another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    /// The places in the source: threads that run the same code make the same mistakes.
    ByPlace,
    /// The threads as well: which of them comes between may make all the difference.
    ByThread,
}

/// The pattern of an atomicity violation.
#[derive(Clone, Copy)]
struct Pattern<'f> {
    finding: &'f Finding,
    found_in: &'f Trace,
    compared: Compared,
}

impl Pattern<'_> {
    /// Whether it is in a trace of the same program, by the names of its variable and places. Elements of an array and blocks of an
    /// allocation need not be the same ones.
    fn happened_in(self, trace: &Trace) -> bool {
        let Pattern { finding, found_in, .. } = self;
        let events: Vec<EventId> = finding.named_events().collect();
        let (FindingKind::Atomicity, [first, between, last], &[one, other, again]) =
            (finding.kind, &finding.locations[..], &events[..])
        else {
            return false;
        };
        let symbols = trace.symbols();
        let site = |name: &str, event: EventId| {
            let mut all = (0..symbols.locations.len()).map(LocationId::new);
            let location = all.find(|&location| symbols.location(location) == name)?;
            Some(AccessSite { location, effect: Effect::of(found_in, event) })
        };
        let (Some(first), Some(between), Some(last)) =
            (site(first, one), site(between, other), site(last, again))
        else {
            return false;
        };
        let Some(threads) = self.threads_in(trace, one, other) else { return false };
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
        let sites = [first, between, last];
        accesses.into_values().any(|events| has_pattern(trace, events.into_iter(), sites, threads))
    }

    /// Whose accesses these have to be in another trace; none if it does not have such threads.
    fn threads_in(self, trace: &Trace, outer: EventId, between: EventId) -> Option<PatternThreads> {
        let (own, others) = (paths(self.found_in), paths(trace));
        let there = |event: EventId| {
            let path = own[self.found_in.thread(event).index()].as_ref()?;
            others.iter().position(|other| other.as_ref() == Some(path)).map(ThreadId::new)
        };
        match self.compared {
            Compared::ByPlace => Some(PatternThreads::Any),
            Compared::ByThread => {
                Some(PatternThreads::These { outer: there(outer)?, between: there(between)? })
            }
        }
    }
}

/// The path to each thread by the forks of a trace, which also one has that was not written to a file; none: nobody forks it.
fn paths(trace: &Trace) -> Vec<Option<ThreadPath>> {
    let threads = trace.symbols().threads.len();
    let (mut paths, mut children) = (vec![None; threads], vec![0; threads]);
    if let Some(first) = paths.first_mut() {
        *first = Some(ThreadPath::FIRST);
    }
    for (_, parent, op) in trace.events() {
        if let Op::Fork(child) = op {
            children[parent.index()] += 1;
            paths[child.index()] =
                paths[parent.index()].as_ref().map(|path: &ThreadPath| path.child(children[parent.index()]));
        }
    }
    paths
}

#[cfg(test)]
impl OrdinaryRun {
    /// One that ended well and printed this.
    pub(super) fn printing(output: &str) -> OrdinaryRun {
        OrdinaryRun { ending: Ending::Exited(0), output: output.into(), failure: None, trace: None }
    }
}

#[cfg(test)]
mod tests {
    use check::WrittenQuestion;
    use report::Rung;

    use super::*;

    fn read(text: &str) -> Trace {
        trace::text::read(text.as_bytes()).expect("a well-formed trace")
    }

    /// The second thread is forked by the first, whatever they are called and whichever runs first.
    #[test]
    fn threads_are_known_by_who_forks_them() {
        let path_of = |lines: &str, name: &str| {
            let trace = read(lines);
            let mut threads = (0..trace.symbols().threads.len()).map(ThreadId::new);
            let thread = threads.find(|&thread| trace.symbols().thread(thread) == name).unwrap();
            paths(&trace)[thread.index()].as_ref().unwrap().to_string()
        };
        let one = "main|fork(A)|1\nmain|fork(B)|2\nA|fork(C)|3\nC|w(x)|4\nB|w(x)|5\n";
        let other = "main|fork(X)|1\nX|fork(Z)|3\nZ|w(x)|4\nmain|fork(Y)|2\nY|w(x)|5\n";
        for (name, renamed, path) in
            [("main", "main", "0"), ("A", "X", "0.1"), ("B", "Y", "0.2"), ("C", "Z", "0.1.1")]
        {
            assert_eq!((path_of(one, name), path_of(other, renamed)), (path.to_owned(), path.to_owned()));
        }
    }

    /// Two threads do the same; which of them comes between the accesses of the other differs.
    #[test]
    fn what_other_threads_do_is_another_pattern() {
        let run = |order: [&str; 2]| {
            let [outer, between] = order;
            read(&format!(
                "main|fork(A)|a.c:8\nmain|fork(B)|a.c:9\n{outer}|r(x)|a.c:1\n{between}|r(x)|a.c:1\n\
                 {between}|w(x)|a.c:2\n{outer}|w(x)|a.c:2\n"
            ))
        };
        let (failed, other) = (run(["A", "B"]), run(["B", "A"]));
        let mut finding = Finding::new(
            FindingKind::Atomicity,
            Rung::Predicted,
            WrittenQuestion::Order([2, 4, 5].map(EventId).to_vec()),
        );
        (finding.events, finding.object) = (vec![2, 4, 5], "x".to_owned());
        finding.locations = ["a.c:1", "a.c:2", "a.c:2"].map(str::to_owned).to_vec();
        let happened =
            |compared, trace| Pattern { finding: &finding, found_in: &failed, compared }.happened_in(trace);
        assert!(happened(Compared::ByPlace, &other) && happened(Compared::ByThread, &failed));
        assert!(!happened(Compared::ByThread, &other));
    }
}
