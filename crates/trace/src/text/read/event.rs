//! One line to one event. The plain accesses and sections, nearly all of any trace, are recognised by their bytes; the others by name.

use crate::ids::{EventId, LocationId, LockId, ThreadId, VariableId};
use crate::memory_order::MemoryOrder;
use crate::op::{Kind, Op};

use super::Parser;
use crate::text::cut::Cut;
use crate::text::error::{Problem, TextPosition, quote};
use crate::text::escape::decode;
use crate::text::is_number;
use crate::text::naming::Change;
use crate::text::recent::Repeated;
use crate::text::spelling::{nearest, object_of, op_name, op_named};

/// The part of an event's line that a problem is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Thread,
    Op,
    Object,
    Location,
    Line,
}

/// What is wrong, and in which part.
pub(super) type Refusal = (Part, Problem);

impl Parser<'_> {
    /// Takes in the event on a line.
    #[inline]
    pub(super) fn event(&mut self, text: &str, cut: Cut) -> Result<(), Refusal> {
        if self.builder.len() >= self.most_events {
            return Err((Part::Line, Problem::TooManyEvents { most: self.most_events }));
        }
        if cut.start == cut.first {
            return Err((Part::Thread, Problem::NoThread));
        }
        if cut.second + 1 == cut.stop {
            return Err((Part::Location, Problem::NoLocation));
        }
        let (builder, naming, escapes) = (&mut self.builder, &self.naming, self.escapes);
        let thread = self.threads.id(text, cut.start, cut.first, |name| {
            naming.thread(&escapes.decode(name), builder).map(|thread| thread.0)
        });
        let thread = ThreadId(thread.map_err(|error| (Part::Thread, error.into()))?);
        let op = self.op(text, thread, cut)?;
        let builder = &mut self.builder;
        let location = self.locations.id(text, cut.second + 1, cut.stop, |name| {
            builder.location(&escapes.decode(name)).map(|id| id.0)
        });
        let location = LocationId(location.map_err(|error| (Part::Location, error.into()))?);
        self.builder.push(thread, op, location);
        Ok(())
    }

    /// `op(object)`; the object runs to the last parenthesis, which ends the field.
    #[inline]
    fn op(&mut self, text: &str, thread: ThreadId, cut: Cut) -> Result<Op, Refusal> {
        let bytes = &text.as_bytes()[cut.first + 1..cut.second];
        let escapes = self.escapes;
        // By far most operations are these two and need no more than this.
        if let [op @ (b'r' | b'w'), b'(', _, .., b')'] = bytes {
            let builder = &mut self.builder;
            let variable = self.variables.id(text, cut.first + 3, cut.second - 1, |name| {
                builder.variable(&escapes.decode(name)).map(|id| id.0)
            });
            let variable = VariableId(variable.map_err(|error| (Part::Object, error.into()))?);
            return Ok(if *op == b'r' { Op::Read(variable) } else { Op::Write(variable) });
        }
        // And of the others these two.
        if let [b'a', b'c', b'q', b'(', _, .., b')'] | [b'r', b'e', b'l', b'(', _, .., b')'] = bytes {
            let builder = &mut self.builder;
            let lock = self.locks.id(text, cut.first + 5, cut.second - 1, |name| {
                builder.lock(&escapes.decode(name)).map(|id| id.0)
            });
            let lock = LockId(lock.map_err(|error| (Part::Object, error.into()))?);
            return Ok(if bytes[0] == b'a' { Op::Acquire(lock) } else { Op::Release(lock) });
        }
        self.other_op(&text[cut.first + 1..cut.second], thread)
    }

    fn other_op(&mut self, field: &str, thread: ThreadId) -> Result<Op, Refusal> {
        let bytes = field.as_bytes();
        let open = bytes.iter().position(|&byte| byte == b'(').unwrap_or(bytes.len());
        let kind = match op_named(&bytes[..open]) {
            Some(kind) => kind,
            None => self.ordered_op(&field[..open]).map_err(|problem| (Part::Op, problem))?,
        };
        if open == bytes.len() {
            return self.op_without_object(kind);
        }
        if bytes[bytes.len() - 1] != b')' {
            return Err((Part::Op, Problem::NotClosed { found: quote(field) }));
        }
        let object = &field[open + 1..field.len() - 1];
        self.op_on(thread, kind, object).map_err(|problem| (Part::Object, problem))
    }

    /// `op.order`: an atomic operation or a fence with its memory order.
    fn ordered_op(&mut self, name: &str) -> Result<Kind, Problem> {
        let Some((op, order)) = name.split_once('.') else { return Err(unknown_op(name)) };
        let kind = op_named(op.as_bytes()).ok_or_else(|| unknown_op(op))?;
        if !kind.has_memory_order() {
            return Err(Problem::UnwantedOrder { op: op_name(kind), found: quote(order) });
        }
        let order =
            MemoryOrder::from_name(order).ok_or_else(|| Problem::UnknownOrder { found: quote(order) })?;
        self.orders.push((EventId::new(self.builder.len()), order));
        Ok(kind)
    }

    #[cold]
    fn op_without_object(&mut self, kind: Kind) -> Result<Op, Refusal> {
        match kind {
            Kind::Begin | Kind::End => {
                self.noted.life(EventId::new(self.builder.len()));
                Ok(Op::from_parts(kind, 0))
            }
            Kind::Fence => Err((Part::Op, Problem::NoParentheses { op: op_name(kind) })),
            _ => Err((Part::Op, Problem::NoObject { op: op_name(kind), object: object_of(kind) })),
        }
    }

    fn op_on(&mut self, thread: ThreadId, kind: Kind, object: &str) -> Result<Op, Problem> {
        if object.is_empty() && !matches!(kind, Kind::Begin | Kind::End | Kind::Fence) {
            return Err(Problem::NoObject { op: op_name(kind), object: object_of(kind) });
        }
        let name = &*decode(object);
        let builder = &mut self.builder;
        let event = EventId::new(builder.len());
        Ok(match kind {
            Kind::Begin | Kind::End => {
                self.noted.life(event);
                Op::from_parts(kind, 0)
            }
            Kind::Fence if object.is_empty() => Op::Fence,
            Kind::Fence => return Err(Problem::UnwantedObject { op: op_name(kind), found: quote(object) }),
            Kind::Fork => Op::Fork(self.forked(thread, name)?),
            Kind::Join => Op::Join(self.joined(thread, name)?),
            Kind::Read => Op::Read(builder.variable(name)?),
            Kind::Write => Op::Write(builder.variable(name)?),
            Kind::AtomicRead => Op::AtomicRead(builder.variable(name)?),
            Kind::AtomicWrite => Op::AtomicWrite(builder.variable(name)?),
            Kind::AtomicUpdate => Op::AtomicUpdate(builder.variable(name)?),
            Kind::Request => Op::Request(builder.lock(name)?),
            Kind::Acquire => Op::Acquire(builder.lock(name)?),
            Kind::Release => Op::Release(builder.lock(name)?),
            Kind::RequestShared => Op::RequestShared(builder.lock(name)?),
            Kind::AcquireShared => Op::AcquireShared(builder.lock(name)?),
            Kind::ReleaseShared => Op::ReleaseShared(builder.lock(name)?),
            Kind::Wait | Kind::Signal | Kind::Broadcast => {
                self.noted.condition(event);
                Op::from_parts(kind, builder.condition(name)?.0)
            }
            Kind::BarrierEnter => Op::BarrierEnter(builder.barrier(name)?),
            Kind::BarrierExit => Op::BarrierExit(builder.barrier(name)?),
            Kind::Post => Op::Post(builder.semaphore(name)?),
            Kind::Take => Op::Take(builder.semaphore(name)?),
            Kind::Allocate => Op::Allocate(builder.block(name)?),
            Kind::Free => Op::Free(builder.block(name)?),
            Kind::Branch => Op::Branch(count(object)?),
            Kind::Mark => {
                let (name, value) = mark(object)?;
                Op::Mark(builder.mark(&decode(name), value)?)
            }
            Kind::RegionBegin => Op::RegionBegin(builder.region(name)?),
            Kind::RegionEnd => Op::RegionEnd(builder.region(name)?),
        })
    }

    fn forked(&mut self, actor: ThreadId, name: &str) -> Result<ThreadId, Problem> {
        if !self.is_by_number(actor, name) {
            return Ok(self.naming.thread(name, &mut self.builder)?);
        }
        let (thread, change) = self.naming.forked(name, actor, &mut self.builder)?;
        if change == Change::Renamed {
            self.threads = Repeated::default();
        }
        Ok(thread)
    }

    fn joined(&mut self, actor: ThreadId, name: &str) -> Result<ThreadId, Problem> {
        Ok(if self.is_by_number(actor, name) {
            self.naming.numbered(name, &mut self.builder)?
        } else {
            self.naming.thread(name, &mut self.builder)?
        })
    }

    /// Whether the thread that is forked or joined is called by its number. Where the acting thread's
    /// name is a number too, the number is a name.
    fn is_by_number(&self, actor: ThreadId, name: &str) -> bool {
        !self.directives.threads_as_written && is_number(name) && !is_number(self.builder.thread_name(actor))
    }
}

