//! What `begin` and `end` mean: a thread's life, or RAPID's transactions.
//!
//! RAPID writes transactions as `begin` and `end`, others the start and the end of a thread. A
//! thread begins once, first, and ends once, last; where that is not so, all of the thread's
//! are transactions.

use crate::builder::TraceBuilder;
use crate::ids::EventId;
use crate::names::TooManyNames;
use crate::op::{Kind, Op};

use super::TRANSACTION;

/// The begins and ends of one thread.
#[derive(Clone, Copy, Default)]
struct Life {
    started: bool,
    ended: bool,
    is_transactional: bool,
}

/// Rewrites the begins and ends that are transactions as regions. Linear time.
pub(super) fn resolve(builder: &mut TraceBuilder) -> Result<(), TooManyNames> {
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
