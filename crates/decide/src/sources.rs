//! The writes that a read could see instead of the one it saw.

use check::Source;
use order::Index;
use trace::EventId;

/// What a read could see: the initial value or any write of its variable but itself, without what it saw in the trace.
pub fn other_sources(index: &Index<'_>, read: EventId) -> Vec<Source> {
    let trace = index.trace();
    let Some(variable) = trace.op(read).reads() else { return Vec::new() };
    let seen = trace.reads_from(read);
    let initial = seen.is_some().then_some(Source::Initial);
    let writes = index.writes(variable).iter().filter(|&&write| write != read && Some(write) != seen);
    initial.into_iter().chain(writes.map(|&write| Source::Write(write))).collect()
}
