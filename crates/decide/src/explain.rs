//! Turns a contradiction into the steps of a [`Refutation`].
//!
//! The log holds every edge with a compact reason. Starting from the contradiction and going backwards, each
//! reason requires the path it relies on (found among the edges logged before it) and the edges that made its
//! events needed. The collected edges, in the order of the log, are the explanation. The search levels they
//! mention are the decisions that the contradiction depends on.

use std::collections::{BTreeSet, VecDeque};

use check::{End, Model, Reason, Refutation, Split, Step};
use order::Node;
use trace::{EventId, Op};

use crate::permits;
use crate::state::{Conflict, NONE, State, Why};

/// A refutation and the decisions it depends on.
#[derive(Debug)]
pub(crate) struct Explanation {
    /// The steps of a scope that assumes those decisions.
    steps: VecDeque<Step>,
    pub(crate) levels: BTreeSet<u32>,
    /// It rests on the events before the window having happened as recorded, so it refutes nothing
    /// but the window.
    pub(crate) recorded: bool,
}

impl Explanation {
    /// Both cases of a split of this state, made at this level, are impossible. That they are all cases
    /// there are rests on the events split upon being needed.
    pub(crate) fn of_split(
        state: &mut State<'_>,
        split: Split,
        first: Explanation,
        second: Explanation,
        level: u32,
    ) -> Self {
        let mut tracer = Tracer::new(state, level);
        tracer.split(split);
        let mut steps = in_turn(first.steps, second.steps);
        steps.push_back(Step::End { end: End::EveryCase });
        steps.push_front(Step::Case { case: 0 });
        steps.push_front(Step::Split { split });
        tracer.trace_back(&mut steps);
        let mut levels = std::mem::take(&mut tracer.levels);
        levels.extend(first.levels.union(&second.levels).copied());
        levels.remove(&level);
        let recorded = tracer.recorded || first.recorded || second.recorded;
        Explanation { steps, levels, recorded }
    }

    /// The refutation, if it depends on no decision.
    pub(crate) fn into_refutation(self) -> Refutation {
        Refutation { steps: self.steps.into() }
    }
}

/// The steps of the first case, then those of the second. The shorter list is moved, so all the steps of a refutation of n
/// steps are moved at most n log n times, however deep its cases are nested.
fn in_turn(mut first: VecDeque<Step>, mut second: VecDeque<Step>) -> VecDeque<Step> {
    second.push_front(Step::Case { case: 1 });
    if first.len() >= second.len() {
        first.append(&mut second);
        return first;
    }
    while let Some(step) = first.pop_back() {
        second.push_front(step);
    }
    second
}

/// Explains a contradiction of a state that is this many splits below the root.
pub(crate) fn explain(state: &mut State<'_>, conflict: &Conflict, depth: u32) -> Explanation {
    let mut tracer = Tracer::new(state, depth);
    let mut steps = VecDeque::from([Step::End { end: tracer.end(conflict) }]);
    tracer.trace_back(&mut steps);
    Explanation { steps, levels: tracer.levels, recorded: tracer.recorded }
}

struct Tracer<'a, 's> {
    state: &'a mut State<'s>,
    /// Logged edges into each chain, by the position they lead to.
    incoming: Vec<Vec<(u32, u32)>>,
    /// Edges to be explained, by their place in the log; a path to each reason once it is.
    wanted: BTreeSet<u32>,
    levels: BTreeSet<u32>,
    recorded: bool,
    depth: u32,
}

impl<'a, 's> Tracer<'a, 's> {
    fn new(state: &'a mut State<'s>, depth: u32) -> Self {
        let mut incoming = vec![Vec::new(); state.chains.len()];
        for (index, edge) in state.log.iter().enumerate() {
            if edge.from != edge.to {
                incoming[edge.to.chain as usize].push((edge.to.position, index as u32));
            }
        }
        for edges in &mut incoming {
            edges.sort_unstable();
        }
        Tracer { state, incoming, wanted: BTreeSet::new(), levels: BTreeSet::new(), recorded: false, depth }
    }

