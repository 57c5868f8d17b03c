//! Order violations: what the user says must not come before what, and, in traces with allocations and frees, memory
//! that is used after it is freed, before it is allocated, or read before it is written.
//!
//! - A [`Rule`] `A < B` names the violation, as `foretell decide --order A,B` would ask for it: `free.c:9 < use.c:4`.
//! - *Use after free*: a free and an access to the same life of the block, asked as free < access. A second free by another thread is a
//!   use, too: the C library notices only some.
//! - *Use before allocation*: an access by another thread than the one that allocates, asked as access < allocation. The thread knows
//!   the address from elsewhere.
//! - *Use after reallocation*: the same where `realloc` allocates. It has left the block where it was, so the thread has the address of the old block,
//!   which `realloc` has freed. That the access comes first is harmless, and only shows that nothing orders the two: if it can, allocation <
//!   access is asked and reported.
//! - *Read before initialisation*: a read of a block's variable that sees the value the memory had when it was
//!   allocated ([`Question::Reads`]), although something in this life of the block initialises it and may come before. What
//!   initialises is a write by a thread that has not accessed the variable before: `n += 1` does not, and what comes after the
//!   read in every schedule is too late, so such a read is no matter of order. The events are the read and the first such write.
//!
//! A variable belongs to the block `b` if it is named `b`, or `b` followed by `->`, `.`, `[` or `+` and whatever else; if
//! several blocks fit, to the one with the longest name. A life of a block lasts from an allocation to the next.
//!
//! Pairs whose order holds in every schedule are passed over. A *pattern* is the two places in the source, and the variable where one is read; its
//! instances are asked until one is feasible or until [`PatternLimits`] are reached; then it is reported as unknown.
//! [`Extent::All`](crate::Extent::All) asks all of them.
//!
//! Promise: sound and complete for the model and these definitions, but for the patterns counted as unknown. Cost: linear, and a
//! comparison for each use of freed memory; for rules by place, one for each two events of the places until the limits
//! are reached.

mod rules;

use check::{Question, Source};
use decide::{Index, Verdict, must_order};
use order::MustOrder;
use rustc_hash::FxHashSet;
use trace::{EventId, LocationId, Op, Trace};

use crate::families::{Families, FamilyId};
use crate::lives::{Life, lives};
use crate::nearest::outward;
use crate::pattern_search::{Instance, PatternId, PatternSearch, Tally, ask};
use crate::{Object, PatternLimits, Remarks, Report, SearchSettings};
pub use rules::{Rule, RuleError};

/// How far [`search`] goes.
pub const LIMITS: PatternLimits = PatternLimits { instances: 64, ..PatternLimits::GENEROUS };

/// The number of possible violations by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pairs of events.
    pub pairs: u64,
    /// Of those: never in the order asked for.
    pub ordered: u64,
    /// Patterns and pairs by outcome.
    pub tally: Tally,
}

/// Finds uses of freed memory and reads of memory that is not initialised, one for each pattern.
pub fn search(index: &Index<'_>, settings: SearchSettings, report: &mut dyn FnMut(Report)) -> Counts {
    search_for(index, settings, &[], LIMITS, report)
}

/// Finds violations of rules, and what [`search`] finds, within limits.
pub fn search_for(
    index: &Index<'_>,
    settings: SearchSettings,
    rules: &[Rule],
    limits: PatternLimits,
    report: &mut dyn FnMut(Report),
) -> Counts {
    let lives = lives(index.trace());
    if rules.is_empty() && lives.is_empty() {
        return Counts::default();
    }
    let must = must_order(index, settings.model);
    let asking = PatternSearch::new(index, settings, limits, report);
    let families = Families::of(index.trace());
    let mut search = Search {
        index,
        must,
        families,
        asking,
        counts: Counts::default(),
        reallocations: reallocations(index.trace()),
        after_reallocation: FxHashSet::default(),
    };
    rules.iter().enumerate().for_each(|(number, rule)| search.rule(number, rule));
    for life in lives.iter().take_while(|_| !index.bounds().are_reached()) {
        search.used_after_free(life);
        search.used_before_allocation(life);
        search.read_before_written(life);
    }
    let after_reallocation = &search.after_reallocation;
    search
        .asking
        .second_look(|index, question, settings| judge(after_reallocation, index, question, settings));
    Counts { tally: search.asking.finish(), ..search.counts }
}

