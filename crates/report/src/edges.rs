//! Who waited for whom, and who read from whom, when events happen in some order: the arrows of a picture.
//!
//! The order may be the trace's own or a schedule's; only edges between different threads are given. Linear in the events,
//! but for barriers, where each exit has an edge from the last enter only: it is the one that opened the barrier.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;
use trace::{EventId, LockId, Op, ThreadId, Trace};

/// Why one event comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// A thread was created.
    Fork,
    /// A thread was waited for.
    Join,
    /// A lock was handed over.
    Lock,
    /// A waiting thread was woken.
    Signal,
    /// A barrier opened.
    Barrier,
    /// A permit was handed over.
    Permit,
    /// A value was read.
    ReadsFrom,
}

impl EdgeKind {
    /// As it is called in JSON.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Fork => "fork",
            EdgeKind::Join => "join",
            EdgeKind::Lock => "lock",
            EdgeKind::Signal => "signal",
            EdgeKind::Barrier => "barrier",
            EdgeKind::Permit => "permit",
            EdgeKind::ReadsFrom => "reads-from",
        }
    }
}

/// An arrow between two events, named by their positions in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The position of the earlier event.
    pub from: usize,
    /// The position of the later one.
    pub to: usize,
    /// Why.
    pub kind: EdgeKind,
}

/// The edges between events that happen in this order, by the later event.
pub fn edges(trace: &Trace, order: &[EventId]) -> Vec<Edge> {
    let mut walk = Walk::new(trace);
    for (position, &event) in order.iter().enumerate() {
        walk.step(position, event);
    }
    let thread = |position: usize| trace.thread(order[position]);
    walk.edges.retain(|edge| thread(edge.from) != thread(edge.to));
    walk.edges
}

struct Walk<'t> {
    trace: &'t Trace,
    edges: Vec<Edge>,
    /// Where each thread was forked, until its first event.
    forks: HashMap<ThreadId, usize>,
    /// The last event of each thread so far.
    last: HashMap<ThreadId, usize>,
    /// The last release of each lock.
    releases: HashMap<LockId, usize>,
    /// Signals and broadcasts by event.
    signals: HashMap<EventId, usize>,
    /// The last enter of each instance of a barrier.
    enters: HashMap<trace::InstanceId, usize>,
    /// Posts that no take has used, and how many takes go without one.
    permits: HashMap<trace::SemaphoreId, (u32, VecDeque<usize>)>,
    /// The last write of each variable.
    writes: HashMap<trace::VariableId, usize>,
}

impl<'t> Walk<'t> {
    fn new(trace: &'t Trace) -> Self {
        Walk {
            trace,
            edges: Vec::new(),
            forks: HashMap::new(),
            last: HashMap::new(),
            releases: HashMap::new(),
            signals: HashMap::new(),
            enters: HashMap::new(),
            permits: HashMap::new(),
            writes: HashMap::new(),
        }
    }

    fn edge(&mut self, from: Option<usize>, to: usize, kind: EdgeKind) {
        self.edges.extend(from.map(|from| Edge { from, to, kind }));
    }

    fn step(&mut self, position: usize, event: EventId) {
        let thread = self.trace.thread(event);
        let fork = self.forks.remove(&thread);
        self.edge(fork, position, EdgeKind::Fork);
        let op = self.trace.op(event);
        match op {
            Op::Fork(child) => {
                self.forks.insert(child, position);
            }
            Op::Join(child) => self.edge(self.last.get(&child).copied(), position, EdgeKind::Join),
            Op::Acquire(lock) | Op::AcquireShared(lock) => {
                self.edge(self.releases.get(&lock).copied(), position, EdgeKind::Lock);
            }
            Op::Release(lock) | Op::ReleaseShared(lock) => {
                self.releases.insert(lock, position);
            }
            Op::Signal(_) | Op::Broadcast(_) => {
                self.signals.insert(event, position);
            }
            Op::Wait(_) => {
                let waker = self.trace.link(event).event();
                let waker = waker.and_then(|waker| self.signals.get(&waker).copied());
                self.edge(waker, position, EdgeKind::Signal);
            }
            Op::BarrierEnter(_) => {
                self.enters.insert(self.trace.barrier_instance(event), position);
            }
            Op::BarrierExit(_) => {
                let last = self.enters.get(&self.trace.barrier_instance(event)).copied();
                self.edge(last, position, EdgeKind::Barrier);
            }
            Op::Post(semaphore) => self.permits(semaphore).1.push_back(position),
            Op::Take(semaphore) => {
                let (initial, posts) = self.permits(semaphore);
                let post = match initial.checked_sub(1) {
                    Some(left) => {
                        *initial = left;
                        None
                    }
                    None => posts.pop_front(),
                };
                self.edge(post, position, EdgeKind::Permit);
            }
            _ => {}
        }
        if let Some(variable) = op.reads() {
            self.edge(self.writes.get(&variable).copied(), position, EdgeKind::ReadsFrom);
        }
        if let Some(variable) = op.writes() {
            self.writes.insert(variable, position);
        }
        self.last.insert(thread, position);
    }

    fn permits(&mut self, semaphore: trace::SemaphoreId) -> &mut (u32, VecDeque<usize>) {
        let initial = self.trace.initial_permits(semaphore);
        self.permits.entry(semaphore).or_insert((initial, VecDeque::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges_in_words(text: &str) -> Vec<String> {
        let trace = trace::text::read(text.as_bytes()).unwrap();
        let order: Vec<EventId> = (0..trace.len()).map(EventId::new).collect();
        edges(&trace, &order).iter().map(|e| format!("{} {}->{}", e.kind.name(), e.from, e.to)).collect()
    }

    #[test]
    fn every_kind_of_synchronisation_has_its_arrow() {
        assert_eq!(
            edges_in_words("m|fork(a)|1\na|w(x)|2\nm|join(a)|3\nm|r(x)|4\n"),
            ["fork 0->1", "join 1->2", "reads-from 1->3"]
        );
        assert_eq!(
            edges_in_words("a|acq(l)|1\na|rel(l)|2\na|acq(l)|3\na|rel(l)|4\nb|acq(l)|5\n"),
            ["lock 3->4"]
        );
        assert_eq!(edges_in_words("a|signal(c)|1\nb|wait(c)|2\n"), ["signal 0->1"]);
        assert_eq!(
            edges_in_words("#! semaphore s 1\na|take(s)|1\na|post(s)|2\nb|take(s)|3\n"),
            ["permit 1->2"]
        );
    }
}
