//! Reading the native form. [`write`](mod@super::write) is the other side.
//!
//! The story: walk the chunks ([`Chunks`]), check each and unpack it ([`Unpacker`]; notes stay packed), put its content
//! where it belongs ([`Contents`]), and match the whole. Linear time; memory at most a fixed multiple of
//! the bytes given, since no length is believed before it was held against the bytes that are there.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::ids::{EventId, SemaphoreId};
use crate::memory_order::MemoryOrder;
use crate::metadata::Metadata;
use crate::names::Interner;
use crate::native::content::{Content, numbers};
use crate::native::error::{Completeness, Cut, Problem, ReadError};
use crate::native::layout::{
    self, CHUNK_HEADER_LEN, ChunkHeader, Codec, EVENT_LEN, HEADER_LEN, MAGIC, MARK_LEN, MAX_CHUNK_EVENTS,
    MAX_EVENTS, MAX_RAW_LEN, NOTE_LEN, ORIGIN_LEN, PERMITS_LEN, STACK_LEN, Section, Table, Tag, TargetOf,
    VERSION,
};
use crate::native::notes::{Notes, NotesChunk};
use crate::native::unpack::Unpacker;
use crate::op::Kind;
use crate::stream::{Batch, NamesSoFar, Take};
use crate::trace::{Bounds, Columns, Mark, Outside, Symbols, Trace};

/// Reads a native trace.
pub fn read(bytes: &[u8]) -> Result<(Trace, Completeness), ReadError> {
    read_with(bytes, |_| ControlFlow::Continue(()))
}

/// Reads a native trace and tells `go_on`, chunk after chunk, how many bytes it has read. Reading fails where that breaks off.
pub fn read_with(
    bytes: &[u8],
    mut go_on: impl FnMut(usize) -> ControlFlow<()>,
) -> Result<(Trace, Completeness), ReadError> {
    let chunks = Chunks::of(bytes)?;
    let mut contents = Contents::with_capacity(chunks.clone().count_events());
    let mut stopped_at = None;
    let completeness = contents.take_all(chunks, |_, read| {
        let flow = go_on(read);
        stopped_at = flow.is_break().then_some(read);
        flow
    })?;
    match stopped_at {
        Some(offset) => Err(Problem::Stopped.at(offset)),
        None => Ok((contents.into_trace(&mut || go_on(bytes.len()).is_continue())?, completeness)),
    }
}

/// Reads a native trace and passes its events on as they come. Memory for the names only.
pub fn stream(bytes: &[u8], take: &mut Take<'_>) -> Result<Completeness, ReadError> {
    let mut contents = Contents::with_capacity(0);
    contents.take_all(Chunks::of(bytes)?, |contents, _| contents.pass_on(take))
}

/// What a native trace says of its recording, without reading its events; none if it says nothing.
pub fn metadata(bytes: &[u8]) -> Result<Option<Metadata>, ReadError> {
    let mut chunks = Chunks::of(bytes)?;
    let mut unpacker = Unpacker::default();
    let mut found = None;
    while let NextChunk::Chunk(chunk) = chunks.next_unchecked()? {
        if chunk.tag == Tag::Metadata {
            found = Some(chunk.metadata(&mut unpacker)?);
        }
    }
    Ok(found)
}

fn check_header(bytes: &[u8]) -> Result<(), ReadError> {
    let known = bytes.len().min(MAGIC.len());
    if bytes.is_empty() || bytes[..known] != MAGIC[..known] {
        return Err(Problem::Magic { found: bytes[..known].to_vec() }.at(0));
    }
    let Some(header) = bytes.first_chunk::<HEADER_LEN>() else {
        return Err(Problem::ShortHeader { len: bytes.len() }.at(0));
    };
    let field = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    match field(8) {
        1..=VERSION => {}
        found if found > VERSION => return Err(Problem::NewerVersion { found }.at(8)),
        found => return Err(Problem::UnknownVersion { found }.at(8)),
    }
    match field(12) {
        0 => Ok(()),
        found => Err(Problem::Flags { found }.at(12)),
    }
}

