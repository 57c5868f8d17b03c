//! The result of a replay: the file [`OUTCOME_FILE`](crate::OUTCOME_FILE).
//!
//! Records of [`OUTCOME_RECORD`] bytes, each written whole and at once at the end of the file, so that whatever ends the program, what
//! was reported before is there. A record that is cut short, or makes no sense, is passed over.

use crate::kind::Kind;
use crate::state::ThreadState;

/// How long a record is.
pub const OUTCOME_RECORD: usize = 64;
/// The most memory that a record shows.
pub const MAX_MEMORY: usize = 16;
/// The end of each record.
const MARK: [u8; 4] = *b"fto1";

/// What a thread is about to touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingAccess {
    /// What it does.
    pub kind: Kind,
    /// Where it starts.
    pub address: u64,
    /// How many bytes it covers.
    pub length: u64,
    /// Where the code is.
    pub pc: u64,
}

/// A piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// Where it starts.
    pub address: u64,
    /// How many bytes it has.
    pub length: u64,
}

impl PendingAccess {
    /// The memory that it covers.
    pub fn range(&self) -> MemoryRange {
        MemoryRange { address: self.address, length: self.length }
    }
}

/// The first bytes of a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    bytes: [u8; MAX_MEMORY],
    length: u8,
}

impl Memory {
    /// These bytes, as far as a record holds them; none if there are none.
    pub fn new(bytes: &[u8]) -> Option<Memory> {
        let length = bytes.len().min(MAX_MEMORY);
        let mut memory = Memory { bytes: [0; MAX_MEMORY], length: length as u8 };
        memory.bytes[..length].copy_from_slice(&bytes[..length]);
        (length > 0).then_some(memory)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitsFor {
    /// Nothing.
    #[default]
    Nothing,
    /// What is at this address: a lock, say.
    Address(u64),
    /// The end of this thread of the table.
    EndOf(u32),
}

/// Why an instruction could not be performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Obstacle {
    /// The thread has ended.
    Ended = 0,
    /// The thread has not been created.
    Absent = 1,
    /// The thread waits.
    Waits = 2,
    /// The thread was to wait, and goes on.
    GoesOn = 3,
    /// The thread is in a call that the scheduler cannot see into.
    Outside = 4,
    /// There is no control file that can be read.
    NoControl = 5,
}

impl Obstacle {
    const ALL: [Obstacle; 6] = [
        Obstacle::Ended,
        Obstacle::Absent,
        Obstacle::Waits,
        Obstacle::GoesOn,
        Obstacle::Outside,
        Obstacle::NoControl,
    ];
}

/// One thing that a replay reports. Threads are named by their position in the table of the control file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeRecord<M = Option<Memory>> {
    /// The thread is about to make this access.
    PendingAccess {
        /// Which thread.
        thread: u32,
        /// At which place.
        place: u64,
        /// The access.
        access: PendingAccess,
        /// What memory holds there, if it can be read.
        memory: M,
    },
    /// The thread is not about to make an access there.
    Nothing {
        /// Which thread.
        thread: u32,
        /// At which place.
        place: u64,
    },
    /// The current content of the memory of the thread's last reported access.
    MemoryContent {
        /// Which thread.
        thread: u32,
        /// What memory holds, if it can be read.
        memory: M,
    },
    /// A thread where the replay holds, or where the program left the schedule.
    Thread {
        /// Which thread.
        thread: u32,
        /// What it is doing.
        state: ThreadState,
        /// How many places it has performed.
        place: u64,
        /// What it waits for.
        waits_for: WaitsFor,
        /// Where its code is, if that is known; else 0.
        pc: u64,
    },
    /// All threads have been reported: the goal of the replay.
    AllReported,
    /// An instruction could not be performed.
    Diverged {
        /// Which instruction, counted from 0.
        instruction: u64,
        /// The thread that it is about.
        thread: u32,
        /// Why not.
        obstacle: Obstacle,
        /// How many places the thread has performed.
        place: u64,
        /// What the thread waits for.
        waits_for: WaitsFor,
    },
    /// All instructions were performed.
    Freed,
}

impl<M> OutcomeRecord<M> {
    /// The same with something else for the memory.
    pub fn map_memory<N>(self, to: impl FnOnce(M) -> N) -> OutcomeRecord<N> {
        match self {
            OutcomeRecord::PendingAccess { thread, place, access, memory } => {
                OutcomeRecord::PendingAccess { thread, place, access, memory: to(memory) }
            }
            OutcomeRecord::Nothing { thread, place } => OutcomeRecord::Nothing { thread, place },
            OutcomeRecord::MemoryContent { thread, memory } => {
                OutcomeRecord::MemoryContent { thread, memory: to(memory) }
            }
            OutcomeRecord::Thread { thread, state, place, waits_for, pc } => {
                OutcomeRecord::Thread { thread, state, place, waits_for, pc }
            }
            OutcomeRecord::AllReported => OutcomeRecord::AllReported,
            OutcomeRecord::Diverged { instruction, thread, obstacle, place, waits_for } => {
                OutcomeRecord::Diverged { instruction, thread, obstacle, place, waits_for }
            }
            OutcomeRecord::Freed => OutcomeRecord::Freed,
        }
    }
}

