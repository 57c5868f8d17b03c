//! The native form: what is written reads back, truncated and corrupt files are told apart, and
//! nothing a file can say makes the reader panic or believe it.

mod anything;
mod damaged;
mod wrong;

use std::ops::ControlFlow;

use trace::native::layout::{
    CHUNK_HEADER_LEN, ChunkHeader, HEADER_LEN, MAX_CHUNK_EVENTS, MAX_RAW_LEN, Table, Tag,
};
use trace::native::{self, Completeness, Writer};
use trace::{
    Binary, Kind, LockId, Metadata, Misuse, MisuseKind, Module, Op, SemaphoreId, Trace, TraceBuilder,
    VariableId,
};

/// A legal run with every kind of event, names that are no plain words, and metadata.
fn every_kind() -> Trace {
    let mut b = TraceBuilder::new();
    let [main, child, idle] = ["main", "worker ✓", "idle"].map(|name| b.thread(name).unwrap());
    let [x, y] = ["x", ""].map(|name| b.variable(name).unwrap());
    let [l, m] = ["l", "m|n"].map(|name| b.lock(name).unwrap());
    let c = b.condition("c").unwrap();
    let barrier = b.barrier("b").unwrap();
    let [_unused, s] = ["unused", "s"].map(|name| b.semaphore(name).unwrap());
    let block = b.block("0x7f00").unwrap();
    let region = b.region("transfer").unwrap();
    let marks = [("phase", -1), ("phase", i64::MAX), ("limit", i64::MIN)].map(|(n, v)| b.mark(n, v).unwrap());
    b.declare_permits(s, 1);
    let locations = ["main.c:1", "main.c:2", "日本.c:3"].map(|name| b.location(name).unwrap());
    let run = [
        (main, Op::Begin),
        (main, Op::Allocate(block)),
        (main, Op::Fork(child)),
        (child, Op::Begin),
        (main, Op::Request(l)),
        (main, Op::Acquire(l)),
        (main, Op::Write(x)),
        (child, Op::Request(l)),
        (main, Op::Release(l)),
        (child, Op::Acquire(l)),
        (child, Op::Read(x)),
        (child, Op::Branch(u32::MAX)),
        (child, Op::Release(l)),
        (child, Op::Wait(c)),
        (main, Op::Signal(c)),
        (child, Op::Wait(c)),
        (main, Op::Broadcast(c)),
        (main, Op::RequestShared(m)),
        (main, Op::AcquireShared(m)),
        (child, Op::AcquireShared(m)),
        (main, Op::ReleaseShared(m)),
        (child, Op::ReleaseShared(m)),
        (main, Op::AtomicWrite(y)),
        (child, Op::AtomicRead(y)),
        (child, Op::AtomicUpdate(y)),
        (main, Op::Fence),
        (main, Op::BarrierEnter(barrier)),
        (child, Op::BarrierEnter(barrier)),
        (child, Op::BarrierExit(barrier)),
        (main, Op::BarrierExit(barrier)),
        (main, Op::Take(s)),
        (child, Op::Post(s)),
        (child, Op::RegionBegin(region)),
        (child, Op::Mark(marks[0])),
        (child, Op::Mark(marks[2])),
        (child, Op::RegionEnd(region)),
        (main, Op::Mark(marks[1])),
        (child, Op::End),
        (main, Op::Join(child)),
        (main, Op::Join(idle)),
        (main, Op::Free(block)),
        (main, Op::End),
    ];
    for (index, &(thread, op)) in run.iter().enumerate() {
        b.push(thread, op, locations[index % locations.len()]);
    }
    b.set_metadata(Metadata {
        ending: Some(trace::Ending::Killed(11)),
        command: vec!["./prog".into(), "an argument".into()],
        directory: "/somewhere".into(),
        modules: vec![Module {
            path: "/lib/libc.so".into(),
            start: 1 << 47,
            end: u64::MAX,
            offset: 4096,
            build_id: "c0ffee".into(),
        }],
        settings: [("seed".into(), "42".into())].into(),
        environment: vec!["HOME=/root".into(), "LANG=C".into()],
        cleared: vec!["cell (a.c:3)".to_owned()],
        reallocations: vec!["a.c:9".to_owned()],
        descriptors: [("0.2".to_owned(), vec![3, 7])].into(),
        attempts: vec!["a.c:7".into()],
        tsan_options: "report_bugs=0".into(),
        tsan_suppressions: "race:foo\n".into(),
        misuses: vec![Misuse {
            what: MisuseKind::UnlockByAnother,
            event: 3,
            object: "gate".to_owned(),
            location: "a.c:4".to_owned(),
            other: Some("T1".to_owned()),
            earlier: Some("a.c:2".to_owned()),
        }],
        libraries: vec![trace::Library {
            path: "/lib/libraw.so".into(),
            is_instrumented: false,
            locations: vec!["raw.c:5".into()],
        }],
        ignores_orders: true,
        waits: vec![trace::LastWait {
            thread: "T1".to_owned(),
            event: 4,
            object: "main".to_owned(),
            is_join: true,
            location: "a.c:9".to_owned(),
        }],
        input: "/somewhere/input".into(),
        binary: Some(Binary {
            path: "/somewhere/prog".into(),
            checksum: "1234abcd".into(),
            ..Binary::default()
        }),
        variables: vec![trace::Variable { name: "HOME".into(), length: 8 }],
        environment_size: 8192,
        input_checksum: "00ff".into(),
        client_input: "/tmp/trace.clients".into(),
        client_input_checksum: "11ff".into(),
        incomplete: "the disk was full".into(),
        dropped: 3,
    });
    let trace = b.finish().expect("a legal run");
    for &kind in Kind::ALL {
        assert!(trace.events().any(|(_, _, op)| op.kind() == kind), "{kind:?} is missing");
    }
    trace
}

