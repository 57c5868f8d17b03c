//! What can be wrong with a native trace: cut short, which is life, or broken, which is an error.

use std::fmt;

use crate::fault::ImpossibleEvent;
use crate::ids::EventId;
use crate::names::TooManyNames;
use crate::native::layout::{
    HEADER_LEN, MAGIC, MAX_CHUNK_EVENTS, MAX_EVENTS, MAX_RAW_LEN, Section, Table, VERSION,
};

/// Whether a trace is all that its writer meant to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// It ends with its end chunk.
    Complete,
    /// It is the beginning of a trace: the whole chunks before this byte.
    Truncated {
        /// Where the first chunk that could not be read starts.
        offset: u64,
        /// What is wrong there.
        what: Cut,
    },
}

impl fmt::Display for Completeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Completeness::Complete => write!(f, "complete"),
            Completeness::Truncated { offset, what } => write!(f, "truncated at byte {offset}: {what}"),
        }
    }
}

/// How a trace is cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each is its documentation")]
pub enum Cut {
    #[error("the file ends without an end chunk")]
    NoEnd,
    #[error("the file ends inside a chunk, {present} bytes of {expected}")]
    InsideChunk { present: u64, expected: u64 },
    #[error("the last chunk was not written whole: its checksum is {found:08x}, expected {expected:08x}")]
    Checksum { found: u32, expected: u32 },
    #[error("the last {bytes} bytes of the file were never written")]
    Unwritten { bytes: u64 },
}

