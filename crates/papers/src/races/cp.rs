//! Causally-precedes races: Smaragdakis, Evans, Sadowski, Yi, Flanagan, *Sound Predictive Race Detection in Polynomial Time*
//! (POPL 2012), which paper 1 (Wang and Hoang) compares with.
//!
//! *Causally-precedes* (CP) is the least relation with
//! - (a) a section's release before the acquire of a later section of the same lock by another thread, if the two
//!   exclude each other and contain conflicting accesses (atomic or not);
//! - (b) the same, if they contain events ordered by CP; acquire and release belong to their section;
//! - (c) CP after or before happens-before is CP;
//! - (d) what no schedule can change between threads: fork, join, signals, barriers, and as [`super::hb`] has them,
//!   posts and atomics. The paper has no such events. It is not enough to add these orders to CP in the end: a fork within a
//!   section keeps a section of the child behind it, which (b) must see.
//!
//! Accesses race if they conflict and CP does not order them. In (b) it is enough to look from the acquire of the first section
//! to the release of the second: all others lie between.
//!
//! *Promise.* The paper's theorem: the first event reported is in a real race (feasible under `rf`), *or a deadlock* of the trace
//! is real. It is proved for locks and plain accesses, and tested for the other kinds. Later ones need not be real: their reads may see
//! something else once an earlier race has turned out otherwise. Not complete; finds all of `hb` and more.
//!
//! *Cost.* Each pass over the events costs their number times that of the threads; passes are repeated while (b) finds
//! something, at most as often as there are sections times threads, a handful of times in practice. 8 bytes for each event and thread: there is
//! no window, and [`TooLarge`] traces are refused.

use bounds::Bounds;
use candidates::races::RacePair;
use order::{AccessKind, Index, Needs, Section};
use rustc_hash::FxHashMap;
use trace::{EventId, LockId, Op, ThreadEvents, ThreadId, Trace, VariableId};

/// How many events times threads are taken in.
pub const MOST: u64 = 1 << 26;

/// The trace does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "causally-precedes takes traces of at most {MOST} events times threads, and no part of a larger one: \
     this has {events} events and {threads} threads"
)]
pub struct TooLarge {
    events: usize,
    threads: usize,
}

/// A trace with its causally-precedes relation.
#[derive(Debug)]
pub struct Cp<'t> {
    trace: &'t Trace,
    threads: &'t ThreadEvents,
    cp: Matrix,
    bounds: Bounds,
}

impl<'t> Cp<'t> {
    /// Computes the relation; where the bounds of the work are reached, only a part of it, which orders less.
    pub fn new(index: &'t Index<'t>) -> Result<Self, TooLarge> {
        let (trace, threads) = (index.trace(), index.threads());
        let (events, count) = (trace.len(), threads.threads());
        if events as u64 * count as u64 > MOST {
            return Err(TooLarge { events, threads: count });
        }
        let predecessors = Predecessors::of(trace, threads);
        let sections = Sections::of(index);
        let in_time = || !index.bounds().are_reached();
        let hb = Matrix::of(threads, trace, |event, row, rows| {
            predecessors.all(event).take_while(|_| in_time()).for_each(|earlier| rows.include(earlier, row));
        });
        let mut edges = conflicting_sections(index, &sections);
        loop {
            let cp = Matrix::strict(threads, trace, |event, row, rows| {
                predecessors
                    .all(event)
                    .take_while(|_| in_time())
                    .for_each(|earlier| rows.include(earlier, row));
                predecessors.fixed.get(event).iter().for_each(|&earlier| hb.include(earlier, row));
                if let Some(section) = sections.begun_by(event) {
                    edges.entering(section).for_each(|release| hb.include(release, row));
                }
            });
            if !edges.follow(&sections, threads, &cp, index.bounds()) || !in_time() {
                return Ok(Cp { trace, threads, cp, bounds: index.bounds() });
            }
        }
    }

