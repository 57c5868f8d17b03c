//! Verifies a schedule by walking through it: every event must be able to happen where it stands,
//! and the end must be what the question asks for.

use std::sync::OnceLock;

use trace::{EventId, LockId, Op, ThreadEvents, ThreadId, Trace};

use crate::memory::Memory;
use crate::question::{Model, Question, QuestionError, Source};
use crate::state::{OpenSection, State, StateFromStart};

/// What a schedule is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certainty {
    /// No thread goes on after a read that sees another value than in the trace, nor is a thread said to stand
    /// at an event after such a read; so whatever the program is, it can follow the schedule.
    pub guaranteed: bool,
}

/// Why a schedule is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message is its documentation")]
pub enum ScheduleFault {
    #[error("the question makes no sense: {0}")]
    NoQuestion(#[from] QuestionError),
    #[error("the schedule names event {event}, but the trace has only {events} events")]
    NoSuchEvent { event: EventId, events: usize },
    #[error("event {0} is out of turn: it is not the next event of its thread")]
    OutOfTurn(EventId),
    #[error("event {0} comes before its thread is forked by event {1}")]
    NotForked(EventId, EventId),
    #[error("the join {0} comes before event {1} of the joined thread")]
    NotEnded(EventId, EventId),
    #[error("the wait {0} comes before its signal {1}")]
    NotSignalled(EventId, EventId),
    #[error("the barrier exit {0} comes before the enter {1}")]
    NotEntered(EventId, EventId),
    #[error("the acquire {0} comes while the lock is held by the section of event {1}")]
    Held(EventId, EventId),
    #[error("the take {0} finds no permit")]
    NoPermit(EventId),
    #[error("the read {0} does not see the write it must see")]
    WrongValue(EventId),
    #[error("event {0} comes before event {1}, which memory orders put before it")]
    NotSynchronised(EventId, EventId),
    #[error("the schedule does not end as asked: {0}")]
    NotAnswered(String),
}

/// Verifies that a schedule answers a question under a model.
pub fn check_schedule(
    trace: &Trace,
    question: &Question,
    model: Model,
    schedule: &[EventId],
) -> Result<Certainty, ScheduleFault> {
    ScheduleChecker::new(trace).check(question, model, schedule)
}

/// A trace made ready to have many schedules verified.
#[derive(Debug)]
pub struct ScheduleChecker<'t> {
    trace: &'t Trace,
    threads: ThreadEvents,
    /// Made for the first question that needs it: it takes longer than a schedule.
    memory: OnceLock<Memory>,
}

impl<'t> ScheduleChecker<'t> {
    /// Linear in the trace.
    pub fn new(trace: &'t Trace) -> Self {
        ScheduleChecker { trace, threads: ThreadEvents::of(trace), memory: OnceLock::new() }
    }

    /// Verifies that a schedule answers a question under a model.
    pub fn check(
        &self,
        question: &Question,
        model: Model,
        schedule: &[EventId],
    ) -> Result<Certainty, ScheduleFault> {
        question.validate(self.trace)?;
        let mut walk = Walk::from_start(self.trace, &self.threads);
        if question.is_by_memory_order(model) {
            walk.memory = Some(self.memory.get_or_init(|| Memory::of(self.trace, &self.threads)));
        }
        for &event in schedule {
            walk.step(event)?;
        }
        walk.check_synchronisation(schedule)?;
        walk.check_values(question, model)?;
        walk.check_answer(question, |event| schedule.iter().position(|scheduled| *scheduled == event))?;
        Ok(Certainty { guaranteed: walk.is_guaranteed(question) })
    }
}

