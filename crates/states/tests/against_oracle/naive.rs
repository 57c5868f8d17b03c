//! The classes of states as the paper defines them, word by word and as slowly as need be.

use trace::{EventId, Op, Trace};

/// A loset by its definition: all pairs of events, all sections.
pub(crate) struct Naive<'t> {
    pub(crate) trace: &'t Trace,
    pub(crate) threads: Vec<Vec<EventId>>,
    /// `before[a][b]`: a happened before b.
    pub(crate) before: Vec<Vec<bool>>,
}

#[derive(Clone, Copy)]
struct Interval {
    acquire: EventId,
    release: Option<EventId>,
    target: u32,
    shared: bool,
}

fn close(before: &mut [Vec<bool>]) {
    for via in 0..before.len() {
        for from in 0..before.len() {
            if before[from][via] {
                let beyond = before[via].clone();
                before[from].iter_mut().zip(beyond).for_each(|(cell, beyond)| *cell |= beyond);
            }
        }
    }
}

impl<'t> Naive<'t> {
    pub(crate) fn new(trace: &'t Trace) -> Self {
        let mut threads = vec![Vec::new(); trace.symbols().threads.len()];
        let mut before = vec![vec![false; trace.len()]; trace.len()];
        for (event, thread, _) in trace.events() {
            threads[thread.index()].push(event);
        }
        for (event, thread, op) in trace.events() {
            for &earlier in threads[thread.index()].iter().filter(|&&other| other < event) {
                before[earlier.index()][event.index()] = true;
            }
            let mut sources: Vec<EventId> = trace.fork_of(thread).into_iter().collect();
            match op {
                Op::Join(child) => sources.extend(&threads[child.index()]),
                Op::Wait(_) => sources.extend(trace.link(event).event()),
                Op::BarrierExit(_) => {
                    let instance = trace.barrier_instance(event).index();
                    sources.extend(&trace.matching().barrier_instances()[instance].enters);
                }
                _ => {}
            }
            sources.iter().for_each(|source| before[source.index()][event.index()] = true);
        }
        close(&mut before);
        Naive { trace, threads, before }
    }

    pub(crate) fn all_states(&self) -> Vec<Vec<u32>> {
        let mut all = vec![Vec::new()];
        for events in &self.threads {
            let longer = |state: &Vec<u32>| {
                (0..=events.len() as u32)
                    .map(|place| state.iter().copied().chain([place]).collect())
                    .collect::<Vec<Vec<u32>>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    fn happened(&self, state: &[u32]) -> Vec<bool> {
        let mut happened = vec![false; self.trace.len()];
        for (events, &count) in self.threads.iter().zip(state) {
            events[..count as usize].iter().for_each(|event| happened[event.index()] = true);
        }
        happened
    }

    pub(crate) fn is_consistent(&self, state: &[u32]) -> bool {
        let happened = self.happened(state);
        let n = happened.len();
        (0..n).all(|f| !happened[f] || (0..n).all(|e| !self.before[e][f] || happened[e]))
    }

    fn intervals(&self) -> Vec<Interval> {
        let interval = |(acquire, _, op): (EventId, _, Op)| {
            let shared = match op {
                Op::Acquire(_) => false,
                Op::AcquireShared(_) => true,
                _ => return None,
            };
            let release = self.trace.section_end(acquire);
            (!self.trace.is_nested(acquire)).then_some(Interval {
                acquire,
                release,
                target: op.target(),
                shared,
            })
        };
        self.trace.events().filter_map(interval).collect()
    }

    fn excludes(&self, a: &Interval, b: &Interval) -> bool {
        a.target == b.target
            && self.trace.thread(a.acquire) != self.trace.thread(b.acquire)
            && !(a.shared && b.shared)
    }

    fn open(&self, state: &[u32]) -> Vec<Interval> {
        let happened = self.happened(state);
        let is_open = |i: &Interval| {
            happened[i.acquire.index()] && !i.release.is_some_and(|release| happened[release.index()])
        };
        self.intervals().into_iter().filter(is_open).collect()
    }

    pub(crate) fn is_compatible(&self, state: &[u32]) -> bool {
        let open = self.open(state);
        !open.iter().any(|a| open.iter().any(|b| self.excludes(a, b)))
    }

    fn has_permits(&self, state: &[u32]) -> bool {
        let happened = self.happened(state);
        (0..self.trace.symbols().semaphores.len()).all(|s| {
            let s = trace::SemaphoreId::new(s);
            let count = |wanted: Op| {
                self.trace.events().filter(|&(e, _, op)| op == wanted && happened[e.index()]).count()
            };
            count(Op::Take(s)) <= self.trace.initial_permits(s) as usize + count(Op::Post(s))
        })
    }

    pub(crate) fn is_feasible(&self, state: &[u32]) -> bool {
        self.is_consistent(state) && self.is_compatible(state) && self.has_permits(state)
    }

    pub(crate) fn holds_nothing(&self, state: &[u32]) -> bool {
        self.open(state).is_empty()
    }

    /// Definition 16, from the initial state: no reset point, no clocks.
    pub(crate) fn is_strong(&self, state: &[u32]) -> bool {
        if !self.is_feasible(state) {
            return false;
        }
        let happened = self.happened(state);
        let n = happened.len();
        let mut before = vec![vec![false; n]; n];
        for e in 0..n {
            for f in 0..n {
                before[e][f] = happened[e] && happened[f] && self.before[e][f];
            }
        }
        let here: Vec<Interval> =
            self.intervals().into_iter().filter(|i| happened[i.acquire.index()]).collect();
        let released = |i: &Interval| i.release.filter(|release| happened[release.index()]);
        loop {
            let mut changed = false;
            for first in &here {
                for then in here.iter().filter(|then| self.excludes(first, then)) {
                    let thread = self.trace.thread(then.acquire);
                    let within = |f: usize| {
                        self.trace.thread(EventId::new(f)) == thread
                            && happened[f]
                            && released(then).is_none_or(|release| f <= release.index())
                    };
                    let starts_before_end = (0..n).any(|f| within(f) && before[first.acquire.index()][f]);
                    let dynamic = released(then).is_none() && released(first).is_some();
                    if !starts_before_end && !dynamic {
                        continue;
                    }
                    let Some(release) = released(first) else { return false };
                    let cell = &mut before[release.index()][then.acquire.index()];
                    changed |= !std::mem::replace(cell, true);
                }
            }
            close(&mut before);
            if (0..n).any(|e| before[e][e]) {
                return false;
            }
            if !changed {
                return true;
            }
        }
    }
}
