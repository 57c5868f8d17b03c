//! A question in the engine's terms: which events are needed, where threads must stop, which orders
//! and sources are asked for.

use check::{Model, Question, Source};
use trace::{EventId, LockId, Op, SemaphoreId, ThreadId};

use crate::Index;

/// What a schedule must do to answer a question.
#[derive(Clone, Debug)]
pub(crate) struct Requirements {
    pub(crate) model: Model,
    /// Memory orders say which reads must see what they saw, and what else is in order.
    pub(crate) by_memory_order: bool,
    /// Events that must happen.
    pub(crate) needs: Vec<EventId>,
    /// Threads that must stop, and after how many of their events.
    pub(crate) stops: Vec<(ThreadId, u32)>,
    /// Pairs of events to happen in this order.
    pub(crate) orders: Vec<(EventId, EventId)>,
    /// A read and what it must see.
    pub(crate) source: Option<(EventId, Source)>,
    /// Reads free to see anything.
    exempt: Vec<EventId>,
    /// Takes that must find their semaphore empty at the end.
    pub(crate) starved: Vec<(SemaphoreId, EventId)>,
    /// An event of the deadlock that the next one does not block, whatever happens.
    pub(crate) not_blocked: Option<EventId>,
    /// Acquires of two sections that exclude each other and would both be open where threads must stop.
    pub(crate) both_held: Option<(EventId, EventId)>,
    /// A window must not start after this event: what comes before can be taken as it was recorded.
    pub(crate) earliest: EventId,
}

/// Which named reads of an order keep what they saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exemption {
    /// Those after which their thread has to go on: keeping them makes the schedule certain.
    OnlyLast,
    /// None.
    AllNamed,
}

impl Requirements {
    /// `Question::Reads` must name its source here.
    pub(crate) fn new(index: &Index<'_>, question: &Question, model: Model, exemption: Exemption) -> Self {
        let mut requirements = Requirements {
            model,
            by_memory_order: question.is_by_memory_order(model) && !index.trace().is_sequential(),
            needs: Vec::new(),
            stops: Vec::new(),
            orders: Vec::new(),
            source: None,
            exempt: Vec::new(),
            starved: Vec::new(),
            not_blocked: None,
            both_held: None,
            earliest: EventId::new(index.trace().len()),
        };
        match question {
            Question::Race(a, b) => {
                requirements.stop_at(index, *a);
                requirements.stop_at(index, *b);
            }
            Question::Deadlock(blocked) => {
                for &event in blocked {
                    requirements.stop_at(index, event);
                }
                requirements.block(index, blocked);
                requirements.needs.extend(question.spent_posts(index.trace()));
            }
            Question::Order(events) => {
                requirements.needs.extend(events);
                requirements.orders.extend(events.windows(2).map(|pair| (pair[0], pair[1])));
                requirements.exempt.extend(
                    events
                        .iter()
                        .filter(|&&event| exemption == Exemption::AllNamed || !goes_on(index, events, event)),
                );
                requirements.earliest = events.iter().copied().min().unwrap_or(requirements.earliest);
            }
            Question::Reads(read, source) => {
                requirements.needs.push(*read);
                requirements.earliest = *read;
                if let Some(source) = *source {
                    requirements.source = Some((*read, source));
                    let reach = match source {
                        Source::Write(write) => Some(write),
                        Source::Initial => index
                            .trace()
                            .op(*read)
                            .reads()
                            .and_then(|variable| index.writes(variable).first().copied()),
                    };
                    requirements.earliest = reach.map_or(*read, |event| event.min(*read));
                }
            }
            Question::Cut(counts) => {
                for thread in 0..index.threads().threads() {
                    let count = counts.get(thread).copied().unwrap_or(0);
                    let thread = ThreadId::new(thread);
                    let events = index.threads().of_thread(thread);
                    requirements.stops.push((thread, count));
                    requirements.needs.extend(count.checked_sub(1).map(|last| events[last as usize]));
                    if let Some(&next) = events.get(count as usize) {
                        requirements.earliest = requirements.earliest.min(next);
                    }
                }
            }
        }
        requirements.both_held = both_held(index, &requirements.stops);
        if !requirements.starved.is_empty() {
            // How many permits are left depends on everything before.
            requirements.earliest = EventId(0);
        }
        requirements
    }