/// The reads of a schedule that see another write than in the trace and may, because memory orders let them put nothing in order. If there
/// are any, no program can follow the schedule: a replay follows the recorded order instead, in which the two accesses are
/// unordered all the same.
pub fn unordered_reads(
    trace: &Trace,
    question: &Question,
    model: Model,
    schedule: &[EventId],
) -> Result<Vec<EventId>, ScheduleFault> {
    if trace.is_sequential() || !question.is_by_memory_order(model) {
        return Ok(Vec::new());
    }
    question.validate(trace)?;
    let threads = ThreadEvents::of(trace);
    let mut walk = Walk::from_start(trace, &threads);
    schedule.iter().try_for_each(|&event| walk.step(event))?;
    let changed = walk.seen.iter().filter(|&&(read, seen)| seen != trace.reads_from(read));
    let mut changed: Vec<EventId> = changed.map(|&(read, _)| read).collect();
    if !changed.is_empty() {
        let memory = Memory::of(trace, &threads);
        changed.retain(|&read| memory.exempts(read));
    }
    Ok(changed)
}

/// A schedule on its way, event by event.
pub(crate) struct Walk<'t, S> {
    trace: &'t Trace,
    threads: &'t ThreadEvents,
    /// How many events of each thread have happened.
    done: Vec<u32>,
    state: S,
    /// Reads that saw another value than in the trace.
    changed: Vec<EventId>,
    /// Which reads are exempt and what is in order, if memory orders decide that.
    memory: Option<&'t Memory>,
    /// What every read that happened on the way saw; reads are few in most questions, so a list will do.
    seen: Vec<(EventId, Option<EventId>)>,
}

impl<'t> Walk<'t, StateFromStart> {
    fn from_start(trace: &'t Trace, threads: &'t ThreadEvents) -> Self {
        Walk::new(trace, threads, vec![0; threads.threads()], StateFromStart::new(trace))
    }
}

impl<'t, S: State> Walk<'t, S> {
    /// Continues where `counts` events of each thread have happened, and every read among them saw what it saw in the trace.
    pub(crate) fn new(trace: &'t Trace, threads: &'t ThreadEvents, done: Vec<u32>, state: S) -> Self {
        let (changed, memory, seen) = (Vec::new(), None, Vec::new());
        Walk { trace, threads, done, state, changed, memory, seen }
    }

    fn has_happened(&self, event: EventId) -> bool {
        (self.threads.place(event) as u32) < self.done[self.trace.thread(event).index()]
    }

    fn is_next(&self, event: EventId) -> bool {
        self.threads.place(event) as u32 == self.done[self.trace.thread(event).index()]
    }

    fn is_last(&self, event: EventId) -> bool {
        self.threads.place(event) as u32 + 1 == self.done[self.trace.thread(event).index()]
    }

    pub(crate) fn is_guaranteed(&self, question: &Question) -> bool {
        let standing: &[EventId] = match question {
            Question::Race(a, b) => &[*a, *b],
            Question::Deadlock(blocked) => blocked,
            Question::Order(_) | Question::Reads(..) | Question::Cut(_) => &[],
        };
        let stands =
            |read: EventId| standing.iter().any(|&e| self.trace.thread(e) == self.trace.thread(read));
        self.changed.iter().all(|&read| self.is_last(read) && !stands(read))
    }

    fn unforked(&self, thread: ThreadId) -> Option<EventId> {
        self.trace.fork_of(thread).filter(|&fork| !self.has_happened(fork))
    }

