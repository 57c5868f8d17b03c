//! Cycles of places where threads block each other, the short ones first.

use rustc_hash::FxHashMap;
use trace::ThreadId;

use super::blocked::{Blocked, Demand, Via};

/// Walks through all cycles of threads that may block each other.
pub(super) struct Cycles<'b> {
    blocked: &'b Blocked,
    /// For each node, those that may block it.
    blockers: Vec<Vec<u32>>,
    /// The nodes of the current path.
    path: Vec<u32>,
    /// Steps that may still be made.
    steps: u64,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Go {
    On,
    Stop,
}

impl<'b> Cycles<'b> {
    pub(super) fn new(blocked: &'b Blocked, steps: u64) -> Self {
        let mut blockers = blockers(blocked);
        trim(&mut blockers);
        Cycles { blocked, blockers, path: Vec::new(), steps }
    }

    /// Shows each cycle to `visit`, from its first node on, until it stops. Whether that was all of them.
    pub(super) fn each(&mut self, threads: usize, visit: &mut dyn FnMut(&[u32]) -> Go) -> bool {
        if self.blockers.iter().all(Vec::is_empty) {
            return true;
        }
        for length in 2..=threads {
            for start in 0..self.blockers.len() as u32 {
                self.path.clear();
                self.path.push(start);
                if self.extend(length, visit) == Go::Stop {
                    return false;
                }
            }
        }
        true
    }

    fn extend(&mut self, length: usize, visit: &mut dyn FnMut(&[u32]) -> Go) -> Go {
        let (start, last) = (self.path[0], self.path[self.path.len() - 1]);
        for index in 0..self.blockers[last as usize].len() {
            let next = self.blockers[last as usize][index];
            if self.steps == 0 {
                return Go::Stop;
            }
            self.steps -= 1;
            if next <= start || self.has_thread(self.thread(next)) {
                continue;
            }
            self.path.push(next);
            let go = if self.path.len() < length {
                self.extend(length, visit)
            } else if self.closes() {
                visit(&self.path)
            } else {
                Go::On
            };
            self.path.pop();
            if go == Go::Stop {
                return Go::Stop;
            }
        }
        Go::On
    }

    fn thread(&self, node: u32) -> ThreadId {
        self.blocked.nodes[node as usize].thread
    }

    fn has_thread(&self, thread: ThreadId) -> bool {
        self.path.iter().any(|&node| self.thread(node) == thread)
    }

    /// Whether the last waits for the first. What a join, a wait and a barrier wait for came before them in every
    /// schedule, the recorded one too; so one of the cycle waits for a lock or a permit.
    fn closes(&self) -> bool {
        let node = |number: u32| &self.blocked.nodes[number as usize];
        let (first, last) = (node(self.path[0]), node(self.path[self.path.len() - 1]));
        self.blocked.blocks(last, first)
            && self.path.iter().any(|&n| matches!(node(n).wanted, Demand::Lock(_) | Demand::Semaphore(_)))
    }
}

/// For each node, those that may block it.
fn blockers(blocked: &Blocked) -> Vec<Vec<u32>> {
    let mut holders: FxHashMap<_, Vec<u32>> = FxHashMap::default();
    let mut ahead: FxHashMap<ThreadId, Vec<u32>> = FxHashMap::default();
    for (number, node) in blocked.nodes.iter().enumerate() {
        match node.via {
            Via::Lock(hold) => holders.entry(hold.lock).or_default().push(number as u32),
            Via::Ahead => ahead.entry(node.thread).or_default().push(number as u32),
        }
    }
    let of_node = |a: &super::blocked::Node| match a.wanted {
        Demand::Lock(wanted) => holders.get(&wanted.lock).into_iter().flatten().copied().collect(),
        _ => ahead.values().flatten().copied().collect::<Vec<u32>>(),
    };
    let may_block = |a: &super::blocked::Node, b: u32| {
        let b = &blocked.nodes[b as usize];
        a.thread != b.thread && blocked.blocks(a, b)
    };
    let mut all: Vec<Vec<u32>> = Vec::with_capacity(blocked.nodes.len());
    for node in &blocked.nodes {
        let mut own: Vec<u32> = of_node(node);
        own.retain(|&b| may_block(node, b));
        own.sort_unstable();
        all.push(own);
    }
    all
}

/// Takes out nodes that block nobody or are blocked by nobody, until there are none.
fn trim(blockers: &mut [Vec<u32>]) {
    loop {
        let mut blocking = vec![false; blockers.len()];
        blockers.iter().flatten().for_each(|&node| blocking[node as usize] = true);
        let alive: Vec<bool> =
            blockers.iter().zip(&blocking).map(|(own, &blocking)| blocking && !own.is_empty()).collect();
        let mut changed = false;
        for (own, &alive_self) in blockers.iter_mut().zip(&alive) {
            let before = own.len();
            own.retain(|&node| alive_self && alive[node as usize]);
            changed |= own.len() != before;
        }
        if !changed {
            return;
        }
    }
}
