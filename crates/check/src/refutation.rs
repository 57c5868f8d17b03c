//! Verifies a refutation: every step must follow from the trace, the question, the enclosing cases
//! or steps before it, and every chain of steps must end in something impossible.
//!
//! A fact 'x before y' means: if y happens, x happens before it. Of a thread's events a prefix is
//! known to be *needed*, to happen in every schedule that answers the question; a needed y makes x needed.
//! A thread's events from its *stop* on cannot happen.

use std::collections::HashSet;

use trace::{EventId, LockId, Op, SemaphoreId, ThreadEvents, Trace};

use crate::evidence::{End, Reason, Refutation, Split, Step};
use crate::question::{Model, Question, QuestionError, Source};

/// What is wrong with a refutation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message is its documentation")]
pub enum RefutationFault {
    #[error("the question makes no sense: {0}")]
    NoQuestion(#[from] QuestionError),
    #[error("event {0} is named, but the trace does not have it")]
    NoSuchEvent(EventId),
    #[error("the step from {} to {} does not follow", .0.before.0, .0.before.1)]
    Unfounded(Box<Step>),
    #[error("the end does not follow: {0:?}")]
    NotImpossible(End),
    #[error("the cases are not all: {0:?}")]
    NotExhaustive(Split),
}

/// Verifies that a refutation shows that no schedule answers a question under a model.
pub fn check_refutation(
    trace: &Trace,
    question: &Question,
    model: Model,
    refutation: &Refutation,
) -> Result<(), RefutationFault> {
    question.validate(trace)?;
    let threads = ThreadEvents::of(trace);
    let world = World { trace, threads: &threads, question, model };
    world.refuted(Known::at_first(&world), refutation)
}

/// What does not change from case to case.
struct World<'a> {
    trace: &'a Trace,
    threads: &'a ThreadEvents,
    question: &'a Question,
    model: Model,
}

/// What is known in one case.
#[derive(Clone)]
struct Known {
    facts: HashSet<(EventId, EventId)>,
    /// Facts whose second event is not known to be needed.
    idle: Vec<(EventId, EventId)>,
    /// How many events of each thread are needed.
    needed: Vec<u32>,
    /// From which place on the events of each thread cannot happen.
    stop: Vec<u32>,
    /// What the read that the question names must see.
    source: Option<(EventId, Source)>,
}

impl Known {
    fn at_first(world: &World<'_>) -> Self {
        let threads = world.threads.threads();
        let source = match world.question {
            Question::Reads(read, Some(source)) => Some((*read, *source)),
            _ => None,
        };
        let mut known = Known {
            facts: HashSet::new(),
            idle: Vec::new(),
            needed: vec![0; threads],
            stop: vec![u32::MAX; threads],
            source,
        };
        match world.question {
            Question::Race(a, b) => [*a, *b].into_iter().for_each(|event| known.stops_at(world, event)),
            Question::Deadlock(events) => {
                events.iter().for_each(|&event| known.stops_at(world, event));
                world.question.spent_posts(world.trace).into_iter().for_each(|post| known.need(world, post));
            }
            Question::Order(events) => events.iter().for_each(|&event| known.need(world, event)),
            Question::Reads(read, _) => known.need(world, *read),
            Question::Cut(counts) => {
                for thread in 0..threads {
                    let count = counts.get(thread).copied().unwrap_or(0);
                    known.needed[thread] = count;
                    known.stop[thread] = count;
                }
            }
        }
        known
    }

    /// The event is next: all before it is needed, and it cannot happen.
    fn stops_at(&mut self, world: &World<'_>, event: EventId) {
        let thread = world.trace.thread(event);
        let place = world.threads.place(event) as u32;
        self.stop[thread.index()] = place;
        self.needed[thread.index()] = self.needed[thread.index()].max(place);
        if let Some(fork) = world.trace.fork_of(thread) {
            self.need(world, fork);
        }
    }

    fn need(&mut self, world: &World<'_>, event: EventId) {
        let needed = &mut self.needed[world.trace.thread(event).index()];
        *needed = (*needed).max(world.threads.place(event) as u32 + 1);
    }

