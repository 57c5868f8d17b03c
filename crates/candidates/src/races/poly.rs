//! Every race that is feasible under a model, and no other: the engine behind a funnel.
//!
//! Of all conflicting pairs most fall cheaply, and each stage of the [`Funnel`] says how many:
//!
//! 1. variables that one thread touches, or nobody writes, have no pairs at all;
//! 2. pairs whose order holds in every schedule (fork and join, signals, barriers and, under `rf`, reads-from): for each
//!    access and other thread one binary search leaves the few accesses that are not ordered before it;
//! 3. pairs with a common lock that keeps them apart;
//! 4. pairs that race in the order of the trace's own synchronisation ([`super::syncp`]), whose schedules come almost for
//!    free and hold under every model, since every read sees what it saw;
//! 5. what is left is asked of the engine, on all cores ([`super::batch`]).
//!
//! Promise: sound and complete for the model, but for the pairs counted as unknown. Cost: linear for the first stages and the pairs left, each a question.
//! [`RaceLimits`] keep a search from listing very many pairs: no more of one variable at the same two source locations once races were found there, and
//! the search is cut short, which counts as unknown, when there are too many of those.

use std::cell::OnceCell;

use check::Question;
use decide::{Index, Verdict, Witness, race_order};
use findings::Funnel;
use order::{AccessKind, LockHold, LockSetId, LockSets, MustOrder, contested_variables};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{EventId, LocationId, Op, ThreadId, VariableId};

use super::RacePair;
use super::batch::Batch;
use super::syncp::Syncp;
use crate::families::{Families, FamilyId};
use crate::nearest::leading;
use crate::{Bug, Object, Remarks, Report, SearchSettings};

/// How far to go. A step is about a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaceLimits {
    /// How many pairs of source locations, each of a variable, to find races at.
    pub patterns: usize,
    /// How many steps to spend on pairs of events.
    pub steps: u64,
    /// How many of them at two source locations, once a race was found there.
    pub repeats: u64,
}

impl RaceLimits {
    /// Everything there is.
    pub const ALL: RaceLimits = RaceLimits { patterns: usize::MAX, steps: u64::MAX, repeats: u64::MAX };

    /// As far as one pair of locations a race is enough for, in time and memory that grow with the trace.
    pub fn of(index: &Index<'_>) -> RaceLimits {
        let (events, threads) = (index.trace().len() as u64, index.threads().threads().max(1));
        // Each race has a count for every thread.
        let patterns = ((1 << 25) / threads).clamp(16, 10_000);
        RaceLimits { patterns, steps: (1 << 29) + events * 8192, repeats: 1 << 27 }
    }
}

/// What one access against those of another thread costs, besides a step for each pair.
const AGAINST: u64 = 8;
/// What a pair that may race costs, besides a step for each thread.
const PAIR: u64 = 64;

/// Finds all races, in the order of the later event within each variable.
pub fn races(index: &Index<'_>, settings: SearchSettings, report: &mut dyn FnMut(Report)) -> Funnel {
    races_within(index, settings, RaceLimits::ALL, report)
}

/// Finds races within limits, in the order of the later event within each variable.
pub fn races_within(
    index: &Index<'_>,
    settings: SearchSettings,
    limits: RaceLimits,
    report: &mut dyn FnMut(Report),
) -> Funnel {
    races_at(index, settings, limits, Places::All, report)
}

/// Where races are wanted.
#[derive(Clone, Debug)]
pub enum Places {
    /// Everywhere.
    All,
    /// One for each of these places, with whatever it races.
    One(FxHashSet<LocationId>),
}

impl Places {
    /// Whether a race of an access there is wanted.
    fn include(&self, location: LocationId) -> bool {
        match self {
            Places::All => true,
            Places::One(places) => places.contains(&location),
        }
    }
}

