//! What comes out is well-formed (or `generate` would panic), what was asked for, and always the same.

use std::collections::BTreeSet;

use generate::{
    AtStandstill, Ending, Generator, SettingsError, TraceSettings, Weights, generate, names, shrink,
};
use trace::{Kind, Op, Trace};

fn kinds(trace: &Trace) -> BTreeSet<Kind> {
    trace.events().map(|(.., op)| op.kind()).collect()
}

#[test]
fn tiny_traces_are_tiny_and_have_everything() {
    let mut seen = BTreeSet::new();
    let (mut open, mut unforked, mut nested, mut declared, mut idle) = (0, 0, 0, 0, 0);
    let mut lengths = 0;
    for seed in 0..2000 {
        let settings = TraceSettings::tiny(seed);
        let t = generate(&settings).unwrap();
        assert!(t.len() <= 18, "seed {seed}: {} events", t.len());
        assert!(t.symbols().threads.len() <= 5);
        lengths += t.len();
        seen.extend(kinds(&t));
        let acquires = || t.events().filter(|(.., op)| matches!(op, Op::Acquire(_) | Op::AcquireShared(_)));
        open += usize::from(acquires().any(|(event, ..)| t.link(event).event().is_none()));
        nested += usize::from(acquires().any(|(event, ..)| t.is_nested(event)));
        unforked +=
            usize::from((1..t.symbols().threads.len()).any(|i| t.fork_of(trace::ThreadId::new(i)).is_none()));
        let semaphores = (0..t.symbols().semaphores.len()).map(trace::SemaphoreId::new);
        declared += semaphores.filter(|&s| t.declared_permits(s).is_some()).count();
        idle += t
            .events()
            .filter(|&(event, _, op)| matches!(op, Op::Join(_)) && t.link(event).event().is_none())
            .count();
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), Kind::ALL);
    assert!(lengths > 2000 * 8, "too short to be of use: {lengths}");
    for count in [open, unforked, nested, declared] {
        assert!(count > 50, "open {open}, unforked {unforked}, nested {nested}, declared {declared}");
    }
    assert!(idle > 0);
}

#[test]
fn tiny_traces_get_stuck_in_deadlocks_at_times() {
    let stuck = |seed: &u64| {
        let settings = TraceSettings { ending: Ending::Cut, ..TraceSettings::tiny(*seed) };
        let trace = generate(&settings).unwrap();
        (trace.len() as u64) < settings.events && settings.weights.end == 0
    };
    assert!((0..500).filter(stuck).count() > 10);
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 0..50 {
        assert_eq!(generate(&TraceSettings::tiny(seed)), generate(&TraceSettings::tiny(seed)));
    }
    let large = TraceSettings::large(10_000, 8, 20, 500);
    assert_eq!(generate(&large), generate(&large));
    assert_ne!(generate(&large), generate(&TraceSettings { seed: 1, ..large }));
}

/// Pins what seeds mean: a change here makes every seed in every report mean another trace.
#[test]
fn seeds_keep_their_meaning() {
    let fingerprint = |settings: &TraceSettings| {
        let events = Generator::new(settings).unwrap();
        events.fold(0u64, |hash, event| {
            let parts = [event.thread.0, event.op.kind() as u32, event.op.target(), event.location.0];
            parts.iter().fold(hash, |hash, &part| {
                (hash.rotate_left(5) ^ u64::from(part)).wrapping_mul(0x517c_c1b7_2722_0a95)
            })
        })
    };
    let tiny =
        (0..100).fold(0, |all: u64, seed| all.rotate_left(1) ^ fingerprint(&TraceSettings::tiny(seed)));
    let large = fingerprint(&TraceSettings::large(100_000, 10, 50, 1000));
    assert_eq!((tiny, large), (6_280_714_974_110_731_711, 113_260_915_219_470_858));
}

#[test]
fn a_large_trace_is_as_asked_for() {
    let settings = TraceSettings::large(300_000, 12, 40, 5000);
    let t = generate(&settings).unwrap();
    assert_eq!(t.len(), 300_000);
    assert_eq!(t.symbols().threads.len(), 12);
    let sync = t.events().filter(|(.., op)| op.access().is_none()).count();
    let share = sync as f64 / t.len() as f64;
    assert!((0.08..0.10).contains(&share), "{share} of the events are synchronisation");
    // All threads last: none is left behind in a deadlock.
    let ends = t.events().filter(|&(event, _, op)| op == Op::End && event.index() < 295_000).count();
    assert_eq!(ends, 0);
    let mut late = BTreeSet::new();
    late.extend(t.events().skip(200_000).take(90_000).map(|(_, thread, _)| thread));
    assert_eq!(late.len(), 12);
    assert_eq!(t.events().filter(|(.., op)| matches!(op, Op::Join(_))).count(), 11);
    assert_eq!(t.events().last().map(|(.., op)| op), Some(Op::End));
}

#[test]
fn streamed_events_have_the_names_they_are_mentioned_by() {
    for seed in 0..200 {
        let settings = TraceSettings::tiny(seed);
        let generator = Generator::new(&settings).unwrap();
        let mut builder = names(&generator).unwrap();
        for event in generator {
            builder.push(event.thread, event.op, event.location);
        }
        let (streamed, kept) = (builder.finish().unwrap(), generate(&settings).unwrap());
        assert_eq!(streamed.len(), kept.len());
        for ((a, t, op), (b, u, other)) in streamed.events().zip(kept.events()) {
            assert_eq!(op.kind(), other.kind());
            assert_eq!(streamed.symbols().thread(t), kept.symbols().thread(u));
            let place = |trace: &Trace, event| trace.symbols().location(trace.location(event)).to_owned();
            assert_eq!(place(&streamed, a), place(&kept, b));
            if let (Some(x), Some(y)) = (op.access(), other.access()) {
                assert_eq!(streamed.symbols().variable(x.variable), kept.symbols().variable(y.variable));
            }
            assert_eq!(streamed.link(a), kept.link(b));
        }
    }
}

