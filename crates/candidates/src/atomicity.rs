//! Atomicity violations: `a < c < b` with `a` and `b` of one thread, meant to be atomic, and `c` of another, so that
//! no order of the two is as good as this one: the patterns RWR, RWW, WWW, WRW and WWR.
//!
//! What is meant to be atomic is an [`Intent`] (`pairs.rs`), and what counts as a violation a [`Criterion`]. For every pair
//! and access of another thread:
//!
//! 1. a lock held from `a` to `b` that `c` is under too keeps it out;
//! 2. `c` may be before `a` or after `b` in every schedule: for each pair and thread a binary search leaves a band;
//! 3. if the recorded order is `a < c < b`, it is its own schedule;
//! 4. `insert.rs`: often the section of `c` can come right before that of `b`, after all else in the order of the trace;
//! 5. what is left is asked of the engine as [`Question::Order`].
//!
//! A region of the user's is also broken by accesses to several of its variables: `spread.rs`.
//!
//! A *pattern* is the places in the source; its instances are asked until one is feasible, those near to each
//! other first, or until [`PatternLimits`] are reached; then it is reported as unknown. [`Extent::All`] asks all of them.
//!
//! Where forks, joins, signals and barriers keep `c` between `a` and `b` in every schedule, as when a thread reads what the
//! children it has joined have written, nothing goes wrong that could go right: unless the user's region says otherwise,
//! such a finding is marked as [`Remarks::inherent`], a pattern of its own, to be shown last.
//!
//! Promise: finds every pattern that is a violation by the criterion under the model and no other, but for those counted as
//! unknown. Cost: linear for the pairs, and a step for each two groups (places and locks) of a variable, then the questions.

mod calls;
mod insert;
mod pairs;
mod spread;

use std::cell::OnceCell;
use std::ops::Range;

use check::{Model, Question};
use decide::{Index, Verdict, Witness, must_order};
use order::{MustOrder, ReadOrder};
use rustc_hash::FxHashSet;
use trace::{EventId, LocationId, ThreadId, VariableId};

use self::insert::Insert;
use self::pairs::{AllPairs, Contested, Effect, Pair, PairGroup, PointGroup};
use crate::families::{Families, FamilyId};
use crate::nearest::outward;
use crate::pattern_search::{Instance, PatternId, PatternSearch, Tally, ask};
use crate::races::syncp::Syncp;
use crate::{Extent, Object, PatternLimits, Remarks, Report, SearchSettings};
pub use calls::Calls;
pub use pairs::Intent;

/// How far [`search`] goes.
pub const LIMITS: PatternLimits =
    PatternLimits { extent: Extent::Patterns, instances: 16, share: 200, tries: 100_000 };

/// Accesses `a < c < b` that may be a violation: `a` and `b` of one thread, `c` of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Triple {
    /// The first access.
    pub first: EventId,
    /// The one that comes between.
    pub between: EventId,
    /// The second access.
    pub second: EventId,
}

/// What counts as a violation. [`Exact`] is what is feasible under the model; the crate `papers` has others.
pub trait Criterion {
    /// Whether a candidate is no violation, without asking the engine.
    fn rejects(&self, candidate: Triple) -> bool {
        let _ = candidate;
        false
    }

    /// Whether violations of regions count that are spread over several variables.
    fn covers_regions(&self) -> bool {
        true
    }

    /// Which instances are looked at.
    fn instances(&self) -> Instances {
        Instances::Any
    }

    /// Whether the reads of a violation may see other values than in the trace, as [`Question::Order`] has it. If not, only
    /// [`Criterion::verdict`] knows whether a schedule will do.
    fn exempts_named_reads(&self) -> bool {
        true
    }

    /// Whether a candidate can happen.
    fn verdict(&self, index: &Index<'_>, question: &Question, settings: SearchSettings) -> Verdict {
        ask(index, question, settings)
    }
}

/// Which instances of a pattern are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// Those that can happen.
    Any,
    /// Those that happened in the trace.
    Recorded,
}

