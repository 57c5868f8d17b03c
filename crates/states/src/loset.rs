//! The loset of a trace (paper 2, definition 1): happened-before without the order of locks, as vector
//! clocks, and the sections of the locks.
//!
//! Happened-before is program order, fork before child, last event before join, signal before wait, and
//! enters before exits of a barrier. It is stored twice by place: what having done `n` events of a thread
//! needs of every other, and how far every other may have come at most. Memory: 8 k bytes an event; a bit of two tables for each event and
//! lock that several threads take, and 8 bytes for each event and semaphore.

use bounds::Bounds;
use order::{Index, Section, Supply, for_each_awaited};
use trace::{EventId, Op, SemaphoreId, ThreadEvents, ThreadId, Trace};

use crate::budget::Exhausted;
use crate::greedy::Constraints;
use crate::locks::Sets;

/// The number of a section, the paper's locking interval, in [`Loset::sections`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionId(pub u32);

/// What a semaphore allows.
#[derive(Clone, Debug)]
pub(crate) struct Permits {
    pub(crate) initial: i64,
    /// By thread and place: posts so far without takes so far.
    pub(crate) given: Vec<Vec<i64>>,
}

/// A trace as a partial order with sections of locks.
#[derive(Clone, Debug)]
pub struct Loset {
    pub(crate) lengths: Vec<u32>,
    /// By thread: for each place, how many events of every thread are needed.
    needs: Vec<Vec<u32>>,
    /// By thread: for each place, how many events of every thread can have happened at most.
    limits: Vec<Vec<u32>>,
    sections: Vec<Section<u32>>,
    /// Sections that another one excludes, by lock.
    pub(crate) rivals: Vec<Vec<SectionId>>,
    /// By thread and place: the last place at or before it where no lock is held.
    pub(crate) free: Vec<Vec<u32>>,
    /// The same for locks that some other thread wants.
    pub(crate) calm: Vec<Vec<u32>>,
    /// Locks held that some other thread wants.
    pub(crate) held: Sets,
    /// Those acquired since the last calm place, held or not.
    pub(crate) touched: Sets,
    /// By thread and place: an event since the last calm place comes before one of another thread.
    pub(crate) leaks: Vec<Vec<bool>>,
    /// By thread and place of an event.
    pub(crate) constraints: Vec<Vec<Constraints>>,
    pub(crate) permits: Vec<Permits>,
    /// With every take after its recorded post, where there are semaphores.
    pub(crate) matched: Option<Box<Loset>>,
    /// What work with it may take.
    bounds: Bounds,
}

/// An order between events of different threads.
struct Edge {
    from: EventId,
    to: EventId,
}

impl Loset {
    /// The loset of a trace. Linear in the events times the threads.
    pub fn of(trace: &Trace) -> Loset {
        let loset = Loset::within(trace, Bounds::NONE);
        loset.unwrap_or_else(|_| unreachable!("without bounds there is time and memory"))
    }

    /// The loset of a trace, unless it would take more memory or time than there is.
    pub fn within(trace: &Trace, bounds: Bounds) -> Result<Loset, Exhausted> {
        let threads = trace.symbols().threads.len() as u64;
        // Two tables with a count for each thread, before and after every event.
        let columns = threads + trace.symbols().semaphores.len() as u64;
        let bytes = (trace.len() as u64 + threads).saturating_mul(columns).saturating_mul(8);
        if bounds.memory().is_some_and(|memory| bytes > memory) {
            return Err(Exhausted::Memory(bytes));
        }
        let loset = Loset::of_index(&Index::within(trace, bounds))?;
        loset.check().map(|()| loset)
    }

    /// The loset of a trace that has its index already. Where the bounds are reached on the way, it is incomplete.
    fn of_index(index: &Index<'_>) -> Result<Loset, Exhausted> {
        let (trace, threads) = (index.trace(), index.threads());
        let mut loset = Loset::with_edges(index, &edges(trace, threads))?;
        loset.permits = permits(trace, threads, index.bounds());
        if !loset.permits.is_empty() {
            let mut all = edges(trace, threads);
            all.extend(recorded_permits(trace));
            all.sort_by_key(|edge| edge.to);
            loset.matched = Some(Box::new(Loset::with_edges(index, &all)?));
        }
        Ok(loset)
    }

