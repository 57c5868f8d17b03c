//! Atomicity violations: `a < c < b` with `a` and `b` of one thread, meant to be atomic, and `c` of another, so that
//! no order of the two is as good as this one: the patterns RWR, RWW, WWW, WRW and WWR.
//!
//! Paper 5 (Zeng, Sun, Liu, He, *A Method for Improving the Precision and Coverage of Atomicity Violation
//! Predictions*) filters what an over-approximation predicts. All of its columns are here as a [`Method`], and the exact
//! answer beside them. Pairs come from the user's regions if the trace has any, else from consecutive accesses of a
//! thread to a variable (`pairs.rs`). Then, for every pair and access of another thread:
//!
//! 1. a lock held from `a` to `b` that `c` is under too keeps it out;
//! 2. `c` may be before `a` or after `b` in every schedule: for each pair and thread a binary search leaves a band;
//! 3. what is left is asked of the engine as [`Question::Order`].
//!
//! A *pattern* is the three places in the source; its instances are asked until one is feasible, those near to each
//! other first, or until [`Limits`] are reached; then it is reported as unknown. [`Extent::All`] asks all of them.
//!
//! Promise: `exact` finds every pattern that is feasible under the model and no other, but for those counted as unknown;
//! `over` and `under` likewise for their definitions; `avfilter` is `over` without what the algorithm filters, and
//! promises what the paper does. Cost: linear for the pairs, and a step for each two groups (places and locks) of a
//! variable, then the questions.

mod avfilter;
mod pairs;
mod under;

use std::ops::Range;

use check::{Model, Question};
use decide::{MustOrder, Setup, Verdict, decide};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{EventId, LocationId, VariableId};

use self::pairs::{AllPairs, Contested, Pair, PairGroup, PointGroup};
use self::under::Marked;
use crate::nearest::outward;
use crate::{Found, Object, Report, Settings};
pub use avfilter::{AvFilter, Triple};

pub use crate::deadlocks::Extent;

/// How to tell violations from what only looks like one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Whatever synchronisation allows.
    Over,
    /// That, filtered by paper 5's algorithm 1.
    AvFilter,
    /// Every read keeps the write it saw, even those of the violation.
    Under,
    /// Feasible under the model.
    Exact,
}

impl Method {
    /// Every method.
    pub const ALL: [Method; 4] = [Method::Over, Method::AvFilter, Method::Under, Method::Exact];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Over => "over",
            Method::AvFilter => "avfilter",
            Method::Under => "under",
            Method::Exact => "exact",
        }
    }

    /// The model its schedules keep to, if `model` was asked for.
    pub fn model(self, model: Model) -> Model {
        match self {
            Method::Over | Method::AvFilter => Model::Sync,
            Method::Under => Model::ReadsFrom,
            Method::Exact => model,
        }
    }
}

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Which instances of a pattern to ask.
    pub extent: Extent,
    /// How many instances of a pattern to ask before it is left as unknown. Not for [`Extent::All`].
    pub instances: u32,
    /// What a question may cost at most, whatever the settings say: another instance may be easier. Likewise.
    pub budget: u64,
    /// How many instances of a pattern to look at, asked or filtered, before it is left as unknown. Likewise.
    pub tries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { extent: Extent::Patterns, instances: 4, budget: 100_000, tries: 100_000 }
    }
}

/// How many violations there might have been, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pairs meant to be atomic, of variables that are contested.
    pub pairs: u64,
    /// Patterns with an instance that neither locks nor orders exclude.
    pub candidates: u64,
    /// Instances that `avfilter` filtered.
    pub filtered: u64,
    /// Instances asked of the engine.
    pub asked: u64,
    /// Findings: patterns (or with [`Extent::All`], instances).
    pub feasible: u64,
    /// Patterns left open.
    pub unknown: u64,
}

/// Finds the violations that are feasible under the model, one for each pattern.
pub fn search(setup: &Setup<'_>, settings: Settings, report: &mut dyn FnMut(Report)) -> Counts {
    search_by(setup, settings, Method::Exact, Limits::default(), report)
}

/// Finds violations by a method, within limits.
pub fn search_by(
    setup: &Setup<'_>,
    settings: Settings,
    method: Method,
    limits: Limits,
    report: &mut dyn FnMut(Report),
) -> Counts {
    let settings = Settings { model: method.model(settings.model), ..settings };
    let all = AllPairs::of(setup.trace());
    let marked =
        (method == Method::Under).then(|| Marked::of(setup.trace(), &pairs::contested(setup.trace())));
    let judge = match &marked {
        Some(marked) => Judge::Under { marked, setup: Box::new(Setup::new(&marked.trace)) },
        None if method == Method::AvFilter => Judge::AvFilter(AvFilter::new(setup)),
        None => Judge::Engine,
    };
    let mut search = Search {
        setup,
        settings,
        limits,
        judge,
        must: MustOrder::new(setup, settings.model),
        all: &all,
        patterns: FxHashMap::default(),
        counts: Counts { pairs: all.count, ..Counts::default() },
        report,
    };
    let total = all.variables.len() as u64;
    for (index, variable) in all.variables.iter().enumerate() {
        search.variable(VariableId::new(index), variable);
        if index.is_multiple_of(1024) {
            (search.report)(Report::Progress { done: index as u64, total });
        }
    }
    search.leave_open();
    search.counts
}

/// What a method asks besides the engine.
enum Judge<'a> {
    Engine,
    AvFilter(AvFilter<'a>),
    Under { marked: &'a Marked, setup: Box<Setup<'a>> },
}

/// The places of a, c and b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pattern([LocationId; 3]);

