//! Routes: an order in which a prefix can be run, or the certainty that there is none.
//!
//! Reads are performed as soon as what they are to see is the last that was written. A write is performed when no read
//! is left that is to see what it overwrites. Which write comes next is tried out, and a state is not tried twice. So the
//! answer is exact; the time it takes can be exponential in the number of threads, and is limited.

use rustc_hash::{FxHashMap, FxHashSet};
use trace::ThreadPath;

use crate::accesses::EventRef;
use crate::cells::Cell;
use crate::run::{Run, RunStep, hash_of};

/// How far threads run, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// One after the other.
    pub legs: Vec<Leg>,
}

/// A thread runs until it has performed this number of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Which thread.
    pub thread: ThreadPath,
    /// How many events it has performed then, since it began.
    pub until: u64,
}

/// The result of the search for a route.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RouteSearch {
    Found(Route),
    /// There is none.
    None,
    /// The search was given up.
    GaveUp,
}

/// Whether the changed event is taken to write, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangedEvent {
    Reads,
    Updates,
}

/// States that are looked at before a search is given up.
const MOST_STATES: usize = 100_000;

/// A step of the prefix.
struct Item {
    event: EventRef,
    /// Where it is in the run: earlier ones are tried first.
    order: u32,
    reads: Vec<(Cell, Option<EventRef>)>,
    writes: Vec<Cell>,
    links: Vec<EventRef>,
}

/// What cells held before.
type Overwritten = Vec<(Cell, Option<EventRef>)>;

/// The search.
struct Search<'a> {
    run: &'a Run,
    threads: Vec<Vec<Item>>,
    /// How many items of each thread were performed.
    done: Vec<usize>,
    last: FxHashMap<Cell, Option<EventRef>>,
    /// How many reads are still to see this in the cell.
    readers: FxHashMap<(Cell, Option<EventRef>), u32>,
    /// What was performed, and what it overwrote.
    performed: Vec<(usize, Overwritten)>,
    /// Identifies the state.
    state: u64,
    visited: FxHashSet<u64>,
}

/// Finds a route along the first events of each thread, in which `changed` sees these sources.
pub(crate) fn find(
    run: &Run,
    lengths: &[u64],
    changed: &RunStep,
    sources: &[Option<EventRef>],
    effect: ChangedEvent,
) -> RouteSearch {
    let item = |order: u32, step: &RunStep| {
        let is_changed = step.event == changed.event;
        let reading = step.parts.iter().filter(|part| part.effect.reads());
        let reads: Vec<(Cell, Option<EventRef>)> = match is_changed {
            true => reading.zip(sources).map(|(part, &source)| (part.cell, source)).collect(),
            false => reading.map(|part| (part.cell, part.source)).collect(),
        };
        let writes = match (is_changed, effect) {
            (true, ChangedEvent::Reads) => Vec::new(),
            (true, ChangedEvent::Updates) => step.parts.iter().map(|part| part.cell).collect(),
            (false, _) => {
                step.parts.iter().filter(|part| part.effect.writes()).map(|part| part.cell).collect()
            }
        };
        Item { event: step.event, order, reads, writes, links: step.links.clone() }
    };
    let threads: Vec<Vec<Item>> = run
        .threads
        .iter()
        .zip(lengths)
        .map(|(thread, &length)| {
            let steps = thread.steps.iter().map(|&step| (step, &run.steps[step as usize]));
            let inside = steps.take_while(|(_, step)| step.event.place < length);
            inside.map(|(order, step)| item(order, step)).collect()
        })
        .collect();
    let mut readers: FxHashMap<(Cell, Option<EventRef>), u32> = FxHashMap::default();
    for &read in threads.iter().flatten().flat_map(|item| &item.reads) {
        *readers.entry(read).or_default() += 1;
    }
    let search = Search {
        run,
        done: vec![0; threads.len()],
        threads,
        last: FxHashMap::default(),
        readers,
        performed: Vec::new(),
        state: 0,
        visited: FxHashSet::default(),
    };
    search.find(lengths)
}

