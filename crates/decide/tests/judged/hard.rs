//! Hard instances (`generate::hard`): where saturation is silent, the search decides, and its evidence stands.

use crate::judged::{Cases, Judged, judge};
use check::{End, Model, Question, Step, check_refutation};
use decide::{Index, Options, Verdict, decide};
use generate::{Family, Hard, Outcome, hard};

/// So many choices make a search thousands of cases deep.
const DEEP: u32 = 1500;

/// Up to this many events the oracle takes part.
const SMALL: usize = 64;

fn decided(family: Family, choices: u32, outcome: Outcome) -> Judged {
    decided_instance(&hard(family, choices, outcome), outcome)
}

/// What engine, checker and (where it can) oracle agree on, which must be the outcome the instance was made for.
fn decided_instance(instance: &Hard, outcome: Outcome) -> Judged {
    let Hard { trace, order } = instance;
    let question = Question::Order(order.clone());
    let index = Index::new(trace);
    let events = trace.len();
    let [sync, rf] = [Model::Sync, Model::ReadsFrom].map(|model| {
        judge(&index, &question, model, Options::default())
            .unwrap_or_else(|fault| panic!("{outcome:?}, {events} events: {fault}"))
    });
    assert_eq!(sync, rf, "there are no reads");
    assert_eq!(sync.is_feasible(), outcome == Outcome::Feasible, "{events} events");
    if events <= SMALL {
        let schedule = oracle::decide(trace, &question, Model::Sync);
        assert_eq!(schedule.is_some(), outcome == Outcome::Feasible, "the oracle, {events} events");
    }
    sync
}

#[test]
fn rings_of_four_to_six_threads_need_cases() {
    for threads in 4..=6 {
        for choices in 1..=6 {
            let family = Family::Rings { threads };
            assert_eq!(
                decided(family, choices, Outcome::Infeasible),
                Judged::Infeasible { cases: Cases::Needed },
                "{family:?}, {choices} choices"
            );
            decided(family, choices, Outcome::Feasible);
        }
    }
}

/// Paper 1, section 4.1: with three threads transitive edges suffice. That is so while every section has to end: where
/// the last ring's may stay open, which of them does is a choice again.
#[test]
fn rings_of_three_threads_need_cases_only_where_sections_may_stay_open() {
    let family = Family::Rings { threads: 3 };
    for choices in 1..=6 {
        for outcome in [Outcome::Infeasible, Outcome::Feasible] {
            let whole = hard(family, choices, outcome);
            let mut open = whole.clone();
            open.order.pop();
            let [whole, open] = [whole, open].map(|instance| decided_instance(&instance, outcome));
            if outcome == Outcome::Infeasible {
                assert_eq!(whole, Judged::Infeasible { cases: Cases::NotNeeded }, "{choices} choices");
                assert_eq!(open, Judged::Infeasible { cases: Cases::Needed }, "{choices} choices");
            }
        }
    }
}

/// With one choice the chain closes on itself, and transitive edges suffice.
#[test]
fn chains_of_several_choices_need_cases() {
    for choices in 1..=6 {
        let judged = decided(Family::Chain, choices, Outcome::Infeasible);
        let cases = if choices == 1 { Cases::NotNeeded } else { Cases::Needed };
        assert_eq!(judged, Judged::Infeasible { cases }, "{choices} choices");
        decided(Family::Chain, choices, Outcome::Feasible);
    }
}

/// The search goes thousands of cases deep and back on a small stack, and so does the checker on what it finds.
#[test]
fn deep_searches_need_no_stack() {
    let work = || {
        let Hard { trace, order } = hard(Family::Chain, DEEP, Outcome::Infeasible);
        let index = Index::new(&trace);
        let question = Question::Order(order);
        let Ok(Verdict::Infeasible(refutation)) = decide(&index, &question, Model::Sync, Options::default())
        else {
            panic!("it is infeasible");
        };
        let mut depth = 0;
        let mut deepest = 0;
        for step in &refutation.steps {
            match step {
                Step::Split { .. } => depth += 1,
                Step::End { end: End::EveryCase } => depth -= 1,
                _ => {}
            }
            deepest = deepest.max(depth);
        }
        assert!(deepest > 1_000, "{deepest}");
        assert_eq!(check_refutation(&trace, &question, Model::Sync, &refutation), Ok(()));
    };
    let worker = std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("it starts");
    worker.join().expect("no overflow");
}