    /// `edges` are sorted by where they lead.
    fn with_edges(index: &Index<'_>, edges: &[Edge]) -> Result<Loset, Exhausted> {
        let (trace, threads, bounds) = (index.trace(), index.threads(), index.bounds());
        let lengths: Vec<u32> =
            (0..threads.threads()).map(|t| threads.of_thread(ThreadId::new(t)).len() as u32).collect();
        let needs = needs(index, &lengths, edges);
        let limits = limits(&lengths, &needs, bounds);
        let sections = sections(index);
        let rivals = rivals(&sections, trace.symbols().locks.len());
        let contended: Vec<Section<u32>> =
            rivals.iter().flatten().map(|id| sections[id.0 as usize]).collect();
        let free = last_without(&lengths, &sections);
        let calm = last_without(&lengths, &contended);
        let mut outgoing: Vec<Vec<bool>> =
            lengths.iter().map(|&length| vec![false; length as usize]).collect();
        for edge in edges {
            outgoing[trace.thread(edge.from).index()][threads.place(edge.from)] = true;
        }
        let names = names(&rivals);
        let bytes = 2 * Sets::bytes(names.1, &lengths);
        if bounds.memory().is_some_and(|memory| bytes > memory) {
            return Err(Exhausted::Memory(bytes));
        }
        let mut held = Sets::new(names.1, &lengths);
        let mut touched = Sets::new(names.1, &lengths);
        for section in contended.iter().take_while(|_| !bounds.are_reached()) {
            let (thread, lock) = (section.thread.index(), names.0[section.lock.index()]);
            for place in section.acquire + 1..=lengths[thread] {
                if section.is_open_at(place) {
                    held.insert(thread, place, lock, section.shared);
                }
                if calm[thread][place as usize] > section.acquire {
                    break;
                }
                touched.insert(thread, place, lock, section.shared);
            }
        }
        let leaks = leaks(&calm, &outgoing);
        let constraints = constraints(trace, threads, &lengths, edges, &contended);
        let (permits, matched) = (Vec::new(), None);
        Ok(Loset {
            lengths,
            needs,
            limits,
            sections,
            rivals,
            free,
            calm,
            held,
            touched,
            leaks,
            constraints,
            permits,
            matched,
            bounds,
        })
    }

    /// Whether work with it may go on.
    pub(crate) fn check(&self) -> Result<(), Exhausted> {
        if self.is_out_of_time() { Err(Exhausted::Bounds) } else { Ok(()) }
    }

    /// Whether work with it is to end: what it comes to does not count.
    #[inline]
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.bounds.are_reached()
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.lengths.len()
    }

    /// How many events each thread has: the final state.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// All outermost sections of all locks, in the order of their acquires.
    pub fn sections(&self) -> &[Section<u32>] {
        &self.sections
    }

    pub(crate) fn section(&self, id: SectionId) -> &Section<u32> {
        &self.sections[id.0 as usize]
    }

    /// What having done `place` events of a thread needs of every thread.
    #[inline]
    pub(crate) fn needs(&self, thread: usize, place: u32) -> &[u32] {
        let k = self.lengths.len();
        &self.needs[thread][k * place as usize..k * (place as usize + 1)]
    }

    /// How far every thread may have come when only `place` events of this one have happened.
    #[inline]
    pub(crate) fn limits(&self, thread: usize, place: u32) -> &[u32] {
        let k = self.lengths.len();
        &self.limits[thread][k * place as usize..k * (place as usize + 1)]
    }
}

/// All orders between threads, sorted by where they lead.
fn edges(trace: &Trace, threads: &ThreadEvents) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (event, thread, op) in trace.events() {
        if threads.place(event) == 0 {
            edges.extend(trace.fork_of(thread).map(|from| Edge { from, to: event }));
        }
        for_each_awaited(trace, event, op, |from| edges.push(Edge { from, to: event }));
    }
    edges.retain(|edge| trace.thread(edge.from) != trace.thread(edge.to));
    edges
}

