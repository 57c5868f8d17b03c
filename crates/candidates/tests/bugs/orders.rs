//! Orders that must not be are found where the oracle finds them.

use std::collections::BTreeSet;

use candidates::orders::{Counts, LIMITS, Rule, RuleError, search_for};
use candidates::races::lifetimes;
use candidates::{Object, PatternLimits};
use check::{Model, Question, Source};
use decide::{Index, must_order, race_order};
use trace::{EventId, LocationId, Metadata, Op, Trace, TraceBuilder};

use crate::support::{Reported, assert_schedules, ids, on_traces, read, settings, shown, tiny};

fn run(trace: &Trace, model: Model, rules: &[Rule], limits: PatternLimits) -> (Reported, Counts) {
    let index = Index::new(trace);
    let mut reported = Reported::default();
    let counts = search_for(&index, settings(model), rules, limits, &mut |report| reported.take(report));
    assert_eq!(counts.tally.feasible, reported.found.len() as u64);
    assert_schedules(&index, model, &reported.found);
    (reported, counts)
}

#[test]
fn stated_orders_are_those_of_the_oracle() {
    let mut compared = 0;
    for model in [Model::Sync, Model::ReadsFrom, Model::Branch] {
        on_traces(700, tiny, |seed, trace| {
            let events = || (0..trace.len()).map(EventId::new);
            let locations = trace.symbols().locations.len();
            if locations == 0 {
                return;
            }
            let at = |index: u64| LocationId::new((index % locations as u64) as usize);
            let (first, second) = (at(seed), at(seed / 7));
            let here = |location| events().filter(|&e| trace.location(e) == location).collect();
            let rule = Rule { name: String::new(), first: here(first), second: here(second) };
            let pairs = events().filter(|&a| trace.location(a) == first).flat_map(|a| {
                let others = events().filter(|&b| b != a && trace.location(b) == second);
                others.map(move |b| Question::Order(vec![a, b])).collect::<Vec<_>>()
            });
            let questions: Vec<Question> = pairs.collect();
            let answers = oracle::answer_all(trace, model, &questions);
            let feasible = questions.iter().zip(answers).filter(|(_, feasible)| *feasible);
            let expected: BTreeSet<Vec<Option<EventId>>> =
                feasible.map(|(question, _)| question.named().into_iter().map(Some).collect()).collect();
            let (reported, counts) = run(trace, model, &[rule], PatternLimits::ALL);
            let is_stated = |events: &Vec<Option<EventId>>| {
                let sites = events.iter().flatten().map(|&event| trace.location(event));
                sites.eq([first, second])
            };
            let found: BTreeSet<_> = reported.events().into_iter().filter(is_stated).collect();
            assert_eq!(found, expected, "seed {seed} {model:?}\n{}", shown(trace));
            assert_eq!(counts.tally.unknown, 0);
            compared += expected.len();
        });
    }
    assert!(compared > 1_000, "only {compared}");
}

/// A tiny trace whose first two variables are the fields of a block that is allocated first and freed by one of the
/// threads halfway.
fn with_a_block(seed: u64) -> Trace {
    with_block_in(tiny(seed))
}

fn with_block_in(tiny: Trace) -> Trace {
    let names = |text: String| {
        let fields = tiny.symbols().variables.len().min(2);
        (0..fields).fold(text, |text, index| {
            text.replace(&format!("({})", tiny.symbols().variables.get(index)), &format!("(block.{index})"))
        })
    };
    let mut lines: Vec<String> = shown(&tiny).lines().map(str::to_owned).map(names).collect();
    let event = lines.iter().position(|line| line.contains('|')).unwrap_or(0);
    let thread_of = |line: &str| line.split('|').next().unwrap_or_default().to_owned();
    let middle = event + (lines.len() - event) / 2;
    if event < lines.len() {
        let (first, freeing) = (thread_of(&lines[event]), thread_of(&lines[middle]));
        lines.insert(middle + 1, format!("{freeing}|free(block)|free"));
        lines.insert(event, format!("{first}|alloc(block)|alloc"));
    }
    match trace::text::read(lines.join("\n").as_bytes()) {
        Ok(trace) => trace,
        // The allocation came before the thread was there, or the free after its end.
        Err(_) => tiny,
    }
}