    fn is_needed(&self, world: &World<'_>, event: EventId) -> bool {
        (world.threads.place(event) as u32) < self.needed[world.trace.thread(event).index()]
    }

    fn cannot_happen(&self, world: &World<'_>, event: EventId) -> bool {
        world.threads.place(event) as u32 >= self.stop[world.trace.thread(event).index()]
    }

    /// Takes in a fact, and everything it makes needed.
    fn learn(&mut self, world: &World<'_>, before: EventId, after: EventId) {
        if self.facts.insert((before, after)) {
            self.idle.push((before, after));
            self.spread(world);
        }
    }

    /// Makes needed what the facts about needed events make needed.
    fn spread(&mut self, world: &World<'_>) {
        while let Some(at) = self.idle.iter().position(|&(_, after)| self.is_needed(world, after)) {
            let (before, _) = self.idle.swap_remove(at);
            self.need(world, before);
        }
    }

    /// Whether one event is known to come right before another.
    fn precedes(&self, world: &World<'_>, x: EventId, y: EventId) -> bool {
        let same_thread = world.trace.thread(x) == world.trace.thread(y);
        (same_thread && world.threads.place(x) < world.threads.place(y)) || self.facts.contains(&(x, y))
    }

    fn is_path(&self, world: &World<'_>, path: &[EventId]) -> bool {
        path.windows(2).all(|pair| self.precedes(world, pair[0], pair[1]))
    }

    /// Whether a post, if it happens, comes after a take: by any way through the facts.
    fn follows(&self, world: &World<'_>, take: EventId, post: EventId) -> bool {
        let mut reached: Vec<u32> = vec![u32::MAX; world.threads.threads()];
        let mut work = vec![take];
        while let Some(event) = work.pop() {
            let thread = world.trace.thread(event);
            let place = world.threads.place(event) as u32;
            if reached[thread.index()] <= place {
                continue;
            }
            reached[thread.index()] = place;
            let onward = self
                .facts
                .iter()
                .filter(|(x, _)| world.trace.thread(*x) == thread && world.threads.place(*x) as u32 >= place);
            work.extend(onward.map(|&(_, y)| y));
        }
        let place = world.threads.place(post) as u32;
        take != post && reached[world.trace.thread(post).index()] <= place
    }
}

