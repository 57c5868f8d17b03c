//! The native form: what is written reads back, what is cut short is told from what is broken, and
//! nothing a file can say makes the reader panic or believe it.

use std::sync::LazyLock;

use proptest::prelude::*;
use trace::native::layout::{
    self, CHUNK_HEADER_LEN, ChunkHeader, Codec, HEADER_LEN, MAX_CHUNK_EVENTS, MAX_RAW_LEN, Section, Table,
    Tag,
};
use trace::native::{self, Completeness, Cut, Writer};
use trace::{
    BarrierId, Binary, EventId, Kind, LocationId, LockId, Metadata, Module, Op, SemaphoreId, ThreadId, Trace,
    TraceBuilder, VariableId,
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
        attempts: vec!["a.c:7".into()],
        input: "/somewhere/input".into(),
        binary: Some(Binary {
            path: "/somewhere/prog".into(),
            checksum: "1234abcd".into(),
            ..Binary::default()
        }),
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
fn progress_is_told_chunk_by_chunk() {
    let bytes = written(&every_kind(), 10);
    let mut told = Vec::new();
    native::read_with(&bytes, |done| told.push(done)).unwrap();
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

/// Asserts that a trace is the first so many events of another.
fn assert_prefix(prefix: &Trace, whole: &Trace) {
    assert!(prefix.len() <= whole.len());
    for (event, thread, op) in prefix.events() {
        assert_eq!((thread, op), (whole.thread(event), whole.op(event)));
        assert_eq!(prefix.location(event), whole.location(event));
        assert_eq!(prefix.symbols().thread(thread), whole.symbols().thread(thread));
    }
}

#[test]
fn a_file_cut_anywhere_is_its_whole_chunks() {
    let trace = every_kind();
    for bytes in [written(&trace, 10), fed(&trace, 3)] {
        for cut in 0..bytes.len() {
            let read = native::read(&bytes[..cut]);
            if cut < HEADER_LEN {
                let message = read.unwrap_err().to_string();
                let expected = match cut {
                    0 => "byte 0: this is not a native trace: it starts with \"\", expected \"FORETELL\""
                        .into(),
                    _ => format!("byte 0: the file ends inside its header, {cut} bytes of 16"),
                };
                assert_eq!(message, expected);
                continue;
            }
            let (prefix, completeness) = read.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
            let whole = chunks_of(&bytes).take_while(|chunk| chunk.end() <= cut);
            let events = whole.filter(|chunk| chunk.header.tag == Tag::Events.bytes());
            assert_eq!(prefix.len(), events.map(|chunk| chunk.header.count as usize).sum::<usize>());
            assert_prefix(&prefix, &trace);

            let torn = chunks_of(&bytes).find(|chunk| chunk.end() > cut).expect("at least the end");
            let present = (cut - torn.offset) as u64;
            let what = if present == 0 {
                Cut::NoEnd
            } else {
                let known = if present < CHUNK_HEADER_LEN as u64 { 0 } else { torn.header.stored_len };
                Cut::InsideChunk { present, expected: CHUNK_HEADER_LEN as u64 + u64::from(known) }
            };
            assert_eq!(completeness, Completeness::Truncated { offset: torn.offset as u64, what });
        }
    }
}

#[test]
fn a_tail_that_was_never_written_is_a_cut() {
    let trace = every_kind();
    let bytes = written(&trace, 10);
    let end = chunks_of(&bytes).last().unwrap().offset;
    // Nothing of the end chunk arrived, the file keeps its size.
    let mut zeroed = bytes.clone();
    zeroed[end..].fill(0);
    let (prefix, completeness) = native::read(&zeroed).unwrap();
    assert_eq!(prefix, trace);
    assert_eq!(
        completeness.to_string(),
        format!("truncated at byte {end}: the last 32 bytes of the file were never written")
    );
    // Of the chunk before only the header arrived.
    let last = chunks_of(&bytes).filter(|chunk| chunk.header.tag == Tag::Events.bytes()).last().unwrap();
    zeroed[last.offset + CHUNK_HEADER_LEN..].fill(0);
    let (prefix, completeness) = native::read(&zeroed).unwrap();
    assert_eq!(prefix.len(), 40);
    assert_prefix(&prefix, &trace);
    let Completeness::Truncated { offset, what: Cut::Checksum { .. } } = completeness else {
        panic!("{completeness}");
    };
    assert_eq!(offset, last.offset as u64);
}

#[test]
fn no_flipped_bit_goes_unnoticed() {
    let trace = every_kind();
    let bytes = written(&trace, 25);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            match native::read(&damaged) {
                Ok((_, Completeness::Complete)) => panic!("bit {bit} of byte {at}"),
                Ok((prefix, Completeness::Truncated { .. })) => assert_prefix(&prefix, &trace),
                Err(error) => assert!(error.offset <= at as u64, "byte {at}: {error}"),
            }
        }
        for value in [0, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            if damaged != bytes {
                assert!(!matches!(native::read(&damaged), Ok((_, Completeness::Complete))), "byte {at}");
            }
        }
    }
}

