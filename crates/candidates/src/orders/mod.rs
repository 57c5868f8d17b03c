//! Order violations: what the user says must not come before what, and, in traces with allocations and frees, memory
//! that is used after it is freed or read before it is written.
//!
//! - A [`Rule`] `A < B` names the violation, as `foretell decide --order A,B` would ask for it: `free.c:9 < use.c:4`.
//! - *Use after free*: a free and an access to the same life of the block, asked as free < access.
//! - *Read before initialisation*: a read of a block's variable that sees the value the memory had when it was
//!   allocated ([`Question::Reads`]), although something in this life of the block writes it. The events are the read and
//!   the first such write.
//!
//! A variable belongs to the block `b` if it is named `b`, or `b` followed by `.`, `[` or `+` and whatever else; if
//! several blocks fit, to the one with the longest name. A life of a block lasts from an allocation to the next.
//!
//! Pairs whose order holds in every schedule are passed over. A *pattern* is the two places in the source; its
//! instances are asked until one is feasible or until [`Limits`] are reached; then it is reported as unknown.
//! [`Extent::All`] asks all of them.
//!
//! Promise: sound and complete for the model and these definitions, but for the patterns counted as unknown. Cost: linear, and a
//! comparison for each use of freed memory; for rules by place, one for each two events of the places until the limits
//! are reached.

mod memory;
mod rules;

use check::{Question, Source};
use decide::{MustOrder, Setup, Verdict, decide};
use rustc_hash::FxHashMap;
use trace::{EventId, LocationId, Op};

use self::memory::Life;
use crate::nearest::outward;
use crate::{Found, Object, Report, Settings};
pub use rules::{Point, Rule, RuleError};

pub use crate::deadlocks::Extent;

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Which instances of a pattern to ask.
    pub extent: Extent,
    /// How many instances of a pattern to ask before it is left as unknown. Not for [`Extent::All`].
    pub instances: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { extent: Extent::Patterns, instances: 64 }
    }
}

/// How many violations there might have been, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pairs of events.
    pub pairs: u64,
    /// Of those: never in the order asked for.
    pub ordered: u64,
    /// Patterns with a pair that may come in the order asked for.
    pub candidates: u64,
    /// Asked of the engine.
    pub asked: u64,
    /// Findings: patterns (or with [`Extent::All`], pairs).
    pub feasible: u64,
    /// Patterns left open.
    pub unknown: u64,
}

/// Finds uses of freed memory and reads of memory that is not initialised, one for each pattern.
pub fn search(setup: &Setup<'_>, settings: Settings, report: &mut dyn FnMut(Report)) -> Counts {
    search_for(setup, settings, &[], Limits::default(), report)
}

/// Finds violations of rules, and what [`search`] finds, within limits.
pub fn search_for(
    setup: &Setup<'_>,
    settings: Settings,
    rules: &[Rule],
    limits: Limits,
    report: &mut dyn FnMut(Report),
) -> Counts {
    let lives = memory::lives(setup.trace());
    if rules.is_empty() && lives.is_empty() {
        return Counts::default();
    }
    let must = MustOrder::new(setup, settings.model);
    let (patterns, counts) = (FxHashMap::default(), Counts::default());
    let mut search = Search { setup, settings, limits, must, patterns, counts, report };
    rules.iter().for_each(|&rule| search.rule(rule));
    for life in &lives {
        search.used_after_free(life);
        search.read_before_written(life);
    }
    search.leave_open();
    search.counts
}

/// What kind of violation, and where: a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pattern {
    kind: Kind,
    sites: [LocationId; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Stated,
    UsedAfterFree,
    ReadBeforeWritten,
}

/// What is known of a pattern.
#[derive(Debug, Default)]
struct Known {
    found: bool,
    asked: u32,
    /// A question that was left open by the budget or by the limits.
    open: Option<Question>,
}

struct Search<'a> {
    setup: &'a Setup<'a>,
    settings: Settings,
    limits: Limits,
    must: MustOrder,
    patterns: FxHashMap<Pattern, Known>,
    counts: Counts,
    report: &'a mut dyn FnMut(Report),
}

impl Search<'_> {
    fn rule(&mut self, rule: Rule) {
        let trace = self.setup.trace();
        let seconds = rule.second.events(trace);
        for first in rule.first.events(trace) {
            for index in outward(&seconds, 0..seconds.len(), first) {
                let second = seconds[index];
                if second != first {
                    let object = Object::Named(format!("{first} < {second}"));
                    self.order(Kind::Stated, first, second, object);
                }
            }
        }
    }

    fn used_after_free(&mut self, life: &Life) {
        let Some(free) = life.free else { return };
        let name = self.setup.trace().symbols().block(life.block);
        for &access in &life.uses {
            self.order(Kind::UsedAfterFree, free, access, Object::Named(name.to_owned()));
        }
    }

    fn read_before_written(&mut self, life: &Life) {
        let trace = self.setup.trace();
        for &read in &life.uses {
            let Some(variable) = trace.op(read).reads() else { continue };
            let Some(&write) = life.initialised.get(&variable).filter(|&&write| write != read) else {
                continue;
            };
            self.counts.pairs += 1;
            if self.comes_before(write, read) {
                self.counts.ordered += 1;
                continue;
            }
            let stale = life.stale.get(&variable).copied().map_or(Source::Initial, Source::Write);
            let pattern = self.pattern(Kind::ReadBeforeWritten, read, write);
            let question = Question::Reads(read, Some(stale));
            self.ask(pattern, question, [read, write], Object::Variable(variable));
        }
    }

    /// Asks whether one event can come before another.
    fn order(&mut self, kind: Kind, first: EventId, second: EventId, object: Object) {
        self.counts.pairs += 1;
        if self.comes_before(second, first) {
            self.counts.ordered += 1;
            return;
        }
        let pattern = self.pattern(kind, first, second);
        self.ask(pattern, Question::Order(vec![first, second]), [first, second], object);
    }

    /// Whether an event comes before another in every schedule, whatever the second sees if it is a read.
    fn comes_before(&self, first: EventId, second: EventId) -> bool {
        let setup = self.setup;
        match setup.trace().op(second) {
            Op::Read(_) | Op::AtomicRead(_) | Op::AtomicUpdate(_) => {
                let run_up = self.must.run_up(setup, second, setup.trace().thread(first));
                (setup.threads().place(first) as u32) < run_up
            }
            _ => self.must.precedes(setup, first, second),
        }
    }

    fn pattern(&self, kind: Kind, first: EventId, second: EventId) -> Pattern {
        Pattern { kind, sites: [first, second].map(|event| self.setup.trace().location(event)) }
    }

    fn ask(&mut self, pattern: Pattern, question: Question, events: [EventId; 2], object: Object) {
        let Limits { extent, instances } = self.limits;
        let known = self.patterns.entry(pattern).or_default();
        if extent == Extent::Patterns && (known.found || known.asked >= instances) {
            known.open.get_or_insert(question);
            return;
        }
        known.asked = known.asked.saturating_add(1);
        self.counts.asked += 1;
        match decide(self.setup, &question, self.settings.model, self.settings.options) {
            Ok(Verdict::Feasible(witness)) => {
                known.found = true;
                self.counts.feasible += 1;
                let events = events.map(Some).to_vec();
                (self.report)(Report::Found(Found { question, events, object, witness }));
            }
            Ok(Verdict::Infeasible(_)) => {}
            Ok(Verdict::Unknown { .. }) => {
                known.open.get_or_insert(question);
            }
            Err(error) => {
                unreachable!("two events make an order, and a write of its variable a source: {error}")
            }
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