impl World<'_> {
    fn refuted(&self, mut known: Known, refutation: &Refutation) -> Result<(), RefutationFault> {
        match refutation {
            Refutation::Chain { steps, end } => {
                self.take_in(&mut known, steps)?;
                match self.is_impossible(&known, end)? {
                    true => Ok(()),
                    false => Err(RefutationFault::NotImpossible(end.clone())),
                }
            }
            Refutation::Split { steps, split, cases } => {
                self.take_in(&mut known, steps)?;
                let possible = self.cases(&known, *split)?.filter(|possible| possible.len() == cases.len());
                let possible = possible.ok_or(RefutationFault::NotExhaustive(*split))?;
                possible.into_iter().zip(cases).try_for_each(|(known, case)| self.refuted(known, case))
            }
        }
    }

    fn take_in(&self, known: &mut Known, steps: &[Step]) -> Result<(), RefutationFault> {
        for step in steps {
            let (x, y) = step.before;
            self.exist(&[x, y])?;
            if !self.follows(known, step)? {
                return Err(RefutationFault::Unfounded(Box::new(step.clone())));
            }
            known.learn(self, x, y);
        }
        Ok(())
    }

    fn exist(&self, events: &[EventId]) -> Result<(), RefutationFault> {
        match events.iter().find(|event| event.index() >= self.trace.len()) {
            Some(&event) => Err(RefutationFault::NoSuchEvent(event)),
            None => Ok(()),
        }
    }

    /// What a read must see whenever it happens.
    fn must_see(&self, known: &Known, read: EventId) -> Option<Source> {
        let trace = self.trace;
        trace.op(read).reads()?;
        match known.source {
            Some((named, source)) if named == read => return Some(source),
            _ if self.question.exempts(read) => return None,
            _ => {}
        }
        let bound = match self.model {
            Model::Sync => false,
            Model::ReadsFrom => true,
            Model::Branch => self.goes_beyond_branch(known, read),
        };
        bound.then(|| trace.reads_from(read).map_or(Source::Initial, Source::Write))
    }

    /// Whether the thread of a read must take a branch after it and then go on.
    fn goes_beyond_branch(&self, known: &Known, read: EventId) -> bool {
        let thread = self.trace.thread(read);
        let needed = &self.threads.of_thread(thread)[..known.needed[thread.index()] as usize];
        let after = needed.iter().skip(self.threads.place(read) + 1);
        let is_branch = |event: EventId| matches!(self.trace.op(event), Op::Branch(count) if count > 0);
        after.skip_while(|&&event| !is_branch(event)).nth(1).is_some()
    }

    /// The lock and form of an acquire that opens a section.
    fn section(&self, acquire: EventId) -> Option<(LockId, bool)> {
        match self.trace.op(acquire) {
            Op::Acquire(lock) if !self.trace.is_nested(acquire) => Some((lock, false)),
            Op::AcquireShared(lock) if !self.trace.is_nested(acquire) => Some((lock, true)),
            _ => None,
        }
    }

    /// Whether these acquires open sections that exclude each other.
    fn exclude(&self, a: EventId, b: EventId) -> bool {
        match (self.section(a), self.section(b)) {
            (Some((lock, shared)), Some((other, also_shared))) => {
                lock == other && !(shared && also_shared) && self.trace.thread(a) != self.trace.thread(b)
            }
            _ => false,
        }
    }

    /// Whether a path leads into the section of an acquire, or at least not beyond it.
    fn leads_into(&self, known: &Known, path: &[EventId], acquire: EventId) -> bool {
        let Some(&last) = path.last() else { return false };
        let ends = self.trace.section_end(acquire);
        self.trace.thread(last) == self.trace.thread(acquire)
            && ends.is_none_or(|release| last <= release)
            && known.is_path(self, path)
    }

    fn never_released(&self, known: &Known, acquire: EventId) -> bool {
        self.trace.section_end(acquire).is_none_or(|release| known.cannot_happen(self, release))
    }

    /// Whether a step is justified.
    fn follows(&self, known: &Known, step: &Step) -> Result<bool, RefutationFault> {
        let trace = self.trace;
        let (x, y) = step.before;
        // For the reasons about locks: `x` must end the section that this acquire opened.
        let opened =
            trace.section_end(x).filter(|_| matches!(trace.op(x), Op::Release(_) | Op::ReleaseShared(_)));
        Ok(match &step.because {
            Reason::Fork => trace.fork_of(trace.thread(y)) == Some(x),
            Reason::Join => matches!(trace.op(y), Op::Join(_)) && trace.link(y).event() == Some(x),
            Reason::Signal => matches!(trace.op(y), Op::Wait(_)) && trace.link(y).event() == Some(x),
            Reason::Barrier => {
                matches!(trace.op(y), Op::BarrierExit(_)) && {
                    let instance = trace.barrier_instance(y);
                    trace.matching().barrier_instances()[instance.index()].enters.contains(&x)
                }
            }
            Reason::ReadsFrom => self.must_see(known, y) == Some(Source::Write(x)),
            Reason::Asked => match self.question {
                Question::Order(events) => events.windows(2).any(|pair| pair == [x, y]),
                _ => false,
            },
            Reason::Exclusion { path } => {
                self.exist(path)?;
                opened.is_some_and(|acquire| {
                    self.exclude(acquire, y)
                        && known.is_needed(self, acquire)
                        && path.first() == Some(&acquire)
                        && self.leads_into(known, path, y)
                })
            }
            Reason::NeverReleased => opened.is_some_and(|acquire| {
                self.exclude(acquire, y) && known.is_needed(self, acquire) && self.never_released(known, y)
            }),
            Reason::BeforeOverwrite { path } => {
                self.exist(path)?;
                let overwrites =
                    x != y && trace.op(x).reads().is_some() && trace.op(x).reads() == trace.op(y).writes();
                overwrites
                    && known.is_needed(self, x)
                    && match self.must_see(known, x) {
                        Some(Source::Initial) => true,
                        Some(Source::Write(source)) => {
                            source != y
                                && path.first() == Some(&source)
                                && path.last() == Some(&y)
                                && known.is_path(self, path)
                        }
                        None => false,
                    }
            }
            Reason::BeforeSource { path } => {
                self.exist(path)?;
                path.first() == Some(&x)
                    && known.is_path(self, path)
                    && path.last().is_some_and(|&read| {
                        x != y
                            && x != read
                            && known.is_needed(self, read)
                            && self.must_see(known, read) == Some(Source::Write(y))
                            && trace.op(x).writes() == trace.op(read).reads()
                    })
            }
        })
    }

    fn is_impossible(&self, known: &Known, end: &End) -> Result<bool, RefutationFault> {
        Ok(match end {
            End::Cycle(events) => {
                self.exist(events)?;
                match (events.first(), events.last()) {
                    (Some(&first), Some(&last)) => {
                        known.is_path(self, events)
                            && known.precedes(self, last, first)
                            && events.iter().any(|&event| known.is_needed(self, event))
                    }
                    _ => false,
                }
            }
            End::CannotHappen(event) => {
                self.exist(&[*event])?;
                known.is_needed(self, *event) && known.cannot_happen(self, *event)
            }
            End::NeverReleased { held, wanted, path } => {
                self.exist(&[*held, *wanted])?;
                self.exist(path)?;
                let after = match path.first() {
                    Some(first) => first == held && self.leads_into(known, path, *wanted),
                    None => self.never_released(known, *wanted),
                };
                after
                    && self.exclude(*held, *wanted)
                    && self.never_released(known, *held)
                    && known.is_needed(self, *held)
                    && known.is_needed(self, *wanted)
            }
            End::NotBlocked(event) => match self.question {
                Question::Deadlock(blocked) => self.is_not_blocked(blocked, *event),
                _ => false,
            },
            End::NoPermits(takes) => {
                self.exist(takes)?;
                self.no_permits(known, takes)
            }
            End::PermitsLeft(take) => {
                self.exist(&[*take])?;
                match (self.question, self.trace.op(*take)) {
                    (Question::Deadlock(blocked), Op::Take(semaphore)) => {
                        blocked.contains(take) && self.permits_left(known, semaphore)
                    }
                    _ => false,
                }
            }
        })
    }

    /// Whether the thread that stands at the next event of the cycle cannot be what blocks this one.
    fn is_not_blocked(&self, blocked: &[EventId], event: EventId) -> bool {
        let Some(index) = blocked.iter().position(|&other| other == event) else { return false };
        let blocker = blocked[(index + 1) % blocked.len()];
        let trace = self.trace;
        let thread = trace.thread(blocker);
        let to_come = |other: EventId| trace.thread(other) == thread && other >= blocker;
        let held_by = |lock: LockId, by_readers: bool| {
            self.threads.of_thread(thread).iter().take_while(|&&e| e < blocker).any(|&acquire| {
                let open = trace.section_end(acquire).is_none_or(|release| release >= blocker);
                self.section(acquire).is_some_and(|(l, shared)| l == lock && open && (by_readers || !shared))
            })
        };
        !match trace.op(event) {
            Op::Acquire(lock) => !trace.is_nested(event) && held_by(lock, true),
            Op::AcquireShared(lock) => !trace.is_nested(event) && held_by(lock, false),
            Op::Request(lock) => held_by(lock, true),
            Op::RequestShared(lock) => held_by(lock, false),
            Op::Join(child) => child == thread,
            Op::Wait(_) => trace.link(event).event().is_some_and(to_come),
            Op::BarrierExit(_) => {
                let instance = trace.barrier_instance(event);
                let enters = &trace.matching().barrier_instances()[instance.index()].enters;
                enters.iter().any(|&enter| to_come(enter))
            }
            Op::Take(semaphore) => self
                .threads
                .of_thread(thread)
                .iter()
                .any(|&e| to_come(e) && trace.op(e) == Op::Post(semaphore)),
            _ => false,
        }
    }

    fn events_with(&self, op: Op) -> impl Iterator<Item = EventId> + '_ {
        self.trace.events().filter(move |&(_, _, other)| other == op).map(|(event, ..)| event)
    }

    /// Whether these takes need more permits than the initial ones and the posts that can come
    /// before any of them.
    fn no_permits(&self, known: &Known, takes: &[EventId]) -> bool {
        let Some(&first) = takes.first() else { return false };
        let Op::Take(semaphore) = self.trace.op(first) else { return false };
        let distinct: HashSet<EventId> = takes.iter().copied().collect();
        let all_needed = takes
            .iter()
            .all(|&take| self.trace.op(take) == Op::Take(semaphore) && known.is_needed(self, take));
        let useful = self.events_with(Op::Post(semaphore)).filter(|&post| {
            !known.cannot_happen(self, post) && takes.iter().any(|&take| !known.follows(self, take, post))
        });
        let permits = self.trace.initial_permits(semaphore) as usize + useful.count();
        distinct.len() == takes.len() && all_needed && takes.len() > permits
    }

    /// Whether more permits are given than takes can ever use.
    fn permits_left(&self, known: &Known, semaphore: SemaphoreId) -> bool {
        let posts = self.events_with(Op::Post(semaphore)).filter(|&post| known.is_needed(self, post));
        let takes = self.events_with(Op::Take(semaphore)).filter(|&take| !known.cannot_happen(self, take));
        takes.count() < self.trace.initial_permits(semaphore) as usize + posts.count()
    }

    /// What is known in each case of a split; `None` if they are not all cases there are.
    fn cases(&self, known: &Known, split: Split) -> Result<Option<Vec<Known>>, RefutationFault> {
        let trace = self.trace;
        let with = |facts: &[(EventId, EventId)]| {
            let mut case = known.clone();
            facts.iter().for_each(|&(x, y)| case.learn(self, x, y));
            case
        };
        Ok(match split {
            Split::Sections(a, b) => {
                self.exist(&[a, b])?;
                let both = known.is_needed(self, a) && known.is_needed(self, b) && self.exclude(a, b);
                match (trace.section_end(a), trace.section_end(b)) {
                    (Some(end_a), Some(end_b)) if both => {
                        Some(vec![with(&[(end_a, b)]), with(&[(end_b, a)])])
                    }
                    _ => None,
                }
            }
            Split::Overwrite { read, write } => {
                self.exist(&[read, write])?;
                let overwrites = trace.op(write).writes().is_some()
                    && trace.op(write).writes() == trace.op(read).reads()
                    && write != read
                    && known.is_needed(self, read);
                match self.must_see(known, read) {
                    Some(Source::Write(source)) if overwrites && source != write => {
                        Some(vec![with(&[(write, source)]), with(&[(read, write)])])
                    }
                    _ => None,
                }
            }
            Split::Supply { post, take } => {
                self.exist(&[post, take])?;
                known.is_needed(self, take).then(|| vec![with(&[(post, take)]), with(&[(take, post)])])
            }
            Split::Happens(event) => {
                self.exist(&[event])?;
                let (mut happens, mut stops) = (known.clone(), known.clone());
                happens.need(self, event);
                happens.spread(self);
                let stop = &mut stops.stop[trace.thread(event).index()];
                *stop = (*stop).min(self.threads.place(event) as u32);
                Some(vec![happens, stops])
            }
            Split::Source(read) => {
                self.exist(&[read])?;
                (*self.question == Question::Reads(read, None)).then(|| self.sources(known, read))
            }
        })
    }

    /// One case for everything a read could see but what it saw in the trace.
    fn sources(&self, known: &Known, read: EventId) -> Vec<Known> {
        let trace = self.trace;
        let seen = trace.reads_from(read);
        let initial = seen.is_some().then_some(Source::Initial);
        let writes = trace
            .events()
            .filter(|&(event, _, op)| {
                op.writes().is_some()
                    && op.writes() == trace.op(read).reads()
                    && event != read
                    && Some(event) != seen
            })
            .map(|(event, ..)| Source::Write(event));
        let case = |source| Known { source: Some((read, source)), ..known.clone() };
        initial.into_iter().chain(writes).map(case).collect()
    }
}
