//! Verifies a refutation: every step must follow from the trace, the question, the enclosing cases
//! or earlier steps, and every scope must end in something impossible.
//!
//! One pass over the list, with a stack of open splits. What is known (`facts.rs`) is undone where a scope ends.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;

use trace::{EventId, LockId, Op, SemaphoreId, ThreadEvents, Trace};

use crate::evidence::{End, Reason, Refutation, Split, Step};
use crate::facts::{Assumption, Facts, Mark};
use crate::memory::Memory;
use crate::question::{Model, Question, QuestionError, Source};

/// What is wrong with a refutation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message is its documentation")]
pub enum RefutationFault {
    #[error("the question makes no sense: {0}")]
    NoQuestion(#[from] QuestionError),
    #[error("step {step}: {problem}")]
    Step { step: usize, problem: StepProblem },
    #[error("the refutation stops before it is complete")]
    Unfinished,
}

/// What is wrong with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message is its documentation")]
pub enum StepProblem {
    #[error("event {0} is named, but the trace does not have it")]
    NoSuchEvent(EventId),
    #[error("the order does not follow")]
    Unfounded,
    #[error("the end does not follow")]
    NotImpossible,
    #[error("the cases are not all the cases there are")]
    NotExhaustive,
    #[error("such a step cannot be here")]
    Misplaced,
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
    let facts = Facts::of_question(trace, &threads, question);
    let memory = match question.is_by_memory_order(model) {
        true => Memory::of(trace, &threads),
        false => Memory::default(),
    };
    let mut checker = Checker {
        trace,
        threads: &threads,
        question,
        model,
        memory,
        facts,
        open: Vec::new(),
        done: false,
        sources_of_read: OnceCell::new(),
    };
    for (number, step) in refutation.steps.iter().enumerate() {
        checker.check(step).map_err(|problem| RefutationFault::Step { step: number, problem })?;
    }
    if checker.done { Ok(()) } else { Err(RefutationFault::Unfinished) }
}

struct Checker<'a> {
    trace: &'a Trace,
    threads: &'a ThreadEvents,
    question: &'a Question,
    model: Model,
    /// Which reads are exempt and what is in order, if memory orders decide that.
    memory: Memory,
    facts: Facts<'a>,
    /// The splits whose cases are not all refuted yet, innermost last.
    open: Vec<OpenSplit>,
    /// Whether the outermost scope has ended.
    done: bool,
    /// What the read of the question could see, once a split has asked for it.
    sources_of_read: OnceCell<Rc<[Assumption]>>,
}

/// A split whose cases are not all refuted yet.
struct OpenSplit {
    /// What each case assumes.
    cases: Cases,
    /// How many cases have begun.
    begun: usize,
    /// What was known before the current case; nothing between two cases.
    case: Option<Mark>,
}

/// What each case of a split assumes.
enum Cases {
    Two([Assumption; 2]),
    /// Everything that the read of the question could see: the same each time, however often a refutation asks for it.
    Sources(Rc<[Assumption]>),
}

impl Cases {
    fn all(&self) -> &[Assumption] {
        match self {
            Cases::Two(cases) => cases,
            Cases::Sources(cases) => cases,
        }
    }
}

