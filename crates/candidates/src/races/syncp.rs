//! Sync-preserving races: Mathur, Pavlogiannis, Viswanathan, *Optimal Prediction of Synchronization-Preserving Races*
//! (POPL 2021).
//!
//! A race is sync-preserving if a schedule leads to it in which every read sees what it saw and the sections of each
//! lock that happen come in the order of the trace. There is such a schedule if and only if the *ideal* of the pair
//! contains neither of them: the least set of events that has all before the two in their threads; with an event all
//! before it in its thread, the write it sees, and what it waits for; and of two sections of a lock the release of the
//! earlier. The trace restricted to the ideal is then the schedule.
//!
//! *Promise.* Sound: every pair is feasible under `rf`, and its ideal is the evidence. Complete for its class. What the
//! paper has not is ordered as in the trace (and memory orders say which reads need what they saw, [`Syncp::of_races`]): waits after their wakers, exits after enters, takes after the oldest
//! post that was there; shared sections of a lock are in no order with each other.
//!
//! *Cost.* The ideal of what comes before a single event grows along its thread, so all of them take one pass: linear in
//! the events times the threads that an ideal has events of. The ideal of a pair is closed from the union of two. Ideals also grow
//! along the later thread, so an event that fell into one never has to be looked at again: [`Syncp::races`] asks for about as many
//! ideals as there are accesses and other threads with accesses of the same variable that are not protected by a lock. Memory: 4
//! bytes an event, and a few nodes of a clock ([`order::Clocks`]) at each event that learns of another thread, however many there are.
//!
//! *Bounds.* When the bounds of the work are reached, the ideals are incomplete and no question has an answer: there are no races, and
//! every event counts as passed.

use check::Model;
use order::{AccessKind, Clock, Clocks, Index, LockSetId, NONE, Needs, ReadOrder, Section};
use rustc_hash::FxHashSet;
use trace::{EventId, LockId, Op, ThreadEvents, ThreadId, Trace, VariableId};

use super::RacePair;

/// How many events of each thread happen, by thread id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ideal(pub Vec<u32>);

/// A race with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncpRace {
    /// The events.
    pub pair: RacePair,
    /// What happens before them.
    pub ideal: Ideal,
}

/// A trace made ready to be asked for ideals.
#[derive(Debug)]
pub struct Syncp<'t> {
    index: &'t Index<'t>,
    trace: &'t Trace,
    threads: &'t ThreadEvents,
    singles: Singles,
    /// The bounds were reached before all ideals were computed.
    is_cut: bool,
}

impl<'t> Syncp<'t> {
    /// Computes the ideals of all single events, in which every read sees what it saw.
    pub fn new(index: &'t Index<'t>) -> Self {
        Syncp::under(index, Model::ReadsFrom)
    }

    /// Computes the ideals of all single events. Under `sync` reads see anything.
    pub fn under(index: &'t Index<'t>, model: Model) -> Self {
        let reads = if model == Model::Sync { ReadOrder::Free } else { ReadOrder::ReadsFrom };
        Syncp::with(index, reads)
    }

    /// Computes the ideals of all single events for questions about races under a model: under `rf`, memory orders say which reads
    /// need what they saw.
    pub fn of_races(index: &'t Index<'t>, model: Model) -> Self {
        match model {
            Model::ReadsFrom => Syncp::with(index, ReadOrder::Synchronised),
            _ => Syncp::under(index, model),
        }
    }

    fn with(index: &'t Index<'t>, reads: ReadOrder) -> Self {
        let threads = index.threads().threads();
        Syncp::closed_by(index, reads, if threads > MANY { Closing::ByChange } else { Closing::ByThread })
    }

    fn closed_by(index: &'t Index<'t>, reads: ReadOrder, closing: Closing) -> Self {
        let (trace, threads) = (index.trace(), index.threads());
        let mut syncp = Syncp { index, trace, threads, singles: Singles::new(threads), is_cut: false };
        syncp.compute_singles(reads, closing);
        syncp
    }

    /// The ideal of a pair, if it is a sync-preserving race.
    pub fn ideal(&self, pair: RacePair) -> Option<Ideal> {
        let mut ideal = Vec::new();
        self.try_pair(pair, &mut ideal).ok()?;
        Some(Ideal(ideal))
    }