/// Finds races at some places within limits, in the order of the later event within each variable.
pub fn races_at(
    index: &Index<'_>,
    settings: SearchSettings,
    limits: RaceLimits,
    places: Places,
    report: &mut dyn FnMut(Report),
) -> Funnel {
    let contested = contested_variables(index.trace());
    let must = race_order(index, settings.model);
    let mut search = Search {
        index,
        must,
        syncp: OnceCell::new(),
        lock_sets: index.open().sets(),
        limits,
        places,
        families: Families::of(index.trace()),
        patterns: FxHashMap::default(),
        funnel: Funnel::default(),
        batch: Batch::new(index, settings),
        report,
        done: 0,
        total: accesses_of(index, &contested),
    };
    search.funnel.accesses = search.total;
    // One variable after the other: the accesses of all of them at once would take several times the memory of the trace.
    let mut contested = (0..contested.len()).filter(|&variable| contested[variable]).map(VariableId::new);
    let complete = contested.all(|variable| search.variable(variable, &Accesses::of(index, variable)));
    search.settle();
    search.funnel.unknown += u64::from(!complete);
    search.funnel
}

/// How many accesses contested variables have.
fn accesses_of(index: &Index<'_>, contested: &[bool]) -> u64 {
    let is_contested = |op: Op| op.access().is_some_and(|access| contested[access.variable.index()]);
    index.trace().events().filter(|&(_, _, op)| is_contested(op)).count() as u64
}

/// One access of a variable.
#[derive(Clone, Copy)]
struct AccessPoint {
    event: EventId,
    place: u32,
    location: LocationId,
    kind: AccessKind,
    held: LockSetId,
}

/// The accesses of one variable.
#[derive(Default)]
struct Accesses {
    /// Of each in the order of the trace, the index of its thread in `threads`.
    order: Vec<u32>,
    threads: Vec<ThreadAccesses>,
    /// Where in `threads` each is, if there are more than [`FEW`].
    numbers: FxHashMap<ThreadId, u32>,
}

/// Threads or locations that are better looked for one after the other.
const FEW: usize = 16;

/// From this number of threads on, a variable that one lock always protects is not worth a look at which pairs are also ordered.
const MANY: usize = 256;

/// The accesses of one variable by one thread.
struct ThreadAccesses {
    thread: ThreadId,
    points: Vec<AccessPoint>,
    /// Before each access and at the end: how many of each kind there were.
    kinds: Vec<[u32; AccessKind::ALL.len()]>,
    /// Where they are in the source; if these are more than [`FEW`], not all of them.
    locations: Vec<LocationId>,
}

impl ThreadAccesses {
    fn push(&mut self, point: AccessPoint) {
        if self.locations.len() <= FEW && !self.locations.contains(&point.location) {
            self.locations.push(point.location);
        }
        let mut kinds = self.kinds[self.points.len()];
        kinds[point.kind as usize] += 1;
        self.kinds.push(kinds);
        self.points.push(point);
    }

    /// How many of the first `count` accesses conflict with one of this kind.
    fn conflicting(&self, count: usize, kind: AccessKind) -> u64 {
        let kinds = &self.kinds[count];
        AccessKind::ALL
            .iter()
            .filter(|other| other.conflicts(kind))
            .map(|&other| u64::from(kinds[other as usize]))
            .sum()
    }
}

impl Accesses {
    fn of(index: &Index<'_>, variable: VariableId) -> Accesses {
        let (trace, open) = (index.trace(), index.open());
        let mut accesses = Accesses::default();
        let mut reads = index.reads_since(variable, EventId(0)).iter().copied().peekable();
        let mut writes = index.writes(variable).iter().copied().peekable();
        loop {
            // What both reads and writes is in both lists.
            let event = match (reads.peek(), writes.peek()) {
                (None, None) => return accesses,
                (Some(&event), None) | (None, Some(&event)) => event,
                (Some(&read), Some(&write)) => read.min(write),
            };
            reads.next_if_eq(&event);
            writes.next_if_eq(&event);
            if let Some(kind) = AccessKind::of(trace.op(event)) {
                let place = index.threads().place(event) as u32;
                let (location, held) = (trace.location(event), open.locks_after(event));
                accesses.push(trace.thread(event), AccessPoint { event, place, location, kind, held });
            }
        }
    }

