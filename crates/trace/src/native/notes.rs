//! What a recording says of its events beyond what the analyses need: the call stack of each, its place
//! in its thread, and how the threads came to be. Replay and reports ask for it; nothing else pays for it.
//!
//! The notes stay compressed as they were read and are unpacked where they are asked for, so what is
//! wrong inside a chunk of them is found then, and told as any other error of the file.

use std::sync::{Arc, Mutex, PoisonError};

use crate::ids::{EventId, ThreadId};
use crate::names::Names;
use crate::native::error::{Problem, ReadError};
use crate::native::layout::{self, Codec, NO_PARENT, NOTE_LEN};
use crate::native::unpack::Unpacker;
use crate::thread_path::ThreadPath;
use crate::trace::Trace;

/// A call stack: a frame and the stack it was called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(std::num::NonZeroU32);

impl StackId {
    /// The stack with this number; they start at 1, and 0 stands for none.
    pub fn from_raw(raw: u32) -> Option<StackId> {
        std::num::NonZeroU32::new(raw).map(StackId)
    }

    /// Its number.
    pub fn raw(self) -> u32 {
        self.0.get()
    }

    /// Its place among all stacks, counted from 0.
    pub fn index(self) -> usize {
        self.raw() as usize - 1
    }
}

/// A frame of a stack: its number in the table of frames, `function\tfile:line`.
pub type FrameNumber = u32;

/// What is noted of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// Where it was called from.
    pub stack: Option<StackId>,
    /// How far it is from the event of its thread before it.
    pub step: Distance,
}

/// How far an event's place is from that of the event of its thread before it.
///
/// A place is the number of a thing the thread did at which it could have been stopped; those that
/// did not become events have places too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// The same place: what the thread did there became several events.
    Same,
    /// The number of places that were passed over. At most [`Distance::MOST`].
    Over(u32),
}

impl Default for Distance {
    fn default() -> Self {
        Distance::Over(0)
    }
}

impl Distance {
    /// The most places that can be passed over.
    pub const MOST: u32 = u32::MAX - 1;

    fn from_raw(raw: u32) -> Distance {
        if raw == u32::MAX { Distance::Same } else { Distance::Over(raw) }
    }

    pub(super) fn raw(self) -> u32 {
        match self {
            Distance::Same => u32::MAX,
            Distance::Over(places) => places.min(Distance::MOST),
        }
    }

    fn after(self, last: Option<u64>) -> u64 {
        match (self, last) {
            (Distance::Same, last) => last.unwrap_or(0),
            (Distance::Over(places), None) => u64::from(places),
            (Distance::Over(places), Some(last)) => last + 1 + u64::from(places),
        }
    }
}

/// How a thread came to be: the same in every run of a program that does the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadOrigin {
    /// The thread that created it, which has a smaller number; none for the first.
    pub parent: Option<ThreadId>,
    /// Which of its parent's threads it is, counted from 1.
    pub nth: u32,
}

/// The notes of a trace.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    pub(super) frames: Names,
    /// Of each stack, the one it was called from and its frame.
    pub(super) stacks: Vec<(Option<StackId>, FrameNumber)>,
    /// By thread.
    pub(super) origins: Vec<Option<ThreadOrigin>>,
    pub(super) chunks: Vec<NotesChunk>,
    recent: Recent,
}

/// The notes of the events of one chunk, as they are stored.
#[derive(Clone, Debug)]
pub(super) struct NotesChunk {
    pub(super) first: EventId,
    pub(super) count: u32,
    pub(super) offset: usize,
    pub(super) codec: Codec,
    pub(super) stored: Arc<[u8]>,
}

impl NotesChunk {
    fn unpack(&self, unpacker: &mut Unpacker) -> Result<Vec<Note>, ReadError> {
        let raw_len = self.count * NOTE_LEN as u32;
        let raw =
            unpacker.unpack(self.codec, &self.stored, raw_len).map_err(|problem| problem.at(self.offset))?;
        let (stacks, steps) = raw.split_at(raw.len() / 2);
        let rows = layout::join_planes(stacks).zip(layout::join_planes(steps));
        Ok(rows
            .map(|(stack, step)| Note { stack: StackId::from_raw(stack), step: Distance::from_raw(step) })
            .collect())
    }
}

impl Notes {
    /// The frames that stacks are made of: `function\tfile:line`.
    pub fn frames(&self) -> &Names {
        &self.frames
    }

    /// Gives frames other names.
    pub(crate) fn rename_frames(&mut self, rename: impl Fn(&str) -> std::borrow::Cow<'_, str>) {
        self.frames = self.frames.renamed(rename);
    }

    /// Every stack: where it was called from, and its frame. The first has the number 1.
    pub fn stacks(&self) -> &[(Option<StackId>, FrameNumber)] {
        &self.stacks
    }

    /// The frames of a stack, the innermost first.
    pub fn frames_of(&self, stack: StackId) -> impl Iterator<Item = &str> {
        let mut next = Some(stack);
        std::iter::from_fn(move || {
            let &(parent, frame) = self.stacks.get(next?.index())?;
            next = parent;
            Some(self.frames.get(frame as usize))
        })
    }

    /// How a thread came to be, if that was recorded.
    pub fn origin(&self, thread: ThreadId) -> Option<ThreadOrigin> {
        self.origins.get(thread.index()).copied().flatten()
    }

    /// The path to a thread, if that was recorded.
    pub fn path(&self, thread: ThreadId) -> Option<ThreadPath> {
        let mut path = Vec::new();
        let mut next = Some(thread);
        // Ends because a parent's number is smaller.
        while let Some(thread) = next {
            let origin = self.origin(thread)?;
            next = origin.parent;
            if next.is_some() {
                path.push(origin.nth);
            }
        }
        path.reverse();
        Some(ThreadPath::new(path))
    }