/// A chunk whose lengths are within their limits and within the file.
pub(super) struct Chunk<'a> {
    pub(super) offset: usize,
    pub(super) header: ChunkHeader,
    pub(super) tag: Tag,
    pub(super) codec: Codec,
    pub(super) stored: &'a [u8],
}

impl Chunk<'_> {
    /// What a chunk of metadata says.
    pub(super) fn metadata(&self, unpacker: &mut Unpacker) -> Result<Metadata, ReadError> {
        let raw = unpacker.unpack(self.codec, self.stored, self.header.raw_len);
        let raw = raw.map_err(|problem| problem.at(self.offset))?;
        serde_json::from_slice(raw)
            .map_err(|error| Problem::Metadata { why: error.to_string() }.at(self.offset))
    }
}

/// What comes next in a file.
pub(super) enum NextChunk<'a> {
    Chunk(Chunk<'a>),
    Cut { offset: usize, what: Cut },
}

/// The chunks of a file, from an offset on.
#[derive(Clone)]
pub(super) struct Chunks<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Chunks<'a> {
    /// All chunks of a file.
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, ReadError> {
        check_header(bytes)?;
        Ok(Chunks { bytes, offset: HEADER_LEN })
    }

    /// The next chunk, its checksum right; or where and how the file is cut short.
    pub(super) fn next(&mut self) -> Result<NextChunk<'a>, ReadError> {
        let step = self.next_unchecked()?;
        let NextChunk::Chunk(chunk) = &step else { return Ok(step) };
        let (found, expected) = (chunk.header.checksum, chunk.header.checksum_with(chunk.stored));
        if found == expected {
            return Ok(step);
        }
        if all_zero(&self.bytes[self.offset..]) {
            return Ok(NextChunk::Cut { offset: chunk.offset, what: Cut::Checksum { found, expected } });
        }
        Err(Problem::Checksum { found, expected }.at(chunk.offset))
    }

    /// Where the next chunk starts.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// The same without looking at the checksum.
    pub(super) fn next_unchecked(&mut self) -> Result<NextChunk<'a>, ReadError> {
        let offset = self.offset;
        let rest = &self.bytes[offset..];
        let cut = |what| Ok(NextChunk::Cut { offset, what });
        let inside =
            |expected: usize| Cut::InsideChunk { present: rest.len() as u64, expected: expected as u64 };
        if rest.is_empty() {
            return cut(Cut::NoEnd);
        }
        let Some((header, rest_after)) = rest.split_first_chunk::<CHUNK_HEADER_LEN>() else {
            return cut(inside(CHUNK_HEADER_LEN));
        };
        let header = ChunkHeader::from_bytes(header);
        if header.tag == [0; 4] && all_zero(rest) {
            return cut(Cut::Unwritten { bytes: rest.len() as u64 });
        }
        let (tag, codec) = check_chunk_header(header).map_err(|problem| problem.at(offset))?;
        let Some(stored) = rest_after.get(..header.stored_len as usize) else {
            return cut(inside(CHUNK_HEADER_LEN + header.stored_len as usize));
        };
        self.offset += CHUNK_HEADER_LEN + stored.len();
        Ok(NextChunk::Chunk(Chunk { offset, header, tag, codec, stored }))
    }

    /// How many events the headers promise, to make room for them at once. Bounded by the bytes there
    /// are, like everything the headers promise.
    fn count_events(mut self) -> usize {
        let mut events = 0;
        while let Ok(NextChunk::Chunk(chunk)) = self.next_unchecked() {
            match chunk.tag {
                Tag::Events => events += chunk.header.raw_len as usize / EVENT_LEN,
                Tag::Metadata | Tag::Names | Tag::Orders | Tag::Notes => {}
                Tag::RawModules | Tag::RawLog | Tag::End => break,
            }
        }
        events
    }

    pub(super) fn expect_nothing(&self) -> Result<(), ReadError> {
        match self.bytes.len() - self.offset {
            0 => Ok(()),
            bytes => Err(Problem::AfterEnd { bytes: bytes as u64 }.at(self.offset)),
        }
    }
}

