//! Deadlocks are those of the oracle, and what merely looks like one is not reported.

use std::collections::BTreeSet;

use candidates::deadlocks::{Counts, DeadlockLimits, search, search_within};
use candidates::{Object, Resource};
use check::{Model, Question};
use decide::Index;
use trace::{EventId, LocationId, Op, Trace};

use crate::support::{Reported, assert_schedules, ids, on_traces, read, settings, shown, tiny};

fn run(trace: &Trace, model: Model, limits: DeadlockLimits) -> (Reported, Counts) {
    let index = Index::new(trace);
    let mut reported = Reported::default();
    let counts = search_within(&index, settings(model), limits, &mut |report| reported.take(report));
    assert_eq!(counts.tally.feasible, reported.found.len() as u64);
    assert_schedules(&index, model, &reported.found);
    (reported, counts)
}

/// Whether all events of a cycle can block for good: granted requests do not, as their acquires stand for them, nor acquires
/// without a request in a trace that has some.
pub(super) fn can_block(trace: &Trace) -> impl Fn(&Question) -> bool {
    let requested: BTreeSet<EventId> = trace
        .events()
        .filter(|(.., op)| matches!(op, Op::Request(_) | Op::RequestShared(_)))
        .map(|(request, ..)| trace.link(request).event().unwrap_or(request))
        .collect();
    let blocks = move |event: EventId| match trace.op(event) {
        Op::Request(_) | Op::RequestShared(_) => trace.link(event).event().is_none(),
        Op::Acquire(_) | Op::AcquireShared(_) => requested.is_empty() || requested.contains(&event),
        _ => true,
    };
    move |question| question.named().into_iter().all(&blocks)
}

/// All cycles of two, three and four threads that the oracle calls feasible.
fn feasible(trace: &Trace, model: Model) -> BTreeSet<Vec<Option<EventId>>> {
    let mut questions: Vec<Question> = oracle::all_questions(trace)
        .into_iter()
        .filter(|question| matches!(question, Question::Deadlock(_)))
        .collect();
    let mut fourths = Vec::new();
    for question in questions.iter().filter(|question| question.named().len() == 3) {
        let three = question.named();
        for event in (three[0].index()..trace.len()).map(EventId::new) {
            let four = Question::Deadlock(three.iter().copied().chain([event]).collect());
            fourths.extend(four.validate(trace).is_ok().then_some(four));
        }
    }
    questions.extend(fourths);
    questions.retain(can_block(trace));
    let answers = oracle::answer_all(trace, model, &questions);
    let feasible = questions.iter().zip(answers).filter(|(_, feasible)| *feasible);
    feasible.map(|(question, _)| question.named().into_iter().map(Some).collect()).collect()
}

/// Waits whose signal the oracle lets come before the event that begins them, with no signal to come that could be had.
fn lost(trace: &Trace, model: Model) -> BTreeSet<Vec<Option<EventId>>> {
    let can_be_lost = |&(wait, thread, op): &(EventId, _, Op)| {
        let (Op::Wait(condition), Some(signal)) = (op, trace.link(wait).event()) else { return false };
        let wakes_someone = |signal| trace.events().any(|(other, ..)| is_wait_for(trace, other, signal));
        let can_be_had = |(event, _, op): (EventId, _, Op)| match op {
            Op::Signal(other) => event > signal && other == condition && !wakes_someone(event),
            Op::Broadcast(other) => event > signal && other == condition,
            _ => false,
        };
        if trace.events().any(can_be_had) {
            return false;
        }
        let before = trace
            .events()
            .take(wait.index())
            .filter(|&(_, other, op)| other == thread && op.reads().is_none());
        let Some((begins, ..)) = before.last() else { return false };
        begins < signal && oracle::decide(trace, &Question::Order(vec![signal, begins]), model).is_some()
    };
    trace.events().filter(can_be_lost).map(|(wait, ..)| vec![Some(wait)]).collect()
}

fn is_wait_for(trace: &Trace, event: EventId, signal: EventId) -> bool {
    matches!(trace.op(event), Op::Wait(_)) && trace.link(event).event() == Some(signal)
}

/// The places of a cycle, whichever of them it starts from.
fn pattern(trace: &Trace, events: &[Option<EventId>]) -> Vec<LocationId> {
    let sites: Vec<LocationId> = events.iter().flatten().map(|&event| trace.location(event)).collect();
    (0..sites.len()).map(|by| [&sites[by..], &sites[..by]].concat()).min().unwrap_or_default()
}

