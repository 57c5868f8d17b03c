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
