//! The universal causality graph: Kahlon and Wang, *Universal Causality Graphs: A Precise Happens-Before Model for Detecting Bugs in
//! Concurrent Programs* (CAV 2010), as paper 1 (Wang and Hoang) restates it: rule 1 to its fixpoint, and a cycle or none.
//!
//! *Promise.* Every pair feasible under `sync`, and so every real one, is reported. Of the others those that the engine would have to
//! search for are reported too, and all that only the values read prevent: false alarms.
//!
//! *Cost.* A saturation for each of the pairs of [`lockset`], which may be quadratically many.

use check::{Model, Question};
use decide::{Setup, outlook};

use super::{RacePair, lockset};

/// All pairs that rule 1 does not refute, lazily, in the order of [`lockset::pairs`].
pub fn pairs<'s>(setup: &'s Setup<'_>) -> impl Iterator<Item = RacePair> + 's {
    lockset::pairs(setup.trace()).filter(|pair| {
        let question = Question::Race(pair.first, pair.second);
        let refutation = outlook(setup, &question, Model::Sync);
        refutation.expect("potential races are pairs of conflicting accesses").is_none()
    })
}
