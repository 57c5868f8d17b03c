//! A recording in which a lock is held in more places than it was.
//!
//! Sections of the lock that a stretch touches become one section with it. Where the lock was held by another thread at that
//! time, the thread has to wait, and whatever depends on it waits with it: the events are put in the first order, in the
//! order of the recording otherwise, that all synchronisation allows and in which reads see what they saw. If there is none,
//! there is no such recording.

use std::collections::VecDeque;

use check::Question;
use decide::Index;
use trace::{Columns, EventId, Kind, LockId, Op, ThreadId, Trace, VariableId};

/// A stretch of a thread's events, from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first event.
    pub first: EventId,
    /// The last.
    pub last: EventId,
    /// Whether other readers are kept out, too.
    pub exclusive: bool,
}

/// A recording with a change.
#[derive(Clone, Debug)]
pub struct Edited {
    /// The recording.
    pub trace: Trace,
    /// By event of the recording that was: its number now.
    numbers: Vec<Option<EventId>>,
}

impl Edited {
    /// The same question about the same events.
    pub fn question(&self, question: &Question) -> Option<Question> {
        let number = |event: &EventId| self.numbers[event.index()];
        Some(match question {
            Question::Race(a, b) => Question::Race(number(a)?, number(b)?),
            Question::Order(events) => Question::Order(events.iter().map(number).collect::<Option<_>>()?),
            _ => return None,
        })
    }
}

/// The change to one event.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    /// The lock is acquired before it.
    acquire: Option<Mode>,
    /// The lock is released after it.
    release: Option<Mode>,
    /// It is left out.
    drop: bool,
    /// It is an acquire, request or release of the lock, and has this mode now.
    mode: Option<Mode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Exclusive,
    Shared,
}

impl Mode {
    fn of(exclusive: bool) -> Mode {
        if exclusive { Mode::Exclusive } else { Mode::Shared }
    }

    fn acquire(self, lock: LockId) -> Op {
        match self {
            Mode::Exclusive => Op::Acquire(lock),
            Mode::Shared => Op::AcquireShared(lock),
        }
    }

    fn request(self, lock: LockId) -> Op {
        match self {
            Mode::Exclusive => Op::Request(lock),
            Mode::Shared => Op::RequestShared(lock),
        }
    }

    fn release(self, lock: LockId) -> Op {
        match self {
            Mode::Exclusive => Op::Release(lock),
            Mode::Shared => Op::ReleaseShared(lock),
        }
    }
}

/// A section of the lock, or a stretch that is to become one.
#[derive(Clone, Copy, Debug)]
struct Piece {
    first: EventId,
    /// None: it is never released.
    last: Option<EventId>,
    exclusive: bool,
    is_span: bool,
}

/// The recording with the lock held in all of these stretches. Reads of the variables may see something else.
pub(super) fn edit(
    setup: &Index<'_>,
    lock: LockId,
    spans: &[Span],
    variables: &[VariableId],
) -> Option<Edited> {
    let trace = setup.trace();
    let mut changes = vec![Change::default(); trace.len()];
    let mut threads: Vec<ThreadId> = spans.iter().map(|span| trace.thread(span.first)).collect();
    threads.sort_unstable();
    threads.dedup();
    let events = ByThread::of(trace);
    for thread in threads {
        let own = spans.iter().filter(|span| trace.thread(span.first) == thread);
        widen(trace, lock, events.of_thread(thread), own, &mut changes)?;
    }
    Ordering::new(trace, lock, variables, &changes, &events).run()
}

/// The events of each thread.
struct ByThread(Vec<Vec<EventId>>);

impl ByThread {
    fn of(trace: &Trace) -> ByThread {
        let mut events = vec![Vec::new(); trace.symbols().threads.len()];
        trace.events().for_each(|(event, thread, _)| events[thread.index()].push(event));
        ByThread(events)
    }

    fn of_thread(&self, thread: ThreadId) -> &[EventId] {
        &self.0[thread.index()]
    }
}

/// Makes one section of each stretch and the sections that it touches.
fn widen<'s>(
    trace: &Trace,
    lock: LockId,
    events: &[EventId],
    spans: impl Iterator<Item = &'s Span>,
    changes: &mut [Change],
) -> Option<()> {
    let mut pieces: Vec<Piece> = spans
        .map(|span| Piece {
            first: span.first,
            last: Some(span.last),
            exclusive: span.exclusive,
            is_span: true,
        })
        .collect();
    for &event in events {
        let exclusive = trace.op(event) == Op::Acquire(lock);
        let acquires = exclusive || trace.op(event) == Op::AcquireShared(lock);
        if acquires && !trace.is_nested(event) {
            pieces.push(Piece { first: event, last: trace.section_end(event), exclusive, is_span: false });
        }
    }
    pieces.sort_by_key(|piece| piece.first);
    let mut pieces = pieces.into_iter().peekable();
    while let Some(first) = pieces.next() {
        let mut group = vec![first];
        let mut last = first.last;
        while let Some(next) = pieces.next_if(|next| last.is_none_or(|last| next.first <= last)) {
            last = match (last, next.last) {
                (Some(last), Some(next)) => Some(last.max(next)),
                _ => None,
            };
            group.push(next);
        }
        if group.iter().any(|piece| piece.is_span) {
            join(trace, lock, events, &group, last, changes)?;
        }
    }
    Some(())
}

