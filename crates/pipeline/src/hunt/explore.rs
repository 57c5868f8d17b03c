//! New paths: runs in which the program did what no recording of the hunt has. They are kept as recordings, to be searched
//! in turn.
//!
//! A replay that left its schedule took a new path, and runs on for its recording. So did one that reached a source
//! location which no recording has, and one in which a place in the program read what another place wrote, for the first time. A run that failed is not
//! searched: it is a finding itself, and the rest is the aftermath. Every run is checked for failure, and is a behaviour that was covered.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use behaviours::{Doubt, Learned, Run, Search, SearchLimits, Task};
use load::Options;
use report::Fingerprint;
use run::failure::RunFailure;
use run::replay::{Ending, Goal, OnDivergence, RaceOrder, Replay, ReplayVerdict};
use trace::Trace;

use super::HuntOptions;
use super::failures::RunCounts;
use super::harm::SeenRun;
use super::ordinary::OrdinaryRun;
use super::outcomes::{Outcomes, UnusualRun};
use super::run_directory::RunDirectory;
use crate::budget::Budget;
use crate::error::Error;
use crate::files::{self, Form};
use crate::replay::{ReplaySummary, Replayer, WatchedReplay};
use crate::rerecording;
use crate::trace_file::TraceFile;

/// The most recordings of new paths that a hunt keeps.
const MOST: usize = 48;
/// Events of long runs that are compared.
const MOST_COMPARED: usize = 400_000;
/// Events of runs that ended well and are kept in memory, to see which patterns do no harm, and the most such runs.
const MOST_ENDED_WELL: (usize, usize) = (400_000, 48);
/// How long a program may run that was let go.
const LONGEST_RUN: Duration = Duration::from_secs(10);

/// Which paths of the program are known, and which new ones were kept.
pub(super) struct Explorer<'a> {
    directory: &'a RunDirectory,
    budget: &'a Budget,
    /// What is loaded of recordings.
    load: &'a Options,
    /// Source locations that recordings have reached.
    places: BTreeSet<String>,
    /// Recordings there were.
    known: BTreeSet<String>,
    /// How many recordings were written in all.
    written: usize,
    /// The recordings for the next round.
    pub(super) kept: Vec<String>,
    /// There is no next round.
    pub(super) is_over: bool,
    /// How all runs ended.
    pub(super) counts: RunCounts,
    /// Runs that failed as none before, with the files of their recordings.
    pub(super) failed: Vec<(RunFailure, String)>,
    /// The failures, by identity, of which a finding of another kind is the cause.
    pub(super) explained: BTreeSet<String>,
    /// What runs that did not fail ended with.
    pub(super) outcomes: Outcomes,
    /// Runs that did not fail, with their traces.
    pub(super) ended_well: Vec<OrdinaryRun>,
    /// The behaviours that were run, and those that are left to be tried.
    pub(super) search: Search,
    /// Runs that are too long for the search, by the order of their first events.
    long_runs: BTreeSet<u64>,
}

/// The result of replaying a schedule.
pub(super) struct Explored {
    pub(super) summary: ReplaySummary,
    /// Those of the replays that were looked at in which the schedule's goal was reached.
    pub(super) seen: Vec<SeenRun>,
}

impl<'a> Explorer<'a> {
    /// The run's own recording is known.
    pub(super) fn new(
        directory: &'a RunDirectory,
        first: &TraceFile,
        options: &'a HuntOptions,
        counts: RunCounts,
    ) -> Self {
        let mut explorer = Explorer {
            directory,
            budget: &options.budget,
            load: &options.load,
            places: BTreeSet::new(),
            known: BTreeSet::new(),
            written: 0,
            kept: Vec::new(),
            is_over: false,
            counts,
            failed: Vec::new(),
            explained: BTreeSet::new(),
            outcomes: Outcomes::default(),
            ended_well: Vec::new(),
            search: Search::new(limits_of(&options.budget)),
            long_runs: BTreeSet::new(),
        };
        explorer.learn(&first.trace);
        explorer
    }

    /// How many behaviours were run, the recorded one included.
    pub(super) fn behaviours(&self) -> u64 {
        (self.search.behaviours() + self.long_runs.len() as u64).max(1)
    }

    /// Whether no more is kept in this round.
    pub(super) fn is_full(&self) -> bool {
        self.is_over || self.written >= MOST
    }

    /// How long a run may take that looks for new paths.
    pub(super) fn limit(&self) -> Duration {
        let left = self.budget.time_left().unwrap_or(LONGEST_RUN);
        left.clamp(Duration::from_secs(1), LONGEST_RUN)
    }

