//! Atomicity violations that are as the program means them to be: those that already happened in the recorded run, which worked all the same (a loop
//! that waits for a flag, a total that is read before and after the workers add to it), and those around the creation of the thread that comes between (a
//! list that is filled, given to a thread, and read again). They are no news, and hardly ever bugs.

use report::{Finding, FindingKind};
use rustc_hash::FxHashMap;
use trace::{EventId, LocationId, Op, ThreadId, Trace, VariableId};

/// A recording, ready to be asked about many findings.
pub(super) struct RecordedViolations<'t> {
    trace: &'t Trace,
    /// The user said what is atomic.
    has_regions: bool,
    /// The accesses of each variable, in their order.
    accesses: FxHashMap<VariableId, Vec<EventId>>,
}

impl<'t> RecordedViolations<'t> {
    /// One pass over the trace.
    pub(super) fn new(trace: &'t Trace) -> Self {
        let mut recorded = RecordedViolations { trace, has_regions: false, accesses: FxHashMap::default() };
        for (event, _, op) in trace.events() {
            recorded.has_regions |= matches!(op, Op::RegionBegin(_));
            if let Some(access) = op.access() {
                recorded.accesses.entry(access.variable).or_default().push(event);
            }
        }
        recorded
    }

    /// Whether the thread of the access in between is created, by the other thread, between its two accesses.
    fn is_created_between(&self, first: EventId, between: EventId, last: EventId) -> bool {
        let fork = self.trace.fork_of(self.trace.thread(between));
        let own = |fork: &EventId| self.trace.thread(*fork) == self.trace.thread(first);
        fork.filter(own).is_some_and(|fork| first < fork && fork < last)
    }

    /// Whether it has an access at the place of the finding's second between two consecutive ones of a thread at the places of its
    /// first and third. In a trace with regions of the user nothing counts as expected.
    pub(super) fn has(&self, finding: &Finding) -> bool {
        let events: Vec<EventId> = finding.named_events().collect();
        let ([first, between, last], FindingKind::Atomicity, false) =
            (&events[..], finding.kind, self.has_regions)
        else {
            return false;
        };
        let variable = |event: &EventId| self.trace.op(*event).access().map(|access| access.variable);
        if self.is_created_between(*first, *between, *last) {
            return true;
        }
        match (variable(first), variable(between), variable(last)) {
            (Some(a), Some(b), Some(c)) if a == b && b == c => {
                let accesses = self.accesses.get(&a).into_iter().flatten().copied();
                let sites = [first, between, last].map(|&event| AccessSite::of(self.trace, event));
                has_pattern(self.trace, accesses, sites, PatternThreads::Any)
            }
            _ => false,
        }
    }
}

/// Where an access is in the source, and what it does: one line may read a variable and write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessSite {
    pub(super) location: LocationId,
    pub(super) effect: Effect,
}

/// What an access does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    reads: bool,
    writes: bool,
}

impl Effect {
    pub(super) fn of(trace: &Trace, event: EventId) -> Effect {
        let access = trace.op(event).access();
        access.map_or_else(Effect::default, |access| Effect { reads: access.reads, writes: access.writes })
    }
}

impl AccessSite {
    fn of(trace: &Trace, event: EventId) -> AccessSite {
        AccessSite { location: trace.location(event), effect: Effect::of(trace, event) }
    }
}

/// Whose accesses make a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternThreads {
    /// Those of any two threads.
    Any,
    /// The first and the last access are of one of these, the one in between is of the other.
    These { outer: ThreadId, between: ThreadId },
}

impl PatternThreads {
    fn have_outer(self, thread: ThreadId) -> bool {
        match self {
            PatternThreads::Any => true,
            PatternThreads::These { outer, .. } => outer == thread,
        }
    }

    fn have_between(self, thread: ThreadId) -> bool {
        match self {
            PatternThreads::Any => true,
            PatternThreads::These { between, .. } => between == thread,
        }
    }
}

/// Whether the accesses of a variable have one like the second between two consecutive ones of another thread like the first and the
/// third.
pub(super) fn has_pattern(
    trace: &Trace,
    accesses: impl Iterator<Item = EventId>,
    [first, between, last]: [AccessSite; 3],
    of: PatternThreads,
) -> bool {
    // For each thread its last access, and whether the access in between was seen since.
    let mut threads: Vec<(Option<AccessSite>, bool)> = vec![(None, false); trace.symbols().threads.len()];
    for event in accesses {
        let (own, here) = (trace.thread(event), AccessSite::of(trace, event));
        let thread = own.index();
        let (before, apart) = threads[thread];
        if apart && before == Some(first) && here == last && of.have_outer(own) {
            return true;
        }
        if here == between && of.have_between(own) {
            for (other, state) in threads.iter_mut().enumerate() {
                state.1 |= other != thread;
            }
        }
        threads[thread] = (Some(here), false);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads read and then write; the second does both between the accesses of the first.
    #[test]
    fn a_pattern_of_these_threads_is_none_of_others() {
        let trace = trace::text::read("A|r(x)|a.c:1\nB|r(x)|a.c:1\nB|w(x)|a.c:2\nA|w(x)|a.c:2\n".as_bytes());
        let trace = trace.unwrap();
        let site = |event| AccessSite::of(&trace, EventId(event));
        let has = |of| has_pattern(&trace, (0..4).map(EventId), [site(0), site(2), site(3)], of);
        let [outer, between] = [0, 2].map(|event| trace.thread(EventId(event)));
        assert!(has(PatternThreads::Any) && has(PatternThreads::These { outer, between }));
        assert!(!has(PatternThreads::These { outer: between, between: outer }));
    }
}
