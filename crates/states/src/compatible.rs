//! Compatible and feasible states (paper 2, section 2.1): no two threads hold a lock in forms that exclude
//! each other; a feasible state is consistent, too. Beyond the paper, a feasible state has not
//! taken more permits of a semaphore than there are.

use crate::locks;
use crate::loset::Loset;

impl Loset {
    /// Whether no two threads hold a lock in forms that exclude each other. O(k locks / 64).
    pub fn is_compatible(&self, state: &[u32]) -> bool {
        let mut all = vec![0; self.held.width()];
        state.iter().enumerate().all(|(thread, &place)| {
            let held = self.held.at(thread, place);
            let fits = !locks::exclude(&all, held);
            locks::unite(&mut all, held);
            fits
        })
    }

    /// Whether the state is feasible.
    pub fn is_feasible(&self, state: &[u32]) -> bool {
        self.is_consistent(state) && self.is_compatible(state) && self.has_permits(state)
    }

    /// Whether no more permits have been taken than there are.
    pub(crate) fn has_permits(&self, state: &[u32]) -> bool {
        self.permits.iter().all(|permits| {
            let given = state.iter().zip(&permits.given).map(|(&place, given)| given[place as usize]);
            permits.initial + given.sum::<i64>() >= 0
        })
    }
}