/// The same with every memory order.
fn with_a_block_and_orders(seed: u64) -> Trace {
    with_block_in(generate::tiny_with_memory_orders(seed))
}

/// The first accesses of threads to a variable that write it and do not read it.
fn initialising(trace: &Trace, uses: &[EventId], variable: trace::VariableId) -> Vec<EventId> {
    let accesses =
        |event: EventId| trace.op(event).access().is_some_and(|access| access.variable == variable);
    let is_first = |&&event: &&EventId| {
        let mut before = uses.iter().filter(|&&other| other < event && accesses(other));
        accesses(event) && before.all(|&other| trace.thread(other) != trace.thread(event))
    };
    uses.iter().filter(is_first).filter(|&&event| trace.op(event).reads().is_none()).copied().collect()
}

#[test]
fn memory_is_misused_where_the_oracle_says_so() {
    let (mut freed, mut unallocated, mut unwritten) = (0, 0, 0);
    for model in [Model::Sync, Model::ReadsFrom] {
        on_traces(1_500, with_a_block, |seed, trace| {
            let symbols = trace.symbols();
            let at = |place: &str| {
                let mut events = (0..trace.len()).map(EventId::new);
                events.find(|&event| symbols.location(trace.location(event)) == place)
            };
            let (Some(allocate), Some(free)) = (at("alloc"), at("free")) else { return };
            let uses: Vec<EventId> = (0..trace.len())
                .map(EventId::new)
                .filter(|&event| {
                    let variable = trace.op(event).access().map(|access| access.variable);
                    variable.is_some_and(|variable| symbols.variable(variable).starts_with("block."))
                })
                .collect();
            let (mut expected, mut allowed) = (BTreeSet::new(), BTreeSet::new());
            let (mut early, mut demanded) = (BTreeSet::new(), BTreeSet::new());
            for &access in &uses {
                if oracle::decide(trace, &Question::Order(vec![free, access]), model).is_some() {
                    expected.insert(vec![Some(free), Some(access)]);
                    freed += 1;
                }
                if oracle::decide(trace, &Question::Order(vec![access, allocate]), model).is_some() {
                    early.insert(vec![Some(access), Some(allocate)]);
                    unallocated += 1;
                }
                let Some(variable) = trace.op(access).reads() else { continue };
                let initial = Question::Reads(access, Some(Source::Initial));
                if oracle::decide(trace, &initial, model).is_none() {
                    continue;
                }
                let before = |write: &EventId| {
                    oracle::decide(trace, &Question::Order(vec![*write, access]), model).is_some()
                };
                let initialising = initialising(trace, &uses, variable);
                // Which of them can come before is known from orders that must hold, which may be too few.
                allowed.extend(initialising.iter().map(|&write| vec![Some(access), Some(write)]));
                if initialising.iter().any(before) {
                    demanded.insert(access);
                    unwritten += 1;
                }
            }
            let (reported, counts) = run(trace, model, &[], PatternLimits::ALL);
            let of_block = |found: &&candidates::Bug| {
                found.object.name(symbols).starts_with("block") && found.events.len() == 2
            };
            let found: BTreeSet<_> =
                reported.found.iter().filter(of_block).map(|found| found.events.clone()).collect();
            let (of_free, others): (BTreeSet<_>, BTreeSet<_>) =
                found.into_iter().partition(|events| events[0] == Some(free));
            let (of_allocation, of_reads): (BTreeSet<_>, BTreeSet<_>) =
                others.into_iter().partition(|events| events[1] == Some(allocate));
            assert_eq!(of_free, expected, "seed {seed} {model:?}\n{}", shown(trace));
            assert_eq!(of_allocation, early, "seed {seed} {model:?}\n{}", shown(trace));
            assert!(of_reads.is_subset(&allowed), "seed {seed} {model:?}\n{}", shown(trace));
            let reads: BTreeSet<EventId> = of_reads.iter().filter_map(|events| events[0]).collect();
            assert!(demanded.is_subset(&reads), "seed {seed} {model:?}\n{}", shown(trace));
            assert_eq!(counts.tally.unknown, 0);
        });
    }
    let compared = format!("{freed} freed, {unallocated} not allocated, {unwritten} not written");
    assert!(freed > 500 && unallocated > 500 && unwritten > 200, "{compared}");
}

