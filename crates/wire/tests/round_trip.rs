//! What is written is what is read, whatever is cut off or broken.

use std::ops::ControlFlow;

use proptest::prelude::*;
use wire::{Branched, Damage, Event, Header, Kind, LogProgress, Op, Reader, STREAM_START, Stop, Waker};

use writer::Writer;

mod writer;

fn events(file: &[u8]) -> Vec<Event<'_>> {
    Reader::new(file).unwrap().map(Result::unwrap).collect()
}

/// So many events one by one, and where the reader is then.
fn one_by_one(file: &[u8], limit: usize) -> (Vec<Result<Event<'_>, Damage>>, usize) {
    let mut reader = Reader::new(file).unwrap();
    let events = reader.by_ref().take(limit).collect();
    (events, reader.offset())
}

/// The same with plain accesses handed over, which are refused now and then: the reader must go on where it stopped.
fn with_accesses_handed_over(
    file: &[u8],
    limit: usize,
    refusal: usize,
) -> (Vec<Result<Event<'_>, Damage>>, usize) {
    let mut reader = Reader::new(file).unwrap();
    let mut events = Vec::new();
    while events.len() < limit {
        let mut handed = 0;
        let next = reader.next_after_accesses(|access| {
            let event = access.event();
            if access.is_after_branch {
                events.push(Ok(Event { place: None, pc: 0, op: Op::Branches { count: 1 }, ..event }));
            }
            events.push(Ok(event));
            handed += 1;
            let is_enough = handed == refusal || events.len() == limit;
            if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match next {
            Some(event) => events.push(event),
            None if handed > 0 && (handed == refusal || events.len() == limit) => {}
            None => break,
        }
    }
    (events, reader.offset())
}

#[test]
fn a_loop_costs_almost_nothing() {
    let mut writer = Writer::new(1, 1);
    for row in 0..100u64 {
        for column in 0..100u64 {
            writer.simple(Kind::Read8, 0x40_1000, 0x10_0000 + row * 4096 + column * 8);
            writer.simple(Kind::Write4, 0x40_1010, 0x20_0000 + column * 4);
        }
        writer.simple(Kind::Read4, 0x40_1050, 0x30_0000);
    }
    let file = writer.file();
    assert!(writer.bytes.len() < 2500, "{} bytes for 20100 events", writer.bytes.len());
    let events = events(&file);
    assert_eq!(events.len(), 1 + 20_100);
    assert_eq!(events[1].op, Op::Read { address: 0x10_0000, size: 8 });
    assert_eq!(events[4].op, Op::Write { address: 0x20_0004, size: 4 });
    assert_eq!(events[4].pc, 0x40_1010);
    assert_eq!(events[20_100].place, Some(20_100));
}

#[test]
fn branches_in_a_loop_cost_no_more() {
    let mut writer = Writer::new(1, 1);
    for row in 0..100u64 {
        for column in 0..100u64 {
            writer.simple_after(Branched::YES, Kind::Read8, 0x40_1000, 0x10_0000 + row * 4096 + column * 8);
            writer.simple(Kind::Write4, 0x40_1010, 0x20_0000 + column * 4);
        }
        writer.simple(Kind::Read8, 0x40_1000, 0x30_0000);
    }
    let file = writer.file();
    assert!(writer.bytes.len() < 2500, "{} bytes for 20100 events", writer.bytes.len());
    let branches = events(&file).iter().filter(|event| matches!(event.op, Op::Branches { count: 1 })).count();
    assert_eq!(branches, 10_000);
}

/// What a function accesses depends on who calls it: its sites are predicted for each caller by themselves.
#[test]
fn a_function_called_from_several_places_costs_almost_nothing() {
    let mut writer = Writer::new(1, 1);
    for row in 0..300u64 {
        for (caller, array) in [(0x40_2000, 0x10_0000u64), (0x40_2100, 0x30_0780), (0x40_2200, 0x90_0000)] {
            writer.simple(Kind::FunctionEntry, 0x40_1000, caller);
            for column in 0..5 {
                writer.simple(Kind::Read8, 0x40_1010 + column * 16, array + 8 * row + 4096 * column * column);
            }
            writer.simple(Kind::FunctionExit, 0x40_1100, 0);
        }
    }
    assert!(writer.bytes.len() < 1000, "{} bytes for 6300 events", writer.bytes.len());
    assert_eq!(events(&writer.file()).len(), 1 + 6300);
}

/// Of an object that is found by a pointer, the first access says where it is, and the others follow.
#[test]
fn objects_anywhere_cost_one_access_each() {
    let mut writer = Writer::new(1, 1);
    let mut random = 1u64;
    for _ in 0..1000u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let object = 0x10_0000 + (random >> 44) * 16;
        for field in 0..4 {
            writer.simple(Kind::Read8, 0x40_1000 + field * 16, object + 8 * field);
            writer.simple(Kind::Write8, 0x40_1008 + field * 16, 0x7000_0000 + 8 * field * field);
        }
    }
    assert!(writer.bytes.len() < 8000, "{} bytes for 8000 events", writer.bytes.len());
}

/// More calls than are remembered, and returns that nobody has called: predictions get worse, and nothing else.
#[test]
fn calls_and_returns_need_not_match() {
    let mut writer = Writer::new(1, 1);
    for depth in 0..200u64 {
        writer.simple(Kind::FunctionEntry, 0x40_1000, 0x40_2000 + depth % 3);
        writer.simple(Kind::Read8, 0x40_1010, 0x10_0000 + depth);
    }
    for depth in 0..300u64 {
        writer.simple(Kind::FunctionExit, 0x40_1100, 0);
        writer.simple(Kind::Write8, 0x40_1020, 0x20_0000 + depth);
    }
    let file = writer.file();
    let events = events(&file);
    assert_eq!(events.len(), 1 + 1000);
    assert_eq!(events[1000].op, Op::Write { address: 0x20_0000 + 299, size: 8 });
}

#[test]
fn detailed_events_keep_their_arguments() {
    let mut writer = Writer::new(2, 2);
    writer.switch(0);
    writer.detailed(Kind::Mark, 7, 0, &[-5i64 as u64], b"open");
    writer.detailed(Kind::Woken, 7, 0x55, &[Waker::Timeout.code()], b"");
    writer.detailed(Kind::Stop, 0, 0, &Stop::Exit(-1).arguments(), b"");
    let file = writer.file();
    let events = events(&file);
    assert_eq!(events[0].op, Op::Create { child: 1 });
    assert_eq!(events[3].op, Op::Mark { name: b"open", value: -5 });
    assert_eq!(events[4].op, Op::Woken { condition: 0x55, by: Waker::Timeout });
    assert_eq!(events[5].op, Op::Stop(Stop::Exit(-1)));
    assert_eq!(events[5].place, None);
}

/// Else a log of a few bytes would make its readers allocate for billions of threads.
#[test]
fn a_thread_far_beyond_all_others_is_damage() {
    for kind in [Kind::Join, Kind::Detach, Kind::ThreadName, Kind::JoinedAgain, Kind::AwaitsEnd] {
        let mut writer = Writer::new(2, 1);
        writer.switch(0);
        writer.detailed(kind, 7, 0, &[u64::from(u32::MAX)], b"");
        let file = writer.file();
        let read: Vec<_> = Reader::new(&file).unwrap().collect();
        let damage = read.last().copied().unwrap().unwrap_err();
        assert_eq!(damage.what, "no such thread", "{kind:?}");
    }
}

#[test]
fn not_every_file_is_a_log() {
    assert!(Reader::new(b"").is_err());
    assert!(Reader::new(&[0; 8000]).is_err());
}

#[derive(Clone, Debug)]
enum Step {
    Switch(usize),
    Simple(Branched, Kind, u64, u64),
    Allocate(u64, u64),
    Mark(Vec<u8>, i64),
}

fn step(threads: usize) -> impl Strategy<Value = Step> {
    let simple: Vec<Kind> = Kind::ALL.iter().copied().filter(|kind| kind.arguments().is_none()).collect();
    // Few sites and near addresses, so that every kind of prediction comes up; and some of any size.
    let address =
        prop_oneof![(0..40u64).prop_map(|n| 0x1000 + n * 8), (0..4u64).prop_map(|n| n << 40), any::<u64>()];
    let branched = prop::sample::select(vec![Branched::default(), Branched::YES]);
    let pc = prop_oneof![8 => 0..12u64, 1 => 0..1u64 << 48];
    prop_oneof![
        1 => (0..threads).prop_map(Step::Switch),
        20 => (branched, prop::sample::select(simple), pc, address)
            .prop_map(|(b, k, p, a)| Step::Simple(b, k, p, a)),
        1 => (any::<u64>(), any::<u64>()).prop_map(|(a, s)| Step::Allocate(a, s)),
        1 => (prop::collection::vec(any::<u8>(), 0..20), any::<i64>()).prop_map(|(n, v)| Step::Mark(n, v)),
    ]
}

/// The steps, some of them over and over as in a loop.
fn program() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((prop::collection::vec(step(4), 1..8), 1..6usize), 0..30)
        .prop_map(|loops| loops.into_iter().flat_map(|(body, times)| vec![body; times].concat()).collect())
}

