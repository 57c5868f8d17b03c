//! Writing the native form. [`read`](mod@super::read) is the other side.

use std::io::{self, Write};

use crate::ids::{EventId, LocationId, SemaphoreId, ThreadId};
use crate::memory_order::MemoryOrder;
use crate::metadata::Metadata;
use crate::names::Names;
use crate::native::layout::{
    self, CHUNK_HEADER_LEN, ChunkHeader, Codec, EVENT_LEN, MAX_CHUNK_EVENTS, MAX_EVENTS, MAX_RAW_LEN,
    NO_PARENT, Table, Tag,
};
use crate::native::notes::{FrameNumber, Note, Notes, StackId, ThreadOrigin};
use crate::native::pending::{NotesColumns, PendingNames};
use crate::op::Op;
use crate::trace::{Columns, Mark, Trace};

/// On the traces measured, level 3 saved up to 16 % and took up to twice the time, level 9 saved up to
/// 22 % and took five times as long; levels below 1 were larger and hardly faster.
const ZSTD_LEVEL: i32 = 1;
/// What a zstd skippable frame starts with; its length follows.
const SKIPPABLE: [u8; 4] = 0x184D_2A50u32.to_le_bytes();
const SKIPPABLE_HEADER_LEN: usize = 8;
/// Pending names become a chunk when they take this much, well before the limit.
const NAMES_LEN: usize = 1 << 20;

/// Writes a whole trace.
pub fn write(trace: &Trace, out: impl Write) -> io::Result<()> {
    let mut writer = Writer::new(out)?;
    writer.trace(trace)?;
    writer.finish()?;
    Ok(())
}

/// Writes a trace as it comes to be.
///
/// Names are numbered from 0 in the order they are given, table by table; they must be distinct, and
/// given before the events that use them. Events gather into chunks; [`Writer::flush`] ends a chunk
/// early, and what was flushed is readable whatever happens next. A writer dropped without
/// [`Writer::finish`] leaves a truncated trace.
pub struct Writer<W: Write> {
    chunks: ChunkWriter<W>,
    names: PendingNames,
    events: Columns,
    /// The notes of these events: of all of them, or of none.
    notes: NotesColumns,
    /// The memory order of the event that comes next.
    next_order: MemoryOrder,
    chunk_events: usize,
    written_events: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a trace. Each chunk is one `write_all`, so `out` needs no buffering of its own.
    pub fn new(out: W) -> io::Result<Self> {
        Ok(Writer {
            chunks: ChunkWriter::new(out)?,
            names: PendingNames::default(),
            events: Columns::default(),
            notes: NotesColumns::default(),
            next_order: MemoryOrder::SeqCst,
            chunk_events: MAX_CHUNK_EVENTS,
            written_events: 0,
        })
    }

    /// Ends a chunk after this many events instead of the most there can be.
    pub fn chunk_events(mut self, events: usize) -> Self {
        self.chunk_events = events.clamp(1, MAX_CHUNK_EVENTS);
        self
    }

    /// States how and where the run was recorded, replacing what was said before.
    pub fn metadata(&mut self, metadata: &Metadata) -> io::Result<()> {
        let json = serde_json::to_vec(metadata)?;
        self.chunks.write(Tag::Metadata, 1, &json)
    }

    /// Adds the next name of a table.
    pub fn name(&mut self, table: Table, name: &str) -> io::Result<()> {
        // The section's header and the name's length go with it.
        if name.len() > MAX_RAW_LEN - 12 {
            return Err(invalid(format!("a name of {} bytes does not fit in a chunk", name.len())));
        }
        if self.names.raw_len() + name.len() > NAMES_LEN {
            self.flush_names()?;
        }
        self.names.add(table, name);
        Ok(())
    }

    /// Adds the next mark. Its name is a place in [`Table::MarkNames`].
    pub fn mark(&mut self, mark: Mark) -> io::Result<()> {
        if self.names.raw_len() > NAMES_LEN {
            self.flush_names()?;
        }
        self.names.marks.push(mark);
        Ok(())
    }