/// Makes one section of these pieces.
fn join(
    trace: &Trace,
    lock: LockId,
    events: &[EventId],
    pieces: &[Piece],
    last: Option<EventId>,
    changes: &mut [Change],
) -> Option<()> {
    let first = pieces[0].first;
    let mode = Mode::of(pieces.iter().any(|piece| piece.exclusive));
    let is_lock = |event: EventId| {
        matches!(trace.op(event), Op::Acquire(of) | Op::AcquireShared(of) | Op::Release(of)
            | Op::ReleaseShared(of) | Op::Request(of) | Op::RequestShared(of) if of == lock)
    };
    let start = events.partition_point(|&event| event < first);
    let end = last.map_or(events.len(), |last| events.partition_point(|&event| event <= last));
    for &event in &events[start..end] {
        // To wait is to release the lock in between.
        if trace.kind(event) == Kind::Wait {
            return None;
        }
        if is_lock(event) {
            let is_end = event == first || Some(event) == last;
            let is_nested = !is_request(trace.op(event)) && trace.is_nested(event);
            changes[event.index()] = match is_end && !is_nested {
                true => Change { mode: Some(mode), ..Change::default() },
                false => Change { drop: true, ..Change::default() },
            };
        }
    }
    if is_lock(first) {
        // What asked for it asks for as much as it gets.
        if let Some(&request) = start.checked_sub(1).and_then(|index| events.get(index))
            && is_lock(request)
            && is_request(trace.op(request))
        {
            changes[request.index()].mode = Some(mode);
        }
    } else {
        changes[first.index()].acquire = Some(mode);
    }
    if let Some(last) = last.filter(|&last| !is_lock(last)) {
        changes[last.index()].release = Some(mode);
    }
    Some(())
}

fn is_request(op: Op) -> bool {
    matches!(op, Op::Request(_) | Op::RequestShared(_))
}

/// Puts the changed events in order.
struct Ordering<'a> {
    trace: &'a Trace,
    lock: LockId,
    variables: &'a [VariableId],
    changes: &'a [Change],
    /// Whether acquires have requests.
    requests: bool,
    /// How many events of each thread there are.
    totals: Vec<usize>,
    /// By thread: what it has yet to do.
    waiting: Vec<VecDeque<Item>>,
    /// The threads that cannot go on now.
    blocked: Vec<usize>,
    done: Vec<usize>,
    numbers: Vec<Option<EventId>>,
    columns: Columns,
    holders: Vec<Holders>,
    permits: Vec<u32>,
    /// By instance of a barrier: how many have yet to enter.
    entering: Vec<usize>,
    /// By variable: the last write.
    writes: Vec<Option<EventId>>,
}

/// An event to come.
#[derive(Clone, Copy)]
struct Item {
    op: Op,
    /// The event of the recording that it is, or is put to.
    event: EventId,
    is_new: bool,
}

/// Who holds a lock, and how often.
#[derive(Clone, Default)]
struct Holders {
    exclusive: Option<(ThreadId, usize)>,
    shared: Vec<ThreadId>,
}

