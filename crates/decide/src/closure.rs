//! The closure of a question: everything that a needed event depends on is needed as well.
//!
//! Dependencies are collected first and added to the order afterwards, sorted as in the trace. Nearly all of
//! them point forward in the trace (except those a question reverses), so each is an edge to the end of a
//! chain, which is the cheapest kind.

use check::{Model, Source};
use order::{Node, slot};
use trace::{EventId, Op, SemaphoreId};

use crate::state::{Conflict, SemaphoreUse, State, Stretch, Why};
use crate::trail::Undo;

impl State<'_> {
    /// Follows every dependency until nothing more is needed.
    pub(crate) fn close(&mut self) -> Result<(), Conflict> {
        while let Some(stretch) = self.unread.pop_front() {
            for position in stretch.first..stretch.end {
                self.register(Node { chain: stretch.chain, position })?;
            }
            if self.requirements.by_memory_order {
                self.register_synchronisation(stretch)?;
            }
            self.steps += u64::from(stretch.end - stretch.first);
            self.agenda.new.push_back(stretch);
            self.mind_budget()?;
        }
        let mut arrivals = std::mem::take(&mut self.arrivals);
        arrivals.sort_unstable();
        for &(_, index) in &arrivals {
            self.steps += 1;
            self.link(index)?;
            self.mind_budget()?;
        }
        arrivals.clear();
        self.arrivals = arrivals;
        self.mind_budget()
    }

    pub(crate) fn mind_budget(&self) -> Result<(), Conflict> {
        if self.is_over_budget() { Err(Conflict::OutOfBudget) } else { Ok(()) }
    }

    /// Whether the work has cost more than it may.
    #[inline]
    pub(crate) fn is_over_budget(&self) -> bool {
        self.steps > self.budget || self.index.bounds().are_reached()
    }

    /// Finds out what a newly needed event depends on.
    #[inline]
    fn register(&mut self, node: Node) -> Result<(), Conflict> {
        let trace = self.index.trace();
        let thread = self.chains[node.chain as usize].thread;
        let event = self.index.threads().of_thread(thread)[node.position as usize];
        if node.position == 0
            && let Some(fork) = trace.fork_of(thread)
        {
            self.depends(Some(fork), event, node, Why::Fork)?;
        }
        if self.requirements.model == Model::Branch {
            self.bind_branched(node)?;
        }
        let op = trace.op(event);
        if op.reads().is_some() {
            return self.register_read(event, node);
        }
        match op {
            Op::Join(_) => self.depends(trace.link(event).event(), event, node, Why::Join),
            Op::Wait(_) => self.depends(trace.link(event).event(), event, node, Why::Signal),
            Op::BarrierExit(_) => {
                let instance = trace.barrier_instance(event);
                let enters = &trace.matching().barrier_instances()[instance.index()].enters;
                let others = enters.iter().filter(|&&enter| trace.thread(enter) != thread);
                others.copied().try_for_each(|enter| self.depends(Some(enter), event, node, Why::Barrier))
            }
            Op::Post(semaphore) => {
                let index = self.semaphore_use(semaphore);
                self.semaphores[index].posts.push(node);
                self.trail.note(Undo::Post { semaphore: index as u32 });
                let deferred: Vec<_> =
                    self.deferred.iter().copied().filter(|&(_, post, _)| post == event).collect();
                for (take, _, level) in deferred {
                    let index = self.require(take, node, Why::Decided(level))?;
                    self.arrivals.push((event, index));
                }
                Ok(())
            }
            Op::Take(semaphore) => {
                let index = self.semaphore_use(semaphore);
                self.semaphores[index].takes.push(node);
                self.trail.note(Undo::Take { semaphore: index as u32 });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What comes before the events of a stretch because of memory orders.
    fn register_synchronisation(&mut self, stretch: Stretch) -> Result<(), Conflict> {
        let (index, chain) = (self.index, stretch.chain);
        let thread = self.chains[chain as usize].thread;
        let Some(weak) = index.synchronisation() else { return Ok(()) };
        for &(position, first) in weak.between(thread, stretch.first, stretch.end) {
            if first < self.window.start {
                continue;
            }
            let (from, to) = (self.locate(first), Node { chain, position });
            let index = self.require(from, to, Why::Synchronises)?;
            self.arrivals.push((self.event(to), index));
        }
        Ok(())
    }

    fn depends(
        &mut self,
        first: Option<EventId>,
        event: EventId,
        node: Node,
        why: Why,
    ) -> Result<(), Conflict> {
        let Some(first) = first.filter(|&first| first >= self.window.start) else { return Ok(()) };
        let from = self.locate(first);
        if from.chain == node.chain && from.position < node.position {
            return Ok(());
        }
        // Events are registered in program order, but for reads bound late.
        if self.requirements.model != Model::Branch {
            let covered = slot(&mut self.chains[node.chain as usize].covered, from.chain as usize);
            if from.position < *covered {
                return Ok(());
            }
            self.trail.note(Undo::Covered { chain: node.chain, other: from.chain, was: *covered });
            *covered = from.position + 1;
        }
        let index = self.require(from, node, why)?;
        self.arrivals.push((event, index));
        Ok(())
    }

    #[inline]
    fn register_read(&mut self, event: EventId, node: Node) -> Result<(), Conflict> {
        match self.requirements.model {
            _ if self.requirements.source.is_some_and(|(read, _)| read == event) => {
                self.agenda.bound.push(node);
                self.bind(event, node)
            }
            Model::ReadsFrom => self.bind(event, node),
            Model::Branch | Model::Sync => Ok(()),
        }
    }

    /// A read depends on the write it must see.
    fn bind(&mut self, event: EventId, node: Node) -> Result<(), Conflict> {
        match self.requirements.demand(self.index, event) {
            Some(Source::Write(write)) => self.depends(Some(write), event, node, Why::ReadsFrom),
            Some(Source::Initial) | None => Ok(()),
        }
    }

    /// Under the branch model: if this event goes beyond a branch, the reads before that branch must see what they
    /// saw.
    fn bind_branched(&mut self, node: Node) -> Result<(), Conflict> {
        let trace = self.index.trace();
        let chain = &self.chains[node.chain as usize];
        let events = self.index.threads().of_thread(chain.thread);
        let floor = chain.floor;
        let is_branch = |place: u32| matches!(trace.op(events[place as usize]), Op::Branch(1..));
        let Some(branch) = node.position.checked_sub(1).filter(|&place| place >= floor && is_branch(place))
        else {
            return Ok(());
        };
        let stretch = (floor..branch).rev().take_while(|&place| !is_branch(place));
        for position in stretch {
            let (event, read) = (events[position as usize], Node { chain: node.chain, position });
            let named = self.requirements.source.is_some_and(|(read, _)| read == event);
            if trace.op(event).reads().is_some() && !named {
                self.agenda.bound.push(read);
                self.bind(event, read)?;
            }
        }
        Ok(())
    }

    fn semaphore_use(&mut self, semaphore: SemaphoreId) -> usize {
        *self.semaphore_index.entry(semaphore).or_insert_with(|| {
            self.semaphores.push(SemaphoreUse::default());
            self.trail.note(Undo::Semaphore(semaphore));
            self.semaphores.len() - 1
        })
    }
}