    pub(crate) fn step(&mut self, event: EventId) -> Result<(), ScheduleFault> {
        let trace = self.trace;
        if event.index() >= trace.len() {
            return Err(ScheduleFault::NoSuchEvent { event, events: trace.len() });
        }
        if !self.is_next(event) {
            return Err(ScheduleFault::OutOfTurn(event));
        }
        let thread = trace.thread(event);
        if let Some(fork) = self.unforked(thread) {
            return Err(ScheduleFault::NotForked(event, fork));
        }
        let missing = |walk: &Self| trace.link(event).event().filter(|&link| !walk.has_happened(link));
        let op = trace.op(event);
        match op {
            Op::Join(_) => missing(self).map_or(Ok(()), |last| Err(ScheduleFault::NotEnded(event, last)))?,
            Op::Wait(_) => {
                missing(self).map_or(Ok(()), |signal| Err(ScheduleFault::NotSignalled(event, signal)))?;
            }
            Op::BarrierExit(_) => {
                let enters =
                    &trace.matching().barrier_instances()[trace.barrier_instance(event).index()].enters;
                if let Some(&enter) = enters.iter().find(|&&enter| !self.has_happened(enter)) {
                    return Err(ScheduleFault::NotEntered(event, enter));
                }
            }
            Op::Acquire(lock) if !trace.is_nested(event) => self.open(event, lock, false)?,
            Op::AcquireShared(lock) if !trace.is_nested(event) => self.open(event, lock, true)?,
            Op::Release(lock) | Op::ReleaseShared(lock) if !trace.is_nested(event) => {
                if let Some(acquire) = trace.section_end(event) {
                    self.state.close(lock, acquire);
                }
            }
            Op::Post(semaphore) => self.state.add_permits(semaphore, 1),
            Op::Take(semaphore) if self.state.permits(semaphore) <= 0 => {
                return Err(ScheduleFault::NoPermit(event));
            }
            Op::Take(semaphore) => self.state.add_permits(semaphore, -1),
            _ => {}
        }
        if let Some(variable) = op.reads() {
            let value = self.state.value(variable);
            self.seen.push((event, value));
            // An exempt read keeps its value, wherever it is in the schedule.
            let is_exempt = || self.memory.is_some_and(|memory| memory.exempts(event));
            if value != trace.reads_from(event) && !is_exempt() {
                self.changed.push(event);
            }
        }
        if let Some(variable) = op.writes() {
            self.state.write(variable, event);
        }
        self.done[thread.index()] += 1;
        Ok(())
    }

    fn open(&mut self, event: EventId, lock: LockId, shared: bool) -> Result<(), ScheduleFault> {
        let thread = self.trace.thread(event);
        let excludes = |other: OpenSection| other.thread != thread && !(shared && other.shared);
        if let Some(other) = self.state.find_open(lock, excludes) {
            return Err(ScheduleFault::Held(event, other.acquire));
        }
        self.state.open(lock, OpenSection { thread, acquire: event, shared });
        Ok(())
    }

    /// What memory orders demand of the order of events, in the order of the schedule: what must come before an event has come.
    fn check_synchronisation(&self, schedule: &[EventId]) -> Result<(), ScheduleFault> {
        let Some(memory) = self.memory else { return Ok(()) };
        let mut done = vec![0; self.done.len()];
        for &event in schedule {
            let thread = self.trace.thread(event);
            let to_come = |first: &&EventId| {
                self.threads.place(**first) as u32 >= done[self.trace.thread(**first).index()]
            };
            if let Some(&first) = memory.before(thread, done[thread.index()]).iter().find(to_come) {
                return Err(ScheduleFault::NotSynchronised(event, first));
            }
            done[thread.index()] += 1;
        }
        Ok(())
    }

    /// What the model demands of the reads.
    pub(crate) fn check_values(&self, question: &Question, model: Model) -> Result<(), ScheduleFault> {
        let bound = |read: EventId| match model {
            Model::Sync => false,
            Model::ReadsFrom => true,
            Model::Branch => self.goes_beyond_branch(read),
        };
        match self.changed.iter().find(|&&read| bound(read) && !question.exempts(read)) {
            Some(&read) => Err(ScheduleFault::WrongValue(read)),
            None => Ok(()),
        }
    }

    /// Whether the thread of a read takes a branch after it and then contributes another event.
    fn goes_beyond_branch(&self, read: EventId) -> bool {
        let thread = self.trace.thread(read);
        let happened = &self.threads.of_thread(thread)[..self.done[thread.index()] as usize];
        let after = happened.iter().skip(self.threads.place(read) + 1);
        let mut from_branch =
            after.skip_while(|&&event| !matches!(self.trace.op(event), Op::Branch(count) if count > 0));
        from_branch.nth(1).is_some()
    }

