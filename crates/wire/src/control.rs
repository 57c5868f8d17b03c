//! What a replay is to do: the file [`CONTROL_FILE`](crate::CONTROL_FILE).
//!
//! A header, a table of threads, instructions that are performed in order, names of threads for debuggers, and the numbers of files that
//! threads were given. All parts have a fixed size, so the runtime reads them where they are: nothing is parsed from text, nothing is allocated. After the last instruction
//! the program runs freely. Numbers are little endian.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | `fortlctl` |
//! | 8 | 4 | the version, 4 |
//! | 12 | 4 | 0: the program is ended when it leaves the schedule; 1: it runs on |
//! | 16 | 4, 4, 4, 4 | how many threads, instructions, names and numbers of files follow |
//! | 32 | 8 each | threads: the parent's position in this table (`u32::MAX`: none), and which of its threads it is |
//! | .. | 16 each | instructions: what, which thread, which place (or step) |
//! | .. | 20 each | names: which thread, 16 bytes of name |
//! | .. | 8 each | numbers of files: which thread, the number; those of a thread are together, in the order in which it was given them |

const MAGIC: [u8; 8] = *b"fortlctl";
const VERSION: u32 = 4;
const HEADER: usize = 32;
pub(crate) const ORIGIN: usize = 8;
const INSTRUCTION: usize = 16;
const NAME: usize = 4 + MAX_NAME;
const GIVEN: usize = 8;
/// The longest name the kernel keeps for a thread, with its closing zero.
const MAX_NAME: usize = 16;
const NO_PARENT: u32 = u32::MAX;

/// One instruction of a replay. A *place* counts the schedulable events of a thread, from 0; a thread is named by its position in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// The thread runs until it has performed all places before this one, and stops there if it can be stopped.
    Run {
        /// Which thread.
        thread: u32,
        /// Until it comes to this place.
        until: u64,
    },
    /// The thread runs until it waits for something, before it has performed this place.
    Block {
        /// Which thread.
        thread: u32,
        /// The place that it must not have performed.
        before: u64,
    },
    /// The thread, which has performed all places before this one, runs up to it. The access that it is about to
    /// make is reported, with the content of the memory.
    ReportAccess {
        /// Which thread.
        thread: u32,
        /// The place.
        place: u64,
    },
    /// The current content of the memory of the thread's last reported access is reported.
    ReportMemory {
        /// Which thread.
        thread: u32,
    },
    /// The state of every thread is reported: this is the goal of the replay.
    ReportThreads,
    /// A debugger that waits for this step of the schedule, or an earlier one, finds the program stopped.
    Stop {
        /// How many steps were performed.
        step: u64,
    },
    /// The program is ended.
    End,
}

impl Instruction {
    /// The thread that must come to something for the instruction to be over.
    pub fn runs(self) -> Option<u32> {
        match self {
            Instruction::Run { thread, .. } | Instruction::Block { thread, .. } => Some(thread),
            _ => None,
        }
    }

    /// The thread that it is about.
    pub fn thread(self) -> Option<u32> {
        match self {
            Instruction::Run { thread, .. }
            | Instruction::Block { thread, .. }
            | Instruction::ReportAccess { thread, .. }
            | Instruction::ReportMemory { thread } => Some(thread),
            Instruction::ReportThreads | Instruction::Stop { .. } | Instruction::End => None,
        }
    }

    fn encode(self) -> [u8; INSTRUCTION] {
        let (code, thread, place) = match self {
            Instruction::Run { thread, until } => (0u32, thread, until),
            Instruction::Block { thread, before } => (1, thread, before),
            Instruction::ReportAccess { thread, place } => (2, thread, place),
            Instruction::ReportMemory { thread } => (3, thread, 0),
            Instruction::ReportThreads => (4, 0, 0),
            Instruction::Stop { step } => (5, 0, step),
            Instruction::End => (6, 0, 0),
        };
        let mut bytes = [0; INSTRUCTION];
        bytes[..4].copy_from_slice(&code.to_le_bytes());
        bytes[4..8].copy_from_slice(&thread.to_le_bytes());
        bytes[8..].copy_from_slice(&place.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Instruction> {
        let (code, thread, place) = (word(bytes, 0)?, word(bytes, 4)?, long(bytes, 8)?);
        Some(match code {
            0 => Instruction::Run { thread, until: place },
            1 => Instruction::Block { thread, before: place },
            2 => Instruction::ReportAccess { thread, place },
            3 => Instruction::ReportMemory { thread },
            4 => Instruction::ReportThreads,
            5 => Instruction::Stop { step: place },
            6 => Instruction::End,
            _ => return None,
        })
    }
}

/// How a thread of the table comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The position of the thread that creates it, which comes before it in the table; none for the program's first thread.
    pub parent: Option<u32>,
    /// Which of its parent's threads it is, counted from 1; 0 for the first thread.
    pub nth: u32,
}

/// What a thread is called, for debuggers: printable ASCII, cut to what the kernel keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadName {
    /// The thread's position in the table.
    pub thread: u32,
    bytes: [u8; MAX_NAME],
}

impl ThreadName {
    /// A name for a thread. What is not printable ASCII is left out.
    pub fn new(thread: u32, name: &str) -> ThreadName {
        let mut bytes = [0; MAX_NAME];
        let printable = name.bytes().filter(u8::is_ascii_graphic).take(MAX_NAME - 1);
        bytes.iter_mut().zip(printable).for_each(|(byte, letter)| *byte = letter);
        ThreadName { thread, bytes }
    }

    /// The name.
    pub fn as_bytes(&self) -> &[u8] {
        let end = self.bytes.iter().position(|&byte| byte == 0).unwrap_or(MAX_NAME);
        &self.bytes[..end]
    }
}

