//! What the checker knows at one point of a refutation, with an undo log: what is assumed or derived in a scope is
//! forgotten when the scope ends.
//!
//! A fact 'x before y' means: if y happens, x happens before it. Of a thread's events a prefix is known to be *needed*,
//! to happen in every schedule that answers the question; a needed y makes x needed. A thread's events from its *stop*
//! on cannot happen.

use std::collections::HashSet;

use trace::{EventId, ThreadEvents, Trace};

use crate::question::{Question, Source};

/// What a case assumes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Assumption {
    /// If the second event happens, the first happens before it.
    Before(EventId, EventId),
    /// The event happens.
    Happens(EventId),
    /// The event does not happen.
    Absent(EventId),
    /// The read that the question names sees this.
    Sees(EventId, Source),
}

/// What is known.
pub(crate) struct Facts<'a> {
    trace: &'a Trace,
    threads: &'a ThreadEvents,
    orders: HashSet<(EventId, EventId)>,
    /// Orders whose second event is not known to be needed.
    idle: Vec<(EventId, EventId)>,
    /// How many events of each thread are needed.
    needed: Vec<u32>,
    /// From which place on the events of each thread cannot happen.
    stop: Vec<u32>,
    /// What the read that the question names must see.
    source: Option<(EventId, Source)>,
    /// How to undo each change, latest last.
    undo: Vec<Undo>,
}

enum Undo {
    /// Forget an order, the latest idle one.
    Order,
    /// Put an idle order back where it was.
    Idle {
        at: usize,
        order: (EventId, EventId),
    },
    Needed {
        thread: usize,
        was: u32,
    },
    Stop {
        thread: usize,
        was: u32,
    },
    Source(Option<(EventId, Source)>),
}

/// A point in time to go back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

impl<'a> Facts<'a> {
    /// What the question says.
    pub(crate) fn of_question(trace: &'a Trace, threads: &'a ThreadEvents, question: &Question) -> Self {
        let mut facts = Facts {
            trace,
            threads,
            orders: HashSet::new(),
            idle: Vec::new(),
            needed: vec![0; threads.threads()],
            stop: vec![u32::MAX; threads.threads()],
            source: None,
            undo: Vec::new(),
        };
        match question {
            Question::Race(a, b) => [*a, *b].into_iter().for_each(|event| facts.stops_at(event)),
            Question::Deadlock(events) => {
                events.iter().for_each(|&event| facts.stops_at(event));
                question.spent_posts(trace).into_iter().for_each(|post| facts.need(post));
            }
            Question::Order(events) => events.iter().for_each(|&event| facts.need(event)),
            Question::Reads(read, source) => {
                facts.need(*read);
                facts.source = source.map(|source| (*read, source));
            }
            Question::Cut(counts) => {
                facts.needed[..counts.len()].copy_from_slice(counts);
                facts.stop.clone_from(&facts.needed);
            }
        }
        facts.undo.clear();
        facts
    }

    /// The event is next: all before it is needed, and it cannot happen.
    fn stops_at(&mut self, event: EventId) {
        let thread = self.trace.thread(event);
        let place = self.place(event);
        self.stop[thread.index()] = place;
        self.needed[thread.index()] = self.needed[thread.index()].max(place);
        if let Some(fork) = self.trace.fork_of(thread) {
            self.need(fork);
        }
    }

