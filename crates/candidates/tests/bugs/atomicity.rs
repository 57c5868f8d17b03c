//! Atomicity violations are those of the oracle.

use std::collections::BTreeSet;

use candidates::PatternLimits;
use candidates::atomicity::{Calls, Counts, Exact, Intent, LIMITS, Recorded, search_within};
use check::Model;
use decide::Index;
use trace::native::{self, Note, StackId, Table, Writer};
use trace::{LocationId, Op, Trace};

use crate::support::{Reported, assert_schedules, ids, on_traces, read, settings, shown, tiny};
use crate::violations::{Events, feasible, with_regions, with_regions_of_many};

pub(crate) fn run(trace: &Trace, model: Model, limits: PatternLimits) -> (Reported, Counts) {
    run_within(trace, model, &Intent::Stated, limits)
}

fn run_within(trace: &Trace, model: Model, intent: &Intent, limits: PatternLimits) -> (Reported, Counts) {
    let index = Index::new(trace);
    let mut reported = Reported::default();
    let counts =
        search_within(&index, settings(model), &Exact, intent, limits, &mut |report| reported.take(report));
    assert_eq!(counts.tally.feasible, reported.found.len() as u64);
    assert_schedules(&index, model, &reported.found);
    (reported, counts)
}

/// Whether forks, joins, signals and barriers alone keep the three in this order: whatever the others do, the events of their
/// threads up to the later one cannot come without the earlier.
fn inherent(trace: &Trace, events: &Events) -> bool {
    let regions = trace.events().any(|(_, _, op)| matches!(op, Op::RegionBegin(_)));
    let index = Index::new(trace);
    let must = decide::must_order(&index, Model::Sync);
    let pairs = events.iter().flatten().zip(events.iter().flatten().skip(1));
    !regions && events.len() == 3 && pairs.into_iter().all(|(&a, &b)| must.precedes(&index, a, b))
}

fn pattern(trace: &Trace, events: &Events) -> Vec<LocationId> {
    events.iter().flatten().map(|&event| trace.location(event)).collect()
}

/// How much there was to compare.
#[derive(Default)]
pub(crate) struct Compared {
    all: usize,
    /// Cycles of conflicts through one other thread, and through more.
    over_two_threads: usize,
    over_more: usize,
}

/// Under which models they are compared.
pub(crate) const MODELS: [Model; 3] = [Model::Sync, Model::ReadsFrom, Model::Branch];

pub(crate) fn compare(seed: u64, trace: &Trace, model: Model, compared: &mut Compared) {
    let expected = feasible(trace, model);
    let context = || format!("seed {seed} {model:?}\n{}", shown(trace));
    let (reported, counts) = run(trace, model, PatternLimits::ALL);
    let found: BTreeSet<Events> = reported.events().into_iter().collect();
    assert_eq!(found, expected, "{}", context());
    assert_eq!(found.len(), reported.found.len(), "each once: {}", context());
    assert_eq!(counts.tally.unknown, 0);
    for found in &reported.found {
        assert_eq!(found.remarks.inherent, inherent(trace, &found.events), "{}", context());
    }
    let (by_pattern, _) = run(trace, model, PatternLimits::GENEROUS);
    let (others, kept): (Vec<_>, Vec<_>) =
        by_pattern.events().into_iter().partition(|events| inherent(trace, events));
    let places = |of: &mut dyn Iterator<Item = &Events>| -> Vec<_> {
        of.map(|events| pattern(trace, events)).collect()
    };
    let expected_kept: BTreeSet<_> =
        places(&mut expected.iter().filter(|events| !inherent(trace, events))).into_iter().collect();
    let found_kept = places(&mut kept.iter());
    assert_eq!(found_kept.len(), expected_kept.len(), "one each: {}", context());
    assert_eq!(found_kept.into_iter().collect::<BTreeSet<_>>(), expected_kept, "{}", context());
    // What is inherent counts where there is nothing else.
    let all: BTreeSet<_> = places(&mut kept.iter().chain(&others)).into_iter().collect();
    assert_eq!(all, places(&mut expected.iter()).into_iter().collect(), "{}", context());
    compared.all += expected.len();
    let threads = |events: &Events| {
        events.iter().flatten().map(|&event| trace.thread(event)).collect::<BTreeSet<_>>().len()
    };
    let cycles = || expected.iter().filter(|events| events.len() > 3);
    compared.over_two_threads += cycles().filter(|events| threads(events) == 2).count();
    compared.over_more += cycles().filter(|events| threads(events) > 2).count();
}

