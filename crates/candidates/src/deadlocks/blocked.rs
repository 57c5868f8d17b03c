//! Where threads can be blocked, by what they wait for and how they block others.

use order::{Index, LockHold, LockSetId};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{
    BarrierId, ConditionId, EventId, LocationId, LockId, Op, SemaphoreId, ThreadEvents, ThreadId, Trace,
};

use super::knots::Knots;
use crate::Resource;

/// What a blocked thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Demand {
    /// A lock, in this form.
    Lock(LockHold),
    /// The end of a thread.
    Thread(ThreadId),
    /// A signal.
    Condition(ConditionId),
    /// The others at a barrier.
    Barrier(BarrierId),
    /// A permit.
    Semaphore(SemaphoreId),
}

impl Demand {
    /// What an event waits for, if it can be blocked: it is no attempt. A request that was granted cannot: its acquire stands for it.
    pub(super) fn of(trace: &Trace, event: EventId, op: Op) -> Option<Demand> {
        let lock = |lock: LockId, exclusive: bool| Some(Demand::Lock(LockHold { lock, exclusive }));
        match op {
            Op::Acquire(l) if !trace.is_nested(event) => lock(l, true),
            Op::AcquireShared(l) if !trace.is_nested(event) => lock(l, false),
            Op::Request(l) if trace.link(event).event().is_none() => lock(l, true),
            Op::RequestShared(l) if trace.link(event).event().is_none() => lock(l, false),
            Op::Join(thread) => Some(Demand::Thread(thread)),
            Op::Wait(condition) => Some(Demand::Condition(condition)),
            Op::BarrierExit(barrier) => Some(Demand::Barrier(barrier)),
            Op::Take(semaphore) => Some(Demand::Semaphore(semaphore)),
            _ => None,
        }
    }

    /// Its name in reports.
    pub(super) fn waited(self, trace: &Trace) -> Resource {
        let symbols = trace.symbols();
        match self {
            Demand::Lock(hold) => Resource::Lock(hold.lock),
            Demand::Thread(thread) => Resource::Named(symbols.thread(thread).to_owned()),
            Demand::Condition(condition) => Resource::Named(symbols.condition(condition).to_owned()),
            Demand::Barrier(barrier) => Resource::Named(symbols.barrier(barrier).to_owned()),
            Demand::Semaphore(semaphore) => Resource::Named(symbols.semaphore(semaphore).to_owned()),
        }
    }
}

/// How a blocked thread blocks another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Via {
    /// It holds a lock.
    Lock(LockHold),
    /// What the other waits for lies ahead of it: its end, a signal, an enter, a post.
    Ahead,
}

/// Events of one thread that wait for the same and block others the same way, as far as that can be part of a cycle.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) thread: ThreadId,
    pub(super) wanted: Demand,
    pub(super) via: Via,
    pub(super) groups: Vec<Group>,
}

/// Events of a node at one place in the source that hold the same locks, in the order of the trace.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) site: LocationId,
    pub(super) held: LockSetId,
    pub(super) events: Vec<EventId>,
}

/// All places where threads can be blocked.
#[derive(Debug)]
pub(super) struct Blocked {
    pub(super) nodes: Vec<Node>,
    /// How many events can be blocked.
    pub(super) events: u64,
    pub(super) ahead: Ahead,
}

impl Blocked {
    /// Those of a trace; where the bounds of the work are reached, only some of them.
    pub(super) fn of(index: &Index<'_>) -> Self {
        let trace = index.trace();
        let ahead = Ahead::of(index);
        let knots = Knots::of(index, &ahead);
        let mut tries = Tries::of(trace);
        let mut found = GraphBuilder::default();
        for (event, thread, op) in trace.events() {
            // What is waited for is known of all events, or of none from here on.
            if index.bounds().are_reached() {
                break;
            }
            let is_try = tries.step(trace, event, thread, op);
            if let Some(wanted) = Demand::of(trace, event, op).filter(|_| !is_try) {
                found.events += 1;
                let Some(knot) = knots.of_wanted(wanted) else { continue };
                // What it holds when it is next, oldest first.
                let last = index.threads().place(event).checked_sub(1);
                let last = last.map(|last| index.threads().of_thread(thread)[last]);
                let held = last.map_or(LockSetId::EMPTY, |last| index.open().locks_after(last));
                let mut vias: Vec<Via> = ahead.is_awaited(thread).then_some(Via::Ahead).into_iter().collect();
                let open = last.into_iter().flat_map(|last| index.open_after(last));
                vias.extend(open.map(|section| Via::Lock(section.hold())));
                for via in vias.into_iter().rev().filter(|&via| knots.has(knot, thread, via)) {
                    found.add(trace, event, NodeKey { thread, wanted, via }, held);
                }
            }
        }
        Blocked { nodes: found.nodes, events: found.events, ahead }
    }

