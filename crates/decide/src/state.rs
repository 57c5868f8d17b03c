//! What is known while a question is being decided: the events needed so far, their order, and why.
//!
//! The events needed of a thread are always a prefix of it, so they form a chain of
//! [`order::Chains`]. An edge from x to y means: if y happens, x happens before it. Edges whose
//! source is not needed yet make it needed, and with it all before it in its thread, whose own
//! edges follow: that is the *closure* of the question.
//!
//! Every edge is logged with its reason, so that a contradiction can be explained (`explain.rs`).
//! A state is cloned when a case is decided; there is nothing to undo.

use std::collections::VecDeque;

use check::{Model, Source, Split};
use order::{Chains, Node};
use rustc_hash::FxHashMap;
use trace::{EventId, LockId, Op, SemaphoreId, ThreadId, VariableId};

use crate::ask::Ask;
use crate::setup::Setup;
use crate::uses::{ChainSections, Demand, Held, LockUse, Sections, Seen, SemaphoreUse, VariableUse};

pub(crate) const NONE: u32 = u32::MAX;

/// Where the events considered begin, and what is assumed of those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The first event considered.
    pub(crate) start: EventId,
    pub(crate) before: Before,
}

/// What is assumed of the events before the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// They happen first, as recorded. A schedule found is a schedule of the trace.
    Recorded,
    /// Nothing. A contradiction found is a contradiction of the trace.
    Unknown,
}

/// Why one event comes before another, as compactly as an explanation allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Fork,
    Join,
    Signal,
    Barrier,
    ReadsFrom,
    Asked,
    /// The case taken at this level of the search.
    Decided(u32),
    /// The section of the first is entered before this position of the second's chain.
    Exclusion {
        acquire: Node,
        reached: u32,
    },
    /// The second's section never ends.
    NeverReleased,
    /// The first is a read that sees this (nothing: the initial value), the second overwrites it.
    BeforeOverwrite {
        source: Option<Node>,
    },
    /// The second is what this read sees, the first another write before the read.
    BeforeSource {
        read: Node,
    },
    /// Follows from the events before the window having happened as recorded.
    Recorded,
}

/// An order with its reason.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: Node,
    pub(crate) to: Node,
    pub(crate) why: Why,
}

/// Something impossible.
#[derive(Clone, Debug)]
pub(crate) enum Conflict {
    /// The last logged edge closes a cycle.
    Cycle,
    /// The last logged edge needs an event that its thread is to stop before.
    CannotHappen(Node),
    /// An event the question needs lies where its thread is to stop before.
    NeedCannotHappen(EventId),
    /// The section of `held` must end before `wanted`, but never does. `reached`: see `Why::Exclusion`.
    NeverReleased {
        held: Node,
        wanted: Node,
        reached: Option<u32>,
    },
    /// Two sections that exclude each other are both needed and both never end.
    BothHeld(EventId, EventId),
    NotBlocked(EventId),
    NoPermits(Vec<EventId>),
    PermitsLeft(EventId),
    /// A contradiction with the events before the window.
    WithPrefix,
    /// None: the budget ran out before there was one.
    OutOfBudget,
}

/// The needed events of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub(crate) thread: ThreadId,
    /// How many events of the thread lie before the window.
    pub(crate) floor: u32,
    /// Events at this position and after cannot happen.
    pub(crate) ceiling: u32,
    /// The level of the search that lowered the ceiling; `NONE`: the question or the trace's end.
    pub(crate) ceiling_level: u32,
    /// From which position on events are needed because of which logged edge (`NONE`: the question).
    pub(crate) causes: Vec<(u32, u32)>,
    /// For [`Model::Branch`]: reads not yet followed by a branch, and those followed by one.
    unbranched: Vec<EventId>,
    branched: Vec<EventId>,
    /// What the read at each position must see.
    demands: Vec<Option<Seen>>,
}

/// Everything known so far.
#[derive(Clone)]
pub(crate) struct State<'s> {
    pub(crate) setup: &'s Setup<'s>,
    pub(crate) ask: &'s Ask,
    pub(crate) window: Window,
    pub(crate) order: Chains,
    pub(crate) chains: Vec<Chain>,
    chain_of: Vec<u32>,
    pub(crate) locks: Vec<LockUse>,
    pub(crate) lock_index: FxHashMap<LockId, usize>,
    pub(crate) variables: Vec<VariableUse>,
    pub(crate) variable_index: FxHashMap<VariableId, usize>,
    pub(crate) semaphores: Vec<SemaphoreUse>,
    pub(crate) semaphore_index: FxHashMap<SemaphoreId, usize>,
    pub(crate) log: Vec<Edge>,
    /// Edges whose turn has not come.
    pending: VecDeque<(EventId, Node, Why)>,
    /// Takes decided to come before a post that is not needed yet, and at which level.
    pub(crate) deferred: Vec<(Node, EventId, u32)>,
    /// Work done, and how much may be done.
    pub(crate) steps: u64,
    pub(crate) budget: u64,
}

