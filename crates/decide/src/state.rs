//! The state of the engine while it decides a question: the events needed so far, their order, and why.
//!
//! The needed events of a thread are always a stretch that begins with the window, so they form a chain of
//! [`order::Chains`]; an event's position in its chain is its place in its thread. An edge from x to y means:
//! if y happens, x happens before it. An edge whose source is not needed yet makes it needed, together with
//! everything before it in its thread and the edges of those events: that is the *closure* of the question
//! (`closure.rs`). The state does not copy what needed events do: the lists of [`Index`] have it, and the
//! state knows how far each thread is needed.
//!
//! Every edge is logged with its reason, so that a contradiction can be explained (`explain.rs`). Once a case
//! has been decided, every change is logged as well, so that the decision can be undone (`trail.rs`).

use std::collections::VecDeque;

use check::{Model, Source, Split};
use order::{Chains, Node};
use rustc_hash::FxHashMap;
use trace::{EventId, SemaphoreId, ThreadId};

use crate::Index;
use crate::agenda::Agenda;
use crate::requirements::Requirements;
use crate::trail::{Trail, Undo};

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
    Synchronises,
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
    /// The logged edge of this number closes a cycle.
    Cycle(u32),
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
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) thread: ThreadId,
    /// Events before this position lie before the window.
    pub(crate) floor: u32,
    /// Events at this position and after cannot happen.
    pub(crate) ceiling: u32,
    /// The level of the search that lowered the ceiling; `NONE`: the question or the trace's end.
    pub(crate) ceiling_level: u32,
    /// From which position on events are needed, and the logged edge that needs them (`NONE`: the question).
    pub(crate) causes: Vec<(u32, u32)>,
    /// How many events of each other chain come before by the dependencies so far.
    pub(crate) covered: Vec<u32>,
}

/// What a needed read must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequiredSource {
    Initial,
    /// A write before the window.
    Earlier,
    Write(EventId),
}

/// The needed events that use a semaphore.
#[derive(Debug, Default)]
pub(crate) struct SemaphoreUse {
    pub(crate) takes: Vec<Node>,
    pub(crate) posts: Vec<Node>,
}

/// A stretch of a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) chain: u32,
    pub(crate) first: u32,
    pub(crate) end: u32,
}

/// Everything known so far.
pub(crate) struct State<'s> {
    pub(crate) index: &'s Index<'s>,
    pub(crate) requirements: &'s Requirements,
    pub(crate) window: Window,
    pub(crate) order: Chains,
    pub(crate) chains: Vec<Chain>,
    pub(crate) chain_of: Vec<u32>,
    pub(crate) semaphores: Vec<SemaphoreUse>,
    pub(crate) semaphore_index: FxHashMap<SemaphoreId, usize>,
    pub(crate) log: Vec<Edge>,
    /// Needed events whose dependencies are not known yet.
    pub(crate) unread: VecDeque<Stretch>,
    /// Dependencies of needed events that are not in the order yet: the events that have them, and the logged edges.
    pub(crate) arrivals: Vec<(EventId, u32)>,
    /// What the rules have yet to look at.
    pub(crate) agenda: Agenda,
    /// Takes decided to come before a post that is not needed yet, and at which level.
    pub(crate) deferred: Vec<(Node, EventId, u32)>,
    /// How to go back on decisions.
    pub(crate) trail: Trail,
    /// Work done, and how much may be done.
    pub(crate) steps: u64,
    pub(crate) budget: u64,
}

impl<'s> State<'s> {
    pub(crate) fn new(
        index: &'s Index<'s>,
        requirements: &'s Requirements,
        window: Window,
        budget: u64,
    ) -> Self {
        State {
            index,
            requirements,
            window,
            order: Chains::new(),
            chains: Vec::new(),
            chain_of: vec![NONE; index.threads().threads()],
            semaphores: Vec::new(),
            semaphore_index: FxHashMap::default(),
            log: Vec::new(),
            unread: VecDeque::new(),
            arrivals: Vec::new(),
            agenda: Agenda::default(),
            deferred: Vec::new(),
            trail: Trail::default(),
            steps: 0,
            budget,
        }
    }

