//! Predicates: what they mean, judged state by state; what is possible and what is certain, judged by the oracle.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use check::{Model, Question, check_schedule};
use generate::{TraceSettings, generate};
use states::{Definitely, Exhausted, Loset, Path, Predicate, StateLimits, definitely, possibly};
use trace::Trace;

const SEEDS: Range<u64> = 0..400;

fn traces() -> impl Iterator<Item = (u64, Trace)> {
    let traces =
        SEEDS.map(|seed| (seed, generate(&TraceSettings::tiny(seed)).expect("tiny settings are sound")));
    traces.filter(|(_, trace)| !trace.is_empty())
}

/// Conditions that make sense about every trace, some local to threads and some not.
fn conditions(trace: &Trace) -> Vec<String> {
    let symbols = trace.symbols();
    let (first, last) = (symbols.threads.get(0), symbols.threads.get(symbols.threads.len() - 1));
    let mut conditions = vec![
        format!("done(\"{first}\") == 2 && done(\"{last}\") == 1"),
        format!("done(\"{first}\") >= 2 && !(done(\"{last}\") < 2) && done(\"{first}\") < 4"),
        "exists t, u: t != u && done(t) == 2 && done(u) == 2".to_owned(),
        "forall t: done(t) <= 1 || ended(t)".to_owned(),
        format!("done(\"{first}\") - 2 * done(\"{last}\") == 1 || false"),
        // Stable, and the reverse.
        format!("forall t: done(t) >= 2 || ended(\"{first}\")"),
        "exists t: done(t) < 3 && !ended(t)".to_owned(),
        // Linear.
        format!("done(\"{last}\") >= done(\"{first}\") + 1 && done(\"{first}\") != 0"),
        format!("done(\"{first}\") < done(\"{last}\") && done(\"{last}\") < 2 * 2"),
    ];
    if let Some(lock) = symbols.locks.iter().next() {
        conditions.push(format!("exists t: holds(t, \"{lock}\") && done(t) > 1"));
        conditions.push(format!("holds(\"{first}\", \"{lock}\") && !holds(\"{last}\", \"{lock}\")"));
        conditions.push(format!("exists t, u: t != u && holds(t, \"{lock}\") && holds(u, \"{lock}\")"));
    }
    if let Some(mark) = symbols.marks.iter().next() {
        conditions.push(format!("mark(\"{mark}\") > 0 && exists t: value(t, \"{mark}\") != 0"));
    }
    if let Some(variable) = symbols.variables.iter().next() {
        conditions.push(format!("last_writer(\"{variable}\") == \"{first}\""));
    }
    conditions
}

#[test]
fn possibly_is_some_reachable_state() {
    let (mut yes, mut no) = (0, 0);
    let mut taken: HashMap<Path, [u32; 2]> = HashMap::new();
    for (seed, trace) in traces() {
        let loset = Loset::of(&trace);
        let reachable = oracle::reachable_cuts(&trace, Model::Sync);
        for condition in conditions(&trace) {
            let predicate = Predicate::parse(&condition, &trace).expect("it makes sense");
            let truth = reachable.iter().any(|state| predicate.holds(state));
            let found =
                possibly(&trace, &loset, &predicate, StateLimits::default(), |_| {}).expect("no budget");
            assert_eq!(found.state.is_some(), truth, "seed {seed}: {condition}, {:?}", found.path);
            taken.entry(found.path).or_default()[usize::from(truth)] += 1;
            if let Some(state) = found.state {
                assert!(
                    reachable.contains(&state) && predicate.holds(&state),
                    "seed {seed}: {condition}, {state:?}"
                );
            }
            *if truth { &mut yes } else { &mut no } += 1;
        }
    }
    assert!(yes > 500 && no > 500, "{yes} {no}");
    let paths = [Path::Initial, Path::Stable, Path::Conjunctive, Path::Linear, Path::Enumeration];
    for path in paths {
        let [no, yes] = taken.get(&path).copied().unwrap_or_default();
        assert!(yes > 20 && (no > 0 || path == Path::Initial), "{path:?}: {taken:?}");
    }
}