impl<'s> State<'s> {
    pub(crate) fn new(setup: &'s Setup<'s>, ask: &'s Ask, window: Window, budget: u64) -> Self {
        State {
            setup,
            ask,
            window,
            order: Chains::new(),
            chains: Vec::new(),
            chain_of: vec![NONE; setup.threads.threads()],
            locks: Vec::new(),
            lock_index: FxHashMap::default(),
            variables: Vec::new(),
            variable_index: FxHashMap::default(),
            semaphores: Vec::new(),
            semaphore_index: FxHashMap::default(),
            log: Vec::new(),
            pending: VecDeque::new(),
            deferred: Vec::new(),
            steps: 0,
            budget,
        }
    }

    /// Takes in what the question asks for.
    pub(crate) fn pose(&mut self) -> Result<(), Conflict> {
        if let Some(event) = self.ask.not_blocked {
            return Err(Conflict::NotBlocked(event));
        }
        let ask = self.ask;
        if let Some((first, second)) = ask.both_held {
            return Err(Conflict::BothHeld(first, second));
        }
        for &(thread, count) in &ask.stops {
            let chain = self.chain(thread);
            let chain = &mut self.chains[chain as usize];
            chain.ceiling = chain.ceiling.min(count.saturating_sub(chain.floor));
        }
        for &event in &ask.needs {
            self.need(event)?;
        }
        self.close()?;
        for &(first, second) in &ask.orders {
            let to = self.locate(second);
            self.put_before(first, to, Why::Asked)?;
        }
        Ok(())
    }

    /// The event must happen, because the question says so.
    fn need(&mut self, event: EventId) -> Result<(), Conflict> {
        if event < self.window.start {
            return Ok(());
        }
        let node = self.locate(event);
        if node.position >= self.chains[node.chain as usize].ceiling {
            return Err(Conflict::NeedCannotHappen(event));
        }
        self.extend(node.chain, node.position + 1, NONE);
        Ok(())
    }

    /// Takes a case: the edges it adds are logged as decided at this level.
    pub(crate) fn assume(&mut self, split: Split, first_case: bool, level: u32) -> Result<(), Conflict> {
        let trace = self.setup.trace;
        let why = Why::Decided(level);
        match split {
            Split::Sections(a, b) => {
                let (first, second) = if first_case { (a, b) } else { (b, a) };
                let to = self.locate(second);
                match trace.section_end(first) {
                    Some(release) => self.put_before(release, to, why).map(drop),
                    None => unreachable!("sections that never end are no choice"),
                }
            }
            Split::Overwrite { read, write } => {
                let (first, second) = match (first_case, self.ask.demand(self.setup, read)) {
                    (true, Some(Source::Write(source))) => (write, source),
                    _ => (read, write),
                };
                let to = self.locate(second);
                self.put_before(first, to, why).map(drop)
            }
            Split::Supply { post, take } if first_case => {
                let to = self.locate(take);
                self.put_before(post, to, why).map(drop)
            }
            Split::Supply { post, take } => {
                let to = self.locate(post);
                if self.is_needed(to) {
                    return self.put_before(take, to, why).map(drop);
                }
                let take = self.locate(take);
                self.deferred.push((take, post, level));
                Ok(())
            }
            Split::Happens(event) if first_case => {
                let node = self.locate(event);
                // The event itself stands for the edge that made it needed.
                self.log.push(Edge { from: node, to: node, why });
                self.extend(node.chain, node.position + 1, self.log.len() as u32 - 1);
                Ok(())
            }
            Split::Happens(event) => {
                let node = self.locate(event);
                let chain = &mut self.chains[node.chain as usize];
                if node.position < chain.ceiling {
                    chain.ceiling = node.position;
                    chain.ceiling_level = level;
                }
                Ok(())
            }
            Split::Source(_) => unreachable!("sources are split before the search"),
        }
    }

    /// The chain of a thread.
    pub(crate) fn chain(&mut self, thread: ThreadId) -> u32 {
        let known = self.chain_of[thread.index()];
        if known != NONE {
            return known;
        }
        let events = self.setup.threads.of_thread(thread);
        let floor = events.partition_point(|&event| event < self.window.start);
        let chain = self.order.add_chain();
        self.chain_of[thread.index()] = chain;
        self.chains.push(Chain {
            thread,
            floor: floor as u32,
            ceiling: (events.len() - floor) as u32,
            ceiling_level: NONE,
            causes: Vec::new(),
            unbranched: Vec::new(),
            branched: Vec::new(),
            demands: Vec::new(),
        });
        chain
    }

