//! Nondeterminism by places: for each place that reads and each that writes, one read that could see such a write.
//!
//! Reads and writes are gathered by variable, thread, place and locks (`groups.rs`). For each two groups:
//!
//! 1. sections of a lock may keep the reads from the writes;
//! 2. of each read, orders that hold in every schedule leave a band of the writes (`bands.rs`);
//! 3. the nearest of them are tried with all sections in the order of the trace ([`Syncp`]);
//! 4. what is left is asked of the engine.
//!
//! Promise: finds every pattern that is feasible under the model and no other, but for those counted as unknown. Cost: a step for each
//! read and each group of writes whose pattern is not settled, then the questions.

use std::cell::OnceCell;
use std::ops::Range;

use check::{Question, Source};
use decide::{Witness, must_order};
use order::{Index, MustOrder};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{EventId, LocationId, VariableId};

use super::bands::{Bands, Stretch};
use super::groups::{Accesses, Grouping, ReadGroup, WriteGroup};
use super::{Counts, preserving};
use crate::families::{Families, FamilyId};
use crate::nearest::{leading, outward};
use crate::pattern_search::{Instance, PatternId, PatternSearch, Tally, ask};
use crate::races::syncp::Syncp;
use crate::{Extent, Object, PatternLimits, Remarks, Report, SearchSettings};

/// A place that reads, and a place whose write it might see; none: the initial value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pattern {
    read: LocationId,
    write: Option<LocationId>,
    of: Of,
}

/// What tells a pattern from others at the same places.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Of {
    Any,
    Variable(VariableId),
    Family(FamilyId),
}

/// How instances are found feasible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Without a search.
    Constructing,
    /// By all means.
    Deciding,
}

/// How many of the nearest instances of two groups are tried before all others.
const NEAREST: usize = 64;
/// How many reads are looked at before what was found near is tried; then four times as many, and so on.
const FIRST_READS: usize = 256;

/// How far to go.
#[derive(Clone, Copy)]
struct Most {
    /// Comparisons in each pass.
    steps: u64,
    /// Patterns to look at: each takes memory, found or not.
    patterns: usize,
    /// Patterns to find.
    found: u64,
}

impl Most {
    fn of(index: &Index<'_>) -> Most {
        // What is found has a count for every thread.
        let found = ((1 << 25) / index.threads().threads().max(1) as u64).clamp(16, 10_000);
        Most { steps: (1 << 26) + index.trace().len() as u64 * 64, patterns: 1 << 20, found }
    }
}

/// A write that a read might see; none: the initial value.
type SourceWrite = Option<EventId>;

/// What the reads of a part of a group might see.
#[derive(Default)]
struct Views {
    reads: Vec<EventId>,
    /// Whether each might see the initial value.
    initial: Vec<bool>,
    /// The writes that each might see, of one thread after the other.
    stretches: Vec<Stretch>,
}

/// Writes of one group, and how far the reads have moved on among them.
struct Writes<'a> {
    group: &'a WriteGroup,
    /// The number of their thread in [`Bands`].
    number: usize,
    first: usize,
    end: usize,
}

/// Reads of one group and sources that they might see.
struct Candidates<'a> {
    pattern: PatternId,
    /// None: the initial value.
    writes: Option<Writes<'a>>,
    /// The nearest instances so far.
    nearest: Vec<(EventId, SourceWrite)>,
    /// Those that were tried.
    tried: FxHashSet<(EventId, SourceWrite)>,
}

impl<'a> Candidates<'a> {
    fn new(pattern: PatternId, writes: Option<&'a WriteGroup>, bands: &Bands<'_>) -> Self {
        let writes = writes.and_then(|group| {
            let number = bands.number(group.thread)?;
            Some(Writes { group, number, first: 0, end: 0 })
        });
        Candidates { pattern, writes, nearest: Vec::new(), tried: FxHashSet::default() }
    }

    /// Before the first read is looked at once more.
    fn start_again(&mut self) {
        if let Some(writes) = &mut self.writes {
            (writes.first, writes.end) = (0, 0);
        }
    }

    /// Takes note of what is nearest to each read.
    fn near(&mut self, index: &Index<'_>, views: &Views) {
        for number in 0..views.reads.len() {
            let nearest = self.sources(index, views, number).next();
            self.nearest.extend(nearest.map(|seen| (views.reads[number], seen)));
            if self.nearest.len() > 2 * NEAREST {
                self.nearest.sort_by_key(distance);
                self.nearest.truncate(NEAREST);
            }
        }
    }

