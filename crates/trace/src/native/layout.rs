//! The layout of a native trace, shared by reader and writer: docs/trace-format.md as Rust.
//! Numbers are little-endian.

use crate::op::{Kind, ObjectKind};

/// What a native trace starts with.
pub const MAGIC: [u8; 8] = *b"FORETELL";
/// The version of the format that is written and the newest that is read. Version 1 had no memory orders.
pub const VERSION: u32 = 2;
/// Bytes of the header: magic, version, flags.
pub const HEADER_LEN: usize = 16;
/// Bytes of a chunk's header.
pub const CHUNK_HEADER_LEN: usize = 24;
/// The most events a chunk holds.
pub const MAX_CHUNK_EVENTS: usize = 1 << 16;
/// The most bytes a chunk's content has before compression.
pub const MAX_RAW_LEN: usize = 16 << 20;
/// Bytes an event takes before compression: three columns of 32 bits.
pub const EVENT_LEN: usize = 12;
/// Bytes the notes of an event take before compression: two columns of 32 bits.
pub const NOTE_LEN: usize = 8;
/// A trace has fewer events than this, so that one id is free to mean 'none'.
pub const MAX_EVENTS: u64 = u32::MAX as u64;

/// The header of a file.
pub fn header() -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// How and where the run was recorded, as JSON.
    Metadata,
    /// Names that are new, marks, permits.
    Names,
    /// Events, as planes of columns.
    Events,
    /// The memory orders of the events that follow.
    Orders,
    /// What is noted of the events just before, as planes of columns.
    Notes,
    /// The modules of a recording that is not translated, as the recorder lists them.
    RawModules,
    /// A part of the raw log of such a recording.
    RawLog,
    /// The number of events in the file.
    End,
}

impl Tag {
    /// Every tag.
    pub const ALL: [Tag; 8] = [
        Tag::Metadata,
        Tag::Names,
        Tag::Events,
        Tag::Orders,
        Tag::Notes,
        Tag::RawModules,
        Tag::RawLog,
        Tag::End,
    ];

    /// How it is written.
    pub const fn bytes(self) -> [u8; 4] {
        match self {
            Tag::Metadata => *b"META",
            Tag::Names => *b"NAME",
            Tag::Events => *b"EVNT",
            Tag::Orders => *b"ORDR",
            Tag::Notes => *b"NOTE",
            Tag::RawModules => *b"RMOD",
            Tag::RawLog => *b"RLOG",
            Tag::End => *b"END.",
        }
    }

    /// The tag written so.
    pub fn from_bytes(bytes: [u8; 4]) -> Option<Tag> {
        Tag::ALL.into_iter().find(|tag| tag.bytes() == bytes)
    }

    /// How many times longer than its stored bytes the content may be. Names and metadata get less
    /// because a byte of them can take more memory than a byte of an event.
    pub const fn max_ratio(self) -> usize {
        match self {
            Tag::Events | Tag::Orders | Tag::Notes => 32,
            Tag::Metadata | Tag::Names | Tag::RawModules | Tag::RawLog | Tag::End => 8,
        }
    }
}

/// How a chunk's content is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Codec {
    /// As it is.
    Stored = 0,
    /// As zstd frames.
    Zstd = 1,
}

impl Codec {
    /// The codec with this code.
    pub fn from_code(code: u32) -> Option<Codec> {
        [Codec::Stored, Codec::Zstd].into_iter().find(|&codec| codec as u32 == code)
    }
}

/// The header of a chunk as its fields, not yet checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// See [`Tag`].
    pub tag: [u8; 4],
    /// See [`Codec`].
    pub codec: u32,
    /// How many items the chunk holds.
    pub count: u32,
    /// Bytes of its content before compression.
    pub raw_len: u32,
    /// Bytes that follow the header.
    pub stored_len: u32,
    /// The checksum of the fields above and the stored bytes.
    pub checksum: u32,
}

impl ChunkHeader {
    /// The header these bytes are.
    pub fn from_bytes(bytes: &[u8; CHUNK_HEADER_LEN]) -> Self {
        let field = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        ChunkHeader {
            tag: field(0).to_le_bytes(),
            codec: field(4),
            count: field(8),
            raw_len: field(12),
            stored_len: field(16),
            checksum: field(20),
        }
    }

    /// The header as bytes.
    pub fn to_bytes(self) -> [u8; CHUNK_HEADER_LEN] {
        let mut bytes = [0; CHUNK_HEADER_LEN];
        bytes[..4].copy_from_slice(&self.tag);
        let fields = [self.codec, self.count, self.raw_len, self.stored_len, self.checksum];
        for (place, field) in bytes[4..].chunks_exact_mut(4).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// The checksum the chunk must have.
    pub fn checksum_with(self, stored: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.to_bytes()[..CHUNK_HEADER_LEN - 4]);
        hasher.update(stored);
        hasher.finalize()
    }
}

/// A table of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the table of the objects it is named for")]
pub enum Table {
    Threads,
    Variables,
    Locks,
    Conditions,
    Barriers,
    Semaphores,
    Blocks,
    Regions,
    MarkNames,
    Locations,
    Frames,
}

impl Table {
    /// How many tables there are.
    pub const COUNT: usize = 11;
    /// Every table, each at its own index.
    pub const ALL: [Table; Table::COUNT] = [
        Table::Threads,
        Table::Variables,
        Table::Locks,
        Table::Conditions,
        Table::Barriers,
        Table::Semaphores,
        Table::Blocks,
        Table::Regions,
        Table::MarkNames,
        Table::Locations,
        Table::Frames,
    ];

