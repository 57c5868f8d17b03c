//! Guessing well: run the needed events greedily, always the earliest of the trace that can go.
//!
//! This finds every answer that keeps the order of the recorded synchronisation at once, and after
//! saturation most others. When an acquire has to wait for a section that its thread was not to
//! finish, the guess finishes it. A guess that gets stuck names a choice it depended on, for the
//! search to split on; once no choice is open, a guess cannot get stuck.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use check::Split;
use order::Node;
use trace::{EventId, LockId, Op, SemaphoreId, VariableId};

use crate::permits;
use crate::state::{Before, Conflict, NONE, State};
use crate::uses::Seen;

/// What came of a guess.
pub(crate) enum Guess {
    /// The needed events in an order that answers the question.
    Complete(Vec<EventId>),
    /// It depended on this choice, which is open.
    Stuck(Split),
    /// There is no answer.
    Impossible(Conflict),
}

impl State<'_> {
    /// Looks for an order of the needed events that respects everything known.
    pub(crate) fn linearise(&mut self) -> Guess {
        let mut run = Run::new(self);
        let mut choice = None;
        loop {
            run.go();
            if run.is_complete() {
                break;
            }
            let blocked = run.blocked();
            let choice = *choice.get_or_insert(blocked.choice);
            if !run.finish_section(&blocked) && !run.supply(&blocked) {
                self.steps += run.steps;
                return self.stuck(choice);
            }
        }
        let (schedule, steps) = (run.schedule, run.steps);
        self.steps += steps;
        for &(semaphore, take) in &self.ask.starved {
            if let Some(guess) = self.surplus(semaphore, take, &schedule) {
                // What the guess added of its own may be what is too much.
                return choice.map_or(guess, |choice| self.stuck(choice));
            }
        }
        Guess::Complete(schedule)
    }

    fn stuck(&mut self, choice: Option<Choice>) -> Guess {
        match choice {
            Some(Choice::Between(split)) => Guess::Stuck(split),
            Some(Choice::Permit(take)) => match permits::split(self, take) {
                Ok(split) => Guess::Stuck(split),
                Err(conflict) => Guess::Impossible(conflict),
            },
            None => Guess::Impossible(Conflict::WithPrefix),
        }
    }

    /// A blocked take needs its semaphore empty: if permits are left, more takes must happen.
    fn surplus(&mut self, semaphore: SemaphoreId, take: EventId, schedule: &[EventId]) -> Option<Guess> {
        let trace = self.setup.trace;
        let count = |op| schedule.iter().filter(|&&event| trace.op(event) == op).count() as i64;
        let left = self.permits_at_start(semaphore) + count(Op::Post(semaphore)) - count(Op::Take(semaphore));
        if left == 0 {
            return None;
        }
        let setup = self.setup;
        let more = setup.takes(semaphore).iter().copied().find(|&event| {
            let node = self.locate(event);
            !self.is_needed(node) && node.position < self.chains[node.chain as usize].ceiling
        });
        Some(match more {
            Some(event) => Guess::Stuck(Split::Happens(event)),
            None => Guess::Impossible(Conflict::PermitsLeft(take)),
        })
    }
}

/// A choice that a guess depended on.
#[derive(Clone, Copy)]
enum Choice {
    Between(Split),
    /// Which posts come before this take.
    Permit(EventId),
}

/// Why nothing can go on.
struct Blocked {
    choice: Option<Choice>,
    /// The release of a section that is in the way and was not to be finished.
    release: Option<EventId>,
    take: Option<SemaphoreId>,
}

/// Who holds a lock in a guess: chain and acquire.
#[derive(Clone, Default)]
struct Holders {
    exclusive: Option<(u32, EventId)>,
    shared: Vec<(u32, EventId)>,
}

/// One guess.
struct Run<'a, 's> {
    /// The state guessed about; replaced by a copy of its own once the guess needs more events.
    state: std::borrow::Cow<'a, State<'s>>,
    done: Vec<u32>,
    schedule: Vec<EventId>,
    /// Chains that may go on, by the id of their next event.
    ready: BinaryHeap<Reverse<(EventId, u32)>>,
    parked: Vec<Reverse<(EventId, u32)>>,
    holders: Vec<Holders>,
    values: Vec<Value>,
    permits: Vec<i64>,
    steps: u64,
}

/// The value of a variable in a guess.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Value {
    written: Option<Node>,
    /// Reads that still must see it.
    awaited: u32,
}

