//! Fixes really fix: the oracle says so of random traces, and hand-written ones show each case.

use std::collections::BTreeSet;

use candidates::fixes::{VerifiedLock, suggest_lock};
use check::{Model, Question};
use decide::{Index, Options};
use findings::LockMistake;
use trace::{EventId, LocationId, Trace};

use crate::deadlocks::can_block;
use crate::support::{on_traces, read, shown, tiny};

fn suggest(trace: &Trace, question: &Question) -> Option<VerifiedLock> {
    suggest_for_all(trace, std::slice::from_ref(question))
}

fn suggest_for_all(trace: &Trace, questions: &[Question]) -> Option<VerifiedLock> {
    suggest_lock(&Index::new(trace), questions, Options::default())
}

fn race(a: u32, b: u32) -> Question {
    Question::Race(EventId(a), EventId(b))
}

fn order(events: &[u32]) -> Question {
    Question::Order(events.iter().map(|&event| EventId(event)).collect())
}

/// The places of the deadlocks that the oracle finds feasible, whatever reads see.
fn deadlocks(trace: &Trace) -> BTreeSet<Vec<LocationId>> {
    let questions: Vec<Question> = oracle::all_questions(trace)
        .into_iter()
        .filter(|question| matches!(question, Question::Deadlock(_)))
        .filter(can_block(trace))
        .collect();
    let answers = oracle::answer_all(trace, Model::Sync, &questions);
    let feasible = questions.iter().zip(answers).filter(|(_, feasible)| *feasible);
    let places = feasible.map(|(question, _)| {
        let mut places: Vec<LocationId> =
            question.named().into_iter().map(|event| trace.location(event)).collect();
        places.sort_unstable();
        places
    });
    places.collect()
}

/// Where the lock is to be held, as events.
fn spans(fix: &VerifiedLock) -> Vec<(u32, u32)> {
    fix.spans.iter().map(|span| (span.first.0, span.last.0)).collect()
}

#[test]
fn what_is_suggested_fixes_the_bug_by_the_oracle() {
    let mut suggested = 0;
    on_traces(400, tiny, |seed, trace| suggested += compare(seed, trace));
    assert!(suggested > 50, "{suggested} suggestions are too few to tell");
}

/// Asks the oracle about what is suggested for violations in a trace; how many suggestions there are.
pub(super) fn compare(seed: u64, trace: &Trace) -> usize {
    if trace.len() > 24 {
        return 0;
    }
    let thread = |event: EventId| trace.thread(event);
    let is_violation = |question: &Question| match question {
        Question::Race(..) => true,
        Question::Order(events) => {
            matches!(events[..], [a, c, b] if a < b && thread(a) == thread(b) && thread(a) != thread(c))
        }
        _ => false,
    };
    let questions: Vec<Question> = oracle::all_questions(trace).into_iter().filter(is_violation).collect();
    let answers = oracle::answer_all(trace, Model::ReadsFrom, &questions);
    let feasible = questions.into_iter().zip(answers).filter(|(_, feasible)| *feasible);
    let feasible: Vec<Question> = feasible.map(|(question, _)| question).take(12).collect();
    let (mut suggested, mut before) = (0, None);
    // Each by itself, and those that come one after the other together.
    for questions in feasible.chunks(1).chain(feasible.windows(2)).chain(feasible.windows(4)) {
        let Some(fix) = suggest_for_all(trace, questions) else { continue };
        suggested += 1;
        let fixed = &fix.edited.trace;
        if fixed.len() > 40 {
            continue;
        }
        for question in questions {
            let asked = fix.edited.question(question).expect("its events are still there");
            assert_eq!(
                oracle::decide(fixed, &asked, Model::Sync),
                None,
                "seed {seed}: {question:?} of {questions:?}\n{}\n{}",
                shown(trace),
                shown(fixed)
            );
        }
        let before = before.get_or_insert_with(|| deadlocks(trace));
        let new: Vec<_> = deadlocks(fixed).difference(before).cloned().collect();
        assert_eq!(new, Vec::<Vec<LocationId>>::new(), "seed {seed}: {questions:?}\n{}", shown(fixed));
    }
    suggested
}

