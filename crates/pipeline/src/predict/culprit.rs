//! Which memory order is to blame for a race: what would have to be release or acquire, verified by deciding the question with that order.

use check::{Model, Question, unordered_reads};
use decide::{Index, Options, Verdict};
use report::{OrderChange, Words};
use trace::{EventId, MemoryOrder, Trace};

/// In a longer trace nothing is tried: each attempt is a trace of its own.
const LONGEST: usize = 1_000_000;
/// The most reads that are tried one by one; then all of them are tried together.
const MOST: usize = 8;

/// Whether with these changes all of these races are infeasible.
pub(crate) fn orders_cover(trace: &Trace, changes: &[OrderChange], questions: &[Question]) -> bool {
    let order = |change: &OrderChange| Some((change.event, MemoryOrder::from_name(&change.to)?));
    let changes: Option<Vec<(EventId, MemoryOrder)>> = changes.iter().map(order).collect();
    changes.is_some_and(|changes| are_infeasible(trace, &changes, questions))
}

fn are_infeasible(trace: &Trace, changes: &[(EventId, MemoryOrder)], questions: &[Question]) -> bool {
    let fixed = trace.clone().with_memory_orders(&everywhere(trace, changes));
    let index = Index::new(&fixed);
    let verdict = |question| decide::decide(&index, question, Model::ReadsFrom, Options::default());
    questions.iter().all(|question| matches!(verdict(question), Ok(Verdict::Infeasible(_))))
}

/// The changes of memory orders after which the race of a schedule is infeasible; none if the race is not because of an order, or if none
/// of those tried helps.
pub(super) fn culprits(index: &Index<'_>, question: &Question, schedule: &[EventId]) -> Vec<OrderChange> {
    let (model, trace) = (Model::ReadsFrom, index.trace());
    if trace.is_sequential() || trace.len() > LONGEST {
        return Vec::new();
    }
    let Ok(reads) = unordered_reads(trace, question, model, schedule) else { return Vec::new() };
    let mut attempts: Vec<Vec<EventId>> = reads.iter().take(MOST).map(|&read| vec![read]).collect();
    let with_relays = with_relays(index, &reads);
    if reads.len() > 1 {
        attempts.push(reads);
    }
    attempts.extend(with_relays);
    let solves = |changes: &Vec<(EventId, MemoryOrder)>| {
        are_infeasible(trace, changes, std::slice::from_ref(question))
    };
    let fixes = attempts.into_iter().map(|reads| changes(trace, &reads));
    let fix = fixes.into_iter().find(solves).unwrap_or_default();
    let words = Words::new(trace);
    fix.into_iter().map(|(event, order)| change(&words, trace, event, order)).collect()
}

/// These reads, and those of the threads that passed on to them what they had read without synchronising; none if there are none of those.
/// A flag may go through several hands, and the schedule of the race has the last of them only.
fn with_relays(index: &Index<'_>, reads: &[EventId]) -> Option<Vec<EventId>> {
    let (trace, weak) = (index.trace(), index.synchronisation()?);
    let mut all = reads.to_vec();
    let mut next = 0;
    while next < all.len() && all.len() <= MOST {
        let write = trace.reads_from(all[next]);
        next += 1;
        let Some(write) = write else { continue };
        let before = index.threads().of_thread(trace.thread(write)).iter().rev();
        let relayed =
            before.filter(|&&event| event < write && weak.is_unordered(event) && !all.contains(&event));
        let relayed: Vec<EventId> = relayed.take(MOST).copied().collect();
        all.extend(relayed);
    }
    (all.len() > reads.len()).then_some(all)
}

/// Makes each read synchronise with the write it saw.
fn changes(trace: &Trace, reads: &[EventId]) -> Vec<(EventId, MemoryOrder)> {
    let mut changes = Vec::new();
    for &read in reads {
        let Some(write) = trace.reads_from(read) else { continue };
        let (released, acquired) = (trace.memory_order(write), trace.memory_order(read));
        let releasing = match released {
            MemoryOrder::Relaxed => MemoryOrder::Release,
            _ => MemoryOrder::AcqRel,
        };
        let acquiring = match acquired {
            MemoryOrder::Relaxed => MemoryOrder::Acquire,
            _ => MemoryOrder::AcqRel,
        };
        changes.extend((!released.releases()).then_some((write, releasing)));
        changes.extend((!acquired.acquires()).then_some((read, acquiring)));
    }
    changes.sort_unstable();
    changes.dedup();
    changes
}

/// A change in the source concerns every event of that operation there.
fn everywhere(trace: &Trace, changes: &[(EventId, MemoryOrder)]) -> Vec<(EventId, MemoryOrder)> {
    let like = |event: EventId| (trace.op(event), trace.location(event));
    let changed = |event: EventId| {
        let found = changes.iter().find(|(changed, _)| like(*changed) == like(event));
        found.map(|&(_, order)| (event, order))
    };
    trace.events().filter_map(|(event, ..)| changed(event)).collect()
}

fn change(words: &Words<'_>, trace: &Trace, event: EventId, to: MemoryOrder) -> OrderChange {
    OrderChange {
        event,
        operation: format!("{} of {}", trace.kind(event).words(), words.object(trace.op(event))),
        location: trace.symbols().location(trace.location(event)).to_owned(),
        from: trace.memory_order(event).name().to_owned(),
        to: to.name().to_owned(),
    }
}