#[test]
fn exactly_the_violations_of_the_oracle() {
    let mut compared = Compared::default();
    for model in MODELS {
        let mut compare = |seed: u64, trace: &Trace| compare(seed, trace, model, &mut compared);
        on_traces(2_000, tiny, &mut compare);
        on_traces(500, with_regions, &mut compare);
        on_traces(700, with_regions_of_many, &mut compare);
    }
    let Compared { all, over_two_threads, over_more } = compared;
    assert!(all > 5_000, "only {all}");
    assert!(
        over_two_threads > 500 && over_more > 200,
        "{over_two_threads} over two threads, {over_more} over more"
    );
}

/// Of what is feasible, what came in this order in the trace.
#[test]
fn what_happened_is_found_and_nothing_else() {
    let mut all = 0;
    on_traces(2_000, tiny, |seed, trace| {
        let model = Model::ReadsFrom;
        let feasible = feasible(trace, model).into_iter();
        let expected: BTreeSet<Events> =
            feasible.filter(|events| events.len() == 3 && events.is_sorted()).collect();
        let index = Index::new(trace);
        let mut found = BTreeSet::new();
        let (intent, limits) = (Intent::Stated, PatternLimits::ALL);
        let counts = search_within(&index, settings(model), &Recorded, &intent, limits, &mut |report| {
            let mut reported = Reported::default();
            reported.take(report);
            found.extend(reported.events());
        });
        assert_eq!(found, expected, "seed {seed}\n{}", shown(trace));
        assert_eq!(counts.tally.asked, 0, "nothing has to be asked");
        all += expected.len();
    });
    assert!(all > 300, "only {all}");
}

/// Either thread may come between the accesses of the other, but only one did.
#[test]
fn a_pattern_is_settled_by_what_happened_if_that_is_wanted() {
    let trace = read(
        "T1|r(x)|a.c:1
         T2|r(x)|a.c:1
         T2|w(x)|a.c:2
         T1|w(x)|a.c:2",
    );
    let index = Index::new(&trace);
    let mut reported = Reported::default();
    search_within(&index, settings(Model::ReadsFrom), &Recorded, &Intent::Stated, LIMITS, &mut |report| {
        reported.take(report);
    });
    assert_eq!(reported.events(), [ids(&[0, 2, 3])]);
}

#[test]
fn within_a_lock_only_sections_are_meant_to_be_atomic() {
    let trace = read(
        "T1|acq(l)
         T1|r(x)
         T1|rel(l)
         T1|acq(l)
         T1|w(x)
         T1|r(x)
         T1|rel(l)
         T2|w(x)",
    );
    let within = |intent| run_within(&trace, Model::ReadsFrom, intent, LIMITS).0.events();
    assert_eq!(within(&Intent::Stated), [ids(&[1, 7, 4]), ids(&[4, 7, 5])]);
    assert_eq!(within(&Intent::WithinLock), [ids(&[4, 7, 5])]);
}

