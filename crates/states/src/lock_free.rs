//! Lock-free feasible states (paper 2, section 3) and the greatest one below a state (theorems 7 and 8).
//!
//! They form a distributive lattice, and each can be reached (corollary 6: the recorded run reaches the
//! final state). With semaphores 'consistent' includes each take after its recorded post here,
//! so that both stay true.

use crate::loset::Loset;

impl Loset {
    /// Whether the state is feasible and holds no lock.
    pub fn is_lock_free(&self, state: &[u32]) -> bool {
        let free = |(thread, &place): (usize, &u32)| self.free[thread][place as usize] == place;
        self.recorded().is_consistent(state) && state.iter().enumerate().all(free)
    }

    /// The greatest lock-free feasible state at or below a state.
    pub fn greatest_lock_free(&self, state: &[u32]) -> Vec<u32> {
        let recorded = self.recorded();
        recorded.greatest_at(&recorded.free, state)
    }

    /// The greatest consistent state at or below this one in which no lock is held that another thread wants.
    /// Without semaphores this state is reachable if and only if it is so from there (theorem 8).
    pub(crate) fn reset_point(&self, state: &[u32]) -> Vec<u32> {
        if !self.permits.is_empty() {
            return vec![0; state.len()];
        }
        self.greatest_at(&self.calm, state)
    }

    /// With every take after its recorded post.
    pub(crate) fn recorded(&self) -> &Loset {
        self.matched.as_deref().unwrap_or(self)
    }

    /// The greatest consistent state below one whose every place is its own last in `allowed`. Each round
    /// lowers some thread, so it ends; it never lowers one below what any such state has.
    fn greatest_at(&self, allowed: &[Vec<u32>], state: &[u32]) -> Vec<u32> {
        let mut greatest: Vec<u32> =
            state.iter().zip(allowed).map(|(&place, allowed)| allowed[place as usize]).collect();
        loop {
            let mut changed = false;
            for thread in 0..greatest.len() {
                let most = (0..greatest.len()).map(|other| self.limits(other, greatest[other])[thread]).min();
                let place = greatest[thread];
                let lower = allowed[thread][most.unwrap_or(place).min(place) as usize];
                changed |= lower != place;
                greatest[thread] = lower;
            }
            if !changed {
                return greatest;
            }
        }
    }
}
