//! Cycles of places where threads block each other, the short ones first.

use bounds::Bounds;
use rustc_hash::FxHashMap;
use trace::{LockId, ThreadId};

use super::blocked::{Blocked, Demand, Node, Via};

/// Walks through all cycles of threads that may block each other.
pub(super) struct Cycles<'b> {
    blocked: &'b Blocked,
    blockers: Blockers,
    /// The nodes of the current path, each with the index of the next of its blockers to look at.
    path: Vec<PathNode>,
    /// By thread: whether it has a node on the path.
    on_path: Vec<bool>,
    /// Steps that may still be made.
    steps: u64,
    bounds: Bounds,
}

#[derive(Clone, Copy)]
struct PathNode {
    node: u32,
    next: usize,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    Continue,
    Stop,
}

impl<'b> Cycles<'b> {
    pub(super) fn new(blocked: &'b Blocked, threads: usize, steps: u64, bounds: Bounds) -> Self {
        let blockers = Blockers::of(blocked, bounds);
        Cycles { blocked, blockers, path: Vec::new(), on_path: vec![false; threads], steps, bounds }
    }

    /// Shows each cycle to `visit`, from its first node on, until it stops or the bounds of the work are reached. Whether that was all
    /// of them.
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&[u32]) -> Visit) -> bool {
        let starts = self.blockers.alive();
        let mut threads: Vec<ThreadId> = starts.iter().map(|&node| self.node(node).thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let mut cycle = Vec::new();
        for length in 2..=threads.len() {
            for &start in &starts {
                if self.each_from(start, length, &mut cycle, visit) == Visit::Stop {
                    return false;
                }
            }
        }
        !self.bounds.are_reached()
    }

    /// Shows each cycle of a length that starts with a node, which is the least of the cycle.
    fn each_from(
        &mut self,
        start: u32,
        length: usize,
        cycle: &mut Vec<u32>,
        visit: &mut dyn FnMut(&[u32]) -> Visit,
    ) -> Visit {
        if self.bounds.are_reached() {
            return Visit::Stop;
        }
        self.push(start, start);
        while let Some(&PathNode { node: last, next }) = self.path.last() {
            if self.path.len() + 1 == length {
                if self.each_end(last, next, cycle, visit) == Visit::Stop {
                    self.clear();
                    return Visit::Stop;
                }
                self.pop();
                continue;
            }
            let Some(&next) = self.blockers.of_node(last).get(next) else {
                self.pop();
                continue;
            };
            if let Some(last) = self.path.last_mut() {
                last.next += 1;
            }
            if self.steps == 0 || self.bounds.are_reached() {
                self.clear();
                return Visit::Stop;
            }
            self.steps -= 1;
            if !self.on_path[self.node(next).thread.index()] {
                self.push(next, start);
            }
        }
        Visit::Continue
    }

    /// Shows each cycle that one more node makes of the path: one that blocks `last` and is blocked by the first. The blockers of
    /// `last` are looked at from `next` on.
    fn each_end(
        &mut self,
        last: u32,
        next: usize,
        cycle: &mut Vec<u32>,
        visit: &mut dyn FnMut(&[u32]) -> Visit,
    ) -> Visit {
        if self.bounds.are_reached() {
            return Visit::Stop;
        }
        let ends = &self.blockers.of_node(last)[next..];
        let within = ends.len().min(self.steps as usize);
        self.steps -= within as u64;
        for &end in &ends[..within] {
            if self.on_path[self.node(end).thread.index()] || !self.closes(end) {
                continue;
            }
            cycle.clear();
            cycle.extend(self.path.iter().map(|node| node.node));
            cycle.push(end);
            if visit(cycle) == Visit::Stop {
                return Visit::Stop;
            }
        }
        if within < ends.len() { Visit::Stop } else { Visit::Continue }
    }

    /// Adds a node to the path. Only nodes after the start are to follow it.
    fn push(&mut self, node: u32, start: u32) {
        let thread = self.node(node).thread;
        self.on_path[thread.index()] = true;
        let next = self.blockers.of_node(node).partition_point(|&blocker| blocker <= start);
        self.path.push(PathNode { node, next });
    }

    fn pop(&mut self) {
        if let Some(PathNode { node, .. }) = self.path.pop() {
            let thread = self.node(node).thread;
            self.on_path[thread.index()] = false;
        }
    }

    fn clear(&mut self) {
        while !self.path.is_empty() {
            self.pop();
        }
    }

    fn node(&self, node: u32) -> &'b Node {
        &self.blocked.nodes[node as usize]
    }

    /// Whether a node that waits for the first ends a cycle. What a join, a wait and a barrier wait for came before them in every
    /// schedule, the recorded one too; so one of the cycle waits for a lock or a permit.
    fn closes(&self, end: u32) -> bool {
        let opens = |node: u32| matches!(self.node(node).wanted, Demand::Lock(_) | Demand::Semaphore(_));
        self.blocked.blocks(self.node(end), self.node(self.path[0].node))
            && (opens(end) || self.path.iter().any(|place| opens(place.node)))
    }
}