/// T1 accesses x in `get` called from one place, in `set` called from another, and twice in each call of `get`; T2 writes
/// it. With call stacks.
fn with_calls() -> Trace {
    const MEMORY: &str = "memory can be written to";
    let mut writer = Writer::new(Vec::new()).expect(MEMORY);
    let tables = [
        (Table::Threads, &["T1", "T2"][..]),
        (Table::Variables, &["x"]),
        (Table::Locations, &["a.c:1", "a.c:2", "a.c:3", "b.c:1"]),
        (Table::Frames, &["main\ta.c:9", "main\ta.c:10", "get\ta.c:1", "get\ta.c:2", "set\ta.c:3"]),
    ];
    for (table, names) in tables {
        names.iter().for_each(|name| writer.name(table, name).expect(MEMORY));
    }
    // Each stack: the one it was called from, and its frame.
    for (caller, frame) in [(0, 0), (0, 1), (1, 2), (1, 3), (2, 4)] {
        writer.stack(StackId::from_raw(caller), frame).expect(MEMORY);
    }
    let (x, read, write) = (trace::VariableId(0), Op::Read as fn(_) -> _, Op::Write as fn(_) -> _);
    for (thread, access, location, stack) in
        [(0, read, 0, 3), (0, read, 1, 4), (0, write, 2, 5), (1, write, 3, 0)]
    {
        let note = Note { stack: StackId::from_raw(stack), ..Note::default() };
        let (thread, location) = (trace::ThreadId(thread), LocationId(location));
        writer.noted_event(thread, access(x), location, note).expect(MEMORY);
    }
    native::read(&writer.finish().expect(MEMORY)).expect("a trace").0
}

#[test]
fn within_a_function_only_its_own_accesses_are_meant_to_be_atomic() {
    let trace = with_calls();
    let calls = Calls::of(&trace).expect("sound notes").expect("call stacks");
    let within = |intent: &Intent| run_within(&trace, Model::ReadsFrom, intent, LIMITS).0.events();
    assert_eq!(within(&Intent::Stated), [ids(&[0, 3, 1]), ids(&[1, 3, 2])]);
    assert_eq!(within(&Intent::WithinFunction(calls)), [ids(&[0, 3, 1])]);
    assert_eq!(Calls::of(&read("T1|w(x)")), Ok(None), "text has no call stacks");
}

#[test]
fn what_joins_and_forks_keep_between_is_marked() {
    let joined = "T1|w(x)
        T1|fork(T2)
        T2|w(x)
        T1|join(T2)
        T1|r(x)";
    let (reported, counts) = run(&read(joined), Model::ReadsFrom, LIMITS);
    assert_eq!(reported.events(), [ids(&[0, 2, 4])]);
    assert!(reported.found[0].remarks.inherent);
    assert_eq!(counts.tally.asked, 0, "the trace is its own schedule");
    let early = joined.replace("T1|join(T2)\n        T1|r(x)", "T1|r(x)\n        T1|join(T2)");
    let (reported, _) = run(&read(&early), Model::ReadsFrom, LIMITS);
    assert!(!reported.found[0].remarks.inherent, "the read might come first");
}

#[test]
fn a_lock_across_the_pair_keeps_others_out() {
    let text = |across: &str, apart: &str| {
        format!(
            "T1|acq(l)
             T1|r(x)
             {apart}T1|w(x)
             T1|rel(l)
             T2|acq(l)
             T2|w(x)
             T2|rel(l){across}"
        )
    };
    let exact = |text: &str| run(&read(text), Model::ReadsFrom, LIMITS);
    let (reported, counts) = exact(&text("", ""));
    assert!(reported.found.is_empty());
    assert_eq!(
        (counts.tally.candidates, counts.tally.asked),
        (0, 0),
        "no question for what a lock keeps apart"
    );
    let (reported, _) = exact(&text("", "T1|rel(l)\nT1|acq(l)\n"));
    assert_eq!(reported.events(), [ids(&[1, 7, 4])]);
}

/// Every two writes of a thread with every other write between them are a pattern of their own.
#[test]
fn too_many_patterns_cut_the_search_short() {
    let text = generate::hostile::Shape::Writes.text(1_000);
    let trace = trace::text::read(text.as_bytes()).expect("the run can have happened");
    let settings =
        candidates::SearchSettings { model: check::Model::ReadsFrom, options: decide::Options::default() };
    let mut found = 0;
    let counts = candidates::atomicity::search_within(
        &decide::Index::new(&trace),
        settings,
        &candidates::atomicity::Exact,
        &candidates::atomicity::Intent::Stated,
        candidates::atomicity::LIMITS,
        &mut |report| found += usize::from(matches!(report, candidates::Report::Bug(_))),
    );
    assert!(counts.cut_short && counts.tally.unknown > 0, "{counts:?}");
    assert!((1..=10_001).contains(&found), "{found}");
}