    /// What a read might see besides what it saw, the nearest first. Reads come in their order.
    fn sources(
        &mut self,
        index: &Index<'_>,
        views: &Views,
        number: usize,
    ) -> impl Iterator<Item = SourceWrite> {
        let read = views.reads[number];
        let seen = index.trace().reads_from(read);
        let initial = self.writes.is_none() && seen.is_some() && views.initial[number];
        let band = self.writes.as_mut().map(|writes| {
            let band = writes.go_to(views.stretch(number, writes.number));
            let events = &writes.group.events;
            outward(events, band, read).map(|number| Some(events[number]))
        });
        let initial = initial.then_some(None);
        initial.into_iter().chain(band.into_iter().flatten().filter(move |&write| write != seen))
    }
}

impl Writes<'_> {
    /// Those of a stretch, which begins and ends nowhere before the last one.
    fn go_to(&mut self, stretch: Stretch) -> Range<usize> {
        let places = &self.group.places;
        self.first += leading(&places[self.first..], |&place| place < stretch.first);
        self.end += leading(&places[self.end..], |&place| place < stretch.end);
        self.first..self.end.max(self.first)
    }
}

impl Views {
    /// The writes of a thread that a read might see, both by number.
    fn stretch(&self, read: usize, thread: usize) -> Stretch {
        self.stretches[read * (self.stretches.len() / self.reads.len()) + thread]
    }
}

/// How far a read is from what it might see.
fn distance(&(read, seen): &(EventId, SourceWrite)) -> u32 {
    read.0.abs_diff(seen.map_or(0, |write| write.0))
}

pub(super) fn search(
    index: &Index<'_>,
    settings: SearchSettings,
    limits: PatternLimits,
    report: &mut dyn FnMut(Report),
) -> Counts {
    let mut search = Search {
        index,
        settings,
        extent: limits.extent,
        pass: Pass::Constructing,
        must: must_order(index, settings.model),
        syncp: OnceCell::new(),
        families: OnceCell::new(),
        grouping: Grouping::new(index),
        asking: PatternSearch::new(index, settings, limits, report),
        counts: Counts::default(),
        most: Most::of(index),
        steps: 0,
    };
    let mut complete = true;
    for pass in [Pass::Constructing, Pass::Deciding] {
        search.pass = pass;
        search.steps = search.most.steps;
        complete &= search.variables();
    }
    search.asking.second_look(ask);
    let Tally { candidates, asked, feasible, unknown } = search.asking.finish();
    let mut counts = search.counts;
    counts.not_view_preserving = feasible;
    counts.phases.witnesses = candidates;
    counts.phases.decided = asked;
    counts.phases.feasible = feasible;
    counts.phases.unknown = unknown + u64::from(!complete);
    counts
}

struct Search<'a> {
    index: &'a Index<'a>,
    settings: SearchSettings,
    extent: Extent,
    pass: Pass,
    must: &'a MustOrder,
    syncp: OnceCell<Syncp<'a>>,
    families: OnceCell<Families>,
    grouping: Grouping<'a>,
    asking: PatternSearch<'a, Pattern>,
    counts: Counts,
    most: Most,
    /// How many comparisons may still be made in this pass.
    steps: u64,
}

