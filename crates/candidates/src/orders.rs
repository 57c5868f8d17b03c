//! Order violations: what the user says must not come before what, and, in traces with allocations and frees, memory
//! that is used after it is freed, before it is allocated, or read before it is written.
//!
//! - A [`Rule`] `A < B` names the violation, as `foretell decide --order A,B` would ask for it: `free.c:9 < use.c:4`.
//! - *Use after free*: a free and an access to the same life of the block, asked as free < access.
//! - *Use before allocation*: an access by another thread than the one that allocates, asked as access < allocation. The thread knows
//!   the address from elsewhere: `realloc` has left the block where it was, and the access is of memory that it had freed.
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
use decide::{Index, must_order};
use order::MustOrder;
use trace::{EventId, LocationId, Op};

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
    let mut search = Search { index, must, families, asking, counts: Counts::default() };
    rules.iter().enumerate().for_each(|(number, rule)| search.rule(number, rule));
    for life in lives.iter().take_while(|_| !index.bounds().are_reached()) {
        search.used_after_free(life);
        search.used_before_allocation(life);
        search.read_before_written(life);
    }
    search.asking.second_look(ask);
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
    ReadBeforeWritten,
}

struct Search<'a> {
    index: &'a Index<'a>,
    must: &'a MustOrder,
    families: Families,
    asking: PatternSearch<'a, Pattern>,
    counts: Counts,
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
        for &access in &life.uses {
            self.order(Kind::UsedAfterFree, family, [free, access], || Object::Named(name.to_owned()));
        }
    }

    /// Uses that can come before the allocation are of memory that belongs to another block: `realloc` has freed it, perhaps in place.
    fn used_before_allocation(&mut self, life: &Life) {
        let trace = self.index.trace();
        let name = trace.symbols().block(life.block);
        let family = Some(self.families.of_block(life.block));
        let others = life.uses.iter().filter(|&&access| trace.thread(access) != trace.thread(life.allocate));
        for &access in others {
            let pair = [access, life.allocate];
            self.order(Kind::UsedBeforeAllocation, family, pair, || Object::Named(name.to_owned()));
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
        self.asking.ask(pattern, Instance { question, events, object, remarks: Remarks::default() });
    }
}
