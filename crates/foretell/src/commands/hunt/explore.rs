//! Other ways: replays in which the program did what no recording of the hunt has, kept as recordings to be searched in turn.
//!
//! A replay that left its schedule went another way, and is let run on for its recording. So did one that came to a
//! place in the source which no recording has. What failed is left alone: it shows its bug, and what comes after that is its aftermath.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use report::Fingerprint;
use run::replay::{Ending, OnDivergence, RaceOrder, Replay, ReplayVerdict};
use trace::Trace;

use super::run_directory::RunDirectory;
use crate::diagnostics::Diagnostic;
use crate::interrupts;
use crate::open::Opened;
use crate::output::Target;
use crate::replaying::{Replaying, Summary};
use crate::rerecording;

/// So many recordings a round has at most.
const MOST: usize = 6;
/// How long a program may run that was let go.
const LONGEST_RUN: Duration = Duration::from_secs(10);

/// What is known of the program's ways, and which new ones were kept.
pub(super) struct Exploring<'a> {
    directory: &'a RunDirectory,
    ends: Instant,
    /// Places in the source that recordings have come to.
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

impl<'a> Exploring<'a> {
    /// The run's own recording is known.
    pub(super) fn new(directory: &'a RunDirectory, first: &Opened, ends: Instant) -> Self {
        let (places, known) = (BTreeSet::new(), BTreeSet::new());
        let mut exploring =
            Exploring { directory, ends, places, known, written: 0, kept: Vec::new(), is_over: false };
        exploring.learn(&first.trace);
        exploring
    }

    /// Whether no more is kept in this round.
    pub(super) fn is_full(&self) -> bool {
        self.is_over || self.kept.len() >= MOST
    }

    /// How long a run may take that looks for other ways.
    pub(super) fn limit(&self) -> Duration {
        let left = self.ends.saturating_duration_since(Instant::now());
        left.clamp(Duration::from_secs(1), LONGEST_RUN)
    }

    /// Follows a schedule, and looks at the ways that the program takes.
    pub(super) fn run(&mut self, replaying: &Replaying, opened: &Opened) -> Result<Summary, Diagnostic> {
        let mut looked = Ok(());
        let (summary, _) = replaying.run_watched(&mut |order, replayed, trace| {
            if looked.is_ok() {
                looked = self.look(replaying, order, replayed, trace, opened);
            }
        })?;
        looked.map(|()| summary)
    }

    /// Looks at a run of a replay, and keeps it if it went a new way.
    fn look(
        &mut self,
        replaying: &Replaying,
        order: RaceOrder,
        replayed: &Replay,
        trace: Option<&Trace>,
        opened: &Opened,
    ) -> Result<(), Diagnostic> {
        if self.is_full() {
            return Ok(());
        }
        if replayed.verdict == ReplayVerdict::Diverged {
            let mut on = replaying.clone();
            (on.on_divergence, on.limit) = (OnDivergence::Continue, self.limit());
            let replayed = on.once(order);
            if interrupts::came() {
                return Ok(());
            }
            let replayed = replayed?;
            let trace = rerecording::trace_of(&on, &replayed);
            return self.keep(&on, &replayed, trace.as_ref(), opened);
        }
        let is_new = |trace: &Trace| places_of(trace).any(|place| !self.places.contains(place));
        match trace.filter(|trace| is_new(trace)) {
            Some(trace) => self.keep(replaying, replayed, Some(trace), opened),
            None => Ok(()),
        }
    }

    fn keep(
        &mut self,
        replaying: &Replaying,
        replayed: &Replay,
        trace: Option<&Trace>,
        opened: &Opened,
    ) -> Result<(), Diagnostic> {
        let Some(trace) = trace.filter(|_| matches!(replayed.ending, Ending::Exited(_))) else {
            return Ok(());
        };
        if !self.learn(trace) {
            return Ok(());
        }
        let name = format!("explored-{}.ftr", self.written + 1);
        let target = Target::named(self.directory.recording(&name).as_os_str())?;
        if rerecording::write(replaying, replayed, opened.trace.metadata(), &target)? {
            self.written += 1;
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

/// The places of a trace's events.
fn places_of(trace: &Trace) -> impl Iterator<Item = &str> {
    let used: BTreeSet<_> = trace.events().map(|(event, ..)| trace.location(event)).collect();
    used.into_iter().map(|location| trace.symbols().location(location))
}
