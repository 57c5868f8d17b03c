//! Settings, control files and outcomes: what one side writes, the other reads; and no bytes make a reader panic.

use std::num::NonZeroU64;

use proptest::prelude::*;
use wire::{
    AtDeadlock, Children, Clock, ClockStart, Control, GivenDescriptor, Instruction, Kind, Memory, Mode,
    NewThreads, Obstacle, OnDivergence, Origin, OutcomeRecord, PendingAccess, Policy, RuntimeSettings,
    TestBarriers, ThreadName, ThreadState, WaitsFor, write_control,
};

fn any_clock() -> impl Strategy<Value = Clock> {
    let start = |(realtime, monotonic)| Clock::Virtual(Some(ClockStart { realtime, monotonic }));
    prop_oneof![Just(Clock::Real), Just(Clock::VIRTUAL), any::<(u64, u64)>().prop_map(start)]
}

fn any_settings() -> impl Strategy<Value = RuntimeSettings> {
    let policy = proptest::sample::select(Policy::ALL.to_vec());
    let some = || any::<Option<NonZeroU64>>();
    let new_threads = proptest::sample::select(vec![NewThreads::Either, NewThreads::First, NewThreads::Last]);
    (any::<[bool; 4]>(), any::<u64>(), policy, some(), some(), new_threads, any_clock()).prop_map(
        |([replays, follows, hangs, passes], seed, policy, quantum, max_events, new_threads, clock)| {
            RuntimeSettings {
                mode: if replays { Mode::Replay } else { Mode::Record },
                seed,
                policy,
                quantum,
                max_events,
                children: if follows { Children::Follow } else { Children::Ignore },
                at_deadlock: if hangs { AtDeadlock::Hang } else { AtDeadlock::Stop },
                new_threads,
                clock,
                test_barriers: if passes { TestBarriers::Pass } else { TestBarriers::Wait },
            }
        },
    )
}

fn any_instruction(threads: u32) -> impl Strategy<Value = Instruction> {
    (0..7u8, 0..threads, any::<u64>()).prop_map(|(which, thread, place)| match which {
        0 => Instruction::Run { thread, until: place },
        1 => Instruction::Block { thread, before: place },
        2 => Instruction::ReportAccess { thread, place },
        3 => Instruction::ReportMemory { thread },
        4 => Instruction::ReportThreads,
        5 => Instruction::Stop { step: place },
        _ => Instruction::End,
    })
}

fn any_waits_for() -> impl Strategy<Value = WaitsFor> {
    prop_oneof![
        Just(WaitsFor::Nothing),
        any::<u64>().prop_map(WaitsFor::Address),
        any::<u32>().prop_map(WaitsFor::EndOf)
    ]
}

fn any_memory() -> impl Strategy<Value = Option<Memory>> {
    prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| Memory::new(&bytes))
}

fn any_record() -> impl Strategy<Value = OutcomeRecord> {
    let obstacle = proptest::sample::select(vec![
        Obstacle::Ended,
        Obstacle::Absent,
        Obstacle::Waits,
        Obstacle::GoesOn,
        Obstacle::Outside,
        Obstacle::NoControl,
    ]);
    let state = proptest::sample::select(ThreadState::ALL.to_vec());
    let kind = proptest::sample::select(Kind::ALL.to_vec());
    let access = (kind, any::<[u64; 3]>()).prop_map(|(kind, [address, length, pc])| PendingAccess {
        kind,
        address,
        length,
        pc,
    });
    let (thread, place) = (any::<u32>(), any::<u64>());
    prop_oneof![
        (thread, place, access, any_memory()).prop_map(|(thread, place, access, memory)| {
            OutcomeRecord::PendingAccess { thread, place, access, memory }
        }),
        (any::<u32>(), any::<u64>()).prop_map(|(thread, place)| OutcomeRecord::Nothing { thread, place }),
        (any::<u32>(), any_memory())
            .prop_map(|(thread, memory)| OutcomeRecord::MemoryContent { thread, memory }),
        (any::<u32>(), state, any::<[u64; 2]>(), any_waits_for()).prop_map(
            |(thread, state, [place, pc], waits_for)| OutcomeRecord::Thread {
                thread,
                state,
                place,
                waits_for,
                pc
            }
        ),
        Just(OutcomeRecord::AllReported),
        (any::<u32>(), obstacle, any::<[u64; 2]>(), any_waits_for()).prop_map(
            |(thread, obstacle, [place, instruction], waits_for)| OutcomeRecord::Diverged {
                instruction,
                thread,
                obstacle,
                place,
                waits_for,
            }
        ),
        Just(OutcomeRecord::Freed),
    ]
}