#[test]
fn definitely_is_every_run() {
    let (mut yes, mut no) = (0, 0);
    for (seed, trace) in traces() {
        let loset = Loset::of(&trace);
        let reachable = oracle::reachable_cuts(&trace, Model::Sync);
        for condition in conditions(&trace) {
            let predicate = Predicate::parse(&condition, &trace).expect("it makes sense");
            let start = vec![0; loset.threads()];
            let truth = !avoids(&reachable, &predicate, &start, &mut BTreeMap::new());
            let certainty =
                definitely(&trace, &loset, &predicate, StateLimits::default(), |_| {}).expect("no budget");
            match certainty.answer {
                Definitely::Holds => assert!(truth, "seed {seed}: {condition}"),
                Definitely::Avoided(run) => {
                    assert!(!truth, "seed {seed}: {condition}");
                    let mut state = start;
                    for &event in &run {
                        assert!(!predicate.holds(&state), "seed {seed}: {condition}, {state:?}");
                        state[trace.thread(event).index()] += 1;
                    }
                    assert!(!predicate.holds(&state) && successors(&reachable, &state).is_empty());
                    let question = Question::Cut(state);
                    check_schedule(&trace, &question, Model::Sync, &run).expect("it is a run");
                }
            }
            *if truth { &mut yes } else { &mut no } += 1;
        }
    }
    assert!(yes > 100 && no > 500, "{yes} {no}");
}

fn successors(reachable: &BTreeSet<Vec<u32>>, state: &[u32]) -> Vec<Vec<u32>> {
    let next = |thread: usize| {
        let mut next = state.to_vec();
        next[thread] += 1;
        reachable.contains(&next).then_some(next)
    };
    (0..state.len()).filter_map(next).collect()
}

/// Whether some run from here to where nothing can happen any more has no state in which the predicate holds.
fn avoids(
    reachable: &BTreeSet<Vec<u32>>,
    predicate: &Predicate,
    state: &[u32],
    known: &mut BTreeMap<Vec<u32>, bool>,
) -> bool {
    if let Some(&answer) = known.get(state) {
        return answer;
    }
    let next = successors(reachable, state);
    let answer = !predicate.holds(state)
        && (next.is_empty() || next.iter().any(|next| avoids(reachable, predicate, next, known)));
    known.insert(state.to_vec(), answer);
    answer
}

const FILE: &str = "\
main|fork(a)|m.c:1
main|fork(b)|m.c:2
a|acq(m)|src/a.c:1
a|mark(open,1)|src/a.c:2
a|w(x)|src/a.c:3
a|mark(open,-1)|src/a.c:4
a|rel(m)|src/a.c:5
b|w(x)|b.c:1
main|join(a)|m.c:3
main|w(x)|m.c:4
";

#[test]
fn what_each_word_means() {
    let trace = trace::text::read(FILE.as_bytes()).expect("a sound trace");
    // main, a, b.
    for (condition, state, holds) in [
        ("holds(a, m)", [2, 1, 0], true),
        ("holds(a, m)", [2, 5, 0], false),
        ("at(a, \"src/a.c:3\")", [2, 2, 0], true),
        ("at(a, \"a.c:3\")", [2, 2, 0], true),
        ("at(a, \"a.c:3\")", [2, 3, 0], false),
        ("mark(a, open) == 1", [2, 3, 0], true),
        ("mark(a, open) == 0 && value(a, open) == -1", [2, 4, 0], true),
        ("mark(\"open\") == 1", [2, 2, 0], true),
        ("last_writer(x) == a", [2, 3, 1], true),
        ("last_writer(x) == b", [2, 3, 1], true),
        ("last_writer(x) == a", [4, 5, 1], false),
        ("last_writer(x) == b", [4, 5, 1], true),
        ("last_writer(x) != main", [2, 2, 0], true),
        ("1 + 2 * 3 == 7 && -1 < 0 && !false", [0, 0, 0], true),
        ("ended(b) && done(a) == 0", [2, 0, 1], true),
        ("exists t: forall u: u == t || done(u) > 0", [0, 1, 1], true),
        ("done(a) > 0 && exists t: t == b", [0, 0, 0], false),
    ] {
        let predicate = Predicate::parse(condition, &trace).expect("it makes sense");
        assert_eq!(predicate.holds(&state), holds, "{condition} at {state:?}");
    }
}