/// What kind of violation, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pattern {
    kind: Kind,
    /// The variable that is read, or the block that is used; none of a rule.
    object: Option<FamilyId>,
    sites: [LocationId; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// Of the rule with this number.
    Stated(usize),
    UsedAfterFree,
    UsedBeforeAllocation,
    UsedAfterReallocation,
    ReadBeforeWritten,
}

struct Search<'a> {
    index: &'a Index<'a>,
    must: &'a MustOrder,
    families: Families,
    asking: PatternSearch<'a, Pattern>,
    counts: Counts,
    /// Where `realloc` is called.
    reallocations: FxHashSet<LocationId>,
    /// An allocation of `realloc` and a use of the block, which must be able to come first.
    after_reallocation: FxHashSet<[EventId; 2]>,
}

impl Search<'_> {
    fn rule(&mut self, number: usize, rule: &Rule) {
        for &first in rule.first.iter().take_while(|_| !self.index.bounds().are_reached()) {
            for index in outward(&rule.second, 0..rule.second.len(), first) {
                let second = rule.second[index];
                if second != first {
                    let object = || Object::Named(rule.name.clone());
                    self.order(Kind::Stated(number), None, [first, second], object);
                }
            }
        }
    }

    fn used_after_free(&mut self, life: &Life) {
        let Some(free) = life.free else { return };
        let name = self.index.trace().symbols().block(life.block);
        let family = Some(self.families.of_block(life.block));
        for &access in life.uses.iter().chain(&life.freed_again) {
            self.order(Kind::UsedAfterFree, family, [free, access], || Object::Named(name.to_owned()));
        }
    }

    /// Uses that can come before the allocation are of memory that belongs to another block.
    fn used_before_allocation(&mut self, life: &Life) {
        let trace = self.index.trace();
        let allocate = life.allocate;
        let name = trace.symbols().block(life.block);
        let family = Some(self.families.of_block(life.block));
        let others = life.uses.iter().filter(|&&access| trace.thread(access) != trace.thread(allocate));
        let is_reallocation = self.reallocations.contains(&trace.location(allocate));
        for &access in others {
            match is_reallocation {
                true => self.used_after_reallocation(family, allocate, access, name),
                false => {
                    let pair = [access, allocate];
                    self.order(Kind::UsedBeforeAllocation, family, pair, || Object::Named(name.to_owned()));
                }
            }
        }
    }

    /// Asks whether a use can come after `realloc` although nothing keeps it there.
    fn used_after_reallocation(
        &mut self,
        family: Option<FamilyId>,
        allocate: EventId,
        access: EventId,
        name: &str,
    ) {
        self.counts.pairs += 1;
        if self.comes_before(allocate, access) {
            self.counts.ordered += 1;
            return;
        }
        let pair = [allocate, access];
        let pattern = self.pattern(Kind::UsedAfterReallocation, family, pair);
        if !self.asking.is_settled(pattern) {
            let object = Object::Named(self.reallocated(allocate).unwrap_or(name).to_owned());
            self.after_reallocation.insert(pair);
            self.ask(pattern, Question::Order(pair.to_vec()), pair, object);
        }
    }

    /// The name of the block that `realloc` has freed, if the trace has it.
    fn reallocated(&self, allocate: EventId) -> Option<&str> {
        let (trace, threads) = (self.index.trace(), self.index.threads());
        let before = threads.place(allocate).checked_sub(1)?;
        let free = threads.of_thread(trace.thread(allocate))[before];
        match trace.op(free) {
            Op::Free(old) if trace.location(free) == trace.location(allocate) => {
                Some(trace.symbols().block(old))
            }
            _ => None,
        }
    }

    fn read_before_written(&mut self, life: &Life) {
        let trace = self.index.trace();
        for &read in &life.uses {
            let Some(variable) = trace.op(read).reads() else { continue };
            let Some(writes) = life.initialising.get(&variable) else { continue };
            let Some(&write) = writes.iter().find(|&&write| !self.must.precedes(self.index, read, write))
            else {
                continue;
            };
            self.counts.pairs += 1;
            if writes.iter().any(|&write| self.comes_before(write, read)) {
                self.counts.ordered += 1;
                continue;
            }
            let stale = life.stale.get(&variable).copied().map_or(Source::Initial, Source::Write);
            let family = Some(self.families.of_variable(variable));
            let pattern = self.pattern(Kind::ReadBeforeWritten, family, [read, write]);
            if !self.asking.is_settled(pattern) {
                let question = Question::Reads(read, Some(stale));
                self.ask(pattern, question, [read, write], Object::Variable(variable));
            }
        }
    }

    /// Asks whether one event can come before another.
    fn order(
        &mut self,
        kind: Kind,
        family: Option<FamilyId>,
        [first, second]: [EventId; 2],
        object: impl FnOnce() -> Object,
    ) {
        self.counts.pairs += 1;
        if self.comes_before(second, first) {
            self.counts.ordered += 1;
            return;
        }
        let pattern = self.pattern(kind, family, [first, second]);
        if !self.asking.is_settled(pattern) {
            self.ask(pattern, Question::Order(vec![first, second]), [first, second], object());
        }
    }

    /// Whether an event comes before another in every schedule, whatever the second sees if it is a read.
    fn comes_before(&self, first: EventId, second: EventId) -> bool {
        let index = self.index;
        match index.trace().op(second) {
            Op::Read(_) | Op::AtomicRead(_) | Op::AtomicUpdate(_) => {
                let run_up = self.must.run_up(index, second, index.trace().thread(first));
                (index.threads().place(first) as u32) < run_up
            }
            _ => self.must.precedes(index, first, second),
        }
    }

    fn pattern(&mut self, kind: Kind, object: Option<FamilyId>, events: [EventId; 2]) -> PatternId {
        let sites = events.map(|event| self.index.trace().location(event));
        self.asking.pattern(Pattern { kind, object, sites })
    }

    fn ask(&mut self, pattern: PatternId, question: Question, events: [EventId; 2], object: Object) {
        let events = events.map(Some).to_vec();
        let instance = Instance { question, events, object, remarks: Remarks::default() };
        if self.asking.looks_at(pattern, &instance.question) {
            let after_reallocation = &self.after_reallocation;
            self.asking.judge(pattern, instance, |index, question, settings| {
                judge(after_reallocation, index, question, settings)
            });
        }
    }
}

/// The engine's verdict. A use after reallocation is none if it cannot come before as well.
fn judge(
    after_reallocation: &FxHashSet<[EventId; 2]>,
    index: &Index<'_>,
    question: &Question,
    settings: SearchSettings,
) -> Verdict {
    if let Question::Order(events) = question
        && let &[allocate, access] = &events[..]
        && after_reallocation.contains(&[allocate, access])
    {
        let reversed = ask(index, &Question::Order(vec![access, allocate]), settings);
        if !matches!(reversed, Verdict::Feasible(_)) {
            return reversed;
        }
    }
    ask(index, question, settings)
}

/// Where a recording has calls of `realloc`.
fn reallocations(trace: &Trace) -> FxHashSet<LocationId> {
    let known: FxHashSet<&str> = trace.metadata().reallocations.iter().map(String::as_str).collect();
    let locations = trace.events().filter(|(_, _, op)| matches!(op, Op::Allocate(_)));
    let locations = locations.map(|(event, _, _)| trace.location(event));
    locations.filter(|&location| known.contains(trace.symbols().location(location))).collect()
}