fn check_chunk_header(header: ChunkHeader) -> Result<(Tag, Codec), Problem> {
    let ChunkHeader { count, raw_len: raw, stored_len: stored, .. } = header;
    let tag = Tag::from_bytes(header.tag).ok_or(Problem::Tag { found: header.tag })?;
    let codec = Codec::from_code(header.codec).ok_or(Problem::Codec { found: header.codec })?;
    if raw as usize > MAX_RAW_LEN {
        return Err(Problem::RawTooLong { found: raw });
    }
    if raw as usize > (stored as usize).saturating_mul(tag.max_ratio()) {
        return Err(Problem::Ratio { raw, stored, ratio: tag.max_ratio() });
    }
    if codec == Codec::Stored && raw != stored {
        return Err(Problem::StoredLength { raw, stored });
    }
    match tag {
        Tag::Events if count as usize > MAX_CHUNK_EVENTS => Err(Problem::ChunkEvents { found: count }),
        Tag::Events if raw as usize != count as usize * EVENT_LEN => {
            Err(Problem::EventsLength { count, raw })
        }
        Tag::Notes if raw as usize != count as usize * NOTE_LEN => Err(Problem::NotesLength { count, raw }),
        Tag::Orders if raw != count => Err(Problem::OrdersLength { count, raw }),
        Tag::Metadata if count != 1 => Err(Problem::Single { what: "metadata", found: count }),
        Tag::End if count != 1 => Err(Problem::Single { what: "end", found: count }),
        Tag::RawModules if count != 1 => Err(Problem::Single { what: "modules", found: count }),
        Tag::RawLog if count != 1 => Err(Problem::Single { what: "log", found: count }),
        Tag::Events | Tag::Orders | Tag::Notes | Tag::Metadata | Tag::Names => Ok((tag, codec)),
        Tag::RawModules | Tag::RawLog | Tag::End => Ok((tag, codec)),
    }
}

fn all_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// What the chunks so far hold.
struct Contents {
    columns: Columns,
    /// Events that were here and have been passed on.
    passed_on: usize,
    /// The first event of each events chunk and the chunk's offset, for errors found later.
    chunk_starts: Vec<(EventId, usize)>,
    /// The events chunk just read: its first event and how many it has.
    just_read: Option<(EventId, u32)>,
    /// The memory orders of the events that come next, as they are stored.
    orders: Vec<u8>,
    notes: Notes,
    tables: [Interner; Table::COUNT],
    marks: Vec<Mark>,
    known_marks: HashSet<Mark, foldhash::fast::RandomState>,
    permits: Vec<Option<u32>>,
    metadata: Metadata,
}

impl Contents {
    fn with_capacity(events: usize) -> Self {
        Contents {
            columns: Columns::with_capacity(events),
            passed_on: 0,
            chunk_starts: Vec::new(),
            just_read: None,
            orders: Vec::new(),
            notes: Notes::default(),
            tables: Default::default(),
            marks: Vec::new(),
            known_marks: HashSet::default(),
            permits: Vec::new(),
            metadata: Metadata::default(),
        }
    }

    /// Takes in all chunks. After each, `go_on` is asked whether to, and told how many bytes that were.
    fn take_all(
        &mut self,
        mut chunks: Chunks<'_>,
        mut go_on: impl FnMut(&mut Self, usize) -> ControlFlow<()>,
    ) -> Result<Completeness, ReadError> {
        let mut unpacker = Unpacker::default();
        loop {
            let chunk = match chunks.next()? {
                NextChunk::Chunk(chunk) => chunk,
                NextChunk::Cut { offset, what } => {
                    return Ok(Completeness::Truncated { offset: offset as u64, what });
                }
            };
            self.take(&chunk, &mut unpacker).map_err(|problem| problem.at(chunk.offset))?;
            if go_on(self, chunks.offset).is_break() {
                return Ok(Completeness::Complete);
            }
            if chunk.tag == Tag::End {
                chunks.expect_nothing()?;
                return Ok(Completeness::Complete);
            }
        }
    }