    /// Every racy event with an earlier partner, in order.
    pub fn races(&self) -> impl Iterator<Item = RacePair> + '_ {
        let mut last = None;
        // Pairs come by their second event.
        self.pairs().filter(move |pair| last.replace(pair.second) != Some(pair.second))
    }

    /// All pairs, lazily, by their second event, up to where the bounds of the work are reached.
    pub fn pairs(&self) -> impl Iterator<Item = RacePair> + '_ {
        let mut variables: Vec<FxHashMap<(ThreadId, AccessKind), Vec<EventId>>> =
            vec![FxHashMap::default(); self.trace.symbols().variables.len()];
        let bounds = self.bounds;
        self.trace.events().take_while(move |_| !bounds.are_reached()).flat_map(
            move |(second, thread, op)| {
                let mut found = Vec::new();
                if let Some(kind) = AccessKind::of(op) {
                    let accesses = &mut variables[op.target() as usize];
                    for (&(other, other_kind), events) in accesses.iter() {
                        if other != thread && other_kind.conflicts(kind) {
                            found.extend(self.unordered(events, other, second));
                        }
                    }
                    found.sort_unstable();
                    accesses.entry((thread, kind)).or_default().push(second);
                }
                found.into_iter().map(move |first| RacePair { first, second })
            },
        )
    }

    /// Those of a thread's events that are not before this one: the last ones.
    fn unordered<'a>(
        &'a self,
        events: &'a [EventId],
        thread: ThreadId,
        second: EventId,
    ) -> impl Iterator<Item = EventId> + 'a {
        let ordered = self.cp.count(second, thread) as usize;
        events.iter().rev().copied().take_while(move |&first| self.threads.place(first) >= ordered)
    }
}

/// For each event, how many events of each thread are before it in some order.
#[derive(Debug)]
struct Matrix {
    threads: usize,
    counts: Vec<u32>,
}

impl Matrix {
    /// Fills in the rows in the order of the trace; an event counts itself.
    fn of(threads: &ThreadEvents, trace: &Trace, fill: impl Fn(EventId, &mut [u32], &Matrix)) -> Matrix {
        Matrix::strict(threads, trace, |event, row, rows| {
            fill(event, row, rows);
            row[trace.thread(event).index()] = threads.place(event) as u32 + 1;
        })
    }

    /// Fills in the rows in the order of the trace.
    fn strict(threads: &ThreadEvents, trace: &Trace, fill: impl Fn(EventId, &mut [u32], &Matrix)) -> Matrix {
        let mut matrix = Matrix { threads: threads.threads(), counts: Vec::new() };
        matrix.counts.reserve_exact(trace.len() * matrix.threads);
        let mut row = vec![0; matrix.threads];
        for index in 0..trace.len() {
            row.fill(0);
            fill(EventId::new(index), &mut row, &matrix);
            matrix.counts.extend_from_slice(&row);
        }
        matrix
    }

    /// Adds what is before an event.
    fn include(&self, event: EventId, row: &mut [u32]) {
        let other = &self.counts[event.index() * self.threads..][..self.threads];
        for (own, other) in row.iter_mut().zip(other) {
            *own = (*own).max(*other);
        }
    }

    fn count(&self, event: EventId, thread: ThreadId) -> u32 {
        self.counts[event.index() * self.threads + thread.index()]
    }
}

/// Direct predecessors in happens-before.
#[derive(Debug)]
struct Predecessors {
    /// In its own thread, and by locks.
    loose: Lists,
    /// By what no schedule can change between threads.
    fixed: Lists,
}

/// A list of events for each event.
#[derive(Debug, Default)]
struct Lists {
    ends: Vec<u32>,
    items: Vec<EventId>,
}

impl Lists {
    fn end_list(&mut self) {
        self.ends.push(self.items.len() as u32);
    }

    fn get(&self, event: EventId) -> &[EventId] {
        let start = event.index().checked_sub(1).map_or(0, |previous| self.ends[previous]);
        &self.items[start as usize..self.ends[event.index()] as usize]
    }
}