    /// Every event that is in a race with an earlier one, with one such race, in order. Stops where the bounds of the work are reached.
    pub fn races(&self) -> impl Iterator<Item = SyncpRace> + '_ {
        let bounds = self.index.bounds();
        let unprotected = unprotected_variables(self.index);
        let mut variables: Vec<Vec<Accesses>> = vec![Vec::new(); unprotected.len()];
        let mut scratch = Vec::new();
        self.trace.events().take_while(move |_| !bounds.are_reached()).filter_map(
            move |(event, thread, op)| {
                let kind = AccessKind::of(op)?;
                let variable = op.target() as usize;
                if !unprotected[variable] {
                    return None;
                }
                let first = self.partner(event, thread, kind, &mut variables[variable], &mut scratch);
                push(&mut variables[variable], event, thread, kind);
                let pair = RacePair { first: first?, second: event };
                Some(SyncpRace { pair, ideal: Ideal(scratch.clone()) })
            },
        )
    }

    /// The first live access that races with this one; `ideal` is then theirs.
    fn partner(
        &self,
        second: EventId,
        thread: ThreadId,
        kind: AccessKind,
        earlier: &mut [Accesses],
        ideal: &mut Vec<u32>,
    ) -> Option<EventId> {
        let conflicting = earlier.iter_mut().filter(|a| a.thread != thread && a.kind.conflicts(kind));
        for accesses in conflicting {
            let known = self.count_before(second, accesses.thread);
            let Accesses { events, dead, .. } = accesses;
            let dead = dead_for(dead, thread);
            skip_below(self.threads, events, dead, known);
            while let Some(&first) = events.get(*dead as usize) {
                match self.try_pair(RacePair { first, second }, ideal) {
                    Ok(()) => return Some(first),
                    Err(Within(count)) => skip_below(self.threads, events, dead, count),
                }
            }
        }
        None
    }

    /// Makes `ideal` that of the pair, or says how many events of the first one's thread it has at least, the first
    /// one among them.
    fn try_pair(&self, pair: RacePair, ideal: &mut Vec<u32>) -> Result<(), Within> {
        // All of an ideal is before the second event in the trace, or before the first: so is what it may have of
        // the second one's thread, and only the first can be passed.
        self.next_together(&[pair.first, pair.second], ideal).map_err(|passed| Within(passed.count))
    }

    /// Makes `ideal` the least one after which each of these events, of different threads, is next in its thread; or tells
    /// which one every ideal of these events passes, or of later ones in place of the others.
    pub(crate) fn next_together(&self, events: &[EventId], ideal: &mut Vec<u32>) -> Result<(), Passed> {
        ideal.clear();
        if self.is_cut {
            return Err(Passed::ALL);
        }
        ideal.resize(self.threads.threads(), 0);
        events.iter().for_each(|&event| self.include_before(event, ideal));
        self.close(ideal, |ideal| {
            for (index, &event) in events.iter().enumerate() {
                let count = ideal[self.trace.thread(event).index()];
                if count > self.threads.place(event) as u32 {
                    return Err(Passed { index, count });
                }
            }
            Ok(())
        })
    }

    /// What the trace restricted to an ideal leaves in a variable.
    pub(crate) fn latest_write(&self, ideal: &[u32], variable: VariableId) -> Latest {
        let happens =
            |write: &EventId| (self.threads.place(*write) as u32) < ideal[self.trace.thread(*write).index()];
        let ends = ideal.iter().enumerate().filter_map(|(thread, &count)| {
            let place = count.checked_sub(1)? as usize;
            self.threads.of_thread(ThreadId::new(thread)).get(place).copied()
        });
        let Some(end) = ends.max() else { return Latest::None };
        let all = self.index.writes(variable);
        let within = &all[..all.partition_point(|&write| write <= end)];
        match within.iter().rev().take(REACH).copied().find(happens) {
            Some(write) => Latest::Write(write),
            None if within.len() <= REACH => Latest::None,
            None => Latest::TooFar,
        }
    }

    /// Whether a thread that has done `count` events holds a lock, and if so whether alone.
    pub(crate) fn holds(&self, thread: ThreadId, count: u32, lock: LockId) -> Option<Exclusive> {
        let open = self.index.held_after(thread, count).find(|open| open.lock == lock)?;
        Some(Exclusive(!open.shared))
    }

    /// Adds the ideal of all before an event in its thread.
    fn include_before(&self, event: EventId, ideal: &mut [u32]) {
        if let Some(previous) = self.index.previous(event) {
            self.include(previous, ideal);
        }
    }

    /// How many events of another thread the ideal of all before an event has.
    fn count_before(&self, event: EventId, other: ThreadId) -> u32 {
        let count = |previous| self.singles.count(self.trace, self.threads, previous, other);
        self.index.previous(event).map_or(0, count)
    }

    /// Adds the ideal of one event. Whether that is more than it was.
    fn include(&self, event: EventId, ideal: &mut [u32]) -> bool {
        let own = self.trace.thread(event).index();
        let place = self.threads.place(event) as u32;
        let mut grown = ideal[own] <= place;
        ideal[own] = ideal[own].max(place + 1);
        self.singles.clocks.for_each(self.singles.of_event[event.index()], |thread, other| {
            grown |= ideal[thread] < other;
            ideal[thread] = ideal[thread].max(other);
        });
        grown
    }

    /// Adds the releases of all sections that another section comes after, and what they need. Asks `go_on` whenever
    /// there is more.
    fn close(&self, ideal: &mut [u32], go_on: impl Fn(&[u32]) -> Result<(), Passed>) -> Result<(), Passed> {
        if self.index.sections().is_empty() {
            return go_on(ideal);
        }
        loop {
            go_on(ideal)?;
            let mut grown = false;
            for thread in 0..ideal.len() {
                let Some(last) = ideal[thread].checked_sub(1) else { continue };
                let last = self.threads.of_thread(ThreadId::new(thread))[last as usize];
                for open in self.index.open_after(last) {
                    if self.index.bounds().are_reached() {
                        return Err(Passed::ALL);
                    }
                    if let Some(release) = open.release
                        && self.another_after(open, |thread| ideal[thread.index()])
                    {
                        grown |= self.include(release, ideal);
                    }
                }
            }
            if !grown {
                return Ok(());
            }
        }
    }

    /// Whether another thread's section of the same lock, that the open one excludes, begins later and in the ideal.
    fn another_after(&self, open: &Section, ideal: impl Fn(ThreadId) -> u32) -> bool {
        self.index.thread_sections().of(open.lock.index()).any(|(thread, sections)| {
            if thread == open.thread {
                return false;
            }
            let count = ideal(thread);
            let within = sections.partition_point(|section| section.acquire < count);
            let Some(last) = within.checked_sub(1) else { return false };
            let last = match open.shared {
                false => last,
                true if sections[last].last_exclusive == NONE => return false,
                true => sections[last].last_exclusive as usize,
            };
            self.threads.of_thread(thread)[sections[last].acquire as usize] > open.acquire
        })
    }

    fn compute_singles(&mut self, reads: ReadOrder, closing: Closing) {
        let trace = self.trace;
        let sections = match closing {
            Closing::ByThread => LockSections::default(),
            Closing::ByChange => LockSections::by_lock(self.index),
        };
        let weak = self.index.synchronisation().filter(|_| reads == ReadOrder::Synchronised);
        let mut current = vec![Clock::default(); self.threads.threads()];
        let mut needs = Needs::new(trace);
        let mut scratch = Vec::new();
        // All exits of a barrier come after the same enters.
        let mut barriers: Vec<Option<Clock>> = vec![None; trace.matching().barrier_instances().len()];
        for (event, thread, op) in trace.events() {
            if self.index.bounds().are_reached() {
                self.singles.of_event.resize(trace.len(), Clock::default());
                break;
            }
            let place = self.threads.place(event) as u32;
            let before = match trace.fork_of(thread) {
                // The ideal of the fork is closed.
                Some(fork) if place == 0 => {
                    self.singles.include(trace, self.threads, current[thread.index()], fork)
                }
                _ => current[thread.index()],
            };
            let mut ideal = before;
            if let Op::BarrierExit(_) = op {
                let instance = trace.barrier_instance(event).index();
                let enters = barriers[instance].unwrap_or_else(|| {
                    let mut enters = Clock::default();
                    needs.of(event, op, |enter| {
                        enters = self.singles.include(trace, self.threads, enters, enter);
                    });
                    enters
                });
                barriers[instance] = Some(enters);
                ideal = self.singles.clocks.join(ideal, enters);
            } else if reads != ReadOrder::Free && !weak.is_some_and(|weak| weak.is_unordered(event))
                || op.reads().is_none()
            {
                needs.of(event, op, |earlier| {
                    ideal = self.singles.include(trace, self.threads, ideal, earlier);
                });
            }
            if let Some(weak) = weak {
                for &(_, earlier) in weak.before(self.threads, thread, event) {
                    ideal = self.singles.include(trace, self.threads, ideal, earlier);
                }
            }
            let acquires = matches!(op, Op::Acquire(_) | Op::AcquireShared(_));
            if ideal != before || acquires {
                ideal = match closing {
                    Closing::ByThread => self.close_single(thread, place + 1, ideal, &mut scratch),
                    Closing::ByChange => self.close_change(event, before, ideal, &sections),
                };
            }
            current[thread.index()] = ideal;
            self.singles.of_event.push(ideal);
        }
        // The last ideals may not be closed.
        self.is_cut = self.index.bounds().are_reached();
    }

    /// Like [`Syncp::close`], for the ideal of one event: a clock, and how many events of its own thread have happened.
    fn close_single(
        &mut self,
        own: ThreadId,
        count: u32,
        mut ideal: Clock,
        releases: &mut Vec<EventId>,
    ) -> Clock {
        if self.index.sections().is_empty() {
            return ideal;
        }
        loop {
            let counted = |thread: ThreadId| match thread == own {
                true => count,
                false => self.singles.clocks.count(ideal, thread.index()),
            };
            releases.clear();
            let mut look_at = |thread: ThreadId, count: u32| {
                let last = self.threads.of_thread(thread)[count as usize - 1];
                for open in self.index.open_after(last) {
                    if let Some(release) = open.release
                        && self.another_after(open, counted)
                    {
                        releases.push(release);
                    }
                }
            };
            self.singles.clocks.for_each(ideal, |thread, count| {
                if thread != own.index() {
                    look_at(ThreadId::new(thread), count);
                }
            });
            look_at(own, count);
            if releases.is_empty() || self.index.bounds().are_reached() {
                return ideal;
            }
            for &release in releases.iter() {
                ideal = self.singles.include(self.trace, self.threads, ideal, release);
            }
        }
    }
}

