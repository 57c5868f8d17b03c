//! Which post supplies which take of a semaphore: the oldest that is still there.
//!
//! Permits declared at the start are older than any post. Undeclared, a take that finds nothing is taken to
//! use a permit from the start; there are then as many of those as the trace says at least
//! ([`trace::Trace::initial_permits`]). A schedule that has, with each take, its supplier before it, never takes
//! more than there is.

use std::collections::VecDeque;

/// The permits of a semaphore: those left from the start, then those posted, the oldest first.
#[derive(Clone, Debug)]
pub(super) struct Supply<T> {
    initial: u32,
    /// What posts carry, and how many permits carry that.
    posted: VecDeque<(T, u32)>,
}

impl<T> Default for Supply<T> {
    fn default() -> Self {
        Supply { initial: 0, posted: VecDeque::new() }
    }
}

impl<T: Clone> Supply<T> {
    pub(super) fn declare(&mut self, permits: u32) {
        self.initial = permits;
    }

    pub(super) fn post(&mut self, carries: T) {
        self.posted.push_back((carries, 1));
    }

    /// A post that is no longer told apart from the one before it.
    pub(super) fn post_with_last(&mut self, add: impl FnOnce(&mut T)) {
        if let Some((carries, permits)) = self.posted.back_mut() {
            add(carries);
            *permits += 1;
        }
    }

    /// What the post that supplies this take carries; nothing for a permit from the start.
    pub(super) fn take(&mut self) -> Option<T> {
        if let Some(fewer) = self.initial.checked_sub(1) {
            self.initial = fewer;
            return None;
        }
        let (carries, permits) = self.posted.front_mut()?;
        *permits -= 1;
        if *permits > 0 {
            return Some(carries.clone());
        }
        self.posted.pop_front().map(|(carries, _)| carries)
    }

    /// How many posts waiting for their takes are told apart.
    pub(super) fn told_apart(&self) -> usize {
        self.posted.len()
    }
}