/// The releases of a lock that its next acquire comes after.
#[derive(Clone, Debug, Default)]
struct Released {
    exclusive: Option<EventId>,
    /// Since that.
    shared: Vec<EventId>,
}

impl Predecessors {
    fn of(trace: &Trace, threads: &ThreadEvents) -> Predecessors {
        let mut predecessors = Predecessors { loose: Lists::default(), fixed: Lists::default() };
        let mut needs = Needs::new(trace);
        let mut released: Vec<Released> = vec![Released::default(); trace.symbols().locks.len()];
        for (event, thread, op) in trace.events() {
            let Predecessors { loose, fixed } = &mut predecessors;
            match threads.place(event) {
                0 => fixed.items.extend(trace.fork_of(thread)),
                place => loose.items.push(threads.of_thread(thread)[place - 1]),
            }
            loose.items.extend(lock_predecessors(trace, event, op, &mut released));
            needs.of(event, op, |earlier| {
                let synchronises = op.access().is_none() || is_atomic(trace.op(earlier)) && is_atomic(op);
                if synchronises && trace.thread(earlier) != thread {
                    fixed.items.push(earlier);
                }
            });
            loose.end_list();
            fixed.end_list();
        }
        predecessors
    }

    fn all(&self, event: EventId) -> impl Iterator<Item = EventId> {
        self.loose.get(event).iter().chain(self.fixed.get(event)).copied()
    }
}

fn is_atomic(op: Op) -> bool {
    op.access().is_some_and(|access| access.atomic)
}

