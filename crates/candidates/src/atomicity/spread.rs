//! Violations of a region of the user's that are spread over several variables: `a < c < d < .. < b`, with `a` and `b` of one run
//! through the region, on different variables, and the others of other threads, so that they form a *cycle of conflicts*:
//! neighbours of different threads conflict, neighbours of one thread are in its order. Then something outside the region came
//! after it began and something that depends on this came before it ended: no order in which the region is alone has
//! the same conflicts in the same order, so it is not serialisable (Flanagan, Freund, Yi, *Velodrome*, PLDI 2008). With one other
//! thread these are four events, with more of them more. Asked of the engine as [`Question::Order`].
//!
//! Only cycles without a shortcut are looked at: no two of the events conflict but neighbours. From any cycle, leaving out what lies between
//! two that do conflict leads to one of these, or to one of the five patterns, in the same schedule. So nothing is missed: a
//! region is not serialisable in some schedule if and only if one of these or a pattern is feasible.
//! What others do is taken one operation at a time: regions of theirs are not taken as wholes, so two
//! regions that cross each other without a single operation coming in between are none of its concern.
//!
//! 1. Cycles of *groups* (place, variable, thread, kind, locks) for two accesses of a region, once for all runs that access the same at
//!    the same places. Groups that a lock held from `a` to `b` keeps out are passed over.
//! 2. Events of the groups, near ones first, that orders do not exclude.
//!
//! Cost: exponential in the threads for 1, hence [`STEPS`], unless everything is wanted. If they run out, that is reported and counted.

use std::rc::Rc;

use bounds::Bounds;
use check::Question;
use order::LockHold;
use rustc_hash::FxHashMap;
use trace::{Access, EventId, LocationId, ThreadId, VariableId};

use super::pairs::{AllPairs, Pair, PointGroup, RegionAccess, RegionRun};
use super::{Pattern, Search};
use crate::nearest::outward;
use crate::pattern_search::{Instance, PatternId};
use crate::{Extent, Object, Remarks};

/// How many groups to look at for cycles.
const STEPS: u64 = 20_000_000;

/// A group of accesses that a cycle goes through.
#[derive(Clone, Copy)]
struct Stop<'a> {
    variable: VariableId,
    points: &'a PointGroup,
}

/// What a cycle leaves from and comes back to: two accesses of a region and what is locked from one to the other.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Ends {
    thread: ThreadId,
    sites: [LocationId; 2],
    accesses: [Access; 2],
    locked: Box<[LockHold]>,
}

impl Ends {
    fn of(search: &Search<'_>, run: &RegionRun, a: &RegionAccess, b: &RegionAccess) -> Ends {
        let site = |inside: &RegionAccess| search.index.trace().location(inside.event);
        let held = search.index.open_after(b.event).filter(|section| section.acquire < a.event);
        let mut locked: Vec<LockHold> = held.map(|section| section.hold()).collect();
        locked.sort_unstable();
        Ends {
            thread: run.thread,
            sites: [site(a), site(b)],
            accesses: [a.access, b.access],
            locked: locked.into(),
        }
    }
}

/// A cycle of groups: those that come between `a` and `b`, in their order.
type Cycle<'a> = Box<[Stop<'a>]>;

