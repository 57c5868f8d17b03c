//! What a replay is to do, as the launcher writes it: the file `control` in the run directory.
//!
//! Text, one instruction a line, performed in order. `T` is a thread's number in the table at the head of the file, `P` a place.
//!
//! ```text
//! foretell-control 1
//! divergence stop        or: continue. What happens when the program leaves the schedule
//! thread - 0             the first thread of the table is the program's first
//! thread 0 1             the thread that thread 0 of the table creates first
//! name T NAME            what T is called, for debuggers
//! run T P                T runs until it has performed its places before P, and stands before P where it can be stopped there
//! block T P              T runs until it waits for something, before it has performed P
//! see T P                T, which has performed its places before P, comes to P; what it is about to do there is told, and what memory holds
//! saw T                  what memory holds now, where T was last seen
//! held                   the state of every thread is told: this is what the replay was for
//! stop                   a debugger is waiting for this
//! end                    the program is ended
//! ```
//!
//! After the last instruction the program runs freely.

use crate::settings::{Settings, number};
use crate::sys;

/// One line of the control file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instruction {
    Run { thread: u32, until: u64 },
    Block { thread: u32, before: u64 },
    See { thread: u32, place: u64 },
    Saw { thread: u32 },
    Held,
    Stop,
    End,
}

impl Instruction {
    /// The thread that must come to something for the instruction to be over.
    pub(crate) fn runs(self) -> Option<u32> {
        match self {
            Instruction::Run { thread, .. } | Instruction::Block { thread, .. } => Some(thread),
            _ => None,
        }
    }
}

/// Whose thread a thread of the table is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) parent: u32,
    pub(crate) nth: u32,
}

/// No thread of the table.
pub(crate) const NOBODY: u32 = u32::MAX;

/// The file, read.
pub(crate) struct Control {
    pub(crate) instructions: &'static [Instruction],
    pub(crate) origins: &'static [Origin],
    /// What threads are called.
    pub(crate) names: &'static [(u32, &'static [u8])],
    pub(crate) stops_at_divergence: bool,
}

impl Control {
    pub(crate) const NONE: Control =
        Control { instructions: &[], origins: &[], names: &[], stops_at_divergence: false };

    /// Reads the control file of the run directory. It stays in memory to the end.
    pub(super) fn load(settings: &Settings) -> Option<Control> {
        let mut path = Settings::path_buffer();
        let file = sys::open(settings.path(&mut path, &[b"control"]), libc::O_RDWR);
        if file < 0 {
            return None;
        }
        let length = sys::file_length(file);
        let start = sys::map_file(file, 0, length.max(1));
        sys::close(file);
        if start.is_null() {
            return None;
        }
        // SAFETY: the mapping is so long, and stays.
        let text = unsafe { core::slice::from_raw_parts(start, length) };
        Control::parse(text)
    }

    fn parse(text: &'static [u8]) -> Option<Control> {
        let mut lines = text.split(|&byte| byte == b'\n');
        if lines.next()?.trim_ascii() != b"foretell-control 1" {
            return None;
        }
        let count = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let mut instructions = Growing::with_room(count)?;
        let mut origins = Growing::with_room(count)?;
        let mut names = Growing::with_room(count)?;
        let mut stops_at_divergence = false;
        for line in lines {
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let Some(word) = words.next() else { continue };
            let first = words.next().unwrap_or(b"");
            let second = words.next().unwrap_or(b"");
            let name = second;
            let second = number(second);
            let thread = || number(first).and_then(|thread| u32::try_from(thread).ok());
            match word {
                b"thread" => {
                    let parent = if first == b"-" { NOBODY } else { thread()? };
                    origins.push(Origin { parent, nth: second? as u32 });
                }
                b"name" => names.push((thread()?, name)),
                b"divergence" => stops_at_divergence = first == b"stop",
                b"run" => instructions.push(Instruction::Run { thread: thread()?, until: second? }),
                b"block" => instructions.push(Instruction::Block { thread: thread()?, before: second? }),
                b"see" => instructions.push(Instruction::See { thread: thread()?, place: second? }),
                b"saw" => instructions.push(Instruction::Saw { thread: thread()? }),
                b"held" => instructions.push(Instruction::Held),
                b"stop" => instructions.push(Instruction::Stop),
                b"end" => instructions.push(Instruction::End),
                _ => return None,
            }
        }
        Some(Control {
            instructions: instructions.finish(),
            origins: origins.finish(),
            names: names.finish(),
            stops_at_divergence,
        })
    }
}

/// Memory for so many values, filled one by one.
pub(super) struct Growing<T: 'static> {
    start: *mut T,
    count: usize,
    room: usize,
}

impl<T> Growing<T> {
    pub(super) fn with_room(room: usize) -> Option<Self> {
        let start: *mut T = sys::map_memory((room * size_of::<T>()).max(1)).cast();
        (!start.is_null()).then_some(Growing { start, count: 0, room })
    }

    pub(super) fn push(&mut self, value: T) {
        if self.count < self.room {
            // SAFETY: there is room.
            unsafe { self.start.add(self.count).write(value) };
            self.count += 1;
        }
    }

    pub(super) fn finish(self) -> &'static mut [T] {
        // SAFETY: so many are written, and the memory stays.
        unsafe { core::slice::from_raw_parts_mut(self.start, self.count) }
    }
}