    /// The event is to be the next of its thread: all before it happens, and it does not.
    fn stop_at(&mut self, index: &Index<'_>, event: EventId) {
        let thread = index.trace().thread(event);
        let place = index.threads().place(event);
        self.stops.push((thread, place as u32));
        let before = match place {
            0 => index.trace().fork_of(thread),
            _ => Some(index.threads().of_thread(thread)[place - 1]),
        };
        self.needs.extend(before);
        self.earliest = self.earliest.min(event);
    }

    /// Finds out whether each event of a cycle is blocked by the next one's thread standing there.
    fn block(&mut self, index: &Index<'_>, blocked: &[EventId]) {
        for (position, &event) in blocked.iter().enumerate() {
            let blocker = blocked[(position + 1) % blocked.len()];
            if let Op::Take(semaphore) = index.trace().op(event) {
                self.starved.push((semaphore, event));
            }
            if self.not_blocked.is_none() && !can_block(index, event, blocker) {
                self.not_blocked = Some(event);
            }
        }
    }

    /// Whether it exempts the same reads as another.
    pub(crate) fn exempts_as(&self, other: &Requirements) -> bool {
        self.exempt == other.exempt
    }

    /// What a read that happens must see, if anything.
    pub(crate) fn demand(&self, index: &Index<'_>, read: EventId) -> Option<Source> {
        if let Some((named, source)) = self.source
            && named == read
        {
            return Some(source);
        }
        let free = self.model == Model::Sync
            || self.exempt.contains(&read)
            || self.by_memory_order && is_unordered(index, read);
        (!free).then(|| index.trace().reads_from(read).map_or(Source::Initial, Source::Write))
    }
}

/// Whether a read saw a write without synchronising with it.
pub(crate) fn is_unordered(index: &Index<'_>, read: EventId) -> bool {
    index.synchronisation().is_some_and(|weak| weak.is_unordered(read))
}

/// Whether a later event of the same thread is named too.
fn goes_on(index: &Index<'_>, named: &[EventId], event: EventId) -> bool {
    named.iter().any(|&other| other > event && index.trace().thread(other) == index.trace().thread(event))
}

/// Whether `event` can be blocked by the thread of `blocker` standing right before `blocker`.
fn can_block(index: &Index<'_>, event: EventId, blocker: EventId) -> bool {
    let trace = index.trace();
    let thread = trace.thread(blocker);
    let to_come = |other: EventId| trace.thread(other) == thread && other >= blocker;
    let holds = |lock, exclusive_only| {
        index.open_sections(lock, blocker).any(|section| {
            section.thread == thread
                && !(exclusive_only && matches!(trace.op(section.acquire), Op::AcquireShared(_)))
        })
    };
    match trace.op(event) {
        Op::Acquire(lock) => !trace.is_nested(event) && holds(lock, false),
        Op::AcquireShared(lock) => !trace.is_nested(event) && holds(lock, true),
        Op::Request(lock) => holds(lock, false),
        Op::RequestShared(lock) => holds(lock, true),
        Op::Join(child) => child == thread,
        Op::Wait(_) => trace.link(event).event().is_some_and(to_come),
        Op::BarrierExit(_) => {
            let instance = &trace.matching().barrier_instances()[trace.barrier_instance(event).index()];
            instance.enters.iter().any(|&enter| to_come(enter))
        }
        Op::Take(semaphore) => index.posts(semaphore).iter().any(|&post| to_come(post)),
        _ => false,
    }
}

/// Two sections of a lock that cannot both be open, if stopping where they must leaves threads in them.
fn both_held(index: &Index<'_>, stops: &[(ThreadId, u32)]) -> Option<(EventId, EventId)> {
    let mut held: Vec<(LockId, EventId, ThreadId, bool)> = Vec::new();
    for &(thread, count) in stops {
        held.extend(index.held_after(thread, count).filter_map(|section| {
            match index.trace().op(section.acquire) {
                Op::Acquire(lock) => Some((lock, section.acquire, thread, false)),
                Op::AcquireShared(lock) => Some((lock, section.acquire, thread, true)),
                _ => None,
            }
        }));
    }
    held.sort_unstable();
    let exclude = |(_, _, thread, shared): &(LockId, EventId, ThreadId, bool),
                   (_, _, other, also): &(LockId, EventId, ThreadId, bool)| {
        thread != other && !(*shared && *also)
    };
    let of_one_lock = held.chunk_by(|a, b| a.0 == b.0);
    of_one_lock.into_iter().find_map(|sections| {
        sections.iter().find_map(|a| sections.iter().find(|b| exclude(a, b)).map(|b| (a.1, b.1)))
    })
}
