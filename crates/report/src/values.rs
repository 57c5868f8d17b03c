//! What the reads of a schedule see. Linear in the schedule.

use check::{Model, Question, Source};
use trace::{EventId, Trace};

/// A read that sees something else than in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedRead {
    /// The read.
    pub read: EventId,
    /// What it sees in the schedule.
    pub sees: Source,
    /// Another event of its thread follows in the schedule, so the program might not come there.
    pub goes_on: bool,
}

/// The reads of a schedule that memory orders let put nothing in order: they keep their values, though the schedule has them elsewhere.
pub fn unordered_reads(trace: &Trace, question: &Question, schedule: &[EventId]) -> Vec<EventId> {
    let model = Model::ReadsFrom;
    // Of most races none is, which shows at once.
    if trace.is_sequential() || changed_reads(trace, schedule).is_empty() {
        return Vec::new();
    }
    if check::check_schedule(trace, question, model, schedule).is_err() {
        return Vec::new();
    }
    check::unordered_reads(trace, question, model, schedule).unwrap_or_default()
}

/// The reads of a schedule that see something else than in the trace, in its order. The events must exist.
pub fn changed_reads(trace: &Trace, schedule: &[EventId]) -> Vec<ChangedRead> {
    let symbols = trace.symbols();
    let mut values: Vec<Option<EventId>> = vec![None; symbols.variables.len()];
    let mut last: Vec<Option<EventId>> = vec![None; symbols.threads.len()];
    let mut changed = Vec::new();
    for &event in schedule {
        last[trace.thread(event).index()] = Some(event);
        let op = trace.op(event);
        if let Some(variable) = op.reads() {
            let value = values[variable.index()];
            if value != trace.reads_from(event) {
                let sees = value.map_or(Source::Initial, Source::Write);
                changed.push(ChangedRead { read: event, sees, goes_on: false });
            }
        }
        if let Some(variable) = op.writes() {
            values[variable.index()] = Some(event);
        }
    }
    for ChangedRead { read, goes_on, .. } in &mut changed {
        *goes_on = last[trace.thread(*read).index()] != Some(*read);
    }
    changed
}
