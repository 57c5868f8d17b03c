//! Vector clocks: a time for each thread, 0 where nothing is known.

/// A time for each thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock(Vec<u32>);

impl Clock {
    #[inline]
    pub(super) fn get(&self, thread: usize) -> u32 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    /// Sets the time of a thread.
    pub(super) fn set(&mut self, thread: usize, time: u32) {
        *order::slot(&mut self.0, thread) = time;
    }

    /// The least clock that is at least both.
    #[inline]
    pub(super) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }

    /// Becomes equal to another, in the room it already has.
    #[inline]
    pub(super) fn copy(&mut self, other: &Clock) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