impl Syncp<'_> {
    /// Like [`Syncp::close_single`], given the ideal of the event before in the same thread, which is closed: only what is new to it, and
    /// what that keeps out or is kept out by, is looked at. The sections of the thread itself keep nobody out: all of the ideal is
    /// before the event in the trace, and there they are alone.
    fn close_change(
        &mut self,
        event: EventId,
        before: Clock,
        mut ideal: Clock,
        sections: &LockSections,
    ) -> Clock {
        if self.index.sections().is_empty() {
            return ideal;
        }
        let (own, count) = (self.trace.thread(event), self.threads.place(event) as u32 + 1);
        let mut releases = Vec::new();
        loop {
            releases.clear();
            if let Some(section) = sections.beginning_at(self.trace, event) {
                self.kept_out(section, before, own, count, sections, &mut releases);
            }
            self.singles.clocks.for_each_raised(before, ideal, |thread, old, new| {
                let thread = ThreadId::new(thread);
                if thread == own || self.index.bounds().are_reached() {
                    return;
                }
                for section in self.index.sections_between(thread, old, new) {
                    self.kept_out(section, before, own, count, sections, &mut releases);
                }
                let last = self.threads.of_thread(thread)[new as usize - 1];
                for open in self.index.open_after(last) {
                    if self.is_followed(open, ideal, own, count, sections) {
                        releases.extend(open.release);
                    }
                }
            });
            releases.retain(|&release| !self.counts(ideal, own, count, release));
            if releases.is_empty() || self.index.bounds().are_reached() {
                return ideal;
            }
            for &release in &releases {
                ideal = self.singles.include(self.trace, self.threads, ideal, release);
            }
        }
    }

    /// Whether the ideal of an event, which is the `count`th of its own thread, has another one.
    fn counts(&self, ideal: Clock, own: ThreadId, count: u32, event: EventId) -> bool {
        let thread = self.trace.thread(event);
        let has = if thread == own { count } else { self.singles.clocks.count(ideal, thread.index()) };
        (self.threads.place(event) as u32) < has
    }

    /// The releases that a section has to wait for if the closed ideal happens before it.
    fn kept_out(
        &self,
        new: &Section,
        closed: Clock,
        own: ThreadId,
        count: u32,
        sections: &LockSections,
        releases: &mut Vec<EventId>,
    ) {
        let excludes = |other: &Section| other.thread != new.thread && !(other.shared && new.shared);
        let list = sections.of(new.lock);
        let number = sections.number(new);
        for section in list[..number].iter().rev().take(NEAR) {
            if self.counts(closed, own, count, section.acquire) {
                releases.extend(section.release.filter(|_| excludes(section)));
                if !section.shared {
                    // The ideal is closed: all before it in the ideal are released.
                    return;
                }
            }
        }
        if number > NEAR {
            self.singles.clocks.for_each(closed, |thread, count| {
                let last = self.threads.of_thread(ThreadId::new(thread))[count as usize - 1];
                let open = self.index.open_after(last).filter(|open| open.lock == new.lock && excludes(open));
                releases
                    .extend(open.filter(|open| open.acquire < new.acquire).filter_map(|open| open.release));
            });
        }
    }

    /// Whether the ideal has a later section that an open one excludes.
    fn is_followed(
        &self,
        open: &Section,
        ideal: Clock,
        own: ThreadId,
        count: u32,
        sections: &LockSections,
    ) -> bool {
        let later = &sections.of(open.lock)[sections.number(open) + 1..];
        let excludes = |other: &Section| other.thread != open.thread && !(other.shared && open.shared);
        let mut near = later.iter().take(NEAR);
        if near.any(|section| excludes(section) && self.counts(ideal, own, count, section.acquire)) {
            return true;
        }
        let counted = |thread: ThreadId| match thread == own {
            true => count,
            false => self.singles.clocks.count(ideal, thread.index()),
        };
        later.len() > NEAR && self.another_after(open, counted)
    }
}