#[test]
fn a_free_that_a_join_keeps_after_the_use() {
    let joined = "T1|alloc(p)
        T1|w(p.x)
        T1|fork(T2)
        T2|r(p.x)
        T1|join(T2)
        T1|free(p)";
    let (reported, counts) = run(&read(joined), Model::ReadsFrom, &[], LIMITS);
    assert!(reported.found.is_empty());
    // Both uses come before the free, the read comes after the write, and the use in the other thread after the allocation.
    assert_eq!((counts.tally.asked, counts.ordered), (0, 4));
    let unjoined = joined.replace("T1|join(T2)\n", "T1|w(other)\n");
    let (reported, _) = run(&read(&unjoined), Model::ReadsFrom, &[], LIMITS);
    assert_eq!(reported.events(), [ids(&[5, 3])]);
}

#[test]
fn a_second_free_is_a_use_if_another_thread_frees() {
    let unordered = "T1|alloc(p)\nT1|fork(T2)\nT1|free(p)\nT2|free(p)";
    let (reported, _) = run(&read(unordered), Model::ReadsFrom, &[], LIMITS);
    assert_eq!(reported.events(), [ids(&[2, 3])]);
    let joined = "T1|alloc(p)\nT1|fork(T2)\nT2|free(p)\nT1|join(T2)\nT1|free(p)";
    let (reported, _) = run(&read(joined), Model::ReadsFrom, &[], LIMITS);
    assert_eq!(reported.events(), [ids(&[2, 4])]);
    // The C library notices what one thread does twice, and a block that is allocated again is another.
    for correct in [
        "T1|alloc(p)\nT1|free(p)\nT1|free(p)",
        "T1|alloc(p)\nT1|fork(T2)\nT1|free(p)\nT2|alloc(p)\nT2|free(p)",
    ] {
        let (reported, _) = run(&read(correct), Model::ReadsFrom, &[], LIMITS);
        assert_eq!(reported.events(), Vec::<Vec<_>>::new(), "{correct}");
    }
}

/// The main thread reallocates a block, and another thread uses it.
fn reallocated(has_old_block: bool, is_waited_for: bool) -> Trace {
    let mut builder = TraceBuilder::new();
    let [main, user] = ["main", "T1"].map(|name| builder.thread(name).unwrap());
    let [malloc, realloc, used, created] =
        ["a.c:1", "a.c:2", "a.c:3", "a.c:4"].map(|place| builder.location(place).unwrap());
    let [old, new] = ["old", "new"].map(|name| builder.block(name).unwrap());
    let field = builder.variable("new->field").unwrap();
    if has_old_block {
        builder.push(main, Op::Allocate(old), malloc);
    }
    if !is_waited_for {
        builder.push(main, Op::Fork(user), created);
    }
    if has_old_block {
        builder.push(main, Op::Free(old), realloc);
    }
    builder.push(main, Op::Allocate(new), realloc);
    if is_waited_for {
        builder.push(main, Op::Fork(user), created);
    }
    builder.push(user, Op::Write(field), used);
    builder.set_metadata(Metadata { reallocations: vec!["a.c:2".to_owned()], ..Metadata::default() });
    builder.finish().unwrap()
}

