//! What can be asked about a trace, and under which model.
//!
//! A *schedule* is a sequence of some events of the trace such that
//! 1. with an event, everything before it in its thread is in it, in the same order;
//! 2. a thread's events come after its fork, a join after the last event of the joined thread;
//! 3. a wait comes after the signal that woke it, a barrier's exit after all enters of its
//!    instance, and no more takes of a semaphore happen than its permits so far allow;
//! 4. no two sections of a lock overlap, unless both are shared or of one thread; a section still
//!    open at the end keeps the others out;
//! 5. reads see what the [`Model`] demands.
//!
//! A [`Question`] asks whether there is a schedule of a certain kind.

mod json;

use std::collections::{BTreeMap, HashSet};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use trace::{Access, BlockId, BlockNames, EventId, Op, SemaphoreId, ThreadId, Trace};

/// What is demanded of the reads in a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Nothing.
    Sync,
    /// Every read sees the write it saw in the trace, except the reads the question names.
    #[serde(rename = "rf")]
    ReadsFrom,
    /// As `ReadsFrom`, but only for reads after which their thread takes a branch before the last
    /// event it contributes.
    Branch,
}

impl Model {
    /// All models.
    pub const ALL: [Model; 3] = [Model::Sync, Model::ReadsFrom, Model::Branch];

    /// The name in files and on the command line: `sync`, `rf` or `branch`.
    pub fn name(self) -> &'static str {
        match self {
            Model::Sync => "sync",
            Model::ReadsFrom => "rf",
            Model::Branch => "branch",
        }
    }
}

/// A name that no model has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown model `{0}`; expected `sync`, `rf` or `branch`")]
pub struct UnknownModel(pub String);

impl FromStr for Model {
    type Err = UnknownModel;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let named = Model::ALL.into_iter().find(|model| model.name() == name);
        named.ok_or_else(|| UnknownModel(name.to_owned()))
    }
}

/// Where a read gets its value from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The value the variable started with.
    Initial,
    /// This write.
    Write(EventId),
}

/// Asks for a schedule of a trace.
///
/// `Counts` is how a cut names threads: by id, or by name where there is no trace ([`WrittenQuestion`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Question<Counts = Vec<u32>> {
    /// Both events are next: all before them in their threads has happened, and they have not.
    #[serde(with = "json::race")]
    Race(EventId, EventId),
    /// Each event is the next of its thread, and cannot happen because of the next in the cycle:
    ///
    /// - an acquire or request: the next one's thread holds the lock in a form that excludes it;
    /// - a join: it is of the next one's thread;
    /// - a wait: the signal that woke it is yet to come in the next one's thread;
    /// - a barrier's exit: an enter of its instance is yet to come in the next one's thread;
    /// - a take: no permit is left, and a post is yet to come in the next one's thread; threads outside the cycle have no post
    ///   to its semaphore left, but for threads that are created only after an event of the cycle.
    ///
    /// So a thread outside the cycle that has a post left but cannot get there either hides the cycle.
    Deadlock(Vec<EventId>),
    /// The events happen in this order.
    Order(Vec<EventId>),
    /// The read sees this; `None`: anything but what it saw in the trace.
    #[serde(with = "json::reads")]
    Reads(EventId, Option<Source>),
    /// Exactly this many events of each thread happen; of threads that are missing, none.
    Cut(Counts),
}

/// A question as files hold it: a cut names threads as the trace does.
pub type WrittenQuestion = Question<BTreeMap<String, u32>>;

/// A question that makes no sense about this trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message is its documentation")]
pub enum QuestionError {
    #[error("there is no event {event}: the trace has {events} events, numbered from 0")]
    NoSuchEvent { event: EventId, events: usize },
    #[error("event {0} is named twice")]
    NamedTwice(EventId),
    #[error("events {0} and {1} cannot race: {2}")]
    NotConflicting(EventId, EventId, &'static str),
    #[error("a deadlock needs at least two events, one for each thread in the cycle")]
    CycleTooShort,
    #[error(
        "events {0} and {1} are of the same thread; a deadlock has one event for each thread in the cycle"
    )]
    SameThread(EventId, EventId),
    #[error(
        "event {0} cannot block: it is not an acquire, request, join, wait, barrier exit or semaphore take"
    )]
    CannotBlock(EventId),
    #[error("an order needs at least two events")]
    OrderTooShort,
    #[error("event {0} is not a read")]
    NotARead(EventId),
    #[error("event {1} does not write the variable that event {0} reads")]
    NotItsWriter(EventId, EventId),
    #[error("thread {thread} has only {has} events, but the cut wants {wants}")]
    CutTooLong { thread: String, has: usize, wants: u32 },
    #[error("the cut names thread `{0}`, which the trace does not have")]
    NoSuchThread(String),
    #[error("the cut names {named} threads, but the trace has {threads}")]
    CutTooWide { named: usize, threads: usize },
}

