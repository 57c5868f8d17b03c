//! Strongly feasible states (paper 2, definition 16): feasible, and normalisation up to the state finds no
//! cycle. Every reachable state is one; with two threads (and no semaphores) the reverse holds, too
//! (theorem 18).

use crate::judge::Judgement;
use crate::loset::Loset;

impl Loset {
    /// Whether the state is strongly feasible. Looks only at what comes after the reset point (theorem 8).
    pub fn is_strong(&self, state: &[u32]) -> bool {
        self.is_feasible(state) && self.judge_strength(state) != Judgement::Refused
    }

    /// Whether a feasible state is strongly feasible, and whether it was seen on the way to be reachable.
    pub(crate) fn judge_strength(&self, state: &[u32]) -> Judgement {
        if self.is_easy(state) {
            return Judgement::Reachable;
        }
        let start = self.reset_point(state);
        if self.is_greedily_reached(&start, state) {
            return Judgement::Reachable;
        }
        match self.normalise_between(&start, state) {
            Err(_) => Judgement::Refused,
            Ok(_) if self.threads() <= 2 && self.permits.is_empty() => Judgement::Reachable,
            Ok(_) => Judgement::Accepted,
        }
    }
}