/// What is known of a pattern.
#[derive(Debug, Default)]
struct Known {
    found: bool,
    asked: u32,
    tried: u32,
    /// A question that was left open by the budget or by the limits.
    open: Option<Question>,
    /// The limits were reached.
    limited: bool,
}

/// Whether a pattern needs more instances.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Settled {
    No,
    Yes,
}

struct Search<'a> {
    setup: &'a Setup<'a>,
    settings: Settings,
    limits: Limits,
    judge: Judge<'a>,
    must: MustOrder,
    all: &'a AllPairs,
    patterns: FxHashMap<Pattern, Known>,
    counts: Counts,
    report: &'a mut dyn FnMut(Report),
}

impl Search<'_> {
    fn variable(&mut self, variable: VariableId, contested: &Contested) {
        for pairs in &contested.pairs {
            for points in contested.points.iter().filter(|points| pairs.is_broken_by(points)) {
                if !self.all.sets.exclude(pairs.cover, points.held) {
                    self.groups(variable, pairs, points);
                }
            }
        }
    }

    /// For each pair the nearest access, those that are nearest of all first; then the others.
    fn groups(&mut self, variable: VariableId, pairs: &PairGroup, points: &PointGroup) {
        let pattern = Pattern([pairs.sites[0], points.site, pairs.sites[1]]);
        let limited = self.limits.extent == Extent::Patterns;
        if limited && self.patterns.get(&pattern).is_some_and(|known| known.found || known.limited) {
            return;
        }
        let mut known = self.patterns.remove(&pattern).unwrap_or_default();
        let triples = |search: &Self, pair: &Pair, width: usize| {
            let &Pair { first, second } = pair;
            let band = search.band(first, second, pairs, points);
            let near = outward(&points.events, band, first).take(width);
            near.map(|index| Triple { first, between: points.events[index], second }).collect::<Vec<_>>()
        };
        let mut nearest: Vec<Triple> = pairs.pairs.iter().flat_map(|pair| triples(self, pair, 1)).collect();
        nearest.sort_by_key(|triple| triple.second.0.abs_diff(triple.between.0));
        let settled = |search: &mut Self, triple, known: &mut _| {
            search.instance(variable, triple, known) == Settled::Yes && limited
        };
        if !nearest.iter().any(|&triple| settled(self, triple, &mut known)) {
            let asked: FxHashSet<Triple> = nearest.into_iter().collect();
            for pair in &pairs.pairs {
                let mut others = triples(self, pair, usize::MAX).into_iter().filter(|t| !asked.contains(t));
                if others.any(|triple| settled(self, triple, &mut known)) {
                    break;
                }
            }
        }
        if known.tried > 0 || known.limited {
            self.patterns.insert(pattern, known);
        }
    }

    /// The accesses that are neither before the first nor after the second in every schedule. What the three see
    /// themselves is free, so what must come before them is what must have happened for them to be next.
    fn band(&self, first: EventId, second: EventId, pairs: &PairGroup, points: &PointGroup) -> Range<usize> {
        let (threads, events) = (self.setup.threads(), &points.events);
        let least = self.must.run_up(self.setup, first, points.thread);
        let last = threads.place(second) as u32;
        let start = events.partition_point(|&event| (threads.place(event) as u32) < least);
        let before = |&event: &EventId| self.must.run_up(self.setup, event, pairs.thread) <= last;
        start..events.partition_point(before).max(start)
    }

    fn instance(&mut self, variable: VariableId, triple: Triple, known: &mut Known) -> Settled {
        let Triple { first, between, second } = triple;
        let question = Question::Order(vec![first, between, second]);
        let Limits { extent, instances, budget, tries } = self.limits;
        if extent == Extent::Patterns && (known.asked >= instances || known.tried >= tries) {
            known.open.get_or_insert(question);
            known.limited = true;
            return Settled::Yes;
        }
        known.tried = known.tried.saturating_add(1);
        if let Judge::AvFilter(filter) = &self.judge
            && filter.filters(triple)
        {
            self.counts.filtered += 1;
            return Settled::No;
        }
        known.asked = known.asked.saturating_add(1);
        self.counts.asked += 1;
        let mut options = self.settings.options;
        if extent == Extent::Patterns {
            options.budget = options.budget.min(budget);
        }
        let kept = match &self.judge {
            Judge::Under { marked, setup } => marked.decide(setup, triple, options),
            Judge::Engine | Judge::AvFilter(_) => Some(true),
        };
        let verdict = match kept {
            Some(true) => decide(self.setup, &question, self.settings.model, options),
            Some(false) => return Settled::No,
            None => Ok(Verdict::Unknown { budget: options.budget }),
        };
        match verdict {
            Ok(Verdict::Feasible(witness)) => {
                known.found = true;
                self.counts.feasible += 1;
                let events = vec![Some(first), Some(between), Some(second)];
                let object = Object::Variable(variable);
                (self.report)(Report::Found(Found { question, events, object, witness }));
                Settled::Yes
            }
            Ok(Verdict::Infeasible(_)) => Settled::No,
            Ok(Verdict::Unknown { .. }) => {
                known.open.get_or_insert(question);
                Settled::No
            }
            Err(error) => unreachable!("three accesses make an order: {error}"),
        }
    }

    /// Reports the patterns that are neither found nor refuted.
    fn leave_open(&mut self) {
        self.counts.candidates = self.patterns.len() as u64;
        let open = std::mem::take(&mut self.patterns).into_values().filter(|known| !known.found);
        let mut questions: Vec<Question> = open.filter_map(|known| known.open).collect();
        questions.sort_by_key(Question::named);
        for question in questions {
            self.counts.unknown += 1;
            (self.report)(Report::Unknown(question));
        }
    }
}