/// That the use can come first shows that nothing orders the two; the bug is that it can come after `realloc`.
#[test]
fn a_use_that_nothing_keeps_before_realloc_is_of_the_block_that_it_frees() {
    for (has_old_block, events, name) in [(false, [1, 2], "new"), (true, [3, 4], "old")] {
        for limits in [LIMITS, PatternLimits::ALL] {
            let (reported, counts) = run(&reallocated(has_old_block, false), Model::ReadsFrom, &[], limits);
            assert_eq!(reported.events(), [ids(&events)]);
            assert_eq!(reported.found[0].object, Object::Named(name.to_owned()));
            assert_eq!(counts.tally.unknown, 0);
            let (reported, counts) = run(&reallocated(has_old_block, true), Model::ReadsFrom, &[], limits);
            assert_eq!((reported.events(), counts.ordered), (Vec::new(), 1));
        }
    }
}

#[test]
fn a_new_life_of_a_block_is_another_matter() {
    let trace = read(
        "T1|alloc(p)
         T1|w(p)
         T1|free(p)
         T1|alloc(p)
         T1|fork(T2)
         T1|w(p)
         T2|r(p)
         T1|w(pq)
         T1|w(p[1])",
    );
    let (reported, _) = run(&trace, Model::ReadsFrom, &[], LIMITS);
    assert_eq!(reported.events(), [ids(&[6, 5])], "the read may see what the first life left");
    assert_eq!(reported.found[0].question, Question::Reads(EventId(6), Some(Source::Write(EventId(1)))));
}

#[test]
fn a_sum_in_fresh_memory_is_no_matter_of_order() {
    let sum = "T1|alloc(p)
        T1|fork(T2)
        T1|acq(l)
        T1|r(p.sum)
        T1|w(p.sum)
        T1|rel(l)
        T2|acq(l)
        T2|r(p.sum)
        T2|w(p.sum)
        T2|rel(l)";
    let (reported, _) = run(&read(sum), Model::ReadsFrom, &[], LIMITS);
    assert!(
        reported.found.is_empty(),
        "whoever comes first reads what nobody wrote: {:?}",
        reported.events()
    );
    let (reported, _) =
        run(&read(&sum.replacen("T1|r(p.sum)", "T1|r(other)", 1)), Model::ReadsFrom, &[], LIMITS);
    assert_eq!(reported.events(), [ids(&[7, 4])], "the first thread initialises it, and may come too late");
}

#[test]
fn what_is_written_only_after_the_read_cannot_come_before_it() {
    let trace = read(
        "T1|alloc(p)
         T1|r(p.x)
         T1|fork(T2)
         T2|w(p.x)",
    );
    let (reported, counts) = run(&trace, Model::ReadsFrom, &[], LIMITS);
    assert!(reported.found.is_empty(), "{:?}", reported.events());
    // The write and the allocation, which the fork orders; not the read and the write.
    assert_eq!((counts.pairs, counts.ordered), (1, 1));
}

#[test]
fn a_use_that_may_come_before_the_allocation() {
    // The block has moved in place, and the other thread uses the address that it had before.
    let trace = read(
        "T1|fork(T2)
         T1|alloc(p)
         T1|w(p.x)
         T2|w(p.x)",
    );
    let (reported, _) = run(&trace, Model::ReadsFrom, &[], LIMITS);
    assert_eq!(reported.events(), [ids(&[3, 1])]);
    assert_eq!(reported.found[0].question, Question::Order(vec![EventId(3), EventId(1)]));
}

#[test]
fn rules_are_read_and_faults_told() {
    let trace = read("T1|w(x)|init.c:3\nT2|r(x)|use.c:7\nT2|r(x)|use.c:7");
    let rule = Rule::parse(&trace, "use.c:7 < init.c:3").expect("a rule");
    let (reported, counts) = run(&trace, Model::ReadsFrom, &[rule], LIMITS);
    assert_eq!(reported.events(), [ids(&[1, 0])]);
    assert_eq!((counts.tally.candidates, counts.tally.asked), (1, 1));
    assert_eq!(reported.found[0].object, Object::Named("use.c:7 < init.c:3".to_owned()));
    let named = |text: &str| Rule::parse(&trace, text).map(|rule| (rule.first, rule.second));
    let events = |ids: &[u32]| ids.iter().map(|&id| EventId(id)).collect::<Vec<_>>();
    assert_eq!(named("2<0"), Ok((events(&[2]), events(&[0]))));
    assert_eq!(named(" #2 < #0 "), named("2 < 0"));
    assert_eq!(named("use.c:7 < 0"), Ok((events(&[1, 2]), events(&[0]))));
    for wrong in ["2 > 0", "2", "0 < 1 < 2", "< 1", ""] {
        assert_eq!(named(wrong), Err(RuleError::NoOrder(wrong.to_owned())));
    }
    assert_eq!(named("2 < 9"), Err(RuleError::NoSuchEvent { event: "9".to_owned(), events: 3 }));
    assert_eq!(named("2 < x.c:1"), Err(RuleError::NoSuchPlace("x.c:1".to_owned())));
    assert_eq!(named("2 < 2"), Err(RuleError::SameEvent("2 < 2".to_owned())));
}