/// A native trace that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {problem}")]
pub struct ReadError {
    /// Where the chunk, or the field of the header, with the problem starts.
    pub offset: u64,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a native trace: what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each is its documentation")]
pub enum Problem {
    #[error("this is not a native trace: it starts with \"{}\", expected \"{}\"", .found.escape_ascii(), MAGIC.escape_ascii())]
    Magic { found: Vec<u8> },
    #[error("the file ends inside its header, {len} bytes of {HEADER_LEN}")]
    ShortHeader { len: usize },
    #[error(
        "the trace has version {found} of the format, newer than the {VERSION} known here; a newer Foretell reads it"
    )]
    NewerVersion { found: u32 },
    #[error("the trace has version {found} of the format, which does not exist; expected 1 to {VERSION}")]
    UnknownVersion { found: u32 },
    #[error("unknown flags {found:#x}, expected 0")]
    Flags { found: u32 },

    #[error("unknown chunk \"{}\", expected META, NAME, EVNT, ORDR, NOTE, RMOD, RLOG or END.", .found.escape_ascii())]
    Tag { found: [u8; 4] },
    #[error("unknown codec {found}, expected 0 (stored) or 1 (zstd)")]
    Codec { found: u32 },
    #[error("a chunk of {found} bytes before compression, expected at most {MAX_RAW_LEN}")]
    RawTooLong { found: u32 },
    #[error(
        "a chunk stored in {stored} bytes claims to hold {raw}, expected at most {ratio} times the stored length"
    )]
    Ratio { raw: u32, stored: u32, ratio: usize },
    #[error("a stored chunk of {stored} bytes claims to hold {raw}, expected the same")]
    StoredLength { raw: u32, stored: u32 },
    #[error("the chunk is damaged: its checksum is {found:08x}, expected {expected:08x}")]
    Checksum { found: u32, expected: u32 },
    #[error("the chunk does not decompress: {why}")]
    Compression { why: String },
    #[error("the chunk decompresses to {found} bytes, expected {expected}")]
    RawLength { found: usize, expected: u32 },
    #[error("{bytes} bytes follow the end chunk, expected none")]
    AfterEnd { bytes: u64 },

    #[error("an events chunk of {found} events, expected at most {MAX_CHUNK_EVENTS}")]
    ChunkEvents { found: u32 },
    #[error("an events chunk of {count} events takes {raw} bytes before compression, expected 12 per event")]
    EventsLength { count: u32, raw: u32 },
    #[error("more than {MAX_EVENTS} events")]
    TooManyEvents,
    #[error("event {event} has the unknown kind {found}, expected at most 28")]
    Kind { event: EventId, found: u32 },
    #[error("event {event} is of {what} {found}, but there are {known}")]
    OutsideTable { event: EventId, what: &'static str, found: u32, known: u32 },
    #[error("event {event} has a kind without a target, but its target is {found}, expected 0")]
    NeedlessTarget { event: EventId, found: u32 },
    #[error("{0}")]
    Malformed(ImpossibleEvent),

    #[error(
        "the memory orders of {found} events come before a chunk of {expected} events, expected the same"
    )]
    OrdersOf { found: u32, expected: u32 },
    #[error("memory orders that no events chunk follows")]
    OrdersWithoutEvents,
    #[error("the memory orders of {count} events take {raw} bytes before compression, expected 1 per event")]
    OrdersLength { count: u32, raw: u32 },
    #[error("event {event} has the unknown memory order {found}, expected at most 4")]
    Order { event: EventId, found: u8 },
    #[error("event {event} has a memory order, but its kind has none")]
    NeedlessOrder { event: EventId },
    #[error("the notes of {found} events follow a chunk of {expected} events, expected the same")]
    NotesOf { found: u32, expected: u32 },
    #[error("notes that do not follow their events")]
    NotesWithoutEvents,
    #[error("the notes of {count} events take {raw} bytes before compression, expected 8 per event")]
    NotesLength { count: u32, raw: u32 },
    #[error("event {event} is noted to have stack {found}, but there are {known}")]
    NoteStack { event: EventId, found: u32, known: usize },

    #[error("unknown section {found} of names, expected at most 14")]
    Section { found: u32 },
    #[error("the names chunk ends inside {}: {present} bytes left, expected {expected}", InSection(*.section))]
    NamesEnd { section: Option<Section>, present: usize, expected: u64 },
    #[error("the names chunk has {found} items, expected the {expected} its header states")]
    NamesCount { found: u64, expected: u32 },
    #[error("name {index} of the {} is not UTF-8", .table.what())]
    NotUtf8 { table: Table, index: usize },
    #[error("name {index} of the {} is \"{}\", as is name {known}; expected distinct names", .table.what(), .name.escape_debug())]
    DuplicateName { table: Table, index: usize, known: u32, name: String },
    #[error("the {}: {}", .table.what(), TooManyNames)]
    TooManyNames { table: Table },
    #[error("more marks than a trace can hold (2^32 - 1)")]
    TooManyMarks,
    #[error("mark {mark} has the name {found}, but there are {known}")]
    MarkName { mark: usize, found: u32, known: usize },
    #[error("mark {mark} has the same name and value as another; expected distinct marks")]
    DuplicateMark { mark: usize },
    #[error("permits are declared for semaphore {found}, but there are {known}")]
    PermitsOf { found: u32, known: usize },
    #[error("more stacks than a trace can hold (2^32 - 2)")]
    TooManyStacks,
    #[error("stack {stack} was called from stack {found}, expected an earlier one")]
    StackParent { stack: usize, found: u32 },
    #[error("stack {stack} has frame {found}, but there are {known}")]
    StackFrame { stack: usize, found: u32, known: usize },
    #[error("the origin of thread {found} is stated, but there are {known}")]
    OriginOf { found: u32, known: usize },
    #[error("thread {thread} was created by thread {found}, expected a smaller number")]
    OriginParent { thread: u32, found: u32 },

    #[error("reading was called off")]
    Stopped,
    #[error("a recording that is not translated yet; `foretell convert` translates it")]
    NotTranslated,
    #[error("both a log and events, expected one of them")]
    EventsBesideLog,
    #[error("the list of modules is not UTF-8")]
    ModulesNotUtf8,
    #[error("the metadata cannot be read: {why}")]
    Metadata { why: String },
    #[error("the end chunk has {found} bytes, expected 8")]
    EndLength { found: usize },
    #[error("the trace has {found} events, expected the {expected} its end chunk states")]
    Totals { found: u64, expected: u64 },
    #[error("the {what} chunk has {found} items, expected 1")]
    Single { what: &'static str, found: u32 },
}

impl Problem {
    /// This problem, at this byte.
    pub(super) fn at(self, offset: usize) -> ReadError {
        ReadError { offset: offset as u64, problem: self }
    }
}

/// The section of a names chunk, in words.
struct InSection(Option<Section>);

impl fmt::Display for InSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => write!(f, "the header of a section"),
            Some(Section::Names(table)) => write!(f, "the {}", table.what()),
            Some(Section::Marks) => write!(f, "the marks"),
            Some(Section::Permits) => write!(f, "the permits"),
            Some(Section::Stacks) => write!(f, "the stacks"),
            Some(Section::Origins) => write!(f, "the origins of threads"),
        }
    }
}
