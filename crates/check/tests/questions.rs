//! Questions and models as files and the command line name them.

use std::collections::BTreeMap;

use check::{Model, Question, QuestionError, Source, WrittenQuestion};
use trace::EventId;

#[test]
fn a_model_has_one_name() {
    for model in Model::ALL {
        assert_eq!(serde_json::to_value(model).unwrap(), model.name());
        assert_eq!(model.name().parse(), Ok(model));
    }
    assert!("ReadsFrom".parse::<Model>().is_err());
}

#[test]
fn questions_are_written_as_lists() {
    let questions: [(WrittenQuestion, &str); 7] = [
        (Question::Race(EventId(4), EventId(9)), r#"{"race":[4,9]}"#),
        (Question::Deadlock(vec![EventId(1), EventId(2)]), r#"{"deadlock":[1,2]}"#),
        (Question::Order(vec![EventId(3)]), r#"{"order":[3]}"#),
        (Question::Reads(EventId(5), None), r#"{"reads":[5]}"#),
        (Question::Reads(EventId(5), Some(Source::Initial)), r#"{"reads":[5,-1]}"#),
        (Question::Reads(EventId(5), Some(Source::Write(EventId(0)))), r#"{"reads":[5,0]}"#),
        (Question::Cut(BTreeMap::from([("T1".to_owned(), 3)])), r#"{"cut":{"T1":3}}"#),
    ];
    for (question, json) in questions {
        assert_eq!(serde_json::to_string(&question).unwrap(), json);
        assert_eq!(serde_json::from_str::<WrittenQuestion>(json).unwrap(), question);
    }
    for wrong in [
        r#"{"race":[4]}"#,
        r#"{"race":[4,5,6]}"#,
        r#"{"reads":[]}"#,
        r#"{"reads":[5,-2]}"#,
        r#"{"reads":[-1]}"#,
    ] {
        assert!(serde_json::from_str::<WrittenQuestion>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_cut_names_threads_of_the_trace() {
    let trace = trace::text::read("T1|w(x)|1\nT2|w(x)|2\n".as_bytes()).unwrap();
    let written = Question::Cut(vec![0, 1]).written(&trace);
    assert_eq!(written, Question::Cut(BTreeMap::from([("T2".to_owned(), 1)])));
    assert_eq!(written.about(&trace), Ok(Question::Cut(vec![0, 1])));
    let elsewhere = WrittenQuestion::Cut(BTreeMap::from([("T9".to_owned(), 1)]));
    assert_eq!(elsewhere.about(&trace), Err(QuestionError::NoSuchThread("T9".to_owned())));
}

/// Five thousand threads, each created by the one before, may post to what five thousand others wait for. To go back along the line of
/// their parents for each of them took minutes.
#[test]
fn posts_of_a_long_line_of_threads_are_found_quickly() {
    const THREADS: usize = 5_000;
    let forks = (0..THREADS).map(|i| format!("P{i}|fork(P{})|1\n", i + 1));
    let posts = (0..THREADS).map(|i| format!("P{i}|post(s)|2\n"));
    let takes = (0..THREADS).map(|i| format!("Q{i}|take(s)|3\n"));
    let text: String = forks.chain(posts).chain(takes).collect();
    let trace = trace::text::read(text.as_bytes()).unwrap();
    let takes = (2 * THREADS..3 * THREADS).map(EventId::new);
    let started = std::time::Instant::now();
    let all: Question = Question::Deadlock(takes.clone().collect());
    assert_eq!(all.spent_posts(&trace).len(), THREADS);
    // The first of the line is blocked at its fork: nobody after it exists.
    let first: Question = Question::Deadlock(takes.skip(1).chain([EventId(0)]).collect());
    assert_eq!(first.spent_posts(&trace), []);
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}