/// How many sections of a lock are looked through before the threads are. Few in tests, so that both happen.
const NEAR: usize = if cfg!(test) { 2 } else { 64 };

/// The sections of each lock, in the order of the trace.
#[derive(Debug, Default)]
struct LockSections(Vec<Vec<Section>>);

impl LockSections {
    fn by_lock(index: &Index<'_>) -> LockSections {
        let mut by_lock = vec![Vec::new(); index.trace().symbols().locks.len()];
        for section in index.sections() {
            by_lock[section.lock.index()].push(*section);
        }
        by_lock.iter_mut().for_each(|list: &mut Vec<Section>| list.sort_unstable_by_key(|s| s.acquire));
        LockSections(by_lock)
    }

    /// Those of a lock.
    fn of(&self, lock: LockId) -> &[Section] {
        &self.0[lock.index()]
    }

    /// How many sections of its lock begin before a section.
    fn number(&self, section: &Section) -> usize {
        self.of(section.lock).partition_point(|other| other.acquire < section.acquire)
    }

    /// The section that an event begins, if it does.
    fn beginning_at(&self, trace: &Trace, event: EventId) -> Option<&Section> {
        let (Op::Acquire(lock) | Op::AcquireShared(lock)) = trace.op(event) else { return None };
        let list = self.of(lock);
        list.binary_search_by_key(&event, |section| section.acquire).ok().map(|number| &list[number])
    }
}