    /// Takes in what the question asks for.
    pub(crate) fn pose(&mut self) -> Result<(), Conflict> {
        if let Some(event) = self.requirements.not_blocked {
            return Err(Conflict::NotBlocked(event));
        }
        let requirements = self.requirements;
        if let Some((first, second)) = requirements.both_held {
            return Err(Conflict::BothHeld(first, second));
        }
        for &(thread, count) in &requirements.stops {
            let chain = self.chain(thread);
            let chain = &mut self.chains[chain as usize];
            chain.ceiling = chain.ceiling.min(count);
        }
        for &event in &requirements.needs {
            self.need(event)?;
        }
        self.close()?;
        for &(first, second) in &requirements.orders {
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
        let trace = self.index.trace();
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
                let (first, second) = match (first_case, self.requirements.demand(self.index, read)) {
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
                self.close()
            }
            Split::Happens(event) => {
                let node = self.locate(event);
                let chain = &mut self.chains[node.chain as usize];
                if node.position < chain.ceiling {
                    let (was, before) = (chain.ceiling, chain.ceiling_level);
                    self.trail.note(Undo::Ceiling { chain: node.chain, was, level: before });
                    chain.ceiling = node.position;
                    chain.ceiling_level = level;
                    self.look_at_everything();
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
        let events = self.index.threads().of_thread(thread);
        let floor = events.partition_point(|&event| event < self.window.start) as u32;
        let chain = self.order.add_chain();
        self.order.grow(chain, floor);
        self.chain_of[thread.index()] = chain;
        self.chains.push(Chain {
            thread,
            floor,
            ceiling: events.len() as u32,
            ceiling_level: NONE,
            causes: Vec::new(),
            covered: Vec::new(),
        });
        self.trail.note(Undo::Chain);
        chain
    }

    /// An event of the window as a node, needed or not.
    #[inline]
    pub(crate) fn locate(&mut self, event: EventId) -> Node {
        debug_assert!(event >= self.window.start);
        let chain = self.chain(self.index.trace().thread(event));
        Node { chain, position: self.index.threads().place(event) as u32 }
    }

    /// The event at a node.
    #[inline]
    pub(crate) fn event(&self, node: Node) -> EventId {
        self.index.threads().of_thread(self.chains[node.chain as usize].thread)[node.position as usize]
    }

    /// The node of an event, if it is needed.
    #[inline]
    pub(crate) fn needed(&self, event: EventId) -> Option<Node> {
        let chain = self.chain_of[self.index.trace().thread(event).index()];
        let position = self.index.threads().place(event) as u32;
        (chain != NONE && event >= self.window.start && position < self.order.len(chain))
            .then_some(Node { chain, position })
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
        let index = self.require(from, to, why)?;
        self.close()?;
        self.link(index)?;
        Ok(true)
    }

    /// Logs an edge and makes its source needed.
    pub(crate) fn require(&mut self, from: Node, to: Node, why: Why) -> Result<u32, Conflict> {
        let index = self.log.len() as u32;
        self.log.push(Edge { from, to, why });
        if from.position >= self.chains[from.chain as usize].ceiling {
            return Err(Conflict::CannotHappen(from));
        }
        self.extend(from.chain, from.position + 1, index);
        Ok(index)
    }

    /// Takes a logged edge into the order.
    pub(crate) fn link(&mut self, index: u32) -> Result<(), Conflict> {
        let Edge { from, to, .. } = self.log[index as usize];
        self.order.insert(from, to).map_err(|_| Conflict::Cycle(index))?;
        self.agenda.note(self.order.raised());
        Ok(())
    }

    /// Makes the events of a chain needed up to a position.
    pub(crate) fn extend(&mut self, chain: u32, upto: u32, cause: u32) {
        let from = self.order.len(chain);
        if upto <= from {
            return;
        }
        self.chains[chain as usize].causes.push((from, cause));
        self.trail.note(Undo::Extend { chain });
        self.order.grow(chain, upto);
        self.unread.push_back(Stretch { chain, first: from, end: upto });
    }

    /// What a needed read must see, if anything.
    #[inline]
    pub(crate) fn required_source(&self, event: EventId, node: Node) -> Option<RequiredSource> {
        let source = self.requirements.demand(self.index, event)?;
        let named = self.requirements.source.is_some_and(|(read, _)| read == event);
        if self.requirements.model == Model::Branch && !named && !self.goes_beyond_branch(node) {
            return None;
        }
        match source {
            Source::Initial => Some(RequiredSource::Initial),
            Source::Write(write) if write >= self.window.start => Some(RequiredSource::Write(write)),
            Source::Write(_) => (self.window.before == Before::Recorded).then_some(RequiredSource::Earlier),
        }
    }

    /// Whether the needed events of a thread go beyond a branch after this one.
    fn goes_beyond_branch(&self, node: Node) -> bool {
        let thread = self.chains[node.chain as usize].thread;
        let branch = self.index.branch_after(thread, node.position);
        branch.is_some_and(|branch| branch + 1 < self.order.len(node.chain))
    }

    /// The needed reads that must see a write.
    pub(crate) fn readers(&self, write: EventId) -> impl Iterator<Item = Node> + '_ {
        let named = self
            .requirements
            .source
            .filter(|&(_, source)| source == Source::Write(write))
            .map(|(read, _)| read);
        let reads = self.index.readers().of_write(write).chain(named);
        reads.filter_map(move |read| {
            let node = self.needed(read)?;
            (self.required_source(read, node) == Some(RequiredSource::Write(write))).then_some(node)
        })
    }

    /// The needed reads of a variable that must see the value it has where the window begins, or initially.
    pub(crate) fn first_readers(
        &self,
        variable: trace::VariableId,
    ) -> impl Iterator<Item = (Node, RequiredSource)> + '_ {
        let (trace, start) = (self.index.trace(), self.window.start);
        let reads = self.index.reads_since(variable, start).iter().copied();
        let first = reads.take_while(move |&read| trace.reads_from(read).is_none_or(|write| write < start));
        let named = self
            .requirements
            .source
            .map(|(read, _)| read)
            .filter(|&read| trace.op(read).reads() == Some(variable));
        first.chain(named).filter_map(move |read| {
            let node = self.needed(read)?;
            match self.required_source(read, node)? {
                RequiredSource::Write(_) => None,
                seen => Some((node, seen)),
            }
        })
    }

    /// The permits of a semaphore where the window begins.
    pub(crate) fn permits_at_start(&self, semaphore: SemaphoreId) -> i64 {
        let before = |events: &[EventId]| events.partition_point(|&e| e < self.window.start) as i64;
        i64::from(self.index.trace().initial_permits(semaphore)) + before(self.index.posts(semaphore))
            - before(self.index.takes(semaphore))
    }
}