#[test]
fn a_lock_is_missing_at_one_access() {
    let trace = read(
        "main|fork(T1)
         main|fork(T2)
         T1|acq(m)
         T1|w(x)
         T1|rel(m)
         T1|acq(m)
         T1|r(x)
         T1|rel(m)
         T2|w(x)",
    );
    let fix = suggest(&trace, &race(3, 8)).expect("m is held at both others");
    assert_eq!((trace.symbols().lock(fix.lock), fix.mistake), ("m", LockMistake::Missing));
    assert_eq!((spans(&fix), fix.held, fix.accesses), (vec![(8, 8)], 1, 1));
    assert_eq!(fix.edited.trace.len(), trace.len() + 2);
}

/// A clock that one thread sets and many read, some of them under a lock that is there for something else.
#[test]
fn a_lock_that_few_accesses_hold_is_not_suggested() {
    let clock = |unlocked: usize| {
        let free: String = (0..unlocked).map(|line| format!("T2|r(x)|{}\n", 10 + line)).collect();
        let trace = read(&format!(
            "main|fork(T1)|1\nmain|fork(T2)|2\nT2|acq(m)|3\nT2|r(x)|4\nT2|rel(m)|5\n{free}T1|w(x)|6\nT2|r(x)|7\n"
        ));
        let last = trace.len() as u32 - 1;
        suggest(&trace, &race(last - 1, last)).map(|fix| (fix.held, fix.accesses))
    };
    assert_eq!(clock(1), Some((1, 2)));
    assert_eq!(clock(7), None);
}

/// Both halves of an increment, wherever it is done.
#[test]
fn a_lock_covers_all_of_a_statement() {
    let trace = read(
        "main|fork(T1)|1
         main|fork(T2)|2
         T1|acq(m)|3
         T1|w(x)|4
         T1|rel(m)|5
         T2|r(x)|6
         T2|w(x)|6
         T2|r(x)|6
         T2|w(x)|6",
    );
    for question in [race(3, 5), race(3, 6)] {
        let fix = suggest(&trace, &question).expect("m is held");
        assert_eq!(spans(&fix), [(5, 6)]);
        // Once for each time.
        assert_eq!(fix.edited.trace.len(), trace.len() + 4, "{}", shown(&fix.edited.trace));
    }
}

/// What is one bug to the user has one fix.
#[test]
fn a_lock_covers_the_places_of_all_questions() {
    let trace = read(
        "main|fork(T1)|1
         main|fork(T2)|2
         T1|acq(m)|3
         T1|w(x)|4
         T1|rel(m)|5
         T2|w(x)|6
         T2|w(x)|7
         T1|acq(m)|8
         T1|w(y)|9
         T1|rel(m)|10
         T2|w(y)|11",
    );
    let both = suggest_for_all(&trace, &[race(3, 5), race(3, 6)]).expect("m is held");
    assert_eq!(spans(&both), [(5, 5), (6, 6)]);
    // Elements of one array are several variables.
    let all = suggest_for_all(&trace, &[race(3, 5), race(3, 6), race(8, 10)]).expect("m is held");
    assert_eq!(spans(&all), [(5, 5), (6, 6), (10, 10)]);
    // One for which no lock helps leaves all without: m inside of n closes a cycle, and so does n inside of m.
    let trace = read(
        "main|fork(T1)|1
         main|fork(T2)|2
         T1|acq(m)|3
         T1|w(x)|4
         T1|rel(m)|5
         T1|acq(m)|6
         T1|acq(n)|7
         T1|rel(n)|8
         T1|rel(m)|9
         T2|w(x)|10
         T2|acq(n)|11
         T2|w(x)|12
         T2|rel(n)|13
         T2|acq(n)|14
         T2|acq(m)|15
         T2|rel(m)|16
         T2|rel(n)|17",
    );
    assert!(suggest(&trace, &race(3, 9)).is_some_and(|fix| spans(&fix) == [(9, 9)]));
    assert!(suggest_for_all(&trace, &[race(3, 9), race(3, 11)]).is_none());
}

/// The same place in the source, reached with the lock and without it.
#[test]
fn what_holds_the_lock_once_may_not_hold_it_the_next_time() {
    let trace = read(
        "main|fork(T1)|1
         main|fork(T2)|2
         T1|acq(m)|3
         T1|w(x)|4
         T1|rel(m)|5
         T1|w(x)|4
         T2|w(x)|6",
    );
    let fix = suggest(&trace, &race(3, 6)).expect("m is held");
    assert_eq!(spans(&fix), [(5, 5), (6, 6)]);
}

