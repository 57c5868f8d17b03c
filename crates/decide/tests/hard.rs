//! Hard instances (`generate::hard`): where saturation is silent, the search decides, and its evidence stands.

mod judged;

use check::{Model, Question};
use decide::{Options, Setup};
use generate::{Family, Hard, Outcome, hard};
use judged::{Cases, Judged, judge};

/// Up to this many events the oracle takes part.
const SMALL: usize = 64;

fn decided(family: Family, choices: u32, outcome: Outcome) -> Judged {
    let Hard { trace, order } = hard(family, choices, outcome);
    let question = Question::Order(order);
    let setup = Setup::new(&trace);
    let [sync, rf] = [Model::Sync, Model::ReadsFrom].map(|model| {
        judge(&setup, &question, model, Options::default())
            .unwrap_or_else(|fault| panic!("{family:?}, {choices} choices, {outcome:?}: {fault}"))
    });
    assert_eq!(sync, rf, "{family:?}: there are no reads");
    assert_eq!(sync.is_feasible(), outcome == Outcome::Feasible, "{family:?}, {choices} choices");
    if trace.len() <= SMALL {
        let schedule = oracle::decide(&trace, &question, Model::Sync);
        assert_eq!(
            schedule.is_some(),
            outcome == Outcome::Feasible,
            "the oracle, {family:?}, {choices} choices"
        );
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

/// Paper 1, section 4.1: with three threads transitive edges suffice.
#[test]
fn rings_of_three_threads_need_no_cases() {
    for choices in 1..=6 {
        let family = Family::Rings { threads: 3 };
        let judged = decided(family, choices, Outcome::Infeasible);
        assert_eq!(judged, Judged::Infeasible { cases: Cases::NotNeeded }, "{choices} choices");
        decided(family, choices, Outcome::Feasible);
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
