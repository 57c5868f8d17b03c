//! Atomicity violations that are as the program means them to be: those that already happened in the recorded run, which worked all the same (a loop
//! that waits for a flag, a total that is read before and after the workers add to it), and those around the creation of the thread that comes between (a
//! list that is filled, given to a thread, and read again). They are no news, and hardly ever bugs.

use report::{Finding, FindingKind};
use rustc_hash::FxHashMap;
use trace::{EventId, LocationId, Op, Trace, VariableId};

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
                has_pattern(self.trace, accesses, sites)
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

/// Whether the accesses of a variable have one like the second between two consecutive ones of another thread like the first and the
/// third.
pub(super) fn has_pattern(
    trace: &Trace,
    accesses: impl Iterator<Item = EventId>,
    [first, between, last]: [AccessSite; 3],
) -> bool {
    // For each thread its last access, and whether the access in between was seen since.
    let mut threads: Vec<(Option<AccessSite>, bool)> = vec![(None, false); trace.symbols().threads.len()];
    for event in accesses {
        let (thread, here) = (trace.thread(event).index(), AccessSite::of(trace, event));
        let (before, apart) = threads[thread];
        if apart && before == Some(first) && here == last {
            return true;
        }
        if here == between {
            for (other, state) in threads.iter_mut().enumerate() {
                state.1 |= other != thread;
            }
        }
        threads[thread] = (Some(here), false);
    }
    false
}