#[test]
fn mistakes_are_pointed_at() {
    let trace = trace::text::read(FILE.as_bytes()).expect("a sound trace");
    for (text, at, message) in [
        ("holds(a, m) &&", "", "expected a condition or a value, found the end"),
        ("holds(c, m)", "c", "there is no thread `c`"),
        ("holds(a, n)", "n", "there is no lock `n`"),
        ("mark(a, shut) > 0", "shut", "there is no mark `shut`"),
        ("last_writer(z) == a", "z", "there is no variable `z`"),
        ("at(a, \"b.c:9\")", "\"b.c:9\"", "no event is at `b.c:9`"),
        ("mark(a, open)", "mark(a, open)", "expected a condition, but this is a number"),
        ("1 < 2 < 3", "<", "comparisons cannot be chained"),
        ("a < b", "a < b", "threads have no order"),
        ("exists a: exists a: a == a", "a", "`a` is bound already"),
        ("done(a) == 99999999999999999999", "99999999999999999999", "this number is too large"),
        ("done(a) = 1", "=", "`=` means nothing here"),
        ("at(a, \"b", "\"b", "this text is never closed"),
        ("(done(a) == 1", "", "expected `)`, found the end"),
    ] {
        let error = Predicate::parse(text, &trace).map(|_| ()).expect_err(text);
        assert_eq!((&text[error.span.clone()], error.message.as_str()), (at, message), "{text}");
    }
    let deep = "(".repeat(10_000);
    let error = Predicate::parse(&deep, &trace).map(|_| ()).expect_err("too deep");
    assert_eq!(error.message, "this is nested too deeply");
    assert!(Predicate::parse(&"!".repeat(10_000), &trace).is_err());
    // What is long without being nested overflowed the stack just as well.
    let names: Vec<String> = (0..100_000).map(|number| format!("t{number}")).collect();
    for long in [
        format!("{} > 0", vec!["1"; 100_000].join("+")),
        format!("{} > 0", vec!["1"; 100_000].join("*")),
        format!("({}", "(1 < 2) == ".repeat(100_000)),
        format!("exists {}: true", names.join(",")),
    ] {
        assert!(Predicate::parse(&long, &trace).is_err(), "{}", &long[..40]);
    }
}

/// Parts that are joined by `&&` or `||` may be as many as a program writes.
#[test]
fn many_parts_are_joined() {
    let trace = trace::text::read("a|w(x)|1\na|w(x)|2\nb|w(x)|3\n".as_bytes()).expect("it can have happened");
    for (sign, holds) in [("&&", [false, false, false, true]), ("||", [false, true, true, true])] {
        let parts: Vec<&str> =
            (0..30_000).map(|i| if i % 2 == 0 { "done(a) == 2" } else { "ended(b)" }).collect();
        let predicate =
            Predicate::parse(&parts.join(&format!(" {sign} ")), &trace).expect("it is a condition");
        let found = [[0, 0], [0, 1], [2, 0], [2, 1]].map(|state| predicate.holds(&state));
        assert_eq!(found, holds, "{sign}");
        // It goes through every step that a search for states takes.
        let loset = Loset::of(&trace);
        let answer = possibly(&trace, &loset, &predicate, StateLimits::default(), |_| ());
        assert!(answer.is_ok(), "{sign}");
    }
}

/// Thirty quantifiers over four threads are 4^30 combinations: the budget ends that, not the age of the universe.
#[test]
fn nested_quantifiers_keep_to_the_budget() {
    let text = "A|w(x)|1\nB|w(x)|2\nC|w(x)|3\nD|w(x)|4\n";
    let trace = trace::text::read(text.as_bytes()).expect("the run can have happened");
    let names: Vec<String> = (0..30).map(|number| format!("t{number}")).collect();
    let sum: Vec<String> = names.iter().map(|name| format!("done({name})")).collect();
    // Neither rising nor falling, and true nowhere.
    let condition = format!("exists {}: {} == 0 - 1", names.join(", "), sum.join(" + "));
    let predicate = Predicate::parse(&condition, &trace).expect("it makes sense");
    let limits = StateLimits { states: 10, steps: 10, ..StateLimits::default() };
    let found = possibly(&trace, &Loset::of(&trace), &predicate, limits, |_| {});
    assert!(matches!(found, Err(Exhausted::Condition(_))), "{found:?}");
    let certain = definitely(&trace, &Loset::of(&trace), &predicate, limits, |_| {});
    assert!(matches!(certain, Err(Exhausted::Condition(_))), "{certain:?}");
}