    /// All of them in the order of the trace, with the index of their thread in `threads`.
    fn in_order(&self) -> impl Iterator<Item = (usize, AccessPoint)> {
        let mut done = vec![0; self.threads.len()];
        self.order.iter().map(move |&thread| {
            let thread = thread as usize;
            done[thread] += 1;
            (thread, self.threads[thread].points[done[thread] - 1])
        })
    }

    fn push(&mut self, thread: ThreadId, point: AccessPoint) {
        let known = match self.threads.len() > FEW {
            true => self.numbers.get(&thread).map(|&index| index as usize),
            false => self.threads.iter().position(|known| known.thread == thread),
        };
        let index = known.unwrap_or_else(|| self.add(thread));
        self.threads[index].push(point);
        self.order.push(index as u32);
    }

    fn add(&mut self, thread: ThreadId) -> usize {
        let (kinds, index) = (vec![[0; AccessKind::ALL.len()]], self.threads.len());
        self.threads.push(ThreadAccesses { thread, points: Vec::new(), kinds, locations: Vec::new() });
        if index >= FEW {
            let new = if index == FEW { 0 } else { index };
            let numbers = (new..).zip(&self.threads[new..]);
            self.numbers.extend(numbers.map(|(index, known)| (known.thread, index as u32)));
        }
        index
    }

    /// How many pairs of different threads conflict.
    fn conflicting_pairs(&self) -> u64 {
        let mut so_far = [0u64; AccessKind::ALL.len()];
        let mut own = vec![so_far; self.threads.len()];
        let mut pairs = 0;
        for (thread, point) in self.in_order() {
            let own = &mut own[thread];
            let conflicting = AccessKind::ALL.iter().filter(|other| other.conflicts(point.kind));
            pairs += conflicting.map(|&kind| so_far[kind as usize] - own[kind as usize]).sum::<u64>();
            so_far[point.kind as usize] += 1;
            own[point.kind as usize] += 1;
        }
        pairs
    }
}

/// Where the accesses of each thread to a variable are, while all are taken in the order of the trace.
struct Positions {
    /// How many accesses of each thread were taken.
    seen: Vec<u32>,
    /// Of each two threads, if there are few: how many accesses of the second must come before the latest of the first. They only become more.
    ordered: Vec<u32>,
}

impl Positions {
    fn new(threads: usize) -> Self {
        let pairs = if threads <= MANY { threads * threads } else { 0 };
        Positions { seen: vec![0; threads], ordered: vec![0; pairs] }
    }

    /// How many accesses of another thread are among its first events, up to `count`, which must come before an access of `own`; and how many were
    /// taken.
    #[inline]
    fn by(&mut self, own: usize, index: usize, other: &ThreadAccesses, run_up: u32) -> [usize; 2] {
        let earlier = self.seen[index] as usize;
        let number = own * self.seen.len() + index;
        let known = self.ordered.get(number).map_or(0, |&known| known as usize);
        let ordered = known + leading(&other.points[known..earlier], |first| first.place < run_up);
        if let Some(known) = self.ordered.get_mut(number) {
            *known = ordered as u32;
        }
        [ordered, earlier]
    }
}

struct Search<'a> {
    index: &'a Index<'a>,
    must: &'a MustOrder,
    /// What every read sees is kept, so what it finds are schedules under every model. Made for the first pair that may race.
    syncp: OnceCell<Syncp<'a>>,
    lock_sets: &'a LockSets,
    /// What may still be spent.
    limits: RaceLimits,
    /// Where races are still wanted.
    places: Places,
    families: Families,
    /// Where races were found, and what may still be spent there.
    patterns: FxHashMap<Pattern, u64>,
    funnel: Funnel,
    /// Races and questions that are not yet reported.
    batch: Batch<'a, (VariableId, Question)>,
    report: &'a mut dyn FnMut(Report),
    done: u64,
    total: u64,
}

/// A variable, or its like, and two places in the source in the order of their ids.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pattern {
    family: FamilyId,
    low: LocationId,
    high: LocationId,
}

impl Pattern {
    fn of(family: FamilyId, a: LocationId, b: LocationId) -> Self {
        Pattern { family, low: a.min(b), high: a.max(b) }
    }
}

