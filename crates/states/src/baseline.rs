//! The paper's baselines (section 6): a run is simulated one event at a time through feasible states, and every state seen
//! is stored. All of them are reachable, each is shown once, and memory grows with their number: to compare with, not to use.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use rustc_hash::FxHashSet;

use crate::loset::Loset;

/// Which of the states seen is gone on from first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// The one seen first.
    BreadthFirst,
    /// The one seen last.
    DepthFirst,
}

/// Shows every reachable state to `visit` until it breaks off.
pub fn walk_stored(
    loset: &Loset,
    baseline: Baseline,
    mut visit: impl FnMut(&[u32]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let start: Box<[u32]> = vec![0; loset.threads()].into();
    let mut seen = FxHashSet::from_iter([start.clone()]);
    let mut waiting = VecDeque::from([start]);
    let take = match baseline {
        Baseline::BreadthFirst => VecDeque::pop_front,
        Baseline::DepthFirst => VecDeque::pop_back,
    };
    while let Some(state) = take(&mut waiting) {
        visit(&state)?;
        let mut next = state.clone();
        for thread in 0..state.len() {
            if state[thread] == loset.lengths[thread] {
                continue;
            }
            next[thread] += 1;
            if loset.is_feasible(&next) && !seen.contains(&next) {
                seen.insert(next.clone());
                waiting.push_back(next.clone());
            }
            next[thread] -= 1;
        }
    }
    ControlFlow::Continue(())
}
