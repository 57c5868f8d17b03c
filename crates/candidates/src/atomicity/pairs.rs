//! What is meant to be atomic, and what could come between: pairs of accesses of one thread, and accesses of others,
//! gathered by variable, thread, place in the source and locks held.

use order::{Index, LockSetId, LockSets};
use rustc_hash::FxHashMap;
use trace::{Access, EventId, LocationId, Op, ThreadId, Trace, VariableId};

use super::calls::{Call, Calls};

/// What is meant to be atomic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// The user's regions if the trace has any; else any two consecutive accesses of a thread to a variable.
    Stated,
    /// Accesses of a variable within one critical section, whatever lock it is of.
    WithinLock,
    /// Accesses of a variable within one call of a function, not in others that it calls.
    WithinFunction(Calls),
}

/// What an access does to its variable. What does both writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Effect {
    Reads,
    Writes,
}

impl Effect {
    fn of(trace: &Trace, event: EventId) -> Effect {
        if trace.op(event).writes().is_some() { Effect::Writes } else { Effect::Reads }
    }
}

/// Two accesses of one thread to one variable that are meant to be atomic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) first: EventId,
    pub(super) second: EventId,
}

/// Pairs of the same thread, places and kind, within sections of the same locks.
#[derive(Debug)]
pub(super) struct PairGroup {
    pub(super) thread: ThreadId,
    pub(super) sites: [LocationId; 2],
    /// What the accesses do.
    pub(super) effects: [Effect; 2],
    /// The locks held from the first to the second without a break.
    pub(super) cover: LockSetId,
    pub(super) pairs: Vec<Pair>,
}

/// Accesses of the same thread, place and kind, holding the same locks.
#[derive(Debug)]
pub(super) struct PointGroup {
    pub(super) thread: ThreadId,
    pub(super) site: LocationId,
    pub(super) writes: bool,
    pub(super) held: LockSetId,
    pub(super) events: Vec<EventId>,
}

/// One variable's pairs and accesses.
#[derive(Debug, Default)]
pub(super) struct Contested {
    pub(super) pairs: Vec<PairGroup>,
    pub(super) points: Vec<PointGroup>,
}

/// All variables that more than one thread accesses and someone writes.
#[derive(Debug)]
pub(super) struct AllPairs {
    /// By variable.
    pub(super) variables: Vec<Contested>,
    /// The sets of locks that are held somewhere, and those that are held across a pair.
    pub(super) sets: LockSets,
    /// How many pairs there are.
    pub(super) count: u64,
    /// They are those of the user's regions.
    pub(super) of_regions: bool,
    /// The user's regions with accesses to more than one contested variable.
    pub(super) regions: Vec<RegionRun>,
}

/// One run through a region of the user's.
#[derive(Debug)]
pub(super) struct RegionRun {
    pub(super) thread: ThreadId,
    /// Its accesses to contested variables, in their order.
    pub(super) accesses: Vec<RegionAccess>,
}

/// An access within a region.
#[derive(Debug)]
pub(super) struct RegionAccess {
    pub(super) event: EventId,
    pub(super) access: Access,
}

impl PointGroup {
    /// What its accesses do.
    pub(super) fn effect(&self) -> Effect {
        if self.writes { Effect::Writes } else { Effect::Reads }
    }
}

impl PairGroup {
    /// Whether an access of this kind between them cannot be put before or after both: the patterns RWR, RWW, WWW
    /// and WWR if it writes, and WRW if it reads.
    pub(super) fn is_broken_by(&self, point: &PointGroup) -> bool {
        self.thread != point.thread && (point.writes || self.effects == [Effect::Writes; 2])
    }
}

impl AllPairs {
    /// Those of a trace; where the bounds of the work are reached, only some of them.
    pub(super) fn of(index: &Index<'_>, intent: &Intent) -> Self {
        let trace = index.trace();
        let contested = order::contested_variables(trace);
        let has_regions = || trace.events().any(|(_, _, op)| matches!(op, Op::RegionBegin(_)));
        let source = match intent {
            Intent::WithinLock => Source::Sections,
            Intent::WithinFunction(calls) => Source::Calls(calls),
            Intent::Stated if has_regions() => Source::Regions,
            Intent::Stated => Source::Consecutive,
        };
        let mut gather = Gather::new(index, source);
        for (event, thread, op) in trace.events() {
            if index.bounds().are_reached() {
                break;
            }
            gather.region(thread, op);
            if let Some(access) = op.access().filter(|access| contested[access.variable.index()]) {
                gather.access(event, thread, access);
            }
        }
        gather.running.drain(..).flatten().for_each(|run| gather.all.regions.extend(run.over_several()));
        gather.all
    }
}

impl RegionRun {
    /// If it accesses more than one variable.
    fn over_several(self) -> Option<RegionRun> {
        let first = self.accesses.first()?.access.variable;
        self.accesses.iter().any(|inside| inside.access.variable != first).then_some(self)
    }
}