    /// States how many permits a semaphore starts with.
    pub fn permits(&mut self, semaphore: SemaphoreId, permits: u32) -> io::Result<()> {
        if self.names.raw_len() > NAMES_LEN {
            self.flush_names()?;
        }
        self.names.permits.push((semaphore, permits));
        Ok(())
    }

    /// Adds the next call stack. The first has the number 1; what it names must have been added.
    pub fn stack(&mut self, parent: Option<StackId>, frame: FrameNumber) -> io::Result<()> {
        if self.names.raw_len() > NAMES_LEN {
            self.flush_names()?;
        }
        self.names.stacks.push([parent.map_or(0, StackId::raw), frame]);
        Ok(())
    }

    /// States how a thread came to be.
    pub fn origin(&mut self, thread: ThreadId, origin: ThreadOrigin) -> io::Result<()> {
        if self.names.raw_len() > NAMES_LEN {
            self.flush_names()?;
        }
        self.names.origins.push([thread.0, origin.parent.map_or(NO_PARENT, |parent| parent.0), origin.nth]);
        Ok(())
    }

    /// States the memory order of the event that is added next; without that it is `seq_cst`.
    pub fn order(&mut self, order: MemoryOrder) {
        self.next_order = order;
    }

    /// Adds the next event. What it names must have been added.
    pub fn event(&mut self, thread: ThreadId, op: Op, location: LocationId) -> io::Result<()> {
        if !self.notes.is_empty() {
            self.end_chunk()?;
        }
        self.add_event(thread, op, location)
    }

    /// Adds the next event with what is noted of it.
    pub fn noted_event(
        &mut self,
        thread: ThreadId,
        op: Op,
        location: LocationId,
        note: Note,
    ) -> io::Result<()> {
        if self.notes.len() != self.events.len() {
            self.end_chunk()?;
        }
        self.notes.push(note);
        self.add_event(thread, op, location)
    }

    fn add_event(&mut self, thread: ThreadId, op: Op, location: LocationId) -> io::Result<()> {
        self.events.push(thread, op, location);
        if self.next_order != MemoryOrder::SeqCst {
            let last = EventId::new(self.events.len() - 1);
            self.events.set_order(last, std::mem::take(&mut self.next_order));
        }
        if self.events.len() >= self.chunk_events { self.end_chunk() } else { Ok(()) }
    }

    /// Ends the chunk and flushes the output: all that was added so far can be read back.
    pub fn flush(&mut self) -> io::Result<()> {
        self.end_chunk()?;
        self.chunks.out.flush()
    }