impl<'a, 's> Run<'a, 's> {
    fn new(state: &'a State<'s>) -> Self {
        let mut run = Run {
            done: vec![0; state.chains.len()],
            schedule: Vec::new(),
            ready: BinaryHeap::new(),
            parked: Vec::new(),
            holders: Vec::new(),
            values: Vec::new(),
            permits: Vec::new(),
            steps: 0,
            state: std::borrow::Cow::Borrowed(state),
        };
        run.catch_up();
        for chain in 0..run.done.len() as u32 {
            run.enqueue(chain);
        }
        run
    }

    /// Makes room for what the state has learnt to use.
    fn catch_up(&mut self) {
        let state = &*self.state;
        self.done.resize(state.chains.len(), 0);
        for index in self.holders.len()..state.locks.len() {
            let mut holders = Holders::default();
            for &(thread, release, shared) in &state.locks[index].open {
                // A thread without needed events has no chain; it holds the lock all the same. A lock that
                // the guess comes to use late may have been released in it already.
                let chain = state.chains.iter().position(|chain| chain.thread == thread);
                let happened = |chain: usize| state.chains[chain].floor + self.done[chain];
                if let (Some(chain), Some(release)) = (chain, release)
                    && happened(chain) > state.setup.threads.place(release) as u32
                {
                    continue;
                }
                let holder = chain.map_or(NONE, |chain| chain as u32);
                let hold = (holder, release.unwrap_or(EventId(NONE)));
                if shared {
                    holders.shared.push(hold);
                } else {
                    holders.exclusive = Some(hold);
                }
            }
            self.holders.push(holders);
        }
        for index in self.values.len()..state.variables.len() {
            let awaited = awaiting(state, index, None);
            self.values.push(Value { written: None, awaited });
        }
        for index in self.permits.len()..state.semaphores.len() {
            self.permits.push(state.permits_at_start(state.semaphores[index].semaphore));
        }
    }

    fn is_complete(&self) -> bool {
        self.ready.is_empty() && self.parked.is_empty()
    }

    fn next(&self, chain: u32) -> Option<Node> {
        let position = self.done[chain as usize];
        (position < self.state.order.len(chain)).then_some(Node { chain, position })
    }

    fn enqueue(&mut self, chain: u32) {
        if let Some(node) = self.next(chain) {
            self.ready.push(Reverse((self.state.event(node), chain)));
        }
    }

    /// Runs events until none can go on.
    fn go(&mut self) {
        while let Some(Reverse((event, chain))) = self.ready.pop() {
            self.steps += 1;
            let node = Node { chain, position: self.done[chain as usize] };
            if !self.is_free(node) || self.obstacle(event, node).is_some() {
                self.parked.push(Reverse((event, chain)));
                continue;
            }
            self.perform(event, node);
            self.done[chain as usize] += 1;
            self.schedule.push(event);
            self.enqueue(chain);
            self.ready.extend(self.parked.drain(..));
        }
    }

    /// Whether everything known to come before has happened.
    fn is_free(&self, node: Node) -> bool {
        let order = &self.state.order;
        (0..self.done.len() as u32).all(|chain| order.before(node, chain) <= self.done[chain as usize])
    }

    /// What keeps an event from happening now, though all before it has happened.
    fn obstacle(&self, event: EventId, node: Node) -> Option<Obstacle> {
        let trace = self.state.setup.trace;
        match trace.op(event) {
            Op::Acquire(lock) if !trace.is_nested(event) => self.excluding(lock, node.chain, true),
            Op::AcquireShared(lock) if !trace.is_nested(event) => self.excluding(lock, node.chain, false),
            Op::Take(semaphore) => {
                let index = self.state.semaphore_index[&semaphore];
                (self.permits[index] <= 0 && self.counts_permits()).then_some(Obstacle::NoPermit(semaphore))
            }
            op => {
                let read = op.reads().and_then(|variable| self.wrong_value(variable, node));
                read.or_else(|| op.writes().and_then(|variable| self.awaited_value(variable, node)))
            }
        }
    }

    /// Permits are unknown where the events before the window are.
    fn counts_permits(&self) -> bool {
        let window = self.state.window;
        window.start == EventId(0) || window.before == Before::Recorded
    }

