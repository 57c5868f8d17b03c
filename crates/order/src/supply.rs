//! Which post supplies which take of a semaphore: the oldest that is still there.
//!
//! Permits declared at the start are older than any post. If none are declared, a take that finds no permit uses one from
//! the start; the trace says how many of those there are at least ([`trace::Trace::initial_permits`]). A schedule that
//! executes the supplier of each take before the take never takes more permits than there are.

use std::collections::VecDeque;

/// The permits of a semaphore: those left from the start, then those posted, the oldest first.
#[derive(Clone, Debug)]
pub struct Supply<T> {
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
    /// States how many permits there are at the start.
    pub fn declare(&mut self, permits: u32) {
        self.initial = permits;
    }

    /// Adds a permit that carries something.
    pub fn post(&mut self, carries: T) {
        self.posted.push_back((carries, 1));
    }

    /// Adds a permit to the post before it, which from now on carries both.
    pub fn post_with_last(&mut self, add: impl FnOnce(&mut T)) {
        if let Some((carries, permits)) = self.posted.back_mut() {
            add(carries);
            *permits += 1;
        }
    }

    /// What the post that supplies this take carries; nothing for a permit from the start.
    pub fn take(&mut self) -> Option<T> {
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

    /// How many posts with permits left are distinct.
    pub fn distinct_posts(&self) -> usize {
        self.posted.len()
    }
}