impl Search<'_> {
    /// Whether the limits let it look at all pairs.
    fn variable(&mut self, variable: VariableId, accesses: &Accesses) -> bool {
        if !accesses.in_order().any(|(_, point)| self.places.include(point.location)) {
            self.done += accesses.order.len() as u64;
            return true;
        }
        if accesses.threads.len() > MANY && self.is_protected(accesses) {
            let pairs = accesses.conflicting_pairs();
            self.funnel.pairs += pairs;
            self.funnel.locked += pairs;
            self.done += accesses.order.len() as u64;
            return true;
        }
        let mut positions = Positions::new(accesses.threads.len());
        for (own, second) in accesses.in_order() {
            let previous = self.index.previous(second.event);
            for (index, other) in accesses.threads.iter().enumerate() {
                // They are in the order of their first accesses.
                if positions.seen[index] == 0 {
                    break;
                }
                if index != own && !self.is_out_of_bounds() {
                    let run_up = previous.map_or(0, |event| self.must.count(self.index, event, other.thread));
                    let [ordered, earlier] = positions.by(own, index, other, run_up);
                    self.against(variable, second, other, ordered, earlier);
                }
            }
            positions.seen[own] += 1;
            self.done += 1;
            if self.done.is_multiple_of(1024) {
                (self.report)(Report::Progress { done: self.done, total: self.total });
            }
            if self.limits.steps == 0
                || self.patterns.len() >= self.limits.patterns
                || self.is_out_of_bounds()
            {
                return false;
            }
        }
        true
    }

    fn is_out_of_bounds(&self) -> bool {
        self.index.bounds().are_reached()
    }

    /// Whether some lock is held alone at every access.
    fn is_protected(&self, accesses: &Accesses) -> bool {
        let mut sets: Vec<LockSetId> = accesses.in_order().map(|(_, point)| point.held).collect();
        sets.dedup();
        let holds = |set: LockSetId| self.lock_sets.holds(set).iter().filter(|hold| hold.exclusive);
        let mut common: Vec<LockHold> =
            sets.first().map(|&set| holds(set).copied().collect()).unwrap_or_default();
        for &set in &sets {
            if common.is_empty() {
                return false;
            }
            common.retain(|&lock| holds(set).any(|&hold| hold == lock));
        }
        !common.is_empty()
    }

    /// Pairs an access with the earlier ones of another thread, which must have happened, at least the first, before it can be next.
    fn against(
        &mut self,
        variable: VariableId,
        second: AccessPoint,
        other: &ThreadAccesses,
        ordered: usize,
        earlier: usize,
    ) {
        self.spend(AGAINST);
        let points = &other.points;
        let (pairs, in_order) =
            (other.conflicting(earlier, second.kind), other.conflicting(ordered, second.kind));
        self.funnel.pairs += pairs;
        self.funnel.ordered += in_order;
        if pairs == in_order {
            return;
        }
        let family = self.families.of_variable(variable);
        let repeats = |location: &LocationId| {
            !self.wants([*location, second.location])
                || self.is_repeat(Pattern::of(family, *location, second.location))
        };
        if other.locations.len() <= FEW && other.locations.iter().all(repeats) {
            self.funnel.repeated += pairs - in_order;
            return;
        }
        self.spend((earlier - ordered) as u64);
        for first in points[ordered..earlier].iter().filter(|first| first.kind.conflicts(second.kind)) {
            if self.lock_sets.exclude(first.held, second.held) {
                self.funnel.locked += 1;
            } else {
                self.ask(variable, first, &second);
            }
        }
    }

    fn spend(&mut self, steps: u64) {
        self.limits.steps = self.limits.steps.saturating_sub(steps);
    }

    /// Whether a race between these places is wanted.
    fn wants(&self, pair: [LocationId; 2]) -> bool {
        pair.into_iter().any(|location| self.places.include(location))
    }

    /// Whether enough races were found there.
    fn is_repeat(&self, pattern: Pattern) -> bool {
        self.patterns.get(&pattern) == Some(&0)
    }

    fn ask(&mut self, variable: VariableId, first: &AccessPoint, second: &AccessPoint) {
        let pattern = Pattern::of(self.families.of_variable(variable), first.location, second.location);
        if !self.wants([first.location, second.location]) || self.is_repeat(pattern) {
            self.funnel.repeated += 1;
            return;
        }
        let steps = PAIR + self.index.threads().threads() as u64;
        self.spend(steps);
        if let Some(left) = self.patterns.get_mut(&pattern) {
            *left = left.saturating_sub(steps);
        }
        let (first, second) = (first.event, second.event);
        let question = Question::Race(first, second);
        let syncp = self.syncp.get_or_init(|| Syncp::new(self.index));
        if let Some(ideal) = syncp.ideal(RacePair { first, second }) {
            self.funnel.preserving += 1;
            self.batch.settled((variable, question), Witness::ideal(ideal.0));
        } else {
            self.funnel.asked += 1;
            self.batch.ask((variable, question.clone()), question);
        }
        if self.batch.is_full() {
            self.settle();
        }
    }

    /// Has the questions of the batch answered, and reports what is in it.
    fn settle(&mut self) {
        for ((variable, question), verdict) in self.batch.settle() {
            match verdict {
                // What is computed when there is no time or memory left may be incomplete.
                Verdict::Feasible(_) if self.is_out_of_bounds() => self.funnel.unknown += 1,
                Verdict::Feasible(witness) => self.report_race(variable, question, witness),
                Verdict::Infeasible(_) => {}
                Verdict::Unknown { .. } => {
                    self.funnel.unknown += 1;
                    (self.report)(Report::Unknown(question));
                }
            }
        }
    }

    fn report_race(&mut self, variable: VariableId, question: Question, witness: Witness) {
        self.funnel.feasible += 1;
        if let Question::Race(first, second) = question
            && self.limits.patterns < usize::MAX
        {
            let location = |event| self.index.trace().location(event);
            let pattern = Pattern::of(self.families.of_variable(variable), location(first), location(second));
            self.patterns.entry(pattern).or_insert(self.limits.repeats);
        }
        if let Places::One(places) = &mut self.places {
            for event in question.named() {
                places.remove(&self.index.trace().location(event));
            }
        }
        let events = question.named().into_iter().map(Some).collect();
        let object = Object::Variable(variable);
        let remarks = Remarks::default();
        (self.report)(Report::Bug(Bug { question, events, object, witness, remarks }));
    }
}