    fn end(&mut self, conflict: &Conflict) -> End {
        let last = self.state.log.len().saturating_sub(1) as u32;
        match conflict {
            Conflict::Cycle(index) => {
                let edge = self.state.log[*index as usize];
                self.wanted.insert(*index);
                End::Cycle(self.path(edge.to, edge.from, self.state.log.len() as u32))
            }
            Conflict::CannotHappen(node) => {
                self.wanted.insert(last);
                self.bounded(node.chain);
                End::CannotHappen(self.state.event(*node))
            }
            Conflict::NeedCannotHappen(event) => End::CannotHappen(*event),
            Conflict::NeverReleased { held, wanted, reached } => {
                self.need(*held, NONE);
                self.need(*wanted, NONE);
                let path = match reached {
                    Some(position) => {
                        let reached = Node { chain: wanted.chain, position: *position };
                        self.path(*held, reached, self.state.log.len() as u32)
                    }
                    None => {
                        self.bounded(wanted.chain);
                        Vec::new()
                    }
                };
                End::NeverReleased { held: self.state.event(*held), wanted: self.state.event(*wanted), path }
            }
            Conflict::BothHeld(held, wanted) => {
                End::NeverReleased { held: *held, wanted: *wanted, path: Vec::new() }
            }
            Conflict::NotBlocked(event) => End::NotBlocked(*event),
            Conflict::NoPermits(takes) => {
                self.recorded |= self.state.window.start > EventId(0);
                self.no_permits(takes);
                End::NoPermits(takes.clone())
            }
            Conflict::PermitsLeft(take) => {
                self.permits_left(*take);
                End::PermitsLeft(*take)
            }
            Conflict::OutOfBudget => unreachable!("not a contradiction"),
            Conflict::WithPrefix => {
                self.recorded = true;
                self.levels.extend(0..self.depth);
                End::Cycle(Vec::new())
            }
        }
    }

    /// The events that make a split exhaustive are needed.
    fn split(&mut self, split: Split) {
        match split {
            Split::Sections(a, b) => {
                let (a, b) = (self.state.locate(a), self.state.locate(b));
                self.need(a, NONE);
                self.need(b, NONE);
            }
            Split::Overwrite { read, .. } => {
                let read = self.state.locate(read);
                self.need_read(read, NONE);
            }
            Split::Supply { take, .. } => {
                let take = self.state.locate(take);
                self.need(take, NONE);
            }
            Split::Happens(_) | Split::Source(_) => {}
        }
    }

    /// Puts everything wanted before these steps, wanting more on the way. A reason rests only on edges
    /// logged before, so going down the log meets each edge once.
    fn trace_back(&mut self, steps: &mut VecDeque<Step>) {
        while let Some(index) = self.wanted.pop_last() {
            let edge = self.state.log[index as usize];
            self.need(edge.to, index);
            match edge.why {
                Why::Decided(level) => {
                    self.levels.insert(level);
                    continue;
                }
                Why::Recorded => {
                    self.recorded = true;
                    self.need(edge.from, index);
                    continue;
                }
                _ => {}
            }
            let because = self.reason(edge.from, edge.to, edge.why, index);
            let before = (self.state.event(edge.from), self.state.event(edge.to));
            steps.push_front(Step::Order { before, because });
        }
    }

    fn reason(&mut self, from: Node, to: Node, why: Why, index: u32) -> Reason {
        match why {
            Why::Fork => Reason::Fork,
            Why::Join => Reason::Join,
            Why::Signal => Reason::Signal,
            Why::Barrier => Reason::Barrier,
            Why::ReadsFrom => {
                self.need_read(to, index);
                Reason::ReadsFrom
            }
            Why::Synchronises => Reason::Synchronises,
            Why::Asked => Reason::Asked,
            Why::Exclusion { acquire, reached } => {
                self.need(acquire, index);
                let path = self.path(acquire, Node { chain: to.chain, position: reached }, index);
                Reason::Exclusion { path }
            }
            Why::NeverReleased => {
                let acquire = self.state.index.trace().section_end(self.state.event(from));
                if let Some(acquire) = acquire.filter(|&acquire| acquire >= self.state.window.start) {
                    let acquire = self.state.locate(acquire);
                    self.need(acquire, index);
                }
                self.bounded(to.chain);
                Reason::NeverReleased
            }
            Why::BeforeOverwrite { source } => {
                self.need_read(from, index);
                let path = source.map_or_else(Vec::new, |source| self.path(source, to, index));
                Reason::BeforeOverwrite { path }
            }
            Why::BeforeSource { read } => {
                self.need_read(read, index);
                Reason::BeforeSource { path: self.path(from, read, index) }
            }
            Why::Decided(_) | Why::Recorded => unreachable!("no steps of their own"),
        }
    }

    /// The edge that made this event needed is part of the explanation, if it was logged before
    /// `limit`; an edge that itself made its source needed does not explain that.
    fn need(&mut self, node: Node, limit: u32) {
        let causes = &self.state.chains[node.chain as usize].causes;
        let index = causes.partition_point(|&(from, _)| from <= node.position);
        let cause = index.checked_sub(1).map_or(NONE, |index| causes[index].1);
        if cause != NONE && cause < limit {
            self.wanted.insert(cause);
        }
    }

    /// A read must see its source; under the branch model, because its thread goes on after a branch.
    fn need_read(&mut self, read: Node, limit: u32) {
        self.need(read, limit);
        let named = self.state.requirements.source.is_some_and(|(named, _)| named == self.state.event(read));
        if self.state.requirements.model != Model::Branch || named {
            return;
        }
        let thread = self.state.chains[read.chain as usize].thread;
        if let Some(branch) = self.state.index.branch_after(thread, read.position)
            && branch + 1 < self.state.order.len(read.chain)
        {
            self.need(Node { chain: read.chain, position: branch + 1 }, limit);
        }
    }