/// For each node, those that may block it: as lists by what is waited for, which many nodes share.
struct Blockers {
    /// By node, its list.
    list: Vec<u32>,
    lists: Vec<Vec<u32>>,
}

/// How often nodes are looked at to leave some out. Each round leaves out those next to the ones before; more rounds find little.
const ROUNDS: usize = 16;

impl Blockers {
    /// Those of all nodes; where the bounds of the work are reached, only some of them.
    fn of(blocked: &Blocked, bounds: Bounds) -> Self {
        let mut holders: FxHashMap<LockId, Vec<u32>> = FxHashMap::default();
        let mut ahead: FxHashMap<ThreadId, Vec<u32>> = FxHashMap::default();
        for (number, node) in blocked.nodes.iter().enumerate() {
            match node.via {
                Via::Lock(hold) => holders.entry(hold.lock).or_default().push(number as u32),
                Via::Ahead => ahead.entry(node.thread).or_default().push(number as u32),
            }
        }
        let mut numbers: FxHashMap<Demand, u32> = FxHashMap::default();
        let mut lists = Vec::new();
        let list = blocked.nodes.iter().map(|node| {
            *numbers.entry(node.wanted).or_insert_with(|| {
                let mut list: Vec<u32> = match node.wanted {
                    Demand::Lock(wanted) => {
                        let holders = holders.get(&wanted.lock).into_iter().flatten().copied();
                        holders
                            .take_while(|_| !bounds.are_reached())
                            .filter(|&holder| blocked.blocks(node, &blocked.nodes[holder as usize]))
                            .collect()
                    }
                    wanted => {
                        let suppliers = blocked.ahead.suppliers(wanted);
                        let nodes = suppliers.filter_map(|thread| ahead.get(&thread)).flatten().copied();
                        nodes.take_while(|_| !bounds.are_reached()).collect()
                    }
                };
                list.sort_unstable();
                lists.push(list);
                lists.len() as u32 - 1
            })
        });
        let list = list.collect();
        let mut blockers = Blockers { list, lists };
        for _ in 0..ROUNDS {
            if bounds.are_reached() || !blockers.trim(blocked, bounds) {
                break;
            }
        }
        blockers
    }

    /// Those that may block a node, in order, and others of its own thread.
    fn of_node(&self, node: u32) -> &[u32] {
        &self.lists[self.list[node as usize] as usize]
    }

    /// All nodes that block some other, in order.
    fn alive(&self) -> Vec<u32> {
        let mut alive: Vec<u32> = self.lists.iter().flatten().copied().collect();
        alive.sort_unstable();
        alive.dedup();
        alive
    }

    /// Takes out nodes that block nobody or are blocked by nobody, unless the bounds of the work are reached. Whether there were some.
    fn trim(&mut self, blocked: &Blocked, bounds: Bounds) -> bool {
        let nodes = &blocked.nodes;
        let mut alive = vec![false; nodes.len()];
        self.lists.iter().flatten().for_each(|&node| alive[node as usize] = true);
        let mut waiters = vec![SomeThreads::default(); self.lists.len()];
        for (number, node) in nodes.iter().enumerate().filter(|&(number, _)| alive[number]) {
            waiters[self.list[number] as usize].add(node.thread);
        }
        let mut holders = vec![SomeThreads::default(); self.lists.len()];
        let mut blocking = vec![false; nodes.len()];
        for (list, members) in self.lists.iter().enumerate() {
            if bounds.are_reached() {
                return false;
            }
            for &number in members {
                let thread = nodes[number as usize].thread;
                holders[list].add(thread);
                blocking[number as usize] |= waiters[list].has_other(thread);
            }
        }
        let stays = |number: u32| {
            let holders = &holders[self.list[number as usize] as usize];
            blocking[number as usize] && holders.has_other(nodes[number as usize].thread)
        };
        let mut changed = false;
        let mut lists = std::mem::take(&mut self.lists);
        for members in lists.iter_mut().take_while(|_| !bounds.are_reached()) {
            let before = members.len();
            members.retain(|&number| stays(number));
            changed |= members.len() != before;
        }
        self.lists = lists;
        changed
    }
}

/// As much of a set of threads as tells whether it has one besides a given one.
#[derive(Clone, Copy, Default)]
struct SomeThreads {
    first: Option<ThreadId>,
    several: bool,
}

impl SomeThreads {
    fn add(&mut self, thread: ThreadId) {
        self.several |= *self.first.get_or_insert(thread) != thread;
    }

    fn has_other(&self, thread: ThreadId) -> bool {
        self.several || self.first.is_some_and(|first| first != thread)
    }
}