    /// Whether a thread that is blocked at `a` can be blocked by one that is at `b`, as far as is known without
    /// looking at events.
    pub(super) fn blocks(&self, a: &Node, b: &Node) -> bool {
        match (a.wanted, b.via) {
            (Demand::Lock(wanted), Via::Lock(held)) => wanted.excludes(held),
            (Demand::Lock(_), Via::Ahead) | (_, Via::Lock(_)) => false,
            (wanted, Via::Ahead) => self.ahead.supplies(b.thread, wanted),
        }
    }

    /// How many events of a thread lie before what an event waits for there: a thread that has done at least
    /// this number does not block it. `None`: it never blocks it; locks are not looked at.
    pub(super) fn supplied_at(
        &self,
        trace: &Trace,
        threads: &ThreadEvents,
        event: EventId,
        by: ThreadId,
    ) -> Option<u32> {
        let place = |event: EventId| threads.place(event) as u32;
        match trace.op(event) {
            Op::Join(child) => (child == by).then_some(u32::MAX),
            Op::Wait(_) => trace.link(event).event().filter(|&signal| trace.thread(signal) == by).map(place),
            Op::BarrierExit(_) => {
                let instance = &trace.matching().barrier_instances()[trace.barrier_instance(event).index()];
                instance.enters.iter().rev().find(|&&enter| trace.thread(enter) == by).map(|&e| place(e))
            }
            Op::Take(semaphore) => self.last_post(semaphore, by).map(place),
            _ => Some(u32::MAX),
        }
    }

    /// The last post of a semaphore by a thread.
    pub(super) fn last_post(&self, semaphore: SemaphoreId, thread: ThreadId) -> Option<EventId> {
        self.ahead.last_post.get(&Poster { semaphore, thread }).copied()
    }
}

/// Where calls give up by themselves: nobody is blocked there for ever.
#[derive(Debug)]
pub(super) struct Attempts {
    /// By location.
    limited: Vec<bool>,
}

impl Attempts {
    pub(super) fn of(trace: &Trace) -> Self {
        let told: FxHashSet<&str> = trace.metadata().attempts.iter().map(String::as_str).collect();
        let locations = if told.is_empty() { 0 } else { trace.symbols().locations.len() };
        let name = |index| trace.symbols().location(LocationId::new(index));
        Attempts { limited: (0..locations).map(|index| told.contains(name(index))).collect() }
    }

    /// Whether the event is by such a call.
    pub(super) fn has(&self, trace: &Trace, event: EventId) -> bool {
        self.limited.get(trace.location(event).index()) == Some(&true)
    }
}

/// Tells events that cannot be blocked for ever: by calls that try, or wait with a limit. Where a trace has requests, an acquire
/// with its own is none of them, and one without is.
struct Tries {
    attempts: Attempts,
    /// By thread, the acquire that its last request led to; nothing if the trace has no requests.
    requested: Vec<Option<EventId>>,
}

impl Tries {
    fn of(trace: &Trace) -> Self {
        let has_requests = trace.events().any(|(.., op)| matches!(op, Op::Request(_) | Op::RequestShared(_)));
        let threads = if has_requests { trace.symbols().threads.len() } else { 0 };
        Tries { attempts: Attempts::of(trace), requested: vec![None; threads] }
    }

    /// Whether this event, the next of the trace, is by such a call.
    fn step(&mut self, trace: &Trace, event: EventId, thread: ThreadId, op: Op) -> bool {
        let requested = self.requested.get_mut(thread.index());
        match (op, requested) {
            (Op::Request(_) | Op::RequestShared(_), Some(requested)) => {
                *requested = trace.link(event).event();
                false
            }
            (Op::Acquire(_) | Op::AcquireShared(_), Some(requested)) => *requested != Some(event),
            _ => self.attempts.has(trace, event),
        }
    }
}

/// Where a node stands for events.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct NodeKey {
    thread: ThreadId,
    wanted: Demand,
    via: Via,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct GroupKey {
    node: u32,
    site: LocationId,
    held: LockSetId,
}

#[derive(Default)]
struct GraphBuilder {
    nodes: Vec<Node>,
    numbers: FxHashMap<NodeKey, u32>,
    groups: FxHashMap<GroupKey, u32>,
    events: u64,
}

