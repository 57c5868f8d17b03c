//! Which waits can be part of a cycle of threads at all, told in linear time.
//!
//! *Resources* are the locks, what lies ahead of each thread, and what else threads wait for. A blocked thread leads from what it holds
//! back, a lock or what lies ahead of it, to what it waits for. A cycle of blocked threads is a cycle of resources, so it
//! lies within one strongly connected component of them; one that leads from and to resources of different components is
//! part of none. A *knot* is a component in which more than one thread waits, and one of them for a lock or a permit.
//!
//! A thread that holds many locks leads from each of them to what it waits for. Here it leads only from the lock that it took last: it
//! took each lock while it held those before, so these lead there already.

use order::Index;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{EventId, LockId, ThreadId};

use super::blocked::{Ahead, Demand, Via};
use super::components::{Edge, components};

/// The components of resources that can have cycles.
#[derive(Debug)]
pub(super) struct Knots {
    resources: Resources,
    /// By resource.
    component: Vec<u32>,
    /// By component.
    is_knot: Vec<bool>,
}

impl Knots {
    pub(super) fn of(index: &Index<'_>, ahead: &Ahead) -> Self {
        let resources = Resources::of(index, ahead);
        let waits = wait_edges(index, ahead, &resources);
        let mut edges: Vec<Edge> = waits.iter().map(|wait| wait.edge).collect();
        for (wanted, &from) in &resources.others {
            let suppliers = ahead.suppliers(*wanted);
            edges.extend(suppliers.map(|thread| Edge { from, to: resources.ahead_of(thread) }));
        }
        let component = components(resources.len(), &edges);
        let is_knot = knots(&resources, &component, &waits);
        Knots { resources, component, is_knot }
    }

    /// The knot of what is wanted, if it is in one.
    pub(super) fn of_wanted(&self, wanted: Demand) -> Option<u32> {
        let component = self.component[self.resources.wanted(wanted) as usize];
        self.is_knot[component as usize].then_some(component)
    }

    /// Whether what a thread holds back in this way is in a knot.
    pub(super) fn has(&self, knot: u32, thread: ThreadId, via: Via) -> bool {
        let resource = match via {
            Via::Lock(hold) => hold.lock.0,
            Via::Ahead => self.resources.ahead_of(thread),
        };
        self.component[resource as usize] == knot
    }
}

/// Numbers of the resources: the locks, then what lies ahead of the threads, then what else is waited for.
#[derive(Debug)]
struct Resources {
    locks: u32,
    threads: u32,
    others: FxHashMap<Demand, u32>,
}

impl Resources {
    fn of(index: &Index<'_>, ahead: &Ahead) -> Self {
        let symbols = index.trace().symbols();
        let (locks, threads) = (symbols.locks.len() as u32, symbols.threads.len() as u32);
        let mut resources = Resources { locks, threads, others: FxHashMap::default() };
        for wanted in ahead.waited_for().filter(|wanted| !matches!(wanted, Demand::Lock(_))) {
            let number = resources.len() as u32;
            resources.others.insert(wanted, number);
        }
        resources
    }

    fn len(&self) -> usize {
        (self.locks + self.threads) as usize + self.others.len()
    }

    fn ahead_of(&self, thread: ThreadId) -> u32 {
        self.locks + thread.0
    }

    fn wanted(&self, wanted: Demand) -> u32 {
        match wanted {
            Demand::Lock(hold) => hold.lock.0,
            other => self.others[&other],
        }
    }
}

/// A thread can be blocked on the way from one resource to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct WaitEdge {
    thread: ThreadId,
    edge: Edge,
    /// It waits for a lock or a permit.
    is_for_lock_or_permit: bool,
}

/// How threads lead from resources to others. Acquires that cannot block count as well: they put locks on top of others.
fn wait_edges(index: &Index<'_>, ahead: &Ahead, resources: &Resources) -> Vec<WaitEdge> {
    let trace = index.trace();
    let mut waits = FxHashSet::default();
    for (event, thread, op) in trace.events() {
        // What is waited for from here on may have no number.
        if index.bounds().are_reached() {
            break;
        }
        let Some(wanted) = Demand::of(trace, event, op) else { continue };
        let to = resources.wanted(wanted);
        let is_for_lock_or_permit = matches!(wanted, Demand::Lock(_) | Demand::Semaphore(_));
        let last = last_lock(index, event, thread).map(|lock| lock.0);
        let own = ahead.is_awaited(thread).then(|| resources.ahead_of(thread));
        for from in last.into_iter().chain(own) {
            waits.insert(WaitEdge { thread, edge: Edge { from, to }, is_for_lock_or_permit });
        }
    }
    waits.into_iter().collect()
}

/// The lock taken last of those that the thread of an event holds when the event is next.
fn last_lock(index: &Index<'_>, event: EventId, thread: ThreadId) -> Option<LockId> {
    let place = index.threads().place(event) as u32;
    index.held_after(thread, place).next().map(|section| section.lock)
}

/// By component: whether several threads wait in it, and one of them for a lock or a permit.
fn knots(resources: &Resources, component: &[u32], waits: &[WaitEdge]) -> Vec<bool> {
    let count = component.iter().max().map_or(0, |&last| last as usize + 1);
    debug_assert_eq!(component.len(), resources.len());
    let mut first: Vec<Option<ThreadId>> = vec![None; count];
    let (mut several, mut opens) = (vec![false; count], vec![false; count]);
    for wait in waits {
        let (from, to) =
            (component[wait.edge.from as usize] as usize, component[wait.edge.to as usize] as usize);
        if from == to {
            several[to] |= *first[to].get_or_insert(wait.thread) != wait.thread;
            opens[to] |= wait.is_for_lock_or_permit;
        }
    }
    several.into_iter().zip(opens).map(|(several, opens)| several && opens).collect()
}