impl Search<'_> {
    /// Whether all variables were looked at.
    fn variables(&mut self) -> bool {
        let total = self.index.trace().symbols().variables.len();
        for variable in 0..total {
            if self.index.bounds().are_reached() || self.steps == 0 {
                return false;
            }
            self.variable(VariableId::new(variable));
            if variable.is_multiple_of(1024) {
                self.asking.progress(variable as u64, total as u64);
            }
        }
        self.steps > 0
    }

    fn variable(&mut self, variable: VariableId) {
        let writes = self.index.writes(variable);
        let reads = self.index.reads_since(variable, EventId(0));
        let (Some(&write), Some(&read)) = (writes.first(), reads.first()) else { return };
        let contested = |&read: &&EventId| writes.len() > 1 || write != *read;
        if self.pass == Pass::Constructing {
            self.counts.reads += reads.iter().filter(contested).count() as u64;
        }
        // A thread that is alone with a variable sees what it saw.
        let trace = self.index.trace();
        let thread = trace.thread(read);
        if reads.iter().chain(writes).all(|&event| trace.thread(event) == thread) {
            return;
        }
        let accesses = self.grouping.of(variable);
        let bounds = self.index.bounds();
        for reads in accesses.reads.iter().take_while(|_| !bounds.are_reached()) {
            self.group(variable, reads, &accesses);
        }
    }

    /// Tries to let the reads of a group see something else.
    fn group(&mut self, variable: VariableId, reads: &ReadGroup, accesses: &Accesses) {
        let mut known: FxHashMap<Option<LocationId>, PatternId> = FxHashMap::default();
        let mut bands = Bands::new(self.index, self.must, variable);
        let mut all = Vec::new();
        let of = self.of(variable);
        let sources = accesses.writes.iter().filter(|writes| !self.grouping.excludes(reads, writes));
        self.steps = self.steps.saturating_sub(accesses.writes.len() as u64);
        for writes in sources.map(Some).chain([None]) {
            let write = writes.map(|writes| writes.site);
            let number = known.get(&write).copied().or_else(|| {
                self.asking.pattern_within(Pattern { read: reads.site, write, of }, self.most.patterns)
            });
            let Some(pattern) = number.filter(|_| self.asking.feasible() < self.most.found) else {
                // Too many: the search is cut short.
                self.steps = 0;
                return;
            };
            known.insert(write, pattern);
            if !self.asking.is_settled(pattern) {
                all.push(Candidates::new(pattern, writes, &bands));
            }
        }
        let mut done = 0;
        while done < reads.events.len() && !all.is_empty() {
            let next = (done * 4).max(FIRST_READS).min(reads.events.len());
            for part in reads.events[done..next].chunks(bands.together()) {
                let Some(views) = self.views(&mut bands, part, all.len()) else { return };
                all.iter_mut().for_each(|candidates| candidates.near(self.index, &views));
            }
            for candidates in &mut all {
                self.try_nearest(variable, candidates);
            }
            all.retain(|candidates| !self.asking.is_settled(candidates.pattern));
            done = next;
        }
        if self.pass == Pass::Deciding {
            self.try_all(variable, reads, all);
        }
    }

    /// What reads might see, for this number of groups of writes, unless that would be too many comparisons or take too long.
    fn views(&mut self, bands: &mut Bands<'_>, reads: &[EventId], groups: usize) -> Option<Views> {
        let mut views = Views { reads: reads.to_vec(), ..Views::default() };
        for &read in reads {
            if self.index.bounds().are_reached() {
                return None;
            }
            self.steps = self.steps.saturating_sub(groups as u64);
            bands.go_to(read, &mut self.steps)?;
            views.initial.push(bands.leave_initial());
            views.stretches.extend(bands.stretches());
        }
        Some(views)
    }

    fn of(&self, variable: VariableId) -> Of {
        match self.extent {
            Extent::Patterns | Extent::All => Of::Any,
            Extent::PatternsOfVariables => Of::Variable(variable),
            Extent::Causes => {
                let families = self.families.get_or_init(|| Families::of(self.index.trace()));
                Of::Family(families.of_variable(variable))
            }
        }
    }

    /// Tries the nearest instances that were noted.
    fn try_nearest(&mut self, variable: VariableId, candidates: &mut Candidates<'_>) {
        let mut nearest = std::mem::take(&mut candidates.nearest);
        nearest.sort_by_key(distance);
        nearest.truncate(NEAREST);
        for (read, seen) in nearest {
            if self.asking.is_settled(candidates.pattern) {
                return;
            }
            if candidates.tried.insert((read, seen)) {
                self.instance(variable, candidates.pattern, read, seen);
            }
        }
    }

    /// Tries all instances that were not tried yet.
    fn try_all(&mut self, variable: VariableId, reads: &ReadGroup, mut all: Vec<Candidates<'_>>) {
        let mut bands = Bands::new(self.index, self.must, variable);
        all.iter_mut().for_each(Candidates::start_again);
        for part in reads.events.chunks(bands.together()) {
            let Some(views) = self.views(&mut bands, part, all.len()) else { return };
            for candidates in &mut all {
                self.try_part(variable, candidates, &views);
            }
            all.retain(|candidates| !self.asking.is_settled(candidates.pattern));
        }
    }

    /// Tries all instances of some reads that were not tried yet.
    fn try_part(&mut self, variable: VariableId, candidates: &mut Candidates<'_>, views: &Views) {
        for number in 0..views.reads.len() {
            let read = views.reads[number];
            let seen: Vec<SourceWrite> = candidates.sources(self.index, views, number).collect();
            for seen in seen {
                if self.asking.is_settled(candidates.pattern) {
                    return;
                }
                if !candidates.tried.contains(&(read, seen)) {
                    self.instance(variable, candidates.pattern, read, seen);
                }
            }
        }
    }

    fn instance(&mut self, variable: VariableId, pattern: PatternId, read: EventId, seen: SourceWrite) {
        let source = seen.map_or(Source::Initial, Source::Write);
        let question = Question::Reads(read, Some(source));
        if !self.asking.looks_at(pattern, &question) {
            return;
        }
        let constructed = self.constructed(read, source);
        let (events, object) = (vec![Some(read), seen], Object::Variable(variable));
        let instance = Instance { question, events, object, remarks: Remarks::default() };
        match constructed {
            Some(witness) => {
                self.counts.phases.known += 1;
                self.asking.take(pattern, instance, witness);
            }
            None if self.pass == Pass::Constructing => {}
            None => {
                self.asking.judge(pattern, instance, ask);
            }
        }
    }

    /// A schedule that needs no search.
    fn constructed(&self, read: EventId, source: Source) -> Option<Witness> {
        let (index, model) = (self.index, self.settings.model);
        preserving(index, self.syncp.get_or_init(|| Syncp::under(index, model)), read, source)
    }
}