    fn excluding(&self, lock: LockId, chain: u32, exclusive: bool) -> Option<Obstacle> {
        let holders = &self.holders[self.state.lock_index[&lock]];
        let shared = holders.shared.iter().filter(|_| exclusive);
        let other = holders.exclusive.iter().chain(shared).find(|(holder, _)| *holder != chain);
        other.map(|&(_, section)| Obstacle::Held(section))
    }

    fn wrong_value(&self, variable: VariableId, node: Node) -> Option<Obstacle> {
        let source = self.state.demanded(node)?;
        let written = self.values[self.state.variable_index[&variable]].written;
        match (source, written) {
            (Seen::Write(source), Some(last)) if source == last => None,
            (Seen::Initial | Seen::Earlier, None) => None,
            (_, Some(last)) => Some(Obstacle::Overwritten { read: node, write: last }),
            (Seen::Write(_), None) => Some(Obstacle::Unwritten),
        }
    }

    fn awaited_value(&self, variable: VariableId, node: Node) -> Option<Obstacle> {
        let index = self.state.variable_index[&variable];
        let value = self.values[index];
        let own = self.state.demanded(node).is_some_and(|source| sees(source, value.written));
        if value.awaited <= u32::from(own) {
            return None;
        }
        let waiting = self.state.variables[index].demands.iter().find(|demand| {
            demand.read != node
                && sees(demand.source, value.written)
                && demand.read.position >= self.done[demand.read.chain as usize]
        });
        waiting.map(|demand| Obstacle::Overwritten { read: demand.read, write: node })
    }

    fn perform(&mut self, event: EventId, node: Node) {
        let trace = self.state.setup.trace;
        let op = trace.op(event);
        match op {
            Op::Acquire(lock) if !trace.is_nested(event) => {
                self.holders[self.state.lock_index[&lock]].exclusive = Some((node.chain, event));
            }
            Op::AcquireShared(lock) if !trace.is_nested(event) => {
                self.holders[self.state.lock_index[&lock]].shared.push((node.chain, event));
            }
            Op::Release(lock) if !trace.is_nested(event) => {
                if let Some(&index) = self.state.lock_index.get(&lock) {
                    self.holders[index].exclusive = None;
                }
            }
            Op::ReleaseShared(lock) if !trace.is_nested(event) => {
                if let Some(&index) = self.state.lock_index.get(&lock) {
                    let shared = &mut self.holders[index].shared;
                    // A section open at the window's start is known by its release.
                    let own = trace.section_end(event);
                    shared.retain(|&(_, section)| Some(section) != own && section != event);
                }
            }
            Op::Take(semaphore) => self.permits[self.state.semaphore_index[&semaphore]] -= 1,
            Op::Post(semaphore) => self.permits[self.state.semaphore_index[&semaphore]] += 1,
            _ => self.access(op, node),
        }
    }

    fn access(&mut self, op: Op, node: Node) {
        let Some(access) = op.access() else { return };
        let demanded = access.reads && self.state.demanded(node).is_some();
        if !demanded && !access.writes {
            return;
        }
        let index = self.state.variable_index[&access.variable];
        if demanded {
            self.values[index].awaited -= 1;
        }
        if access.writes {
            let awaited = awaiting(&self.state, index, Some(node));
            self.values[index] = Value { written: Some(node), awaited };
        }
    }

    /// Finds the choice behind a standstill.
    fn blocked(&self) -> Blocked {
        let trace = self.state.setup.trace;
        let mut blocked = Blocked { choice: None, release: None, take: None };
        let mut parked: Vec<(EventId, u32)> = self.parked.iter().map(|entry| entry.0).collect();
        parked.sort_unstable();
        for (event, chain) in parked {
            let node = Node { chain, position: self.done[chain as usize] };
            if !self.is_free(node) {
                continue;
            }
            match self.obstacle(event, node) {
                Some(Obstacle::Held(section)) => {
                    // Sections open at the window's start are known by their release.
                    let is_acquire = matches!(trace.op(section), Op::Acquire(_) | Op::AcquireShared(_));
                    let choice = is_acquire.then_some(Choice::Between(Split::Sections(event, section)));
                    let release = if is_acquire { trace.section_end(section) } else { Some(section) };
                    let holder = |release: EventId| {
                        let chain = self.state.chains.iter().position(|c| c.thread == trace.thread(release));
                        chain.is_none_or(|chain| self.next(chain as u32).is_none())
                    };
                    let unfinished = release.filter(|&release| holder(release));
                    if blocked.choice.is_none() || (blocked.release.is_none() && unfinished.is_some()) {
                        blocked.choice = choice.or(blocked.choice);
                        blocked.release = unfinished;
                    }
                }
                Some(Obstacle::Overwritten { read, write }) if blocked.choice.is_none() => {
                    let (read, write) = (self.state.event(read), self.state.event(write));
                    blocked.choice = Some(Choice::Between(Split::Overwrite { read, write }));
                }
                Some(Obstacle::NoPermit(semaphore)) => {
                    blocked.take = blocked.take.or(Some(semaphore));
                    blocked.choice = blocked.choice.or(Some(Choice::Permit(event)));
                }
                _ => {}
            }
        }
        blocked
    }

