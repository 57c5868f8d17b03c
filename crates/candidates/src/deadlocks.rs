//! Deadlocks: every cycle of threads that block each other, of any length, through locks, joins, condition variables,
//! barriers and semaphores; and lost wake-ups.
//!
//! Paper 3 (section 2.2.2) asks a model checker for any state that nothing leads out of. Here the cycle comes first:
//!
//! 1. `blocked.rs`: events that can be blocked, gathered by thread, by what they wait for and by how they block
//!    others (a lock held, or something that lies ahead of them). One pass, without what `knots.rs` shows to be part of no cycle:
//!    locks that are always taken in the same order cost nothing here, however many are held at once.
//! 2. `cycles.rs`: cycles of those, two threads first, then three and so on.
//! 3. Groups of a cycle that hold a common lock (a gate) are passed over.
//! 4. `instances.rs`: events of the groups; no two are ordered in every schedule (by fork and join, signals,
//!    barriers and, under `rf`, reads-from).
//! 5. `preserving.rs`: of all cycles through locks alone, those that are reached with all sections in the order of the
//!    trace, whose schedules come almost for free.
//! 6. Patterns that are still open are asked of the engine as [`Question::Deadlock`].
//!
//! A *pattern* is the places in the source where the threads of a cycle are blocked, in the order of the cycle. Its
//! instances are asked until one is feasible, those near to each other first, or until [`DeadlockLimits`] are reached; then
//! the pattern is reported as unknown. [`Extent::All`] asks every instance.
//!
//! Promise: every finding is feasible under the model, and every feasible pattern is found unless it is counted as
//! unknown. If [`Counts::cut_short`], there are cycles that nobody looked at, and the count of unknowns includes one
//! for them. Cycles of one thread are no deadlocks. Cost: linear, and for each pair of places that block each other;
//! longer cycles can be exponentially many, hence the limits.

mod blocked;
mod components;
mod cycles;
mod instances;
mod knots;
mod lost;
mod permits;
mod preserving;

use check::Question;
use decide::{Index, Witness, must_order};
use order::MustOrder;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{EventId, LocationId};

use self::blocked::Blocked;
use self::cycles::{Cycles, Visit};
use self::instances::{CycleEntry, Instances};
use self::lost::LostWakeUp;
use crate::pattern_search::{Instance, Outcome, PatternId, PatternSearch, Tally, ask};
use crate::races::syncp::Syncp;
use crate::{Extent, Object, Remarks, Report, SearchSettings};

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockLimits {
    /// For each pattern.
    pub each: crate::PatternLimits,
    /// How many patterns to ask about.
    pub patterns: u64,
    /// How many steps to look for cycles, as many for groups of their events, and a quarter as many for their instances, which cost more.
    pub steps: u64,
    /// How many run-ups to look at for deadlocks with all sections in the order of the trace; the others are left to the
    /// engine.
    pub run_ups: u64,
}

impl DeadlockLimits {
    /// Everything there is.
    pub const ALL: DeadlockLimits = DeadlockLimits {
        each: crate::PatternLimits::ALL,
        patterns: u64::MAX,
        steps: u64::MAX,
        run_ups: u64::MAX,
    };
}

impl Default for DeadlockLimits {
    fn default() -> Self {
        let each = crate::PatternLimits { instances: 16, share: 100, ..crate::PatternLimits::GENEROUS };
        DeadlockLimits { each, patterns: 10_000, steps: 10_000_000, run_ups: 500_000 }
    }
}

/// The number of cycles by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events that can be blocked.
    pub blocked: u64,
    /// Cycles of places, before gates and orders are looked at.
    pub cycles: u64,
    /// Patterns and instances by outcome, lost wake-ups among them; one more is left open if the search was cut short.
    pub tally: Tally,
    /// Lost wake-ups among the findings.
    pub lost: u64,
    /// There are cycles that were not looked at.
    pub cut_short: bool,
}

/// Finds deadlocks and lost wake-ups, one for each pattern.
pub fn search(index: &Index<'_>, settings: SearchSettings, report: &mut dyn FnMut(Report)) -> Counts {
    search_within(index, settings, DeadlockLimits::default(), report)
}

/// Finds deadlocks and lost wake-ups within limits.
pub fn search_within(
    index: &Index<'_>,
    settings: SearchSettings,
    limits: DeadlockLimits,
    report: &mut dyn FnMut(Report),
) -> Counts {
    let blocked = Blocked::of(index);
    let mut search = Search {
        index,
        settings,
        limits,
        blocked: &blocked,
        asking: PatternSearch::new(index, settings, limits.each, report),
        seen: FxHashSet::default(),
        lost: FxHashSet::default(),
        counts: Counts { blocked: blocked.events, ..Counts::default() },
        steps: limits.run_ups,
        group_steps: limits.steps,
        pass: Pass::Preserving,
        syncp: None,
    };
    if limits.each.extent != Extent::All {
        search.cycles();
    }
    search.lost_wake_ups();
    search.pass = Pass::Deciding;
    search.steps = limits.steps / 4;
    search.cycles();
    search.second_look();
    search.finish()
}