/// How the ideals of single events are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// Thread by thread: best for few.
    ByThread,
    /// By what has changed since the event before.
    ByChange,
}

/// With more threads than this, ideals are closed by what has changed.
const MANY: usize = 64;

/// For each variable, whether two conflicting accesses of it hold no lock that keeps them apart. There are no races on others.
fn unprotected_variables(index: &Index<'_>) -> Vec<bool> {
    /// Accesses that are alike as far as locks go.
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    struct Class {
        thread: ThreadId,
        kind: AccessKind,
        locks: LockSetId,
    }
    let (trace, open) = (index.trace(), index.open());
    let variables = trace.symbols().variables.len();
    let mut unprotected = vec![false; variables];
    let mut classes: Vec<Vec<Class>> = vec![Vec::new(); variables];
    let mut known: FxHashSet<(VariableId, Class)> = FxHashSet::default();
    for (event, thread, op) in trace.events() {
        let Some(kind) = AccessKind::of(op) else { continue };
        let variable = VariableId(op.target());
        let (unprotected, classes) = (&mut unprotected[variable.index()], &mut classes[variable.index()]);
        if *unprotected {
            continue;
        }
        let class = Class { thread, kind, locks: open.locks_after(event) };
        if classes.last() == Some(&class) || !known.insert((variable, class)) {
            continue;
        }
        if index.bounds().are_reached() {
            break;
        }
        *unprotected = classes.iter().any(|other| {
            other.thread != thread
                && other.kind.conflicts(kind)
                && !open.sets().exclude(other.locks, class.locks)
        });
        classes.push(class);
    }
    unprotected
}

/// How many writes of a variable are looked through for the latest one that happens.
const REACH: usize = 256;