#[test]
fn extremes_do_no_harm() {
    let base = TraceSettings::large(3000, 4, 4, 10);
    let nothing = TraceSettings {
        locks: 0,
        variables: 0,
        conditions: 0,
        barriers: 0,
        semaphores: 0,
        blocks: 0,
        regions: 0,
        marks: 0,
        locations: 0,
        nesting: 0,
        ..base.clone()
    };
    let everything = Weights {
        read: u32::MAX,
        write: u32::MAX,
        acquire: u32::MAX,
        release: u32::MAX,
        wait: u32::MAX,
        barrier: u32::MAX,
        take: u32::MAX,
        join: u32::MAX,
        ..Weights::default()
    };
    let only = |weights: Weights| TraceSettings { weights, ..base.clone() };
    let cases = [
        nothing.clone(),
        TraceSettings { weights: Weights::default(), ..nothing },
        TraceSettings { events: 0, ..base.clone() },
        TraceSettings { events: 1, ..base.clone() },
        TraceSettings { threads: 1, ..base.clone() },
        TraceSettings { threads: 5000, ..base.clone() },
        TraceSettings { switch: 1.0, skew: 1.0, disciplined: 1.0, requests: 1.0, ..base.clone() },
        TraceSettings { idle: 1.0, abandoned: 1.0, spurious: 1.0, inversions: 1.0, ..base.clone() },
        only(Weights::default()),
        only(everything),
        only(Weights { take: 1, ..Weights::default() }),
        only(Weights { wait: 1, ..Weights::default() }),
        only(Weights { barrier: 1, ..Weights::default() }),
        only(Weights { join: 1, ..Weights::default() }),
        only(Weights { end: 1, ..Weights::default() }),
        only(Weights { acquire: 1, ..Weights::default() }),
        only(Weights { acquire: 1, acquire_shared: 1, reacquire: 1, ..Weights::default() }),
        only(Weights::large(1_000_000)),
        only(Weights::large(0)),
        only(Weights::large(u32::MAX)),
    ];
    for (index, settings) in cases.iter().enumerate() {
        for stuck in [AtStandstill::Stop, AtStandstill::GiveUp] {
            for ending in [Ending::Cut, Ending::WindDown] {
                for seed in 0..5 {
                    let settings = TraceSettings { stuck, ending, seed, ..settings.clone() };
                    let trace = generate(&settings).unwrap();
                    assert!(trace.len() as u64 <= settings.events);
                    let is_whole =
                        stuck == AtStandstill::GiveUp && settings.weights.end == 0 && settings.idle == 0.0;
                    assert!(
                        !is_whole || trace.len() as u64 == settings.events,
                        "case {index}, {stuck:?}, {ending:?}: {} events",
                        trace.len()
                    );
                }
            }
        }
    }
}

#[test]
fn wrong_settings_are_refused() {
    let base = TraceSettings::tiny(0);
    let refuse = |settings: TraceSettings| generate(&settings).unwrap_err().to_string();
    assert_eq!(refuse(TraceSettings { threads: 0, ..base.clone() }), "a trace needs at least one thread");
    assert_eq!(refuse(TraceSettings { skew: 1.5, ..base.clone() }), "skew must be between 0 and 1, not 1.5");
    assert_eq!(
        generate(&TraceSettings { locks: 1 << 27, ..base.clone() }),
        Err(SettingsError::TooManyObjects { what: "locks", count: 1 << 27 })
    );
    assert_eq!(
        refuse(TraceSettings { events: 1 << 32, ..base.clone() }),
        "4294967296 events are more than a trace can hold (4294967294)"
    );
    assert!(refuse(TraceSettings { fork: f64::NAN, ..base }).starts_with("fork must be"));
}

#[test]
fn shrinking_leaves_only_what_is_needed() {
    let settings = TraceSettings::large(400, 6, 5, 20);
    let trace = generate(&settings).unwrap();
    // 'Fails' if two threads each take a lock and write in the section.
    let writes_in_section = |t: &Trace| {
        let mut threads = BTreeSet::new();
        for (acquire, thread, op) in t.events() {
            let Op::Acquire(_) = op else { continue };
            let end = t.section_end(acquire).map_or(t.len(), trace::EventId::index);
            let inside = t.events().skip(acquire.index()).take(end - acquire.index());
            if inside.into_iter().any(|(_, u, op)| u == thread && op.writes().is_some()) {
                threads.insert(thread);
            }
        }
        threads.len() >= 2
    };
    let small = shrink(&trace, writes_in_section);
    assert!(writes_in_section(&small));
    // Acquire, write, and one release so that the other can follow.
    assert!(small.len() <= 5, "{} events left", small.len());
    assert_eq!(small.symbols().threads.len(), 2);
    // What does not fail stays as it is.
    assert_eq!(shrink(&trace, |_| false), trace);
    assert_eq!(shrink(&trace, |_| true).len(), 0);
}