    /// Follows a schedule, and looks at the paths that the program takes.
    pub(super) fn run(&mut self, replayer: &Replayer, file: &TraceFile) -> Result<Explored, Error> {
        let (mut looked, mut seen) = (Ok(()), Vec::new());
        let (summary, _) = replayer.run_watched(&mut |replayer, order, watched| {
            let replayed = watched.replay;
            if replayed.verdict == ReplayVerdict::Confirmed {
                let (ending, output) = (replayed.ending, replayed.output.clone());
                seen.push(SeenRun { ending, output, failure: replayed.failure.clone() });
            }
            if looked.is_ok() {
                looked = self.look(replayer, order, watched, file);
            }
        })?;
        looked.map(|()| Explored { summary, seen })
    }

    /// Looks at a run of a replay, and keeps it if it took a new path or failed.
    fn look(
        &mut self,
        replayer: &Replayer,
        order: RaceOrder,
        watched: WatchedReplay<'_>,
        file: &TraceFile,
    ) -> Result<(), Error> {
        let WatchedReplay { replay: replayed, trace, is_first } = watched;
        self.note(replayer, replayed, file)?;
        if let Some(Ok(run)) = graph_of(replayed) {
            self.search.learn(run);
        }
        if self.is_full() || replayed.failure.is_some() || !is_first {
            return Ok(());
        }
        if replayed.verdict == ReplayVerdict::Diverged {
            let mut on = replayer.clone();
            (on.on_divergence, on.limit) = (OnDivergence::Continue, self.limit());
            let replayed = on.once(order);
            if on.cancellation.is_cancelled() {
                return Ok(());
            }
            let replayed = replayed?;
            let trace = rerecording::trace_of(&on, &replayed);
            self.note(&on, &replayed, file)?;
            return self.keep(&on, &replayed, trace.as_ref(), file);
        }
        let is_new = |trace: &Trace| places_of(trace).any(|place| !self.places.contains(place));
        match trace.filter(|trace| is_new(trace)) {
            Some(trace) => self.keep(replayer, replayed, Some(trace), file),
            None => Ok(()),
        }
    }

    /// Takes in a run of the search for behaviours: it is checked for failure, and kept if it took a new path.
    pub(super) fn take_behaviour(
        &mut self,
        replayer: &Replayer,
        replayed: &Replay,
        task: Option<&Task>,
        file: &TraceFile,
    ) -> Result<(), Error> {
        self.note(replayer, replayed, file)?;
        let graph = graph_of(replayed);
        let mut is_new_order = false;
        if let Some(Err(doubt)) = graph {
            self.search.doubt(doubt);
            is_new_order = replayed.log().is_some_and(|log| self.long_runs.insert(order_of(log)));
        }
        let graph = graph.and_then(Result::ok);
        let learned = match (task, graph) {
            (Some(task), graph) => self.search.finish(task, graph),
            (None, Some(graph)) => self.search.learn(graph),
            (None, None) => Learned::default(),
        };
        let is_new = learned.new_pairs > 0 || is_new_order;
        let is_kept = is_new && !self.is_full();
        if replayed.failure.is_some() || !is_kept && !self.remembers(replayed) {
            return Ok(());
        }
        let trace = rerecording::trace_of(replayer, replayed);
        if is_kept {
            self.keep(replayer, replayed, trace.as_ref(), file)?;
        }
        if let Some(trace) = trace.filter(|_| self.remembers(replayed)) {
            let (ending, output) = (replayed.ending, replayed.output.clone());
            self.ended_well.push(OrdinaryRun { ending, output, failure: None, trace: Some(trace) });
        }
        Ok(())
    }

    /// Whether the trace of this run stays in memory.
    fn remembers(&self, replayed: &Replay) -> bool {
        let (most_events, most_runs) = MOST_ENDED_WELL;
        let events = self.ended_well.iter().filter_map(|run| Some(run.trace.as_ref()?.len())).sum::<usize>();
        // An event takes a few bytes of a log.
        let log = replayed.log().map_or(usize::MAX, <[u8]>::len);
        replayed.ending.is_own()
            && self.ended_well.len() < most_runs
            && log.saturating_add(events) <= most_events
    }