fn written(trace: &Trace, chunk_events: usize) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap().chunk_events(chunk_events);
    writer.trace(trace).unwrap();
    writer.finish().unwrap()
}

/// The same content fed piece by piece: a name when it is first needed, a flush here and there.
fn fed(trace: &Trace, chunk_events: usize) -> Vec<u8> {
    let symbols = trace.symbols();
    let tables = [
        (Table::Threads, &symbols.threads),
        (Table::Variables, &symbols.variables),
        (Table::Locks, &symbols.locks),
        (Table::Conditions, &symbols.conditions),
        (Table::Barriers, &symbols.barriers),
        (Table::Semaphores, &symbols.semaphores),
        (Table::Blocks, &symbols.blocks),
        (Table::Regions, &symbols.regions),
        (Table::MarkNames, &symbols.marks),
        (Table::Locations, &symbols.locations),
    ];
    let mut writer = Writer::new(Vec::new()).unwrap().chunk_events(chunk_events);
    writer.metadata(&Metadata { directory: "replaced later".into(), ..Metadata::default() }).unwrap();
    let mut given = [0; Table::COUNT];
    let mut give = |writer: &mut Writer<Vec<u8>>, table: Table, up_to: usize| {
        let (_, names) = tables[table as usize];
        for index in given[table as usize]..up_to {
            writer.name(table, names.get(index)).unwrap();
            writer.flush().unwrap();
        }
        given[table as usize] = given[table as usize].max(up_to);
    };
    for (table, names) in tables {
        // Threads and locations come when they are needed, the others at once.
        if !matches!(table, Table::Threads | Table::Locations) {
            give(&mut writer, table, names.len());
        }
    }
    for &mark in trace.marks() {
        writer.mark(mark).unwrap();
    }
    for index in 0..symbols.semaphores.len() {
        if let Some(permits) = trace.declared_permits(SemaphoreId::new(index)) {
            writer.permits(SemaphoreId::new(index), permits + 7).unwrap();
            writer.permits(SemaphoreId::new(index), permits).unwrap();
        }
    }
    for (event, thread, op) in trace.events() {
        let mentioned = if let Op::Fork(child) | Op::Join(child) = op { child.index() } else { 0 };
        give(&mut writer, Table::Threads, thread.index().max(mentioned) + 1);
        give(&mut writer, Table::Locations, trace.location(event).index() + 1);
        writer.event(thread, op, trace.location(event)).unwrap();
        if event.0 % 5 == 0 {
            writer.flush().unwrap();
        }
    }
    writer.metadata(trace.metadata()).unwrap();
    writer.finish().unwrap()
}

