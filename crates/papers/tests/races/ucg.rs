//! Rule 1 and a cycle refute no pair that is feasible, and each refutation holds.

use std::collections::BTreeSet;

use candidates::races::RacePair;
use check::{Model, Question};
use decide::Index;
use papers::races::{lockset, ucg};

use crate::{feasible_pairs, on_tiny_traces, pair, read, shown};

#[test]
fn whatever_is_feasible_is_reported_and_refutations_hold() {
    let (mut refuted, mut false_alarms) = (0, 0);
    on_tiny_traces(0..4_000, |seed, trace| {
        let index = Index::new(trace);
        let found: BTreeSet<RacePair> = ucg::pairs(&index).collect();
        let feasible = feasible_pairs(trace, Model::Sync);
        assert!(feasible.is_subset(&found), "seed {seed}\n{}", shown(trace));
        false_alarms += found.difference(&feasible).count();
        for pair in lockset::pairs(trace).filter(|pair| !found.contains(pair)) {
            let question = Question::Race(pair.first, pair.second);
            let refutation =
                decide::refute_by_saturation(&index, &question, Model::Sync).expect("a valid question");
            let refutation = refutation.expect("it was refuted before");
            let checked = check::check_refutation(trace, &question, Model::Sync, &refutation);
            assert!(checked.is_ok(), "seed {seed}: {pair:?} {checked:?}\n{}", shown(trace));
            refuted += 1;
        }
    });
    assert!(refuted > 1_000, "only {refuted} pairs refuted");
    println!("{false_alarms} false alarms");
}

#[test]
fn a_lock_chain_refutes_without_a_common_lock() {
    // Both writes need the other's section to be over.
    let trace = read(
        "T1|acq(a)
         T1|acq(b)
         T1|rel(b)
         T1|w(x)
         T1|rel(a)
         T2|acq(b)
         T2|acq(a)
         T2|rel(a)
         T2|w(x)
         T2|rel(b)",
    );
    assert_eq!(lockset::pairs(&trace).collect::<Vec<_>>(), [pair(3, 8)]);
    assert_eq!(ucg::pairs(&Index::new(&trace)).collect::<Vec<_>>(), []);
}
