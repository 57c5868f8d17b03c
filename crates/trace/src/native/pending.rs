//! What the writer has been given and not yet written.

use crate::ids::SemaphoreId;
use crate::native::layout::{self, Section, Table};
use crate::native::notes::{Note, StackId};
use crate::trace::Mark;

/// What the next names chunk will hold.
#[derive(Default)]
pub(super) struct PendingNames {
    names: [NewNames; Table::COUNT],
    pub(super) marks: Vec<Mark>,
    pub(super) permits: Vec<(SemaphoreId, u32)>,
    /// Parent and frame of each.
    pub(super) stacks: Vec<[u32; 2]>,
    /// Thread, parent, and its index among the parent's threads.
    pub(super) origins: Vec<[u32; 3]>,
}

/// New names of one table.
#[derive(Default)]
struct NewNames {
    lengths: Vec<u32>,
    text: String,
}

impl NewNames {
    fn push(&mut self, name: &str) {
        self.lengths.push(name.len() as u32);
        self.text.push_str(name);
    }
}

impl PendingNames {
    pub(super) fn is_empty(&self) -> bool {
        self.names.iter().all(|new| new.lengths.is_empty())
            && self.marks.is_empty()
            && self.permits.is_empty()
            && self.stacks.is_empty()
            && self.origins.is_empty()
    }

    pub(super) fn add(&mut self, table: Table, name: &str) {
        self.names[table as usize].push(name);
    }

    /// Bytes it will take, roughly.
    pub(super) fn raw_len(&self) -> usize {
        let names = self.names.iter().map(|new| new.lengths.len() * 4 + new.text.len()).sum::<usize>();
        names
            + self.marks.len() * layout::MARK_LEN
            + self.permits.len() * layout::PERMITS_LEN
            + self.stacks.len() * layout::STACK_LEN
            + self.origins.len() * layout::ORIGIN_LEN
    }

    /// Appends the content of a names chunk, returns how many items that is, and is empty after.
    pub(super) fn drain_into(&mut self, raw: &mut Vec<u8>) -> u32 {
        let mut count = 0;
        let mut section = |raw: &mut Vec<u8>, section: Section, items: usize| {
            count += items as u32;
            raw.extend(section.code().to_le_bytes());
            raw.extend((items as u32).to_le_bytes());
        };
        for (table, new) in Table::ALL.into_iter().zip(&mut self.names) {
            if new.lengths.is_empty() {
                continue;
            }
            section(raw, Section::Names(table), new.lengths.len());
            raw.extend(new.lengths.drain(..).flat_map(u32::to_le_bytes));
            raw.extend(new.text.as_bytes());
            new.text.clear();
        }
        if !self.marks.is_empty() {
            section(raw, Section::Marks, self.marks.len());
            for mark in self.marks.drain(..) {
                raw.extend(mark.name.to_le_bytes());
                raw.extend(mark.value.to_le_bytes());
            }
        }
        if !self.permits.is_empty() {
            section(raw, Section::Permits, self.permits.len());
            for (semaphore, permits) in self.permits.drain(..) {
                raw.extend(semaphore.0.to_le_bytes());
                raw.extend(permits.to_le_bytes());
            }
        }
        if !self.stacks.is_empty() {
            section(raw, Section::Stacks, self.stacks.len());
            raw.extend(self.stacks.drain(..).flatten().flat_map(u32::to_le_bytes));
        }
        if !self.origins.is_empty() {
            section(raw, Section::Origins, self.origins.len());
            raw.extend(self.origins.drain(..).flatten().flat_map(u32::to_le_bytes));
        }
        count
    }
}

/// Notes as columns.
#[derive(Default)]
pub(super) struct NotesColumns {
    stacks: Vec<u32>,
    steps: Vec<u32>,
}

impl NotesColumns {
    pub(super) fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.stacks.len()
    }

    pub(super) fn push(&mut self, note: Note) {
        self.stacks.push(note.stack.map_or(0, StackId::raw));
        self.steps.push(note.step.raw());
    }

    /// Appends the content of a notes chunk, returns of how many events that is, and is empty after.
    pub(super) fn drain_into(&mut self, raw: &mut Vec<u8>) -> u32 {
        let count = self.stacks.len() as u32;
        for column in [&mut self.stacks, &mut self.steps] {
            layout::split_planes(column, raw);
            column.clear();
        }
        count
    }
}
