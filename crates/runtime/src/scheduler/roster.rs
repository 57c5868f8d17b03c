//! Who there is: the known threads in the order of their creation, each with memory and a predictor table of its own, which is
//! another thread's after it is gone.

use core::ptr;
use core::sync::atomic::Ordering;

use wire::{MAX_TABLES, Table};

use super::{MAX_THREADS, Scheduler};
use crate::sys;
use crate::thread::{State, Thread, gate};
use crate::writer::writer;

impl Scheduler {
    /// Known threads.
    pub(crate) fn known(&self) -> &[*mut Thread] {
        if self.threads.is_null() {
            return &[];
        }
        // SAFETY: `known_count` entries are set.
        unsafe { core::slice::from_raw_parts(self.threads, self.known_count) }
    }

    /// Makes a new thread, ready to run. None if there are too many.
    ///
    /// # Safety
    /// By the holder of the token, or before there are several threads, or under the lock.
    pub(crate) unsafe fn add(&mut self) -> Option<*mut Thread> {
        if self.known_count == MAX_THREADS {
            return None;
        }
        let thread = if self.free_count > 0 {
            self.free_count -= 1;
            *self.free.add(self.free_count)
        } else {
            self.make()?
        };
        Thread::reset(thread, self.next_number, writer().progress());
        if writer().is_closed() {
            (*thread).gate.store(gate::QUIET, Ordering::Relaxed);
        }
        self.next_number += 1;
        self.ticket += 1;
        (*thread).since = self.ticket;
        self.chooser.welcome(&mut *thread);
        *self.threads.add(self.known_count) = thread;
        self.known_count += 1;
        Some(thread)
    }

    /// The same under the lock.
    pub(crate) unsafe fn add_locked(&mut self) -> Option<*mut Thread> {
        self.lock();
        let thread = self.add();
        self.unlock();
        thread
    }

    /// Takes back the thread that was added last: it could not be created.
    pub(crate) unsafe fn take_back(&mut self, thread: *mut Thread) {
        (*thread).state = State::Finished;
        self.forget(thread);
        self.next_number -= 1;
    }

    /// Memory for a thread and its table. Beyond the most tables, threads share them.
    unsafe fn make(&mut self) -> Option<*mut Thread> {
        let own_table = u64::from(self.next_table) < MAX_TABLES;
        let bytes = size_of::<Thread>() + if own_table { size_of::<Table>() } else { 0 };
        let memory = sys::map_memory(bytes);
        if memory.is_null() {
            return None;
        }
        let thread: *mut Thread = memory.cast();
        if own_table {
            (*thread).table_number = self.next_table;
            (*thread).table = memory.add(size_of::<Thread>()).cast();
        } else {
            let other = *self.threads.add(self.next_table as usize % self.known_count.max(1));
            (*thread).table_number = (*other).table_number;
            (*thread).table = (*other).table;
        }
        self.next_table += 1;
        Some(thread)
    }

    /// Forgets a thread that has ended.
    ///
    /// # Safety
    /// By the holder of the token; the thread never runs again.
    pub(crate) unsafe fn forget(&mut self, thread: *mut Thread) {
        if let Some(index) = self.known().iter().position(|&known| known == thread) {
            self.lock();
            let after = self.threads.add(index + 1);
            ptr::copy(after, after.sub(1), self.known_count - index - 1);
            self.known_count -= 1;
            *self.free.add(self.free_count) = thread;
            self.free_count += 1;
            self.unlock();
        }
    }

    /// The thread with this pthread handle.
    pub(crate) fn find(&self, handle: u64) -> Option<*mut Thread> {
        // SAFETY: known threads stay known while their holder of the token looks.
        self.known()
            .iter()
            .copied()
            .find(|&thread| unsafe { (*thread).handle == handle && (*thread).number > 0 })
    }

    /// Whether there is another thread that could ever run.
    pub(crate) fn is_alone(&self) -> bool {
        // SAFETY: as above.
        self.known().iter().filter(|&&thread| unsafe { (*thread).state } != State::Finished).count() <= 1
    }
}