/// Where intended-atomic pairs come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source<'t> {
    /// The user's regions: an access and the last read and the last write before it in the region. Whatever breaks any
    /// two accesses of a region breaks one of these pairs.
    Regions,
    /// The same for critical sections.
    Sections,
    /// The same for calls of functions.
    Calls(&'t Calls),
    /// Consecutive accesses.
    Consecutive,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Own {
    thread: ThreadId,
    variable: VariableId,
}

/// The last accesses of a thread to a variable.
#[derive(Clone, Copy, Default)]
struct Last {
    /// Of either kind.
    read: Option<EventId>,
    write: Option<EventId>,
    /// The thread's region they belong to.
    region: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PairKey {
    own: Own,
    sites: [LocationId; 2],
    effects: [Effect; 2],
    cover: LockSetId,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PointKey {
    own: Own,
    site: LocationId,
    writes: bool,
    held: LockSetId,
}

/// How deep a thread is in regions, and how many outermost ones it has entered.
#[derive(Clone, Copy, Default)]
struct Region {
    depth: u32,
    number: u32,
}

struct Gather<'t> {
    index: &'t Index<'t>,
    trace: &'t Trace,
    source: Source<'t>,
    regions: Vec<Region>,
    /// Of each thread, the region it is in.
    running: Vec<Option<RegionRun>>,
    last: FxHashMap<(Own, Call), Last>,
    pairs: FxHashMap<PairKey, u32>,
    points: FxHashMap<PointKey, u32>,
    all: AllPairs,
}

impl<'t> Gather<'t> {
    fn new(index: &'t Index<'t>, source: Source<'t>) -> Self {
        let trace = index.trace();
        let threads = trace.symbols().threads.len();
        let mut variables = Vec::new();
        variables.resize_with(trace.symbols().variables.len(), Contested::default);
        Gather {
            index,
            trace,
            source,
            regions: vec![Region::default(); threads],
            running: std::iter::repeat_with(|| None).take(threads).collect(),
            last: FxHashMap::default(),
            pairs: FxHashMap::default(),
            points: FxHashMap::default(),
            all: AllPairs {
                variables,
                sets: index.open().sets().clone(),
                count: 0,
                of_regions: source == Source::Regions,
                regions: Vec::new(),
            },
        }
    }

    fn region(&mut self, thread: ThreadId, op: Op) {
        let region = &mut self.regions[thread.index()];
        match op {
            Op::RegionBegin(_) => {
                region.number += u32::from(region.depth == 0);
                region.depth += 1;
                let running = &mut self.running[thread.index()];
                if self.source == Source::Regions && running.is_none() {
                    *running = Some(RegionRun { thread, accesses: Vec::new() });
                }
            }
            Op::RegionEnd(_) => {
                region.depth -= 1;
                if region.depth == 0 {
                    let run = self.running[thread.index()].take().and_then(RegionRun::over_several);
                    self.all.regions.extend(run);
                }
            }
            _ => {}
        }
    }

    fn access(&mut self, event: EventId, thread: ThreadId, access: Access) {
        let own = Own { thread, variable: access.variable };
        self.point(event, own, access.writes, self.index.open().locks_after(event));
        if let Some(run) = &mut self.running[thread.index()] {
            run.accesses.push(RegionAccess { event, access });
        }
        let region = self.regions[thread.index()];
        let call = match self.source {
            Source::Calls(calls) => calls.call(event),
            Source::Regions | Source::Sections | Source::Consecutive => Call::default(),
        };
        let last = self.last.entry((own, call)).or_default();
        if self.source == Source::Regions && (region.depth == 0 || region.number != last.region) {
            *last = Last { region: region.number, ..Last::default() };
        }
        let before = *last;
        last.read = if access.reads { Some(event) } else { last.read };
        last.write = if access.writes { Some(event) } else { last.write };
        let read = before.read.filter(|_| before.read != before.write);
        let both = read.into_iter().chain(before.write);
        match self.source {
            Source::Regions if region.depth == 0 => {}
            Source::Regions => both.for_each(|first| self.pair(first, event, own)),
            Source::Calls(_) if !call.is_known() => {}
            Source::Calls(_) => both.for_each(|first| self.pair(first, event, own)),
            Source::Sections => {
                let index = self.index;
                let covered = |first: &EventId| index.open_after(event).any(|open| open.acquire < *first);
                both.filter(covered).for_each(|first| self.pair(first, event, own));
            }
            Source::Consecutive => {
                before.read.max(before.write).into_iter().for_each(|first| self.pair(first, event, own));
            }
        }
    }

    fn point(&mut self, event: EventId, own: Own, writes: bool, held: LockSetId) {
        let site = self.trace.location(event);
        let groups = &mut self.all.variables[own.variable.index()].points;
        let group = *self.points.entry(PointKey { own, site, writes, held }).or_insert_with(|| {
            groups.push(PointGroup { thread: own.thread, site, writes, held, events: Vec::new() });
            groups.len() as u32 - 1
        });
        groups[group as usize].events.push(event);
    }

    /// The locks held from one event of a thread to another without a break.
    fn cover(&mut self, first: EventId, second: EventId) -> LockSetId {
        let open = self.index.open_after(second).filter(|section| section.acquire < first);
        self.all.sets.set_of(open.map(|section| section.hold()))
    }

    fn pair(&mut self, first: EventId, second: EventId, own: Own) {
        let cover = self.cover(first, second);
        let sites = [self.trace.location(first), self.trace.location(second)];
        let effects = [first, second].map(|event| Effect::of(self.trace, event));
        let groups = &mut self.all.variables[own.variable.index()].pairs;
        let group = *self.pairs.entry(PairKey { own, sites, effects, cover }).or_insert_with(|| {
            groups.push(PairGroup { thread: own.thread, sites, effects, cover, pairs: Vec::new() });
            groups.len() as u32 - 1
        });
        groups[group as usize].pairs.push(Pair { first, second });
        self.all.count += 1;
    }
}
