//! When an event can be next, and what its happening changes: the five rules of a schedule, one
//! field of [`Rule`] each.

use check::Model;
use trace::{EventId, Op, ThreadId, Trace};

use crate::memory;
use crate::set::{EventSet, MOST_EVENTS};

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// The events that happened.
    pub(crate) happened: EventSet,
    /// Of the writes of each variable, the last that happened; of those variables only that
    /// somebody has yet to read.
    pub(crate) visible: EventSet,
    /// The threads that saw something else than in the trace, in a read that is not exempt and has a
    /// branch after it, each as its first event. Such a thread must stop at its next branch. Only
    /// in the model `Branch`.
    pub(crate) diverted: EventSet,
}

/// A critical section from the view of those it keeps out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(crate) thread: ThreadId,
    pub(crate) acquire: EventId,
    /// Empty if it is open at the end of the trace.
    pub(crate) release: EventSet,
}

impl Section {
    pub(crate) fn is_open(&self, happened: EventSet) -> bool {
        happened.contains(self.acquire) && !happened.contains_any(self.release)
    }
}

/// A semaphore's permits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permits {
    initial: u64,
    pub(crate) posts: EventSet,
    takes: EventSet,
}

impl Permits {
    pub(crate) fn are_left(&self, happened: EventSet) -> bool {
        happened.and(self.takes).len() < self.initial + happened.and(self.posts).len()
    }
}

/// What a read saw in the trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceRead {
    /// All writes of its variable.
    pub(crate) writes: EventSet,
    /// The one it saw; empty: the initial value.
    pub(crate) seen: EventSet,
}

/// All accesses of a variable.
#[derive(Clone, Copy, Debug)]
struct Variable {
    reads: EventSet,
    writes: EventSet,
}

/// All there is to know of one event.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) thread: ThreadId,
    /// Its predecessors in its thread, and its thread's fork (rule 1, and half of rule 2).
    pub(crate) place: EventSet,
    /// What else must have happened: the events of the thread it joins, the signal that woke it,
    /// the enters of its barrier instance (rules 2 and 3).
    pub(crate) awaits: EventSet,
    /// What must have happened in a question about a race because of memory orders.
    pub(crate) synchronised: EventSet,
    /// The semaphore it takes a permit of (rule 3).
    pub(crate) takes: Option<Permits>,
    /// For an acquire or a request: the sections of other threads that exclude it (rule 4).
    pub(crate) excluded_by: Vec<Section>,
    /// A request asks for the lock but happens whether it is free or not.
    only_asks: bool,
    /// For a read: what it saw (rule 5).
    pub(crate) saw: Option<SourceRead>,
    /// For an access: of what.
    touches: Option<Variable>,
    /// It writes.
    writes: bool,
    /// The event before it in its thread is a branch taken at least once.
    after_branch: bool,
    /// Some later event of its thread is such an event.
    branch_follows: bool,
    /// The first event of its thread.
    first: EventId,
}

/// What a question demands beyond the rules, or less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Demands {
    /// The reads that the model demands nothing of.
    pub(crate) exempt: EventSet,
    /// What memory orders put in order is demanded.
    pub(crate) synchronisation: bool,
}

/// The rules of one trace under one model.
pub(crate) struct Rules {
    pub(crate) events: Vec<Rule>,
    pub(crate) threads: Vec<Vec<EventId>>,
    /// The reads that a question about a race exempts because of memory orders.
    pub(crate) unordered: EventSet,
    model: Model,
}

impl Rules {
    pub(crate) fn of(trace: &Trace, model: Model) -> Rules {
        assert!(trace.len() <= MOST_EVENTS, "the oracle takes traces of at most {MOST_EVENTS} events");
        let mut threads = vec![Vec::new(); trace.symbols().threads.len()];
        for (event, thread, _) in trace.events() {
            threads[thread.index()].push(event);
        }
        let mut events: Vec<Rule> =
            trace.events().map(|(event, ..)| rule_of(trace, &threads, event)).collect();
        for (rule, synchronised) in events.iter_mut().zip(memory::orders(trace)) {
            rule.synchronised = synchronised;
        }
        Rules { events, threads, unordered: memory::exempt_reads(trace), model }
    }

    pub(crate) fn rule(&self, event: EventId) -> &Rule {
        &self.events[event.index()]
    }

    pub(crate) fn all_events(&self) -> impl Iterator<Item = EventId> + use<> {
        (0..self.events.len()).map(EventId::new)
    }

    /// Whether this event is its thread's next, be it able to happen or not.
    pub(crate) fn is_next(&self, event: EventId, state: &State) -> bool {
        !state.happened.contains(event) && state.happened.contains_all(self.rule(event).place)
    }

    /// Whether this read would now see what it saw in the trace.
    pub(crate) fn sees_the_same(&self, saw: &SourceRead, state: &State) -> bool {
        state.visible.and(saw.writes) == saw.seen
    }

