//! The state that a restriction of a trace ends in, looked up where it is asked for, and where events take it from there.

use std::collections::{HashMap, HashSet};

use trace::{EventId, LockId, SemaphoreId, ThreadEvents, Trace, VariableId};

use super::CutChecker;
use crate::state::{OpenSection, State};

/// The writes of each variable, those of one thread together and in order.
#[derive(Debug)]
pub(super) struct Writes {
    /// Where those of each variable start.
    starts: Vec<u32>,
    events: Vec<EventId>,
}

impl Writes {
    /// Linear in the trace.
    pub(super) fn of(trace: &Trace, threads: &ThreadEvents) -> Self {
        let by_thread = || {
            let all =
                (0..threads.threads()).flat_map(|thread| threads.of_thread(trace::ThreadId::new(thread)));
            all.filter_map(|&event| Some((trace.op(event).writes()?, event)))
        };
        let mut starts = vec![0u32; trace.symbols().variables.len() + 1];
        for (_, _, op) in trace.events() {
            if let Some(variable) = op.writes() {
                starts[variable.index() + 1] += 1;
            }
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut events = vec![EventId(0); starts[starts.len() - 1] as usize];
        for (variable, event) in by_thread() {
            let at = &mut next[variable.index()];
            events[*at as usize] = event;
            *at += 1;
        }
        Writes { starts, events }
    }

    /// The last write of a variable, in the order of the trace, if `counts` events of each thread happen.
    fn last(
        &self,
        trace: &Trace,
        threads: &ThreadEvents,
        variable: VariableId,
        counts: &[u32],
    ) -> Option<EventId> {
        let (start, end) = (self.starts[variable.index()], self.starts[variable.index() + 1]);
        let mut rest = &self.events[start as usize..end as usize];
        let mut last = None;
        while let Some(&first) = rest.first() {
            let thread = trace.thread(first);
            let (own, others) = rest.split_at(rest.partition_point(|&write| trace.thread(write) <= thread));
            let count = counts[thread.index()];
            let happen = own.partition_point(|&write| (threads.place(write) as u32) < count);
            last = last.max(own[..happen].last().copied());
            rest = others;
        }
        last
    }
}

/// The state after a restriction of a trace, and what events have changed since.
pub(super) struct StateFromCut<'c, 't> {
    checker: &'c CutChecker<'t>,
    /// How many events of each thread happen in the restriction.
    counts: &'c [u32],
    written: HashMap<VariableId, EventId>,
    opened: HashMap<LockId, Vec<OpenSection>>,
    /// The acquires whose sections have ended since.
    closed: HashSet<EventId>,
    added_permits: HashMap<SemaphoreId, i64>,
}

impl<'c, 't> StateFromCut<'c, 't> {
    pub(super) fn new(checker: &'c CutChecker<'t>, counts: &'c [u32]) -> Self {
        StateFromCut {
            checker,
            counts,
            written: HashMap::new(),
            opened: HashMap::new(),
            closed: HashSet::new(),
            added_permits: HashMap::new(),
        }
    }
}

impl State for StateFromCut<'_, '_> {
    fn value(&self, variable: VariableId) -> Option<EventId> {
        let CutChecker { trace, threads, writes, .. } = self.checker;
        let written = self.written.get(&variable).copied();
        written.or_else(|| writes.last(trace, threads, variable, self.counts))
    }

    fn write(&mut self, variable: VariableId, write: EventId) {
        self.written.insert(variable, write);
    }

    fn find_open(&self, lock: LockId, holds: impl Fn(OpenSection) -> bool) -> Option<OpenSection> {
        let opened = self.opened.get(&lock).into_iter().flatten().copied();
        let since = self.checker.sections[lock.index()].iter().flat_map(|user| user.open(self.counts));
        let still_open = since.filter(|section| !self.closed.contains(&section.acquire));
        opened.chain(still_open).find(|&section| holds(section))
    }

    fn open(&mut self, lock: LockId, section: OpenSection) {
        self.opened.entry(lock).or_default().push(section);
    }

    fn close(&mut self, lock: LockId, acquire: EventId) {
        self.closed.insert(acquire);
        if let Some(opened) = self.opened.get_mut(&lock) {
            opened.retain(|section| section.acquire != acquire);
        }
    }

    fn permits(&self, semaphore: SemaphoreId) -> i64 {
        let happen = self.checker.permits[semaphore.index()].iter();
        let happen = happen.filter(|&&event| self.checker.has(self.counts, event));
        let left: i64 = happen.map(|&event| self.checker.permits_by(event)).sum();
        let added = self.added_permits.get(&semaphore).copied().unwrap_or(0);
        i64::from(self.checker.trace.initial_permits(semaphore)) + left + added
    }

    fn add_permits(&mut self, semaphore: SemaphoreId, more: i64) {
        *self.added_permits.entry(semaphore).or_default() += more;
    }
}