/// Whatever is feasible under the model is a violation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exact;

impl Criterion for Exact {}

/// What happened in the trace itself is a violation: of a run that went wrong, it may be the reason. The cost is that of [`Exact`] without its
/// questions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded;

impl Criterion for Recorded {
    fn covers_regions(&self) -> bool {
        false
    }

    fn instances(&self) -> Instances {
        Instances::Recorded
    }
}

/// The number of possible violations by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pairs meant to be atomic, of variables that are contested.
    pub pairs: u64,
    /// Instances that the criterion rejected.
    pub filtered: u64,
    /// Patterns and instances by outcome; one more is left open if the search was cut short.
    pub tally: Tally,
    /// There are patterns, or cycles of conflicts through a region, that were not looked at.
    pub cut_short: bool,
}

/// Finds the violations that are feasible under the model, one for each pattern.
pub fn search(index: &Index<'_>, settings: SearchSettings, report: &mut dyn FnMut(Report)) -> Counts {
    search_within(index, settings, &Exact, &Intent::Stated, LIMITS, report)
}

/// Finds violations by a criterion, within limits.
pub fn search_within(
    index: &Index<'_>,
    settings: SearchSettings,
    criterion: &dyn Criterion,
    intent: &Intent,
    limits: PatternLimits,
    report: &mut dyn FnMut(Report),
) -> Counts {
    let all = AllPairs::of(index, intent);
    let mut search = Search {
        index,
        model: settings.model,
        extent: limits.extent,
        pass: Pass::Constructing,
        criterion,
        must: must_order(index, settings.model),
        syncp: OnceCell::new(),
        families: OnceCell::new(),
        all: &all,
        asking: PatternSearch::new(index, settings, limits, report),
        counts: Counts { pairs: all.count, ..Counts::default() },
        most: Most::of(index, limits.extent),
    };
    if limits.extent != Extent::All {
        search.variables();
    }
    search.pass = Pass::Deciding;
    search.variables();
    search.regions();
    search.asking.second_look(|index, question, settings| criterion.verdict(index, question, settings));
    let tally = search.asking.finish().cut_short(search.counts.cut_short);
    Counts { tally, ..search.counts }
}

/// Where a violation is in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Pattern {
    /// The places of a, c and b, and their accesses if they matter.
    Triple { sites: [LocationId; 3], accesses: Option<Accesses>, inherent: bool },
    /// The places of a, of all that comes between, and of b.
    Spread(Box<[LocationId]>),
}

/// Which accesses a pattern is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Accesses {
    /// Those of a variable.
    Of(VariableId),
    /// Those of variables of a family that do this to them.
    Like(FamilyId, [Effect; 3]),
}

/// How instances are found feasible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Without a search, of each group's pairs the nearest only: what this settles need not be asked anywhere.
    Constructing,
    /// By all means.
    Deciding,
}

/// How many instances of two groups are looked at for one that needs no search.
const CONSTRUCTED: usize = 64;

struct Search<'a> {
    index: &'a Index<'a>,
    model: Model,
    extent: Extent,
    pass: Pass,
    criterion: &'a dyn Criterion,
    must: &'a MustOrder,
    syncp: OnceCell<Syncp<'a>>,
    families: OnceCell<Families>,
    all: &'a AllPairs,
    asking: PatternSearch<'a, Pattern>,
    counts: Counts,
    most: Most,
}

/// Instances of a pattern, of one variable.
#[derive(Clone, Copy)]
struct Candidates {
    variable: VariableId,
    pattern: PatternId,
    effects: [Effect; 3],
}

/// How many patterns of single variables to look for, and how many pairs of groups to look at for each pass.
#[derive(Clone, Copy)]
struct Most {
    patterns: u32,
    groups: u64,
}

