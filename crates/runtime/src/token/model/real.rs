//! The system's parts: a sanitizer watches many runs.

pub(super) use core::sync::atomic::{AtomicU32, Ordering, fence};
pub(super) use std::sync::{Arc, Condvar, Mutex};
pub(super) use std::thread;

/// How often each model is run.
const RUNS: usize = 2_000;

/// A cell with loom's way to it.
pub(super) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

// SAFETY: who uses the cell has the token or the lock, which is what the models are about.
unsafe impl<T: Send> Sync for UnsafeCell<T> {}

impl<T> UnsafeCell<T> {
    pub(super) fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(core::cell::UnsafeCell::new(value))
    }

    pub(super) fn with<R>(&self, act: impl FnOnce(*const T) -> R) -> R {
        act(self.0.get())
    }

    pub(super) fn with_mut<R>(&self, act: impl FnOnce(*mut T) -> R) -> R {
        act(self.0.get())
    }
}

/// Runs a model many times.
pub(super) fn check(_preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    (0..RUNS).for_each(|_| model());
}