/// Where a deadlock is in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Pattern {
    /// The places where the threads of a cycle are blocked, in its order, from the one on that makes the least list.
    Cycle(Box<[LocationId]>),
    /// A wait and its signal.
    Lost([LocationId; 2]),
}

impl Pattern {
    fn of_cycle(cycle: &[CycleEntry<'_>]) -> Pattern {
        let sites: Vec<LocationId> = cycle.iter().map(|place| place.group.site).collect();
        let turned = |by: usize| sites[by..].iter().chain(&sites[..by]).copied().collect::<Box<[_]>>();
        Pattern::Cycle((0..sites.len()).map(turned).min().unwrap_or_default())
    }
}

/// How instances are found feasible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// All sections come in the order of the trace.
    Preserving,
    /// The engine finds a way.
    Deciding,
}

struct Search<'a> {
    index: &'a Index<'a>,
    settings: SearchSettings,
    limits: DeadlockLimits,
    blocked: &'a Blocked,
    asking: PatternSearch<'a, Pattern>,
    /// Instances that have been asked: one may be found by way of several locks.
    seen: FxHashSet<Box<[EventId]>>,
    /// The patterns of lost wake-ups.
    lost: FxHashSet<PatternId>,
    counts: Counts,
    /// Run-ups that may still be looked at, or events of instances that may still be tried.
    steps: u64,
    /// Groups that may still be tried in places of cycles: few places in the source make many, if they are for many locks or semaphores.
    group_steps: u64,
    pass: Pass,
    /// Made when there is a cycle.
    syncp: Option<Syncp<'a>>,
}

impl<'a> Search<'a> {
    fn cycles(&mut self) {
        self.counts.cycles = 0;
        self.group_steps = self.limits.steps;
        let blocked = self.blocked;
        let threads = self.index.threads().threads();
        let mut cycles = Cycles::new(blocked, threads, self.limits.steps, self.index.bounds());
        let complete = cycles.each(&mut |cycle| {
            self.counts.cycles += 1;
            let mut places = Vec::with_capacity(cycle.len());
            self.groups(cycle, &mut places)
        });
        self.counts.cut_short = !complete || self.index.bounds().are_reached();
    }

    /// Chooses groups for the nodes of a cycle that no common lock keeps apart.
    fn groups(&mut self, cycle: &[u32], places: &mut Vec<CycleEntry<'a>>) -> Visit {
        let blocked = self.blocked;
        let Some(&number) = cycle.get(places.len()) else { return self.instances(places) };
        let node = &blocked.nodes[number as usize];
        if self.index.bounds().are_reached() {
            return Visit::Stop;
        }
        for group in &node.groups {
            let Some(left) = self.group_steps.checked_sub(1) else { return Visit::Stop };
            self.group_steps = left;
            if places.iter().any(|place| self.index.open().sets().exclude(place.group.held, group.held)) {
                continue;
            }
            places.push(CycleEntry { node, group });
            let go = self.groups(cycle, places);
            places.pop();
            if go == Visit::Stop {
                return Visit::Stop;
            }
        }
        Visit::Continue
    }

