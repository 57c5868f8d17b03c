//! Generated events written as they are made, so that memory does not grow with their number.
//!
//! All names are known before the first event, and none needs escaping: they are the generator's.

use std::io::{self, Write};

use crate::generator::{Event, Generator};
use trace::native::{Table, Writer};
use trace::{Names, Op, SemaphoreId, Trace, text};

/// Events between two reports of progress.
const STRIDE: u64 = 1 << 16;

/// Writes the native form and returns how many events there were.
pub fn write_native(generator: Generator, out: &mut dyn Write, tell: impl Fn(u64)) -> io::Result<u64> {
    let names = names_of(&generator)?;
    let mut writer = Writer::new(out)?;
    for (table, names) in tables(&names) {
        names.iter().try_for_each(|name| writer.name(table, name))?;
    }
    names.marks().iter().try_for_each(|&mark| writer.mark(mark))?;
    for semaphore in (0..names.symbols().semaphores.len()).map(SemaphoreId::new) {
        if let Some(permits) = names.declared_permits(semaphore) {
            writer.permits(semaphore, permits)?;
        }
    }
    let events = each(generator, tell, |event| writer.event(event.thread, event.op, event.location))?;
    writer.finish()?;
    Ok(events)
}

/// Writes text and returns how many events there were.
pub fn write_text(generator: Generator, mut out: &mut dyn Write, tell: impl Fn(u64)) -> io::Result<u64> {
    let names = names_of(&generator)?;
    // Without events, what is written are the declarations.
    text::write(&names, &mut out)?;
    let symbols = names.symbols();
    each(generator, tell, |Event { thread, op, location }| {
        write!(out, "{}|{}(", symbols.thread(thread), text::op_name(op.kind()))?;
        match op {
            Op::Fence => {}
            Op::Branch(count) => write!(out, "{count}")?,
            Op::Mark(mark) => {
                let mark = names.mark(mark);
                write!(out, "{},{}", symbols.marks.get(mark.name as usize), mark.value)?;
            }
            Op::Begin | Op::End => out.write_all(symbols.thread(thread).as_bytes())?,
            op => out.write_all(text::object_name(&names, op).as_bytes())?,
        }
        writeln!(out, ")|{}", symbols.location(location))
    })
}

/// A trace of names without events.
fn names_of(generator: &Generator) -> io::Result<Trace> {
    let builder = crate::names::names(generator).map_err(io::Error::other)?;
    builder.finish().map_err(io::Error::other)
}

fn each(
    generator: Generator,
    tell: impl Fn(u64),
    mut write: impl FnMut(Event) -> io::Result<()>,
) -> io::Result<u64> {
    let mut events = 0;
    for event in generator {
        write(event)?;
        events += 1;
        if events % STRIDE == 0 {
            tell(events);
        }
    }
    Ok(events)
}

fn tables(trace: &Trace) -> [(Table, &Names); 10] {
    let s = trace.symbols();
    [
        (Table::Threads, &s.threads),
        (Table::Variables, &s.variables),
        (Table::Locks, &s.locks),
        (Table::Conditions, &s.conditions),
        (Table::Barriers, &s.barriers),
        (Table::Semaphores, &s.semaphores),
        (Table::Blocks, &s.blocks),
        (Table::Regions, &s.regions),
        (Table::MarkNames, &s.marks),
        (Table::Locations, &s.locations),
    ]
}
