//! The guess: run the needed events greedily, always the earliest event of the trace that can run.
//!
//! This immediately finds every answer that keeps the recorded order of synchronisation, and after saturation
//! most others. When an acquire has to wait for a section that is not needed to its end, the guess finishes
//! that section. A guess that gets stuck names a choice it depended on, for the search to split on. Once no
//! choice is open, a guess cannot get stuck.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use check::{Model, Split};
use order::Node;
use rustc_hash::FxHashMap;
use trace::{EventId, LockId, Op, SemaphoreId, ThreadId, VariableId};

use crate::permits;
use crate::progress::Progress;
use crate::state::{Before, Conflict, NONE, RequiredSource, State};

/// The result of a guess.
pub(crate) enum Guess {
    /// The needed events in an order that answers the question.
    Complete(Vec<EventId>),
    /// It depended on this choice, which is open.
    NeedsSplit(Split),
    /// There is no answer.
    Impossible(Conflict),
}

/// The last writes of variables in a guess, in room that all guesses about a trace share.
#[derive(Debug)]
pub(crate) struct Values {
    guess: u32,
    /// For each variable the latest guess that wrote it, and which event did.
    written: Vec<(u32, EventId)>,
}

impl Values {
    pub(crate) fn new(variables: usize) -> Self {
        Values { guess: 0, written: vec![(0, EventId(0)); variables] }
    }

    fn forget(&mut self) {
        self.guess += 1;
    }

    #[inline]
    fn get(&self, variable: VariableId) -> Option<EventId> {
        let (guess, event) = self.written[variable.index()];
        (guess == self.guess).then_some(event)
    }

    #[inline]
    fn set(&mut self, variable: VariableId, event: EventId) {
        self.written[variable.index()] = (self.guess, event);
    }
}