    /// The state after this event, if it can happen in this one.
    pub(crate) fn step(&self, state: &State, event: EventId, demands: Demands) -> Option<State> {
        let rule = self.rule(event);
        let excluded = !rule.only_asks && rule.excluded_by.iter().any(|s| s.is_open(state.happened));
        let can_happen = self.is_next(event, state)
            && state.happened.contains_all(rule.awaits)
            && (!demands.synchronisation || state.happened.contains_all(rule.synchronised))
            && rule.takes.is_none_or(|permits| permits.are_left(state.happened))
            && !excluded;
        if !can_happen {
            return None;
        }
        let mut after = *state;
        let changed =
            rule.saw.is_some_and(|saw| !self.sees_the_same(&saw, state)) && !demands.exempt.contains(event);
        match self.model {
            Model::Sync => {}
            Model::ReadsFrom if changed => return None,
            Model::ReadsFrom => {}
            Model::Branch if state.diverted.contains(rule.first) && rule.after_branch => return None,
            Model::Branch if changed && rule.branch_follows => after.diverted.insert(rule.first),
            Model::Branch => {}
        }
        after.happened.insert(event);
        if rule.writes
            && let Some(variable) = rule.touches
        {
            after.visible = after.visible.without(variable.writes).with(event);
        }
        if let Some(variable) = rule.touches
            && after.happened.contains_all(variable.reads)
        {
            after.visible = after.visible.without(variable.writes);
        }
        Some(after)
    }
}

fn rule_of(trace: &Trace, threads: &[Vec<EventId>], event: EventId) -> Rule {
    let thread = trace.thread(event);
    let own = &threads[thread.index()];
    let before: Vec<EventId> = own.iter().copied().filter(|&other| other < event).collect();
    let op = trace.op(event);
    let awaits = match op {
        Op::Join(child) => threads[child.index()].iter().copied().collect(),
        Op::Wait(_) => trace.link(event).event().into_iter().collect(),
        Op::BarrierExit(_) => {
            let instance = trace.barrier_instance(event);
            trace.matching().barrier_instances()[instance.index()].enters.iter().copied().collect()
        }
        _ => EventSet::EMPTY,
    };
    let excludes: fn(Op) -> bool = match op {
        Op::Acquire(_) if trace.is_nested(event) => |_| false,
        Op::Acquire(_) | Op::Request(_) => |op| matches!(op, Op::Acquire(_) | Op::AcquireShared(_)),
        Op::AcquireShared(_) if trace.is_nested(event) => |_| false,
        Op::AcquireShared(_) | Op::RequestShared(_) => |op| matches!(op, Op::Acquire(_)),
        _ => |_| false,
    };
    let takes = match op {
        Op::Take(semaphore) => Some(Permits {
            initial: u64::from(trace.initial_permits(semaphore)),
            posts: all(trace, |op| op == Op::Post(semaphore)),
            takes: all(trace, |op| op == Op::Take(semaphore)),
        }),
        _ => None,
    };
    Rule {
        thread,
        place: before.iter().copied().chain(trace.fork_of(thread)).collect(),
        awaits,
        synchronised: EventSet::EMPTY,
        takes,
        excluded_by: sections(trace)
            .filter(|&(target, op, section)| {
                target == trace.op(event).target() && section.thread != thread && excludes(op)
            })
            .map(|(_, _, section)| section)
            .collect(),
        only_asks: matches!(op, Op::Request(_) | Op::RequestShared(_)),
        saw: op.reads().map(|variable| SourceRead {
            writes: all(trace, |op| op.writes() == Some(variable)),
            seen: trace.reads_from(event).into_iter().collect(),
        }),
        touches: op.access().map(|access| Variable {
            reads: all(trace, |op| op.reads() == Some(access.variable)),
            writes: all(trace, |op| op.writes() == Some(access.variable)),
        }),
        writes: op.writes().is_some(),
        after_branch: before.last().is_some_and(|&last| is_branch(trace.op(last))),
        branch_follows: own.windows(2).any(|pair| pair[0] > event && is_branch(trace.op(pair[0]))),
        first: own[0],
    }
}

fn is_branch(op: Op) -> bool {
    matches!(op, Op::Branch(count) if count > 0)
}

fn all(trace: &Trace, wanted: impl Fn(Op) -> bool) -> EventSet {
    trace.events().filter(|&(_, _, op)| wanted(op)).map(|(event, ..)| event).collect()
}

/// All outermost sections, with their lock's number and how they were acquired.
fn sections(trace: &Trace) -> impl Iterator<Item = (u32, Op, Section)> {
    trace.events().filter_map(|(acquire, thread, op)| {
        let takes_lock = matches!(op, Op::Acquire(_) | Op::AcquireShared(_)) && !trace.is_nested(acquire);
        let release = trace.section_end(acquire).into_iter().collect();
        takes_lock.then_some((op.target(), op, Section { thread, acquire, release }))
    })
}