    /// What it holds, in words.
    pub const fn what(self) -> &'static str {
        match self {
            Table::Threads => "threads",
            Table::Variables => "variables",
            Table::Locks => "locks",
            Table::Conditions => "conditions",
            Table::Barriers => "barriers",
            Table::Semaphores => "semaphores",
            Table::Blocks => "blocks",
            Table::Regions => "regions",
            Table::MarkNames => "mark names",
            Table::Locations => "locations",
            Table::Frames => "frames",
        }
    }
}

/// A section of a names chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Names of a table.
    Names(Table),
    /// Marks: a name's number and a value.
    Marks,
    /// Permits: a semaphore's number and how many it starts with.
    Permits,
    /// Call stacks: the stack it was called from, and a frame's number.
    Stacks,
    /// How threads came to be: a thread's number, its parent's, and its index among the parent's threads.
    Origins,
}

impl Section {
    /// Its number in the file.
    pub const fn code(self) -> u32 {
        match self {
            Section::Names(Table::Frames) => 12,
            Section::Names(table) => table as u32,
            Section::Marks => 10,
            Section::Permits => 11,
            Section::Stacks => 13,
            Section::Origins => 14,
        }
    }

    /// The section with this number.
    pub fn from_code(code: u32) -> Option<Section> {
        let others = [Section::Marks, Section::Permits, Section::Stacks, Section::Origins];
        let sections = Table::ALL.into_iter().map(Section::Names).chain(others);
        sections.into_iter().find(|section| section.code() == code)
    }
}

/// Bytes a mark takes in its section.
pub const MARK_LEN: usize = 12;
/// Bytes a pair of semaphore and permits takes in its section.
pub const PERMITS_LEN: usize = 8;
/// Bytes a stack takes in its section.
pub const STACK_LEN: usize = 8;
/// Bytes the origin of a thread takes in its section.
pub const ORIGIN_LEN: usize = 12;
/// The number of the parent of a thread that has none.
pub const NO_PARENT: u32 = u32::MAX;

/// What the target of an event is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetOf {
    /// There is none: 0.
    Nothing,
    /// A place in a table of names.
    Table(Table),
    /// A mark.
    Marks,
    /// A count; any number will do.
    Count,
}

impl TargetOf {
    /// What events of this kind act on.
    pub const fn kind(kind: Kind) -> TargetOf {
        match kind.object() {
            ObjectKind::Nothing => TargetOf::Nothing,
            ObjectKind::Thread => TargetOf::Table(Table::Threads),
            ObjectKind::Variable => TargetOf::Table(Table::Variables),
            ObjectKind::Lock => TargetOf::Table(Table::Locks),
            ObjectKind::Condition => TargetOf::Table(Table::Conditions),
            ObjectKind::Barrier => TargetOf::Table(Table::Barriers),
            ObjectKind::Semaphore => TargetOf::Table(Table::Semaphores),
            ObjectKind::Block => TargetOf::Table(Table::Blocks),
            ObjectKind::Count => TargetOf::Count,
            ObjectKind::Mark => TargetOf::Marks,
            ObjectKind::Region => TargetOf::Table(Table::Regions),
        }
    }
}

/// Appends a column as its four planes.
pub fn split_planes(column: &[u32], out: &mut Vec<u8>) {
    for plane in 0..4 {
        out.extend(column.iter().map(|&number| (number >> (8 * plane)) as u8));
    }
}

/// The column these four planes are; their length is a multiple of 4.
pub fn join_planes(planes: &[u8]) -> impl ExactSizeIterator<Item = u32> + '_ {
    let len = planes.len() / 4;
    let (first, rest) = planes.split_at(len);
    let (second, rest) = rest.split_at(len);
    let (third, fourth) = rest.split_at(len);
    let numbers = first.iter().zip(second).zip(third).zip(fourth);
    numbers.map(|(((&a, &b), &c), &d)| u32::from_le_bytes([a, b, c, d]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_header_reads_back() {
        let header = ChunkHeader {
            tag: Tag::Names.bytes(),
            codec: 1,
            count: 2,
            raw_len: 3,
            stored_len: 0x0405_0607,
            checksum: 8,
        };
        assert_eq!(ChunkHeader::from_bytes(&header.to_bytes()), header);
    }

    #[test]
    fn codes_and_what_they_stand_for_agree() {
        for tag in Tag::ALL {
            assert_eq!(Tag::from_bytes(tag.bytes()), Some(tag));
        }
        for (index, table) in Table::ALL.into_iter().enumerate() {
            assert_eq!(table as usize, index);
            assert_eq!(Section::from_code(Section::Names(table).code()), Some(Section::Names(table)));
        }
        assert_eq!(Section::from_code(10), Some(Section::Marks));
        assert_eq!(Section::from_code(11), Some(Section::Permits));
        assert_eq!(Section::from_code(13), Some(Section::Stacks));
        assert_eq!(Section::from_code(14), Some(Section::Origins));
        assert_eq!(Section::from_code(15), None);
    }

    #[test]
    fn planes_join_to_what_was_split() {
        let column = [0, 1, 0x0403_0201, u32::MAX, 256];
        let mut planes = Vec::new();
        split_planes(&column, &mut planes);
        assert_eq!(planes[..5], [0, 1, 1, 255, 0]);
        assert_eq!(join_planes(&planes).collect::<Vec<_>>(), column);
    }
}