    /// How many events there were so far.
    fn events(&self) -> usize {
        self.passed_on + self.columns.len()
    }

    /// Passes on the events that are here, and forgets them and what is noted of them.
    fn pass_on(&mut self, take: &mut Take<'_>) -> ControlFlow<()> {
        self.notes.chunks.clear();
        self.chunk_starts.clear();
        if self.columns.is_empty() {
            return ControlFlow::Continue(());
        }
        let names = |table: Table| self.tables[table as usize].names();
        let batch = Batch {
            first: EventId::new(self.passed_on),
            columns: &self.columns,
            names: NamesSoFar {
                threads: names(Table::Threads),
                variables: names(Table::Variables),
                locks: names(Table::Locks),
                locations: names(Table::Locations),
            },
            declared_permits: &self.permits,
        };
        let flow = take(&batch);
        self.passed_on += self.columns.len();
        self.columns.clear();
        flow
    }

    fn take(&mut self, chunk: &Chunk<'_>, unpacker: &mut Unpacker) -> Result<(), Problem> {
        let just_read = self.just_read.take();
        if !self.orders.is_empty() && chunk.tag != Tag::Events {
            return Err(Problem::OrdersWithoutEvents);
        }
        match chunk.tag {
            Tag::Notes => return self.take_notes(chunk, just_read),
            Tag::RawModules | Tag::RawLog => return Err(Problem::NotTranslated),
            _ => {}
        }
        let raw = unpacker.unpack(chunk.codec, chunk.stored, chunk.header.raw_len)?;
        match chunk.tag {
            Tag::Metadata => {
                self.metadata = serde_json::from_slice(raw)
                    .map_err(|error| Problem::Metadata { why: error.to_string() })?;
                Ok(())
            }
            Tag::Names => self.take_names(raw, chunk.header.count),
            Tag::Events => self.take_events(raw, chunk.offset),
            Tag::Orders => {
                self.orders.extend_from_slice(raw);
                Ok(())
            }
            Tag::Notes | Tag::RawModules | Tag::RawLog => Ok(()),
            Tag::End => self.take_end(raw),
        }
    }

    /// Keeps notes as they are: they are unpacked when somebody asks.
    fn take_notes(&mut self, chunk: &Chunk<'_>, of: Option<(EventId, u32)>) -> Result<(), Problem> {
        let (first, expected) = of.ok_or(Problem::NotesWithoutEvents)?;
        let count = chunk.header.count;
        if count != expected {
            return Err(Problem::NotesOf { found: count, expected });
        }
        let (offset, codec, stored) = (chunk.offset, chunk.codec, chunk.stored.into());
        self.notes.chunks.push(NotesChunk { first, count, offset, codec, stored });
        Ok(())
    }

    /// The memory orders that came before these events, if any did.
    fn take_orders(&mut self, first: EventId, events: usize) -> Result<(), Problem> {
        let orders = std::mem::take(&mut self.orders);
        if !orders.is_empty() && orders.len() != events {
            return Err(Problem::OrdersOf { found: orders.len() as u32, expected: events as u32 });
        }
        for (index, &code) in orders.iter().enumerate() {
            let event = EventId::new(first.index() + index);
            let order = MemoryOrder::from_code(code).ok_or(Problem::Order { event, found: code })?;
            if order == MemoryOrder::SeqCst {
                continue;
            }
            let here = EventId::new(event.index() - self.passed_on);
            if !self.columns.kind(here).has_memory_order() {
                return Err(Problem::NeedlessOrder { event });
            }
            self.columns.set_order(here, order);
        }
        Ok(())
    }

