//! What each read could see instead is what the oracle says.

use std::collections::BTreeSet;

use candidates::nondeterminism::{self, LIMITS};
use candidates::{Extent, PatternLimits};
use check::{Model, Question, Source};
use decide::Index;
use generate::hostile::Shape;
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

/// How many pairs of places there are of which the second can be seen at the first.
fn compare_places(seed: u64, trace: &Trace, model: Model) -> usize {
    let index = Index::new(trace);
    let limits = PatternLimits { extent: Extent::PatternsOfVariables, ..PatternLimits::GENEROUS };
    let (mut all, mut by_place) = (Reported::default(), Reported::default());
    nondeterminism::search(&index, settings(model), &mut |report| all.take(report));
    let counts =
        nondeterminism::search_within(&index, settings(model), limits, &mut |report| by_place.take(report));
    let places = |found: &Reported| {
        let place = |event: &Option<EventId>| event.map(|event| trace.location(event));
        let of = |events: &Vec<Option<EventId>>| {
            let read = events[0].expect("there is a read");
            (events.iter().map(place).collect::<Vec<_>>(), trace.op(read).reads())
        };
        found.events().iter().map(of).collect::<Vec<_>>()
    };
    let expected: BTreeSet<_> = places(&all).into_iter().collect();
    let found: BTreeSet<_> = places(&by_place).into_iter().collect();
    assert_eq!(found, expected, "seed {seed} {model:?}\n{}", shown(trace));
    assert_eq!(found.len(), by_place.found.len(), "each once");
    assert_eq!((counts.feasible(), counts.unknown()), (found.len() as u64, 0));
    assert_schedules(&index, model, &by_place.found);
    expected.len()
}

/// A tiny trace with few places, so that each has several reads or writes.
fn with_few_places(seed: u64) -> Trace {
    let text = shown(&tiny(seed));
    let relocated = |(number, line): (usize, &str)| match line.rsplit_once('|') {
        Some((event, _)) if !line.starts_with('#') => format!("{event}|{}", number % 3),
        _ => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().enumerate().map(relocated).collect();
    trace::text::read(lines.join("\n").as_bytes()).expect("a well-formed trace")
}

#[test]
fn every_pair_of_places_and_no_other() {
    let mut compared = 0;
    for model in [Model::Sync, Model::ReadsFrom, Model::Branch] {
        on_traces(1_500, tiny, |seed, trace| compared += compare_places(seed, trace, model));
        on_traces(1_500, with_few_places, |seed, trace| compared += compare_places(seed, trace, model));
    }
    assert!(compared > 8_000, "only {compared}");
}

/// Who takes the lock sees the last write of each section, however many there are: nothing is asked about the others.
#[test]
fn what_a_section_overwrites_is_not_asked_about() {
    let section = "T1|acq(l)|a\nT1|w(x)|b\nT1|w(x)|c\nT1|rel(l)|d\n";
    let reading = "T2|acq(l)|e\nT2|r(x)|f\nT2|rel(l)|g\n";
    let trace = read(&(section.to_owned() + reading).repeat(100));
    let index = Index::new(&trace);
    let mut reported = Reported::default();
    let settings = settings(Model::ReadsFrom);
    let counts = nondeterminism::search_within(&index, settings, LIMITS, &mut |report| reported.take(report));
    let seen = reported.events().into_iter().map(|events| events[1].map(|write| trace.location(write)));
    let expected = BTreeSet::from([Some(trace.location(EventId(2))), None]);
    assert_eq!(seen.collect::<BTreeSet<_>>(), expected, "the second write, and the initial value");
    assert!(counts.asked() <= 1 && counts.unknown() == 0, "{counts:?}");
}

/// With each access at another place there are a million pairs of places: the search ends after some of them, and says so.
#[test]
fn very_many_places_cut_the_search_short() {
    let trace = read(&Shape::ReadsAndWrites.text(2_000));
    let index = Index::new(&trace);
    let mut reported = Reported::default();
    let settings = settings(Model::ReadsFrom);
    let counts = nondeterminism::search_within(&index, settings, LIMITS, &mut |report| reported.take(report));
    let found = reported.found.len();
    assert!((1_000..=20_000).contains(&found), "{found}");
    assert!(counts.unknown() > 0, "{counts:?}");
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