impl OutcomeRecord {
    /// The record as bytes.
    pub fn encode(&self) -> [u8; OUTCOME_RECORD] {
        match *self {
            OutcomeRecord::PendingAccess { thread, place, access, memory } => Fields::new(0)
                .detail(access.kind as u8)
                .thread(thread)
                .numbers([place, access.address, access.length, access.pc])
                .memory(memory),
            OutcomeRecord::Nothing { thread, place } => {
                Fields::new(1).thread(thread).numbers([place, 0, 0, 0])
            }
            OutcomeRecord::MemoryContent { thread, memory } => Fields::new(2).thread(thread).memory(memory),
            OutcomeRecord::Thread { thread, state, place, waits_for, pc } => Fields::new(3)
                .detail(state.code())
                .thread(thread)
                .numbers([place, 0, 0, pc])
                .waits_for(waits_for),
            OutcomeRecord::AllReported => Fields::new(4),
            OutcomeRecord::Diverged { instruction, thread, obstacle, place, waits_for } => Fields::new(5)
                .detail(obstacle as u8)
                .thread(thread)
                .numbers([place, 0, instruction, 0])
                .waits_for(waits_for),
            OutcomeRecord::Freed => Fields::new(6),
        }
        .0
    }

    /// The record that these bytes are.
    pub fn decode(bytes: &[u8; OUTCOME_RECORD]) -> Option<OutcomeRecord> {
        let fields = Fields(*bytes);
        if bytes[60..] != MARK {
            return None;
        }
        let thread = u32::from_le_bytes(bytes[4..8].try_into().ok()?);
        let [place, address, length, pc] = fields.read_numbers();
        Some(match bytes[0] {
            0 => OutcomeRecord::PendingAccess {
                thread,
                place,
                access: PendingAccess { kind: Kind::from_code(bytes[1])?, address, length, pc },
                memory: fields.read_memory()?,
            },
            1 => OutcomeRecord::Nothing { thread, place },
            2 => OutcomeRecord::MemoryContent { thread, memory: fields.read_memory()? },
            3 => OutcomeRecord::Thread {
                thread,
                state: ThreadState::from_code(bytes[1])?,
                place,
                waits_for: fields.read_waits_for()?,
                pc,
            },
            4 => OutcomeRecord::AllReported,
            5 => OutcomeRecord::Diverged {
                instruction: length,
                thread,
                obstacle: *Obstacle::ALL.get(usize::from(bytes[1]))?,
                place,
                waits_for: fields.read_waits_for()?,
            },
            6 => OutcomeRecord::Freed,
            _ => return None,
        })
    }

    /// The records of a file.
    pub fn read(file: &[u8]) -> impl Iterator<Item = OutcomeRecord> {
        file.as_chunks::<OUTCOME_RECORD>().0.iter().filter_map(OutcomeRecord::decode)
    }
}

/// The fields of a record: what it is (1 byte), a detail (1), what is waited for (1), the length of memory (1), the thread (4), four
/// numbers (8 each), memory (16), nothing (4), the mark (4).
struct Fields([u8; OUTCOME_RECORD]);

impl Fields {
    const NUMBERS: usize = 8;
    const MEMORY: usize = 40;
    /// Which of the numbers says what is waited for.
    const WAITED: usize = Fields::NUMBERS + 8;

    fn new(tag: u8) -> Fields {
        let mut fields = [0; OUTCOME_RECORD];
        fields[0] = tag;
        fields[60..].copy_from_slice(&MARK);
        Fields(fields)
    }

    fn detail(mut self, detail: u8) -> Fields {
        self.0[1] = detail;
        self
    }

    fn thread(mut self, thread: u32) -> Fields {
        self.0[4..8].copy_from_slice(&thread.to_le_bytes());
        self
    }

    fn numbers(mut self, numbers: [u64; 4]) -> Fields {
        for (index, number) in numbers.into_iter().enumerate() {
            let at = Fields::NUMBERS + 8 * index;
            self.0[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        self
    }

    fn memory(mut self, memory: Option<Memory>) -> Fields {
        if let Some(memory) = memory {
            self.0[3] = memory.length;
            self.0[Fields::MEMORY..Fields::MEMORY + MAX_MEMORY].copy_from_slice(&memory.bytes);
        }
        self
    }

    fn waits_for(mut self, waits_for: WaitsFor) -> Fields {
        let (tag, number) = match waits_for {
            WaitsFor::Nothing => (0, 0),
            WaitsFor::Address(address) => (1, address),
            WaitsFor::EndOf(thread) => (2, thread.into()),
        };
        self.0[2] = tag;
        self.0[Fields::WAITED..Fields::WAITED + 8].copy_from_slice(&number.to_le_bytes());
        self
    }

    fn read_numbers(&self) -> [u64; 4] {
        let mut numbers = [0; 4];
        for (index, number) in numbers.iter_mut().enumerate() {
            let mut bytes = [0; 8];
            let at = Fields::NUMBERS + 8 * index;
            bytes.copy_from_slice(&self.0[at..at + 8]);
            *number = u64::from_le_bytes(bytes);
        }
        numbers
    }

    fn read_memory(&self) -> Option<Option<Memory>> {
        let length = usize::from(self.0[3]);
        let bytes = self.0[Fields::MEMORY..Fields::MEMORY + MAX_MEMORY].get(..length)?;
        Some(Memory::new(bytes))
    }

    fn read_waits_for(&self) -> Option<WaitsFor> {
        let number = self.read_numbers()[1];
        match self.0[2] {
            0 => Some(WaitsFor::Nothing),
            1 => Some(WaitsFor::Address(number)),
            2 => u32::try_from(number).ok().map(WaitsFor::EndOf),
            _ => None,
        }
    }
}