    /// An event of the window as a node, needed or not.
    #[inline]
    pub(crate) fn locate(&mut self, event: EventId) -> Node {
        debug_assert!(event >= self.window.start);
        let chain = self.chain(self.setup.trace.thread(event));
        let floor = self.chains[chain as usize].floor;
        Node { chain, position: self.setup.threads.place(event) as u32 - floor }
    }

    /// The event at a node.
    #[inline]
    pub(crate) fn event(&self, node: Node) -> EventId {
        let chain = &self.chains[node.chain as usize];
        self.setup.threads.of_thread(chain.thread)[(chain.floor + node.position) as usize]
    }

    #[inline]
    pub(crate) fn is_needed(&self, node: Node) -> bool {
        node.position < self.order.len(node.chain)
    }

    /// Orders an event before a needed one, making it needed. `Ok(false)`: nothing new.
    pub(crate) fn put_before(&mut self, first: EventId, to: Node, why: Why) -> Result<bool, Conflict> {
        self.steps += 1;
        if first < self.window.start {
            return Ok(false);
        }
        let from = self.locate(first);
        if self.is_needed(from) && self.order.precedes(from, to) {
            return Ok(false);
        }
        let index = self.log.len() as u32;
        self.log.push(Edge { from, to, why });
        if from.position >= self.chains[from.chain as usize].ceiling {
            return Err(Conflict::CannotHappen(from));
        }
        self.extend(from.chain, from.position + 1, index);
        self.order.insert(from, to).map_err(|_| Conflict::Cycle)?;
        Ok(true)
    }

    /// Follows every edge whose turn has come, until nothing more is needed.
    pub(crate) fn close(&mut self) -> Result<(), Conflict> {
        while let Some((first, to, why)) = self.pending.pop_front() {
            self.put_before(first, to, why)?;
            if self.steps > self.budget {
                return Err(Conflict::OutOfBudget);
            }
        }
        Ok(())
    }

    /// Makes the events of a chain needed up to a position.
    pub(crate) fn extend(&mut self, chain: u32, upto: u32, cause: u32) {
        let from = self.order.len(chain);
        if upto <= from {
            return;
        }
        self.chains[chain as usize].causes.push((from, cause));
        for _ in from..upto {
            self.steps += 1;
            let node = self.order.push(chain);
            self.register(node);
        }
    }

    /// Notes what a newly needed event does and what it depends on.
    fn register(&mut self, node: Node) {
        let event = self.event(node);
        let trace = self.setup.trace;
        let thread = self.chains[node.chain as usize].thread;
        if node.position == 0
            && self.chains[node.chain as usize].floor == 0
            && let Some(fork) = trace.fork_of(thread)
        {
            self.pending.push_back((fork, node, Why::Fork));
        }
        if self.ask.model == Model::Branch {
            self.demand_branched(node);
        }
        let op = trace.op(event);
        if op.reads().is_some() {
            self.register_read(event, node);
        }
        match op {
            Op::Write(variable) | Op::AtomicWrite(variable) | Op::AtomicUpdate(variable) => {
                let writes = &mut self.variable_use(variable).writes;
                match writes.iter_mut().find(|(chain, _)| *chain == node.chain) {
                    Some((_, positions)) => positions.push(node.position),
                    None => writes.push((node.chain, vec![node.position])),
                }
            }
            Op::Acquire(lock) if !trace.is_nested(event) => self.register_section(lock, event, node, false),
            Op::AcquireShared(lock) if !trace.is_nested(event) => {
                self.register_section(lock, event, node, true);
            }
            Op::Join(_) => self.depends(trace.link(event).event(), node, Why::Join),
            Op::Wait(_) => self.depends(trace.link(event).event(), node, Why::Signal),
            Op::BarrierExit(_) => {
                let instance = trace.barrier_instance(event);
                for &enter in &trace.matching().barrier_instances()[instance.index()].enters {
                    if trace.thread(enter) != thread {
                        self.depends(Some(enter), node, Why::Barrier);
                    }
                }
            }
            Op::Post(semaphore) => {
                self.semaphore_use(semaphore).posts.push(node);
                for index in 0..self.deferred.len() {
                    let (take, post, level) = self.deferred[index];
                    if post == event {
                        self.pending.push_back((self.event(take), node, Why::Decided(level)));
                    }
                }
            }
            Op::Take(semaphore) => self.semaphore_use(semaphore).takes.push(node),
            Op::Branch(count) if count > 0 => {
                let chain = &mut self.chains[node.chain as usize];
                chain.branched.append(&mut chain.unbranched);
            }
            _ => {}
        }
    }

    fn depends(&mut self, first: Option<EventId>, node: Node, why: Why) {
        if let Some(first) = first
            && first >= self.window.start
        {
            self.pending.push_back((first, node, why));
        }
    }