/// For each take beyond the initial permits, the post that gave its permit, first come first served.
fn recorded_permits(trace: &Trace) -> Vec<Edge> {
    let supply = |semaphore| {
        let mut supply = Supply::default();
        supply.declare(trace.initial_permits(SemaphoreId::new(semaphore)));
        supply
    };
    let mut supplies: Vec<Supply<EventId>> = (0..trace.symbols().semaphores.len()).map(supply).collect();
    let mut edges = Vec::new();
    for (event, _, op) in trace.events() {
        match op {
            Op::Post(semaphore) => supplies[semaphore.index()].post(event),
            Op::Take(semaphore) => {
                edges.extend(supplies[semaphore.index()].take().map(|from| Edge { from, to: event }));
            }
            _ => {}
        }
    }
    edges.retain(|edge| trace.thread(edge.from) != trace.thread(edge.to));
    edges
}

fn needs(index: &Index<'_>, lengths: &[u32], edges: &[Edge]) -> Vec<Vec<u32>> {
    let (trace, threads, bounds) = (index.trace(), index.threads(), index.bounds());
    let k = lengths.len();
    let mut needs: Vec<Vec<u32>> = lengths.iter().map(|&length| vec![0; k * (length as usize + 1)]).collect();
    let mut edges = edges.iter().peekable();
    let mut clock = vec![0; k];
    for (event, thread, _) in trace.events().take_while(|_| !bounds.are_reached()) {
        let (thread, place) = (thread.index(), threads.place(event));
        clock.copy_from_slice(&needs[thread][k * place..k * (place + 1)]);
        while let Some(edge) = edges.next_if(|edge| edge.to == event) {
            let (other, after) = (trace.thread(edge.from).index(), threads.place(edge.from) + 1);
            let source = &needs[other][k * after..k * (after + 1)];
            clock.iter_mut().zip(source).for_each(|(count, &other)| *count = (*count).max(other));
        }
        clock[thread] = place as u32 + 1;
        needs[thread][k * (place + 1)..k * (place + 2)].copy_from_slice(&clock);
    }
    needs
}

fn limits(lengths: &[u32], needs: &[Vec<u32>], bounds: Bounds) -> Vec<Vec<u32>> {
    let k = lengths.len();
    let mut limits: Vec<Vec<u32>> =
        lengths.iter().map(|&length| vec![0; k * (length as usize + 1)]).collect();
    for (thread, limits) in limits.iter_mut().enumerate() {
        for other in (0..k).take_while(|_| !bounds.are_reached()) {
            let mut reach = 0;
            for place in 0..=lengths[thread] {
                while reach < lengths[other] && needs[other][k * (reach as usize + 1) + thread] <= place {
                    reach += 1;
                }
                limits[k * place as usize + other] = reach;
            }
        }
    }
    limits
}

/// All sections, in the order of their acquires.
fn sections(index: &Index<'_>) -> Vec<Section<u32>> {
    let mut sections = index.sections().to_vec();
    sections.sort_unstable_by_key(|section| section.acquire);
    let place = |event: EventId| index.threads().place(event) as u32;
    let in_places = |section: Section| Section {
        thread: section.thread,
        lock: section.lock,
        acquire: place(section.acquire),
        release: section.release.map(place),
        shared: section.shared,
    };
    sections.into_iter().map(in_places).collect()
}