impl GraphBuilder {
    fn add(&mut self, trace: &Trace, event: EventId, place: NodeKey, held: LockSetId) {
        let NodeKey { thread, wanted, via } = place;
        let node = *self.numbers.entry(place).or_insert_with(|| {
            self.nodes.push(Node { thread, wanted, via, groups: Vec::new() });
            self.nodes.len() as u32 - 1
        });
        let groups = &mut self.nodes[node as usize].groups;
        let site = trace.location(event);
        let group = *self.groups.entry(GroupKey { node, site, held }).or_insert_with(|| {
            groups.push(Group { site, held, events: Vec::new() });
            groups.len() as u32 - 1
        });
        groups[group as usize].events.push(event);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Poster {
    semaphore: SemaphoreId,
    thread: ThreadId,
}

/// Who supplies what is not a lock.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    suppliers: FxHashMap<Demand, FxHashSet<ThreadId>>,
    /// Threads that supply something.
    awaited: Vec<bool>,
    last_post: FxHashMap<Poster, EventId>,
}

impl Ahead {
    fn of(index: &Index<'_>) -> Self {
        let trace = index.trace();
        let mut ahead = Ahead { awaited: vec![false; trace.symbols().threads.len()], ..Ahead::default() };
        let mut barriers = vec![false; trace.matching().barrier_instances().len()];
        for (event, thread, op) in trace.events() {
            if index.bounds().are_reached() {
                break;
            }
            let Some(wanted) = Demand::of(trace, event, op) else {
                if let Op::Post(semaphore) = op {
                    ahead.last_post.insert(Poster { semaphore, thread }, event);
                }
                continue;
            };
            ahead.suppliers.entry(wanted).or_default();
            match op {
                Op::Join(child) => ahead.add(wanted, child),
                Op::Wait(_) => {
                    trace.link(event).event().into_iter().for_each(|s| ahead.add(wanted, trace.thread(s)));
                }
                Op::BarrierExit(_) => {
                    let instance = trace.barrier_instance(event).index();
                    // All exits come after the same enters.
                    if !std::mem::replace(&mut barriers[instance], true) {
                        for &enter in &trace.matching().barrier_instances()[instance].enters {
                            ahead.add(wanted, trace.thread(enter));
                        }
                    }
                }
                _ => {}
            }
        }
        let posters: Vec<Poster> = ahead.last_post.keys().copied().collect();
        for poster in posters {
            let wanted = Demand::Semaphore(poster.semaphore);
            if ahead.suppliers.contains_key(&wanted) {
                ahead.add(wanted, poster.thread);
            }
        }
        ahead
    }

    fn add(&mut self, wanted: Demand, supplier: ThreadId) {
        self.awaited[supplier.index()] = true;
        self.suppliers.entry(wanted).or_default().insert(supplier);
    }

    /// All that is waited for.
    pub(super) fn waited_for(&self) -> impl Iterator<Item = Demand> + '_ {
        self.suppliers.keys().copied()
    }

    /// The threads that supply this, unless it is a lock.
    pub(super) fn suppliers(&self, wanted: Demand) -> impl Iterator<Item = ThreadId> + '_ {
        self.suppliers.get(&wanted).into_iter().flatten().copied()
    }

    fn supplies(&self, thread: ThreadId, wanted: Demand) -> bool {
        self.suppliers.get(&wanted).is_some_and(|suppliers| suppliers.contains(&thread))
    }

    /// Whether a thread supplies something.
    pub(super) fn is_awaited(&self, thread: ThreadId) -> bool {
        self.awaited[thread.index()]
    }
}

#[cfg(test)]
mod tests {
    use generate::hostile::Shape;

    use super::*;

    fn nodes(text: &str) -> usize {
        let trace = trace::text::read(text.as_bytes()).expect("the run can have happened");
        Blocked::of(&Index::new(&trace)).nodes.len()
    }

    #[test]
    fn what_is_part_of_no_cycle_costs_nothing() {
        assert_eq!(nodes(&Shape::NestedLocks.text(300)), 0);
        assert_eq!(nodes(&Shape::Stripes.text(300)), 0);
        assert_eq!(nodes(&Shape::Barrier.text(300)), 0);
        assert_eq!(nodes(&Shape::Broadcast.text(300)), 0);
        // One thread alone takes locks in both orders.
        let both = "A|acq(l)|1\nA|acq(m)|2\nA|rel(m)|3\nA|rel(l)|4\nA|acq(m)|5\nA|acq(l)|6\nA|rel(l)|7\nA|rel(m)|8\n";
        assert_eq!(nodes(both), 0);
    }

    #[test]
    fn what_can_be_part_of_a_cycle_stays() {
        let opposite = "A|acq(l)|1\nA|acq(k)|2\nA|acq(m)|3\nA|rel(m)|4\nA|rel(k)|5\nA|rel(l)|6\n\
                        B|acq(m)|7\nB|acq(l)|8\nB|rel(l)|9\nB|rel(m)|10\n";
        // A waits for m with l, and B for l with m; k is in between, so it is taken for part of the cycle as well.
        assert_eq!(nodes(opposite), 4);
    }
}
