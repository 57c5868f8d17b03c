//! Patterns that came apart in the recorded run already, which did its work all the same: a loop that waits for a flag, a
//! total that is read before and after the workers add to it. They are no news, and hardly ever bugs.

use report::{Finding, FindingKind};
use trace::{EventId, LocationId, Op, Trace, VariableId};

/// Whether the recorded run has an access at the place of the finding's second between two consecutive ones of a thread at the
/// places of its first and third. What the user called atomic is never expected to come apart.
pub(super) fn came_apart(trace: &Trace, finding: &Finding) -> bool {
    let events: Vec<EventId> = finding.named_events().collect();
    let ([first, between, last], FindingKind::Atomicity) = (&events[..], finding.kind) else { return false };
    let accesses = [first, between, last].map(|&event| trace.op(event).access());
    let [Some(first_access), Some(between_access), Some(last_access)] = accesses else { return false };
    let variable = first_access.variable;
    if between_access.variable != variable || last_access.variable != variable || has_regions(trace) {
        return false;
    }
    let pattern = [*first, *between, *last].map(|event| trace.location(event));
    appears(trace, variable, pattern)
}

fn has_regions(trace: &Trace) -> bool {
    trace.events().any(|(_, _, op)| matches!(op, Op::RegionBegin(_)))
}

/// One pass: for each thread its last access, and whether the access in between was seen since.
fn appears(trace: &Trace, variable: VariableId, [first, between, last]: [LocationId; 3]) -> bool {
    let mut threads: Vec<(Option<LocationId>, bool)> = vec![(None, false); trace.symbols().threads.len()];
    for (event, thread, op) in trace.events() {
        if op.access().is_none_or(|access| access.variable != variable) {
            continue;
        }
        let here = trace.location(event);
        let (before, apart) = threads[thread.index()];
        if apart && before == Some(first) && here == last {
            return true;
        }
        if here == between {
            for (other, state) in threads.iter_mut().enumerate() {
                state.1 |= other != thread.index();
            }
        }
        threads[thread.index()] = (Some(here), false);
    }
    false
}