    /// Whether what has happened is what was asked for. `place` says where in the schedule an event is.
    pub(crate) fn check_answer(
        &self,
        question: &Question,
        place: impl Fn(EventId) -> Option<usize>,
    ) -> Result<(), ScheduleFault> {
        let no = |why: String| Err(ScheduleFault::NotAnswered(why));
        match question {
            Question::Race(a, b) => self.stands_at(*a).and_then(|()| self.stands_at(*b)),
            Question::Deadlock(blocked) => {
                for (index, &event) in blocked.iter().enumerate() {
                    self.stands_at(event)?;
                    let blocker = blocked[(index + 1) % blocked.len()];
                    if !self.is_blocked(event, blocker) {
                        return no(format!("event {event} is not blocked by the thread of event {blocker}"));
                    }
                }
                match question.spent_posts(self.trace).into_iter().find(|&post| !self.has_happened(post)) {
                    Some(post) => no(format!("event {post} is yet to come and ends the deadlock")),
                    None => Ok(()),
                }
            }
            Question::Order(events) => {
                let places: Option<Vec<usize>> = events.iter().map(|&event| place(event)).collect();
                match places {
                    None => no("not all events named happen".to_owned()),
                    Some(places) if places.is_sorted() => Ok(()),
                    Some(_) => no("the events named happen in another order".to_owned()),
                }
            }
            Question::Reads(read, source) => {
                if !self.has_happened(*read) {
                    return no(format!("the read {read} does not happen"));
                }
                let on_the_way = self.seen.iter().find(|(event, _)| event == read);
                let seen = on_the_way.map_or(self.trace.reads_from(*read), |&(_, seen)| seen);
                let as_asked = match source {
                    None => seen != self.trace.reads_from(*read),
                    Some(Source::Initial) => seen.is_none(),
                    Some(Source::Write(write)) => seen == Some(*write),
                };
                if as_asked { Ok(()) } else { no(format!("the read {read} sees something else")) }
            }
            Question::Cut(counts) => {
                let as_asked = (0..self.done.len())
                    .all(|thread| self.done[thread] == counts.get(thread).copied().unwrap_or(0));
                if as_asked { Ok(()) } else { no("other events happen than the cut names".to_owned()) }
            }
        }
    }

    fn stands_at(&self, event: EventId) -> Result<(), ScheduleFault> {
        if self.is_next(event) && self.unforked(self.trace.thread(event)).is_none() {
            return Ok(());
        }
        Err(ScheduleFault::NotAnswered(format!("event {event} is not next in its thread")))
    }

    /// Whether an event cannot happen because of the thread that stands at `blocker`.
    fn is_blocked(&self, event: EventId, blocker: EventId) -> bool {
        let trace = self.trace;
        let thread = trace.thread(blocker);
        let to_come = |other: EventId| trace.thread(other) == thread && !self.has_happened(other);
        let held = |lock: LockId, by_readers: bool| {
            let holds = |section: OpenSection| section.thread == thread && (by_readers || !section.shared);
            self.state.find_open(lock, holds).is_some()
        };
        match trace.op(event) {
            Op::Acquire(lock) => !trace.is_nested(event) && held(lock, true),
            Op::AcquireShared(lock) => !trace.is_nested(event) && held(lock, false),
            Op::Request(lock) => held(lock, true),
            Op::RequestShared(lock) => held(lock, false),
            Op::Join(child) => child == thread,
            Op::Wait(_) => trace.link(event).event().is_some_and(to_come),
            Op::BarrierExit(_) => {
                let enters =
                    &trace.matching().barrier_instances()[trace.barrier_instance(event).index()].enters;
                enters.iter().any(|&enter| to_come(enter))
            }
            Op::Take(semaphore) => {
                let posts = self.threads.of_thread(thread).iter();
                let post_to_come =
                    posts.filter(|&&e| to_come(e)).any(|&e| trace.op(e) == Op::Post(semaphore));
                self.state.permits(semaphore) == 0 && post_to_come
            }
            _ => false,
        }
    }
}
