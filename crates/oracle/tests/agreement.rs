//! The ways of asking agree with each other, and every witness is a schedule by definition.

use check::{Model, Question};
use generate::{TraceSettings, generate};
use oracle::{all_questions, all_schedules, answer_all, decide, reachable_cuts};
use trace::{EventId, Trace};

const MODELS: [Model; 3] = [Model::Sync, Model::ReadsFrom, Model::Branch];

#[test]
fn one_walk_for_each_question_or_one_for_all() {
    for seed in 0..60 {
        let trace = generate(&TraceSettings::tiny(seed)).unwrap();
        let questions = all_questions(&trace);
        for model in MODELS {
            let answers = answer_all(&trace, model, &questions);
            for (index, (question, answer)) in questions.iter().zip(answers).enumerate() {
                question.validate(&trace).unwrap();
                // All cuts and orders one by one would take minutes.
                if index % 7 == seed as usize % 7 {
                    let schedule = decide(&trace, question, model);
                    assert_eq!(schedule.is_some(), answer, "seed {seed}: {question:?} under {model:?}");
                }
            }
        }
    }
}

/// The recorded run is a schedule under every model, so each of its prefixes is a reachable cut.
#[test]
fn the_trace_itself_is_a_schedule() {
    for seed in 0..500 {
        let trace = generate(&TraceSettings::tiny(seed)).unwrap();
        for model in MODELS {
            let cuts = reachable_cuts(&trace, model);
            let mut counts = vec![0u32; trace.symbols().threads.len()];
            assert!(cuts.contains(&counts));
            for (_, thread, _) in trace.events() {
                counts[thread.index()] += 1;
                assert!(cuts.contains(&counts), "seed {seed}: {counts:?} under {model:?}");
            }
        }
    }
}

/// Nothing is remembered when all schedules are enumerated, so nothing can be remembered wrongly.
#[test]
fn remembered_states_lose_no_schedule() {
    for seed in 0..300 {
        let settings = TraceSettings { events: 8, ..TraceSettings::tiny(seed) };
        let trace = generate(&settings).unwrap();
        for model in MODELS {
            let mut schedules: Vec<Vec<EventId>> = Vec::new();
            all_schedules(&trace, model, |schedule| schedules.push(schedule.to_vec()));
            for question in all_questions(&trace) {
                let expected = match &question {
                    Question::Cut(counts) => schedules.iter().any(|s| cut_of(&trace, s) == *counts),
                    // Without exemptions, that is, if nothing is demanded or no read is named.
                    Question::Order(events)
                        if model == Model::Sync
                            || events.iter().all(|&event| trace.op(event).reads().is_none()) =>
                    {
                        schedules.iter().any(|s| is_in_order(s, events))
                    }
                    _ => continue,
                };
                let found = answer_all(&trace, model, std::slice::from_ref(&question));
                assert_eq!(found, [expected], "seed {seed}: {question:?} under {model:?}");
            }
        }
    }
}

fn cut_of(trace: &Trace, schedule: &[EventId]) -> Vec<u32> {
    let mut counts = vec![0; trace.symbols().threads.len()];
    schedule.iter().for_each(|&event| counts[trace.thread(event).index()] += 1);
    counts
}

fn is_in_order(schedule: &[EventId], events: &[EventId]) -> bool {
    let places: Option<Vec<usize>> =
        events.iter().map(|event| schedule.iter().position(|other| other == event)).collect();
    places.is_some_and(|places| places.is_sorted())
}

/// What a model demands less of is feasible if the more demanding one says so.
#[test]
fn models_include_each_other() {
    for seed in 0..300 {
        let trace = generate(&TraceSettings::tiny(seed)).unwrap();
        let questions = all_questions(&trace);
        let [sync, reads_from, branch] = MODELS.map(|model| answer_all(&trace, model, &questions));
        for (index, question) in questions.iter().enumerate() {
            assert!(reads_from[index] <= branch[index], "seed {seed}: {question:?}");
            assert!(branch[index] <= sync[index], "seed {seed}: {question:?}");
        }
    }
}
