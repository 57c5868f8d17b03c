//! By what evidence knows its trace: the number of its events and a checksum of them.
//!
//! The checksum is the CRC-32 (as in gzip and zip) of the trace's event lines in STD text, each with its
//! line end, then of a line `semaphore NAME N` for each semaphore that events use, in the order of first
//! use, N being the permits it starts with. So it is the same for all forms a trace is kept in, and
//! does not depend on where, when or how the trace was recorded. It guards against mistakes, not against forgery: what is
//! checked is checked against the trace at hand, whatever the checksum says.

use crc32fast::Hasher;
use trace::text::op_name;
use trace::{EventId, Op, Trace};

/// What a trace is recognised by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// How many events it has.
    pub events: usize,
    /// `crc32:` and eight hexadecimal digits.
    pub checksum: String,
}

impl Fingerprint {
    /// The fingerprint of a trace. Linear in its text form.
    pub fn of(trace: &Trace) -> Self {
        /// How much text is gathered before it is taken in.
        const BLOCK: usize = 1 << 16;
        let mut hasher = Hasher::new();
        let mut text = String::with_capacity(2 * BLOCK);
        let mut semaphores = Vec::new();
        let mut used = vec![false; trace.symbols().semaphores.len()];
        for (event, _, op) in trace.events() {
            push_event(&mut text, trace, event);
            text.push('\n');
            if text.len() >= BLOCK {
                hasher.update(text.as_bytes());
                text.clear();
            }
            if let Op::Post(semaphore) | Op::Take(semaphore) = op
                && !std::mem::replace(&mut used[semaphore.index()], true)
            {
                semaphores.push(semaphore);
            }
        }
        for semaphore in semaphores {
            text.push_str("semaphore ");
            push_name(&mut text, trace.symbols().semaphore(semaphore));
            text.push_str(&format!(" {}\n", trace.initial_permits(semaphore)));
        }
        hasher.update(text.as_bytes());
        Fingerprint { events: trace.len(), checksum: format!("crc32:{:08x}", hasher.finalize()) }
    }
}

/// An event as a line of STD text, without its line end: `T1|w(x)|a.c:10`.
pub fn event_line(trace: &Trace, event: EventId) -> String {
    let mut line = String::new();
    push_event(&mut line, trace, event);
    line
}

fn push_event(text: &mut String, trace: &Trace, event: EventId) {
    push_first_name(text, trace.symbols().thread(trace.thread(event)));
    text.push('|');
    push_op(text, trace, event);
    text.push('|');
    push_name(text, trace.symbols().location(trace.location(event)));
}

/// The operation and what it acts on: `w(x)`.
pub(crate) fn push_op(text: &mut String, trace: &Trace, event: EventId) {
    let symbols = trace.symbols();
    let op = trace.op(event);
    text.push_str(op_name(op.kind()));
    text.push('(');
    match op {
        Op::Begin | Op::End => push_name(text, symbols.thread(trace.thread(event))),
        Op::Fence => {}
        Op::Fork(thread) | Op::Join(thread) => push_name(text, symbols.thread(thread)),
        Op::Read(v) | Op::Write(v) | Op::AtomicRead(v) | Op::AtomicWrite(v) | Op::AtomicUpdate(v) => {
            push_name(text, symbols.variable(v));
        }
        Op::Request(l)
        | Op::Acquire(l)
        | Op::Release(l)
        | Op::RequestShared(l)
        | Op::AcquireShared(l)
        | Op::ReleaseShared(l) => push_name(text, symbols.lock(l)),
        Op::Wait(c) | Op::Signal(c) | Op::Broadcast(c) => push_name(text, symbols.condition(c)),
        Op::BarrierEnter(b) | Op::BarrierExit(b) => push_name(text, symbols.barrier(b)),
        Op::Post(s) | Op::Take(s) => push_name(text, symbols.semaphore(s)),
        Op::Allocate(b) | Op::Free(b) => push_name(text, symbols.block(b)),
        Op::Branch(count) => text.push_str(&count.to_string()),
        Op::Mark(mark) => {
            let mark = trace.mark(mark);
            push_name(text, symbols.marks.get(mark.name as usize));
            text.push_str(&format!(",{}", mark.value));
        }
        Op::RegionBegin(r) | Op::RegionEnd(r) => push_name(text, symbols.region(r)),
    }
    text.push(')');
}

/// A name as STD text spells it: `|`, `%` and line ends as `%` and two digits.
pub(crate) fn push_name(text: &mut String, name: &str) {
    if !name.bytes().any(|byte| matches!(byte, b'|' | b'%' | b'\n' | b'\r')) {
        return text.push_str(name);
    }
    for c in name.chars() {
        match c {
            '|' => text.push_str("%7C"),
            '%' => text.push_str("%25"),
            '\n' => text.push_str("%0A"),
            '\r' => text.push_str("%0D"),
            c => text.push(c),
        }
    }
}

/// A name that starts a line, where a `#` would be taken for a comment.
fn push_first_name(text: &mut String, name: &str) {
    match name.strip_prefix('#') {
        Some(rest) => {
            text.push_str("%23");
            push_name(text, rest);
        }
        None => push_name(text, name),
    }
}