    /// Counts a run, and keeps it if it failed as none before.
    fn note(&mut self, replayer: &Replayer, replayed: &Replay, file: &TraceFile) -> Result<(), Error> {
        // A run that was led into a failure does not say how often that happens.
        if matches!(&replayer.plan.goal, Goal::Failure(planned) if !planned.identity.is_empty()) {
            self.counts.count_more(1);
            return Ok(());
        }
        // What a replay of a deadlock was for needs no second finding.
        let expected = matches!(replayer.plan.goal, Goal::Deadlock(_));
        let failure = replayed.failure.as_ref();
        let is_new = self.counts.count(replayed.ending, failure);
        if expected && replayed.verdict == ReplayVerdict::Confirmed {
            self.counts.note_failure();
        }
        self.note_outcome(replayer, replayed, file)?;
        let Some(failure) = failure.filter(|_| is_new && !expected && rerecording::is_recorded(replayed))
        else {
            return Ok(());
        };
        let name = self.write(replayer, replayed, file)?;
        self.failed.push((failure.clone(), name));
        Ok(())
    }

    /// Keeps the recording of a run that ended with another status than all before.
    fn note_outcome(
        &mut self,
        replayer: &Replayer,
        replayed: &Replay,
        file: &TraceFile,
    ) -> Result<(), Error> {
        let is_whole = replayed.failure.is_none() && rerecording::is_recorded(replayed);
        let Some(log) = replayed.log().filter(|_| is_whole) else { return Ok(()) };
        if let Some(status) = self.outcomes.new_status(replayed.ending, log.len()) {
            let recording = format!("outcome-{status}.ftr");
            self.rewrite(&recording, replayer, replayed, file)?;
            self.outcomes.unusual.push(UnusualRun { status, recording });
        }
        Ok(())
    }

    /// Writes the recording of a replay; its file.
    fn write(&mut self, replayer: &Replayer, replayed: &Replay, file: &TraceFile) -> Result<String, Error> {
        let name = format!("explored-{}.ftr", self.written + 1);
        self.rewrite(&name, replayer, replayed, file)?;
        self.written += 1;
        Ok(name)
    }

    /// Writes the recording of a replay into this file.
    pub(super) fn rewrite(
        &self,
        name: &str,
        replayer: &Replayer,
        replayed: &Replay,
        file: &TraceFile,
    ) -> Result<(), Error> {
        files::write(&self.directory.recording(name), Form::Native, |out| {
            rerecording::write(replayer, replayed, file.trace.metadata(), self.load, out)
        })
    }

    fn keep(
        &mut self,
        replayer: &Replayer,
        replayed: &Replay,
        trace: Option<&Trace>,
        file: &TraceFile,
    ) -> Result<(), Error> {
        let is_whole = matches!(replayed.ending, Ending::Exited(_)) && replayed.failure.is_none();
        let Some(trace) = trace.filter(|_| is_whole) else {
            return Ok(());
        };
        if self.learn(trace) {
            let name = self.write(replayer, replayed, file)?;
            self.kept.push(name);
        }
        Ok(())
    }

    /// Takes note of a recording; whether it is another than all before.
    fn learn(&mut self, trace: &Trace) -> bool {
        self.places.extend(places_of(trace).map(str::to_owned));
        self.known.insert(Fingerprint::of(trace).checksum)
    }
}

/// What the search for behaviours may keep: a quarter of the memory of the hunt, which has recordings and their searches besides.
fn limits_of(budget: &Budget) -> SearchLimits {
    let limits = SearchLimits::default();
    let quarter = budget.bounds.memory().map_or(usize::MAX, |bytes| (bytes / 4) as usize);
    SearchLimits { memory: limits.memory.min(quarter), ..limits }
}

/// A run as the search for behaviours sees it; none if it did not come to an end of its own.
fn graph_of(replayed: &Replay) -> Option<Result<Run, Doubt>> {
    let log = replayed.log().filter(|_| replayed.ending.is_own() || replayed.ending == Ending::TimedOut)?;
    Some(Run::of_log(log))
}

/// What the order of the first events of a log is recognised by: where threads take turns. A log may be too long to be looked at as a whole.
fn order_of(log: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let events = wire::Reader::new(log).into_iter().flatten().map_while(Result::ok);
    let mut last = None;
    for event in events.filter(|event| event.place.is_some()).take(MOST_COMPARED) {
        if last != Some(event.thread) {
            (event.thread, event.place).hash(&mut hasher);
            last = Some(event.thread);
        }
    }
    hasher.finish()
}

/// The places of a trace's events.
fn places_of(trace: &Trace) -> impl Iterator<Item = &str> {
    let used: BTreeSet<_> = trace.events().map(|(event, ..)| trace.location(event)).collect();
    used.into_iter().map(|location| trace.symbols().location(location))
}
