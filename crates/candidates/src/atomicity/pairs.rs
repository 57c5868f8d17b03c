//! What is meant to be atomic, and what could come between: pairs of accesses of one thread, and accesses of others,
//! gathered by variable, thread, place in the source and locks held.

use rustc_hash::FxHashMap;
use trace::{Access, EventId, LocationId, Op, ThreadId, Trace, VariableId};

use crate::sections::{HeldId, HeldSets, OpenSections};

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
    /// Both accesses write.
    pub(super) both_write: bool,
    /// The locks held from the first to the second without a break.
    pub(super) cover: HeldId,
    pub(super) pairs: Vec<Pair>,
}

/// Accesses of the same thread, place and kind, holding the same locks.
#[derive(Debug)]
pub(super) struct PointGroup {
    pub(super) thread: ThreadId,
    pub(super) site: LocationId,
    pub(super) writes: bool,
    pub(super) held: HeldId,
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
    pub(super) sets: HeldSets,
    /// How many pairs there are.
    pub(super) count: u64,
}

impl PairGroup {
    /// Whether an access of this kind between them cannot be put before or after both: the patterns RWR, RWW, WWW
    /// and WWR if it writes, and WRW if it reads.
    pub(super) fn is_broken_by(&self, point: &PointGroup) -> bool {
        self.thread != point.thread && (point.writes || self.both_write)
    }
}

impl AllPairs {
    pub(super) fn of(trace: &Trace) -> Self {
        let contested = contested(trace);
        let regions = trace.events().any(|(_, _, op)| matches!(op, Op::RegionBegin(_)));
        let mut gather = Gather::new(trace, if regions { Intent::Regions } else { Intent::Consecutive });
        let mut open = OpenSections::new(trace);
        for (event, thread, op) in trace.events() {
            gather.region(thread, op);
            if let Some(access) = op.access().filter(|access| contested[access.variable.index()]) {
                gather.access(event, thread, access, &open);
            }
            open.step(trace, event, op, &mut gather.all.sets);
        }
        gather.all
    }
}

/// For each variable, whether more than one thread accesses it and someone writes.
pub(super) fn contested(trace: &Trace) -> Vec<bool> {
    #[derive(Clone, Copy, Default)]
    struct Seen {
        by: Option<ThreadId>,
        shared: bool,
        written: bool,
    }
    let mut seen = vec![Seen::default(); trace.symbols().variables.len()];
    for (_, thread, op) in trace.events() {
        if let Some(access) = op.access() {
            let seen = &mut seen[access.variable.index()];
            seen.shared |= seen.by.is_some_and(|first| first != thread);
            seen.by.get_or_insert(thread);
            seen.written |= access.writes;
        }
    }
    seen.iter().map(|seen| seen.shared && seen.written).collect()
}

/// Where intended-atomic pairs come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Intent {
    /// The user's regions: an access and the last read and the last write before it in the region. Whatever breaks any
    /// two accesses of a region breaks one of these pairs.
    Regions,
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
    both_write: bool,
    cover: HeldId,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PointKey {
    own: Own,
    site: LocationId,
    writes: bool,
    held: HeldId,
}

/// How deep a thread is in regions, and how many outermost ones it has entered.
#[derive(Clone, Copy, Default)]
struct Region {
    depth: u32,
    number: u32,
}

struct Gather<'t> {
    trace: &'t Trace,
    intent: Intent,
    regions: Vec<Region>,
    last: FxHashMap<Own, Last>,
    pairs: FxHashMap<PairKey, u32>,
    points: FxHashMap<PointKey, u32>,
    all: AllPairs,
}

impl<'t> Gather<'t> {
    fn new(trace: &'t Trace, intent: Intent) -> Self {
        let mut variables = Vec::new();
        variables.resize_with(trace.symbols().variables.len(), Contested::default);
        Gather {
            trace,
            intent,
            regions: vec![Region::default(); trace.symbols().threads.len()],
            last: FxHashMap::default(),
            pairs: FxHashMap::default(),
            points: FxHashMap::default(),
            all: AllPairs { variables, sets: HeldSets::default(), count: 0 },
        }
    }

    fn region(&mut self, thread: ThreadId, op: Op) {
        let region = &mut self.regions[thread.index()];
        match op {
            Op::RegionBegin(_) => {
                region.number += u32::from(region.depth == 0);
                region.depth += 1;
            }
            Op::RegionEnd(_) => region.depth -= 1,
            _ => {}
        }
    }

    fn access(&mut self, event: EventId, thread: ThreadId, access: Access, open: &OpenSections) {
        let own = Own { thread, variable: access.variable };
        self.point(event, own, access.writes, open.held(thread));
        let region = self.regions[thread.index()];
        let last = self.last.entry(own).or_default();
        if self.intent == Intent::Regions && (region.depth == 0 || region.number != last.region) {
            *last = Last { region: region.number, ..Last::default() };
        }
        let before = *last;
        last.read = if access.reads { Some(event) } else { last.read };
        last.write = if access.writes { Some(event) } else { last.write };
        match self.intent {
            Intent::Regions if region.depth == 0 => {}
            Intent::Regions => {
                let read = before.read.filter(|_| before.read != before.write);
                read.into_iter().chain(before.write).for_each(|first| self.pair(first, event, own, open));
            }
            Intent::Consecutive => {
                before
                    .read
                    .max(before.write)
                    .into_iter()
                    .for_each(|first| self.pair(first, event, own, open));
            }
        }
    }

    fn point(&mut self, event: EventId, own: Own, writes: bool, held: HeldId) {
        let site = self.trace.location(event);
        let groups = &mut self.all.variables[own.variable.index()].points;
        let group = *self.points.entry(PointKey { own, site, writes, held }).or_insert_with(|| {
            groups.push(PointGroup { thread: own.thread, site, writes, held, events: Vec::new() });
            groups.len() as u32 - 1
        });
        groups[group as usize].events.push(event);
    }

    fn pair(&mut self, first: EventId, second: EventId, own: Own, open: &OpenSections) {
        let sections = open.of(own.thread).iter().filter(|section| section.acquire < first);
        let cover = self.all.sets.intern(sections.map(|section| section.hold).collect());
        let sites = [self.trace.location(first), self.trace.location(second)];
        let writes = |event: EventId| self.trace.op(event).writes().is_some();
        let both_write = writes(first) && writes(second);
        let groups = &mut self.all.variables[own.variable.index()].pairs;
        let group = *self.pairs.entry(PairKey { own, sites, both_write, cover }).or_insert_with(|| {
            groups.push(PairGroup { thread: own.thread, sites, both_write, cover, pairs: Vec::new() });
            groups.len() as u32 - 1
        });
        groups[group as usize].pairs.push(Pair { first, second });
        self.all.count += 1;
    }
}
