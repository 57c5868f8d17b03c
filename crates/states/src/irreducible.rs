//! Join-irreducible lock-free states (paper 2, theorem 7): the lattice of lock-free feasible states is all joins
//! of these. Each is the least lock-free state that has a certain event.

use crate::loset::Loset;

impl Loset {
    /// The least lock-free feasible state with at least these events, if there is one.
    pub fn least_lock_free(&self, state: &[u32]) -> Option<Vec<u32>> {
        let recorded = self.recorded();
        let mut least = state.to_vec();
        loop {
            let before = least.clone();
            for thread in 0..least.len() {
                for (other, &needed) in recorded.needs(thread, least[thread]).iter().enumerate() {
                    least[other] = least[other].max(needed);
                }
                let free = &self.free[thread];
                let is_free = |&place: &u32| free[place as usize] == place;
                least[thread] = (least[thread]..=self.lengths[thread]).find(is_free)?;
            }
            if least == before {
                return Some(least);
            }
        }
    }

    /// All join-irreducible lock-free feasible states, in lexical order.
    pub fn join_irreducibles(&self) -> Vec<Vec<u32>> {
        let mut all = Vec::new();
        for (thread, &length) in self.lengths.iter().enumerate() {
            for place in 1..=length {
                let mut least = vec![0; self.threads()];
                least[thread] = place;
                all.extend(self.least_lock_free(&least));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}