#[cold]
fn unknown_op(name: &str) -> Problem {
    match name {
        "" => Problem::NoOp,
        name => Problem::UnknownOp { found: quote(name), nearest: nearest(name) },
    }
}

fn count(object: &str) -> Result<u32, Problem> {
    let count = is_number(object).then(|| object.parse().ok()).flatten();
    count.ok_or_else(|| Problem::BadCount { found: quote(object) })
}

/// The name and the value of a mark.
fn mark(object: &str) -> Result<(&str, i64), Problem> {
    let cut = object.rsplit_once(',').filter(|(name, _)| !name.is_empty());
    let (name, value) = cut.ok_or_else(|| Problem::BadMark { found: quote(object) })?;
    let digits = value.strip_prefix('-').unwrap_or(value);
    let number = is_number(digits).then(|| value.parse().ok()).flatten();
    Ok((name, number.ok_or_else(|| Problem::BadMarkValue { found: quote(value) })?))
}

/// Where a part of a line stands.
#[cold]
pub(super) fn place_of(part: Part, text: &str, cut: Option<Cut>, line: u64) -> TextPosition {
    let whole = TextPosition { line, column: 0, length: 0 };
    let Some(Cut { start, first, second, stop, .. }) = cut else {
        return whole;
    };
    let open = text[first + 1..second].find('(').map_or(second, |open| first + 1 + open);
    let (from, to) = match part {
        Part::Line => return whole,
        Part::Thread => (start, first),
        Part::Op => (first + 1, second),
        Part::Object => (open + 1, second - 1),
        Part::Location => (second + 1, stop),
    };
    TextPosition { line, column: from - start + 1, length: to - from }
}