/// The number of a file that a thread was given in the recorded run. Which one the kernel gives depends on who else has opened and closed files, so a
/// replay gives the thread the same one again, if it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenDescriptor {
    /// The thread's position in the table.
    pub thread: u32,
    /// The number.
    pub number: u32,
}

/// What happens to a program that leaves the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDivergence {
    /// It is ended.
    #[default]
    Stop,
    /// It runs on freely.
    Continue,
}

impl OnDivergence {
    /// Both.
    pub const ALL: [OnDivergence; 2] = [OnDivergence::Stop, OnDivergence::Continue];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            OnDivergence::Stop => "stop",
            OnDivergence::Continue => "continue",
        }
    }
}

/// Writes a control file, part by part.
pub fn write_control(
    on_divergence: OnDivergence,
    origins: &[Origin],
    instructions: &[Instruction],
    names: &[ThreadName],
    descriptors: &[GivenDescriptor],
    write: &mut impl FnMut(&[u8]),
) {
    let goes_on = u32::from(on_divergence == OnDivergence::Continue);
    write(&MAGIC);
    let counts = [origins.len(), instructions.len(), names.len(), descriptors.len()];
    for number in [VERSION, goes_on].into_iter().chain(counts.map(|count| count as u32)) {
        write(&number.to_le_bytes());
    }
    write_origins(origins, write);
    instructions.iter().for_each(|instruction| write(&instruction.encode()));
    for name in names {
        write(&name.thread.to_le_bytes());
        write(&name.bytes);
    }
    for given in descriptors {
        write(&given.thread.to_le_bytes());
        write(&given.number.to_le_bytes());
    }
}

/// Writes a table of threads.
pub(crate) fn write_origins(origins: &[Origin], write: &mut impl FnMut(&[u8])) {
    for origin in origins {
        write(&origin.parent.unwrap_or(NO_PARENT).to_le_bytes());
        write(&origin.nth.to_le_bytes());
    }
}

/// Reads a table of threads.
pub(crate) fn origins(bytes: &[u8]) -> impl ExactSizeIterator<Item = Origin> + '_ {
    bytes.chunks_exact(ORIGIN).map(|bytes| {
        let parent = word(bytes, 0).filter(|&parent| parent != NO_PARENT);
        Origin { parent, nth: word(bytes, 4).unwrap_or(0) }
    })
}

/// A control file, checked: every part is there, and every thread that is named is in the table.
#[derive(Clone, Copy, Debug)]
pub struct Control<'a> {
    /// What happens to a program that leaves the schedule.
    pub on_divergence: OnDivergence,
    origins: &'a [u8],
    instructions: &'a [u8],
    names: &'a [u8],
    descriptors: &'a [u8],
}

impl<'a> Control<'a> {
    /// Checks a control file; none if it is no such file, or not whole.
    pub fn parse(bytes: &'a [u8]) -> Option<Control<'a>> {
        if !bytes.starts_with(&MAGIC) || word(bytes, 8)? != VERSION {
            return None;
        }
        let on_divergence = match word(bytes, 12)? {
            0 => OnDivergence::Stop,
            1 => OnDivergence::Continue,
            _ => return None,
        };
        let size = |at: usize, each: usize| (word(bytes, at)? as usize).checked_mul(each);
        let rest = bytes.get(HEADER..)?;
        let (origins, rest) = rest.split_at_checked(size(16, ORIGIN)?)?;
        let (instructions, rest) = rest.split_at_checked(size(20, INSTRUCTION)?)?;
        let (names, rest) = rest.split_at_checked(size(24, NAME)?)?;
        let (descriptors, rest) = rest.split_at_checked(size(28, GIVEN)?)?;
        let control = Control { on_divergence, origins, instructions, names, descriptors };
        (rest.is_empty() && control.is_consistent()).then_some(control)
    }

    fn is_consistent(&self) -> bool {
        let threads = self.origins().len() as u32;
        let has = |thread: u32| thread < threads;
        let is_before =
            |(index, origin): (usize, Origin)| origin.parent.is_none_or(|parent| (parent as usize) < index);
        self.origins().enumerate().all(is_before)
            && self.instructions.chunks_exact(INSTRUCTION).all(|bytes| {
                Instruction::decode(bytes).is_some_and(|instruction| instruction.thread().is_none_or(has))
            })
            && self.names().all(|name| has(name.thread))
            && self.descriptors().all(|given| has(given.thread))
            && self.descriptors().is_sorted_by_key(|given| given.thread)
    }

    /// The threads, parents before children.
    pub fn origins(&self) -> impl ExactSizeIterator<Item = Origin> + 'a {
        origins(self.origins)
    }

    /// The instructions, in order.
    pub fn instructions(&self) -> impl ExactSizeIterator<Item = Instruction> + 'a {
        // Each was decoded before.
        self.instructions
            .chunks_exact(INSTRUCTION)
            .map(|bytes| Instruction::decode(bytes).unwrap_or(Instruction::End))
    }

    /// What threads are called.
    pub fn names(&self) -> impl ExactSizeIterator<Item = ThreadName> + 'a {
        self.names.chunks_exact(NAME).map(|bytes| {
            let mut name = [0; MAX_NAME];
            name.copy_from_slice(&bytes[4..]);
            ThreadName { thread: word(bytes, 0).unwrap_or(0), bytes: name }
        })
    }

    /// The numbers of files that threads were given, thread by thread.
    pub fn descriptors(&self) -> impl ExactSizeIterator<Item = GivenDescriptor> + 'a {
        self.descriptors.chunks_exact(GIVEN).map(|bytes| GivenDescriptor {
            thread: word(bytes, 0).unwrap_or(0),
            number: word(bytes, 4).unwrap_or(0),
        })
    }
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