    /// How many events have notes, from the first on.
    pub fn noted(&self) -> usize {
        let mut noted = 0;
        for chunk in &self.chunks {
            if chunk.first.index() != noted {
                break;
            }
            noted += chunk.count as usize;
        }
        noted
    }

    /// The call stack of an event, if it was recorded.
    pub fn stack(&self, event: EventId) -> Result<Option<StackId>, ReadError> {
        let after = self.chunks.partition_point(|chunk| chunk.first <= event);
        let Some(index) = after.checked_sub(1) else { return Ok(None) };
        let chunk = &self.chunks[index];
        let within = event.index() - chunk.first.index();
        if within >= chunk.count as usize {
            return Ok(None);
        }
        let mut recent = self.recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        let notes = match &mut *recent {
            Some((known, notes)) if *known == index => notes,
            other => &mut other.insert((index, chunk.unpack(&mut Unpacker::default())?)).1,
        };
        self.with_known_stack(chunk, event, notes[within]).map(|note| note.stack)
    }

    /// The places of some events in their threads: the number of places before each. None for those
    /// after the last event with notes. Takes time for the whole trace, so ask for many at once.
    pub fn places(&self, trace: &Trace, events: &[EventId]) -> Result<Vec<Option<u64>>, ReadError> {
        let mut wanted: Vec<usize> = (0..events.len()).collect();
        wanted.sort_by_key(|&index| events[index]);
        let mut wanted = wanted.into_iter().peekable();
        let mut places = vec![None; events.len()];
        let mut last = vec![None; trace.symbols().threads.len()];
        let noted = self.noted();
        for row in self.rows() {
            let (event, note) = row?;
            if event.index() >= noted.min(trace.len()) || wanted.peek().is_none() {
                break;
            }
            let last = &mut last[trace.thread(event).index()];
            let place = note.step.after(*last);
            *last = Some(place);
            while let Some(index) = wanted.next_if(|&index| events[index] == event) {
                places[index] = Some(place);
            }
        }
        Ok(places)
    }

    /// The notes of all events that have some, in order.
    pub fn rows(&self) -> impl Iterator<Item = Result<(EventId, Note), ReadError>> {
        let mut unpacker = Unpacker::default();
        self.chunks.iter().flat_map(move |chunk| {
            let (notes, error) = match chunk.unpack(&mut unpacker) {
                Ok(notes) => (notes, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            let row = move |(index, note)| {
                let event = EventId::new(chunk.first.index() + index);
                self.with_known_stack(chunk, event, note).map(|note| (event, note))
            };
            notes.into_iter().enumerate().map(row).chain(error)
        })
    }

    /// A note, if its stack is one of those there are.
    fn with_known_stack(&self, chunk: &NotesChunk, event: EventId, note: Note) -> Result<Note, ReadError> {
        match note.stack {
            Some(stack) if stack.index() >= self.stacks.len() => {
                let problem = Problem::NoteStack { event, found: stack.raw(), known: self.stacks.len() };
                Err(problem.at(chunk.offset))
            }
            _ => Ok(note),
        }
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.stacks.is_empty() && self.origins.is_empty() && self.chunks.is_empty()
    }

    /// Bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let chunks = self.chunks.iter().map(|chunk| chunk.stored.len() + size_of::<NotesChunk>());
        self.frames.memory()
            + self.stacks.capacity() * size_of::<(Option<StackId>, FrameNumber)>()
            + self.origins.capacity() * size_of::<Option<ThreadOrigin>>()
            + chunks.sum::<usize>()
    }
}

/// The same notes, however they are divided into chunks.
impl PartialEq for Notes {
    fn eq(&self, other: &Notes) -> bool {
        self.frames == other.frames
            && self.stacks == other.stacks
            && self.origins == other.origins
            && self.rows().eq(other.rows())
    }
}

impl Eq for Notes {}

/// The notes that were unpacked last, and which chunk's they are: events asked for are often close.
#[derive(Debug, Default)]
struct Recent(Mutex<Option<(usize, Vec<Note>)>>);

impl Clone for Recent {
    fn clone(&self) -> Self {
        Recent::default()
    }
}

/// Takes stacks and origins as they are stored.
impl Notes {
    pub(super) fn take_stack(&mut self, parent: u32, frame: u32, frames: usize) -> Result<(), Problem> {
        let stack = self.stacks.len() + 1;
        if stack >= u32::MAX as usize {
            return Err(Problem::TooManyStacks);
        }
        if parent as usize >= stack {
            return Err(Problem::StackParent { stack, found: parent });
        }
        if frame as usize >= frames {
            return Err(Problem::StackFrame { stack, found: frame, known: frames });
        }
        self.stacks.push((StackId::from_raw(parent), frame));
        Ok(())
    }

    pub(super) fn take_origin(
        &mut self,
        thread: u32,
        parent: u32,
        nth: u32,
        threads: usize,
    ) -> Result<(), Problem> {
        if thread as usize >= threads {
            return Err(Problem::OriginOf { found: thread, known: threads });
        }
        let parent = (parent != NO_PARENT).then_some(parent);
        if let Some(found) = parent.filter(|&parent| parent >= thread) {
            return Err(Problem::OriginParent { thread, found });
        }
        let index = thread as usize;
        if self.origins.len() <= index {
            self.origins.resize(index + 1, None);
        }
        self.origins[index] = Some(ThreadOrigin { parent: parent.map(ThreadId), nth });
        Ok(())
    }
}
