//! Consistent states (paper 2, section 2.1): with an event, all that happened before it.

use crate::loset::Loset;

impl Loset {
    /// Whether the state is consistent. O(k²).
    pub fn is_consistent(&self, state: &[u32]) -> bool {
        debug_assert_eq!(state.len(), self.threads());
        state.iter().enumerate().all(|(thread, &place)| {
            self.needs(thread, place).iter().zip(state).all(|(needed, done)| needed <= done)
        })
    }
}
