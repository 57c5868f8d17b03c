//! The head of a log.

/// The first eight bytes of a log.
pub const MAGIC: [u8; 8] = *b"FTRAWLOG";
/// The version of the layout and of the kinds.
pub const VERSION: u32 = 6;
/// Where the stream starts: one page, so that the head has a mapping of its own.
pub const STREAM_START: usize = 4096;
/// The longest run of predicted events; the writer ends a run before it is longer.
pub const MAX_RUN: u64 = (1 << RUN_BITS) - 1;

const RUN_BITS: u32 = 24;

/// How far the stream is valid and how many predicted events come after it, as the one word the writer
/// stores. A predicted event adds 1 to the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LogProgress(pub u64);

impl LogProgress {
    /// Where in the head the word is.
    pub const OFFSET: usize = 16;

    /// A number of bytes of records, then a number of predicted events.
    #[inline]
    pub fn new(written: u64, run: u64) -> LogProgress {
        LogProgress(written << RUN_BITS | run)
    }

    /// Bytes of whole records in the stream.
    #[inline]
    pub fn written(self) -> u64 {
        self.0 >> RUN_BITS
    }

    /// Predicted events after the last record.
    #[inline]
    pub fn run(self) -> u64 {
        self.0 & MAX_RUN
    }
}

/// What the writer could not keep, as bits of one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses(pub u32);

impl Losses {
    /// Where in the head the word is.
    pub const OFFSET: usize = 24;
    /// The log ends early: there was no room for more of it.
    pub const NO_ROOM: Losses = Losses(1);
    /// The log ends early: the file was cut short under the writer.
    pub const CUT: Losses = Losses(2);
    /// Another file of the run could not be written whole.
    pub const OTHER_FILE: Losses = Losses(4);
    /// The log does not say how the program ended, although the program ended by itself. Readers find that out; no writer says it.
    pub const NO_END: Losses = Losses(8);

    /// Whether all of these are among them.
    pub fn include(self, other: Losses) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What a reader has to know of a log before its first event, as bits of one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits(pub u32);

impl Traits {
    /// Where in the head the word is.
    pub const OFFSET: usize = 28;
    /// The program has switched between fibers without ordering them: they are threads to each other.
    pub const FIBERS_APART: Traits = Traits(1);

    /// Whether all of these are among them.
    pub fn include(self, other: Traits) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The head of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The process that was recorded.
    pub process: u32,
    /// How far the stream goes.
    pub progress: LogProgress,
    /// What is missing.
    pub losses: Losses,
    /// What to know before the first event.
    pub traits: Traits,
}

impl Header {
    /// Of a complete log without anything special.
    pub fn new(process: u32, progress: LogProgress) -> Header {
        Header { process, progress, losses: Losses::default(), traits: Traits::default() }
    }

    /// The bytes at the start of the file.
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.process.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.progress.0.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.losses.0.to_le_bytes());
        bytes[28..].copy_from_slice(&self.traits.0.to_le_bytes());
        bytes
    }

    /// The head at the start of these bytes, if they are a log's.
    pub fn read(bytes: &[u8]) -> Option<Header> {
        let number = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
        if bytes.get(..8)? != MAGIC || number(8)? != VERSION {
            return None;
        }
        let progress = u64::from_le_bytes(bytes.get(16..24)?.try_into().ok()?);
        let losses = Losses(number(Losses::OFFSET).unwrap_or(0));
        let traits = Traits(number(Traits::OFFSET).unwrap_or(0));
        Some(Header { process: number(12)?, progress: LogProgress(progress), losses, traits })
    }
}