/// A tiny trace in which threads hold one thing and want another.
fn knotted(seed: u64) -> Trace {
    let tiny = generate::TraceSettings::tiny(seed);
    let mut weights = generate::Weights { write: 1, acquire: 10, release: 7, ..Default::default() };
    match seed % 6 {
        0 => weights.acquire_shared = 6,
        1 => weights.barrier = 3,
        2 => (weights.post, weights.take) = (3, 3),
        3 => (weights.wait, weights.signal) = (3, 3),
        4 => (weights.join, weights.end) = (2, 1),
        _ => weights.read = 2,
    }
    let threads = 2 + (seed / 6 % 3) as u32;
    let stuck = generate::AtStandstill::GiveUp;
    let settings = generate::TraceSettings {
        events: 18,
        forked: 0.2,
        threads,
        locks: threads,
        nesting: 2,
        // With requests, acquires without one cannot block.
        requests: if seed.is_multiple_of(5) { 0.7 } else { 0.0 },
        weights,
        switch: 0.3,
        uninterrupted: 1.0,
        skew: 0.0,
        stuck,
        ..tiny
    };
    generate::generate(&settings).expect("the settings are valid")
}

/// How much there was to compare.
#[derive(Default)]
pub(crate) struct Compared {
    cycles: usize,
    long: usize,
    mixed: usize,
    lost: usize,
}

pub(crate) fn compare(seed: u64, trace: &Trace, model: Model, compared: &mut Compared) {
    let expected = feasible(trace, model);
    let (reported, counts) = run(trace, model, DeadlockLimits::ALL);
    let (alone, found): (BTreeSet<_>, BTreeSet<_>) =
        reported.events().into_iter().partition(|events| events.len() == 1);
    let short: BTreeSet<_> = found.iter().filter(|events| events.len() < 5).cloned().collect();
    let context = || format!("seed {seed} {model:?}\n{}", shown(trace));
    assert_eq!(short, expected, "{}", context());
    assert_eq!(found.len() + alone.len(), reported.found.len(), "each once: {}", context());
    assert_eq!(alone, lost(trace, model), "{}", context());
    assert_eq!((counts.tally.unknown, counts.cut_short), (0, false), "{}", context());

    let generous = DeadlockLimits { each: candidates::PatternLimits::GENEROUS, ..DeadlockLimits::ALL };
    let (by_pattern, _) = run(trace, model, generous);
    let cycles = by_pattern.events().into_iter().filter(|events| events.len() > 1);
    let patterns: Vec<_> = cycles.map(|events| pattern(trace, &events)).collect();
    let expected: BTreeSet<_> = found.iter().map(|events| pattern(trace, events)).collect();
    assert_eq!(patterns.len(), expected.len(), "one each: {}", context());
    assert_eq!(patterns.into_iter().collect::<BTreeSet<_>>(), expected, "{}", context());

    let mixed = |event: &EventId| {
        matches!(trace.op(*event), Op::Join(_) | Op::Wait(_) | Op::BarrierExit(_) | Op::Take(_))
    };
    compared.cycles += found.len();
    compared.long += found.iter().filter(|events| events.len() > 2).count();
    compared.mixed += found.iter().filter(|events| events.iter().flatten().any(mixed)).count();
    compared.lost += alone.len();
}

#[test]
fn every_cycle_of_the_oracle_and_no_other() {
    let mut compared = Compared::default();
    for model in [Model::Sync, Model::ReadsFrom, Model::Branch] {
        on_traces(1_500, tiny, |seed, trace| compare(seed, trace, model, &mut compared));
        on_traces(4_000, knotted, |seed, trace| compare(seed, trace, model, &mut compared));
    }
    let Compared { cycles, long, mixed, lost } = compared;
    assert!(cycles > 1_000 && long > 20 && mixed > 100, "{cycles} cycles, {long} long, {mixed} mixed");
    assert!(lost > 20, "{lost} lost wake-ups");
}

fn found(text: &str) -> Vec<Vec<Option<EventId>>> {
    let trace = read(text);
    let index = Index::new(&trace);
    let mut reported = Reported::default();
    let counts = search(&index, settings(Model::ReadsFrom), &mut |report| reported.take(report));
    assert_eq!(counts.tally.unknown, 0);
    assert_schedules(&index, Model::ReadsFrom, &reported.found);
    reported.events()
}

#[test]
fn two_locks_in_two_orders() {
    let trace = read(
        "T1|acq(l)
         T1|acq(m)
         T1|rel(m)
         T1|rel(l)
         T2|acq(m)
         T2|acq(l)
         T2|rel(l)
         T2|rel(m)",
    );
    let (reported, _) = run(&trace, Model::ReadsFrom, DeadlockLimits::default());
    assert_eq!(reported.events(), [ids(&[1, 5])]);
    let Object::Cycle(waited) = &reported.found[0].object else { panic!("a cycle") };
    let names: Vec<&str> = waited
        .iter()
        .map(|waited| match waited {
            Resource::Lock(lock) => trace.symbols().lock(*lock),
            Resource::Named(name) => name,
        })
        .collect();
    assert_eq!(names, ["m", "l"]);
}

