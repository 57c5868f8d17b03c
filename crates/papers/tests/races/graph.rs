//! Orders of events as a plain graph: the naive twin of all clocks.

use trace::{EventId, Op, Trace};

/// Which events are before which, reflexively and transitively.
#[derive(Clone)]
pub(crate) struct Graph {
    before: Vec<Vec<bool>>,
}

impl Graph {
    /// No order at all.
    pub(crate) fn empty(trace: &Trace) -> Graph {
        let before = (0..trace.len()).map(|a| (0..trace.len()).map(|b| a == b).collect()).collect();
        Graph { before }
    }

    pub(crate) fn has(&self, a: EventId, b: EventId) -> bool {
        self.before[a.index()][b.index()]
    }

    /// Adds an order, and all that follow.
    pub(crate) fn add(&mut self, a: EventId, b: EventId) {
        if self.has(a, b) {
            return;
        }
        let all = 0..self.before.len();
        for x in all.clone().filter(|&x| self.before[x][a.index()]).collect::<Vec<_>>() {
            for y in all.clone() {
                self.before[x][y] |= self.before[b.index()][y];
            }
        }
    }

    /// Program order, and what no schedule can change: forks, joins, wakers, barriers. And posts to the takes
    /// they supply, and where an atomic read sees an atomic write.
    pub(crate) fn must(trace: &Trace) -> Graph {
        let mut graph = Graph::empty(trace);
        let events: Vec<_> = trace.events().collect();
        for &(b, thread, op) in &events {
            for &(a, other, _) in &events[..b.index()] {
                if other == thread || op == Op::Join(other) || trace.fork_of(thread) == Some(a) {
                    graph.add(a, b);
                }
            }
            match op {
                Op::Wait(_) => trace.link(b).event().into_iter().for_each(|a| graph.add(a, b)),
                Op::BarrierExit(_) => {
                    let instance = trace.barrier_instance(b).index();
                    for &a in &trace.matching().barrier_instances()[instance].enters {
                        graph.add(a, b);
                    }
                }
                Op::Take(_) => supplier(trace, b).into_iter().for_each(|a| graph.add(a, b)),
                Op::AtomicRead(_) | Op::AtomicUpdate(_) | Op::Fence => {
                    let earlier = events[..b.index()].iter().map(|&(a, ..)| a);
                    earlier.filter(|&a| synchronises(trace, a, b)).for_each(|a| graph.add(a, b));
                }
                _ => {}
            }
        }
        graph
    }

    /// Happens-before.
    pub(crate) fn happens_before(trace: &Trace) -> Graph {
        let mut graph = Graph::must(trace);
        for (b, _, later) in trace.events() {
            for (a, _, earlier) in trace.events().take(b.index()) {
                let ordered = match (earlier, later) {
                    (Op::Release(x), Op::Acquire(y) | Op::AcquireShared(y)) => x == y,
                    (Op::ReleaseShared(x), Op::Acquire(y)) => x == y,
                    _ => false,
                };
                if ordered {
                    graph.add(a, b);
                }
            }
        }
        graph
    }
}

/// Whether a release synchronises with an acquire: by what the read, or those before the fence, saw of the release sequence of the
/// write, or of those after the fence.
fn synchronises(trace: &Trace, first: EventId, second: EventId) -> bool {
    let atomic = |event: EventId| trace.op(event).access().is_some_and(|access| access.atomic);
    let ids = |thread| (0..trace.len()).map(EventId::new).filter(move |&e| trace.thread(e) == thread);
    let writes: Vec<EventId> = match trace.op(first) {
        Op::Fence => ids(trace.thread(first))
            .filter(|&e| e > first && atomic(e) && trace.op(e).writes().is_some())
            .collect(),
        _ => vec![first],
    };
    let reads: Vec<EventId> = match trace.op(second) {
        Op::Fence => ids(trace.thread(second))
            .filter(|&e| e < second && atomic(e) && trace.op(e).reads().is_some())
            .collect(),
        _ => vec![second],
    };
    let continues = |head: EventId, write: EventId| {
        let between = (head.index() + 1..=write.index()).map(EventId::new);
        trace.op(write).writes() == trace.op(head).writes()
            && between.filter(|&e| trace.op(e).writes() == trace.op(head).writes()).all(|e| {
                atomic(e) && (trace.op(e).reads().is_some() || trace.thread(e) == trace.thread(head))
            })
    };
    let meets = |head: EventId, read: EventId| {
        trace.reads_from(read).is_some_and(|seen| seen >= head && continues(head, seen))
    };
    trace.memory_order(first).releases()
        && trace.memory_order(second).acquires()
        && writes
            .iter()
            .filter(|&&w| atomic(w) && trace.op(w).writes().is_some())
            .any(|&w| reads.iter().filter(|&&r| atomic(r)).any(|&r| meets(w, r)))
}

/// The post that supplies a take, the oldest first.
pub(crate) fn supplier(trace: &Trace, take: EventId) -> Option<EventId> {
    let Op::Take(semaphore) = trace.op(take) else { return None };
    let mut initial = trace.declared_permits(semaphore).unwrap_or(0);
    let mut posts: Vec<EventId> = Vec::new();
    for (event, _, op) in trace.events() {
        match op {
            Op::Post(s) if s == semaphore => posts.push(event),
            Op::Take(s) if s == semaphore => {
                let supplier = if initial > 0 {
                    initial -= 1;
                    None
                } else if posts.is_empty() {
                    None
                } else {
                    Some(posts.remove(0))
                };
                if event == take {
                    return supplier;
                }
            }
            _ => {}
        }
    }
    None
}