impl State<'_> {
    /// Looks for an order of the needed events that respects everything known.
    pub(crate) fn linearise(&mut self, values: &mut Values) -> Guess {
        let before = self.mark();
        let mut run = Run::new(self, values);
        let mut choice = None;
        let is_complete = loop {
            run.go();
            if run.is_out_of_bounds() {
                break false;
            }
            if run.is_complete() {
                break true;
            }
            let blocked = run.blocked();
            choice.get_or_insert(blocked.choice);
            if run.is_over_budget() || (!run.finish_section(&blocked) && !run.supply(&blocked)) {
                break false;
            }
        };
        let (schedule, steps) = (run.schedule, run.steps);
        // What the guess made needed of its own is not known to be.
        self.undo_to(before);
        self.steps += steps;
        if self.index.bounds().are_reached() {
            return Guess::Impossible(Conflict::OutOfBudget);
        }
        if !is_complete {
            return self.stuck(choice.flatten());
        }
        for &(semaphore, take) in &self.requirements.starved {
            if let Some(guess) = self.surplus(semaphore, take, &schedule) {
                // What the guess added of its own may be what is too much.
                return choice.map_or(guess, |choice| self.stuck(choice));
            }
        }
        Guess::Complete(schedule)
    }

    fn stuck(&mut self, choice: Option<Choice>) -> Guess {
        match choice {
            Some(Choice::Between(split)) => Guess::NeedsSplit(split),
            Some(Choice::Permit(take)) => match permits::split(self, take) {
                Ok(split) => Guess::NeedsSplit(split),
                Err(conflict) => Guess::Impossible(conflict),
            },
            None => Guess::Impossible(Conflict::WithPrefix),
        }
    }

    /// A blocked take needs its semaphore empty: if permits are left, more takes must happen.
    fn surplus(&mut self, semaphore: SemaphoreId, take: EventId, schedule: &[EventId]) -> Option<Guess> {
        let trace = self.index.trace();
        let count = |op| schedule.iter().filter(|&&event| trace.op(event) == op).count() as i64;
        let left = self.permits_at_start(semaphore) + count(Op::Post(semaphore)) - count(Op::Take(semaphore));
        if left == 0 {
            return None;
        }
        let index = self.index;
        let more = index.takes(semaphore).iter().copied().find(|&event| {
            let node = self.locate(event);
            !self.is_needed(node) && node.position < self.chains[node.chain as usize].ceiling
        });
        Some(match more {
            Some(event) => Guess::NeedsSplit(Split::Happens(event)),
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

/// Who holds a lock in a guess, and by which section: its acquire, or its release if it opened before the window.
#[derive(Clone, Default)]
struct Holders {
    exclusive: Option<(ThreadId, EventId)>,
    shared: Vec<(ThreadId, EventId)>,
}

/// One guess.
struct Run<'a, 's> {
    /// The state guessed about. The guess may make more events needed.
    state: &'a mut State<'s>,
    progress: Progress,
    schedule: Vec<EventId>,
    /// Chains that may go on, by the id of their next event.
    ready: BinaryHeap<Reverse<(EventId, u32)>>,
    /// Chains that wait for permits.
    starving: Vec<u32>,
    holders: FxHashMap<LockId, Holders>,
    permits: FxHashMap<SemaphoreId, i64>,
    values: &'a mut Values,
    steps: u64,
}

impl<'a, 's> Run<'a, 's> {
    fn new(state: &'a mut State<'s>, values: &'a mut Values) -> Self {
        values.forget();
        let mut run = Run {
            progress: Progress::new(state),
            schedule: Vec::new(),
            ready: BinaryHeap::new(),
            starving: Vec::new(),
            holders: FxHashMap::default(),
            permits: FxHashMap::default(),
            values,
            steps: 0,
            state,
        };
        run.enqueue_all();
        run
    }

    fn enqueue_all(&mut self) {
        self.ready.clear();
        self.starving.clear();
        for chain in 0..self.state.chains.len() as u32 {
            if let Some(node) = self.next(chain) {
                self.ready.push(Reverse((self.state.event(node), chain)));
            }
        }
    }

    fn is_complete(&self) -> bool {
        (0..self.state.chains.len() as u32).all(|chain| self.next(chain).is_none())
    }

    fn next(&self, chain: u32) -> Option<Node> {
        let position = self.progress.done(chain);
        (position < self.state.order.len(chain)).then_some(Node { chain, position })
    }

    /// Runs events until none can go on.
    fn go(&mut self) {
        while let Some(Reverse((event, chain))) = self.ready.pop() {
            if self.is_out_of_bounds() {
                return;
            }
            self.go_on(event, chain);
        }
    }

    /// Runs a chain while its next event can happen and is the earliest of those that may.
    fn go_on(&mut self, mut event: EventId, chain: u32) {
        loop {
            self.steps += 1;
            let node = Node { chain, position: self.progress.done(chain) };
            if self.progress.must_wait(self.state, node) || self.is_hindered(event, node) {
                return;
            }
            self.perform(event, node);
            self.schedule.push(event);
            self.progress.advance(chain);
            while let Some(woken) = self.progress.next_woken() {
                let node = Node { chain: woken, position: self.progress.done(woken) };
                self.ready.push(Reverse((self.state.event(node), woken)));
            }
            let Some(node) = self.next(chain) else { return };
            event = self.state.event(node);
            if self.ready.peek().is_some_and(|&Reverse((earliest, _))| earliest < event) {
                self.ready.push(Reverse((event, chain)));
                return;
            }
        }
    }

    /// Whether something keeps an event from happening now; its chain then waits for that to change.
    fn is_hindered(&mut self, event: EventId, node: Node) -> bool {
        match self.obstacle(event, node) {
            None => return false,
            Some(Obstacle::Held(section)) => {
                let trace = self.state.index.trace();
                let release = match section {
                    EventId(NONE) => None,
                    acquire if is_acquire(trace.op(acquire)) => trace.section_end(acquire),
                    release => Some(release),
                };
                if let Some(release) = release.and_then(|release| self.state.needed(release)) {
                    self.progress.wait(node.chain, release);
                }
            }
            Some(Obstacle::Overwritten { read, write }) if write == event => {
                if let Some(read) = self.state.needed(read) {
                    self.progress.wait(node.chain, read);
                }
            }
            // Nothing brings back what was overwritten.
            Some(Obstacle::Overwritten { .. } | Obstacle::SourceMissing) => {}
            Some(Obstacle::NoPermit(_)) => self.starving.push(node.chain),
        }
        true
    }

    /// What keeps an event from happening now, though all before it has happened.
    #[inline]
    fn obstacle(&mut self, event: EventId, node: Node) -> Option<Obstacle> {
        let trace = self.state.index.trace();
        match trace.op(event) {
            Op::Acquire(lock) if !trace.is_nested(event) => self.excluding(lock, event, true),
            Op::AcquireShared(lock) if !trace.is_nested(event) => self.excluding(lock, event, false),
            Op::Take(semaphore) => {
                let none = *self.permits(semaphore) <= 0 && self.counts_permits();
                none.then_some(Obstacle::NoPermit(semaphore))
            }
            op => {
                let access = op.access()?;
                if access.reads
                    && let Some(obstacle) = self.wrong_value(access.variable, event, node)
                {
                    return Some(obstacle);
                }
                if access.writes { self.awaited_value(access.variable, event) } else { None }
            }
        }
    }

    /// Permits are unknown where the events before the window are.
    fn counts_permits(&self) -> bool {
        let window = self.state.window;
        window.start == EventId(0) || window.before == Before::Recorded
    }

    fn permits(&mut self, semaphore: SemaphoreId) -> &mut i64 {
        self.permits.entry(semaphore).or_insert_with(|| self.state.permits_at_start(semaphore))
    }

    /// Who holds a lock; initially, its holder where the window begins.
    fn holders(&mut self, lock: LockId) -> &mut Holders {
        self.holders.entry(lock).or_insert_with(|| {
            let (index, window) = (self.state.index, self.state.window);
            let mut holders = Holders::default();
            if window.before == Before::Recorded && window.start > EventId(0) {
                for open in index.open_sections(lock, window.start) {
                    let hold = (open.thread, open.release.unwrap_or(EventId(NONE)));
                    match open.shared {
                        true => holders.shared.push(hold),
                        false => holders.exclusive = Some(hold),
                    }
                }
            }
            holders
        })
    }

    fn excluding(&mut self, lock: LockId, event: EventId, exclusive: bool) -> Option<Obstacle> {
        let thread = self.state.index.trace().thread(event);
        let holders = self.holders(lock);
        let shared = holders.shared.iter().filter(|_| exclusive);
        let other = holders.exclusive.iter().chain(shared).find(|(holder, _)| *holder != thread);
        other.map(|&(_, section)| Obstacle::Held(section))
    }

    #[inline]
    fn wrong_value(&self, variable: VariableId, event: EventId, node: Node) -> Option<Obstacle> {
        let seen = self.state.required_source(event, node)?;
        let written = self.values.get(variable);
        match (seen, written) {
            _ if sees(seen, written) => None,
            (_, Some(last)) => Some(Obstacle::Overwritten { read: event, write: last }),
            (_, None) => Some(Obstacle::SourceMissing),
        }
    }

    /// A read that must still see the value that a write would overwrite.
    #[inline]
    fn awaited_value(&self, variable: VariableId, event: EventId) -> Option<Obstacle> {
        let waits = |read: Node| {
            let still = read.position >= self.progress.done(read.chain);
            still.then(|| self.state.event(read)).filter(|&read| read != event)
        };
        let read = match self.values.get(variable) {
            Some(write) => self.state.readers(write).find_map(waits),
            None => self.state.first_readers(variable).find_map(|(read, _)| waits(read)),
        };
        read.map(|read| Obstacle::Overwritten { read, write: event })
    }

    #[inline]
    fn perform(&mut self, event: EventId, node: Node) {
        let trace = self.state.index.trace();
        let op = trace.op(event);
        let thread = self.state.chains[node.chain as usize].thread;
        match op {
            Op::Acquire(lock) if !trace.is_nested(event) => {
                self.holders(lock).exclusive = Some((thread, event));
            }
            Op::AcquireShared(lock) if !trace.is_nested(event) => {
                self.holders(lock).shared.push((thread, event));
            }
            Op::Release(lock) if !trace.is_nested(event) => self.holders(lock).exclusive = None,
            Op::ReleaseShared(lock) if !trace.is_nested(event) => {
                // A section open at the window's start is known by its release.
                let own = trace.section_end(event);
                self.holders(lock).shared.retain(|&(_, section)| Some(section) != own && section != event);
            }
            Op::Take(semaphore) => *self.permits(semaphore) -= 1,
            Op::Post(semaphore) => {
                *self.permits(semaphore) += 1;
                for chain in std::mem::take(&mut self.starving) {
                    let node = Node { chain, position: self.progress.done(chain) };
                    self.ready.push(Reverse((self.state.event(node), chain)));
                }
            }
            _ => {
                if let Some(variable) = op.writes() {
                    self.values.set(variable, event);
                }
            }
        }
    }

    /// Finds the choice behind a standstill.
    fn blocked(&mut self) -> Blocked {
        let trace = self.state.index.trace();
        let mut blocked = Blocked { choice: None, release: None, take: None };
        let waiting = (0..self.state.chains.len() as u32).filter_map(|chain| self.next(chain));
        let mut waiting: Vec<(EventId, Node)> = waiting.map(|node| (self.state.event(node), node)).collect();
        waiting.sort_unstable();
        for (event, node) in waiting {
            if self.progress.must_wait(self.state, node) {
                continue;
            }
            match self.obstacle(event, node) {
                Some(Obstacle::Held(section)) => {
                    // Sections open at the window's start are known by their release.
                    let is_acquire = section.0 != NONE && is_acquire(trace.op(section));
                    let choice = is_acquire.then_some(Choice::Between(Split::Sections(event, section)));
                    let release = if is_acquire { trace.section_end(section) } else { Some(section) };
                    let release = release.filter(|release| release.0 != NONE);
                    let unfinished = release.filter(|&release| {
                        let chain = self.state.chain_of[trace.thread(release).index()];
                        chain == NONE || self.next(chain).is_none()
                    });
                    if blocked.choice.is_none() || (blocked.release.is_none() && unfinished.is_some()) {
                        blocked.choice = choice.or(blocked.choice);
                        blocked.release = unfinished;
                    }
                }
                Some(Obstacle::Overwritten { read, write }) if blocked.choice.is_none() => {
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
        let index = self.state.index;
        let start = self.state.window.start;
        let posts = index.posts(semaphore);
        let posts = &posts[posts.partition_point(|&post| post < start)..];
        // What keeps a thread from its next post keeps it from all later ones.
        let mut tried: Vec<ThreadId> = Vec::new();
        for &post in posts {
            let thread = index.trace().thread(post);
            if self.is_over_budget() || tried.len() == index.threads().threads() {
                return false;
            }
            if tried.contains(&thread) || self.state.needed(post).is_some() {
                continue;
            }
            tried.push(thread);
            if self.include(post) {
                return true;
            }
        }
        false
    }

    /// Whether the command as a whole may take no longer.
    #[inline]
    fn is_out_of_bounds(&self) -> bool {
        self.state.index.bounds().are_reached()
    }

    /// Whether what was known before and the guess have cost more than there is.
    fn is_over_budget(&self) -> bool {
        self.state.steps.saturating_add(self.steps) > self.state.budget
    }

    /// Makes one more event part of the guess.
    fn include(&mut self, event: EventId) -> bool {
        let before = self.state.mark();
        // What the rules have yet to look at is not for a guess to change.
        let agenda = std::mem::take(&mut self.state.agenda);
        let is_included = self.close_over(event);
        self.state.forget_work();
        self.state.agenda = agenda;
        if !is_included {
            self.state.undo_to(before);
            return false;
        }
        self.progress.resume(self.state);
        self.enqueue_all();
        true
    }

    /// Makes an event needed, and what it depends on, if that can be.
    fn close_over(&mut self, event: EventId) -> bool {
        let state = &mut *self.state;
        let chains = state.chains.len();
        let node = state.locate(event);
        if state.is_needed(node) || node.position >= state.chains[node.chain as usize].ceiling {
            return false;
        }
        state.extend(node.chain, node.position + 1, NONE);
        let known = state.steps;
        let closed = state.close();
        self.steps += state.steps - known;
        state.steps = known;
        closed.is_ok() && !self.binds_too_late(chains)
    }

    /// Whether a read that has happened is bound to what it saw only now, because its thread goes on (under
    /// the branch model): then it is too late. Only the first of the chains, up to this number, have begun.
    fn binds_too_late(&self, chains: usize) -> bool {
        self.state.requirements.model == Model::Branch
            && self
                .state
                .agenda
                .bound
                .iter()
                .any(|&read| (read.chain as usize) < chains && read.position < self.progress.done(read.chain))
    }
}

fn is_acquire(op: Op) -> bool {
    matches!(op, Op::Acquire(_) | Op::AcquireShared(_))
}

/// What keeps an event from happening.
enum Obstacle {
    /// A section of its lock is open: its acquire, or its release if it opened before the window.
    Held(EventId),
    /// The read must come before the write, or the write before the read's source.
    Overwritten {
        read: EventId,
        write: EventId,
    },
    /// The write that the read must see has not happened.
    SourceMissing,
    NoPermit(SemaphoreId),
}

fn sees(seen: RequiredSource, written: Option<EventId>) -> bool {
    match seen {
        RequiredSource::Write(source) => written == Some(source),
        RequiredSource::Initial | RequiredSource::Earlier => written.is_none(),
    }
}
