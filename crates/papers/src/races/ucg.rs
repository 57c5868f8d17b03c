//! The universal causality graph: Kahlon and Wang, *Universal Causality Graphs: A Precise Happens-Before Model for Detecting Bugs in
//! Concurrent Programs* (CAV 2010), as paper 1 (Wang and Hoang) restates it: rule 1 to its fixpoint, and a cycle or none.
//!
//! *Promise.* Every pair feasible under `sync`, and so every real one, is reported. Of the others those that the engine would have to
//! search for are reported too, and all that only the values read prevent: false alarms.
//!
//! *Cost.* For each of the pairs of [`lockset`], which may be quadratically many: a comparison if fork, join and the like keep them in
//! order, a guess if they race in about the order of the trace, and otherwise a saturation.

use candidates::races::RacePair;
use check::{Model, Question};
use decide::{Index, refute_by_saturation};
use order::{MustOrder, ReadOrder};

use super::lockset;

/// All pairs that rule 1 does not refute, lazily, in the order of [`lockset::pairs`], up to where the bounds of the work are reached.
pub fn pairs<'s>(index: &'s Index<'_>) -> impl Iterator<Item = RacePair> + 's {
    let must = MustOrder::uncounted(index, ReadOrder::Free);
    lockset::pairs_within(index.trace(), index.bounds()).filter(move |pair| {
        let before = must.run_up(index, pair.second, index.trace().thread(pair.first));
        if before > index.threads().place(pair.first) as u32 {
            return false;
        }
        let question = Question::Race(pair.first, pair.second);
        let refutation = refute_by_saturation(index, &question, Model::Sync);
        refutation.expect("potential races are pairs of conflicting accesses").is_none()
    })
}