#[cfg(test)]
mod tests {
    use check::Model;
    use decide::Options;

    use super::*;

    /// The places of the races that a search reports.
    fn racy(search: impl FnOnce(&mut dyn FnMut(Report)), index: &Index<'_>) -> FxHashSet<LocationId> {
        let mut racy = FxHashSet::default();
        search(&mut |report| {
            if let Report::Bug(bug) = report {
                racy.extend(bug.events.iter().flatten().map(|&event| index.trace().location(event)));
            }
        });
        racy
    }

    /// Which places race is found out for some of them as for all.
    #[test]
    fn places_that_race_are_found_one_by_one() {
        let settings = SearchSettings { model: Model::ReadsFrom, options: Options::default() };
        let mut found = 0;
        for seed in 0..600 {
            let mut tiny = generate::TraceSettings::tiny(seed);
            tiny.events *= 1 + seed % 4;
            let Ok(trace) = generate::generate(&tiny) else { continue };
            let index = Index::new(&trace);
            let all = racy(|report| _ = races(&index, settings, report), &index);
            let wanted: FxHashSet<LocationId> = trace
                .events()
                .map(|(event, ..)| trace.location(event))
                .filter(|place| place.0 % 2 == 0)
                .collect();
            let places = Places::One(wanted.clone());
            let limits = RaceLimits::of(&index);
            let some = racy(|report| _ = races_at(&index, settings, limits, places, report), &index);
            assert!(some.is_subset(&all), "seed {seed}");
            assert_eq!(&wanted & &some, &wanted & &all, "seed {seed}");
            found += some.len();
        }
        assert!(found > 100, "only {found}");
    }
}
