//! The user's regions: what breaks them.

use candidates::atomicity::LIMITS;
use check::Model;

use crate::atomicity::run;
use crate::support::{ids, read};

#[test]
fn conflicts_that_come_back_through_a_third_thread() {
    // T2 passes on to T3 what the region has begun, and T3 has it before the region ends.
    let text = "T1|abegin(m)
        T1|w(x)
        T1|r(z)
        T1|aend(m)
        T2|r(x)
        T2|w(y)
        T3|r(y)
        T3|w(z)";
    let (reported, counts) = run(&read(text), Model::ReadsFrom, LIMITS);
    assert_eq!(reported.events(), [ids(&[1, 4, 5, 6, 7, 2])]);
    assert_eq!(reported.found[0].object, candidates::Object::Named("x, y, z".to_owned()));
    assert!(!counts.cut_short);
    // In the other order T3 has nothing of the region to pass on.
    let (reported, _) = run(
        &read(&text.replace("T3|r(y)\n        T3|w(z)", "T3|w(z)\n        T3|r(y)")),
        Model::ReadsFrom,
        LIMITS,
    );
    assert!(reported.found.is_empty());
}

#[test]
fn a_region_over_two_variables_is_not_serialisable() {
    // Both balances are consistent with each other only as long as nobody moves money between the two looks.
    let text = "T1|abegin(audit)
        T1|r(x)
        T1|r(y)
        T1|aend(audit)
        T2|w(x)
        T2|w(y)";
    let (reported, _) = run(&read(text), Model::ReadsFrom, LIMITS);
    assert_eq!(reported.events(), [ids(&[1, 4, 5, 2])]);
    assert_eq!(reported.found[0].object, candidates::Object::Named("x, y".to_owned()));
    // In the other order they are as if after the region, or before it.
    let swapped =
        text.replace("T2|w(x)", "T2|w(z)").replace("T2|w(y)", "T2|w(x)").replace("T2|w(z)", "T2|w(y)");
    let (reported, _) = run(&read(&swapped), Model::ReadsFrom, LIMITS);
    assert!(reported.found.is_empty());
    let locked = text
        .replace("T1|r(x)", "T1|acq(l)\nT1|r(x)")
        .replace("T1|r(y)", "T1|r(y)\nT1|rel(l)")
        .replace("T2|w(x)", "T2|acq(l)\nT2|w(x)\nT2|rel(l)");
    let (reported, counts) = run(&read(&locked), Model::ReadsFrom, LIMITS);
    assert!(reported.found.is_empty());
    assert_eq!(counts.tally.asked, 0, "no question for what a lock keeps apart");
}

#[test]
fn regions_say_what_is_meant_to_be_atomic() {
    let trace = read(
        "T1|r(x)
         T1|w(x)
         T1|abegin(m)
         T1|w(y)
         T1|r(y)
         T1|w(y)
         T1|aend(m)
         T2|w(x)
         T2|r(y)",
    );
    let (reported, _) = run(&trace, Model::ReadsFrom, LIMITS);
    assert_eq!(reported.events(), [ids(&[3, 8, 5])]);
}