    fn take_events(&mut self, raw: &[u8], offset: usize) -> Result<(), Problem> {
        let column = raw.len() / 3;
        check_total(self.events() as u64 + (raw.len() / EVENT_LEN) as u64)?;
        let first = EventId::new(self.events());
        self.chunk_starts.push((first, offset));
        self.just_read = Some((first, (raw.len() / EVENT_LEN) as u32));
        let (heads, rest) = raw.split_at(column);
        let (targets, locations) = rest.split_at(column);
        let [heads, targets, locations] = [heads, targets, locations].map(layout::join_planes);
        let bounds = self.bounds();
        self.columns
            .extend_checked(heads, targets, locations, &bounds)
            .map_err(|outside| self.explain(outside))?;
        self.take_orders(first, raw.len() / EVENT_LEN)
    }

    fn len_of(&self, table: Table) -> u32 {
        self.tables[table as usize].names().len() as u32
    }

    /// How many of each there are for the next events to be of.
    fn bounds(&self) -> Bounds {
        let targets = |kind: Kind| match TargetOf::kind(kind) {
            TargetOf::Nothing => 1,
            TargetOf::Table(table) => u64::from(self.len_of(table)),
            TargetOf::Marks => self.marks.len() as u64,
            TargetOf::Count => 1 << 32,
        };
        Bounds::new(self.len_of(Table::Threads), self.len_of(Table::Locations), targets)
    }

    /// What is wrong with an event that is out of bounds.
    fn explain(&self, outside: Outside) -> Problem {
        let passed_on = |event: EventId| EventId::new(self.passed_on + event.index());
        let known = |table: Table| (table.what(), self.len_of(table));
        let (event, (what, known), found) = match outside {
            Outside::Kind { event, code } => return Problem::Kind { event: passed_on(event), found: code },
            Outside::Thread { event, thread } => (event, known(Table::Threads), thread),
            Outside::Location { event, location } => (event, known(Table::Locations), location),
            Outside::Target { event, kind, target } => match TargetOf::kind(kind) {
                TargetOf::Table(table) => (event, known(table), target),
                TargetOf::Marks => (event, ("marks", self.marks.len() as u32), target),
                TargetOf::Nothing | TargetOf::Count => {
                    return Problem::NeedlessTarget { event: passed_on(event), found: target };
                }
            },
        };
        Problem::OutsideTable { event: passed_on(event), what, found, known }
    }

    fn take_names(&mut self, raw: &[u8], expected: u32) -> Result<(), Problem> {
        let mut rest = Content { rest: raw, section: None };
        let mut found = 0;
        while !rest.rest.is_empty() {
            let code = rest.number()?;
            let count = rest.number()?;
            let section = Section::from_code(code).ok_or(Problem::Section { found: code })?;
            rest.section = Some(section);
            match section {
                Section::Names(table) => self.take_table(&mut rest, table, count)?,
                Section::Marks => self.take_marks(&mut rest, count)?,
                Section::Permits => self.take_permits(&mut rest, count)?,
                Section::Stacks => self.take_stacks(&mut rest, count)?,
                Section::Origins => self.take_origins(&mut rest, count)?,
            }
            rest.section = None;
            found += u64::from(count);
        }
        if found == u64::from(expected) { Ok(()) } else { Err(Problem::NamesCount { found, expected }) }
    }

    fn take_table(&mut self, rest: &mut Content<'_>, table: Table, count: u32) -> Result<(), Problem> {
        let lengths = rest.records::<4>(count)?;
        let interner = &mut self.tables[table as usize];
        interner.reserve(lengths.len());
        for &length in lengths {
            let bytes = rest.bytes(u64::from(u32::from_le_bytes(length)))?;
            let index = interner.names().len();
            let name = std::str::from_utf8(bytes).map_err(|_| Problem::NotUtf8 { table, index })?;
            let known = interner.intern(name).map_err(|_| Problem::TooManyNames { table })?;
            if known as usize != index {
                return Err(Problem::DuplicateName { table, index, known, name: name.to_owned() });
            }
        }
        Ok(())
    }