impl Search<'_> {
    fn find(mut self, lengths: &[u64]) -> RouteSearch {
        // Where a choice was made: how much was performed before, and what is left to be tried.
        let mut choices: Vec<(usize, Vec<usize>)> = Vec::new();
        loop {
            self.read_all();
            if self.is_done() {
                return RouteSearch::Found(self.route(lengths));
            }
            if self.visited.len() > MOST_STATES {
                return RouteSearch::GaveUp;
            }
            let next = if self.visited.insert(self.state) { self.writable() } else { Vec::new() };
            choices.push((self.performed.len(), next));
            loop {
                let Some((performed, next)) = choices.last_mut() else { return RouteSearch::None };
                let performed = *performed;
                let Some(thread) = next.pop() else {
                    choices.pop();
                    continue;
                };
                self.undo_until(performed);
                self.perform(thread);
                break;
            }
        }
    }

    fn is_done(&self) -> bool {
        self.done.iter().zip(&self.threads).all(|(&done, items)| done == items.len())
    }

    fn next_item(&self, thread: usize) -> Option<&Item> {
        self.threads[thread].get(self.done[thread])
    }

    fn last(&self, cell: Cell) -> Option<EventRef> {
        self.last.get(&cell).copied().flatten()
    }

    /// Whether what the item depends on is there.
    fn is_enabled(&self, item: &Item) -> bool {
        let happened = |event: &EventRef| {
            let thread = event.thread as usize;
            match self.threads[thread].get(self.done[thread]) {
                Some(next) => next.event.place > event.place,
                None => true,
            }
        };
        item.links.iter().all(happened) && item.reads.iter().all(|&(cell, source)| self.last(cell) == source)
    }

    /// Performs everything that writes nothing, as far as possible.
    fn read_all(&mut self) {
        loop {
            let ready = (0..self.threads.len()).find(|&thread| {
                self.next_item(thread).is_some_and(|item| item.writes.is_empty() && self.is_enabled(item))
            });
            match ready {
                Some(thread) => self.perform(thread),
                None => return,
            }
        }
    }

    /// Threads whose next item writes and can be performed, the best last.
    fn writable(&self) -> Vec<usize> {
        let mut threads: Vec<usize> = (0..self.threads.len())
            .filter(|&thread| {
                let Some(item) = self.next_item(thread) else { return false };
                let overwrites = |&cell: &Cell| {
                    let value = (cell, self.last(cell));
                    let own = item.reads.iter().filter(|&&read| read == value).count() as u32;
                    self.readers.get(&value).copied().unwrap_or(0) <= own
                };
                !item.writes.is_empty() && self.is_enabled(item) && item.writes.iter().all(overwrites)
            })
            .collect();
        let order = |&thread: &usize| self.next_item(thread).map(|item| std::cmp::Reverse(item.order));
        threads.sort_by_key(order);
        threads
    }

    fn perform(&mut self, thread: usize) {
        let item = &self.threads[thread][self.done[thread]];
        for read in &item.reads {
            if let Some(left) = self.readers.get_mut(read) {
                *left -= 1;
            }
        }
        let mut overwritten = Vec::new();
        for &cell in &item.writes {
            let before = self.last.insert(cell, Some(item.event)).flatten();
            overwritten.push((cell, before));
            self.state ^= hash_of(&(cell, before)) ^ hash_of(&(cell, Some(item.event)));
        }
        self.state ^= hash_of(&item.event);
        self.done[thread] += 1;
        self.performed.push((thread, overwritten));
    }

    fn undo_until(&mut self, length: usize) {
        while self.performed.len() > length {
            let Some((thread, overwritten)) = self.performed.pop() else { return };
            self.done[thread] -= 1;
            let item = &self.threads[thread][self.done[thread]];
            for &read in &item.reads {
                *self.readers.entry(read).or_default() += 1;
            }
            for (cell, before) in overwritten.into_iter().rev() {
                self.last.insert(cell, before);
                self.state ^= hash_of(&(cell, before)) ^ hash_of(&(cell, Some(item.event)));
            }
            self.state ^= hash_of(&item.event);
        }
    }

    /// What was performed, as far as threads are to run.
    fn route(&self, lengths: &[u64]) -> Route {
        let mut at = vec![0; self.threads.len()];
        let mut legs: Vec<Leg> = Vec::new();
        let mut run_to = |thread: usize, until: u64| {
            let path = &self.run.threads[thread].path;
            match legs.last_mut() {
                Some(leg) if leg.thread == *path => leg.until = leg.until.max(until),
                _ => legs.push(Leg { thread: path.clone(), until }),
            }
        };
        for &(thread, _) in &self.performed {
            run_to(thread, self.threads[thread][at[thread]].event.place + 1);
            at[thread] += 1;
        }
        for (thread, &length) in lengths.iter().enumerate().filter(|&(_, &length)| length > 0) {
            let reached = self.threads[thread].last().map_or(0, |item| item.event.place + 1);
            if reached < length {
                run_to(thread, length);
            }
        }
        Route { legs }
    }
}
