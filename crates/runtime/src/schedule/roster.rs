//! Who there is: the known threads in the order of their creation.

use super::{Entry, Schedule, Slot, State, World};

impl Schedule {
    /// The threads in the order of their creation.
    pub(crate) fn threads(&self) -> &[Slot] {
        &self.order
    }

    /// Makes a new thread, ready to run. None if there are too many.
    pub(crate) fn add(&mut self, world: &impl World) -> Option<Slot> {
        if self.order.len() == self.order.capacity() {
            return None;
        }
        let (slot, is_new) = match self.free.last() {
            Some(&slot) => (slot, false),
            None => (Slot(self.entries.0.len() as u32), true),
        };
        if !world.prepare(slot, self.next_number) {
            return None;
        }
        self.ticket += 1;
        let mut entry = Entry::new(self.next_number, self.ticket);
        entry.priority = self.chooser.first_priority();
        if is_new {
            self.entries.0.push(entry);
        } else {
            self.free.pop();
            self.entries[slot] = entry;
        }
        self.next_number += 1;
        self.order.push(slot);
        Some(slot)
    }

    /// Forgets a thread that has ended: it never runs again.
    pub(crate) fn forget(&mut self, thread: Slot) {
        if let Some(index) = self.order.iter().position(|&known| known == thread) {
            self.order.remove(index);
            self.free.push(thread);
        }
    }

    /// Takes back the thread that was added last: it could not be created.
    pub(crate) fn take_back(&mut self, thread: Slot) {
        self.entries[thread].state = State::Finished;
        self.forget(thread);
        self.next_number -= 1;
    }

    /// A new thread, made by neither us nor one of our threads, runs already, without the token.
    pub(crate) fn attach(&mut self, world: &impl World) -> Option<Slot> {
        let thread = self.add(world)?;
        self.entries[thread].state = State::Outside;
        self.outside += 1;
        Some(thread)
    }

    /// Whether the thread has nothing left to do but to go into a library, where others wait for it.
    pub(crate) fn set_leaving(&mut self, thread: Slot, leaves: bool) {
        self.entries[thread].leaves = leaves;
    }

    /// A thread has created another.
    pub(crate) fn created(&mut self, parent: Slot, child: Slot) {
        self.replay.created(parent, child, &mut self.entries);
    }

    /// Whether no other thread could ever run.
    pub(crate) fn is_alone(&self) -> bool {
        self.order.iter().filter(|&&thread| self.entries[thread].state != State::Finished).count() <= 1
    }
}