/// What a variable was written by last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Latest {
    /// By this.
    Write(EventId),
    /// By nothing.
    None,
    /// That would take too long to find out.
    TooFar,
}

/// Whether a lock is held alone, or shared with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exclusive(pub(crate) bool);

/// An event that is to be next is within the ideal, which has at least `count` events of its thread.
pub(crate) struct Passed {
    /// Which of the events.
    pub(crate) index: usize,
    pub(crate) count: u32,
}

impl Passed {
    /// There is no time to find out: all events of the first one's thread count as passed.
    const ALL: Passed = Passed { index: 0, count: u32::MAX };
}

/// The first event of a pair is within its own ideal, which has at least `count` events of its thread.
struct Within(u32);

/// The ideals of single events, as clocks. How many events there are of the event's own thread is known from its place, not from
/// the clock.
#[derive(Debug)]
struct Singles {
    clocks: Clocks,
    of_event: Vec<Clock>,
}

impl Singles {
    fn new(threads: &ThreadEvents) -> Self {
        Singles { clocks: Clocks::new(threads.threads()), of_event: Vec::new() }
    }

    /// An ideal that also has an event and its ideal.
    fn include(&mut self, trace: &Trace, threads: &ThreadEvents, ideal: Clock, event: EventId) -> Clock {
        let joined = self.clocks.join(ideal, self.of_event[event.index()]);
        self.clocks.raise(joined, trace.thread(event).index(), threads.place(event) as u32 + 1)
    }

    /// How many events of a thread the ideal of an event has.
    #[inline]
    fn count(&self, trace: &Trace, threads: &ThreadEvents, event: EventId, thread: ThreadId) -> u32 {
        match trace.thread(event) == thread {
            true => threads.place(event) as u32 + 1,
            false => self.clocks.count(self.of_event[event.index()], thread.index()),
        }
    }
}

/// The accesses of one variable by one thread, of one kind.
#[derive(Clone, Debug)]
struct Accesses {
    thread: ThreadId,
    kind: AccessKind,
    events: Vec<EventId>,
    /// For each other thread that asked: how many of the events fell into its ideals.
    dead: Vec<(ThreadId, u32)>,
}

fn dead_for(dead: &mut Vec<(ThreadId, u32)>, thread: ThreadId) -> &mut u32 {
    let index = match dead.iter().position(|&(other, _)| other == thread) {
        Some(index) => index,
        None => {
            dead.push((thread, 0));
            dead.len() - 1
        }
    };
    &mut dead[index].1
}

fn push(variable: &mut Vec<Accesses>, event: EventId, thread: ThreadId, kind: AccessKind) {
    match variable.iter_mut().find(|a| a.thread == thread && a.kind == kind) {
        Some(accesses) => accesses.events.push(event),
        None => variable.push(Accesses { thread, kind, events: vec![event], dead: Vec::new() }),
    }
}

/// Moves on to the first event that is not among the first `count` of its thread.
fn skip_below(threads: &ThreadEvents, events: &[EventId], dead: &mut u32, count: u32) {
    while events.get(*dead as usize).is_some_and(|&event| (threads.place(event) as u32) < count) {
        *dead += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways to close ideals find the least closed ones.
    #[test]
    fn ideals_are_the_same_however_they_are_closed() {
        let mut larger = 0;
        for seed in 0..3000 {
            let mut settings = generate::TraceSettings::tiny(seed);
            settings.events *= 1 + seed % 4;
            let Ok(trace) = generate::generate(&settings) else { continue };
            let index = Index::new(&trace);
            for reads in [ReadOrder::Free, ReadOrder::ReadsFrom, ReadOrder::Synchronised] {
                let by_thread = Syncp::closed_by(&index, reads, Closing::ByThread);
                let by_change = Syncp::closed_by(&index, reads, Closing::ByChange);
                for (event, own, _) in trace.events() {
                    for thread in (0..index.threads().threads()).map(ThreadId::new).filter(|&t| t != own) {
                        let count =
                            |syncp: &Syncp<'_>| syncp.singles.count(&trace, index.threads(), event, thread);
                        assert_eq!(
                            count(&by_change),
                            count(&by_thread),
                            "seed {seed} {reads:?} {event} {thread:?}"
                        );
                        larger += usize::from(count(&by_thread) > 0);
                    }
                }
            }
        }
        assert!(larger > 10_000, "only {larger}");
    }
}