/// A chunk with a right checksum and whatever else.
fn chunk(tag: Tag, codec: Codec, count: u32, raw_len: usize, stored: &[u8]) -> Vec<u8> {
    let mut header = ChunkHeader {
        tag: tag.bytes(),
        codec: codec as u32,
        count,
        raw_len: raw_len as u32,
        stored_len: stored.len() as u32,
        checksum: 0,
    };
    header.checksum = header.checksum_with(stored);
    [&header.to_bytes(), stored].concat()
}

fn stored(tag: Tag, count: u32, raw: &[u8]) -> Vec<u8> {
    chunk(tag, Codec::Stored, count, raw.len(), raw)
}

fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
    [&layout::header()[..], &chunks.concat()].concat()
}

/// A section of names as it is stored.
fn section(section: Section, count: u32, content: &[u8]) -> Vec<u8> {
    [&section.code().to_le_bytes()[..], &count.to_le_bytes(), content].concat()
}

fn names(table: Table, names: &[&str]) -> Vec<u8> {
    let lengths = names.iter().flat_map(|name| (name.len() as u32).to_le_bytes());
    let content: Vec<u8> = lengths.chain(names.iter().flat_map(|name| name.bytes())).collect();
    section(Section::Names(table), names.len() as u32, &content)
}

fn mark(name: u32, value: i64) -> Vec<u8> {
    [&name.to_le_bytes()[..], &value.to_le_bytes()].concat()
}

fn events(rows: &[[u32; 3]]) -> Vec<u8> {
    let mut raw = Vec::new();
    for column in 0..3 {
        layout::split_planes(&rows.iter().map(|row| row[column]).collect::<Vec<_>>(), &mut raw);
    }
    stored(Tag::Events, rows.len() as u32, &raw)
}

/// Two threads, a variable, a lock, a mark and a location, for events to be of.
fn few_names() -> Vec<u8> {
    let sections = [
        names(Table::Threads, &["t", "u"]),
        names(Table::Variables, &["x"]),
        names(Table::Locks, &["l"]),
        names(Table::MarkNames, &["m"]),
        names(Table::Locations, &["here"]),
        section(Section::Marks, 1, &mark(0, 5)),
    ];
    stored(Tag::Names, 7, &sections.concat())
}

fn end(events: u64) -> Vec<u8> {
    stored(Tag::End, 1, &events.to_le_bytes())
}

const fn head(thread: u32, kind: Kind) -> u32 {
    thread << 5 | kind as u32
}