/// Of each lock, the sections that some other section excludes.
fn rivals(sections: &[Section<u32>], locks: usize) -> Vec<Vec<SectionId>> {
    let mut of_lock = vec![Vec::new(); locks];
    for (index, section) in sections.iter().enumerate() {
        of_lock[section.lock.index()].push(SectionId(index as u32));
    }
    for ids in &mut of_lock {
        let of = |id: &SectionId| &sections[id.0 as usize];
        // By thread rather than by pair: a lock may have very many sections.
        let summary = |wanted: &dyn Fn(&Section<u32>) -> bool| {
            let mut threads = ids.iter().map(of).filter(|s| wanted(s)).map(|s| s.thread);
            let first = threads.next();
            (first, threads.any(|thread| Some(thread) != first))
        };
        let by_another = |(first, several): (Option<ThreadId>, bool), thread| {
            several || first.is_some_and(|first| first != thread)
        };
        let (anyone, exclusive) = (summary(&|_| true), summary(&|section| !section.shared));
        let kept = ids.iter().copied().filter(|id| {
            let section = of(id);
            by_another(if section.shared { exclusive } else { anyone }, section.thread)
        });
        *ids = kept.collect();
    }
    of_lock
}

/// Dense numbers of the locks with rivals, by lock, and how many there are.
fn names(rivals: &[Vec<SectionId>]) -> (Vec<u32>, usize) {
    let mut next = 0;
    let numbers = rivals.iter().map(|sections| {
        let number = next;
        next += u32::from(!sections.is_empty());
        number
    });
    (numbers.collect(), next as usize)
}

/// By thread and place: the last place at or before it where none of the sections is open.
fn last_without(lengths: &[u32], sections: &[Section<u32>]) -> Vec<Vec<u32>> {
    let mut open: Vec<Vec<i32>> = lengths.iter().map(|&length| vec![0; length as usize + 2]).collect();
    for section in sections {
        let changes = &mut open[section.thread.index()];
        changes[section.acquire as usize + 1] += 1;
        let end = section.release.map_or(changes.len() - 1, |release| release as usize + 1);
        changes[end] -= 1;
    }
    let last = |changes: Vec<i32>| {
        let (mut depth, mut last) = (0, 0);
        let places = changes.len() - 1;
        let at = |(place, change): (usize, i32)| {
            depth += change;
            if depth == 0 {
                last = place as u32;
            }
            last
        };
        changes.into_iter().take(places).enumerate().map(at).collect()
    };
    open.into_iter().map(last).collect()
}

fn leaks(calm: &[Vec<u32>], outgoing: &[Vec<bool>]) -> Vec<Vec<bool>> {
    let of_thread = |(calm, outgoing): (&Vec<u32>, &Vec<bool>)| {
        let mut leaks = vec![false; calm.len()];
        for place in 1..calm.len() {
            leaks[place] = (calm[place] as usize) < place && (leaks[place - 1] || outgoing[place - 1]);
        }
        leaks
    };
    calm.iter().zip(outgoing).map(of_thread).collect()
}

fn constraints(
    trace: &Trace,
    threads: &ThreadEvents,
    lengths: &[u32],
    edges: &[Edge],
    contended: &[Section<u32>],
) -> Vec<Vec<Constraints>> {
    let mut all: Vec<Vec<Constraints>> =
        lengths.iter().map(|&length| vec![Constraints::default(); length as usize]).collect();
    for edge in edges {
        all[trace.thread(edge.to).index()][threads.place(edge.to)].waits = true;
    }
    for section in contended {
        all[section.thread.index()][section.acquire as usize].acquires = true;
    }
    all
}

fn permits(trace: &Trace, threads: &ThreadEvents, bounds: Bounds) -> Vec<Permits> {
    let of_thread = |semaphore, thread| {
        let mut given = vec![0];
        for &event in threads.of_thread(ThreadId::new(thread)) {
            let change = match trace.op(event) {
                Op::Post(s) if s == semaphore => 1,
                Op::Take(s) if s == semaphore => -1,
                _ => 0,
            };
            given.push(given[given.len() - 1] + change);
        }
        given
    };
    let of_semaphore = |index| {
        let semaphore = SemaphoreId::new(index);
        Permits {
            initial: i64::from(trace.initial_permits(semaphore)),
            given: (0..threads.threads()).map(|thread| of_thread(semaphore, thread)).collect(),
        }
    };
    (0..trace.symbols().semaphores.len()).take_while(|_| !bounds.are_reached()).map(of_semaphore).collect()
}
