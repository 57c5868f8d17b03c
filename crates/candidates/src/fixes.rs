//! Fixes: which lock to hold where, so that a race or an atomicity violation cannot happen.
//!
//! The lock is one that most other accesses of the same variable hold, of those that can come at the same time. The change is made to the recording (`edit.rs`): at every
//! event of the same operation at the same place in the source, since a change there concerns them all. Then the engine is
//! asked again.
//!
//! Several bugs of one cause have one fix: the change is made at the places of all of them.
//!
//! Promise: with the change, each of the bugs is infeasible even if reads may see anything (`sync`), and every deadlock that is
//! feasible then, by its places in the source, was feasible before. What the engine leaves open is not suggested. The changed
//! recording is a legal trace in which all reads see what they saw, but for those of the variable itself.
//!
//! Cost: a few walks over the trace for each lock that is tried, a question, and a search for deadlocks.

mod edit;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use check::{Model, Question};
use decide::{Index, Options, Verdict};
use findings::LockMistake;
use order::{HeldLocks, LockHold, ReadOrder};
use trace::{EventId, LocationId, LockId, Op, Trace, VariableId};

pub use edit::{Edited, Span};

use crate::deadlocks::{self, DeadlockLimits};
use crate::{Report, SearchSettings};

/// A longer trace is not changed: each attempt is a trace of its own.
pub const LONGEST_TRACE: usize = 1_000_000;
/// The number of locks to try.
const MOST_LOCKS: usize = 2;
/// From this number of accesses on it says something that most of them do not hold a lock.
const ENOUGH_TO_TELL: usize = 8;
/// How far to look for deadlocks: what is left open is not suggested.
const DEADLOCKS: DeadlockLimits = DeadlockLimits {
    each: crate::PatternLimits { instances: 4, share: 100, tries: 64, ..crate::PatternLimits::GENEROUS },
    patterns: 64,
    steps: 200_000,
    run_ups: 2_000,
};

/// A lock to hold, verified.
#[derive(Clone, Debug)]
pub struct VerifiedLock {
    /// The lock.
    pub lock: LockId,
    /// What is wrong.
    pub mistake: LockMistake,
    /// The lock that is held instead, if it is another.
    pub instead_of: Option<LockId>,
    /// Where to hold it, for each place in the source one stretch of the recording.
    pub spans: Vec<Span>,
    /// How many other accesses of the variable hold it.
    pub held: u64,
    /// How many other accesses there are.
    pub accesses: u64,
    /// The recording with the change.
    pub edited: Edited,
}

/// What is held at an access of the variable in question.
struct AccessHolds {
    event: EventId,
    holds: Vec<LockHold>,
}

impl AccessHolds {
    fn has(&self, lock: LockId) -> bool {
        self.holds.iter().any(|hold| hold.lock == lock)
    }
}

/// Whether an access can come at the same time as one of the named ones, as far as forks, joins, signals and barriers leave a choice. Others, by
/// who creates the threads before and after they run, need no lock.
fn may_contend(setup: &Index<'_>, access: EventId, named: &[EventId]) -> bool {
    let must = setup.must_order(ReadOrder::Free);
    let trace = setup.trace();
    named.iter().any(|&other| {
        trace.thread(other) != trace.thread(access)
            && !must.precedes(setup, access, other)
            && !must.precedes(setup, other, access)
    })
}

/// Whether at least half of these accesses hold a lock, if there are enough of them to tell: one that few hold is there for something else.
fn is_usual_at(lock: LockId, accesses: &[&AccessHolds]) -> bool {
    accesses.len() < ENOUGH_TO_TELL
        || 2 * accesses.iter().filter(|access| access.has(lock)).count() >= accesses.len()
}

/// A lock that makes races and atomicity violations (`a < c < b`) infeasible, all of them together; none if no other access holds one
/// that does.
pub fn suggest_lock(setup: &Index<'_>, questions: &[Question], options: Options) -> Option<VerifiedLock> {
    let trace = setup.trace();
    if trace.len() > LONGEST_TRACE {
        return None;
    }
    let mut stretches = Vec::new();
    for question in questions {
        stretches.extend(stretches_of(setup, question)?);
    }
    stretches.sort_unstable();
    stretches.dedup();
    let named: Vec<EventId> = questions.iter().flat_map(Question::named).collect();
    let variable_of = |event: &EventId| trace.op(*event).access().map(|access| access.variable);
    let mut variables: Vec<VariableId> = named.iter().map(variable_of).collect::<Option<_>>()?;
    variables.sort_unstable();
    variables.dedup();
    let accesses = accesses_of(trace, &variables);
    let places: HashSet<(Op, LocationId)> = named.iter().map(|&event| place(trace, event)).collect();
    let is_named = |event: EventId| places.contains(&place(trace, event));
    let others: Vec<&AccessHolds> = accesses.iter().filter(|access| !is_named(access.event)).collect();
    let contending: Vec<&AccessHolds> =
        others.iter().filter(|access| may_contend(setup, access.event, &named)).copied().collect();
    let locks = ranked(&accesses, &is_named).into_iter();
    locks.filter(|&lock| is_usual_at(lock, &contending)).take(MOST_LOCKS).find_map(|lock| {
        let attempt = Attempt { setup, questions, options, accesses: &accesses, variables: &variables, lock };
        let held = others.iter().filter(|access| access.has(lock)).count();
        attempt.fix(&stretches, held as u64, others.len() as u64)
    })
}