    fn take_marks(&mut self, rest: &mut Content<'_>, count: u32) -> Result<(), Problem> {
        let known = self.len_of(Table::MarkNames) as usize;
        for record in rest.records::<MARK_LEN>(count)? {
            let [n0, n1, n2, n3, value @ ..] = *record;
            let mark = Mark { name: u32::from_le_bytes([n0, n1, n2, n3]), value: i64::from_le_bytes(value) };
            let index = self.marks.len();
            if mark.name as usize >= known {
                return Err(Problem::MarkName { mark: index, found: mark.name, known });
            }
            if index >= u32::MAX as usize {
                return Err(Problem::TooManyMarks);
            }
            if !self.known_marks.insert(mark) {
                return Err(Problem::DuplicateMark { mark: index });
            }
            self.marks.push(mark);
        }
        Ok(())
    }

    fn take_permits(&mut self, rest: &mut Content<'_>, count: u32) -> Result<(), Problem> {
        let known = self.len_of(Table::Semaphores) as usize;
        for record in rest.records::<PERMITS_LEN>(count)? {
            let [semaphore, permits] = numbers(record);
            let semaphore = SemaphoreId(semaphore);
            if semaphore.index() >= known {
                return Err(Problem::PermitsOf { found: semaphore.0, known });
            }
            if self.permits.len() <= semaphore.index() {
                self.permits.resize(semaphore.index() + 1, None);
            }
            self.permits[semaphore.index()] = Some(permits);
        }
        Ok(())
    }

    fn take_stacks(&mut self, rest: &mut Content<'_>, count: u32) -> Result<(), Problem> {
        let frames = self.len_of(Table::Frames) as usize;
        rest.records::<STACK_LEN>(count)?.iter().try_for_each(|record| {
            let [parent, frame] = numbers(record);
            self.notes.take_stack(parent, frame, frames)
        })
    }

    fn take_origins(&mut self, rest: &mut Content<'_>, count: u32) -> Result<(), Problem> {
        let threads = self.len_of(Table::Threads) as usize;
        rest.records::<ORIGIN_LEN>(count)?.iter().try_for_each(|record| {
            let [thread, parent, nth] = numbers(record);
            self.notes.take_origin(thread, parent, nth, threads)
        })
    }

    fn take_end(&mut self, raw: &[u8]) -> Result<(), Problem> {
        let total = raw.try_into().map_err(|_| Problem::EndLength { found: raw.len() })?;
        let (found, expected) = (self.events() as u64, u64::from_le_bytes(total));
        if found == expected { Ok(()) } else { Err(Problem::Totals { found, expected }) }
    }

    /// All of it as a trace. Matching it fails where `go_on` says so.
    fn into_trace(self, go_on: &mut dyn FnMut() -> bool) -> Result<Trace, ReadError> {
        let chunk_starts = self.chunk_starts;
        let [
            threads,
            variables,
            locks,
            conditions,
            barriers,
            semaphores,
            blocks,
            regions,
            marks,
            locations,
            frames,
        ] = self.tables.map(Interner::into_names);
        let mut notes = self.notes;
        notes.frames = frames;
        let symbols = Symbols {
            threads,
            variables,
            locks,
            conditions,
            barriers,
            semaphores,
            blocks,
            regions,
            marks,
            locations,
        };
        let trace =
            Trace::assemble_while(self.columns, symbols, self.marks, self.permits, self.metadata, go_on);
        let trace = trace.map_err(|malformed| {
            let chunk = chunk_starts.partition_point(|&(first, _)| first <= malformed.event);
            let offset = chunk.checked_sub(1).map_or(0, |chunk| chunk_starts[chunk].1);
            Problem::Malformed(malformed).at(offset)
        })?;
        let mut trace = trace.ok_or(Problem::Stopped.at(0))?;
        trace.notes = (!notes.is_empty()).then_some(notes);
        Ok(trace)
    }
}

fn check_total(events: u64) -> Result<(), Problem> {
    if events > MAX_EVENTS { Err(Problem::TooManyEvents) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ids_stay_within_32_bits() {
        assert_eq!(check_total(MAX_EVENTS), Ok(()));
        assert_eq!(check_total(MAX_EVENTS + 1), Err(Problem::TooManyEvents));
    }
}