#[test]
fn a_gate_lock_keeps_an_inversion_apart() {
    let gated = found(
        "T1|acq(g)
         T1|acq(l)
         T1|acq(m)
         T1|rel(m)
         T1|rel(l)
         T1|rel(g)
         T2|acq(g)
         T2|acq(m)
         T2|acq(l)
         T2|rel(l)
         T2|rel(m)
         T2|rel(g)",
    );
    assert!(gated.is_empty(), "{gated:?}");
}

#[test]
fn readers_of_a_gate_are_not_kept_apart() {
    let shared = found(
        "T1|racq(g)
         T1|acq(l)
         T1|acq(m)
         T1|rel(m)
         T1|rel(l)
         T1|rrel(g)
         T2|racq(g)
         T2|acq(m)
         T2|acq(l)
         T2|rel(l)
         T2|rel(m)
         T2|rrel(g)",
    );
    assert_eq!(shared, [ids(&[2, 8])]);
}

#[test]
fn readers_block_writers_only() {
    let readers = found(
        "T1|racq(l)
         T1|racq(m)
         T1|rrel(m)
         T1|rrel(l)
         T2|racq(m)
         T2|racq(l)
         T2|rrel(l)
         T2|rrel(m)",
    );
    assert!(readers.is_empty());
    let writers = found(
        "T1|racq(l)
         T1|acq(m)
         T1|rel(m)
         T1|rrel(l)
         T2|racq(m)
         T2|acq(l)
         T2|rel(l)
         T2|rrel(m)",
    );
    assert_eq!(writers, [ids(&[1, 5])]);
}

#[test]
fn fork_and_join_order_an_inversion() {
    let forked = found(
        "T1|acq(l)
         T1|acq(m)
         T1|rel(m)
         T1|rel(l)
         T1|fork(T2)
         T2|acq(m)
         T2|acq(l)
         T2|rel(l)
         T2|rel(m)",
    );
    assert!(forked.is_empty());
    let joined = found(
        "T1|fork(T2)
         T2|acq(m)
         T2|acq(l)
         T2|rel(l)
         T2|rel(m)
         T1|join(T2)
         T1|acq(l)
         T1|acq(m)
         T1|rel(m)
         T1|rel(l)",
    );
    assert!(joined.is_empty());
}

#[test]
fn one_thread_and_released_locks_make_no_cycle() {
    let alone = found(
        "T1|acq(l)
         T1|acq(m)
         T1|rel(m)
         T1|rel(l)
         T1|acq(m)
         T1|acq(l)
         T1|rel(l)
         T1|rel(m)
         T2|acq(l)
         T2|rel(l)
         T2|acq(m)
         T2|rel(m)",
    );
    assert!(alone.is_empty());
}

#[test]
fn three_locks_in_a_ring() {
    let ring = found(
        "T1|acq(k)
         T1|acq(l)
         T1|rel(l)
         T1|rel(k)
         T2|acq(l)
         T2|acq(m)
         T2|rel(m)
         T2|rel(l)
         T3|acq(m)
         T3|acq(k)
         T3|rel(k)
         T3|rel(m)",
    );
    assert_eq!(ring, [ids(&[1, 5, 9])]);
}

#[test]
fn a_join_while_holding_what_the_child_needs() {
    let joining = found(
        "T1|fork(T2)
         T2|acq(l)
         T2|rel(l)
         T1|acq(l)
         T1|join(T2)
         T1|rel(l)",
    );
    assert_eq!(joining, [ids(&[1, 4])]);
}

#[test]
fn a_wait_whose_signaller_needs_a_held_lock() {
    let waiting = found(
        "T1|acq(l)
         T2|acq(k)
         T2|rel(k)
         T1|acq(k)
         T1|rel(l)
         T2|signal(c)
         T1|wait(c)
         T1|acq(l)
         T1|rel(l)
         T1|rel(k)",
    );
    assert!(waiting.contains(&ids(&[1, 6])), "{waiting:?}");
}

#[test]
fn a_barrier_entered_with_a_lock_held() {
    let barrier = found(
        "T2|acq(l)
         T2|rel(l)
         T1|acq(l)
         T1|benter(b)
         T2|benter(b)
         T1|bexit(b)
         T2|bexit(b)
         T1|rel(l)",
    );
    assert_eq!(barrier, [ids(&[0, 5])]);
}