/// What must not be interrupted, and by what: accesses of one variable.
fn stretches_of(setup: &Index<'_>, question: &Question) -> Option<Vec<(EventId, EventId)>> {
    let trace = setup.trace();
    let stretches = match question {
        Question::Race(a, b) => vec![statement(setup, *a), statement(setup, *b)],
        Question::Order(events) => match events[..] {
            [a, c, b] if trace.thread(a) == trace.thread(b) && trace.thread(c) != trace.thread(a) => {
                vec![(a, b), statement(setup, c)]
            }
            _ => return None,
        },
        _ => return None,
    };
    let variable = trace.op(stretches[0].0).access()?.variable;
    let is_about_it =
        |event: EventId| trace.op(event).access().is_some_and(|access| access.variable == variable);
    question.named().into_iter().all(is_about_it).then_some(stretches)
}

/// An access, and the other half of it if it is one of a read and a write that are one statement: `x++`.
fn statement(setup: &Index<'_>, access: EventId) -> (EventId, EventId) {
    let trace = setup.trace();
    let events = setup.threads().of_thread(trace.thread(access));
    let place = setup.threads().place(access);
    let is_half = |read: EventId, write: EventId| match (trace.op(read), trace.op(write)) {
        (Op::Read(read_of), Op::Write(written)) => {
            read_of == written && trace.location(read) == trace.location(write)
        }
        _ => false,
    };
    let previous = place.checked_sub(1).map(|place| events[place]);
    if let Some(read) = previous.filter(|&read| is_half(read, access)) {
        return (read, access);
    }
    match events.get(place + 1) {
        Some(&write) if is_half(access, write) => (access, write),
        _ => (access, access),
    }
}

/// An operation at a place in the source.
fn place(trace: &Trace, event: EventId) -> (Op, LocationId) {
    (trace.op(event), trace.location(event))
}

/// Whether two events are one operation at one place in the source.
fn is_like(trace: &Trace, event: EventId, other: EventId) -> bool {
    place(trace, event) == place(trace, other)
}

fn accesses_of(trace: &Trace, variables: &[VariableId]) -> Vec<AccessHolds> {
    let mut held = HeldLocks::default();
    let mut accesses = Vec::new();
    for (event, thread, op) in trace.events() {
        held.step(thread, op);
        if op.access().is_some_and(|access| variables.contains(&access.variable)) {
            accesses.push(AccessHolds { event, holds: held.sets().holds(held.by(thread)).to_vec() });
        }
    }
    accesses
}

/// The locks that are held at accesses, those held at most of the others first.
fn ranked(accesses: &[AccessHolds], is_named: &dyn Fn(EventId) -> bool) -> Vec<LockId> {
    let mut counts: BTreeMap<LockId, (usize, usize)> = BTreeMap::new();
    for access in accesses {
        for hold in &access.holds {
            let (others, all) = counts.entry(hold.lock).or_default();
            *others += usize::from(!is_named(access.event));
            *all += 1;
        }
    }
    let mut locks: Vec<LockId> = counts.keys().copied().collect();
    locks.sort_by_key(|lock| std::cmp::Reverse(counts[lock]));
    locks
}

/// A lock that is tried.
struct Attempt<'a> {
    setup: &'a Index<'a>,
    questions: &'a [Question],
    options: Options,
    accesses: &'a [AccessHolds],
    variables: &'a [VariableId],
    lock: LockId,
}

