//! The search for all behaviours: a tree of prefixes ([the overview](crate) says why it is complete).

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::doubt::Doubt;
use crate::prefix::Changed;
use crate::route::{self, ChangedEvent, Route, RouteSearch};
use crate::run::{Run, SitePair};
use crate::targets::{Target, TargetLimits, Targets};
use crate::waiting::{Queue, Waiting};

/// How much a search may keep.
#[derive(Clone, Copy, Debug)]
pub struct SearchLimits {
    /// Targets of one run with the same places in the program.
    pub per_pair: u32,
    /// Targets of one run.
    pub per_run: usize,
    /// Targets in all.
    pub targets: usize,
    /// About how many bytes runs and targets may take. What comes later is counted and not kept, so what it leads to is not tried.
    pub memory: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        SearchLimits { per_pair: 2_000, per_run: 20_000, targets: 500_000, memory: 1 << 30 }
    }
}

/// A run to be made.
#[derive(Clone, Debug)]
pub struct Task {
    /// How it starts; then it goes on as it likes.
    pub route: Route,
    /// The places whose events are to meet.
    pub pair: SitePair,
    /// No run has shown the pair, and no task before leads to it.
    pub is_new_pair: bool,
    entry: Waiting,
    /// The route holds only if the changed event does not write.
    is_loose: bool,
}

/// A node of the tree.
#[derive(Debug)]
struct Node {
    /// The node above, and which of its targets this is.
    parent: Option<(usize, u32)>,
    /// A run that contains its prefix.
    run: usize,
    /// How many events of each thread of that run are its prefix.
    kept: Vec<u64>,
    targets: Targets,
}

/// What is known of the behaviours of a program, and what is left to be tried.
#[derive(Debug, Default)]
pub struct Search {
    limits: SearchLimits,
    runs: Vec<Run>,
    classes: FxHashSet<u64>,
    /// How often each pair of places was seen, or tried.
    pairs: FxHashMap<SitePair, u32>,
    nodes: Vec<Node>,
    waiting: Queue,
    doubts: BTreeSet<Doubt>,
    /// Targets that were kept, and the bytes of these and the runs.
    kept_targets: usize,
    kept_memory: usize,
    /// Tasks that were handed out.
    under_way: usize,
}

impl Search {
    /// A search that knows no run.
    pub fn new(limits: SearchLimits) -> Search {
        Search { limits, ..Search::default() }
    }

    /// Takes in a run that was made for another purpose. The first one is where the search starts.
    pub fn learn(&mut self, run: Run) -> Learned {
        let (number, learned) = self.add(run);
        if let (true, Some(number)) = (self.nodes.is_empty(), number) {
            let kept = vec![0; self.runs[number].threads.len()];
            self.expand(None, number, kept, 0);
        }
        learned
    }

    /// How many behaviours were run.
    pub fn behaviours(&self) -> u64 {
        self.classes.len() as u64
    }

