//! Cycles of places where threads block each other, the short ones first.

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
}

#[derive(Clone, Copy)]
struct PathNode {
    node: u32,
    next: usize,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Go {
    On,
    Stop,
}

impl<'b> Cycles<'b> {
    pub(super) fn new(blocked: &'b Blocked, threads: usize, steps: u64) -> Self {
        let blockers = Blockers::of(blocked);
        Cycles { blocked, blockers, path: Vec::new(), on_path: vec![false; threads], steps }
    }

    /// Shows each cycle to `visit`, from its first node on, until it stops. Whether that was all of them.
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&[u32]) -> Go) -> bool {
        let starts = self.blockers.alive();
        let mut threads: Vec<ThreadId> = starts.iter().map(|&node| self.node(node).thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let mut cycle = Vec::new();
        for length in 2..=threads.len() {
            for &start in &starts {
                if self.each_from(start, length, &mut cycle, visit) == Go::Stop {
                    return false;
                }
            }
        }
        true
    }

    /// Shows each cycle of a length that starts with a node, which is the least of the cycle.
    fn each_from(
        &mut self,
        start: u32,
        length: usize,
        cycle: &mut Vec<u32>,
        visit: &mut dyn FnMut(&[u32]) -> Go,
    ) -> Go {
        self.push(start, start);
        let mut go = Go::On;
        while let Some(&PathNode { node: last, next }) = self.path.last() {
            let found = self.blockers.of_node(last).get(next).copied();
            let Some(next) = found.filter(|_| go == Go::On) else {
                self.pop();
                continue;
            };
            if let Some(last) = self.path.last_mut() {
                last.next += 1;
            }
            if self.steps == 0 {
                go = Go::Stop;
                continue;
            }
            self.steps -= 1;
            if self.on_path[self.node(next).thread.index()] || !self.may_block(last, next) {
                continue;
            }
            self.push(next, start);
            if self.path.len() == length {
                if self.closes() {
                    cycle.clear();
                    cycle.extend(self.path.iter().map(|node| node.node));
                    go = visit(cycle);
                }
                // No blockers of the last one are looked at.
                self.pop();
            }
        }
        go
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

    fn node(&self, node: u32) -> &'b Node {
        &self.blocked.nodes[node as usize]
    }

    fn may_block(&self, a: u32, b: u32) -> bool {
        self.blocked.blocks(self.node(a), self.node(b))
    }

    /// Whether the last waits for the first. What a join, a wait and a barrier wait for came before them in every
    /// schedule, the recorded one too; so one of the cycle waits for a lock or a permit.
    fn closes(&self) -> bool {
        let (first, last) = (self.path[0].node, self.path[self.path.len() - 1].node);
        let opens =
            |place: &PathNode| matches!(self.node(place.node).wanted, Demand::Lock(_) | Demand::Semaphore(_));
        self.may_block(last, first) && self.path.iter().any(opens)
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
    fn of(blocked: &Blocked) -> Self {
        let mut holders: FxHashMap<LockId, Vec<u32>> = FxHashMap::default();
        let mut ahead: FxHashMap<ThreadId, Vec<u32>> = FxHashMap::default();
        for (number, node) in blocked.nodes.iter().enumerate() {
            match node.via {
                Via::Lock(hold) => holders.entry(hold.lock).or_default().push(number as u32),
                Via::Ahead => ahead.entry(node.thread).or_default().push(number as u32),
            }
        }
        let mut numbers: FxHashMap<ListKey, u32> = FxHashMap::default();
        let mut lists = Vec::new();
        let list = blocked.nodes.iter().map(|node| {
            *numbers.entry(ListKey::of(node.wanted)).or_insert_with(|| {
                let mut list = match node.wanted {
                    Demand::Lock(hold) => holders.remove(&hold.lock).unwrap_or_default(),
                    wanted => {
                        let suppliers = blocked.ahead.suppliers(wanted);
                        suppliers.filter_map(|thread| ahead.get(&thread)).flatten().copied().collect()
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
            if !blockers.trim(blocked) {
                break;
            }
        }
        blockers
    }

    /// Those that may block a node, in order, among some that do not.
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

    /// Takes out nodes that block nobody or are blocked by nobody. Whether there were some.
    fn trim(&mut self, blocked: &Blocked) -> bool {
        let nodes = &blocked.nodes;
        let mut alive = vec![false; nodes.len()];
        self.lists.iter().flatten().for_each(|&node| alive[node as usize] = true);
        let mut waiters = vec![Parties::default(); self.lists.len()];
        for (number, node) in nodes.iter().enumerate().filter(|&(number, _)| alive[number]) {
            waiters[self.list[number] as usize].add(node.thread, wants_alone(node));
        }
        let mut holders = vec![Parties::default(); self.lists.len()];
        let mut blocking = vec![false; nodes.len()];
        for (list, members) in self.lists.iter().enumerate() {
            for &number in members {
                let node = &nodes[number as usize];
                holders[list].add(node.thread, holds_alone(node));
                blocking[number as usize] |= waiters[list].has_other(node.thread, holds_alone(node));
            }
        }
        let stays = |number: u32| {
            let node = &nodes[number as usize];
            let holders = &holders[self.list[number as usize] as usize];
            blocking[number as usize] && holders.has_other(node.thread, wants_alone(node))
        };
        let mut changed = false;
        let mut lists = std::mem::take(&mut self.lists);
        for members in &mut lists {
            let before = members.len();
            members.retain(|&number| stays(number));
            changed |= members.len() != before;
        }
        self.lists = lists;
        changed
    }
}

/// What is waited for, in whatever form.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ListKey {
    Lock(LockId),
    Other(Demand),
}

impl ListKey {
    fn of(wanted: Demand) -> Self {
        match wanted {
            Demand::Lock(hold) => ListKey::Lock(hold.lock),
            other => ListKey::Other(other),
        }
    }
}

/// Whether nobody else may have what a node waits for.
fn wants_alone(node: &Node) -> bool {
    !matches!(node.wanted, Demand::Lock(hold) if !hold.exclusive)
}

/// Whether nobody else may have what a node holds back.
fn holds_alone(node: &Node) -> bool {
    !matches!(node.via, Via::Lock(hold) if !hold.exclusive)
}

/// Threads that wait for something, or hold it back.
#[derive(Clone, Copy, Default)]
struct Parties {
    any: SomeThreads,
    alone: SomeThreads,
}

impl Parties {
    fn add(&mut self, thread: ThreadId, alone: bool) {
        self.any.add(thread);
        if alone {
            self.alone.add(thread);
        }
    }

    /// Whether some other thread gets in the way of this one.
    fn has_other(&self, thread: ThreadId, alone: bool) -> bool {
        if alone { self.any.has_other(thread) } else { self.alone.has_other(thread) }
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
