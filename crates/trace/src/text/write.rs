//! Trace to text, in the canonical spelling: what is written, [`super::read()`] reads back.

use std::io::{self, Write};

use crate::ids::{EventId, SemaphoreId, ThreadId};
use crate::memory_order::MemoryOrder;
use crate::metadata::Metadata;
use crate::op::Op;
use crate::trace::Trace;

use super::directive::is_plain;
use super::escape::{Dialect, encode, encode_first};
use super::spelling::op_name;
use super::{MAX_LINE, is_number, waits};

/// How much is gathered before it is written out.
const BLOCK: usize = 64 << 10;

/// Writes a trace as text. An empty name and a line that would be too long to be read back are
/// refused as [`io::ErrorKind::InvalidInput`].
pub fn write(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let mut text = Lines::new(out);
    write_directives(trace, &mut text)?;
    for (event, thread, op) in trace.events() {
        write_event(trace, event, thread, op, &mut text)?;
    }
    text.finish()
}

fn write_directives<W: Write>(trace: &Trace, text: &mut Lines<'_, W>) -> io::Result<()> {
    // The environment is of use to replay alone, and only a native trace can be replayed.
    let metadata = Metadata {
        environment: Vec::new(),
        variables: Vec::new(),
        environment_size: 0,
        ..trace.metadata().clone()
    };
    if !metadata.is_empty() {
        text.buffer.extend_from_slice(b"#! metadata ");
        serde_json::to_writer(&mut text.buffer, &metadata)?;
        text.end_line()?;
    }
    if trace.events().any(|(_, thread, op)| is_misread(trace, thread, op)) {
        text.buffer.extend_from_slice(b"#! threads as-written");
        text.end_line()?;
    }
    if waits::are_misread(trace) {
        text.buffer.extend_from_slice(b"#! wait woken");
        text.end_line()?;
    }
    for index in 0..trace.symbols().semaphores.len() {
        let semaphore = SemaphoreId::new(index);
        let Some(permits) = trace.declared_permits(semaphore) else {
            continue;
        };
        let name = trace.symbols().semaphore(semaphore);
        if !is_plain(name) {
            return Err(refused(format!("the name `{name}` of a semaphore cannot stand in a declaration")));
        }
        text.buffer.extend_from_slice(b"#! semaphore ");
        encode(name, Dialect::Own, &mut text.buffer);
        text.buffer.extend_from_slice(format!(" {permits}").as_bytes());
        text.end_line()?;
    }
    Ok(())
}

/// Whether the thread that is forked or joined here would be read as `T` and its number.
fn is_misread(trace: &Trace, thread: ThreadId, op: Op) -> bool {
    let name = |thread| trace.symbols().thread(thread);
    match op {
        Op::Fork(other) | Op::Join(other) => is_number(name(other)) && !is_number(name(thread)),
        _ => false,
    }
}

fn write_event<W: Write>(
    trace: &Trace,
    event: EventId,
    thread: ThreadId,
    op: Op,
    text: &mut Lines<'_, W>,
) -> io::Result<()> {
    let symbols = trace.symbols();
    text.first_name(symbols.thread(thread), Dialect::Own)?;
    text.buffer.push(b'|');
    text.buffer.extend_from_slice(op_name(op.kind()).as_bytes());
    let order = trace.memory_order(event);
    if order != MemoryOrder::SeqCst {
        text.buffer.push(b'.');
        text.buffer.extend_from_slice(order.name().as_bytes());
    }
    text.buffer.push(b'(');
    match op {
        Op::Begin | Op::End => text.name(symbols.thread(thread), Dialect::Own)?,
        Op::Fence => (),
        Op::Branch(count) => text.buffer.extend_from_slice(count.to_string().as_bytes()),
        Op::Mark(mark) => {
            let mark = trace.mark(mark);
            text.name(symbols.marks.get(mark.name as usize), Dialect::Own)?;
            text.buffer.extend_from_slice(format!(",{}", mark.value).as_bytes());
        }
        _ => text.name(object_name(trace, op), Dialect::Own)?,
    }
    text.buffer.extend_from_slice(b")|");
    text.name(symbols.location(trace.location(event)), Dialect::Own)?;
    text.end_line()
}

/// The name of what an operation acts on; empty where that is nothing, a count or a mark.
pub fn object_name(trace: &Trace, op: Op) -> &str {
    let symbols = trace.symbols();
    match op {
        Op::Begin | Op::End | Op::Fence | Op::Branch(_) | Op::Mark(_) => "",
        Op::Fork(thread) | Op::Join(thread) => symbols.thread(thread),
        Op::Read(variable)
        | Op::Write(variable)
        | Op::AtomicRead(variable)
        | Op::AtomicWrite(variable)
        | Op::AtomicUpdate(variable) => symbols.variable(variable),
        Op::Request(lock)
        | Op::Acquire(lock)
        | Op::Release(lock)
        | Op::RequestShared(lock)
        | Op::AcquireShared(lock)
        | Op::ReleaseShared(lock) => symbols.lock(lock),
        Op::Wait(condition) | Op::Signal(condition) | Op::Broadcast(condition) => {
            symbols.condition(condition)
        }
        Op::BarrierEnter(barrier) | Op::BarrierExit(barrier) => symbols.barrier(barrier),
        Op::Post(semaphore) | Op::Take(semaphore) => symbols.semaphore(semaphore),
        Op::Allocate(block) | Op::Free(block) => symbols.block(block),
        Op::RegionBegin(region) | Op::RegionEnd(region) => symbols.region(region),
    }
}

/// Lines on their way out.
pub(super) struct Lines<'w, W: Write> {
    out: &'w mut W,
    pub(super) buffer: Vec<u8>,
    /// Where the line that is being written starts in the buffer.
    line_start: usize,
}

impl<'w, W: Write> Lines<'w, W> {
    pub(super) fn new(out: &'w mut W) -> Self {
        Lines { out, buffer: Vec::with_capacity(2 * BLOCK), line_start: 0 }
    }

    /// Appends a name.
    pub(super) fn name(&mut self, name: &str, dialect: Dialect) -> io::Result<()> {
        if name.is_empty() {
            return Err(refused("an empty name cannot be written as text".to_owned()));
        }
        encode(name, dialect, &mut self.buffer);
        Ok(())
    }

    /// Appends the name a line starts with.
    pub(super) fn first_name(&mut self, name: &str, dialect: Dialect) -> io::Result<()> {
        if name.is_empty() {
            return Err(refused("an empty name cannot be written as text".to_owned()));
        }
        encode_first(name, dialect, &mut self.buffer);
        Ok(())
    }

    pub(super) fn end_line(&mut self) -> io::Result<()> {
        if self.buffer.len() - self.line_start > MAX_LINE {
            return Err(refused("a line longer than 1 MiB could not be read back".to_owned()));
        }
        self.buffer.push(b'\n');
        if self.buffer.len() >= BLOCK {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        self.line_start = self.buffer.len();
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()
    }
}

pub(super) fn refused(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
