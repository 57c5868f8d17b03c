//! The work list of the rules: newly needed events, reads newly bound to their source, and events that
//! have learnt of other chains. The rules have seen everything else and can derive nothing new from it.

use std::collections::VecDeque;

use order::{Node, Raised};
use rustc_hash::FxHashMap;

use crate::state::Stretch;

/// The rules' work list.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// Newly needed events.
    pub(crate) new: VecDeque<Stretch>,
    /// Needed reads that are bound only now.
    pub(crate) bound: Vec<Node>,
    /// Pairs of chains where the first has learnt of the second, and the place.
    queue: VecDeque<(u32, u32)>,
    learnt: FxHashMap<(u32, u32), (u32, u32)>,
}

impl Agenda {
    pub(crate) fn clear(&mut self) {
        self.new.clear();
        self.bound.clear();
        self.queue.clear();
        self.learnt.clear();
    }

    /// Notes what an edge has taught.
    pub(crate) fn note(&mut self, raised: &[Raised]) {
        for &Raised { chain, about, first, end } in raised {
            // All of what is new will be looked at anyway.
            if self
                .new
                .iter()
                .rev()
                .take(4)
                .any(|new| new.chain == chain && new.first <= first && end <= new.end)
            {
                continue;
            }
            let queue = &mut self.queue;
            let stretch = self.learnt.entry((chain, about)).or_insert_with(|| {
                queue.push_back((chain, about));
                (first, end)
            });
            *stretch = (stretch.0.min(first), stretch.1.max(end));
        }
    }

    /// The next stretch that has learnt of another chain.
    pub(crate) fn next_learnt(&mut self) -> Option<(Stretch, u32)> {
        let (chain, about) = self.queue.pop_front()?;
        let (first, end) = self.learnt.remove(&(chain, about))?;
        Some((Stretch { chain, first, end }, about))
    }
}
