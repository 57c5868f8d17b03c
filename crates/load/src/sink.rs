//! Where a trace goes while it is translated: to a file, into memory, or nowhere.

use std::io::{self, Write};

use trace::native::{FrameNumber, Note, StackId, Table, ThreadOrigin, Writer};
use trace::{
    Kind, LocationId, Mark, MemoryOrder, Metadata, Op, SemaphoreId, ThreadId, TooManyNames, Trace,
    TraceBuilder,
};
use wire::Event;

/// Takes a trace in, part by part. What an event names comes before it.
pub trait Sink {
    /// Whether it wants to know of accesses to memory that is no variable of the trace ([`Sink::translated`]).
    const WANTS_ALL_ACCESSES: bool = false;

    /// Whether it matters what objects are called.
    const WANTS_NAMES: bool = true;

    /// How and where the run was recorded, replacing what was said before.
    fn metadata(&mut self, _metadata: &Metadata) -> io::Result<()> {
        Ok(())
    }

    /// The next name of a table.
    fn name(&mut self, _table: Table, _name: &str) -> io::Result<()> {
        Ok(())
    }

    /// The next mark. Its name is a place in [`Table::MarkNames`].
    fn mark(&mut self, _mark: Mark) -> io::Result<()> {
        Ok(())
    }

    /// The next call stack. The first has the number 1.
    fn stack(&mut self, _parent: Option<StackId>, _frame: FrameNumber) -> io::Result<()> {
        Ok(())
    }

    /// How a thread came to be.
    fn origin(&mut self, _thread: ThreadId, _origin: ThreadOrigin) -> io::Result<()> {
        Ok(())
    }

    /// How many permits a semaphore starts with.
    fn permits(&mut self, _semaphore: SemaphoreId, _permits: u32) -> io::Result<()> {
        Ok(())
    }

    /// The memory order of the event that comes next; without that it is `seq_cst`.
    fn order(&mut self, _order: MemoryOrder) {}

    /// The next event of the trace.
    fn event(&mut self, _thread: ThreadId, _op: Op, _location: LocationId, _note: Note) -> io::Result<()> {
        Ok(())
    }

    /// Whether it matters where this event is in the source. Finding out takes time.
    fn wants_source(&self, _event: &Event<'_>) -> bool {
        true
    }

    /// An event of the log has become an event of this kind in the trace, or would if its memory were a variable of the trace. The location and
    /// the stack are known if the source was wanted.
    fn translated(
        &mut self,
        _event: &Event<'_>,
        _kind: Kind,
        _location: Option<LocationId>,
        _stack: Option<StackId>,
    ) {
    }
}

/// A file of the native form.
impl<W: Write> Sink for Writer<W> {
    fn metadata(&mut self, metadata: &Metadata) -> io::Result<()> {
        Writer::metadata(self, metadata)
    }

    fn name(&mut self, table: Table, name: &str) -> io::Result<()> {
        Writer::name(self, table, name)
    }

    fn mark(&mut self, mark: Mark) -> io::Result<()> {
        Writer::mark(self, mark)
    }

    fn stack(&mut self, parent: Option<StackId>, frame: FrameNumber) -> io::Result<()> {
        Writer::stack(self, parent, frame)
    }

    fn origin(&mut self, thread: ThreadId, origin: ThreadOrigin) -> io::Result<()> {
        Writer::origin(self, thread, origin)
    }

    fn permits(&mut self, semaphore: SemaphoreId, permits: u32) -> io::Result<()> {
        Writer::permits(self, semaphore, permits)
    }

    fn order(&mut self, order: MemoryOrder) {
        Writer::order(self, order);
    }

    #[inline]
    fn event(&mut self, thread: ThreadId, op: Op, location: LocationId, note: Note) -> io::Result<()> {
        self.noted_event(thread, op, location, note)
    }
}

/// A trace in memory. Call stacks and the origins of threads are not kept.
#[derive(Debug, Default)]
pub struct InMemory {
    builder: TraceBuilder,
    next_order: MemoryOrder,
    mark_names: Vec<String>,
}

impl InMemory {
    /// The trace.
    pub fn finish(self) -> Result<Trace, trace::ImpossibleEvent> {
        self.builder.finish()
    }
}

impl Sink for InMemory {
    fn metadata(&mut self, metadata: &Metadata) -> io::Result<()> {
        self.builder.set_metadata(metadata.clone());
        Ok(())
    }

    fn name(&mut self, table: Table, name: &str) -> io::Result<()> {
        let builder = &mut self.builder;
        // The numbers are the same as the loader's: it adds each name once, in the order of their numbers.
        let added: Result<(), TooManyNames> = match table {
            Table::Threads => builder.thread(name).map(drop),
            Table::Variables => builder.variable(name).map(drop),
            Table::Locks => builder.lock(name).map(drop),
            Table::Conditions => builder.condition(name).map(drop),
            Table::Barriers => builder.barrier(name).map(drop),
            Table::Semaphores => builder.semaphore(name).map(drop),
            Table::Blocks => builder.block(name).map(drop),
            Table::Regions => builder.region(name).map(drop),
            Table::Locations => builder.location(name).map(drop),
            Table::MarkNames => {
                self.mark_names.push(name.to_owned());
                Ok(())
            }
            Table::Frames => Ok(()),
        };
        added.map_err(io::Error::other)
    }

    fn mark(&mut self, mark: Mark) -> io::Result<()> {
        let name = &self.mark_names[mark.name as usize];
        self.builder.mark(name, mark.value).map(drop).map_err(io::Error::other)
    }

    fn permits(&mut self, semaphore: SemaphoreId, permits: u32) -> io::Result<()> {
        self.builder.declare_permits(semaphore, permits);
        Ok(())
    }

    fn order(&mut self, order: MemoryOrder) {
        self.next_order = order;
    }

    #[inline]
    fn event(&mut self, thread: ThreadId, op: Op, location: LocationId, _note: Note) -> io::Result<()> {
        self.builder.push(thread, op, location);
        if self.next_order != MemoryOrder::SeqCst {
            self.builder.set_last_order(std::mem::take(&mut self.next_order));
        }
        Ok(())
    }
}

/// Nowhere: for passes that need names and locations, but no trace.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Sink for Nowhere {}