impl Attempt<'_> {
    fn fix(&self, stretches: &[(EventId, EventId)], held: u64, accesses: u64) -> Option<VerifiedLock> {
        let trace = self.setup.trace();
        let has_shared = trace.events().any(|(.., op)| op == Op::AcquireShared(self.lock));
        let (mut shown, mut all) = (Vec::new(), Vec::new());
        let mut mistake = None;
        for &(first, last) in stretches {
            let writes = [first, last].into_iter().any(|event| trace.op(event).writes().is_some());
            let exclusive = writes || !has_shared;
            let span = Span { first, last, exclusive };
            // What holds it here may not hold it the next time.
            let open = self.like(span);
            let Some(&example) = open.iter().find(|&&like| like == span).or(open.first()) else { continue };
            mistake = mistake.or_else(|| Some(self.mistake(example)));
            shown.push(example);
            all.extend(open);
        }
        let (mistake, instead_of) = mistake?;
        self.leave_out_repeated(&mut shown);
        all.sort_unstable();
        all.dedup();
        let edited = edit::edit(self.setup, self.lock, &all, self.variables)?;
        let changed = Index::within(&edited.trace, self.setup.bounds());
        let is_fixed = self.is_infeasible(&edited, &changed) && self.adds_no_deadlock(&changed);
        drop(changed);
        let lock = self.lock;
        is_fixed.then_some(VerifiedLock { lock, mistake, instead_of, spans: shown, held, accesses, edited })
    }

    /// Leaves one stretch for each place in the source, without those that another one covers.
    fn leave_out_repeated(&self, spans: &mut Vec<Span>) {
        let trace = self.setup.trace();
        let ends = |span: &Span| (trace.location(span.first), trace.location(span.last));
        let all = spans.clone();
        let is_covered = |span: &Span| {
            all.iter().any(|other| {
                other.first <= span.first
                    && span.last <= other.last
                    && ends(other) != ends(span)
                    && trace.thread(other.first) == trace.thread(span.first)
            })
        };
        let mut known = BTreeSet::new();
        spans.retain(|span| !is_covered(span) && known.insert(ends(span)));
    }

    fn hold_at(&self, event: EventId) -> Option<LockHold> {
        let index = self.accesses.binary_search_by_key(&event, |access| access.event).ok()?;
        self.accesses[index].holds.iter().copied().find(|hold| hold.lock == self.lock)
    }

    /// Whether the lock is held from one end to the other.
    fn is_held(&self, span: Span) -> bool {
        let holds = |event| self.hold_at(event).is_some_and(|hold| hold.exclusive || !span.exclusive);
        holds(span.first) && holds(span.last) && !self.is_released_in(span)
    }

    fn is_released_in(&self, span: Span) -> bool {
        let trace = self.setup.trace();
        let thread = trace.thread(span.first);
        let between = (span.first.0..span.last.0).map(EventId).filter(|&event| trace.thread(event) == thread);
        let mut releases = between.filter(|&event| {
            matches!(trace.op(event), Op::Release(lock) | Op::ReleaseShared(lock) if lock == self.lock)
        });
        releases.any(|event| !trace.is_nested(event))
    }

    /// What is wrong with a stretch, and which lock is held instead.
    fn mistake(&self, span: Span) -> (LockMistake, Option<LockId>) {
        if let (Some(first), Some(last)) = (self.hold_at(span.first), self.hold_at(span.last)) {
            let is_released = first.exclusive && last.exclusive || self.is_released_in(span);
            return (if is_released { LockMistake::Released } else { LockMistake::Shared }, None);
        }
        let at = self.accesses.iter().find(|access| access.event == span.first);
        let other = at.and_then(|access| access.holds.iter().find(|hold| hold.lock != self.lock));
        match other {
            Some(hold) => (LockMistake::Other, Some(hold.lock)),
            None => (LockMistake::Missing, None),
        }
    }

    /// All stretches of the recording that are this one in the source.
    fn like(&self, span: Span) -> Vec<Span> {
        let trace = self.setup.trace();
        if span.first == span.last {
            let alike = self.accesses.iter().filter(|access| is_like(trace, access.event, span.first));
            return alike
                .map(|access| Span { first: access.event, last: access.event, ..span })
                .filter(|&span| !self.is_held(span))
                .collect();
        }
        let mut open = BTreeMap::new();
        let mut spans = Vec::new();
        for access in self.accesses {
            let thread = trace.thread(access.event);
            if is_like(trace, access.event, span.last)
                && let Some(first) = open.remove(&thread)
            {
                spans.push(Span { first, last: access.event, ..span });
            }
            if is_like(trace, access.event, span.first) {
                open.insert(thread, access.event);
            }
        }
        if !spans.iter().any(|like| like.first == span.first && like.last == span.last) {
            spans.push(span);
        }
        spans.retain(|&span| !self.is_held(span));
        spans
    }

    fn is_infeasible(&self, edited: &Edited, changed: &Index<'_>) -> bool {
        self.questions.iter().all(|question| {
            let Some(question) = edited.question(question) else { return false };
            let verdict = decide::decide(changed, &question, Model::Sync, self.options);
            matches!(verdict, Ok(Verdict::Infeasible(_)))
        })
    }

    fn adds_no_deadlock(&self, changed: &Index<'_>) -> bool {
        let Some(after) = deadlocks_of(changed, self.options) else { return false };
        // Most programs have none at all.
        after.is_empty()
            || deadlocks_of(self.setup, self.options).is_some_and(|before| after.is_subset(&before))
    }
}

/// The places of all deadlocks; none if some question is left open.
fn deadlocks_of(setup: &Index<'_>, options: Options) -> Option<BTreeSet<Vec<LocationId>>> {
    let mut found = BTreeSet::new();
    let settings = SearchSettings { model: Model::Sync, options };
    let counts = deadlocks::search_within(setup, settings, DEADLOCKS, &mut |report| {
        if let Report::Bug(bug) = report {
            let mut places: Vec<LocationId> =
                bug.events.iter().flatten().map(|&event| setup.trace().location(event)).collect();
            places.sort_unstable();
            found.insert(places);
        }
    });
    (counts.tally.unknown == 0).then_some(found)
}