/// A chunk of a file and where it starts.
struct Placed {
    offset: usize,
    header: ChunkHeader,
}

impl Placed {
    fn end(&self) -> usize {
        self.offset + CHUNK_HEADER_LEN + self.header.stored_len as usize
    }
}

/// The chunks of a file that is known to be well.
fn chunks_of(bytes: &[u8]) -> impl Iterator<Item = Placed> {
    let mut offset = HEADER_LEN;
    std::iter::from_fn(move || {
        let header = bytes.get(offset..)?.first_chunk()?;
        let placed = Placed { offset, header: ChunkHeader::from_bytes(header) };
        offset = placed.end();
        Some(placed)
    })
}

#[test]
fn what_is_written_reads_back() {
    for trace in [every_kind(), TraceBuilder::new().finish().unwrap()] {
        for chunk_events in [1, 2, 3, 7, 41, 42, 43, MAX_CHUNK_EVENTS] {
            for bytes in [written(&trace, chunk_events), fed(&trace, chunk_events)] {
                let (back, completeness) = native::read(&bytes).unwrap();
                assert_eq!(back, trace, "{chunk_events} events a chunk");
                assert_eq!(completeness, Completeness::Complete);
            }
        }
        let mut bytes = Vec::new();
        native::write(&trace, &mut bytes).unwrap();
        assert_eq!(native::read(&bytes).unwrap().0, trace);
    }
}

#[test]
fn many_events_and_names_read_back() {
    let mut b = TraceBuilder::new();
    let [t, u] = ["t", "u"].map(|name| b.thread(name).unwrap());
    let location = b.location("here").unwrap();
    // More names than one chunk takes, and events that compress far better than they may.
    for index in 0..120_000 {
        b.variable(&format!("a fairly long name of a variable, number {index}")).unwrap();
    }
    for index in 0..200_000u32 {
        let variable = VariableId(if index < 150_000 { 7 } else { index % 120_000 });
        b.push(if index % 2 == 0 { t } else { u }, Op::Write(variable), location);
    }
    let trace = b.finish().unwrap();
    let bytes = written(&trace, MAX_CHUNK_EVENTS);
    let names_chunks = chunks_of(&bytes).filter(|chunk| chunk.header.tag == Tag::Names.bytes()).count();
    assert!(names_chunks > 3, "{names_chunks}");
    let padded =
        chunks_of(&bytes).filter(|chunk| chunk.header.raw_len == chunk.header.stored_len * 32).count();
    assert!(padded > 0, "some chunk is padded up to the limit exactly");
    assert_eq!(native::read(&bytes).unwrap(), (trace, Completeness::Complete));
}

#[test]
fn reading_can_be_called_off() {
    let bytes = written(&every_kind(), 10);
    let mut asked = 0;
    let read = native::read_with(&bytes, |_| {
        asked += 1;
        if asked == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(read.unwrap_err().problem, native::Problem::Stopped);
    assert_eq!(asked, 2);
}

#[test]
fn progress_is_told_chunk_by_chunk() {
    let bytes = written(&every_kind(), 10);
    let mut told = Vec::new();
    native::read_with(&bytes, |done| {
        told.push(done);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(told.len(), chunks_of(&bytes).count());
    assert!(told.is_sorted());
    assert_eq!(told.last(), Some(&bytes.len()));
}

#[test]
fn the_writer_refuses_what_does_not_fit() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let error = writer.name(Table::Locks, &"x".repeat(MAX_RAW_LEN)).unwrap_err();
    assert_eq!(error.to_string(), "a name of 16777216 bytes does not fit in a chunk");
    writer.name(Table::Locks, &"x".repeat(MAX_RAW_LEN - 12)).unwrap();
    writer.name(Table::Locks, "short").unwrap();
    let (trace, _) = native::read(&writer.finish().unwrap()).unwrap();
    assert_eq!(trace.symbols().lock(LockId(0)).len(), MAX_RAW_LEN - 12);
    let metadata = Metadata { directory: "x".repeat(MAX_RAW_LEN), ..Metadata::default() };
    let error = Writer::new(Vec::new()).unwrap().metadata(&metadata).unwrap_err();
    assert_eq!(error.to_string(), "a chunk of 16777232 bytes is longer than the 16777216 there can be");
}