    /// That the events of a chain end where they do may be a decision.
    fn bounded(&mut self, chain: u32) {
        let level = self.state.chains[chain as usize].ceiling_level;
        if level != NONE {
            self.levels.insert(level);
        }
    }

    /// A way from one event to another by program order and edges logged before `limit`, with as few
    /// edges as possible. Its edges become wanted. There must be one.
    fn path(&mut self, from: Node, to: Node, limit: u32) -> Vec<EventId> {
        let mut visits: Vec<(Node, Option<(u32, usize)>)> = vec![(to, None)];
        // Only what comes after `from` can be on the way.
        let after = |chain: usize| {
            let first = self.state.order.first_after(from, chain as u32);
            self.incoming[chain].partition_point(|&(position, _)| position < first)
        };
        let mut scanned: Vec<usize> = (0..self.incoming.len()).map(after).collect();
        let mut queue = VecDeque::from([0usize]);
        while let Some(visit) = queue.pop_front() {
            let (node, _) = visits[visit];
            if node.chain == from.chain && node.position >= from.position {
                return self.walk(from, &visits, visit);
            }
            let edges = &self.incoming[node.chain as usize];
            let scan = &mut scanned[node.chain as usize];
            while let Some(&(position, index)) = edges.get(*scan) {
                if position > node.position {
                    break;
                }
                *scan += 1;
                let source = self.state.log[index as usize].from;
                let on_the_way = match source.chain == from.chain {
                    true => source.position >= from.position,
                    false => self.state.order.precedes(from, source),
                };
                if index < limit && on_the_way {
                    visits.push((source, Some((index, visit))));
                    queue.push_back(visits.len() - 1);
                }
            }
        }
        unreachable!("an order that is known has a path")
    }

    fn walk(&mut self, from: Node, visits: &[(Node, Option<(u32, usize)>)], last: usize) -> Vec<EventId> {
        let mut path = vec![self.state.event(from)];
        let mut extend = |event: EventId| {
            if path.last() != Some(&event) {
                path.push(event);
            }
        };
        let mut at = last;
        while let (_, Some((index, next))) = visits[at] {
            let edge = self.state.log[index as usize];
            extend(self.state.event(edge.from));
            extend(self.state.event(edge.to));
            self.wanted.insert(index);
            at = next;
        }
        extend(self.state.event(visits[at].0));
        path
    }

    /// The takes need more permits than there are: every other post comes after all of them.
    fn no_permits(&mut self, takes: &[EventId]) {
        let limit = self.state.log.len() as u32;
        let takes: Vec<Node> = takes.iter().map(|&take| self.state.locate(take)).collect();
        for &take in &takes {
            self.need(take, NONE);
        }
        let Some(&first) = takes.first() else { return };
        let bounds = self.state.index.bounds();
        let posts = permits::available_posts(self.state, self.state.event(first));
        self.every_bound();
        for post in posts {
            // An explanation that is cut short is of no answer.
            if bounds.are_reached() {
                return;
            }
            if !takes.iter().all(|&take| bounds.are_reached() || permits::comes_after(self.state, take, post))
            {
                continue;
            }
            for &take in takes.iter().take_while(|_| !bounds.are_reached()) {
                self.post_after(take, post, limit);
            }
        }
    }

    fn post_after(&mut self, take: Node, post: Node, limit: u32) {
        let reached = self.state.order.first_after(take, post.chain);
        if reached <= post.position && reached < self.state.order.len(post.chain) {
            let reached = Node { chain: post.chain, position: reached };
            self.need(reached, NONE);
            self.path(take, reached, limit);
            return;
        }
        for index in 0..self.state.deferred.len() {
            let (after, deferred, level) = self.state.deferred[index];
            let deferred = self.state.locate(deferred);
            let relevant = deferred.chain == post.chain && deferred.position <= post.position;
            if relevant && (after == take || self.state.order.precedes(take, after)) {
                self.levels.insert(level);
                if after != take {
                    self.path(take, after, limit);
                }
                return;
            }
        }
    }

    /// No take is left that could empty the semaphore.
    fn permits_left(&mut self, take: EventId) {
        let Op::Take(semaphore) = self.state.index.trace().op(take) else { return };
        let uses = self.state.semaphore_index.get(&semaphore);
        let posts = uses.map_or_else(Vec::new, |&index| self.state.semaphores[index].posts.clone());
        for post in posts {
            self.need(post, NONE);
        }
        self.every_bound();
    }

    fn every_bound(&mut self) {
        for chain in 0..self.state.chains.len() as u32 {
            self.bounded(chain);
        }
    }
}
