//! What `begin` and `end` mean: a thread's life, or RAPID's transactions.
//!
//! RAPID writes transactions as `begin` and `end`, others the start and the end of a thread. A
//! thread begins once, first, and ends once, last; where that is not so, all of the thread's
//! are transactions.

use crate::builder::TraceBuilder;
use crate::ids::{EventId, ThreadId};
use crate::names::TooManyNames;
use crate::op::{Kind, Op};
use crate::trace::Columns;

use super::TRANSACTION;

/// The begins and ends of one thread.
#[derive(Clone, Copy, Default)]
struct Life {
    started: bool,
    ended: bool,
    is_transactional: bool,
}

/// Whether each of these begins is the first event of its thread, and each end the last. Only as much of the trace is looked at as shows it.
fn are_outermost(columns: &Columns, threads: usize, lives: &[EventId]) -> bool {
    let of_kind = |wanted: Kind| lives.iter().copied().filter(move |&event| columns.kind(event) == wanted);
    are_met_first(columns.packed(), columns, threads, of_kind(Kind::Begin))
        && are_met_first(columns.packed().rev(), columns, threads, of_kind(Kind::End))
}

/// Whether each of the chosen events comes before all others of its thread, in the order of `events`.
fn are_met_first(
    mut events: impl Iterator<Item = (EventId, ThreadId, Kind, u32)>,
    columns: &Columns,
    threads: usize,
    chosen: impl Iterator<Item = EventId>,
) -> bool {
    // By thread: the chosen event that is still to be met.
    let mut awaited: Vec<Option<EventId>> = vec![None; threads];
    let mut missing = 0;
    for event in chosen {
        if awaited[columns.thread(event).index()].replace(event).is_some() {
            return false;
        }
        missing += 1;
    }
    while missing > 0 {
        let Some((event, thread, ..)) = events.next() else { break };
        match &mut awaited[thread.index()] {
            None => {}
            Some(first) if *first != event => return false,
            met => {
                *met = None;
                missing -= 1;
            }
        }
    }
    true
}

/// Rewrites the begins and ends that are transactions as regions; `lives` are all begins and ends. Linear time.
pub(super) fn resolve(builder: &mut TraceBuilder, lives: &[EventId]) -> Result<(), TooManyNames> {
    if are_outermost(builder.columns(), builder.threads(), lives) {
        return Ok(());
    }
    let mut lives = vec![Life::default(); builder.threads()];
    builder.columns().packed().for_each(|(_, thread, kind, _)| {
        let life = &mut lives[thread.index()];
        let begins_late = kind == Kind::Begin && life.started;
        life.is_transactional |= begins_late || life.ended;
        life.started = true;
        life.ended |= kind == Kind::End;
    });
    if !lives.iter().any(|life| life.is_transactional) {
        return Ok(());
    }
    let region = builder.region(TRANSACTION)?;
    for index in 0..builder.len() {
        let event = EventId::new(index);
        let op = match builder.columns().op(event) {
            Op::Begin => Op::RegionBegin(region),
            Op::End => Op::RegionEnd(region),
            _ => continue,
        };
        if lives[builder.columns().thread(event).index()].is_transactional {
            builder.set_op(event, op);
        }
    }
    Ok(())
}
