//! The memory that reading a native trace takes is a fixed multiple of the file's size, whatever the
//! file holds. One test, so that nothing else allocates meanwhile.

use peak_alloc::PeakAlloc;
use trace::native::{self, Note, StackId, Table, ThreadOrigin, Writer};
use trace::{BarrierId, ConditionId, LocationId, LockId, Op, RegionId, ThreadId, VariableId};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What reading may take for each byte of the file, and what it may take in any case.
const MULTIPLE: usize = 256;
const ANYWAY: usize = 1 << 20;

const EVENTS: u32 = 1_000_000;
const NAMES: u32 = 300_000;

/// A file whose events are these, and which has this many names in each of the tables.
fn file(names: &[(Table, u32)], event: impl Fn(u32) -> Option<(ThreadId, Op)>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.name(Table::Locations, "").unwrap();
    for &(table, count) in names {
        for index in 0..count {
            writer.name(table, &format!("{index:x}")).unwrap();
        }
    }
    for (thread, op) in (0..EVENTS).map_while(event) {
        writer.event(thread, op, LocationId(0)).unwrap();
    }
    writer.finish().unwrap()
}

/// A file of notes that compress as well as they may, of deep stacks, and of many threads' origins.
fn noted() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.name(Table::Locations, "").unwrap();
    writer.name(Table::Variables, "").unwrap();
    writer.name(Table::Frames, "f").unwrap();
    for index in 0..NAMES {
        writer.name(Table::Threads, &format!("{index:x}")).unwrap();
        writer.stack(StackId::from_raw(index), 0).unwrap();
    }
    writer.origin(ThreadId(NAMES - 1), ThreadOrigin { parent: None, nth: 0 }).unwrap();
    for _ in 0..EVENTS {
        let note = Note { stack: StackId::from_raw(NAMES), ..Note::default() };
        writer.noted_event(ThreadId(0), Op::Read(VariableId(0)), LocationId(0), note).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn memory_is_bounded_by_the_size_of_the_file() {
    let t = ThreadId(0);
    let one = [(Table::Threads, 1), (Table::Variables, 1), (Table::Barriers, 1)];
    let pairs = [(Table::Threads, 1000), (Table::Regions, 1000), (Table::Locks, 1000)];
    let pair = |index: u32| (ThreadId(index % 1000), index / 1000);
    let mut files = vec![
        ("the same event again and again", file(&one, |_| Some((t, Op::Write(VariableId(0)))))),
        (
            "a barrier each two events",
            file(&one, |index| {
                let barrier = BarrierId(0);
                Some((t, if index % 2 == 0 { Op::BarrierEnter(barrier) } else { Op::BarrierExit(barrier) }))
            }),
        ),
        (
            "a region open for every pair",
            file(&pairs, |index| Some((pair(index).0, Op::RegionBegin(RegionId(pair(index).1))))),
        ),
        (
            "a shared lock for every pair",
            file(&pairs, |index| Some((pair(index).0, Op::AcquireShared(LockId(pair(index).1))))),
        ),
        (
            "a signal each condition",
            file(&[(Table::Threads, 1), (Table::Conditions, NAMES)], |index| {
                (index < NAMES).then_some((t, Op::Signal(ConditionId(index))))
            }),
        ),
    ];
    files.push(("notes and stacks", noted()));
    for table in Table::ALL.into_iter().filter(|&table| table != Table::Locations) {
        files.push((table.what(), file(&[(table, NAMES)], |_| None)));
    }
    for (what, bytes) in files {
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let (trace, _) = native::read(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        let taken = MEMORY.peak_usage() - before;
        let multiple = taken.saturating_sub(ANYWAY) / bytes.len();
        println!("{what}: {} bytes, {} events, {multiple} bytes of memory a byte", bytes.len(), trace.len());
        assert!(multiple <= MULTIPLE, "{what}: {taken} bytes of memory for a file of {}", bytes.len());
    }
}