impl<'a> Search<'a> {
    /// Looks at every run through a region, if the criterion covers them.
    pub(super) fn regions(&mut self) {
        if !self.criterion.covers_regions() || self.all.regions.is_empty() {
            return;
        }
        let (all, total) = (self.all, self.all.regions.len() as u64);
        let by_thread = by_thread(all, self.index.threads().threads());
        let mut steps = if self.extent == Extent::All { u64::MAX } else { STEPS };
        let mut known: FxHashMap<Ends, Rc<[Cycle<'a>]>> = FxHashMap::default();
        for (done, run) in all.regions.iter().enumerate() {
            if self.index.bounds().are_reached() {
                self.counts.cut_short = true;
                return;
            }
            for (index, b) in run.accesses.iter().enumerate() {
                for a in run.accesses[..index].iter().filter(|a| a.access.variable != b.access.variable) {
                    let ends = Ends::of(self, run, a, b);
                    let cycles = known.entry(ends).or_insert_with_key(|ends| {
                        Cycles {
                            all,
                            by_thread: &by_thread,
                            ends,
                            path: Vec::new(),
                            found: Vec::new(),
                            steps: &mut steps,
                            bounds: self.index.bounds(),
                        }
                        .all()
                    });
                    let cycles = Rc::clone(cycles);
                    cycles.iter().for_each(|cycle| self.cycle(run, [a, b], cycle));
                }
            }
            if done.is_multiple_of(1024) {
                self.asking.progress(done as u64, total);
            }
        }
        self.counts.cut_short |= steps == 0;
    }

    fn cycle(&mut self, run: &RegionRun, [a, b]: [&RegionAccess; 2], cycle: &[Stop<'a>]) {
        let location = |inside: &RegionAccess| self.index.trace().location(inside.event);
        let between = cycle.iter().map(|stop| stop.points.site);
        let sites = std::iter::once(location(a)).chain(between).chain([location(b)]).collect();
        let pattern = self.asking.pattern(Pattern::Spread(sites));
        let pair = Pair { first: a.event, second: b.event };
        let mut chosen = vec![a.event];
        self.events(run.thread, &pair, cycle, &mut chosen, pattern);
    }

    /// Chooses an event of each group from the next one on, and asks.
    fn events(
        &mut self,
        own: ThreadId,
        pair: &Pair,
        cycle: &[Stop<'a>],
        chosen: &mut Vec<EventId>,
        pattern: PatternId,
    ) {
        let Some(stop) = cycle.get(chosen.len() - 1) else {
            chosen.push(pair.second);
            self.spread(chosen, pattern);
            chosen.pop();
            return;
        };
        let points = stop.points;
        // What is named is free to see something else, so it holds back nothing that is named later.
        let must = if chosen.len() == 1 { self.must } else { self.always() };
        let mut band = self.band(must, pair, own, points);
        let last = chosen[chosen.len() - 1];
        if self.index.trace().thread(last) == points.thread {
            band.start = band.start.max(points.events.partition_point(|&event| event <= last));
        }
        for index in outward(&points.events, band.start..band.end.max(band.start), last) {
            if self.asking.is_settled(pattern) {
                return;
            }
            chosen.push(points.events[index]);
            self.events(own, pair, cycle, chosen, pattern);
            chosen.pop();
        }
    }

    fn spread(&mut self, events: &[EventId], pattern: PatternId) {
        let question = Question::Order(events.to_vec());
        if !self.asking.looks_at(pattern, &question) {
            return;
        }
        let trace = self.index.trace();
        let variable = |event: EventId| trace.op(event).access().map(|access| access.variable);
        let mut names: Vec<&str> = Vec::new();
        for name in events.iter().filter_map(|&event| Some(trace.symbols().variable(variable(event)?))) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let object = Object::Named(names.join(", "));
        let events = events.iter().copied().map(Some).collect();
        self.judge(pattern, Instance { question, events, object, remarks: Remarks::default() });
    }
}

/// The groups of each thread.
fn by_thread(all: &AllPairs, threads: usize) -> Vec<Vec<Stop<'_>>> {
    let mut by_thread = vec![Vec::new(); threads];
    for (index, contested) in all.variables.iter().enumerate() {
        for points in &contested.points {
            by_thread[points.thread.index()].push(Stop { variable: VariableId::new(index), points });
        }
    }
    by_thread
}

/// Finds the cycles of groups for two accesses.
struct Cycles<'s, 'a> {
    all: &'a AllPairs,
    by_thread: &'s [Vec<Stop<'a>>],
    ends: &'s Ends,
    path: Vec<Stop<'a>>,
    found: Vec<Cycle<'a>>,
    /// Groups that may still be looked at.
    steps: &'s mut u64,
    bounds: Bounds,
}

/// Whether a cycle may go on to another group of the thread it is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    May,
    MayNot,
}

impl<'a> Cycles<'_, 'a> {
    fn all(mut self) -> Rc<[Cycle<'a>]> {
        let [a, _] = self.ends.accesses;
        self.enter(a.variable);
        self.found.into()
    }

    /// Goes on to other threads' groups of a variable, in conflict with where the path is.
    fn enter(&mut self, variable: VariableId) {
        let all = self.all;
        for points in &all.variables[variable.index()].points {
            let new_thread = self.path.iter().all(|stop| stop.points.thread != points.thread);
            if new_thread && points.thread != self.ends.thread {
                self.visit(Stop { variable, points }, Within::May);
            }
        }
    }

    /// Goes through a group, if nothing before it but the last one conflicts with it, or is of its thread.
    fn visit(&mut self, stop: Stop<'a>, within: Within) {
        if *self.steps == 0 || self.bounds.are_reached() {
            return;
        }
        *self.steps -= 1;
        if self.is_locked_out(stop) || !self.continues(stop, within) {
            return;
        }
        self.path.push(stop);
        if self.conflicts_with(1, stop) {
            self.found.push(self.path.clone().into());
        } else {
            self.enter(stop.variable);
            if within == Within::May {
                let thread = stop.points.thread.index();
                let groups = self.by_thread;
                groups[thread].iter().for_each(|&next| self.visit(next, Within::MayNot));
            }
        }
        self.path.pop();
    }

    /// Whether a group conflicts with the end of the path if it is of another thread, and with nothing else.
    fn continues(&self, stop: Stop<'a>, within: Within) -> bool {
        let neighbour = self.path.len();
        let with = |index: usize| match index.checked_sub(1) {
            None => self.conflicts_with(0, stop),
            Some(index) => conflict(self.path[index], stop),
        };
        (0..neighbour).all(|index| !with(index)) && (within == Within::MayNot || with(neighbour))
    }

    /// Whether a group conflicts with the first or the second access of the region.
    fn conflicts_with(&self, end: usize, stop: Stop<'a>) -> bool {
        let Access { variable, writes, .. } = self.ends.accesses[end];
        variable == stop.variable && (writes || stop.points.writes)
    }

    fn is_locked_out(&self, stop: Stop<'a>) -> bool {
        self.ends.locked.iter().any(|&hold| self.all.sets.excludes_one(stop.points.held, hold))
    }
}

fn conflict(one: Stop<'_>, other: Stop<'_>) -> bool {
    one.points.thread != other.points.thread
        && one.variable == other.variable
        && (one.points.writes || other.points.writes)
}