fn file(
    origins: &[Origin],
    instructions: &[Instruction],
    names: &[ThreadName],
    descriptors: &[GivenDescriptor],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut write = |part: &[u8]| bytes.extend_from_slice(part);
    write_control(OnDivergence::Continue, origins, instructions, names, descriptors, &mut write);
    bytes
}

/// Main and its children.
fn family(threads: u32) -> Vec<Origin> {
    (0..threads).map(|nth| Origin { parent: (nth > 0).then_some(0), nth }).collect()
}

proptest! {
    #[test]
    fn settings_are_read_as_they_are_written(settings in any_settings()) {
        prop_assert_eq!(RuntimeSettings::parse(settings.to_string().as_bytes()), settings);
    }

    #[test]
    fn any_text_gives_settings(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let settings = RuntimeSettings::parse(&text);
        prop_assert_eq!(RuntimeSettings::parse(settings.to_string().as_bytes()), settings);
    }

    #[test]
    fn instructions_are_read_as_they_are_written(instructions in prop::collection::vec(any_instruction(3), 0..40)) {
        let (origins, names) = (family(3), [ThreadName::new(2, "worker two \u{e9} with a long name")]);
        let given = [(0, 7), (2, 3), (2, 3)].map(|(thread, number)| GivenDescriptor { thread, number });
        let bytes = file(&origins, &instructions, &names, &given);
        let control = Control::parse(&bytes).unwrap();
        prop_assert_eq!(control.descriptors().collect::<Vec<_>>(), given);
        prop_assert_eq!(control.on_divergence, OnDivergence::Continue);
        prop_assert_eq!(control.origins().collect::<Vec<_>>(), origins);
        prop_assert_eq!(control.instructions().collect::<Vec<_>>(), instructions);
        let name = control.names().next().unwrap();
        prop_assert_eq!(name.as_bytes(), b"workertwowithal");
        for cut in 0..bytes.len() {
            prop_assert!(Control::parse(&bytes[..cut]).is_none(), "cut at {}", cut);
        }
    }

    #[test]
    fn a_damaged_control_file_is_refused_or_consistent(
        instructions in prop::collection::vec(any_instruction(3), 0..10),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = file(&family(3), &instructions, &[], &[]);
        for (index, byte) in damage {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(control) = Control::parse(&bytes) {
            let threads = control.origins().len() as u32;
            let in_table = |instruction: Instruction| instruction.thread().is_none_or(|thread| thread < threads);
            prop_assert!(control.instructions().all(in_table));
        }
    }

    #[test]
    fn outcomes_are_read_as_they_are_written(records in prop::collection::vec(any_record(), 0..20), cut in 0..64usize) {
        let mut bytes: Vec<u8> = records.iter().flat_map(|record| record.encode()).collect();
        prop_assert_eq!(&OutcomeRecord::read(&bytes).collect::<Vec<_>>(), &records);
        // A program that was killed while it wrote.
        bytes.extend(&OutcomeRecord::AllReported.encode()[..cut]);
        prop_assert_eq!(OutcomeRecord::read(&bytes).collect::<Vec<_>>(), records);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400), marked in any::<bool>()) {
        let mut bytes = bytes;
        if marked {
            bytes.chunks_exact_mut(64).for_each(|record| record[60..].copy_from_slice(b"fto1"));
        }
        for record in OutcomeRecord::read(&bytes) {
            prop_assert_eq!(OutcomeRecord::decode(&record.encode()), Some(record));
        }
        prop_assert!(Control::parse(&bytes).is_none());
    }
}

#[test]
fn what_the_program_writes_between_is_passed_over() {
    let mut bytes = OutcomeRecord::AllReported.encode().to_vec();
    bytes.extend([b'x'; 64]);
    bytes.extend(OutcomeRecord::Freed.encode());
    let records: Vec<OutcomeRecord> = OutcomeRecord::read(&bytes).collect();
    assert_eq!(records, [OutcomeRecord::AllReported, OutcomeRecord::Freed]);
}

#[test]
fn a_table_of_threads_has_parents_first() {
    let later = [Origin { parent: Some(1), nth: 1 }, Origin { parent: None, nth: 0 }];
    assert!(Control::parse(&file(&later, &[], &[], &[])).is_none());
    let unknown = [Instruction::Run { thread: 1, until: 3 }];
    assert!(Control::parse(&file(&family(1), &unknown, &[], &[])).is_none());
    assert!(Control::parse(&file(&family(1), &[], &[ThreadName::new(1, "x")], &[])).is_none());
    // Counts that would overflow or go past the end.
    let mut bytes = file(&family(1), &[], &[], &[]);
    bytes[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(Control::parse(&bytes).is_none());
}
