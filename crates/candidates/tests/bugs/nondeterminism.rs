//! What each read could see instead is what the oracle says.

use std::collections::BTreeSet;

use candidates::nondeterminism;
use check::{Model, Question, Source};
use decide::Index;
use trace::{EventId, Trace};

use crate::support::{Reported, assert_schedules, on_traces, read, settings, shown, tiny};

/// How many other sources there are.
pub(crate) fn compare(seed: u64, trace: &Trace, model: Model) -> usize {
    let index = Index::new(trace);
    let mut reported = Reported::default();
    let counts = nondeterminism::search(&index, settings(model), &mut |r| reported.take(r));
    let reads = (0..trace.len()).map(EventId::new).filter(|&e| trace.op(e).reads().is_some());
    let questions: Vec<Question> = reads
        .flat_map(|read| {
            let other = |source| Question::Reads(read, Some(source));
            decide::other_sources(&index, read).into_iter().map(other).collect::<Vec<_>>()
        })
        .collect();
    let answers = oracle::answer_all(trace, model, &questions);
    let feasible = questions.iter().zip(&answers).filter(|(_, feasible)| **feasible);
    let expected: BTreeSet<Vec<Option<EventId>>> = feasible
        .map(|(question, _)| match question {
            Question::Reads(read, Some(Source::Write(write))) => vec![Some(*read), Some(*write)],
            Question::Reads(read, _) => vec![Some(*read), None],
            other => unreachable!("{other:?}"),
        })
        .collect();
    let found: BTreeSet<_> = reported.events().into_iter().collect();
    assert_eq!(found, expected, "seed {seed} {model:?}\n{}", shown(trace));
    assert_eq!(found.len(), reported.found.len(), "each once");
    let changed: BTreeSet<_> = found.iter().map(|events| events[0]).collect();
    assert_eq!(counts.not_view_preserving, changed.len() as u64);
    assert_eq!(counts.feasible(), found.len() as u64);
    assert_eq!(counts.candidates(), questions.len() as u64);
    assert_schedules(&index, model, &reported.found);
    expected.len()
}

#[test]
fn every_other_source_and_no_other() {
    let mut compared = 0;
    for model in [Model::Sync, Model::ReadsFrom, Model::Branch] {
        on_traces(1_500, tiny, |seed, trace| compared += compare(seed, trace, model));
    }
    assert!(compared > 5_000, "only {compared}");
}

#[test]
fn a_lock_does_not_fix_which_write_is_seen() {
    let trace = read(
        "T1|acq(l)
         T1|w(x)
         T1|rel(l)
         T2|acq(l)
         T2|r(x)
         T2|rel(l)",
    );
    let index = Index::new(&trace);
    let mut reported = Reported::default();
    let counts =
        nondeterminism::search(&index, settings(Model::ReadsFrom), &mut |report| reported.take(report));
    assert_eq!(reported.events(), [vec![Some(EventId(4)), None]]);
    assert_eq!((counts.reads, counts.not_view_preserving), (1, 1));
}