    /// Lets the holder of a section finish it.
    fn finish_section(&mut self, blocked: &Blocked) -> bool {
        blocked.release.is_some_and(|release| self.include(release))
    }

    /// Lets some thread go on to its next post.
    fn supply(&mut self, blocked: &Blocked) -> bool {
        let Some(semaphore) = blocked.take else { return false };
        let setup = self.state.setup;
        let start = self.state.window.start;
        let posts = setup.posts(semaphore);
        let posts = &posts[posts.partition_point(|&post| post < start)..];
        posts.iter().any(|&post| {
            let needed = self.state.chains.iter().any(|c| {
                c.thread == setup.trace.thread(post)
                    && setup.threads.place(post) as u32 - c.floor
                        < self.state.order.len(self.chain_number(c.thread))
            });
            !needed && self.include(post)
        })
    }

    fn chain_number(&self, thread: trace::ThreadId) -> u32 {
        self.state.chains.iter().position(|c| c.thread == thread).map_or(NONE, |index| index as u32)
    }

    /// Makes one more event part of the guess.
    fn include(&mut self, event: EventId) -> bool {
        let mut state = self.state.clone().into_owned();
        let node = state.locate(event);
        if state.is_needed(node) || node.position >= state.chains[node.chain as usize].ceiling {
            return false;
        }
        let known = state.variables.iter().map(|v| v.demands.len()).collect::<Vec<_>>();
        state.extend(node.chain, node.position + 1, NONE);
        if state.close().is_err() || self.demands_too_late(&state, &known) {
            return false;
        }
        self.state = std::borrow::Cow::Owned(state);
        self.await_new_reads(&known);
        self.catch_up();
        self.parked.clear();
        self.ready.clear();
        for chain in 0..self.done.len() as u32 {
            self.enqueue(chain);
        }
        true
    }

    /// Reads with a new demand wait for the values there are; variables that are new are counted when room is made
    /// for them.
    fn await_new_reads(&mut self, known: &[usize]) {
        for (index, (&known, value)) in known.iter().zip(&mut self.values).enumerate() {
            let new = &self.state.variables[index].demands[known..];
            let written = value.written;
            value.awaited += new.iter().filter(|demand| sees(demand.source, written)).count() as u32;
        }
    }

    /// Whether a read that has happened is demanded to see something only now, because its thread goes on (under
    /// the branch model): then it is too late.
    fn demands_too_late(&self, state: &State<'_>, known: &[usize]) -> bool {
        let happened =
            |node: Node| self.done.get(node.chain as usize).is_some_and(|&done| node.position < done);
        state.variables.iter().enumerate().any(|(index, uses)| {
            let new = &uses.demands[known.get(index).copied().unwrap_or(0)..];
            new.iter().any(|demand| happened(demand.read))
        })
    }
}

/// What keeps an event from happening.
enum Obstacle {
    /// A section of its lock is open: its acquire, or its release if it opened before the window.
    Held(EventId),
    /// The read must come before the write, or the write before the read's source.
    Overwritten {
        read: Node,
        write: Node,
    },
    Unwritten,
    NoPermit(SemaphoreId),
}

fn sees(source: Seen, written: Option<Node>) -> bool {
    match source {
        Seen::Write(source) => written == Some(source),
        Seen::Initial | Seen::Earlier => written.is_none(),
    }
}

/// How many needed reads must see this value of a variable.
fn awaiting(state: &State<'_>, variable: usize, written: Option<Node>) -> u32 {
    let uses = &state.variables[variable];
    match written {
        Some(write) => uses.readers.get(&write).copied().unwrap_or(0),
        None => uses.first_readers,
    }
}