impl<Counts> Question<Counts> {
    /// The same question with a cut of another form.
    fn map_cut<Other, E>(&self, cut: impl FnOnce(&Counts) -> Result<Other, E>) -> Result<Question<Other>, E> {
        Ok(match self {
            Question::Race(a, b) => Question::Race(*a, *b),
            Question::Deadlock(events) => Question::Deadlock(events.clone()),
            Question::Order(events) => Question::Order(events.clone()),
            Question::Reads(read, source) => Question::Reads(*read, *source),
            Question::Cut(counts) => Question::Cut(cut(counts)?),
        })
    }
}

impl WrittenQuestion {
    /// The question about this trace. It may make no sense: see [`Question::validate`].
    pub fn about(&self, trace: &Trace) -> Result<Question, QuestionError> {
        self.map_cut(|counts| {
            let threads = &trace.symbols().threads;
            if let Some(unknown) = counts.keys().find(|name| threads.find(name).is_none()) {
                return Err(QuestionError::NoSuchThread(unknown.clone()));
            }
            Ok(threads.iter().map(|name| counts.get(name).copied().unwrap_or(0)).collect())
        })
    }
}

impl Question {
    /// The question as files hold it, with the names of this trace.
    pub fn written(&self, trace: &Trace) -> WrittenQuestion {
        let written = self.map_cut(|counts| {
            let threads = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
            let name = |index| trace.symbols().thread(ThreadId::new(index)).to_owned();
            Ok::<_, std::convert::Infallible>(threads.map(|(index, &count)| (name(index), count)).collect())
        });
        match written {
            Ok(written) => written,
        }
    }

    /// Whether the question makes sense about this trace.
    pub fn validate(&self, trace: &Trace) -> Result<(), QuestionError> {
        for event in self.named() {
            if event.index() >= trace.len() {
                return Err(QuestionError::NoSuchEvent { event, events: trace.len() });
            }
        }
        match self {
            Question::Race(a, b) => conflicting(trace, *a, *b),
            Question::Deadlock(blocked) => can_deadlock(trace, blocked),
            Question::Order(events) if events.len() < 2 => Err(QuestionError::OrderTooShort),
            Question::Order(events) => distinct(events),
            Question::Reads(read, source) => {
                let variable = trace.op(*read).reads().ok_or(QuestionError::NotARead(*read))?;
                match source {
                    Some(Source::Write(write))
                        if write == read || trace.op(*write).writes() != Some(variable) =>
                    {
                        Err(QuestionError::NotItsWriter(*read, *write))
                    }
                    _ => Ok(()),
                }
            }
            Question::Cut(counts) => within_threads(trace, counts),
        }
    }

    /// The events it names, in its order.
    pub fn named(&self) -> Vec<EventId> {
        match self {
            Question::Race(a, b) => vec![*a, *b],
            Question::Deadlock(events) | Question::Order(events) => events.clone(),
            Question::Reads(read, Some(Source::Write(write))) => vec![*read, *write],
            Question::Reads(read, _) => vec![*read],
            Question::Cut(_) => Vec::new(),
        }
    }

    /// The last posts of threads outside a deadlock by which they could end it: the schedule must contain them, for then
    /// it did not help. Threads that are created only after an event of the deadlock cannot help.
    pub fn spent_posts(&self, trace: &Trace) -> Vec<EventId> {
        let Question::Deadlock(blocked) = self else { return Vec::new() };
        let taken = |&event: &EventId| match trace.op(event) {
            Op::Take(semaphore) => Some(semaphore),
            _ => None,
        };
        let taken: HashSet<SemaphoreId> = blocked.iter().filter_map(taken).collect();
        if taken.is_empty() {
            return Vec::new();
        }
        let threads = trace.symbols().threads.len();
        let (mut last, mut stands) = (vec![None; threads], vec![None; threads]);
        for (event, thread, op) in trace.events() {
            if let Op::Post(semaphore) = op
                && taken.contains(&semaphore)
            {
                last[thread.index()] = Some(event);
            }
        }
        blocked.iter().for_each(|&event| stands[trace.thread(event).index()] = Some(event));
        let created_late = created_late(trace, &stands);
        let can_help = |&post: &EventId| {
            let thread = trace.thread(post).index();
            stands[thread].is_none() && !created_late[thread]
        };
        last.into_iter().flatten().filter(can_help).collect()
    }

    /// Whether memory orders decide which reads must see what they saw: only those that synchronise, in a question about a race under
    /// `rf`. The other models ask for less of reads already.
    pub fn is_by_memory_order(&self, model: Model) -> bool {
        matches!(self, Question::Race(..)) && model == Model::ReadsFrom
    }