fn lock_predecessors(trace: &Trace, event: EventId, op: Op, released: &mut [Released]) -> Vec<EventId> {
    match op {
        _ if trace.is_nested(event) => Vec::new(),
        Op::Acquire(lock) => {
            let released = &released[lock.index()];
            released.exclusive.into_iter().chain(released.shared.iter().copied()).collect()
        }
        Op::AcquireShared(lock) => released[lock.index()].exclusive.into_iter().collect(),
        Op::Release(lock) => {
            released[lock.index()] = Released { exclusive: Some(event), shared: Vec::new() };
            Vec::new()
        }
        Op::ReleaseShared(lock) => {
            released[lock.index()].shared.push(event);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// The sections of one lock by one thread that end, in order: the acquire's place, and the last release up to
/// there.
#[derive(Clone, Debug)]
struct Line {
    thread: ThreadId,
    all: Vec<(u32, EventId)>,
    exclusive: Vec<(u32, EventId)>,
}

impl Line {
    fn push(list: &mut Vec<(u32, EventId)>, place: u32, release: EventId) {
        // A shared section can outlive an exclusive one that began in it.
        let latest = list.last().map_or(release, |&(_, latest)| latest.max(release));
        list.push((place, latest));
    }

    /// The last release of those sections that keep the other out and begin before this place.
    fn last_release(&self, other: &Section, events: u32) -> Option<EventId> {
        let list = if other.shared { &self.exclusive } else { &self.all };
        let begun = list.partition_point(|&(place, _)| place < events);
        begun.checked_sub(1).map(|last| list[last].1)
    }
}

#[derive(Debug)]
struct Sections<'t> {
    all: &'t [Section],
    /// By acquire, where the section is in `all`.
    numbers: FxHashMap<EventId, usize>,
    by_lock: Vec<Vec<Line>>,
}

impl<'t> Sections<'t> {
    fn of(index: &'t Index<'t>) -> Self {
        let all = index.sections();
        let numbers = all.iter().enumerate().map(|(number, section)| (section.acquire, number)).collect();
        let by_lock = vec![Vec::new(); index.trace().symbols().locks.len()];
        let mut sections = Sections { all, numbers, by_lock };
        for section in all {
            if let Some(release) = section.release {
                let place = index.threads().place(section.acquire) as u32;
                let line = sections.line(section.lock, section.thread);
                Line::push(&mut line.all, place, release);
                if !section.shared {
                    Line::push(&mut line.exclusive, place, release);
                }
            }
        }
        sections
    }

    fn line(&mut self, lock: LockId, thread: ThreadId) -> &mut Line {
        let lines = &mut self.by_lock[lock.index()];
        let index = match lines.iter().position(|line| line.thread == thread) {
            Some(index) => index,
            None => {
                lines.push(Line { thread, all: Vec::new(), exclusive: Vec::new() });
                lines.len() - 1
            }
        };
        &mut lines[index]
    }

    fn begun_by(&self, acquire: EventId) -> Option<usize> {
        self.numbers.get(&acquire).copied()
    }
}

/// By (a) and (b): for each section and other thread, the last release of the thread that causally precedes its acquire.
/// Earlier ones happen before that.
#[derive(Debug)]
struct Edges(Vec<Vec<(ThreadId, EventId)>>);

impl Edges {
    fn entering(&self, section: usize) -> impl Iterator<Item = EventId> {
        self.0[section].iter().map(|&(_, release)| release)
    }

    /// Whether that is more than was known.
    fn add(&mut self, section: usize, thread: ThreadId, release: EventId) -> bool {
        let edges = &mut self.0[section];
        match edges.iter_mut().find(|(other, _)| *other == thread) {
            Some((_, known)) if *known >= release => false,
            Some((_, known)) => {
                *known = release;
                true
            }
            None => {
                edges.push((thread, release));
                true
            }
        }
    }

    /// Applies (b) once to all sections. Whether that found more.
    fn follow(
        &mut self,
        sections: &Sections<'_>,
        threads: &ThreadEvents,
        cp: &Matrix,
        bounds: Bounds,
    ) -> bool {
        let mut more = false;
        for (number, later) in sections.all.iter().enumerate().take_while(|_| !bounds.are_reached()) {
            // A section that never ends goes on to its thread's last event.
            let last = threads.of_thread(later.thread).last().copied();
            let end = later.release.or(last).unwrap_or(later.acquire);
            let lines = sections.by_lock[later.lock.index()].iter();
            for line in lines.filter(|line| line.thread != later.thread) {
                let events = cp.count(end, line.thread);
                if let Some(release) = line.last_release(later, events) {
                    more |= self.add(number, line.thread, release);
                }
            }
        }
        more
    }
}

/// The last releases of a thread's sections of one lock in which it accessed one variable: by the form of the
/// section, then whether the access wrote.
type Last = [[Option<EventId>; 2]; 2];

/// Applies (a) to all sections.
fn conflicting_sections(index: &Index<'_>, sections: &Sections<'_>) -> Edges {
    let mut edges = Edges(vec![Vec::new(); sections.all.len()]);
    let mut last: FxHashMap<(LockId, VariableId), Vec<(ThreadId, Last)>> = FxHashMap::default();
    for (event, thread, op) in index.trace().events() {
        let Some(access) = op.access() else { continue };
        if index.bounds().are_reached() {
            break;
        }
        for section in index.open_after(event) {
            let Some(number) = sections.begun_by(section.acquire) else { continue };
            let users = last.entry((section.lock, access.variable)).or_default();
            for (other, last) in users.iter().filter(|(other, _)| *other != thread) {
                let forms = last.iter().skip(usize::from(section.shared));
                let releases = forms.flat_map(|form| form.iter().skip(usize::from(!access.writes)));
                for release in releases.copied().flatten() {
                    edges.add(number, *other, release);
                }
            }
            let index = match users.iter().position(|(user, _)| *user == thread) {
                Some(index) => index,
                None => {
                    users.push((thread, Last::default()));
                    users.len() - 1
                }
            };
            let known = &mut users[index].1[usize::from(!section.shared)][usize::from(access.writes)];
            *known = (*known).max(section.release);
        }
    }
    edges
}
