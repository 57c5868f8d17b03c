//! New paths: replays in which the program did what no recording of the hunt has. They are kept as recordings, to be searched
//! in turn.
//!
//! A replay that left its schedule took a new path, and runs on for its recording. So did one that reached a source
//! location which no recording has. A run that failed is left alone: it shows its bug, and the rest is the aftermath.

use std::collections::BTreeSet;
use std::time::Duration;

use report::Fingerprint;
use run::replay::{Ending, OnDivergence, RaceOrder, Replay, ReplayVerdict};
use trace::Trace;

use super::run_directory::RunDirectory;
use crate::budget::Budget;
use crate::error::Error;
use crate::files::{self, Form};
use crate::replay::{ReplaySummary, Replayer};
use crate::rerecording;
use crate::trace_file::TraceFile;

/// So many recordings a round has at most.
const MOST: usize = 6;
/// How long a program may run that was let go.
const LONGEST_RUN: Duration = Duration::from_secs(10);

/// Which paths of the program are known, and which new ones were kept.
pub(super) struct Explorer<'a> {
    directory: &'a RunDirectory,
    budget: &'a Budget,
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
}

impl<'a> Explorer<'a> {
    /// The run's own recording is known.
    pub(super) fn new(directory: &'a RunDirectory, first: &TraceFile, budget: &'a Budget) -> Self {
        let (places, known) = (BTreeSet::new(), BTreeSet::new());
        let mut explorer =
            Explorer { directory, budget, places, known, written: 0, kept: Vec::new(), is_over: false };
        explorer.learn(&first.trace);
        explorer
    }

    /// Whether no more is kept in this round.
    pub(super) fn is_full(&self) -> bool {
        self.is_over || self.kept.len() >= MOST
    }

    /// How long a run may take that looks for new paths.
    pub(super) fn limit(&self) -> Duration {
        let left = self.budget.time_left().unwrap_or(LONGEST_RUN);
        left.clamp(Duration::from_secs(1), LONGEST_RUN)
    }

    /// Follows a schedule, and looks at the paths that the program takes.
    pub(super) fn run(&mut self, replayer: &Replayer, file: &TraceFile) -> Result<ReplaySummary, Error> {
        let mut looked = Ok(());
        let (summary, _) = replayer.run_watched(&mut |order, replayed, trace| {
            if looked.is_ok() {
                looked = self.look(replayer, order, replayed, trace, file);
            }
        })?;
        looked.map(|()| summary)
    }

    /// Looks at a run of a replay, and keeps it if it took a new path.
    fn look(
        &mut self,
        replayer: &Replayer,
        order: RaceOrder,
        replayed: &Replay,
        trace: Option<&Trace>,
        file: &TraceFile,
    ) -> Result<(), Error> {
        if self.is_full() {
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
            return self.keep(&on, &replayed, trace.as_ref(), file);
        }
        let is_new = |trace: &Trace| places_of(trace).any(|place| !self.places.contains(place));
        match trace.filter(|trace| is_new(trace)) {
            Some(trace) => self.keep(replayer, replayed, Some(trace), file),
            None => Ok(()),
        }
    }

    fn keep(
        &mut self,
        replayer: &Replayer,
        replayed: &Replay,
        trace: Option<&Trace>,
        file: &TraceFile,
    ) -> Result<(), Error> {
        let Some(trace) = trace.filter(|_| matches!(replayed.ending, Ending::Exited(_))) else {
            return Ok(());
        };
        if !self.learn(trace) {
            return Ok(());
        }
        let name = format!("explored-{}.ftr", self.written + 1);
        files::write(&self.directory.recording(&name), Form::Native, |out| {
            rerecording::write(replayer, replayed, file.trace.metadata(), out)
        })?;
        self.written += 1;
        self.kept.push(name);
        Ok(())
    }

    /// Takes note of a recording; whether it is another than all before.
    fn learn(&mut self, trace: &Trace) -> bool {
        self.places.extend(places_of(trace).map(str::to_owned));
        self.known.insert(Fingerprint::of(trace).checksum)
    }
}

/// The places of a trace's events.
fn places_of(trace: &Trace) -> impl Iterator<Item = &str> {
    let used: BTreeSet<_> = trace.events().map(|(event, ..)| trace.location(event)).collect();
    used.into_iter().map(|location| trace.symbols().location(location))
}