    /// Flushes, says that this was all, and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_chunk()?;
        self.chunks.write(Tag::End, 1, &self.written_events.to_le_bytes())?;
        self.chunks.out.flush()?;
        Ok(self.chunks.out)
    }

    /// Adds all of a trace to a writer that has nothing yet.
    pub fn trace(&mut self, trace: &Trace) -> io::Result<()> {
        if !trace.metadata().is_empty() {
            self.metadata(trace.metadata())?;
        }
        for table in Table::ALL {
            for name in table.names(trace).into_iter().flat_map(Names::iter) {
                self.name(table, name)?;
            }
        }
        if let Some(notes) = trace.notes() {
            for &(parent, frame) in notes.stacks() {
                self.stack(parent, frame)?;
            }
            for thread in (0..trace.symbols().threads.len()).map(ThreadId::new) {
                notes.origin(thread).map_or(Ok(()), |origin| self.origin(thread, origin))?;
            }
        }
        for &mark in trace.marks() {
            self.mark(mark)?;
        }
        for index in 0..trace.symbols().semaphores.len() {
            let semaphore = SemaphoreId::new(index);
            if let Some(permits) = trace.declared_permits(semaphore) {
                self.permits(semaphore, permits)?;
            }
        }
        self.end_chunk()?;
        match trace.notes() {
            Some(notes) => self.noted_events(trace, notes),
            None => self.bare_events(trace),
        }
    }

    fn bare_events(&mut self, trace: &Trace) -> io::Result<()> {
        let columns = trace.columns();
        let heads = columns.heads().chunks(self.chunk_events);
        let targets = columns.targets().chunks(self.chunk_events);
        let locations = columns.locations().chunks(self.chunk_events);
        for (index, ((heads, targets), locations)) in heads.zip(targets).zip(locations).enumerate() {
            let rest = columns.orders().get(index * self.chunk_events..).unwrap_or_default();
            self.orders_chunk(&rest[..rest.len().min(heads.len())], heads.len())?;
            self.events_chunk(heads, targets, locations)?;
        }
        Ok(())
    }

    fn noted_events(&mut self, trace: &Trace, notes: &Notes) -> io::Result<()> {
        let mut rows = notes.rows().peekable();
        for (event, thread, op) in trace.events() {
            let location = trace.location(event);
            self.order(trace.memory_order(event));
            match rows.next_if(|row| !matches!(row, Ok((noted, _)) if *noted != event)) {
                Some(Ok((_, note))) => self.noted_event(thread, op, location, note)?,
                Some(Err(damage)) => return Err(io::Error::new(io::ErrorKind::InvalidData, damage)),
                None => self.event(thread, op, location)?,
            }
        }
        self.end_chunk()
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        self.flush_names()?;
        if self.events.is_empty() {
            return Ok(());
        }
        let mut events = std::mem::take(&mut self.events);
        self.orders_chunk(events.orders(), events.len())?;
        self.events_chunk(events.heads(), events.targets(), events.locations())?;
        events.clear();
        self.events = events;
        if self.notes.is_empty() { Ok(()) } else { self.notes_chunk() }
    }

    /// The memory orders of a chunk with this number of events, if one is not `seq_cst`.
    fn orders_chunk(&mut self, orders: &[MemoryOrder], events: usize) -> io::Result<()> {
        if orders.iter().all(|&order| order == MemoryOrder::SeqCst) {
            return Ok(());
        }
        let mut raw: Vec<u8> = orders.iter().map(|&order| order as u8).collect();
        raw.resize(events, MemoryOrder::SeqCst as u8);
        self.chunks.write(Tag::Orders, events as u32, &raw)
    }

    fn notes_chunk(&mut self) -> io::Result<()> {
        let mut raw = std::mem::take(&mut self.chunks.raw);
        raw.clear();
        let count = self.notes.drain_into(&mut raw);
        self.chunks.write(Tag::Notes, count, &raw)?;
        self.chunks.raw = raw;
        Ok(())
    }

    fn flush_names(&mut self) -> io::Result<()> {
        if self.names.is_empty() {
            return Ok(());
        }
        let mut raw = std::mem::take(&mut self.chunks.raw);
        raw.clear();
        let count = self.names.drain_into(&mut raw);
        self.chunks.write(Tag::Names, count, &raw)?;
        self.chunks.raw = raw;
        Ok(())
    }

    fn events_chunk(&mut self, heads: &[u32], targets: &[u32], locations: &[u32]) -> io::Result<()> {
        let count = heads.len();
        if self.written_events + count as u64 > MAX_EVENTS {
            return Err(invalid(format!("a trace holds at most {MAX_EVENTS} events")));
        }
        let mut raw = std::mem::take(&mut self.chunks.raw);
        raw.clear();
        raw.reserve(count * EVENT_LEN);
        for column in [heads, targets, locations] {
            layout::split_planes(column, &mut raw);
        }
        self.chunks.write(Tag::Events, count as u32, &raw)?;
        self.chunks.raw = raw;
        self.written_events += count as u64;
        Ok(())
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

impl Table {
    /// The names of this table in a trace.
    fn names(self, trace: &Trace) -> Option<&Names> {
        let symbols = trace.symbols();
        Some(match self {
            Table::Threads => &symbols.threads,
            Table::Variables => &symbols.variables,
            Table::Locks => &symbols.locks,
            Table::Conditions => &symbols.conditions,
            Table::Barriers => &symbols.barriers,
            Table::Semaphores => &symbols.semaphores,
            Table::Blocks => &symbols.blocks,
            Table::Regions => &symbols.regions,
            Table::MarkNames => &symbols.marks,
            Table::Locations => &symbols.locations,
            Table::Frames => trace.notes()?.frames(),
        })
    }
}

/// Compresses, pads, checksums and writes chunks.
pub(super) struct ChunkWriter<W> {
    out: W,
    compressor: zstd::bulk::Compressor<'static>,
    /// A chunk's content, between chunks only room to reuse.
    raw: Vec<u8>,
    /// A chunk as it goes out.
    chunk: Vec<u8>,
}

impl<W: Write> ChunkWriter<W> {
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&layout::header())?;
        let compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL)?;
        Ok(ChunkWriter { out, compressor, raw: Vec::new(), chunk: Vec::new() })
    }

    /// The output.
    #[cfg(test)]
    pub(super) fn into_out(self) -> W {
        self.out
    }

    /// Writes a chunk as it is.
    pub(super) fn copy(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.out.write_all(chunk)
    }

    /// Writes a chunk without trying to compress it.
    pub(super) fn store(&mut self, tag: Tag, count: u32, raw: &[u8]) -> io::Result<()> {
        let length = raw.len() as u32;
        let mut header = ChunkHeader {
            tag: tag.bytes(),
            codec: Codec::Stored as u32,
            count,
            raw_len: length,
            stored_len: length,
            checksum: 0,
        };
        header.checksum = header.checksum_with(raw);
        self.out.write_all(&header.to_bytes())?;
        self.out.write_all(raw)
    }

    pub(super) fn write(&mut self, tag: Tag, count: u32, raw: &[u8]) -> io::Result<()> {
        if raw.len() > MAX_RAW_LEN {
            let [raw, most] = [raw.len(), MAX_RAW_LEN];
            return Err(invalid(format!("a chunk of {raw} bytes is longer than the {most} there can be")));
        }
        let compressed = self.compressor.compress(raw)?;
        let padding = padding(raw.len().div_ceil(tag.max_ratio()), compressed.len());
        let stored_len = compressed.len() + padding;
        let (codec, stored_len) =
            if stored_len < raw.len() { (Codec::Zstd, stored_len) } else { (Codec::Stored, raw.len()) };

        self.chunk.clear();
        self.chunk.resize(CHUNK_HEADER_LEN, 0);
        match codec {
            Codec::Stored => self.chunk.extend_from_slice(raw),
            Codec::Zstd => {
                self.chunk.extend_from_slice(&compressed);
                if padding > 0 {
                    self.chunk.extend(SKIPPABLE);
                    self.chunk.extend(((padding - SKIPPABLE_HEADER_LEN) as u32).to_le_bytes());
                    self.chunk.resize(CHUNK_HEADER_LEN + stored_len, 0);
                }
            }
        }
        let mut header = ChunkHeader {
            tag: tag.bytes(),
            codec: codec as u32,
            count,
            raw_len: raw.len() as u32,
            stored_len: stored_len as u32,
            checksum: 0,
        };
        header.checksum = header.checksum_with(&self.chunk[CHUNK_HEADER_LEN..]);
        self.chunk[..CHUNK_HEADER_LEN].copy_from_slice(&header.to_bytes());
        self.out.write_all(&self.chunk)
    }
}

/// Bytes of padding so that a chunk compressed to `len` takes `least`. See `Tag::max_ratio`.
fn padding(least: usize, len: usize) -> usize {
    if len >= least { 0 } else { (least - len).max(SKIPPABLE_HEADER_LEN) }
}
