//! Trace to the text that RAPID reads: eight operations, names without white space, and numbers
//! for locations. What it has no word for is dropped and counted.

use std::io::{self, Write};

use crate::ids::ThreadId;
use crate::names::Names;
use crate::op::{Kind, Op};
use crate::trace::Trace;

use super::TRANSACTION;
use super::escape::Dialect;
use super::spelling::op_name;
use super::write::{Lines, object_name, refused};

/// How many events of each kind were left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropCounts {
    counts: Vec<u64>,
}

impl DropCounts {
    fn nothing() -> Self {
        DropCounts { counts: vec![0; Kind::ALL.len()] }
    }

    /// How many events were left out in all.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The kinds that were left out, each with how many events.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        Kind::ALL.iter().copied().zip(self.counts.iter().copied()).filter(|&(_, count)| count > 0)
    }
}

/// Writes what RAPID reads of a trace and says what was left out.
///
/// A location that is a number keeps it; the others are numbered above the largest in the order
/// of their ids. Regions called `transaction` are written as RAPID writes transactions.
pub fn write_rapid(trace: &Trace, out: &mut impl Write) -> io::Result<DropCounts> {
    let numbers = number_locations(&trace.symbols().locations)?;
    let mut text = Lines::new(out);
    let mut dropped = DropCounts::nothing();
    for (event, thread, op) in trace.events() {
        match rapid_kind(trace, op) {
            Some(kind) => {
                let number = numbers[trace.location(event).index()];
                write_start(trace, thread, op, kind, &mut text)?;
                text.buffer.extend_from_slice(format!(")|{number}").as_bytes());
                text.end_line()?;
            }
            None => dropped.counts[op.kind() as usize] += 1,
        }
    }
    text.finish()?;
    Ok(dropped)
}

/// The kind that RAPID has for an operation.
fn rapid_kind(trace: &Trace, op: Op) -> Option<Kind> {
    let is_transaction = |region| trace.symbols().region(region) == TRANSACTION;
    match op {
        Op::Begin | Op::End | Op::Fork(_) | Op::Join(_) => Some(op.kind()),
        Op::Read(_) | Op::Write(_) | Op::Acquire(_) | Op::Release(_) => Some(op.kind()),
        Op::RegionBegin(region) if is_transaction(region) => Some(Kind::Begin),
        Op::RegionEnd(region) if is_transaction(region) => Some(Kind::End),
        Op::RegionBegin(_) | Op::RegionEnd(_) => None,
        Op::AtomicRead(_) | Op::AtomicWrite(_) | Op::AtomicUpdate(_) | Op::Fence => None,
        Op::Request(_) | Op::RequestShared(_) | Op::AcquireShared(_) | Op::ReleaseShared(_) => None,
        Op::Wait(_) | Op::Signal(_) | Op::Broadcast(_) => None,
        Op::BarrierEnter(_) | Op::BarrierExit(_) | Op::Post(_) | Op::Take(_) => None,
        Op::Allocate(_) | Op::Free(_) | Op::Branch(_) | Op::Mark(_) => None,
    }
}

/// Writes a line up to the end of its object.
fn write_start<W: Write>(
    trace: &Trace,
    thread: ThreadId,
    op: Op,
    kind: Kind,
    text: &mut Lines<'_, W>,
) -> io::Result<()> {
    let thread = trace.symbols().thread(thread);
    text.first_name(thread, Dialect::Rapid)?;
    text.buffer.push(b'|');
    text.buffer.extend_from_slice(op_name(kind).as_bytes());
    text.buffer.push(b'(');
    match kind {
        Kind::Begin | Kind::End => text.name(thread, Dialect::Rapid),
        _ => text.name(object_name(trace, op), Dialect::Rapid),
    }
}

fn number_locations(locations: &Names) -> io::Result<Vec<i32>> {
    let own: Vec<Option<i32>> = locations.iter().map(own_number).collect();
    let mut largest = own.iter().copied().flatten().max().unwrap_or(-1);
    let mut fresh = || {
        largest = largest.checked_add(1)?;
        Some(largest)
    };
    own.into_iter()
        .map(|number| {
            number.or_else(&mut fresh).ok_or_else(|| {
                refused(format!("no number is left for a location: one is {} already", i32::MAX))
            })
        })
        .collect()
}

/// The number that a location is, if it is one in its only spelling.
fn own_number(location: &str) -> Option<i32> {
    let number: i32 = location.parse().ok()?;
    (number >= 0 && number.to_string() == location).then_some(number)
}