    fn register_read(&mut self, event: EventId, node: Node) {
        let Some(source) = self.ask.demand(self.setup, event) else { return };
        let named = self.ask.source.is_some_and(|(read, _)| read == event);
        if self.ask.model == Model::Branch && !named {
            self.chains[node.chain as usize].unbranched.push(event);
        } else if self.ask.model != Model::Sync || named {
            self.demand(event, node, source);
        }
    }

    /// Under the branch model: this event goes beyond a branch, so the reads before that branch
    /// must see what they saw.
    fn demand_branched(&mut self, node: Node) {
        for read in std::mem::take(&mut self.chains[node.chain as usize].branched) {
            let place = self.setup.threads.place(read) as u32;
            let position = place - self.chains[node.chain as usize].floor;
            if let Some(source) = self.ask.demand(self.setup, read) {
                self.demand(read, Node { chain: node.chain, position }, source);
            }
        }
    }

    fn demand(&mut self, event: EventId, read: Node, source: Source) {
        let Some(variable) = self.setup.trace.op(event).reads() else { return };
        let source = match source {
            Source::Initial => Seen::Initial,
            Source::Write(write) if write < self.window.start => {
                if self.window.before == Before::Unknown {
                    return;
                }
                Seen::Earlier
            }
            Source::Write(write) => {
                self.pending.push_back((write, read, Why::ReadsFrom));
                Seen::Write(self.locate(write))
            }
        };
        let demands = &mut self.chains[read.chain as usize].demands;
        if demands.len() <= read.position as usize {
            demands.resize(read.position as usize + 1, None);
        }
        demands[read.position as usize] = Some(source);
        let uses = self.variable_use(variable);
        uses.demands.push(Demand { read, source });
        match source {
            Seen::Write(write) => *uses.readers.entry(write).or_default() += 1,
            Seen::Initial | Seen::Earlier => uses.first_readers += 1,
        }
    }

    /// What a needed read must see, if anything.
    #[inline]
    pub(crate) fn demanded(&self, read: Node) -> Option<Seen> {
        self.chains[read.chain as usize].demands.get(read.position as usize).copied().flatten()
    }

    fn register_section(&mut self, lock: LockId, event: EventId, node: Node, shared: bool) {
        let floor = self.chains[node.chain as usize].floor;
        let release = self
            .setup
            .trace
            .section_end(event)
            .map_or(NONE, |release| self.setup.threads.place(release) as u32 - floor);
        let held = Held { acquire: node.position, release, shared };
        let sections = &mut self.lock_use(lock).chains;
        let index = match sections.iter().position(|s| s.chain == node.chain) {
            Some(index) => index,
            None => {
                sections.push(ChainSections {
                    chain: node.chain,
                    all: Sections::new(),
                    exclusive: Sections::new(),
                });
                sections.len() - 1
            }
        };
        sections[index].all.push(held);
        if !shared {
            sections[index].exclusive.push(held);
        }
    }

    fn lock_use(&mut self, lock: LockId) -> &mut LockUse {
        let index = *self.lock_index.entry(lock).or_insert_with(|| {
            let (trace, window) = (self.setup.trace, self.window);
            let recorded = window.before == Before::Recorded && window.start > EventId(0);
            let open = recorded.then(|| self.setup.open_sections(lock, window.start));
            let open = open.into_iter().flatten().map(|section| {
                let shared = matches!(trace.op(section.acquire), Op::AcquireShared(_));
                (section.thread, section.release, shared)
            });
            self.locks.push(LockUse { chains: Vec::new(), open: open.collect() });
            self.locks.len() - 1
        });
        &mut self.locks[index]
    }

    fn variable_use(&mut self, variable: VariableId) -> &mut VariableUse {
        let index = *self.variable_index.entry(variable).or_insert_with(|| {
            self.variables.push(VariableUse::default());
            self.variables.len() - 1
        });
        &mut self.variables[index]
    }

    fn semaphore_use(&mut self, semaphore: SemaphoreId) -> &mut SemaphoreUse {
        let index = *self.semaphore_index.entry(semaphore).or_insert_with(|| {
            self.semaphores.push(SemaphoreUse { semaphore, takes: Vec::new(), posts: Vec::new() });
            self.semaphores.len() - 1
        });
        &mut self.semaphores[index]
    }

    /// The permits of a semaphore where the window begins.
    pub(crate) fn permits_at_start(&self, semaphore: SemaphoreId) -> i64 {
        let before = |events: &[EventId]| events.partition_point(|&e| e < self.window.start) as i64;
        i64::from(self.setup.trace.initial_permits(semaphore)) + before(self.setup.posts(semaphore))
            - before(self.setup.takes(semaphore))
    }
}