impl Checker<'_> {
    fn check(&mut self, step: &Step) -> Result<(), StepProblem> {
        // Between the cases of a split nothing but the next case or the end of all of them makes sense.
        let in_scope = !self.done && self.open.last().is_none_or(|split| split.case.is_some());
        match step {
            Step::Order { before: (x, y), because } if in_scope => {
                self.exist(&[*x, *y])?;
                if !self.is_founded(*x, *y, because)? {
                    return Err(StepProblem::Unfounded);
                }
                self.facts.learn(*x, *y);
            }
            Step::Split { split } if in_scope => {
                let cases = self.cases(*split)?.ok_or(StepProblem::NotExhaustive)?;
                self.open.push(OpenSplit { cases, begun: 0, case: None });
            }
            Step::Case { case } if !in_scope => {
                let split = self.open.last_mut().ok_or(StepProblem::Misplaced)?;
                let assumption = *split.cases.all().get(*case).ok_or(StepProblem::NotExhaustive)?;
                if *case != split.begun {
                    return Err(StepProblem::Misplaced);
                }
                split.begun += 1;
                split.case = Some(self.facts.mark());
                self.facts.assume(assumption);
            }
            Step::End { end: End::EveryCase } if !in_scope => {
                let split = self.open.pop().ok_or(StepProblem::Misplaced)?;
                if split.begun != split.cases.all().len() {
                    return Err(StepProblem::NotExhaustive);
                }
                self.end_scope();
            }
            Step::End { end } if in_scope => {
                if !self.is_impossible(end)? {
                    return Err(StepProblem::NotImpossible);
                }
                self.end_scope();
            }
            _ => return Err(StepProblem::Misplaced),
        }
        Ok(())
    }

    /// The current scope is refuted: facts derived in it are dropped.
    fn end_scope(&mut self) {
        match self.open.last_mut().map(|split| split.case.take()) {
            Some(Some(mark)) => self.facts.undo_to(mark),
            Some(None) => unreachable!("a scope ends only where one is open"),
            None => self.done = true,
        }
    }

    fn exist(&self, events: &[EventId]) -> Result<(), StepProblem> {
        match events.iter().find(|event| event.index() >= self.trace.len()) {
            Some(&event) => Err(StepProblem::NoSuchEvent(event)),
            None => Ok(()),
        }
    }

    /// What a read must see whenever it happens.
    fn must_see(&self, read: EventId) -> Option<Source> {
        let trace = self.trace;
        trace.op(read).reads()?;
        if let Some(source) = self.facts.source_of(read) {
            return Some(source);
        }
        if self.question.exempts(read) || self.memory.exempts(read) {
            return None;
        }
        let bound = match self.model {
            Model::Sync => false,
            Model::ReadsFrom => true,
            Model::Branch => self.goes_beyond_branch(read),
        };
        bound.then(|| trace.reads_from(read).map_or(Source::Initial, Source::Write))
    }

    /// Whether the thread of a read must take a branch after it and then go on.
    fn goes_beyond_branch(&self, read: EventId) -> bool {
        let after = self.facts.needed_after(read).iter();
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
    fn leads_into(&self, path: &[EventId], acquire: EventId) -> bool {
        let Some(&last) = path.last() else { return false };
        let ends = self.trace.section_end(acquire);
        self.trace.thread(last) == self.trace.thread(acquire)
            && ends.is_none_or(|release| last <= release)
            && self.facts.is_path(path)
    }

    fn never_released(&self, acquire: EventId) -> bool {
        self.trace.section_end(acquire).is_none_or(|release| self.facts.cannot_happen(release))
    }

    /// Whether an order follows for a reason.
    fn is_founded(&self, x: EventId, y: EventId, because: &Reason) -> Result<bool, StepProblem> {
        let trace = self.trace;
        // For the reasons about locks: `x` must end the section that this acquire opened.
        let opened =
            trace.section_end(x).filter(|_| matches!(trace.op(x), Op::Release(_) | Op::ReleaseShared(_)));
        Ok(match because {
            Reason::Fork => trace.fork_of(trace.thread(y)) == Some(x),
            Reason::Join => matches!(trace.op(y), Op::Join(_)) && trace.link(y).event() == Some(x),
            Reason::Signal => matches!(trace.op(y), Op::Wait(_)) && trace.link(y).event() == Some(x),
            Reason::Barrier => {
                matches!(trace.op(y), Op::BarrierExit(_)) && {
                    let instance = trace.barrier_instance(y);
                    trace.matching().barrier_instances()[instance.index()].enters.contains(&x)
                }
            }
            Reason::ReadsFrom => self.must_see(y) == Some(Source::Write(x)),
            Reason::Synchronises => self.memory.puts_before(trace, self.threads, x, y),
            Reason::Asked => match self.question {
                Question::Order(events) => events.windows(2).any(|pair| pair == [x, y]),
                _ => false,
            },
            Reason::Exclusion { path } => {
                self.exist(path)?;
                opened.is_some_and(|acquire| {
                    self.exclude(acquire, y)
                        && self.facts.is_needed(acquire)
                        && path.first() == Some(&acquire)
                        && self.leads_into(path, y)
                })
            }
            Reason::NeverReleased => opened.is_some_and(|acquire| {
                self.exclude(acquire, y) && self.facts.is_needed(acquire) && self.never_released(y)
            }),
            Reason::BeforeOverwrite { path } => {
                self.exist(path)?;
                let overwrites =
                    x != y && trace.op(x).reads().is_some() && trace.op(x).reads() == trace.op(y).writes();
                overwrites
                    && self.facts.is_needed(x)
                    && match self.must_see(x) {
                        Some(Source::Initial) => true,
                        Some(Source::Write(source)) => {
                            source != y
                                && path.first() == Some(&source)
                                && path.last() == Some(&y)
                                && self.facts.is_path(path)
                        }
                        None => false,
                    }
            }
            Reason::BeforeSource { path } => {
                self.exist(path)?;
                path.first() == Some(&x)
                    && self.facts.is_path(path)
                    && path.last().is_some_and(|&read| {
                        x != y
                            && x != read
                            && self.facts.is_needed(read)
                            && self.must_see(read) == Some(Source::Write(y))
                            && trace.op(x).writes() == trace.op(read).reads()
                    })
            }
        })
    }

    fn is_impossible(&self, end: &End) -> Result<bool, StepProblem> {
        Ok(match end {
            End::EveryCase => false,
            End::Cycle(events) => {
                self.exist(events)?;
                match (events.first(), events.last()) {
                    (Some(&first), Some(&last)) => {
                        self.facts.is_path(events)
                            && self.facts.precedes(last, first)
                            && events.iter().any(|&event| self.facts.is_needed(event))
                    }
                    _ => false,
                }
            }
            End::CannotHappen(event) => {
                self.exist(&[*event])?;
                self.facts.is_needed(*event) && self.facts.cannot_happen(*event)
            }
            End::NeverReleased { held, wanted, path } => {
                self.exist(&[*held, *wanted])?;
                self.exist(path)?;
                let after = match path.first() {
                    Some(first) => first == held && self.leads_into(path, *wanted),
                    None => self.never_released(*wanted),
                };
                after
                    && self.exclude(*held, *wanted)
                    && self.never_released(*held)
                    && self.facts.is_needed(*held)
                    && self.facts.is_needed(*wanted)
            }
            End::NotBlocked(event) => match self.question {
                Question::Deadlock(blocked) => self.is_not_blocked(blocked, *event),
                _ => false,
            },
            End::NoPermits(takes) => {
                self.exist(takes)?;
                self.no_permits(takes)
            }
            End::PermitsLeft(take) => {
                self.exist(&[*take])?;
                match (self.question, self.trace.op(*take)) {
                    (Question::Deadlock(blocked), Op::Take(semaphore)) => {
                        blocked.contains(take) && self.permits_left(semaphore)
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
    fn no_permits(&self, takes: &[EventId]) -> bool {
        let Some(&first) = takes.first() else { return false };
        let Op::Take(semaphore) = self.trace.op(first) else { return false };
        let distinct: HashSet<EventId> = takes.iter().copied().collect();
        let all_needed = takes
            .iter()
            .all(|&take| self.trace.op(take) == Op::Take(semaphore) && self.facts.is_needed(take));
        let useful = self.events_with(Op::Post(semaphore)).filter(|&post| {
            !self.facts.cannot_happen(post) && takes.iter().any(|&take| !self.facts.follows(take, post))
        });
        let permits = self.trace.initial_permits(semaphore) as usize + useful.count();
        distinct.len() == takes.len() && all_needed && takes.len() > permits
    }

    /// Whether more permits are given than takes can ever use.
    fn permits_left(&self, semaphore: SemaphoreId) -> bool {
        let posts = self.events_with(Op::Post(semaphore)).filter(|&post| self.facts.is_needed(post));
        let takes = self.events_with(Op::Take(semaphore)).filter(|&take| !self.facts.cannot_happen(take));
        takes.count() < self.trace.initial_permits(semaphore) as usize + posts.count()
    }

    /// What each case of a split assumes; `None` if they are not all cases there are.
    fn cases(&self, split: Split) -> Result<Option<Cases>, StepProblem> {
        let trace = self.trace;
        let either = |(a, b), (c, d)| Cases::Two([Assumption::Before(a, b), Assumption::Before(c, d)]);
        Ok(match split {
            Split::Sections(a, b) => {
                self.exist(&[a, b])?;
                let both = self.facts.is_needed(a) && self.facts.is_needed(b) && self.exclude(a, b);
                match (trace.section_end(a), trace.section_end(b)) {
                    (Some(end_a), Some(end_b)) if both => Some(either((end_a, b), (end_b, a))),
                    _ => None,
                }
            }
            Split::Overwrite { read, write } => {
                self.exist(&[read, write])?;
                let overwrites = trace.op(write).writes().is_some()
                    && trace.op(write).writes() == trace.op(read).reads()
                    && write != read
                    && self.facts.is_needed(read);
                match self.must_see(read) {
                    Some(Source::Write(source)) if overwrites && source != write => {
                        Some(either((write, source), (read, write)))
                    }
                    _ => None,
                }
            }
            Split::Supply { post, take } => {
                self.exist(&[post, take])?;
                self.facts.is_needed(take).then(|| either((post, take), (take, post)))
            }
            Split::Happens(event) => {
                self.exist(&[event])?;
                Some(Cases::Two([Assumption::Happens(event), Assumption::Absent(event)]))
            }
            Split::Source(read) => {
                self.exist(&[read])?;
                (*self.question == Question::Reads(read, None)).then(|| {
                    let sources = self.sources_of_read.get_or_init(|| self.sources(read).into());
                    Cases::Sources(sources.clone())
                })
            }
        })
    }

    /// One case for everything a read could see but what it saw in the trace.
    fn sources(&self, read: EventId) -> Vec<Assumption> {
        let trace = self.trace;
        let seen = trace.reads_from(read);
        let initial = seen.is_some().then_some(Source::Initial);
        let is_other_write = |&(event, _, op): &(EventId, _, Op)| {
            op.writes().is_some()
                && op.writes() == trace.op(read).reads()
                && event != read
                && Some(event) != seen
        };
        let writes = trace.events().filter(is_other_write).map(|(event, ..)| Source::Write(event));
        initial.into_iter().chain(writes).map(|source| Assumption::Sees(read, source)).collect()
    }
}