    /// The pairs of places that runs have shown, and those that tasks lead to.
    pub fn pairs(&self) -> impl Iterator<Item = SitePair> + '_ {
        self.pairs.keys().copied()
    }

    /// About how many bytes are kept.
    pub fn memory(&self) -> usize {
        self.kept_memory
    }

    /// How many targets are left.
    pub fn left(&self) -> u64 {
        (self.waiting.len() + self.under_way) as u64
    }

    /// Why not every behaviour may have been run, even if no target is left.
    pub fn doubts(&self) -> impl Iterator<Item = Doubt> + '_ {
        self.doubts.iter().copied()
    }

    /// Something outside of the search that makes its answer uncertain.
    pub fn doubt(&mut self, doubt: Doubt) {
        self.doubts.insert(doubt);
    }

    /// Whether every behaviour was run.
    pub fn is_exhausted(&self) -> bool {
        !self.nodes.is_empty() && self.left() == 0 && self.doubts.is_empty()
    }

    /// The next run to be made; none if no target is left. A task that was handed out is to be given back by [`Search::finish`].
    pub fn next_task(&mut self) -> Option<Task> {
        while let Some(entry) = self.waiting.pop(|pair| self.pairs.get(&pair).copied().unwrap_or(0)) {
            if let Some(task) = self.look_at(entry) {
                self.under_way += 1;
                return Some(task);
            }
        }
        None
    }

    /// Looks at a target: the run to be made for it, if it takes one.
    fn look_at(&mut self, entry: Waiting) -> Option<Task> {
        let node = &self.nodes[entry.node];
        let run = &self.runs[node.run];
        let target = &node.targets.all[entry.target as usize];
        let step = &run.steps[target.step as usize];
        let changed = Changed::new(run, node.kept.clone(), step, &target.sources);
        if self.is_of_an_elder(entry, &changed, run) {
            return None;
        }
        if let Some(known) = self.runs.iter().position(|run| target.prefix.is_in(run)) {
            self.enter(entry, known);
            return None;
        }
        let find = |effect| route::find(run, &changed.lengths, step, &target.sources, effect);
        let writes = step.parts.iter().any(|part| part.effect.reads() && part.effect.writes());
        let effects: &[ChangedEvent] = match (step.may_change, writes) {
            (true, _) => &[ChangedEvent::Updates, ChangedEvent::Reads],
            (false, true) => &[ChangedEvent::Updates],
            (false, false) => &[ChangedEvent::Reads],
        };
        let mut gave_up = false;
        for &effect in effects {
            match find(effect) {
                RouteSearch::Found(route) => {
                    let tried = self.pairs.entry(target.pair).or_default();
                    *tried += 1;
                    let is_loose = step.may_change && effect == ChangedEvent::Reads;
                    return Some(Task {
                        route,
                        pair: target.pair,
                        is_new_pair: *tried == 1,
                        entry,
                        is_loose,
                    });
                }
                RouteSearch::None => {}
                RouteSearch::GaveUp => gave_up = true,
            }
        }
        if gave_up {
            self.doubts.insert(Doubt::HardSchedule);
        }
        None
    }

    /// Whether what contains this prefix is the matter of an elder sibling, its own or an ancestor's.
    fn is_of_an_elder(&self, entry: Waiting, changed: &Changed, run: &Run) -> bool {
        let mut at = Some((entry.node, entry.target));
        while let Some((node, target)) = at {
            let node = &self.nodes[node];
            let elder = &node.targets.all[..target as usize];
            if elder.iter().any(|elder| changed.contains(run, &elder.prefix)) {
                return true;
            }
            at = node.parent;
        }
        false
    }

    /// The run of a task was made; none: it left nothing. Whether it is a new behaviour.
    pub fn finish(&mut self, task: &Task, run: Option<Run>) -> Learned {
        self.under_way -= 1;
        let Some(run) = run else {
            self.doubts.insert(Doubt::CutOff);
            return Learned::default();
        };
        let target = &self.nodes[task.entry.node].targets.all[task.entry.target as usize];
        let follows = target.prefix.is_in(&run);
        let (number, learned) = self.add(run);
        match number {
            Some(number) if follows => self.enter(task.entry, number),
            Some(_) if task.is_loose => self.settle_loose(task),
            Some(_) => {
                self.doubts.insert(Doubt::Nondeterministic);
            }
            None => {}
        }
        learned
    }

    /// A run left a route that is one only if the changed event does not write. If it wrote, there is no route for it.
    fn settle_loose(&mut self, task: &Task) {
        let Some(made) = self.runs.last() else { return };
        let node = &self.nodes[task.entry.node];
        let target = &node.targets.all[task.entry.target as usize];
        let run = &self.runs[node.run];
        let event = run.steps[target.step as usize].event;
        let thread = &run.threads[event.thread as usize];
        let same = made.threads.iter().position(|other| other.key == thread.key);
        let step = same.and_then(|number| {
            made.step_of(crate::accesses::EventRef { thread: number as u32, place: event.place })
        });
        let wrote = step.is_some_and(|step| step.parts.iter().any(|part| part.effect.writes()));
        if !wrote {
            self.doubts.insert(Doubt::Nondeterministic);
        }
    }

    /// Makes the node of a target whose prefix this run contains.
    fn enter(&mut self, entry: Waiting, run: usize) {
        let node = &self.nodes[entry.node];
        let (from, to) = (&self.runs[node.run], &self.runs[run]);
        let target = &node.targets.all[entry.target as usize];
        let step = &from.steps[target.step as usize];
        let lengths = Changed::new(from, node.kept.clone(), step, &target.sources).lengths;
        let mut kept = vec![0; to.threads.len()];
        for (thread, length) in from.threads.iter().zip(lengths) {
            if let Some(number) = to.threads.iter().position(|other| other.key == thread.key) {
                kept[number] = length;
            }
        }
        self.expand(Some((entry.node, entry.target)), run, kept, entry.depth + 1);
    }

    fn expand(&mut self, parent: Option<(usize, u32)>, run: usize, kept: Vec<u64>, depth: u32) {
        let room = self.limits.targets.saturating_sub(self.kept_targets);
        let fitting = self.limits.memory.saturating_sub(self.kept_memory) / size_of::<Target>();
        let in_all = self.limits.per_run.min(room).min(fitting);
        let limits = TargetLimits { per_pair: self.limits.per_pair, in_all };
        let targets = Targets::of(&self.runs[run], &kept, limits);
        if targets.is_incomplete {
            self.doubts.insert(Doubt::TooManyTargets);
        }
        self.kept_targets += targets.all.len();
        self.kept_memory += size_of::<Node>() + targets.memory() + targets.all.len() * Waiting::MEMORY;
        let node = self.nodes.len();
        for (target, number) in targets.all.iter().zip(0..) {
            let tried = self.pairs.get(&target.pair).copied().unwrap_or(0);
            self.waiting.push(target.pair, tried, Waiting { depth, node, target: number });
        }
        self.nodes.push(Node { parent, run, kept, targets });
    }

    /// Takes a run in; its number, unless there is no room for it.
    fn add(&mut self, run: Run) -> (Option<usize>, Learned) {
        self.doubts.extend(run.doubts());
        let is_new = self.classes.insert(run.class());
        let mut new_pairs = 0;
        for pair in run.pairs() {
            let seen = self.pairs.entry(pair).or_default();
            new_pairs += u64::from(*seen == 0);
            *seen = (*seen).max(1);
        }
        let learned = Learned { is_new, new_pairs };
        let memory = run.memory();
        if self.kept_memory + memory > self.limits.memory {
            self.doubts.insert(Doubt::TooManyTargets);
            return (None, learned);
        }
        self.kept_memory += memory;
        self.runs.push(run);
        (Some(self.runs.len() - 1), learned)
    }
}

/// What a run added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// No run before was the same behaviour.
    pub is_new: bool,
    /// Pairs of places, one that reads and one that writes, that no run before had.
    pub new_pairs: u64,
}
