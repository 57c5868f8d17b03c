//! Easy states: reachable for a reason that one pass over the threads sees.
//!
//! Roll every thread that holds a lock back to before the outermost acquire of one. If nothing it did since
//! comes before an event of another thread, that is a consistent state, and since no lock is held there, it is
//! reachable (paper 2, corollary 6; locks that one thread alone wants are no matter). If moreover the locks
//! acquired since do not exclude each other between threads, nothing keeps the threads from
//! going back to where they were, in the recorded order. Most states of most programs are easy.

use crate::locks;
use crate::loset::Loset;

impl Loset {
    /// Whether every feasible state is easy because no thread has, anywhere, acquired more since it last held nothing than
    /// it holds: sections are not nested, and nothing in them comes before events of other threads.
    pub(crate) fn is_all_easy(&self) -> bool {
        let mut places =
            (0..self.threads()).flat_map(|thread| (0..=self.lengths[thread]).map(move |p| (thread, p)));
        self.permits.is_empty()
            && places.all(|(thread, place)| {
                !self.leaks[thread][place as usize]
                    && self.touched.at(thread, place) == self.held.at(thread, place)
            })
    }

    /// Whether a feasible state is easy, and so reachable. Says no to all where there are semaphores.
    pub(crate) fn is_easy(&self, state: &[u32]) -> bool {
        if !self.permits.is_empty() {
            return false;
        }
        let mut all = [0; 8];
        let mut more = Vec::new();
        let width = self.touched.width();
        let all = if width <= all.len() {
            &mut all[..width]
        } else {
            more.resize(width, 0);
            &mut more[..]
        };
        state.iter().enumerate().all(|(thread, &place)| {
            let touched = self.touched.at(thread, place);
            let fits = !self.leaks[thread][place as usize] && !locks::exclude(all, touched);
            locks::unite(all, touched);
            fits
        })
    }
}