    /// Whether it exempts this read from what the model demands.
    pub fn exempts(&self, read: EventId) -> bool {
        match self {
            Question::Order(events) => events.contains(&read),
            Question::Reads(named, _) => *named == read,
            Question::Race(..) | Question::Deadlock(_) | Question::Cut(_) => false,
        }
    }
}

/// By thread: whether it, or one it is created by, is created only where a thread stands. Each thread is looked at once, however long
/// the line of its parents is.
fn created_late(trace: &Trace, stands: &[Option<EventId>]) -> Vec<bool> {
    let mut late: Vec<Option<bool>> = vec![None; stands.len()];
    let mut line = Vec::new();
    for thread in (0..stands.len()).map(ThreadId::new) {
        let mut next = Some(thread);
        let mut is_late = false;
        // Forks come before what they fork, so this ends: no line is longer than there are threads.
        while let Some(thread) = next.filter(|_| line.len() < stands.len()) {
            if let Some(known) = late[thread.index()] {
                is_late = known;
                break;
            }
            line.push(thread);
            let fork = trace.fork_of(thread);
            let parent = fork.map(|fork| (fork, trace.thread(fork)));
            if parent.is_some_and(|(fork, parent)| stands[parent.index()].is_some_and(|next| next <= fork)) {
                is_late = true;
                break;
            }
            next = parent.map(|(_, parent)| parent);
        }
        line.drain(..).for_each(|thread| late[thread.index()] = Some(is_late));
    }
    late.into_iter().map(|late| late == Some(true)).collect()
}

fn distinct(events: &[EventId]) -> Result<(), QuestionError> {
    let mut sorted = events.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(QuestionError::NamedTwice(pair[0])),
        None => Ok(()),
    }
}

fn conflicting(trace: &Trace, a: EventId, b: EventId) -> Result<(), QuestionError> {
    let refuse = |why| Err(QuestionError::NotConflicting(a, b, why));
    let is_same_thread = trace.thread(a) == trace.thread(b);
    let (one, other) = (trace.op(a), trace.op(b));
    if let Some((block, access)) = block_and_access(one, other).or_else(|| block_and_access(other, one)) {
        let blocks = BlockNames::of(trace.symbols());
        let is_inside = blocks.block_of(trace.symbols().variable(access.variable)) == Some(block);
        return match (is_same_thread, is_inside) {
            (true, _) => refuse("they are of the same thread"),
            (false, false) => refuse("the block does not hold the variable"),
            (false, true) => Ok(()),
        };
    }
    let (Some(x), Some(y)) = (one.access(), other.access()) else {
        return refuse("both must read or write a variable");
    };
    if is_same_thread {
        return refuse("they are of the same thread");
    }
    if x.variable != y.variable {
        return refuse("they access different variables");
    }
    if !x.writes && !y.writes {
        return refuse("neither is a write");
    }
    if x.atomic && y.atomic {
        return refuse("both are atomic");
    }
    Ok(())
}

/// Allocating and freeing a block is as a write of all that it holds.
fn block_and_access(one: Op, other: Op) -> Option<(BlockId, Access)> {
    match one {
        Op::Allocate(block) | Op::Free(block) => Some((block, other.access()?)),
        _ => None,
    }
}

fn can_deadlock(trace: &Trace, blocked: &[EventId]) -> Result<(), QuestionError> {
    if blocked.len() < 2 {
        return Err(QuestionError::CycleTooShort);
    }
    distinct(blocked)?;
    let mut by_thread: Vec<(ThreadId, EventId)> = blocked.iter().map(|&e| (trace.thread(e), e)).collect();
    by_thread.sort_unstable();
    if let Some(pair) = by_thread.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(QuestionError::SameThread(pair[0].1, pair[1].1));
    }
    match blocked.iter().find(|&&event| !trace.op(event).can_block()) {
        Some(&event) => Err(QuestionError::CannotBlock(event)),
        None => Ok(()),
    }
}

fn within_threads(trace: &Trace, counts: &[u32]) -> Result<(), QuestionError> {
    let threads = trace.symbols().threads.len();
    if counts.len() > threads {
        return Err(QuestionError::CutTooWide { named: counts.len(), threads });
    }
    let mut has = vec![0usize; threads];
    for (_, thread, _) in trace.events() {
        has[thread.index()] += 1;
    }
    for (thread, (&wants, &has)) in counts.iter().zip(&has).enumerate() {
        if wants as usize > has {
            let thread = trace.symbols().threads.get(thread).to_owned();
            return Err(QuestionError::CutTooLong { thread, has, wants });
        }
    }
    Ok(())
}