    /// Asks the instances of a cycle: for each event of the first group the nearest ones, those that span least of the
    /// trace first; then the others.
    fn instances(&mut self, cycle: &[CycleEntry<'a>]) -> Visit {
        let pattern = self.asking.pattern(Pattern::of_cycle(cycle));
        if u64::from(pattern.0) >= self.limits.patterns {
            return Visit::Stop;
        }
        if self.asking.is_settled(pattern) {
            return Visit::Continue;
        }
        match self.pass {
            Pass::Preserving => self.preserving(cycle, pattern),
            Pass::Deciding => self.deciding(cycle, pattern),
        }
    }

    /// Finds the first instance that is reached with all sections in the order of the trace.
    fn preserving(&mut self, cycle: &[CycleEntry<'a>], pattern: PatternId) -> Visit {
        let (index, model) = (self.index, self.settings.model);
        let syncp = self.syncp.get_or_insert_with(|| Syncp::under(index, model));
        let threads = self.index.threads();
        if let Some(found) = preserving::first(syncp, threads, self.index.bounds(), cycle, &mut self.steps) {
            let (instance, _) = self.turned(cycle, &found.events);
            self.asking.take(pattern, instance, Witness::ideal(found.ideal));
        }
        if self.steps == 0 { Visit::Stop } else { Visit::Continue }
    }

    fn deciding(&mut self, cycle: &[CycleEntry<'a>], pattern: PatternId) -> Visit {
        if self.asking.is_spent() {
            return Visit::Stop;
        }
        let (index, model) = (self.index, self.settings.model);
        let must = must_order(index, model);
        let mut steps = self.steps;
        let blocked = self.blocked;
        let mut each = |width: usize, visit: &mut dyn FnMut(&[EventId]) -> Visit| {
            Instances { index, must, blocked, cycle, width, steps: &mut steps }.each(visit)
        };
        let mut nearest: Vec<Vec<EventId>> = Vec::new();
        each(1, &mut |events| {
            nearest.push(events.to_vec());
            Visit::Continue
        });
        nearest.sort_by_key(|events| span(events));
        if nearest.iter().all(|events| self.instance(must, cycle, events, pattern) == Visit::Continue) {
            each(usize::MAX, &mut |events| self.instance(must, cycle, events, pattern));
        }
        self.steps = steps;
        if self.steps == 0 { Visit::Stop } else { Visit::Continue }
    }

    /// Asks an instance. Stops when its pattern is settled.
    fn instance(
        &mut self,
        must: &MustOrder,
        cycle: &[CycleEntry<'a>],
        events: &[EventId],
        pattern: PatternId,
    ) -> Visit {
        if permits::must_come(self.index, must, self.blocked, events) {
            return Visit::Continue;
        }
        let (instance, turned) = self.turned(cycle, events);
        if self.seen.insert(turned.into()) {
            self.asking.ask(pattern, instance);
        }
        if self.asking.is_settled(pattern) { Visit::Stop } else { Visit::Continue }
    }

    /// An instance and its events, from the earliest one on.
    fn turned(&self, cycle: &[CycleEntry<'a>], events: &[EventId]) -> (Instance, Vec<EventId>) {
        let least = (0..events.len()).min_by_key(|&index| events[index]).unwrap_or(0);
        let turned: Vec<EventId> = events[least..].iter().chain(&events[..least]).copied().collect();
        let waits = cycle[least..].iter().chain(&cycle[..least]);
        let waited = waits.map(|place| place.node.wanted.waited(self.index.trace())).collect();
        let instance = Instance {
            events: turned.iter().copied().map(Some).collect(),
            question: Question::Deadlock(turned.clone()),
            object: Object::Cycle(waited),
            remarks: Remarks::default(),
        };
        (instance, turned)
    }

    /// Asks about each place of a wait and its signal, those that span least of the trace first.
    fn lost_wake_ups(&mut self) {
        let mut patterns: FxHashMap<[LocationId; 2], Vec<LostWakeUp>> = FxHashMap::default();
        let bounds = self.index.bounds();
        for lost in lost::candidates(self.index).take_while(|_| !bounds.are_reached()) {
            patterns.entry(lost.sites).or_default().push(lost);
        }
        let mut patterns: Vec<Vec<LostWakeUp>> = patterns.into_values().collect();
        patterns.sort_by_key(|pattern| pattern[0].wait);
        for mut pattern in patterns {
            pattern.sort_by_key(|lost| span(&lost.question.named()));
            self.lost_wake_up(pattern);
        }
    }

    fn lost_wake_up(&mut self, instances: Vec<LostWakeUp>) {
        for LostWakeUp { wait, question, object, sites } in instances {
            let pattern = self.asking.pattern(Pattern::Lost(sites));
            if self.asking.is_settled(pattern) {
                return;
            }
            self.lost.insert(pattern);
            let witness = self.preserving_lost(&question);
            let instance =
                Instance { question, events: vec![Some(wait)], object, remarks: Remarks::default() };
            let outcome = match witness {
                Some(witness) => self.asking.take(pattern, instance, witness),
                None => self.asking.ask(pattern, instance),
            };
            self.counts.lost += u64::from(outcome == Outcome::Found);
        }
    }

    fn preserving_lost(&mut self, question: &Question) -> Option<Witness> {
        let (index, model) = (self.index, self.settings.model);
        let syncp = self.syncp.get_or_insert_with(|| Syncp::under(index, model));
        lost::preserving(self.index, syncp, question)
    }

    fn second_look(&mut self) {
        let found = self.asking.second_look(ask);
        self.counts.lost += found.iter().filter(|&pattern| self.lost.contains(pattern)).count() as u64;
    }

    fn finish(self) -> Counts {
        let tally = self.asking.finish().cut_short(self.counts.cut_short);
        Counts { tally, ..self.counts }
    }
}

/// How many events of the trace lie from the first of these to the last.
fn span(events: &[EventId]) -> u32 {
    let places = || events.iter().map(|event| event.0);
    places().max().unwrap_or(0) - places().min().unwrap_or(0)
}