/// What the reader says to a file.
fn said(bytes: &[u8]) -> String {
    match native::read(bytes) {
        Ok((trace, completeness)) => format!("{} events, {completeness}", trace.len()),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check(chunks: &[Vec<u8>], expected: &str) {
    assert_eq!(said(&file(chunks)), expected);
}

#[test]
fn a_wrong_header_is_told() {
    let with = |at: usize, field: &[u8]| {
        let mut bytes = file(&[end(0)]);
        bytes[at..at + field.len()].copy_from_slice(field);
        said(&bytes)
    };
    assert_eq!(with(0, b"FORETELL"), "0 events, complete");
    assert_eq!(
        with(4, b"\xffOLD"),
        r#"byte 0: this is not a native trace: it starts with "FORE\xffOLD", expected "FORETELL""#
    );
    assert_eq!(
        said(b"T1"),
        r#"byte 0: this is not a native trace: it starts with "T1", expected "FORETELL""#
    );
    assert_eq!(said(b"FORETELL\x01"), "byte 0: the file ends inside its header, 9 bytes of 16");
    assert_eq!(
        with(8, &[2]),
        "byte 8: the trace has version 2 of the format, newer than the 1 known here; a newer Foretell reads it"
    );
    assert_eq!(with(8, &[0]), "byte 8: the trace has version 0 of the format, which never was; expected 1");
    assert_eq!(with(12, &[0, 1]), "byte 12: unknown flags 0x100, expected 0");
}

#[test]
fn a_wrong_chunk_is_told() {
    let with = |at: usize, field: u32| {
        let mut bytes = file(&[few_names(), end(0)]);
        bytes[HEADER_LEN + at..HEADER_LEN + at + 4].copy_from_slice(&field.to_le_bytes());
        said(&bytes)
    };
    assert_eq!(with(4, 0), "0 events, complete");
    let tag = u32::from_le_bytes(*b"NA\nE");
    assert_eq!(with(0, tag), r#"byte 16: unknown chunk "NA\nE", expected META, NAME, EVNT, NOTE or END."#);
    assert_eq!(with(4, 2), "byte 16: unknown codec 2, expected 0 (stored) or 1 (zstd)");
    assert_eq!(
        with(12, 1 << 24 | 1),
        "byte 16: a chunk of 16777217 bytes before compression, expected at most 16777216"
    );
    assert_eq!(
        with(12, 1 << 24),
        "byte 16: a chunk stored in 93 bytes claims to hold 16777216, expected at most 8 times the stored length"
    );
    assert_eq!(with(12, 99), "byte 16: a stored chunk of 93 bytes claims to hold 99, expected the same");
    assert_eq!(with(20, 7), "byte 16: the chunk is damaged: its checksum is 00000007, expected 9594813c");
    check(
        &[chunk(Tag::Metadata, Codec::Zstd, 1, 2, b"{}"), end(0)],
        "byte 16: the chunk does not decompress: Src size is incorrect",
    );
    let packed = zstd::bulk::compress(b"{    }", 1).unwrap();
    check(
        &[chunk(Tag::Metadata, Codec::Zstd, 1, 7, &packed), end(0)],
        "byte 16: the chunk decompresses to 6 bytes, expected 7",
    );
    check(
        &[chunk(Tag::Metadata, Codec::Zstd, 1, 5, &packed), end(0)],
        "byte 16: the chunk does not decompress: Destination buffer is too small",
    );
    check(&[end(0), end(0)], "byte 48: 32 bytes follow the end chunk, expected none");
    check(&[end(1)], "byte 16: the trace has 0 events, expected the 1 its end chunk states");
    check(&[stored(Tag::End, 1, b"1234")], "byte 16: the end chunk has 4 bytes, expected 8");
    check(&[stored(Tag::End, 2, &[0; 8])], "byte 16: the end chunk has 2 items, expected 1");
    check(&[stored(Tag::Metadata, 0, b"{}")], "byte 16: the metadata chunk has 0 items, expected 1");
    check(
        &[stored(Tag::Metadata, 1, b"{\"command\":7}")],
        "byte 16: the metadata cannot be read: invalid type: integer `7`, expected a sequence at line 1 column 12",
    );
}

#[test]
fn wrong_names_are_told() {
    let said_of = |count: u32, raw: &[u8]| said(&file(&[stored(Tag::Names, count, raw), end(0)]));
    let two = names(Table::Locks, &["l", "m"]);
    assert_eq!(said_of(2, &two), "0 events, complete");
    assert_eq!(said_of(3, &two), "byte 16: the names chunk has 2 items, expected the 3 its header states");
    assert_eq!(
        said_of(2, &two[..17]),
        "byte 16: the names chunk ends inside the locks: 0 bytes left, expected 1"
    );
    assert_eq!(
        said_of(2, &two[..10]),
        "byte 16: the names chunk ends inside the locks: 2 bytes left, expected 8"
    );
    assert_eq!(
        said_of(2, &two[..3]),
        "byte 16: the names chunk ends inside the header of a section: 3 bytes left, expected 4"
    );
    let many = section(Section::Names(Table::Locks), u32::MAX, &[0; 40]);
    assert_eq!(
        said_of(u32::MAX, &many),
        "byte 16: the names chunk ends inside the locks: 40 bytes left, expected 17179869180"
    );
    let long = section(Section::Names(Table::Locks), 1, &u32::MAX.to_le_bytes());
    assert_eq!(
        said_of(1, &long),
        "byte 16: the names chunk ends inside the locks: 0 bytes left, expected 4294967295"
    );
    assert_eq!(
        said_of(0, &[15, 0, 0, 0, 0, 0, 0, 0]),
        "byte 16: unknown section 15 of names, expected at most 14"
    );
    let twice = names(Table::Variables, &["a", "b\n", "b\n"]);
    assert_eq!(
        said_of(3, &twice),
        r#"byte 16: name 2 of the variables is "b\n", as is name 1; expected distinct names"#
    );
    let split = section(Section::Names(Table::Blocks), 2, &[1, 0, 0, 0, 1, 0, 0, 0, 0xc3, 0xa9]);
    assert_eq!(said_of(2, &split), "byte 16: name 0 of the blocks is not UTF-8");

    let marks = |count: u32, content: &[u8]| {
        let sections = [names(Table::MarkNames, &["m"]), section(Section::Marks, count, content)];
        said_of(1 + count, &sections.concat())
    };
    assert_eq!(marks(1, &mark(0, -3)), "0 events, complete");
    assert_eq!(marks(1, &mark(1, -3)), "byte 16: mark 0 has the name 1, but there are 1");
    assert_eq!(
        marks(2, &[mark(0, 9), mark(0, 9)].concat()),
        "byte 16: mark 1 has the same name and value as another; expected distinct marks"
    );
    assert_eq!(
        marks(2, &mark(0, 9)),
        "byte 16: the names chunk ends inside the marks: 12 bytes left, expected 24"
    );
    let permits = section(Section::Permits, 1, &[3, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(said_of(1, &permits), "byte 16: permits are declared for semaphore 3, but there are 0");
    assert_eq!(
        said_of(1, &permits[..12]),
        "byte 16: the names chunk ends inside the permits: 4 bytes left, expected 8"
    );
}

#[test]
fn wrong_events_are_told() {
    let said_of = |rows: &[[u32; 3]]| said(&file(&[few_names(), events(rows), end(rows.len() as u64)]));
    let fine = [head(0, Kind::Write), 0, 0];
    let at = HEADER_LEN + few_names().len();
    let expect = |row: [u32; 3], message: &str| {
        assert_eq!(said_of(&[fine, row, fine]), format!("byte {at}: event 1 {message}"));
    };
    assert_eq!(said_of(&[fine, [head(1, Kind::Mark), 0, 0]]), "2 events, complete");
    assert_eq!(said_of(&[fine, [head(1, Kind::Branch), u32::MAX, 0]]), "2 events, complete");
    expect([29, 0, 0], "has the unknown kind 29, expected at most 28");
    expect([head(2, Kind::Write), 0, 0], "is of threads 2, but there are 2");
    expect([head((1 << 27) - 1, Kind::Write), 0, 0], "is of threads 134217727, but there are 2");
    expect([head(0, Kind::Read), 1, 0], "is of variables 1, but there are 1");
    expect([head(0, Kind::Acquire), u32::MAX, 0], "is of locks 4294967295, but there are 1");
    expect([head(0, Kind::Fork), 2, 0], "is of threads 2, but there are 2");
    expect([head(0, Kind::Post), 0, 0], "is of semaphores 0, but there are 0");
    expect([head(0, Kind::Mark), 1, 0], "is of marks 1, but there are 1");
    expect([head(0, Kind::Write), 0, 1], "is of locations 1, but there are 1");
    expect([head(0, Kind::Begin), 1, 0], "has a kind without a target, but its target is 1, expected 0");

    // Names that come after the events that need them are of no use.
    check(&[events(&[fine]), few_names(), end(1)], "byte 16: event 0 is of threads 0, but there are 0");
    check(
        &[stored(Tag::Events, 2, &[0; 12]), end(2)],
        "byte 16: an events chunk of 2 events takes 12 bytes before compression, expected 12 an event",
    );
    let many = MAX_CHUNK_EVENTS + 1;
    check(
        &[stored(Tag::Events, many as u32, &vec![0; many * 12]), end(0)],
        "byte 16: an events chunk of 65537 events, expected at most 65536",
    );
    check(&[stored(Tag::Events, 0, &[]), end(0)], "0 events, complete");
}

#[test]
fn a_run_that_cannot_have_happened_names_event_and_chunk() {
    let acquire = |thread| [head(thread, Kind::Acquire), 0, 0];
    let chunks = [few_names(), events(&[acquire(0), acquire(0)]), events(&[]), events(&[acquire(1)]), end(3)];
    let at = HEADER_LEN + chunks[..3].concat().len();
    check(
        &chunks,
        &format!(
            "byte {at}: event 2: lock l is taken here, but thread t holds it since event 0; it must be released first"
        ),
    );
}

#[test]
fn bombs_are_refused() {
    // A few bytes that claim to be many, in every combination of tag and codec.
    for tag in Tag::ALL {
        for codec in [Codec::Stored, Codec::Zstd] {
            for raw_len in [MAX_RAW_LEN, u32::MAX as usize, 1 << 31] {
                let bytes = file(&[chunk(tag, codec, 1, raw_len, b"tiny"), end(0)]);
                assert!(native::read(&bytes).is_err(), "{tag:?} {codec:?} {raw_len}");
            }
        }
    }
    // A frame that grows beyond what it says, and one that compresses better than a writer may.
    let packed = zstd::bulk::compress(&vec![0; 64 << 20], 1).unwrap();
    let error = native::read(&file(&[chunk(Tag::Names, Codec::Zstd, 0, packed.len(), &packed), end(0)]));
    assert!(error.unwrap_err().to_string().contains("does not decompress"));
    let packed = zstd::bulk::compress(&vec![0; MAX_CHUNK_EVENTS * 12], 1).unwrap();
    let bomb = chunk(Tag::Events, Codec::Zstd, MAX_CHUNK_EVENTS as u32, MAX_CHUNK_EVENTS * 12, &packed);
    check(
        &[few_names(), bomb, end(0)],
        &format!(
            "byte 133: a chunk stored in {} bytes claims to hold 786432, expected at most 32 times the stored length",
            packed.len()
        ),
    );
}

/// What the damage below starts from.
static SMALL: LazyLock<Vec<u8>> = LazyLock::new(|| written(&every_kind(), 8));

proptest! {
    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = native::read(&bytes);
        let _ = native::read(&[&layout::header()[..], &bytes].concat());
    }

    #[test]
    fn arbitrary_content_of_chunks_does_no_harm(
        tags in proptest::collection::vec((0..5usize, any::<bool>(), 0..9u32, proptest::collection::vec(0..40u8, 0..200)), 0..6)
    ) {
        let chunks: Vec<_> = tags.iter().map(|(tag, zstd, count, raw)| {
            let (codec, content) = match zstd {
                true => (Codec::Zstd, zstd::bulk::compress(raw, 1).unwrap()),
                false => (Codec::Stored, raw.clone()),
            };
            chunk(Tag::ALL[*tag], codec, *count, raw.len(), &content)
        }).collect();
        let _ = native::read(&file(&chunks));
        let _ = native::read(&file(&[vec![few_names()], chunks].concat()));
    }

    #[test]
    fn arbitrary_events_read_as_they_are_or_not_at_all(
        rows in proptest::collection::vec((0..3u32, 0..32u32, 0..3u32, 0..3u32), 0..40),
    ) {
        let rows: Vec<_> = rows.iter().map(|&(t, kind, target, location)| [t << 5 | kind, target, location]).collect();
        let bytes = file(&[few_names(), events(&rows), end(rows.len() as u64)]);
        if let Ok((trace, completeness)) = native::read(&bytes) {
            prop_assert_eq!(completeness, Completeness::Complete);
            for (row, (_, thread, op)) in rows.iter().zip(trace.events()) {
                prop_assert_eq!(*row, [thread.0 << 5 | op.kind() as u32, op.target(), 0]);
            }
            prop_assert_eq!(native::read(&written(&trace, 7)).unwrap().0, trace);
        }
    }

    #[test]
    fn arbitrary_damage_does_no_harm(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = SMALL.clone();
        for (at, value) in &edits {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        let unharmed = bytes == *SMALL;
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Ok((_, completeness)) = native::read(&bytes) {
            prop_assert!(unharmed || completeness != Completeness::Complete);
        }
    }
}

#[test]
fn ids_in_tests_are_what_they_seem() {
    // The rows above are written by hand; this ties them to the typed form.
    let (trace, _) =
        native::read(&file(&[few_names(), events(&[[head(1, Kind::Write), 0, 0]]), end(1)])).unwrap();
    let event = EventId(0);
    assert_eq!((trace.thread(event), trace.op(event)), (ThreadId(1), Op::Write(VariableId(0))));
    assert_eq!(trace.location(event), LocationId(0));
    assert_eq!(trace.symbols().barriers.len(), BarrierId(0).index());
}