impl<'a> Ordering<'a> {
    fn new(
        trace: &'a Trace,
        lock: LockId,
        variables: &'a [VariableId],
        changes: &'a [Change],
        events: &ByThread,
    ) -> Ordering<'a> {
        let symbols = trace.symbols();
        let threads = symbols.threads.len();
        let mut entering = Vec::new();
        for (event, _, op) in trace.events() {
            if matches!(op, Op::BarrierEnter(_)) {
                let instance = trace.barrier_instance(event).index();
                entering.resize(entering.len().max(instance + 1), 0);
                entering[instance] += 1;
            }
        }
        let permits = (0..symbols.semaphores.len() as u32)
            .map(|semaphore| trace.initial_permits(trace::SemaphoreId(semaphore)));
        Ordering {
            trace,
            lock,
            variables,
            changes,
            requests: trace.events().any(|(.., op)| is_request(op)),
            totals: events.0.iter().map(Vec::len).collect(),
            waiting: vec![VecDeque::new(); threads],
            blocked: Vec::new(),
            done: vec![0; threads],
            numbers: vec![None; trace.len()],
            columns: Columns::with_capacity(trace.len() + 8),
            holders: vec![Holders::default(); symbols.locks.len()],
            permits: permits.collect(),
            entering,
            writes: vec![None; symbols.variables.len()],
        }
    }

    fn run(mut self) -> Option<Edited> {
        for (event, thread, op) in self.trace.events() {
            self.expect(thread, event, op);
            if self.go_on(thread.index()) {
                while !self.blocked.is_empty() && self.wake() {}
            }
        }
        if self.waiting.iter().any(|waiting| !waiting.is_empty()) {
            return None;
        }
        let trace = self.trace.with_events(self.columns).ok()?;
        Some(Edited { trace, numbers: self.numbers })
    }

    /// Adds an event of the recording, with what is put to it.
    fn expect(&mut self, thread: ThreadId, event: EventId, op: Op) {
        let change = self.changes[event.index()];
        let waiting = &mut self.waiting[thread.index()];
        let mut new = |op: Op| waiting.push_back(Item { op, event, is_new: true });
        if let Some(mode) = change.acquire {
            if self.requests {
                new(mode.request(self.lock));
            }
            new(mode.acquire(self.lock));
        }
        if change.drop {
            self.done[thread.index()] += 1;
        } else {
            let op = match (change.mode, op) {
                (Some(mode), Op::Acquire(lock) | Op::AcquireShared(lock)) => mode.acquire(lock),
                (Some(mode), Op::Release(lock) | Op::ReleaseShared(lock)) => mode.release(lock),
                (Some(mode), Op::Request(lock) | Op::RequestShared(lock)) => mode.request(lock),
                (_, op) => op,
            };
            waiting.push_back(Item { op, event, is_new: false });
        }
        if let Some(mode) = change.release {
            waiting.push_back(Item { op: mode.release(self.lock), event, is_new: true });
        }
    }

    /// Lets those who had to wait try again; whether one could do anything.
    fn wake(&mut self) -> bool {
        let blocked = std::mem::take(&mut self.blocked);
        let mut any = false;
        for thread in blocked {
            any |= self.go_on(thread);
        }
        any
    }

    /// Lets a thread perform what it can; whether it could do anything.
    fn go_on(&mut self, thread: usize) -> bool {
        let mut goes_on = false;
        while let Some(&item) = self.waiting[thread].front() {
            if !self.can_be_next(ThreadId(thread as u32), item) {
                break;
            }
            self.waiting[thread].pop_front();
            self.perform(ThreadId(thread as u32), item);
            goes_on = true;
        }
        if !self.waiting[thread].is_empty() && !self.blocked.contains(&thread) {
            self.blocked.push(thread);
        }
        goes_on
    }

    fn can_be_next(&self, thread: ThreadId, item: Item) -> bool {
        let Item { op, event, is_new } = item;
        let happened = |event: EventId| self.numbers[event.index()].is_some();
        if self.done[thread.index()] == 0 && !self.trace.fork_of(thread).is_none_or(happened) {
            return false;
        }
        let linked = || self.trace.link(event).event().is_none_or(happened);
        match op {
            Op::Acquire(lock) => {
                let holders = &self.holders[lock.index()];
                holders.exclusive.is_none_or(|(holder, _)| holder == thread)
                    && holders.shared.iter().all(|&holder| holder == thread)
            }
            Op::AcquireShared(lock) => {
                self.holders[lock.index()].exclusive.is_none_or(|(holder, _)| holder == thread)
            }
            Op::Join(joined) => self.done[joined.index()] == self.totals[joined.index()],
            Op::Wait(_) => linked(),
            Op::BarrierExit(_) => self.entering[self.trace.barrier_instance(event).index()] == 0,
            Op::Take(semaphore) => self.permits[semaphore.index()] > 0,
            _ => match op.reads() {
                Some(variable) if !self.variables.contains(&variable) && !is_new => {
                    self.writes[variable.index()] == self.trace.reads_from(event)
                }
                _ => true,
            },
        }
    }

    fn perform(&mut self, thread: ThreadId, item: Item) {
        let Item { op, event, is_new } = item;
        self.columns.push(thread, op, self.trace.location(event));
        let number = EventId::new(self.columns.len() - 1);
        if !is_new {
            self.numbers[event.index()] = Some(number);
            self.columns.set_order(number, self.trace.memory_order(event));
            self.done[thread.index()] += 1;
        }
        match op {
            Op::Acquire(lock) => {
                let holders = &mut self.holders[lock.index()];
                let depth = holders.exclusive.map_or(0, |(_, depth)| depth);
                holders.exclusive = Some((thread, depth + 1));
            }
            Op::AcquireShared(lock) => self.holders[lock.index()].shared.push(thread),
            Op::Release(lock) => {
                let holders = &mut self.holders[lock.index()];
                holders.exclusive =
                    holders.exclusive.and_then(|(holder, depth)| (depth > 1).then(|| (holder, depth - 1)));
            }
            Op::ReleaseShared(lock) => {
                let shared = &mut self.holders[lock.index()].shared;
                if let Some(index) = shared.iter().position(|&holder| holder == thread) {
                    shared.swap_remove(index);
                }
            }
            Op::Post(semaphore) => self.permits[semaphore.index()] += 1,
            Op::Take(semaphore) => self.permits[semaphore.index()] -= 1,
            Op::BarrierEnter(_) => self.entering[self.trace.barrier_instance(event).index()] -= 1,
            _ => {
                if let Some(variable) = op.writes() {
                    self.writes[variable.index()] = Some(event);
                }
            }
        }
    }
}