#[test]
fn another_lock_is_held() {
    let trace = read(
        "main|fork(T1)
         main|fork(T2)
         T1|acq(m)
         T1|w(x)
         T1|rel(m)
         T2|acq(n)
         T2|w(x)
         T2|rel(n)
         main|acq(m)
         main|r(x)
         main|rel(m)",
    );
    let fix = suggest(&trace, &race(3, 6)).expect("m is held at both others");
    assert_eq!(trace.symbols().lock(fix.lock), "m");
    assert_eq!(fix.mistake, LockMistake::Other);
    let other = fix.instead_of.map(|lock| trace.symbols().lock(lock));
    assert_eq!((other, spans(&fix)), (Some("n"), vec![(6, 6)]));
}

/// The lock is held by somebody else at that moment of the recording: the access has to wait.
#[test]
fn what_happened_inside_of_a_section_happens_after_it() {
    let trace = read(
        "main|fork(T1)
         main|fork(T2)
         T1|acq(m)
         T1|w(x)
         T2|w(x)
         T2|w(y)
         T1|rel(m)
         main|r(z)",
    );
    let fix = suggest(&trace, &race(3, 4)).expect("m is held");
    assert_eq!(spans(&fix), [(4, 4)]);
    assert!(shown(&fix.edited.trace).contains("rel(m)"), "{}", shown(&fix.edited.trace));
}

#[test]
fn a_check_and_an_act_become_one_section() {
    let trace = read(
        "main|fork(T1)
         main|fork(T2)
         T1|acq(m)
         T1|r(x)
         T1|rel(m)
         T1|r(y)
         T1|acq(m)
         T1|w(x)
         T1|rel(m)
         T2|acq(m)
         T2|w(x)
         T2|rel(m)",
    );
    let fix = suggest(&trace, &order(&[3, 10, 7])).expect("m is held at all of them");
    assert_eq!((trace.symbols().lock(fix.lock), fix.mistake), ("m", LockMistake::Released));
    assert_eq!((spans(&fix), fix.edited.trace.len()), (vec![(3, 7)], trace.len() - 2));
}

#[test]
fn a_lock_that_would_deadlock_is_not_suggested() {
    let trace = read(
        "main|fork(T1)
         main|acq(m)
         main|w(x)
         T1|w(x)
         main|join(T1)
         main|rel(m)",
    );
    assert!(suggest(&trace, &race(2, 3)).is_none(), "the holder of m waits for the thread");
    let trace = read(
        "main|fork(T1)
         main|fork(T2)
         T1|acq(m)
         T1|acq(n)
         T1|w(x)
         T1|rel(n)
         T1|rel(m)
         main|acq(m)
         main|w(x)
         main|rel(m)
         T2|acq(n)
         T2|w(x)
         T2|rel(n)",
    );
    // m inside of n closes a cycle with n inside of m, and both others hold m.
    let fix = suggest(&trace, &race(8, 11)).expect("n is held, too");
    assert_eq!((trace.symbols().lock(fix.lock), spans(&fix)), ("n", vec![(8, 8)]));
}

#[test]
fn a_lock_for_reading_does_not_cover_a_write() {
    let trace = read(
        "main|fork(T1)
         main|fork(T2)
         T1|racq(m)
         T1|w(x)
         T1|rrel(m)
         T2|racq(m)
         T2|r(x)
         T2|rrel(m)",
    );
    let fix = suggest(&trace, &race(3, 6)).expect("m is held for reading");
    assert_eq!((fix.mistake, spans(&fix)), (LockMistake::Shared, vec![(3, 3)]));
    assert!(shown(&fix.edited.trace).contains("T1|acq(m)"), "{}", shown(&fix.edited.trace));
}

#[test]
fn what_waits_in_between_cannot_become_one_section() {
    let trace = read(
        "main|fork(T1)
         main|fork(T2)
         T1|acq(m)
         T1|r(x)
         T1|rel(m)
         T2|signal(c)
         T1|wait(c)
         T1|acq(m)
         T1|w(x)
         T1|rel(m)
         T2|acq(m)
         T2|w(x)
         T2|rel(m)",
    );
    assert!(suggest(&trace, &order(&[3, 11, 8])).is_none());
}