    /// The point in time that is now.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.undo.len())
    }

    /// Forgets everything learnt since then.
    pub(crate) fn undo_to(&mut self, mark: Mark) {
        while self.undo.len() > mark.0 {
            match self.undo.pop() {
                Some(Undo::Order) => {
                    if let Some(order) = self.idle.pop() {
                        self.orders.remove(&order);
                    }
                }
                Some(Undo::Idle { at, order }) => {
                    self.idle.push(order);
                    let last = self.idle.len() - 1;
                    self.idle.swap(at, last);
                }
                Some(Undo::Needed { thread, was }) => self.needed[thread] = was,
                Some(Undo::Stop { thread, was }) => self.stop[thread] = was,
                Some(Undo::Source(was)) => self.source = was,
                None => return,
            }
        }
    }

    /// Takes in an assumption, and everything it makes needed.
    pub(crate) fn assume(&mut self, assumption: Assumption) {
        match assumption {
            Assumption::Before(before, after) => self.learn(before, after),
            Assumption::Happens(event) => {
                self.need(event);
                self.spread();
            }
            Assumption::Absent(event) => {
                let (thread, place) = (self.trace.thread(event).index(), self.place(event));
                self.undo.push(Undo::Stop { thread, was: self.stop[thread] });
                self.stop[thread] = self.stop[thread].min(place);
            }
            Assumption::Sees(read, source) => {
                self.undo.push(Undo::Source(self.source));
                self.source = Some((read, source));
            }
        }
    }

    /// Takes in an order, and everything it makes needed.
    pub(crate) fn learn(&mut self, before: EventId, after: EventId) {
        if self.orders.insert((before, after)) {
            self.idle.push((before, after));
            self.undo.push(Undo::Order);
            self.spread();
        }
    }

    /// Makes needed what the orders of needed events make needed.
    fn spread(&mut self) {
        while let Some(at) = self.idle.iter().position(|&(_, after)| self.is_needed(after)) {
            let order = self.idle.swap_remove(at);
            self.undo.push(Undo::Idle { at, order });
            self.need(order.0);
        }
    }

    fn need(&mut self, event: EventId) {
        let (thread, count) = (self.trace.thread(event).index(), self.place(event) + 1);
        if self.needed[thread] < count {
            self.undo.push(Undo::Needed { thread, was: self.needed[thread] });
            self.needed[thread] = count;
        }
    }

    fn place(&self, event: EventId) -> u32 {
        self.threads.place(event) as u32
    }

    /// The events of the thread of an event that are needed and come after it.
    pub(crate) fn needed_after(&self, event: EventId) -> &'a [EventId] {
        let thread = self.trace.thread(event);
        let needed = &self.threads.of_thread(thread)[..self.needed[thread.index()] as usize];
        needed.get(self.threads.place(event) + 1..).unwrap_or_default()
    }

    /// What the read that the question names must see, if that is said of this read.
    pub(crate) fn source_of(&self, read: EventId) -> Option<Source> {
        self.source.filter(|&(named, _)| named == read).map(|(_, source)| source)
    }

    pub(crate) fn is_needed(&self, event: EventId) -> bool {
        self.place(event) < self.needed[self.trace.thread(event).index()]
    }

    pub(crate) fn cannot_happen(&self, event: EventId) -> bool {
        self.place(event) >= self.stop[self.trace.thread(event).index()]
    }

    /// Whether one event is known to come right before another.
    pub(crate) fn precedes(&self, x: EventId, y: EventId) -> bool {
        let same_thread = self.trace.thread(x) == self.trace.thread(y);
        (same_thread && self.place(x) < self.place(y)) || self.orders.contains(&(x, y))
    }

    /// Whether each of these events is known to come before the next.
    pub(crate) fn is_path(&self, path: &[EventId]) -> bool {
        path.windows(2).all(|pair| self.precedes(pair[0], pair[1]))
    }

    /// Whether one event, if it happens, comes after another: by any way through the orders.
    pub(crate) fn follows(&self, first: EventId, second: EventId) -> bool {
        let mut reached: Vec<u32> = vec![u32::MAX; self.threads.threads()];
        let mut work = vec![first];
        while let Some(event) = work.pop() {
            let (thread, place) = (self.trace.thread(event), self.place(event));
            if reached[thread.index()] <= place {
                continue;
            }
            reached[thread.index()] = place;
            let onward = self
                .orders
                .iter()
                .filter(|(x, _)| self.trace.thread(*x) == thread && self.place(*x) >= place);
            work.extend(onward.map(|&(_, y)| y));
        }
        first != second && reached[self.trace.thread(second).index()] <= self.place(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything but the undo log and the order of the idle orders.
    #[derive(Clone, Debug, PartialEq)]
    struct Contents {
        orders: Vec<(EventId, EventId)>,
        idle: Vec<(EventId, EventId)>,
        needed: Vec<u32>,
        stop: Vec<u32>,
        source: Option<(EventId, Source)>,
    }

    fn contents(facts: &Facts<'_>) -> Contents {
        let mut orders: Vec<_> = facts.orders.iter().copied().collect();
        orders.sort_unstable();
        let mut idle = facts.idle.clone();
        idle.sort_unstable();
        let (needed, stop) = (facts.needed.clone(), facts.stop.clone());
        Contents { orders, idle, needed, stop, source: facts.source }
    }

    /// Scopes opened and closed at random, against copies of what was known where they began.
    #[test]
    fn undoing_forgets_exactly_what_a_scope_learnt() {
        let mut random = 1u64;
        let mut below = move |bound: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % bound
        };
        for seed in 0..50 {
            let trace =
                generate::generate(&generate::TraceSettings::tiny(seed)).expect("tiny settings are valid");
            let threads = ThreadEvents::of(&trace);
            let question = Question::Order(vec![EventId(0), EventId::new(trace.len() - 1)]);
            let mut facts = Facts::of_question(&trace, &threads, &question);
            let mut scopes = vec![(facts.mark(), contents(&facts))];
            for _ in 0..200 {
                let (x, y) = (EventId::new(below(trace.len())), EventId::new(below(trace.len())));
                match below(6) {
                    0 => scopes.push((facts.mark(), contents(&facts))),
                    1 => {
                        if let Some((mark, before)) = scopes.pop() {
                            facts.undo_to(mark);
                            assert_eq!(contents(&facts), before, "seed {seed}");
                        }
                    }
                    2 => facts.assume(Assumption::Happens(x)),
                    3 => facts.assume(Assumption::Absent(x)),
                    4 => facts.assume(Assumption::Sees(x, Source::Write(y))),
                    _ => facts.assume(Assumption::Before(x, y)),
                }
            }
        }
    }
}