#[test]
fn the_end_of_a_path_names_a_place() {
    let trace = read("T1|w(x)|src/init.c:3\nT2|r(x)|src/a/init.c:3\nT2|r(x)|re/xinit.c:3");
    let rule = Rule::parse(&trace, "init.c:3 < 2").expect("a rule");
    assert_eq!(rule.first, [EventId(0), EventId(1)]);
}

/// What only memory orders leave unordered races with the allocation and the free of its memory, where the oracle says so.
#[test]
fn memory_orders_let_uses_race_with_the_free_where_the_oracle_says_so() {
    let (mut raced, mut ordered) = (0, 0);
    on_traces(1_500, with_a_block_and_orders, |seed, trace| {
        let index = Index::new(trace);
        let mut reported = Reported::default();
        let model = Model::ReadsFrom;
        lifetimes::search(&index, settings(model), PatternLimits::ALL, &mut |report| reported.take(report));
        assert_schedules(&index, model, &reported.found);
        let found: BTreeSet<_> = reported.events().into_iter().collect();
        let events = || (0..trace.len()).map(EventId::new);
        let is_end = |event: &EventId| matches!(trace.op(*event), Op::Allocate(_) | Op::Free(_));
        for end in events().filter(is_end) {
            for access in events().filter(|event| trace.op(*event).access().is_some()) {
                let [first, second] = [end.min(access), end.max(access)];
                let race = Question::Race(first, second);
                if race.validate(trace).is_err() {
                    continue;
                }
                let is_found = found.contains(&vec![Some(first), Some(second)]);
                let races = oracle::decide(trace, &race, model).is_some();
                assert!(races || !is_found, "seed {seed} {race:?}\n{}", shown(trace));
                // What comes in one order with every value kept is looked at, unless synchronisation orders it, that of the use itself
                // included: the rest is an order violation.
                let is_kept = must_order(&index, model).precedes(&index, first, second);
                let is_synchronised = race_order(&index, model).precedes(&index, first, second);
                assert_eq!(
                    is_found,
                    races && is_kept && !is_synchronised,
                    "seed {seed} {race:?}\n{}",
                    shown(trace)
                );
                raced += u64::from(is_found);
                ordered += u64::from(!races && is_kept);
            }
        }
    });
    assert!(raced > 50 && ordered > 500, "{raced} raced, {ordered} ordered");
}

#[test]
fn a_free_after_a_relaxed_flag_races_with_the_use() {
    let published = |store: &str, load: &str| {
        read(&format!(
            "T1|alloc(p)
            T1|fork(T2)
            T2|w(p.x)
            T2|aw.{store}(flag)
            T1|ar.{load}(flag)
            T1|free(p)"
        ))
    };
    let found = |trace: &Trace| {
        let mut reported = Reported::default();
        let index = Index::new(trace);
        lifetimes::search(&index, settings(Model::ReadsFrom), LIMITS, &mut |report| reported.take(report));
        reported.events()
    };
    assert_eq!(found(&published("relaxed", "acquire")), [ids(&[2, 5])]);
    assert_eq!(found(&published("release", "relaxed")), [ids(&[2, 5])]);
    assert!(found(&published("release", "acquire")).is_empty());
}
