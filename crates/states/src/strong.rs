//! Strongly feasible states (paper 2, definition 16): feasible, and normalisation up to the state finds no
//! cycle. Every reachable state is one; with two threads (and no semaphores) the reverse holds, too
//! (theorem 18).

use crate::loset::Loset;

impl Loset {
    /// Whether the state is strongly feasible. Looks only at what comes after the reset point (theorem 8).
    pub fn is_strong(&self, state: &[u32]) -> bool {
        self.is_feasible(state) && self.is_strong_if_feasible(state)
    }

    #[inline]
    pub(crate) fn is_strong_if_feasible(&self, state: &[u32]) -> bool {
        if self.is_easy(state) {
            return true;
        }
        let start = self.reset_point(state);
        self.is_greedily_reached(&start, state) || self.normalise_between(&start, state).is_ok()
    }
}