fn write(steps: &[Step], tables: usize) -> Writer {
    let mut writer = Writer::new(4, tables);
    for step in steps {
        match step {
            Step::Switch(thread) => writer.switch(*thread),
            Step::Simple(branched, kind, pc, address) => writer.simple_after(*branched, *kind, *pc, *address),
            Step::Allocate(address, size) => writer.detailed(Kind::Allocate, 9, *address, &[*size], b""),
            Step::Mark(name, value) => writer.detailed(Kind::Mark, 9, 0, &[*value as u64], name),
        }
    }
    writer
}

/// What the events should say, as far as a step says it.
fn check(steps: &[Step], events: &[Event<'_>]) {
    let mut events = events.iter();
    let mut current = 3;
    for step in steps {
        if let Step::Switch(thread) = step {
            current = *thread;
            continue;
        }
        if let Step::Simple(Branched::YES, ..) = step {
            let branches =
                Event { thread: current as u32, place: None, pc: 0, op: Op::Branches { count: 1 } };
            assert_eq!(events.next(), Some(&branches));
        }
        let Some(event) = events.next() else { return };
        assert_eq!(event.thread as usize, current);
        match step {
            Step::Simple(_, kind, pc, address) => {
                assert_eq!(event.pc, *pc);
                assert_eq!(event.place.is_some(), kind.is_schedulable());
                match event.op {
                    Op::Read { address: found, .. } | Op::AtomicUpdate { address: found, .. } => {
                        assert_eq!(found, *address);
                    }
                    Op::Acquire { lock: found, .. } | Op::Free { address: found } => {
                        assert_eq!(found, *address);
                    }
                    _ => {}
                }
            }
            Step::Allocate(address, size) => {
                assert_eq!(event.op, Op::Allocate { address: *address, size: *size });
            }
            Step::Mark(name, value) => assert_eq!(event.op, Op::Mark { name, value: *value }),
            Step::Switch(_) => {}
        }
    }
    assert!(events.next().is_none(), "more events than were written");
}

proptest! {
    #[test]
    fn what_is_written_is_read(steps in program(), tables in 1..4usize) {
        let writer = write(&steps, tables);
        let file = writer.file();
        let events = events(&file);
        let count = |step: &Step| match step {
            Step::Switch(_) => 0,
            Step::Simple(Branched::YES, ..) => 2,
            _ => 1,
        };
        let written: usize = steps.iter().map(count).sum();
        prop_assert_eq!(events.len(), 7 + written);
        check(&steps, &events[7..]);
    }

    #[test]
    fn accesses_handed_over_are_the_events(steps in program(), tables in 1..4usize, refusal in 1..50usize) {
        let file = write(&steps, tables).file();
        prop_assert_eq!(one_by_one(&file, usize::MAX), with_accesses_handed_over(&file, usize::MAX, refusal));
    }

    #[test]
    fn a_cut_log_yields_what_came_before(steps in program(), cut in any::<prop::sample::Index>()) {
        let writer = write(&steps, 2);
        let file = writer.file();
        let whole = events(&file);
        let cut = cut.index(file.len());
        let Ok(reader) = Reader::new(&file[..cut]) else {
            prop_assert!(cut < 24);
            return Ok(());
        };
        let some: Vec<_> = reader.map(Result::unwrap).collect();
        prop_assert_eq!(&some[..], &whole[..some.len()]);
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic(steps in program(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut file = write(&steps, 2).file();
        let at = STREAM_START + at.index(file.len() - STREAM_START);
        file[at] = byte;
        let limit = 100_000;
        let (expected, offset) = one_by_one(&file, limit);
        let (mut handed_over, reached) = with_accesses_handed_over(&file, limit, usize::MAX);
        // A branch and its access are handed over together.
        handed_over.truncate(limit);
        prop_assert!(expected == handed_over);
        prop_assert!(expected.len() == limit || offset == reached);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut file = Header::new(1, LogProgress::new(bytes.len() as u64, 3)).to_bytes().to_vec();
        file.resize(STREAM_START, 0);
        file.extend(bytes);
        let _ = Reader::new(&file).unwrap().take(1_000_000).count();
    }
}

/// A seed of another version is refused at its first bytes, and nothing of it is fuzzed.
#[test]
fn the_seed_for_fuzzing_is_a_log_of_this_version() {
    let log = include_bytes!("../../../fuzz/seeds/raw_log/conditions.log");
    let events = Reader::new(log).expect("it is a log").take_while(Result::is_ok).count();
    assert!(events > 100, "{events} events");
}