impl Most {
    fn of(index: &Index<'_>, extent: Extent) -> Most {
        if extent == Extent::All {
            return Most { patterns: u32::MAX, groups: u64::MAX };
        }
        // A violation has a count for every thread.
        let patterns = ((1 << 25) / index.threads().threads().max(1) as u32).clamp(16, 10_000);
        Most { patterns, groups: (1 << 28) + index.trace().len() as u64 * 1024 }
    }
}

impl Search<'_> {
    fn variables(&mut self) {
        let total = self.all.variables.len() as u64;
        let mut groups = self.most.groups;
        for (index, contested) in self.all.variables.iter().enumerate() {
            if !self.variable(VariableId::new(index), contested, &mut groups) {
                self.counts.cut_short = true;
                return;
            }
            if index.is_multiple_of(1024) {
                self.asking.progress(index as u64, total);
            }
        }
    }

    /// Whether it was looked at to the end.
    fn variable(&mut self, variable: VariableId, contested: &Contested, groups: &mut u64) -> bool {
        for pairs in &contested.pairs {
            *groups = groups.saturating_sub(contested.points.len() as u64);
            if *groups == 0 || self.index.bounds().are_reached() {
                return false;
            }
            for points in contested.points.iter().filter(|points| pairs.is_broken_by(points)) {
                if !self.all.sets.exclude(pairs.cover, points.held) && !self.groups(variable, pairs, points) {
                    return false;
                }
            }
        }
        true
    }

    /// Looks at the instances of two groups, unless there are too many patterns already: whether it did.
    fn groups(&mut self, variable: VariableId, pairs: &PairGroup, points: &PointGroup) -> bool {
        let sites = [pairs.sites[0], points.site, pairs.sites[1]];
        let effects = [pairs.effects[0], points.effect(), pairs.effects[1]];
        let pattern = self.pattern(sites, self.accesses(variable, effects), false);
        if pattern.0 >= self.most.patterns {
            return false;
        }
        if !self.asking.is_settled(pattern) {
            self.instances(Candidates { variable, pattern, effects }, pairs, points);
        }
        true
    }

    /// For each pair the nearest access, those that are nearest of all first; then the others.
    fn instances(&mut self, of: Candidates, pairs: &PairGroup, points: &PointGroup) {
        let pattern = of.pattern;
        let triples = |search: &Self, pair: &Pair, width: usize| {
            let &Pair { first, second } = pair;
            let band = search.band(search.must, pair, pairs.thread, points);
            let near = outward(&points.events, band, first).take(width);
            near.map(|index| Triple { first, between: points.events[index], second }).collect::<Vec<_>>()
        };
        let bounds = self.index.bounds();
        let in_time = pairs.pairs.iter().take_while(|_| !bounds.are_reached());
        let mut nearest: Vec<Triple> = in_time.flat_map(|pair| triples(self, pair, 1)).collect();
        nearest.sort_by_key(|triple| triple.second.0.abs_diff(triple.between.0));
        if self.pass == Pass::Constructing {
            nearest.truncate(CONSTRUCTED);
        }
        for &triple in &nearest {
            self.instance(of, triple);
            if self.asking.is_settled(pattern) {
                return;
            }
        }
        if self.pass == Pass::Constructing {
            return;
        }
        let asked: FxHashSet<Triple> = nearest.into_iter().collect();
        for pair in &pairs.pairs {
            if self.index.bounds().are_reached() {
                return;
            }
            for triple in triples(self, pair, usize::MAX).into_iter().filter(|t| !asked.contains(t)) {
                self.instance(of, triple);
                if self.asking.is_settled(pattern) {
                    return;
                }
            }
        }
    }

    /// What tells a pattern from others at the same places.
    fn accesses(&self, variable: VariableId, effects: [Effect; 3]) -> Option<Accesses> {
        match self.extent {
            Extent::PatternsOfVariables => Some(Accesses::Of(variable)),
            Extent::Causes => {
                let families = self.families.get_or_init(|| Families::of(self.index.trace()));
                Some(Accesses::Like(families.of_variable(variable), effects))
            }
            Extent::Patterns | Extent::All => None,
        }
    }

    fn pattern(&mut self, sites: [LocationId; 3], accesses: Option<Accesses>, inherent: bool) -> PatternId {
        self.asking.pattern(Pattern::Triple { sites, accesses, inherent })
    }

    /// The accesses that are neither before the first nor after the second in every schedule. What the three see
    /// themselves is free, so what must come before them is what must have happened for them to be next. If only what happened counts, those
    /// between the two.
    fn band(&self, must: &MustOrder, pair: &Pair, own: ThreadId, points: &PointGroup) -> Range<usize> {
        let (threads, events) = (self.index.threads(), &points.events);
        if self.criterion.instances() == Instances::Recorded {
            let start = events.partition_point(|&event| event < pair.first);
            return start..start + events[start..].partition_point(|&event| event < pair.second);
        }
        let least = must.run_up(self.index, pair.first, points.thread);
        let last = threads.place(pair.second) as u32;
        let start = events.partition_point(|&event| (threads.place(event) as u32) < least);
        let before = |&event: &EventId| must.run_up(self.index, event, own) <= last;
        start..events.partition_point(before).max(start)
    }

    fn instance(&mut self, Candidates { variable, pattern, effects }: Candidates, triple: Triple) {
        let Triple { first, between, second } = triple;
        let question = Question::Order(vec![first, between, second]);
        let inherent = self.is_inherent(triple);
        let pattern = match inherent {
            true => {
                let sites = [first, between, second].map(|event| self.index.trace().location(event));
                self.pattern(sites, self.accesses(variable, effects), inherent)
            }
            false => pattern,
        };
        if self.asking.is_settled(pattern) || !self.asking.looks_at(pattern, &question) {
            return;
        }
        if self.criterion.rejects(triple) {
            self.counts.filtered += u64::from(self.pass == Pass::Deciding);
            return;
        }
        let events = vec![Some(first), Some(between), Some(second)];
        let remarks = Remarks { inherent };
        self.judge(pattern, Instance { question, events, object: Object::Variable(variable), remarks });
    }

    /// Has an instance judged that has been looked at and is not filtered.
    fn judge(&mut self, pattern: PatternId, instance: Instance) {
        let events = instance.question.named();
        if events.is_sorted() {
            let witness = self.recorded(events[events.len() - 1]);
            self.asking.take(pattern, instance, witness);
            return;
        }
        if let Some(witness) = self.inserted(&events) {
            self.asking.take(pattern, instance, witness);
            return;
        }
        if self.pass == Pass::Constructing {
            return;
        }
        let criterion = self.criterion;
        self.asking.judge(pattern, instance, |index, question, settings| {
            criterion.verdict(index, question, settings)
        });
    }

    /// The recorded run up to an event. Every read sees what it saw, so it is a schedule under every model.
    fn recorded(&self, last: EventId) -> Witness {
        let threads = self.index.threads();
        let done = |thread: usize| {
            let events = threads.of_thread(ThreadId::new(thread));
            events.partition_point(|&event| event <= last) as u32
        };
        Witness::restricted((0..threads.threads()).map(done).collect())
    }

    /// A schedule that needs no search.
    fn inserted(&self, events: &[EventId]) -> Option<Witness> {
        let &[first, between, second] = events else { return None };
        if !self.criterion.exempts_named_reads() {
            return None;
        }
        let (index, model) = (self.index, self.model);
        let syncp = self.syncp.get_or_init(|| Syncp::under(index, model));
        Insert { index, syncp, model }.witness(Triple { first, between, second })
    }

    /// The orders that hold whatever reads see.
    fn always(&self) -> &MustOrder {
        self.index.must_order(ReadOrder::Free)
    }

    /// Whether nothing but this order is possible, by forks, joins, signals and barriers.
    fn is_inherent(&self, Triple { first, between, second }: Triple) -> bool {
        let holds = |must: &MustOrder| {
            must.precedes(self.index, first, between) && must.precedes(self.index, between, second)
        };
        !self.all.of_regions && holds(self.must) && holds(self.always())
    }
}
