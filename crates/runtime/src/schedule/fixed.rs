//! A vector in memory that is given once: the runtime may not allocate.

use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::slice;

/// A limited number of values.
///
/// Invariant: `memory` is valid for `capacity` values for the rest of the process and belongs to this vector alone; the first
/// `length` of them are initialised.
pub(crate) struct Fixed<T: 'static> {
    memory: NonNull<T>,
    length: usize,
    capacity: usize,
}

impl<T: Copy> Fixed<T> {
    /// A vector without room.
    pub(crate) const EMPTY: Fixed<T> = Fixed { memory: NonNull::dangling(), length: 0, capacity: 0 };

    /// A vector in this memory.
    pub(crate) fn new(memory: &'static mut [MaybeUninit<T>]) -> Fixed<T> {
        let capacity = memory.len();
        Fixed { memory: NonNull::from(memory).cast(), length: 0, capacity }
    }

    /// How many values there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Adds a value; whether there was room.
    pub(crate) fn push(&mut self, value: T) -> bool {
        if self.length == self.capacity {
            return false;
        }
        // SAFETY: `length < capacity`, so the place is inside the memory, by the invariant.
        unsafe { self.memory.add(self.length).write(value) };
        self.length += 1;
        true
    }

    /// Takes the last value away.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let last = self.last().copied()?;
        self.length -= 1;
        Some(last)
    }

    /// Takes this value away; those after it move up.
    pub(crate) fn remove(&mut self, index: usize) {
        self.copy_within(index + 1.., index);
        self.length -= 1;
    }

    /// Takes all values away.
    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }
}

impl<T> Deref for Fixed<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the first `length` values are initialised, by the invariant.
        unsafe { slice::from_raw_parts(self.memory.as_ptr(), self.length) }
    }
}

impl<T> DerefMut for Fixed<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the vector is borrowed mutably and shares its memory with nobody.
        unsafe { slice::from_raw_parts_mut(self.memory.as_ptr(), self.length) }
    }
}