#[test]
fn a_permit_whose_owner_needs_a_held_lock() {
    let semaphore = found(
        "T2|acq(l)
         T2|post(s)
         T2|rel(l)
         T1|acq(l)
         T1|take(s)
         T1|rel(l)",
    );
    assert_eq!(semaphore, [ids(&[0, 4])]);
}

#[test]
fn a_permit_that_another_thread_will_give_back() {
    let one_permit = "T1|take(s)
         T1|post(s)
         T2|take(s)
         T2|post(s)
         T3|take(s)
         T3|post(s)";
    assert!(found(one_permit).is_empty());
}

#[test]
fn an_attempt_cannot_block() {
    let opposite = |first: &str, second: &str| {
        found(&format!(
            "T1|req(l)\nT1|acq(l)\n{first}\nT1|acq(m)\nT1|rel(m)\nT1|rel(l)
             T2|req(m)\nT2|acq(m)\n{second}\nT2|acq(l)\nT2|rel(l)\nT2|rel(m)"
        ))
    };
    assert_eq!(opposite("T1|req(m)", "T2|req(l)").len(), 1);
    assert!(opposite("T1|req(m)", "T2|r(x)").is_empty());
}

#[test]
fn the_requests_a_run_ended_in() {
    let ended = found(
        "T1|acq(l)
         T2|acq(m)
         T1|req(m)
         T2|req(l)",
    );
    assert_eq!(ended, [ids(&[2, 3])]);
}

#[test]
fn a_signal_that_nobody_waits_for_yet() {
    let unguarded = "T1|acq(l)
         T1|r(ready)
         T1|rel(l)
         T2|w(ready)
         T2|signal(c)
         T1|wait(c)
         T1|acq(l)
         T1|rel(l)";
    assert_eq!(found(unguarded), [ids(&[5])]);
    let guarded = "T1|acq(l)
         T1|r(ready)
         T1|rel(l)
         T2|acq(l)
         T2|w(ready)
         T2|rel(l)
         T2|signal(c)
         T1|wait(c)
         T1|acq(l)
         T1|rel(l)";
    assert!(found(guarded).is_empty());
}

#[test]
fn limits_are_reported() {
    let mut text = String::new();
    for _ in 0..5 {
        text.push_str("T1|acq(l)|a\nT1|acq(m)|b\nT1|rel(m)|c\nT1|rel(l)|d\nT2|acq(m)|e\nT2|acq(l)|f\nT2|rel(l)|g\nT2|rel(m)|h\n");
    }
    let trace = read(&text);
    let each = candidates::PatternLimits { instances: 0, ..DeadlockLimits::default().each };
    let none = DeadlockLimits { each, run_ups: 0, ..DeadlockLimits::default() };
    let (reported, counts) = run(&trace, Model::ReadsFrom, none);
    assert_eq!((reported.unknown.len(), counts.tally.unknown, counts.tally.asked), (1, 1, 0));
    let (_, counts) = run(&trace, Model::ReadsFrom, DeadlockLimits { steps: 0, ..DeadlockLimits::default() });
    assert!(counts.cut_short && counts.tally.unknown > 0);
    let (_, counts) =
        run(&trace, Model::ReadsFrom, DeadlockLimits { patterns: 0, ..DeadlockLimits::default() });
    assert!(counts.cut_short && counts.tally.unknown > 0);
    let (reported, counts) = run(&trace, Model::ReadsFrom, DeadlockLimits::default());
    assert_eq!(
        (reported.found.len(), counts.tally.asked, counts.tally.candidates),
        (1, 0, 1),
        "in the order of the trace"
    );
    let (reported, counts) =
        run(&trace, Model::ReadsFrom, DeadlockLimits { run_ups: 0, ..DeadlockLimits::default() });
    assert_eq!(
        (reported.found.len(), counts.tally.asked, counts.tally.candidates),
        (1, 1, 1),
        "by the engine"
    );
}

/// Three threads pass two hundred semaphores on at thirty places: few places, and more than a billion cycles of groups of events. What is
/// settled is not asked again, but each had to be looked at.
#[test]
fn cycles_of_few_places_and_many_semaphores_are_cut_short() {
    let mut text = String::new();
    for round in 0..30 {
        for semaphore in 0..200 {
            text += &format!("T{0}|take(s{semaphore})|{round}\n", round % 3);
            text += &format!("T{0}|post(s{semaphore})|{round}\n", (round + 1) % 3);
        }
    }
    let limits = DeadlockLimits { steps: 20_000, run_ups: 20_000, ..DeadlockLimits::default() };
    let started = std::time::Instant::now();
    let (_, counts) = run(&read(&text), Model::ReadsFrom, limits);
    assert!(counts.cut_short, "{counts:?}");
    assert!(started.elapsed() < std::time::Duration::from_secs(60), "{:?}", started.elapsed());
}
